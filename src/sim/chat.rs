//! Reads the body of a chat request. What the simulated server cannot do it refuses; what would not change a
//! simulated answer (temperature and the like) and what it does not know it ignores, as real servers do.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::answer::Answer;
use super::problem::Problem;
use super::request::Request;
use super::tokenize::{TEMPLATE_TOKENS_PER_MESSAGE, Tokenize};

/// A chat request that was understood.
#[derive(Debug)]
pub(super) struct Chat {
    /// The model asked for, if one was.
    pub(super) model: Option<String>,
    /// Tokens of the messages, template included.
    pub(super) prompt_tokens: u64,
    pub(super) answer: Answer,
    pub(super) delivery: Delivery,
    max_tokens: Option<u64>,
    min_tokens: u64,
    ignore_eos: bool,
}

/// How the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// In one piece.
    Whole,
    /// Token by token, with the usage at the end if asked for.
    Streamed { usage: bool },
}

impl Chat {
    /// Reads `body`.
    ///
    /// # Errors
    /// When it is not JSON, not a chat request, or asks for what is not simulated.
    pub(super) fn read(body: &[u8], tokenizer: &dyn Tokenize) -> Result<Chat, Problem> {
        let body = serde_json::from_slice::<Body<'_>>(body).map_err(|error| {
            let what =
                if error.is_data() { "The request body is not a chat request" } else { "JSON decode error" };
            Problem::bad_request(format!("{what}: {error}"), None)
        })?;
        if let Some(param) = body.unsupported() {
            return Err(Problem::unsupported(param));
        }
        let Some(messages) = body.messages.filter(|messages| !messages.is_empty()) else {
            return Err(Problem::bad_request("`messages` must hold at least one message.", Some("messages")));
        };
        let max_tokens = body.max_completion_tokens.or(body.max_tokens);
        let min_tokens = body.min_tokens.unwrap_or(0);
        if let Some(max_tokens) = max_tokens.filter(|max_tokens| *max_tokens < min_tokens) {
            let message = format!("min_tokens must not exceed max_tokens={max_tokens}, got {min_tokens}.");
            return Err(Problem::bad_request(message, Some("min_tokens")));
        }
        let counts = messages.iter().map(|message| tokenizer.count(&message.content.0));
        let prompt_tokens = counts.map(|count| count + TEMPLATE_TOKENS_PER_MESSAGE).sum();
        let pieces = messages.iter().flat_map(|message| [&*message.role, &*message.content.0]);
        let include_usage = body.stream_options.is_some_and(|options| options.include_usage == Some(true));
        Ok(Chat {
            model: body.model.map(Cow::into_owned),
            prompt_tokens,
            answer: Answer::to(pieces),
            delivery: match body.stream {
                Some(true) => Delivery::Streamed { usage: include_usage },
                _ => Delivery::Whole,
            },
            max_tokens,
            min_tokens,
            ignore_eos: body.ignore_eos == Some(true),
        })
    }

    /// What the engine is asked, where answers have `mean_answer_tokens` in the mean.
    pub(super) fn engine_request(&self, mean_answer_tokens: u64) -> Request {
        let stop_after =
            (!self.ignore_eos).then(|| self.answer.tokens(mean_answer_tokens).max(self.min_tokens));
        Request {
            prompt_tokens: self.prompt_tokens,
            max_tokens: self.max_tokens,
            stop_after,
            blocks: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    messages: Option<Vec<Message<'a>>>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    min_tokens: Option<u64>,
    ignore_eos: Option<bool>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u64>,
    #[serde(borrow)]
    response_format: Option<Typed<'a>>,
    #[serde(default)]
    tools: Given,
    #[serde(default)]
    functions: Given,
    #[serde(default)]
    logprobs: Given,
    #[serde(default)]
    stop: Given,
    #[serde(default)]
    stop_token_ids: Given,
    #[serde(default)]
    structured_outputs: Given,
    #[serde(default)]
    return_token_ids: Given,
}

impl Body<'_> {
    /// The first parameter that asks for what is not simulated.
    fn unsupported(&self) -> Option<&'static str> {
        let continuous = self.stream_options.as_ref().is_some_and(|options| options.continuous_usage_stats.0);
        let formatted = self.response_format.as_ref().is_some_and(|format| format.kind != "text");
        let asked = [
            (self.n.is_some_and(|n| n != 1), "n"),
            (self.tools.0, "tools"),
            (self.functions.0, "functions"),
            (self.logprobs.0, "logprobs"),
            (self.stop.0, "stop"),
            (self.stop_token_ids.0, "stop_token_ids"),
            (formatted, "response_format"),
            (self.structured_outputs.0, "structured_outputs"),
            (self.return_token_ids.0, "return_token_ids"),
            (continuous, "stream_options.continuous_usage_stats"),
        ];
        asked.into_iter().find_map(|(is_asked, param)| is_asked.then_some(param))
    }
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    #[serde(default)]
    continuous_usage_stats: Given,
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Content<'a>,
}

