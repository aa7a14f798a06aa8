//! JSON Schema of scenarios, for editors.
//!
//! It follows from the table of keys and says what a file may hold. What must be there is asked for only where
//! a file extends no other: the rest may stand in its base. Draft 7, which editors and taplo know.

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use super::keys::{self, Fallback, Key, Kind, TABLES, Table};
use super::read::OWN_MEMBERS;
use crate::sim::Profile;
use crate::stats::Statistic;

/// The schema as JSON text, ending with a line break.
pub fn schema() -> String {
    let mut schema = table(&TABLES[0]);
    put(&mut schema, "$schema", "http://json-schema.org/draft-07/schema#".into());
    put(&mut schema, "title", "Tonnage scenario".into());
    put(&mut schema, "if", json!({ "not": { "required": ["extends"] } }));
    put(&mut schema, "then", needs(&TABLES[0]));
    // A map of such values is always JSON.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn put(schema: &mut Value, name: &str, value: Value) {
    schema[name] = value;
}

/// A table with its keys, none of which must be there.
fn table(table: &Table) -> Value {
    let keys = table.keys.iter().map(|key| (key.name.to_owned(), described(key)));
    let mut schema = json!({
        "type": "object",
        "description": table.doc,
        "additionalProperties": false,
        "properties": keys.collect::<Map<_, _>>(),
    });
    let kinds = table.one_of.iter().enumerate();
    let pairs = kinds.flat_map(|(i, one)| table.one_of[..i].iter().map(move |other| [other, one]));
    let pairs = pairs.map(|pair| json!({ "not": { "required": pair } })).collect::<Vec<_>>();
    if !pairs.is_empty() {
        put(&mut schema, "allOf", pairs.into());
    }
    schema
}

/// What must be there of a table, and of the tables in it.
fn needs(table: &Table) -> Value {
    let mut schema = Map::new();
    let required = table.keys.iter().filter(|key| key.default == Fallback::Required);
    let required = required.map(|key| key.name).collect::<Vec<_>>();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    let kinds = table.one_of.iter().map(|kind| json!({ "required": [kind] })).collect::<Vec<_>>();
    if !kinds.is_empty() {
        schema.insert("anyOf".to_owned(), kinds.into());
    }
    let inner = table.keys.iter().filter_map(|key| {
        let needs = needs(keys::find(key.kind.table()?));
        let is_empty = needs.as_object().is_some_and(Map::is_empty);
        let needs = match key.kind {
            Kind::Tables(_) => json!({ "minItems": 1, "items": needs }),
            _ => needs,
        };
        (!is_empty).then(|| (key.name.to_owned(), needs))
    });
    let inner = inner.collect::<Map<_, _>>();
    if !inner.is_empty() {
        schema.insert("properties".to_owned(), inner.into());
    }
    schema.into()
}

/// What a key takes, with all that an editor shows of it.
fn described(key: &Key) -> Value {
    let mut schema = value(key.kind);
    let mut doc = key.doc.to_owned();
    if let Some(unit) = key.kind.unit() {
        doc += &format!(" Unit: {unit}.");
    }
    match key.default {
        Fallback::Required => {}
        Fallback::Value(default) => {
            doc += &format!(" Default: {default}.");
            put(&mut schema, "default", example(default));
        }
        Fallback::None(meaning) => doc += &format!(" Left out: {meaning}."),
    }
    put(&mut schema, "description", doc.into());
    put(&mut schema, "examples", json!([example(key.example)]));
    schema
}

/// A value of the table of keys as JSON.
fn example(text: &str) -> Value {
    fn convert(value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Value::Null, Value::from),
            DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
            DeValue::Boolean(value) => (*value).into(),
            DeValue::Datetime(date) => date.to_string().into(),
            DeValue::Array(list) => list.iter().map(|value| convert(value.get_ref())).collect(),
            DeValue::Table(table) => {
                let members =
                    table.iter().map(|(key, value)| (key.get_ref().to_string(), convert(value.get_ref())));
                Value::Object(members.collect())
            }
        }
    }
    DeValue::parse(text).map_or(Value::Null, |value| convert(value.get_ref()))
}

/// Numbers with units, the larger unit first, each at most once.
const DURATION: &str = concat!(
    r"^([0-9]+(\.[0-9]+)?h)?([0-9]+(\.[0-9]+)?m)?([0-9]+(\.[0-9]+)?s)?",
    r"([0-9]+(\.[0-9]+)?ms)?([0-9]+(\.[0-9]+)?us)?([0-9]+(\.[0-9]+)?ns)?$"
);
const RATE: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE]-?[0-9]+)?\s*/\s*(s|min|h)\s*$";
const SHARE: &str = r"^\s*[0-9]*\.?[0-9]*\s*%\s*$";
/// What is left of a duration of no length.
const NO_DIGIT_BUT_ZERO: &str = "^[^1-9]*$";
/// A rate whose number is zero.
const NO_RATE: &str = r"^\s*[0.]+([eE]|\s*/)";
/// RFC 9110, 5.6.2 and 5.5, without what only some servers take.
const HEADER_NAME: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const HEADER_VALUE: &str = r"^[\t -~]*$";
const TOKENS: &str = "^[0-9]+(k|Ki|M|Mi)?$";
const BYTES: &str = r"^[0-9]+(\.[0-9]+)? ?([kMGT]?B|[KMGT]iB)$";
const URL: &str = r"^([hH][tT][tT][pP][sS]?://[^/?#@\s]+(/[^?#\s]*)?|unix:/[^?#\s]+)$";

