//! Lists of models, as servers give them.

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
}
