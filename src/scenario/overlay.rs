//! Laying one tree over another: a scenario over the one it extends, and the command line over both.
//!
//! Tables merge key by key, lists of named tables member by member; any other value replaces what was there. Where
//! a table takes one kind of several, naming another kind replaces the kind whole.

use std::collections::BTreeMap;

use super::keys::{self, Kind};
use super::suggest::nearest;
use super::tree::{Entry, Node, Place, Table, Value};

/// What the names in a table are.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Keys of this table.
    Keys(&'static keys::Table),
    /// Names of headers, which do not differ by case.
    Headers,
    /// Anything. What stands under a name is replaced whole.
    Free,
}

impl Shape {
    /// The scenario itself.
    pub(super) const TOP: Shape = Shape::Keys(&keys::TABLES[0]);

    /// Of the table that stands under a key of this kind.
    pub(super) fn of(kind: Option<Kind>) -> Shape {
        match kind {
            Some(Kind::Headers) => Shape::Headers,
            Some(kind) => kind.table().map_or(Shape::Free, |path| Shape::Keys(keys::find(path))),
            None => Shape::Free,
        }
    }

    /// The kind of the key `name`.
    pub(super) fn kind(self, name: &str) -> Option<Kind> {
        match self {
            Shape::Keys(table) => table.key(name).map(|key| key.kind),
            Shape::Headers | Shape::Free => None,
        }
    }

    fn kinds(self) -> &'static [&'static str] {
        match self {
            Shape::Keys(table) => table.one_of,
            Shape::Headers | Shape::Free => &[],
        }
    }
}

/// Lays `over` over `base`. What `over` says twice, in whatever way, stays there twice for the reader to refuse.
pub(super) fn merge(base: &mut Table, over: Table, shape: Shape) {
    let kinds = shape.kinds();
    let names_kind = over.entries.iter().any(|entry| kinds.contains(&&*entry.name));
    if names_kind {
        base.entries.retain(|entry| !kinds.contains(&&*entry.name) || over.entry(&entry.name).is_some());
    }
    if matches!(shape, Shape::Headers) {
        let is_given = |name: &str| over.entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
        base.entries.retain(|entry| !is_given(&entry.name));
    }
    let known = base.entries.iter().enumerate().map(|(index, entry)| (entry.name.clone(), index));
    let known = known.collect::<BTreeMap<_, _>>();
    for entry in over.entries {
        match known.get(&entry.name) {
            Some(index) => lay(&mut base.entries[*index], entry, shape),
            None => base.entries.push(entry),
        }
    }
}

/// Lays `over` over the entry of the same name.
fn lay(base: &mut Entry, mut over: Entry, shape: Shape) {
    let kind = shape.kind(&over.name);
    if let Some(Kind::OneOf(_)) = kind {
        open_kind(&mut base.node);
        open_kind(&mut over.node);
    }
    base.at = over.at;
    let is_table = kind.is_some_and(|kind| {
        matches!(kind, Kind::Headers | Kind::Free | Kind::About)
            || kind.table().is_some() && !matches!(kind, Kind::Tables(_))
    });
    if let Some(Kind::Parameters { alone, .. }) = kind {
        wrap(&mut base.node, alone);
    }
    match (&mut base.node.value, over.node.value, kind) {
        (Value::Table(base_table), Value::Table(over_table), _) if is_table => {
            base.node.at = over.node.at;
            merge(base_table, over_table, Shape::of(kind));
        }
        (Value::Table(base_table), value, Some(Kind::Parameters { alone, .. })) => {
            let node = Node { at: over.node.at, value };
            let lone = Entry { name: alone.to_owned(), at: over.at, node };
            merge(base_table, Table { entries: vec![lone] }, Shape::of(kind));
        }
        (Value::List(members), Value::List(over_members), Some(Kind::Tables(_)))
            if !over_members.is_empty() =>
        {
            base.node.at = over.node.at;
            merge_members(members, over_members, Shape::of(kind));
        }
        (_, value, _) => base.node = Node { at: over.node.at, value },
    }
}

/// Makes the name of a kind the table it stands for.
fn open_kind(node: &mut Node) {
    if let Value::Text(name) = &node.value {
        node.value = Value::Table(Table { entries: vec![kind_alone(name, node.at)] });
    }
}

/// A kind without parameters.
pub(super) fn kind_alone(name: &str, at: Place) -> Entry {
    Entry { name: name.to_owned(), at, node: Node { at, value: Value::Table(Table::default()) } }
}

/// Makes a lone parameter the table it stands for.
fn wrap(node: &mut Node, alone: &str) {
    if !matches!(node.value, Value::Table(_)) {
        let lone = Entry { name: alone.to_owned(), at: node.at, node: node.clone() };
        node.value = Value::Table(Table { entries: vec![lone] });
    }
}

