//! The layers of the crate, and what each module may touch, held by a test.
//!
//! Every file of `src/` is read. An import or a written path that does not point to a lower layer fails, as does
//! I/O outside its place: numbers can be trusted only while parsers, statistics and the simulator stay pure.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use source::{Mention, Source};

#[path = "architecture/source.rs"]
mod source;

/// The modules, lowest layer first. A module imports lower layers only; those of one layer do not know each other.
const LAYERS: [&[&str]; 8] = [
    &["blocks", "clock", "diagnostic", "distribution", "seed", "units"],
    &["arrival", "prompt", "record", "sim", "wire"],
    &["dataset", "protocol", "score", "stats"],
    &["scenario"],
    &["client", "plan"],
    &["results", "run", "scrape"],
    &["collect", "report", "sweep"],
    &["cli"],
];

/// The ground that the rest of layer 0 stands on. They import nothing.
const BEDROCK: [&str; 2] = ["seed", "units"];

/// The most lines of a file.
const MAX_LINES: usize = 800;

/// Something that only some modules may do.
struct Rule {
    what: &'static str,
    /// Whether a path does it.
    does: fn(&[&str]) -> bool,
    /// The modules that may.
    places: &'static [&'static str],
    /// Whether code compiled for tests may do it anywhere.
    tests_may: bool,
}

const RULES: [Rule; 5] = [
    Rule {
        what: "the async runtime and HTTP",
        does: |path| ["tokio", "tokio_rustls", "hyper", "hyper_util", "http_body_util"].contains(&path[0]),
        places: &["client", "run", "scrape", "sim::http", "clock", "cli"],
        tests_may: true,
    },
    Rule {
        what: "the file system",
        does: |path| matches!(path, ["std" | "tokio", "fs", ..]),
        places: &["scenario::source", "dataset", "client::tls", "results", "cli"],
        tests_may: true,
    },
    Rule {
        what: "the terminal",
        does: |path| {
            const MACROS: [&str; 5] = ["print!", "println!", "eprint!", "eprintln!", "dbg!"];
            path.last().is_some_and(|last| MACROS.contains(last))
                || path.windows(2).any(|pair| matches!(pair, ["io", "stdin" | "stdout" | "stderr"]))
        },
        places: &["cli"],
        tests_may: true,
    },
    Rule {
        what: "the end of the process",
        does: |path| path.windows(2).any(|pair| matches!(pair, ["process", "exit" | "abort"])),
        places: &["cli"],
        tests_may: false,
    },
    Rule {
        what: "the environment",
        does: |path| matches!(path, ["std", "env", ..]),
        places: &["cli"],
        tests_may: false,
    },
];

/// One file: its path under `src/` and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    /// Its module, from the crate's root; empty for `lib.rs` and `main.rs`.
    fn module(&self) -> Vec<String> {
        let mut module: Vec<String> =
            self.path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let root = module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
        if root || module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        module
    }
}

/// Every breach of the rules, as `src/file.rs:line: what`, in order of files and lines.
fn breaches(files: &[File]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|file| Source::read(&file.text, &file.module())).collect();
    let test_modules: BTreeSet<&[String]> =
        sources.iter().flat_map(|source| &source.test_modules).map(Vec::as_slice).collect();
    let mut found = Vec::new();
    for (file, source) in files.iter().zip(&sources) {
        let module = file.module();
        let test_file = (1..=module.len()).any(|length| test_modules.contains(&module[..length]));
        let mut of_file = form_breaches(file);
        for mention in &source.mentions {
            let breaches = mention_breaches(mention, test_file || mention.test);
            of_file.extend(breaches.into_iter().map(|breach| (mention.line, breach)));
        }
        of_file.sort();
        of_file.dedup();
        found.extend(of_file.into_iter().map(|(line, breach)| format!("src/{}:{line}: {breach}", file.path)));
    }
    found
}

/// What is wrong with a file before its code is looked at.
fn form_breaches(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if !file.text.starts_with("//!") {
        found.push((1, "no `//!` header that says what the file is for".to_owned()));
    }
    let lines = file.text.lines().count();
    if lines > MAX_LINES {
        found.push((MAX_LINES + 1, format!("{lines} lines: split at {MAX_LINES} at the latest")));
    }
    if let Some(top) = file.module().first()
        && layer(top).is_none()
    {
        found.push((1, format!("`{top}` is in no layer: give it a place in tests/architecture.rs")));
    }
    found
}

/// What is wrong with one mention.
fn mention_breaches(mention: &Mention, test: bool) -> Vec<String> {
    let path: Vec<&str> = mention.path.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    if let ["crate" | "tonnage", inner @ ..] = path.as_slice() {
        found.extend(layer_breach(mention.module.first(), inner.first()));
    }
    for rule in &RULES {
        let allowed = rule.places.iter().any(|place| lies_in(&mention.module, place));
        if (rule.does)(&path) && !allowed && !(test && rule.tests_may) {
            let (path, places) = (path.join("::"), rule.places.join("`, `"));
            found.push(format!("`{path}`: {} belongs to `{places}`", rule.what));
        }
    }
    found
}