/// A path of the target, or a URL.
const PAGE: &str = r"^(/|/[^/?#\s][^?#\s]*|[hH][tT][tT][pP][sS]?://[^/?#@\s]+(/[^?#\s]*)?|unix:/[^?#\s]+)$";

/// What a key of this kind takes.
fn value(kind: Kind) -> Value {
    match kind {
        Kind::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,100}$" }),
        Kind::Text | Kind::Path => {
            json!({ "type": "string", "pattern": r"\S", "not": { "pattern": r"[\x00-\x1f\x7f-\x9f]" } })
        }
        Kind::Profile => json!({ "anyOf": [
            { "enum": Profile::NAMES },
            { "type": "string", "pattern": r"\.toml$", "not": { "pattern": r"[\x00-\x1f\x7f-\x9f]" } },
        ] }),
        Kind::Prose => json!({ "type": "string", "pattern": r"\S" }),
        Kind::Variable => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Kind::Url => json!({ "type": "string", "pattern": URL }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Choice(choices) => json!({ "type": "string", "enum": choices }),
        // Larger ones do not fit a whole number of TOML.
        Kind::Integer { min, max } if max > i64::MAX as u64 => json!({ "type": "integer", "minimum": min }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Requests => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "enum": ["all"] }] }),
        Kind::Statuses => {
            let status = json!({ "type": "integer", "minimum": 400, "maximum": 599 });
            json!({ "type": "array", "minItems": 1, "items": status })
        }
        Kind::Number => json!({ "type": "number", "minimum": 0 }),
        Kind::Duration { min } if min.is_zero() => {
            json!({ "type": "string", "minLength": 2, "pattern": DURATION })
        }
        Kind::Duration { .. } => {
            let zero = json!({ "pattern": NO_DIGIT_BUT_ZERO });
            json!({ "type": "string", "minLength": 2, "pattern": DURATION, "not": zero })
        }
        Kind::Rate => json!({ "type": "string", "pattern": RATE, "not": { "pattern": NO_RATE } }),
        Kind::Level => json!({ "type": "string", "pattern": RATE }),
        Kind::Levels => json!({ "type": "array", "minItems": 2, "items": value(Kind::Level) }),
        Kind::Names => json!({ "type": "array", "minItems": 1, "items": value(Kind::Name) }),
        Kind::Pages => {
            let page = json!({ "type": "string", "pattern": PAGE });
            json!({ "anyOf": [page, { "type": "array", "minItems": 1, "items": page }] })
        }
        Kind::Metrics => {
            let name = json!({ "type": "string", "pattern": "^[A-Za-z_:][A-Za-z0-9_:]{0,199}$" });
            json!({ "type": "array", "minItems": 1, "items": name })
        }
        Kind::Share => json!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": SHARE },
        ] }),
        Kind::Bytes => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": BYTES },
        ] }),
        Kind::Tokens => json!({ "anyOf": tokens() }),
        Kind::TokenList => json!({ "type": "array", "minItems": 1, "items": { "anyOf": tokens() } }),
        Kind::Numbers => json!({ "type": "array", "minItems": 1, "items": value(Kind::Number) }),
        Kind::Distribution => {
            let [number, text] = tokens();
            json!({ "anyOf": [number, text, table(keys::find("distribution"))] })
        }
        Kind::KeyPath => json!({ "type": "string", "pattern": r"\S" }),
        Kind::KeyPaths => json!({ "type": "array", "minItems": 1, "items": value(Kind::KeyPath) }),
        Kind::Values => json!({ "anyOf": [
            { "type": "array", "minItems": 1 },
            table(keys::find("sweep.axis.values")),
        ] }),
        Kind::Amount => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string", "pattern": r"\S" }] })
        }
        Kind::Skips => json!({ "type": "array", "minItems": 1, "items": { "type": "object" } }),
        Kind::AnswerLength => {
            let [number, text] = tokens();
            let row = json!({ "const": "dataset" });
            json!({ "anyOf": [number, text, row, table(keys::find("distribution"))] })
        }
        Kind::Percentile => {
            // To an editor 99 and 99.0 are two things.
            let number = |percent: f64| match percent.fract() == 0.0 {
                true => json!(percent as u64),
                false => json!(percent),
            };
            let known = Statistic::percentiles().map(|(_, percentile)| number(percentile.as_percent()));
            json!({ "enum": known.collect::<Vec<_>>() })
        }
        Kind::Bound => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "string", "pattern": r"^\s*[0-9.]" },
        ] }),
        Kind::Headers => json!({
            "type": "object",
            "propertyNames": { "pattern": HEADER_NAME },
            "additionalProperties": { "type": "string", "pattern": HEADER_VALUE },
        }),
        Kind::Free => {
            let taken = OWN_MEMBERS.map(|(name, _)| name);
            json!({
                "type": "object",
                "propertyNames": { "not": { "enum": taken } },
                "properties": { "n": { "enum": [1] } },
            })
        }
        Kind::About => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
        }
        Kind::Table(path) => table(keys::find(path)),
        Kind::Tables(path) => json!({ "type": "array", "items": table(keys::find(path)) }),
        Kind::Parameters { table: path, alone } => {
            let lone = keys::find(path).key(alone).map_or(json!({}), |key| value(key.kind));
            json!({ "anyOf": [lone, table(keys::find(path))] })
        }
        Kind::Bare => json!({ "type": "object", "maxProperties": 0 }),
        Kind::OneOf(path) => {
            let kinds = keys::find(path);
            json!({ "anyOf": [{ "type": "string", "enum": kinds.bare_kinds() }, table(kinds)] })
        }
    }
}

