//! Prompts made of a row's columns: `"{context}\n\nQuestion: {question}"`.

use std::fmt;

/// A text with places for columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(String),
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// A brace without its partner.
    Unbalanced,
    /// `{}`, with no name in it.
    Nameless,
    /// It names no column, so that all prompts would be the same.
    NoColumn,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemplateError::Unbalanced => "a brace stands alone",
            TemplateError::Nameless => "`{}` names no column",
            TemplateError::NoColumn => "it names no column",
        })
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Reads a template. `{name}` is a column, `{{` and `}}` are braces.
    ///
    /// # Errors
    /// Where braces do not pair, or none holds a name.
    pub fn new(text: &str) -> Result<Template, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find(['{', '}']).filter(|end| brace == "{" && rest[*end..].starts_with('}'));
            let end = end.ok_or(TemplateError::Unbalanced)?;
            let name = rest[..end].trim();
            if name.is_empty() {
                return Err(TemplateError::Nameless);
            }
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Column(name.to_owned()));
            rest = &rest[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        if !parts.iter().any(|part| matches!(part, Part::Column(_))) {
            return Err(TemplateError::NoColumn);
        }
        Ok(Template { text: text.to_owned(), parts })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns it names, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text with `value` of each column in its place; `None` where one has none.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Column(name) => filled.push_str(&value(name)?),
            }
        }
        Some(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Option<String> {
        let value = |name: &str| (name != "none").then(|| format!("<{name}>"));
        Template::new(text).unwrap().fill(value)
    }

    #[test]
    fn columns_stand_in_their_places_and_doubled_braces_are_braces() {
        assert_eq!(filled("Q: {question}\n{{\"a\": {b c}}}").unwrap(), "Q: <question>\n{\"a\": <b c>}");
        assert_eq!(filled("{a}{ b }").unwrap(), "<a><b>");
        assert_eq!(filled("{a} {none}"), None);
        assert_eq!(Template::new("{a} {b}").unwrap().columns().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_template_is_refused() {
        assert_eq!(Template::new("no column"), Err(TemplateError::NoColumn));
        assert_eq!(Template::new("{{a}}"), Err(TemplateError::NoColumn));
        assert_eq!(Template::new("{}"), Err(TemplateError::Nameless));
        for text in ["{a", "a}", "{a{b}}", "}{"] {
            assert_eq!(Template::new(text), Err(TemplateError::Unbalanced), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_template_once_its_braces_are_doubled(text in ".{0,40}") {
            let doubled = format!("{}{{x}}", text.replace('{', "{{").replace('}', "}}"));
            let filled = Template::new(&doubled).unwrap().fill(|_| Some("!".to_owned()));
            proptest::prop_assert_eq!(filled, Some(text + "!"));
        }
    }
}