/// What is wrong with an import of top-level module `to` by `from` (None: the crate's root, above all layers).
fn layer_breach(from: Option<&String>, to: Option<&&str>) -> Option<String> {
    let to = match to {
        None | Some(&"*") => return from.map(|from| format!("`{from}` imports the crate's root as a whole")),
        Some(to) => *to,
    };
    let Some(below) = layer(to) else {
        return Some(format!("`{to}` is in no layer: name the module where it is defined"));
    };
    let from = from?;
    let above = layer(from)?;
    let on_bedrock = BEDROCK.contains(&to) && !BEDROCK.contains(&from.as_str());
    if from == to || below < above || below == above && on_bedrock {
        return None;
    }
    let why =
        if below > above { "imports point down" } else { "modules of one layer do not import each other" };
    Some(format!("`{from}` (layer {above}) imports `{to}` (layer {below}): {why}"))
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Whether a module is `place` (`"sim::http"`) or inside it.
fn lies_in(module: &[String], place: &str) -> bool {
    let mut module = module.iter();
    place.split("::").all(|segment| module.next().is_some_and(|name| name == segment))
}

/// Every Rust file under `folder`, by path.
fn files_under(folder: &Path, prefix: &str) -> io::Result<Vec<File>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let path = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            files.extend(files_under(&entry.path(), &format!("{path}/"))?);
        } else if path.ends_with(".rs") {
            files.push(File { path, text: fs::read_to_string(entry.path())? });
        }
    }
    Ok(files)
}

#[test]
fn every_import_points_down_and_every_effect_has_its_place() {
    let files = files_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "").unwrap();
    assert!(files.iter().any(|file| file.path == "lib.rs"), "src/ was not found");
    let found = breaches(&files);
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// The breaches in one made-up file. A header is added, on a line of its own.
fn found_in(path: &str, code: &str) -> Vec<String> {
    breaches(&[File { path: path.to_owned(), text: format!("//! Made up.\n{code}") }])
}

#[track_caller]
fn assert_clean(path: &str, code: &str) {
    assert_eq!(found_in(path, code), Vec::<String>::new(), "{code}");
}

#[test]
fn an_import_of_a_higher_layer_is_found() {
    let up = "src/sim/engine.rs:2: `sim` (layer 1) imports `client` (layer 4): imports point down";
    for code in [
        "use crate::client::Pool;",
        "use crate::client;",
        "use crate::{client::Pool, units::Nanos};",
        "use crate::{units::{Nanos, Rate}, client::{self, pool::{Pool as P, *}}};",
        "pub(crate) use crate::client::*;",
        "use super::super::client::Pool;",
        "use crate::r#client::Pool;",
        "fn f(pool: &crate::client::Pool) {}",
        "fn f<'a>(pool: &'a super::super::client::Pool<'a>) {}",
        "fn f() { g::<crate::client::Pool>('\"', \"\"); }",
        "impl From<crate::client::Pool> for X {}",
        "mod inner { use super::super::super::client::Pool; }",
        "macro_rules! m { () => { $crate::client::Pool::new() } }",
        "pub(in crate::client) fn f() {}",
        "use /* a comment /* in a comment */ */ crate::client::Pool;",
    ] {
        assert_eq!(found_in("sim/engine.rs", code), [up], "{code}");
    }
}

#[test]
fn a_test_module_has_the_layers_of_its_file() {
    let code = "#[cfg(test)]\nmod tests {\n    use crate::client::Pool;\n}";
    let up = "src/units.rs:4: `units` (layer 0) imports `client` (layer 4): imports point down";
    assert_eq!(found_in("units.rs", code), [up]);
}

#[test]
fn an_import_within_one_layer_is_found_but_not_within_one_folder() {
    let beside = "modules of one layer do not import each other";
    assert_eq!(
        found_in("plan/mod.rs", "use crate::client::Pool;"),
        [format!("src/plan/mod.rs:2: `plan` (layer 4) imports `client` (layer 4): {beside}")]
    );
    assert_eq!(
        found_in("units.rs", "use crate::seed::Seed;"),
        [format!("src/units.rs:2: `units` (layer 0) imports `seed` (layer 0): {beside}")]
    );
    assert_eq!(
        found_in("seed.rs", "use crate::clock::Clock;"),
        [format!("src/seed.rs:2: `seed` (layer 0) imports `clock` (layer 0): {beside}")]
    );
    assert_clean(
        "plan/compose.rs",
        "use crate::plan::shard; use super::Session; use self::inner::X; mod inner {}",
    );
    assert_clean("clock.rs", "use crate::units::Nanos;");
    assert_clean("distribution.rs", "use crate::{seed::Stream, units::Rate};");
}