fn tokens() -> [Value; 2] {
    [
        json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
        json!({ "type": "string", "pattern": TOKENS }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::TargetUrl;
    use crate::units::{Rate, parse_duration, parse_rate, parse_tokens, write_duration, write_rate};

    fn fits(pattern: &str, text: &str) -> bool {
        regex::Regex::new(pattern).unwrap().is_match(text)
    }

    #[test]
    fn every_key_stands_in_the_schema_with_doc_default_unit_and_example() {
        for table in TABLES {
            for key in table.keys {
                let schema = described(key);
                let doc = schema["description"].as_str().unwrap();
                assert!(doc.starts_with(key.doc), "{}", key.name);
                assert_ne!(schema["examples"][0], Value::Null, "{}", key.name);
                match key.default {
                    Fallback::Value(_) => assert_ne!(schema["default"], Value::Null, "{}", key.name),
                    Fallback::None(meaning) => assert!(doc.contains(meaning), "{}", key.name),
                    Fallback::Required => assert!(!doc.contains("Left out"), "{}", key.name),
                }
                assert_eq!(doc.contains("Unit: "), key.kind.unit().is_some(), "{}", key.name);
            }
        }
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let poisson = &schema["properties"]["phase"]["items"]["properties"]["load"]["properties"]["poisson"];
        assert_eq!(poisson["anyOf"][0]["pattern"], RATE);
        assert_eq!(
            schema["then"]["properties"]["phase"]["items"]["properties"]["load"]["anyOf"][0]["required"][0],
            "poisson"
        );
    }

    #[test]
    fn patterns_refuse_what_users_write_wrong() {
        for text in ["", "5", "5min", "1s1m", "-1s", "1.s", "5 s"] {
            assert!(text.len() < 2 || !fits(DURATION, text), "{text}");
        }
        for text in ["10", "6/sec", "/s", "-1/s", "inf/s"] {
            assert!(!fits(RATE, text), "{text}");
        }
        for text in ["4K", "k", "1.5k", ""] {
            assert!(!fits(TOKENS, text), "{text}");
        }
        for text in ["ftp://h", "h:80", "http://u:p@h", "http://h?x", "http://"] {
            assert!(!fits(URL, text), "{text}");
        }
    }

    proptest::proptest! {
        /// What the reader takes, no editor may underline.
        #[test]
        fn patterns_take_all_that_the_reader_takes(
            text in "[0-9.]{0,3}[a-zA-Z/]{0,5}[0-9. ]{0,2}[a-z/]{0,4}", any in "[hHtps:/a.@?1 ]{0,14}",
            ns: u64, per_second in 1e-9..1e9_f64,
        ) {
            let rate = write_rate(Rate::per_second(per_second).unwrap());
            let duration = write_duration(std::time::Duration::from_nanos(ns));
            for text in [&text, &any, &rate, &duration] {
                let is_read = parse_duration(text);
                proptest::prop_assert!(is_read.is_err() || text.len() >= 2 && fits(DURATION, text), "{text}");
                let is_zero = is_read.is_ok_and(|read| read.is_zero());
                let looks_zero = fits(NO_DIGIT_BUT_ZERO, text);
                proptest::prop_assert!(is_read.is_err() || is_zero == looks_zero, "{text}");
                let is_rate = fits(RATE, text) && !fits(NO_RATE, text);
                proptest::prop_assert!(parse_rate(text).is_err() || is_rate, "{text}");
                proptest::prop_assert!(parse_tokens(text).is_err() || fits(TOKENS, text), "{text}");
                proptest::prop_assert!(TargetUrl::parse(text).is_err() || fits(URL, text), "{text}");
            }
        }
    }
}
