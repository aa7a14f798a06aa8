//! The bodies of requests as they are written, before anything is made of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A chat or a completions request. What would not change a simulated answer (temperature and the like) and what is
/// not known is ignored, as real servers do.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) messages: Option<Vec<Message<'a>>>,
    #[serde(borrow)]
    pub(super) prompt: Option<Prompt<'a>>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) min_tokens: Option<u64>,
    pub(super) ignore_eos: Option<bool>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) stop: Option<Texts>,
    #[serde(borrow)]
    pub(super) reasoning_effort: Option<Cow<'a, str>>,
    pub(super) chat_template_kwargs: Option<TemplateOptions>,
    n: Option<u64>,
    best_of: Option<u64>,
    #[serde(borrow)]
    response_format: Option<Typed<'a>>,
    #[serde(default)]
    tools: Given,
    #[serde(default)]
    functions: Given,
    #[serde(default)]
    logprobs: Given,
    #[serde(default)]
    prompt_logprobs: Given,
    #[serde(default)]
    echo: Given,
    #[serde(default)]
    suffix: Given,
    #[serde(default)]
    stop_token_ids: Given,
    #[serde(default)]
    structured_outputs: Given,
    #[serde(default)]
    return_token_ids: Given,
}

impl Body<'_> {
    /// The first parameter that asks for what is not simulated.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        let formatted = self.response_format.as_ref().is_some_and(|format| format.kind != "text");
        let asked = [
            (self.n.is_some_and(|n| n != 1), "n"),
            (self.best_of.is_some_and(|n| n != 1), "best_of"),
            (self.tools.0, "tools"),
            (self.functions.0, "functions"),
            (self.logprobs.0, "logprobs"),
            (self.prompt_logprobs.0, "prompt_logprobs"),
            (self.echo.0, "echo"),
            (self.suffix.0, "suffix"),
            (self.stop_token_ids.0, "stop_token_ids"),
            (formatted, "response_format"),
            (self.structured_outputs.0, "structured_outputs"),
            (self.return_token_ids.0, "return_token_ids"),
        ];
        asked.into_iter().find_map(|(is_asked, param)| is_asked.then_some(param))
    }
}

/// What is asked of `/tokenize`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct TokenizeBody<'a> {
    #[serde(borrow)]
    pub(super) messages: Option<Vec<Message<'a>>>,
    #[serde(borrow)]
    pub(super) prompt: Option<Cow<'a, str>>,
}

/// What is asked of `/detokenize`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct DetokenizeBody {
    pub(super) tokens: Vec<u32>,
}

#[derive(Deserialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
    pub(super) continuous_usage_stats: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct TemplateOptions {
    pub(super) enable_thinking: Option<bool>,
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) content: Content<'a>,
}

/// The prompt of a completion: a text, or ids of tokens.
pub(super) enum Prompt<'a> {
    Text(Cow<'a, str>),
    Ids(Vec<u32>),
    /// Several prompts in one request.
    Several,
}

impl<'de: 'a, 'a> Deserialize<'de> for Prompt<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Prompt<'a>, D::Error> {
        struct Any;

        /// A member of a list of prompts.
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a text, a token's number or a list of them")]
        enum Member<'a> {
            Id(u32),
            #[serde(borrow)]
            Text(Cow<'a, str>),
            Ids(Vec<u32>),
        }

        impl<'de> Visitor<'de> for Any {
            type Value = Prompt<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of tokens")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Prompt<'de>, E> {
                Ok(Prompt::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Prompt<'de>, E> {
                Ok(Prompt::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Prompt<'de>, A::Error> {
                let mut prompt = None;
                while let Some(member) = members.next_element::<Member<'de>>()? {
                    prompt = Some(match (prompt, member) {
                        (None, Member::Id(id)) => Prompt::Ids(vec![id]),
                        (None, Member::Text(text)) => Prompt::Text(Cow::Owned(text.into_owned())),
                        (None, Member::Ids(ids)) => Prompt::Ids(ids),
                        (Some(Prompt::Ids(mut ids)), Member::Id(id)) => {
                            ids.push(id);
                            Prompt::Ids(ids)
                        }
                        (Some(_), _) => Prompt::Several,
                    });
                }
                Ok(prompt.unwrap_or(Prompt::Ids(Vec::new())))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// One text or several; empty ones are none.
pub(super) struct Texts(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts([text.to_owned()].into_iter().filter(|text| !text.is_empty()).collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = members.next_element::<String>()? {
                    if !text.is_empty() {
                        texts.push(text);
                    }
                }
                Ok(Texts(texts))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// A message's text, given as such or in parts, which are then joined by line breaks. Null is no text.
pub(super) struct Content<'a>(pub(super) Cow<'a, str>);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content<'a>, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of parts")
            }

            fn visit_unit<E: Error>(self) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Borrowed("")))
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content<'de>, A::Error> {
                let mut texts = Vec::new();
                while let Some(part) = parts.next_element::<Part<'de>>()? {
                    let Some(text) = part.text.filter(|_| part.kind == "text") else {
                        return Err(A::Error::custom("the model reads only parts of type `text`"));
                    };
                    texts.push(text);
                }
                Ok(Content(Cow::Owned(texts.join("\n"))))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

/// Whether a parameter is given at all: not absent, null, false, zero or empty.
#[derive(Default)]
struct Given(bool);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Given, D::Error> {
        struct Presence;

        impl<'de> Visitor<'de> for Presence {
            type Value = Given;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E: Error>(self) -> Result<Given, E> {
                Ok(Given(false))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Given, E> {
                Ok(Given(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Given, E> {
                Ok(Given(value != 0))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Given, E> {
                Ok(Given(value != 0))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Given, E> {
                Ok(Given(value != 0.0))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Given, E> {
                Ok(Given(!value.is_empty()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Given, A::Error> {
                let mut given = false;
                while members.next_element::<IgnoredAny>()?.is_some() {
                    given = true;
                }
                Ok(Given(given))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Given, A::Error> {
                let mut given = false;
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    given = true;
                }
                Ok(Given(given))
            }
        }

        deserializer.deserialize_any(Presence)
    }
}