#[test]
fn an_import_that_points_down_is_allowed() {
    for (above, modules) in LAYERS.iter().enumerate() {
        for from in *modules {
            for to in LAYERS[..above].concat() {
                assert_clean(
                    &format!("{from}.rs"),
                    &format!("use crate::{to}::X; fn f() {{ crate::{to}::f() }}"),
                );
            }
        }
    }
    assert_clean("main.rs", "fn main() { tonnage::cli::main() }");
    assert_clean("lib.rs", "pub mod cli; pub use crate::units::Rate;");
}

#[test]
fn a_module_without_a_layer_is_found() {
    let nowhere = "is in no layer";
    assert_eq!(
        found_in("util.rs", ""),
        [format!("src/util.rs:1: `util` {nowhere}: give it a place in tests/architecture.rs")]
    );
    assert_eq!(
        found_in("plan/mod.rs", "use crate::Rate;"),
        [format!("src/plan/mod.rs:2: `Rate` {nowhere}: name the module where it is defined")]
    );
    assert_eq!(
        found_in("main.rs", "fn main() { tonnage::run_all() }"),
        [format!("src/main.rs:2: `run_all` {nowhere}: name the module where it is defined")]
    );
    let whole = "src/plan/mod.rs:2: `plan` imports the crate's root as a whole";
    assert_eq!(found_in("plan/mod.rs", "use crate::*;"), [whole]);
    assert_eq!(found_in("plan/mod.rs", "use super::*;"), [whole]);
}

#[test]
fn the_async_runtime_and_http_are_found_outside_their_places() {
    let places =
        "the async runtime and HTTP belongs to `client`, `run`, `scrape`, `sim::http`, `clock`, `cli`";
    for (code, path) in [
        ("use tokio::net::TcpStream;", "tokio::net::TcpStream"),
        ("use tokio as t;", "tokio"),
        ("fn f() { ::hyper::body::f() }", "hyper::body::f"),
        ("use {http_body_util::Full, bytes::Bytes};", "http_body_util::Full"),
        ("#[tokio::main]\nasync fn f() {}", "tokio::main"),
        ("fn f() { tokio::select! {} }", "tokio::select!"),
    ] {
        assert_eq!(found_in("sim/engine.rs", code), [format!("src/sim/engine.rs:2: `{path}`: {places}")]);
    }
    let code = "use tokio::net::TcpStream; use hyper::body::Bytes;";
    for path in ["client/pool.rs", "run/mod.rs", "scrape.rs", "sim/http.rs", "clock.rs", "cli/run.rs"] {
        assert_clean(path, code);
    }
}

#[test]
fn the_file_system_is_found_outside_its_places() {
    let places = "the file system belongs to `scenario::source`, `dataset`, `client::tls`, `results`, `cli`";
    for (code, path) in [
        ("use std::fs;", "std::fs"),
        ("use std::{collections::BTreeMap, fs::{self, File}, io};", "std::fs"),
        ("fn f() { let _ = std::fs::read(path); }", "std::fs::read"),
        ("use tokio::fs::File;", "tokio::fs::File"),
    ] {
        let found = found_in("client/pool.rs", code);
        assert!(found.contains(&format!("src/client/pool.rs:2: `{path}`: {places}")), "{code}: {found:?}");
    }
    for path in ["scenario/source.rs", "dataset/csv.rs", "client/tls.rs", "results/writer.rs", "cli/init.rs"]
    {
        assert_clean(path, "use std::fs::File;");
    }
    assert_eq!(found_in("scenario/read.rs", "use std::fs::File;").len(), 1);
}

#[test]
fn printing_exiting_and_the_environment_are_found_outside_cli() {
    for (code, breach) in [
        ("fn f() { println!(\"x\") }", "`println!`: the terminal"),
        ("fn f() { std::eprint!(\"x\") }", "`std::eprint!`: the terminal"),
        ("fn f() { dbg!(1); }", "`dbg!`: the terminal"),
        ("fn f() { io::stdout().lock() }", "`io::stdout`: the terminal"),
        ("use std::io::{Write as _, stderr};", "`std::io::stderr`: the terminal"),
        ("fn f() { std::process::exit(1) }", "`std::process::exit`: the end of the process"),
        ("fn f() { process::abort() }", "`process::abort`: the end of the process"),
        ("fn f() { std::env::var(\"HOME\") }", "`std::env::var`: the environment"),
        ("use std::{env, io};", "`std::env`: the environment"),
    ] {
        let expected = [format!("src/report/html.rs:2: {breach} belongs to `cli`")];
        assert_eq!(found_in("report/html.rs", code), expected, "{code}");
        assert_clean("cli/exit.rs", code);
    }
    assert_clean(
        "report/html.rs",
        "fn f() { if println != 1 { write!(out, \"\"); env!(\"CARGO_PKG_VERSION\"); } }",
    );
}

