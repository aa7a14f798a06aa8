//! The body of a request.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value, json};

use super::Api;
use crate::prompt::{Message, Role};

/// What the requests of a workload have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyOptions {
    /// The model's name as the server knows it.
    pub model: String,
    /// Whether the answer shall come in events.
    pub stream: bool,
    /// Sampling temperature, finite and not below 0; the server's own where `None`.
    pub temperature: Option<f64>,
    /// Whether the answer shall have exactly as many tokens as it may. Asked for in the way of the API; see
    /// [`Api::has_exact_length`].
    pub exact: bool,
    /// Whether texts are ids of tokens, a blank between them, for an API that takes these ([`Api::takes_ids`]).
    pub ids: bool,
    /// The name under which chat completions are told how long an answer may be.
    pub chat_limit: ChatLimit,
    /// Further keys. They win over all others, `messages` included; a table meets a table key by key, so that
    /// `stream_options = { continuous_usage_stats = true }` still asks for usage.
    pub extra: Map<String, Value>,
}

/// The member that limits an answer's length in chat completions: other APIs have one name for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatLimit {
    /// `max_tokens`, which every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models call for.
    MaxCompletionTokens,
}

impl ChatLimit {
    /// Every name there is.
    pub const ALL: [ChatLimit; 2] = [ChatLimit::MaxTokens, ChatLimit::MaxCompletionTokens];

