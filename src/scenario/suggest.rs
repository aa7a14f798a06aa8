//! What an unknown name may have been meant to be.

use super::keys::{self, Kind, Table};

/// Longer words are nobody's typing error, and comparing them would take long.
const LONGEST_WORD: usize = 64;

/// The name most like `word`, if one is alike enough: at most a third of its letters differ.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let word = plain(word);
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &plain(name));
    let alike = names.map(|name| (distance(name), name));
    let alike = alike.filter(|(distance, name)| *distance <= (name.len().max(word.len()) / 3).max(1));
    alike.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Help for the key `name`, which `table` does not have. `outer` are the tables around it, from the top;
/// `header` is how the table was begun, if by a line of its own.
pub(super) fn unknown_key(name: &str, table: &Table, outer: &[&Table], header: Option<&str>) -> String {
    if matches!(name, "type" | "kind") && !table.one_of.is_empty() {
        let kinds = table.one_of.iter().filter_map(|kind| table.key(kind));
        let forms = kinds.map(|key| format!("{} = {}", key.name, key.example)).collect::<Vec<_>>();
        return format!("a kind is named by its own key: {}", keys::list(&forms, "or"));
    }
    let alike = nearest(name, table.keys.iter().map(|key| key.name));
    if let Some(around) = outer.iter().rev().find(|around| around.key(name).is_some()) {
        let belongs = format!("`{name}` belongs to {}", around.heading());
        return match (alike, header) {
            (Some(alike), _) => format!("did you mean `{alike}`? {belongs}"),
            (None, Some(header)) => format!("{belongs}: move it above `{header}`"),
            (None, None) => format!("{belongs}: move it there"),
        };
    }
    if let Some(alike) = alike {
        return format!("did you mean `{alike}`?");
    }
    let elsewhere = keys::TABLES.iter().filter(|table| table.key(name).is_some());
    let elsewhere = elsewhere.map(Table::heading).collect::<Vec<_>>();
    if !elsewhere.is_empty() && elsewhere.len() <= 3 {
        return format!("`{name}` belongs to {}: move it there", elsewhere.join(" or "));
    }
    let others = keys::OTHER_NAMES.iter().map(|(other, _)| *other);
    if let Some((_, path)) =
        nearest(name, others).and_then(|other| keys::OTHER_NAMES.iter().find(|o| o.0 == other))
    {
        let (owner, key) = path.rsplit_once('.').unwrap_or(("", path));
        let owner = keys::find(owner);
        let example = owner.key(key).map_or("…", |key| key.example);
        return format!("did you mean `{key} = {example}` of {}?", owner.heading());
    }
    let everywhere =
        keys::TABLES.iter().flat_map(|table| table.keys.iter().map(move |key| (table, key.name)));
    if let Some(alike) = nearest(name, everywhere.clone().map(|(_, key)| key)) {
        let owners = everywhere.filter(|(_, key)| *key == alike).map(|(table, _)| table.heading());
        let owners = owners.collect::<Vec<_>>();
        if owners.len() <= 3 {
            return format!("did you mean `{alike}` of {}?", owners.join(" or "));
        }
    }
    let names = table.keys.iter().map(|key| key.name).collect::<Vec<_>>();
    format!("known here: {}", keys::list(&names, "and"))
}

/// How `table` is to be written where something else stands in its place.
pub(super) fn table_form(name: &str, kind: Kind, found: Option<&str>) -> String {
    let Some(table) = kind.table().map(keys::find) else {
        return format!("write it like `{name}.key = value`");
    };
    let named = found.and_then(|found| nearest(found, table.one_of.iter().copied()));
    let key = named.and_then(|named| table.key(named)).or(table.keys.first());
    match key {
        Some(key) => format!("write it like `{name}.{} = {}`", key.name, key.example),
        None => format!("write it like `{name}.key = value`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_whatever_case_and_hyphens() {
        let names = ["duration", "requests", "warm_up", "max_in_flight"];
        let near = |word| nearest(word, names.into_iter());
        assert_eq!(near("duratoin"), Some("duration"));
        assert_eq!(near("Max-In-Flight"), Some("max_in_flight"));
        assert_eq!(near("warmup"), Some("warm_up"));
        assert_eq!(near("banana"), None);
        assert_eq!(near(&"d".repeat(100_000)), None);
    }
}
