//! Every scenario in `scenario/invalid` is refused, and what its author reads is the snapshot beside it.

use std::path::Path;

use tonnage::diagnostic::Style;
use tonnage::scenario::{Overrides, parse};

#[test]
fn invalid_scenarios_are_refused_with_a_place_and_help() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenario/invalid");
    let mut files =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 40, "only {} scenarios", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let problems = parse(&format!("{name}.toml"), &bytes, Path::new("/folder"), &Overrides::default());
        let text = problems.map(|_| ()).expect_err(name).render(Style::Plain);
        for word in ["sk-TEST-123", "serde", "Option<", "u64", "enum", "struct"] {
            assert!(!text.contains(word), "{name} says `{word}`: {text}");
        }
        assert!(text.contains("help: "), "{name} gives no help: {text}");
        insta::with_settings!({ snapshot_path => "scenario/invalid", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}