    /// The member's name.
    pub fn name(self) -> &'static str {
        match self {
            ChatLimit::MaxTokens => "max_tokens",
            ChatLimit::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl BodyOptions {
    /// The body that asks for an answer to `messages` of at most `max_tokens` tokens, as JSON.
    ///
    /// A streamed answer is asked to end with the token counts where the API leaves them out unasked.
    pub fn body(&self, api: Api, messages: &[Message], max_tokens: u32) -> Vec<u8> {
        let text_bytes: usize = messages.iter().map(|message| message.content.len() + 64).sum();
        let mut body = Vec::with_capacity(text_bytes + text_bytes / 16 + 256);
        let members = (api.form().members)(&Asked { options: self, messages, max_tokens });
        let written: Result<(), io::Error> =
            serde_json::to_writer(&mut body, &Body { members, extra: &self.extra }).map_err(Into::into);
        written.expect("memory takes every write, and every key is a string");
        body
    }
}

/// What a request asks for.
pub(super) struct Asked<'a> {
    pub(super) options: &'a BodyOptions,
    pub(super) messages: &'a [Message],
    pub(super) max_tokens: u32,
}

/// Value of a member.
pub(super) enum Member<'a> {
    Value(Value),
    Text(Cow<'a, str>),
    /// Ids of tokens, a blank between them.
    Ids(Cow<'a, str>),
    Messages(Vec<&'a Message>),
    /// Messages as `responses` has them: what the model said is an item of output, or llama.cpp refuses it.
    Items(&'a [Message]),
}

impl<'a> Asked<'a> {
    pub(super) fn model(&self) -> (&'static str, Member<'a>) {
        ("model", Member::Text(Cow::Borrowed(&self.options.model)))
    }

    pub(super) fn stream(&self) -> (&'static str, Member<'a>) {
        ("stream", Member::Value(self.options.stream.into()))
    }

    pub(super) fn temperature(&self) -> Option<(&'static str, Member<'a>)> {
        Some(("temperature", Member::Value(self.options.temperature?.into())))
    }

    /// What keeps a model from ending its answer by itself, where exact lengths are asked for.
    pub(super) fn ignore_eos(&self) -> Option<(&'static str, Member<'a>)> {
        self.options.exact.then(|| ("ignore_eos", Member::Value(true.into())))
    }

    /// The prompt of an API that takes it as it stands.
    pub(super) fn prompt(&self) -> Member<'a> {
        let text = self.text(self.messages);
        if self.options.ids { Member::Ids(text) } else { Member::Text(text) }
    }

    /// The text of messages, an empty line between them.
    pub(super) fn text(&self, messages: impl IntoIterator<Item = &'a Message>) -> Cow<'a, str> {
        let mut text = Cow::Borrowed("");
        for message in messages {
            if !text.is_empty() {
                text += "\n\n";
            }
            text += message.content.as_str();
        }
        text
    }

    /// The text of the instructions, and all other messages.
    pub(super) fn split_system(&self) -> (Cow<'a, str>, Vec<&'a Message>) {
        let (system, turns): (Vec<_>, _) =
            self.messages.iter().partition(|message| message.role == Role::System);
        (self.text(system), turns)
    }
}

struct Body<'a> {
    members: Vec<(&'static str, Member<'a>)>,
    extra: &'a Map<String, Value>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, member) in self.members.iter().filter(|(name, _)| !self.extra.contains_key(*name)) {
            map.serialize_entry(name, member)?;
        }
        for (name, value) in self.extra {
            let ours = self.members.iter().find(|(known, _)| known == name).map(|(_, member)| member);
            match (ours, value) {
                (Some(Member::Value(Value::Object(ours))), Value::Object(theirs)) => {
                    let mut joined = ours.clone();
                    joined.extend(theirs.clone());
                    map.serialize_entry(name, &joined)?;
                }
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            role: &'static str,
            content: &'a str,
        }
        match self {
            Member::Value(value) => value.serialize(serializer),
            Member::Text(text) => text.serialize(serializer),
            Member::Ids(ids) => {
                serializer.collect_seq(ids.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()))
            }
            Member::Messages(messages) => {
                let mut list = serializer.serialize_seq(Some(messages.len()))?;
                for message in messages {
                    list.serialize_element(&Shape { role: message.role.name(), content: &message.content })?;
                }
                list.end()
            }
            Member::Items(messages) => {
                let mut list = serializer.serialize_seq(Some(messages.len()))?;
                for Message { role, content } in *messages {
                    match role {
                        Role::System | Role::User => {
                            list.serialize_element(&Shape { role: role.name(), content })?;
                        }
                        Role::Assistant => list.serialize_element(&json!({
                            "type": "message",
                            "role": role.name(),
                            "content": [{ "type": "output_text", "text": content }],
                        }))?,
                    }
                }
                list.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(options: &BodyOptions) -> String {
        body_of(Api::Chat, options)
    }

    fn body_of(api: Api, options: &BodyOptions) -> String {
        let messages = [
            Message { role: Role::System, content: "Be \"brief\".\n".to_owned() },
            Message::user("Hi 🙂"),
            Message { role: Role::Assistant, content: String::new() },
        ];
        String::from_utf8(options.body(api, &messages, 64)).expect("JSON is UTF-8")
    }

    fn options(extra: &Value) -> BodyOptions {
        let extra = extra.as_object().expect("a table").clone();
        BodyOptions {
            model: "tiny".to_owned(),
            stream: true,
            temperature: Some(0.0),
            extra,
            ..BodyOptions::default()
        }
    }

    #[test]
    fn a_streamed_request_asks_for_usage_c049() {
        insta::assert_snapshot!(body(&options(&json!({}))), @r#"{"model":"tiny","messages":[{"role":"system","content":"Be \"brief\".\n"},{"role":"user","content":"Hi 🙂"},{"role":"assistant","content":""}],"max_tokens":64,"temperature":0.0,"stream":true,"stream_options":{"include_usage":true}}"#);
    }

    #[test]
    fn a_whole_answer_is_asked_for_without_stream_options() {
        let options = BodyOptions { stream: false, temperature: None, ..options(&json!({})) };
        insta::assert_snapshot!(body(&options), @r#"{"model":"tiny","messages":[{"role":"system","content":"Be \"brief\".\n"},{"role":"user","content":"Hi 🙂"},{"role":"assistant","content":""}],"max_tokens":64,"stream":false}"#);
    }

    #[test]
    fn extra_keys_come_last_and_win() {
        let extra =
            json!({ "top_k": 1, "max_tokens": 7, "temperature": 0.5, "model": "other", "messages": [] });
        insta::assert_snapshot!(body(&options(&extra)), @r#"{"stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[],"model":"other","temperature":0.5,"top_k":1}"#);
    }

    #[test]
    fn extra_stream_options_still_ask_for_usage_unless_they_say_no() {
        let sent = |stream_options: Value| -> Value {
            let body = body(&options(&json!({ "stream_options": stream_options })));
            serde_json::from_str::<Value>(&body).expect("JSON")["stream_options"].clone()
        };
        assert_eq!(
            sent(json!({ "continuous_usage_stats": true })),
            json!({ "continuous_usage_stats": true, "include_usage": true })
        );
        assert_eq!(sent(json!({ "include_usage": false })), json!({ "include_usage": false }));
    }

    #[test]
    fn each_api_asks_in_its_own_words() {
        let bodies = Api::ALL.map(|api| body_of(api, &options(&json!({}))));
        insta::assert_snapshot!(bodies.join("\n"), @r#"
        {"model":"tiny","messages":[{"role":"system","content":"Be \"brief\".\n"},{"role":"user","content":"Hi 🙂"},{"role":"assistant","content":""}],"max_tokens":64,"temperature":0.0,"stream":true,"stream_options":{"include_usage":true}}
        {"model":"tiny","prompt":"Be \"brief\".\n\n\nHi 🙂\n\n","max_tokens":64,"temperature":0.0,"stream":true,"stream_options":{"include_usage":true}}
        {"model":"tiny","input":[{"role":"system","content":"Be \"brief\".\n"},{"role":"user","content":"Hi 🙂"},{"content":[{"text":"","type":"output_text"}],"role":"assistant","type":"message"}],"max_output_tokens":64,"temperature":0.0,"stream":true}
        {"model":"tiny","system":"Be \"brief\".\n","messages":[{"role":"user","content":"Hi 🙂"},{"role":"assistant","content":""}],"max_tokens":64,"temperature":0.0,"stream":true}
        {"model":"tiny","messages":[{"role":"system","content":"Be \"brief\".\n"},{"role":"user","content":"Hi 🙂"},{"role":"assistant","content":""}],"stream":true,"options":{"num_predict":64,"temperature":0.0}}
        {"model":"tiny","prompt":"Hi 🙂\n\n","system":"Be \"brief\".\n","stream":true,"options":{"num_predict":64,"temperature":0.0}}
        {"model":"tiny","prompt":"Be \"brief\".\n\n\nHi 🙂\n\n","n_predict":64,"temperature":0.0,"stream":true}
        "#);
    }

    #[test]
    fn a_whole_answer_is_asked_for_in_every_api() {
        let options = BodyOptions { stream: false, temperature: None, ..options(&json!({})) };
        for api in Api::ALL {
            let body: Value = serde_json::from_str(&body_of(api, &options)).expect("JSON");
            assert_eq!(body["stream"], json!(false), "{api:?}");
            assert_eq!((body.get("temperature"), body.get("stream_options")), (None, None), "{api:?}");
            assert_eq!(body.pointer("/options/temperature"), None, "{api:?}");
        }
    }

    #[test]
    fn an_exact_length_is_asked_for_where_the_api_can_be_asked() {
        for api in Api::ALL {
            let plain = options(&json!({}));
            let (exact, plain) =
                (body_of(api, &BodyOptions { exact: true, ..plain.clone() }), body_of(api, &plain));
            assert_eq!(exact != plain, api.has_exact_length(), "{api:?}");
            assert_eq!(exact.contains(r#""ignore_eos":true"#), api.has_exact_length(), "{api:?}");
        }
    }

    #[test]
    fn chat_is_told_its_limit_under_either_name() {
        let options = BodyOptions { chat_limit: ChatLimit::MaxCompletionTokens, ..options(&json!({})) };
        let body: Value = serde_json::from_str(&body(&options)).expect("JSON");
        assert_eq!((body.get("max_completion_tokens"), body.get("max_tokens")), (Some(&json!(64)), None));
    }

    #[test]
    fn a_table_of_extra_meets_the_table_of_the_api() {
        let extra = json!({ "options": { "top_k": 1, "num_predict": 7 } });
        let body: Value = serde_json::from_str(&body_of(Api::Ollama, &options(&extra))).expect("JSON");
        assert_eq!(body["options"], json!({ "num_predict": 7, "temperature": 0.0, "top_k": 1 }));
    }

    #[test]
    fn one_message_is_the_prompt_as_it_stands() {
        let options = BodyOptions::default();
        for api in [Api::Completions, Api::OllamaGenerate, Api::LlamaCpp] {
            let body = options.body(api, &[Message::user(" a\n")], 1);
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(body["prompt"], json!(" a\n"), "{api:?}");
        }
    }
}