/// A message's text, given as such or in parts, which are then joined by line breaks. Null is no text.
struct Content<'a>(Cow<'a, str>);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Words;

    fn read(body: &str) -> Result<Chat, Problem> {
        Chat::read(body.as_bytes(), &Words)
    }

    fn refusal(body: &str) -> String {
        let problem = read(body).unwrap_err();
        assert_eq!(problem.status, 400);
        format!("{} [{}]", problem.message, problem.param.unwrap_or_default())
    }

    /// A request with one short message and further members.
    fn with(members: &str) -> String {
        format!(r#"{{"messages":[{{"role":"user","content":"one two"}}]{members}}}"#)
    }

    #[test]
    fn a_prompt_counts_its_words_and_four_tokens_a_message() {
        let chat = read(
            r#"{"messages":[{"role":"system","content":"be brief"},
                            {"role":"user","content":[{"type":"text","text":"one two"},{"type":"text","text":"three"}]},
                            {"role":"assistant","content":null},
                            {"role":"user","content":"four\nfive \"six\""}]}"#,
        )
        .unwrap();
        assert_eq!(chat.prompt_tokens, (2 + 4) + (3 + 4) + 4 + (3 + 4));
    }

    #[test]
    fn parts_are_the_same_prompt_as_their_lines() {
        let parts = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#;
        let lines = r#"{"messages":[{"role":"user","content":"a\nb"}]}"#;
        assert_eq!(read(parts).unwrap().answer, read(lines).unwrap().answer);
    }

    #[test]
    fn lengths_follow_from_limits_and_from_the_answers_own_end() {
        let request = |members: &str| read(&with(members)).unwrap().engine_request(8);
        let own = request("").stop_after.unwrap();
        assert!((4..=12).contains(&own));
        assert_eq!(request("").max_tokens, None);
        assert_eq!(
            request(r#","max_tokens":20"#),
            Request { prompt_tokens: 6, max_tokens: Some(20), stop_after: Some(own), blocks: Vec::new() }
        );
        assert_eq!(request(r#","max_tokens":20,"max_completion_tokens":7"#).max_tokens, Some(7));
        assert_eq!(request(r#","max_tokens":20,"ignore_eos":true"#).stop_after, None);
        assert_eq!(request(r#","max_tokens":20,"min_tokens":15"#).stop_after, Some(15));
        assert_eq!(request(r#","min_tokens":1"#).stop_after, Some(own));
        assert_eq!(request(r#","max_tokens":null,"ignore_eos":false"#).stop_after, Some(own));
    }

    #[test]
    fn delivery_is_whole_unless_a_stream_is_asked_for() {
        let delivery = |members: &str| read(&with(members)).unwrap().delivery;
        assert_eq!(delivery(""), Delivery::Whole);
        assert_eq!(delivery(r#","stream":false,"stream_options":{"include_usage":true}"#), Delivery::Whole);
        assert_eq!(delivery(r#","stream":true"#), Delivery::Streamed { usage: false });
        assert_eq!(delivery(r#","stream":true,"stream_options":null"#), Delivery::Streamed { usage: false });
        let asked =
            r#","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":false}"#;
        assert_eq!(delivery(asked), Delivery::Streamed { usage: true });
    }

    #[test]
    fn what_is_not_simulated_is_refused_by_name() {
        for (members, param) in [
            (r#","n":2"#, "n"),
            (r#","tools":[{"type":"function"}]"#, "tools"),
            (r#","functions":[{}]"#, "functions"),
            (r#","logprobs":true"#, "logprobs"),
            (r#","stop":"x""#, "stop"),
            (r#","stop":["x"]"#, "stop"),
            (r#","stop_token_ids":[7]"#, "stop_token_ids"),
            (r#","response_format":{"type":"json_object"}"#, "response_format"),
            (r#","structured_outputs":{"json":{}}"#, "structured_outputs"),
            (r#","return_token_ids":true"#, "return_token_ids"),
            (r#","stream_options":{"continuous_usage_stats":true}"#, "stream_options.continuous_usage_stats"),
        ] {
            let expected = format!("The simulated server does not support `{param}`. [{param}]");
            assert_eq!(refusal(&with(members)), expected);
        }
    }

    #[test]
    fn what_changes_nothing_is_accepted() {
        for members in [
            r#","n":1,"tools":[],"functions":null,"logprobs":false,"stop":"","stop_token_ids":[]"#,
            r#","response_format":{"type":"text"},"structured_outputs":{},"tool_choice":"none""#,
            r#","temperature":0.7,"top_p":1,"top_k":1,"seed":5,"user":"u","unheard_of":{"a":[1]}"#,
        ] {
            read(&with(members)).unwrap();
        }
    }

    #[test]
    fn what_is_no_chat_request_is_refused_with_the_reason() {
        insta::assert_snapshot!(refusal("{"), @"JSON decode error: EOF while parsing an object at line 1 column 1 []");
        insta::assert_snapshot!(refusal(""), @"JSON decode error: EOF while parsing a value at line 1 column 0 []");
        insta::assert_snapshot!(refusal("[]"), @"The request body is not a chat request: invalid length 0, expected an object at line 1 column 2 []");
        insta::assert_snapshot!(refusal("{}"), @"`messages` must hold at least one message. [messages]");
        insta::assert_snapshot!(refusal(r#"{"messages":[]}"#), @"`messages` must hold at least one message. [messages]");
        insta::assert_snapshot!(refusal(r#"{"messages":"hello"}"#), @r#"The request body is not a chat request: invalid type: string "hello", expected a sequence at line 1 column 19 []"#);
        insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user"}]}"#), @"The request body is not a chat request: missing field `content` at line 1 column 28 []");
        insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user","content":7}]}"#), @"The request body is not a chat request: invalid type: integer `7`, expected a string or an array of parts at line 1 column 39 []");
        insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#), @"The request body is not a chat request: the model reads only parts of type `text` at line 1 column 60 []");
        insta::assert_snapshot!(refusal(&with(r#","max_tokens":"eight""#)), @r#"The request body is not a chat request: invalid type: string "eight", expected u64 at line 1 column 70 []"#);
        insta::assert_snapshot!(refusal(&with(r#","max_tokens":-1"#)), @"The request body is not a chat request: invalid value: integer `-1`, expected u64 at line 1 column 65 []");
        insta::assert_snapshot!(refusal(&with(r#","max_tokens":3,"min_tokens":4"#)), @"min_tokens must not exceed max_tokens=3, got 4. [min_tokens]");
    }
}
