//! The body of a request.

use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value, json};

use super::Api;
use crate::prompt::Message;

/// What the requests of a workload have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyOptions {
    /// The model's name as the server knows it.
    pub model: String,
    /// Whether the answer shall come in events.
    pub stream: bool,
    /// Sampling temperature, finite and not below 0; the server's own where `None`.
    pub temperature: Option<f64>,
    /// Further keys. They win over all others, `messages` included; a table meets a table key by key, so that
    /// `stream_options = { continuous_usage_stats = true }` still asks for usage.
    pub extra: Map<String, Value>,
}

impl BodyOptions {
    /// The body that asks for an answer to `messages` of at most `max_tokens` tokens, as JSON.
    ///
    /// A streamed answer is asked to end with the token counts, which servers otherwise leave out.
    pub fn body(&self, api: Api, messages: &[Message], max_tokens: u32) -> Vec<u8> {
        let text_bytes: usize = messages.iter().map(|message| message.content.len() + 64).sum();
        let mut body = Vec::with_capacity(text_bytes + text_bytes / 16 + 256);
        match api {
            Api::Chat => write_json(&mut body, &ChatBody { options: self, messages, max_tokens }),
        }
        body
    }
}

fn write_json(body: &mut Vec<u8>, value: &impl Serialize) {
    let written: Result<(), io::Error> = serde_json::to_writer(body, value).map_err(Into::into);
    written.expect("memory takes every write, and every key is a string");
}

struct ChatBody<'a> {
    options: &'a BodyOptions,
    messages: &'a [Message],
    max_tokens: u32,
}

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let options = self.options;
        let extra = &options.extra;
        let is_ours = |key: &str| !extra.contains_key(key);
        let mut map = serializer.serialize_map(None)?;
        if is_ours("model") {
            map.serialize_entry("model", &options.model)?;
        }
        if is_ours("messages") {
            map.serialize_entry("messages", &Messages(self.messages))?;
        }
        if is_ours("max_tokens") {
            map.serialize_entry("max_tokens", &self.max_tokens)?;
        }
        if let Some(temperature) = options.temperature.filter(|_| is_ours("temperature")) {
            map.serialize_entry("temperature", &temperature)?;
        }
        if is_ours("stream") {
            map.serialize_entry("stream", &options.stream)?;
        }
        if options.stream && is_ours("stream_options") {
            map.serialize_entry("stream_options", &json!({ "include_usage": true }))?;
        }
        for (key, value) in extra {
            match value {
                Value::Object(own)
                    if options.stream && key == "stream_options" && is_silent_on_usage(own) =>
                {
                    let mut joined = own.clone();
                    joined.insert("include_usage".to_owned(), Value::Bool(true));
                    map.serialize_entry(key, &joined)?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

fn is_silent_on_usage(stream_options: &Map<String, Value>) -> bool {
    !stream_options.contains_key("include_usage")
}

struct Messages<'a>(&'a [Message]);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            role: &'static str,
            content: &'a str,
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for message in self.0 {
            list.serialize_element(&Shape { role: message.role.name(), content: &message.content })?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Role;

    fn body(options: &BodyOptions) -> String {
        let messages = [
            Message { role: Role::System, content: "Be \"brief\".\n".to_owned() },
            Message::user("Hi 🙂"),
            Message { role: Role::Assistant, content: String::new() },
        ];
        String::from_utf8(options.body(Api::Chat, &messages, 64)).expect("JSON is UTF-8")
    }

    fn options(extra: &Value) -> BodyOptions {
        let extra = extra.as_object().expect("a table").clone();
        BodyOptions { model: "tiny".to_owned(), stream: true, temperature: Some(0.0), extra }
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
}