fn merge_members(base: &mut Vec<Node>, over: Vec<Node>, shape: Shape) {
    let named = base.iter().enumerate().filter_map(|(index, node)| Some((name_of(node)?.to_owned(), index)));
    let mut named = named.collect::<BTreeMap<_, _>>();
    for member in over {
        // Taken out, so that a second member of this name is one too many.
        let index = name_of(&member).and_then(|name| named.remove(name));
        let Some(Node { at, value: Value::Table(table) }) = index.map(|index| &mut base[index]) else {
            base.push(member);
            continue;
        };
        *at = member.at;
        // Only tables have names.
        if let Value::Table(over) = member.value {
            merge(table, over, shape);
        }
    }
}

/// The name of a member of a list.
pub(super) fn name_of(node: &Node) -> Option<&str> {
    let Value::Table(table) = &node.value else { return None };
    match &table.entry("name")?.node.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// One part of a key path.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) at: Place,
}

/// Why something cannot be put where it is said to go.
pub(super) struct Refusal {
    pub(super) at: Place,
    pub(super) message: String,
    pub(super) help: String,
}

/// Puts `last` under `path`, where members of lists go by name.
pub(super) fn put(table: &mut Table, shape: Shape, path: &[Part], last: Entry) -> Result<(), Refusal> {
    let Some((part, rest)) = path.split_first() else {
        if let (Some(Kind::Tables(of)), false) =
            (shape.kind(&last.name), matches!(last.node.value, Value::List(_)))
        {
            return Err(Refusal {
                at: last.at,
                message: format!("`{of}` is a list of tables"),
                help: format!("name one and a key of it: `--set {of}.NAME.key=value`"),
            });
        }
        merge(table, Table { entries: vec![last] }, shape);
        return Ok(());
    };
    let kinds = shape.kinds();
    if kinds.contains(&&*part.name) {
        table.entries.retain(|entry| entry.name == part.name || !kinds.contains(&&*entry.name));
    }
    let kind = shape.kind(&part.name);
    let Some(Kind::Tables(of)) = kind else {
        let alone = match kind {
            Some(Kind::Parameters { alone, .. }) => Some(alone),
            _ => None,
        };
        return put(descend(table, part, alone), Shape::of(kind), rest, last);
    };
    match rest.split_first() {
        Some((member, rest)) => {
            let found = find_member(table, &part.name, &member.name, member.at)?;
            put(found, Shape::of(kind), rest, last)
        }
        None => {
            find_member(table, &part.name, &last.name, last.at)?;
            Err(Refusal {
                at: last.at,
                message: format!("`{of}.{}` is a table", last.name),
                help: "name a key of it".to_owned(),
            })
        }
    }
}

fn find_member<'a>(
    table: &'a mut Table,
    list: &str,
    member: &str,
    at: Place,
) -> Result<&'a mut Table, Refusal> {
    let members = match table.entries.iter_mut().find(|entry| entry.name == list) {
        Some(Entry { node: Node { value: Value::List(members), .. }, .. }) => &mut members[..],
        _ => &mut [],
    };
    let names = members.iter().filter_map(name_of).map(str::to_owned).collect::<Vec<_>>();
    let found = members.iter_mut().find(|node| name_of(node) == Some(member));
    match found.map(|node| &mut node.value) {
        Some(Value::Table(table)) => Ok(table),
        _ => Err(Refusal {
            at,
            message: format!("no {list} is named `{member}`"),
            help: match nearest(member, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names.is_empty() => format!("the scenario has no `[[{list}]]` with a name"),
                None => format!("there is {}", keys::list(&names, "and")),
            },
        }),
    }
}

/// The table under `part`, made if there is none. A value in its place becomes the member `alone` of it, or goes
/// where there is no such member.
fn descend<'a>(table: &'a mut Table, part: &Part, alone: Option<&str>) -> &'a mut Table {
    let index = match table.entries.iter().position(|entry| entry.name == part.name) {
        Some(index) => index,
        None => {
            let node = Node { at: part.at, value: Value::Table(Table::default()) };
            table.entries.push(Entry { name: part.name.clone(), at: part.at, node });
            table.entries.len() - 1
        }
    };
    let node = &mut table.entries[index].node;
    if let Some(alone) = alone {
        wrap(node, alone);
    }
    if !matches!(node.value, Value::Table(_)) {
        node.value = Value::Table(Table::default());
    }
    match &mut node.value {
        Value::Table(table) => table,
        _ => unreachable!("made a table just above"),
    }
}
