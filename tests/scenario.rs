//! Every scenario in `scenario/invalid` is refused, and what its author reads is the snapshot beside it. Lines of
//! a file `….set` beside it are given as `--set`.

use std::path::Path;

use tonnage::diagnostic::Style;
use tonnage::scenario::{Overrides, load};

/// Relative to the folder that tests run in, and so in messages.
const FOLDER: &str = "tests/scenario/invalid/";

#[test]
fn c154_invalid_scenarios_are_refused_with_a_place_and_help() {
    let mut files = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 120, "only {} scenarios", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let set = std::fs::read_to_string(file.with_extension("set")).unwrap_or_default();
        let overrides = Overrides { set: set.lines().map(str::to_owned).collect(), target: None };
        let problems = load(&file, &overrides).map(|_| ()).expect_err(name);
        assert!(problems.has_errors(), "{name}");
        let text = plain(&problems.render(Style::Plain));
        for word in ["sk-TEST-123", "serde", "Option<", "u64", "i128", "enum", "struct", "Vec<", "DeTable"] {
            assert!(!text.contains(word), "{name} says `{word}`: {text}");
        }
        assert!(text.contains("help: "), "{name} gives no help: {text}");
        insta::with_settings!({ snapshot_path => "scenario/invalid", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

/// A message without the place of this repository.
fn plain(text: &str) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    text.replace(&here.display().to_string(), "/folder/").replace(FOLDER, "")
}
