//! The reference of scenarios as a page of Markdown, from the table of keys.

use super::keys::{Fallback, Key, Kind, TABLES, Table};

/// The page, ending with a line break.
pub fn reference() -> String {
    let mut page = include_str!("reference.md").to_owned();
    for table in TABLES {
        page += &section(table);
    }
    page
}

fn section(table: &Table) -> String {
    let mut text = format!("\n## {}\n\n{}", heading(table), table.doc);
    if !table.one_of.is_empty() {
        let kinds = table.one_of.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>();
        text += &match &kinds[..] {
            [only] => format!(" So far there is {only}."),
            kinds => format!(" Exactly one of {} must be there.", kinds.join(", ")),
        };
    }
    text += "\n\n| key | takes | left out | meaning |\n| --- | --- | --- | --- |\n";
    for key in table.keys {
        text += &row(table, key);
    }
    text + &format!("\n```toml\n{}\n```\n", table.example)
}

/// The table's place, as its author writes it.
fn heading(table: &Table) -> String {
    match table.path {
        "" => "Top level".to_owned(),
        "distribution" => "A distribution".to_owned(),
        "slo" => "`[slo]`, and `slo` of `[[workload]]`".to_owned(),
        "request" => "`[request]`, and `request` of `[[workload]]`".to_owned(),
        path => match path.strip_prefix("distribution.") {
            Some(law) => format!("`{law}` of a distribution"),
            None => table.heading(),
        },
    }
}

fn row(table: &Table, key: &Key) -> String {
    let default = match key.default {
        Fallback::Required => "must be there".to_owned(),
        Fallback::Value(value) => format!("`{value}`"),
        Fallback::None(_) if table.one_of.contains(&key.name) => "another kind".to_owned(),
        Fallback::None(meaning) => meaning.to_owned(),
    };
    let takes = match key.kind {
        Kind::Name => "a name".to_owned(),
        Kind::Integer { min, max } if max < 1 << 32 => format!("a whole number from {min} to {max}"),
        Kind::Table(path) if path.contains('.') => "a table: see below".to_owned(),
        Kind::Tables(path) => format!("`[[{path}]]`, once for each"),
        Kind::About => "a table of texts, numbers and booleans".to_owned(),
        Kind::Headers => "a table of texts".to_owned(),
        kind => kind.describe(),
    };
    let unit = key.kind.unit().filter(|unit| *unit == "tokens").map(|unit| format!(" In {unit}."));
    let meaning = format!("{}{} Example: `{}`", key.doc, unit.unwrap_or_default(), key.example);
    let cells = [format!("`{}`", key.name), takes, default, meaning].map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}