#[test]
fn test_code_may_do_input_and_output_but_only_test_code() {
    assert_clean(
        "plan/mod.rs",
        "#[cfg(test)]\nmod tests {\n    use std::fs; use tokio::io; fn f() { println!() }\n}",
    );
    assert_clean(
        "plan/mod.rs",
        "#[cfg(all(unix, test))]\n#[rustfmt::skip]\npub(crate) mod tests { use std::fs; }",
    );
    assert_clean("plan/mod.rs", "#[cfg(test)] use std::{fs, io};");
    assert_clean("plan/mod.rs", "#[cfg(test)] const fn f(x: [u8; 2]) { std::fs::read() }");
    for code in [
        "#[cfg(test)]\nmod tests { fn f() {} }\nuse std::fs;",
        "#[cfg(test)] use std::{fs, io};\n\nuse std::fs;",
        "#[cfg(test)]\nconst X: [u8; 1] = { [1] };\nuse std::fs;",
        "#[cfg(not(test))]\n\nuse std::fs;",
        "#[cfg(any(test, unix))]\n\nuse std::fs;",
        "#[cfg(all(unix, not(test)))]\n\nuse std::fs;",
    ] {
        let found = found_in("plan/mod.rs", code);
        assert!(
            found.len() == 1 && found[0].starts_with("src/plan/mod.rs:4: `std::fs`"),
            "{code}: {found:?}"
        );
    }
    assert_eq!(
        found_in("plan/mod.rs", "#[cfg(test)]\nmod tests { fn f() { std::process::exit(1) } }").len(),
        1
    );
}

#[test]
fn the_file_of_a_test_module_is_test_code() {
    let file = |path: &str, code: &str| File { path: path.to_owned(), text: format!("//! Made up.\n{code}") };
    let tests = || file("plan/tests/laws.rs", "use std::fs;");
    assert_eq!(breaches(&[file("plan/mod.rs", "mod tests;"), tests()]).len(), 1);
    assert_eq!(breaches(&[file("plan/mod.rs", "#[cfg(test)]\nmod tests;"), tests()]).len(), 0);
}

#[test]
fn comments_and_literals_are_not_code() {
    for text in [
        "// use crate::client::Pool; println!()",
        "/// See [`crate::cli`] and `std::fs`.\nstruct X;",
        "/* use std::fs; /* nested */ use std::fs; */",
        "const X: &str = \"use std::fs; \\\" use std::fs; // \";",
        "const X: &str = \"a\\\\\"; // use std::fs;",
        "const X: &str = r\"\\\"; const Y: &str = \"use std::fs;\";",
        "const X: &str = r##\"use std::fs; \"# use std::fs;\"##;",
        "const X: &[u8] = br#\"println!(\"use std::fs;\")\"#;",
        "const X: &str = \"line\n    use std::fs;\n\";",
        "const X: char = '\"'; const Y: &str = \"use std::fs;\";",
        "const X: [char; 2] = ['\\'', '\"']; /* use std::fs; */",
        "fn f<'a>(x: &'a str) -> &'a str { \"use std::fs;\" }",
        "const X: u8 = b'\\''; // use std::fs;",
    ] {
        assert_clean("wire/sse.rs", text);
    }
}

#[test]
fn code_after_a_literal_is_still_code_and_keeps_its_line() {
    for text in [
        "const X: &str = \"a\n\n\"; use std::fs;",
        "/* a\n\n */ use std::fs;",
        "const X: &str = r#\"\"\n\n\"#; use std::fs;",
        "const X: char = '\\u{22}';\n\nuse std::fs;",
        "fn f<'a>() -> X<'a> { X('\"') }\n\nuse std::fs;",
        "fn f(for_r: u8) { for_r; }\n// r#\"\nuse std::fs;",
    ] {
        let found = found_in("wire/sse.rs", text);
        assert!(
            found.len() == 1 && found[0].starts_with("src/wire/sse.rs:4: `std::fs`"),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_file_without_a_header_or_with_too_many_lines_is_found() {
    let file = |text: String| breaches(&[File { path: "units.rs".to_owned(), text }]);
    assert_eq!(
        file("// Units.\n".to_owned()),
        ["src/units.rs:1: no `//!` header that says what the file is for"]
    );
    assert_eq!(file(format!("//! Units.\n{}", "\n".repeat(799))), Vec::<String>::new());
    assert_eq!(
        file(format!("//! Units.\n{}", "\n".repeat(800))),
        ["src/units.rs:801: 801 lines: split at 800 at the latest"]
    );
}
