//! Lists of models and versions, as servers give them.

use serde_json::Value;

/// Names of the models in `body`, in its order; `None` where it is no such list.
///
/// Reads OpenAI's list, which Anthropic and most servers share (`{"data": [{"id": …}]}`), and Ollama's
/// (`{"models": [{"name": …}]}`); llama.cpp sends both in one.
pub fn model_names(body: &[u8]) -> Option<Vec<String>> {
    let list = serde_json::from_slice::<Value>(body).ok()?;
    let names = |members: &str, name: &str| {
        let models = list.get(members)?.as_array()?;
        Some(models.iter().filter_map(|model| model.get(name)?.as_str().map(str::to_owned)).collect())
    };
    names("data", "id").or_else(|| names("models", "name"))
}

/// The version in `body`, as vLLM, SGLang and Ollama tell it (`{"version": "0.11.0"}`); `None` where it is no such answer,
/// or no short text.
pub fn version(body: &[u8]) -> Option<String> {
    let answer = serde_json::from_slice::<Value>(body).ok()?;
    let version = answer.get("version")?.as_str()?;
    let is_sound = !version.is_empty() && version.len() <= LONGEST_VERSION;
    (is_sound && !version.contains(char::is_control)).then(|| version.to_owned())
}

/// The longest text that is taken for a version, in bytes.
const LONGEST_VERSION: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_both_kinds_are_read_and_anything_else_is_none() {
        let list = |body: &str| model_names(body.as_bytes());
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            list(r#"{"object":"list","data":[{"id":"a","x":1},{"id":"b"},{"no":"id"}]}"#),
            names(&["a", "b"])
        );
        assert_eq!(list(r#"{"models":[{"name":"a:latest","model":"a"}]}"#), names(&["a:latest"]));
        assert_eq!(list(r#"{"models":[{"name":"x"}],"data":[{"id":"a"}]}"#), names(&["a"]));
        assert_eq!(list(r#"{"data":[]}"#), names(&[]));
        assert_eq!((list("{}"), list("<html>"), list(r#"{"data":1}"#)), (None, None, None));
    }

    #[test]
    fn a_version_is_a_short_text() {
        let of = |body: &str| version(body.as_bytes());
        assert_eq!(of(r#"{"version":"0.11.0rc2"}"#).as_deref(), Some("0.11.0rc2"));
        assert_eq!(
            (of(r#"{"version":3}"#), of(r#"{"version":""}"#), of("<html>"), of("{}")),
            (None, None, None, None)
        );
        assert_eq!(of(r#"{"version":"a\nb"}"#), None);
        assert_eq!(of(&format!(r#"{{"version":"{}"}}"#, "9".repeat(201))), None);
    }
}
