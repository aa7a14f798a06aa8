//! Data sets read from real files.

mod answers;
mod bounds;
mod formats;
mod traces;

use std::io::Write as _;

use super::*;
use crate::diagnostic::{Diagnostics, Style};

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn source(path: &Path, format: Option<Format>) -> Source {
    Source { format, ..Source::of(path.to_owned()) }
}

fn scanned(bytes: &[u8], format: Option<Format>) -> Result<Dataset, ScanError> {
    Dataset::scan(&source(file(bytes).path(), format))
}

fn prompts(dataset: &Dataset) -> Vec<String> {
    (0..dataset.rows()).map(|index| dataset.row(index).unwrap().turns[0].said[0].content.clone()).collect()
}

/// The error as shown, with the file's name made the same for every run.
fn refusal(bytes: &[u8], format: Option<Format>) -> String {
    let file = file(bytes);
    let error = Dataset::scan(&source(file.path(), format)).unwrap_err();
    let text = Diagnostics::from(error.diagnostic()).render(Style::Plain);
    text.replace(&*file.path().to_string_lossy(), "rows.jsonl")
}

#[test]
fn word_problems_are_known_by_their_fields_and_keep_the_worked_answer() {
    let dataset =
        scanned(b"{\"question\": \"2+2?\", \"answer\": \"add\\n#### 4\", \"id\": [1, {}]}\n", None).unwrap();
    assert_eq!(dataset.format(), Format::Gsm8k);
    let row = dataset.row(0).unwrap();
    let answer = Some("add\n#### 4".to_owned());
    assert_eq!(row, Row::question("2+2?".to_owned(), answer.clone(), answer));
}

#[test]
fn prompt_lines_are_objects_or_texts() {
    let dataset = scanned(b"{\"prompt\": \"one\"}\n\"two \\u00e9\"\n", None).unwrap();
    assert_eq!(dataset.format(), Format::Prompts);
    assert_eq!(prompts(&dataset), ["one", "two é"]);
}

#[test]
fn byte_order_mark_line_ends_blank_lines_and_a_missing_last_end_do_not_matter() {
    let dataset = scanned(b"\xef\xbb\xbf\"a\"\r\n\r\n  \n\"b\"\n\n\"c\"", None).unwrap();
    assert_eq!(prompts(&dataset), ["a", "b", "c"]);
    assert!(dataset.skipped().is_empty() && dataset.repeated() == 0);
}

#[test]
fn bad_rows_are_left_out_with_reason_count_and_lines() {
    let text =
        b"{\"prompt\": 1}\n\"good\"\nnonsense\n\"\\ud83d\"\n\" \"\n\"\xff\"\n{}\n\"also good\"\n\"good\"\n\
        {\"prompt\": \"a\", \"prompt\": \"b\"}\n";
    let dataset = scanned(text, None).unwrap();
    assert_eq!(prompts(&dataset), ["good", "also good", "good"]);
    let skipped = dataset.skipped().iter().map(|s| (s.reason, s.count, s.lines.clone())).collect::<Vec<_>>();
    let expected = [
        (SkipReason::NotUtf8, 1, vec![6]),
        (SkipReason::NotJson, 2, vec![3, 4]),
        (SkipReason::Fields, 3, vec![1, 7, 10]),
        (SkipReason::Blank, 1, vec![5]),
    ];
    assert_eq!(skipped, expected);
    assert_eq!(dataset.repeated(), 1);
    let mut shown = Diagnostics::default();
    dataset.warnings().into_iter().for_each(|warning| shown.push(warning));
    let shown = shown.render(Style::Plain).replace(&*dataset.path().to_string_lossy(), "rows.jsonl");
    insta::assert_snapshot!(shown, @r"
warning: 1 row left out: not UTF-8 text
--> rows.jsonl:6
 = help: line 6; the other 3 rows are used

warning: 2 rows left out: not valid JSON
--> rows.jsonl:3
 = help: lines 3, 4; the other 3 rows are used

warning: 3 rows left out: a `prompts` row must have `prompt` as text, once, or be a text itself
--> rows.jsonl:1
 = help: lines 1, 7, 10; the other 3 rows are used

warning: 1 row left out: a text is blank
--> rows.jsonl:5
 = help: line 5; the other 3 rows are used

warning: 1 of 3 rows repeat an earlier prompt
--> rows.jsonl
 = help: a server with a prefix cache answers them faster than new prompts
");
}

#[test]
fn a_list_is_no_row_of_either_format() {
    for line in [&b"[\"p\"]"[..], b"[\"q\", \"a\"]", b"7", b"null"] {
        let error = scanned(&[b"{}\n", line].concat(), None).unwrap_err();
        assert!(matches!(error, ScanError::NoGoodRow { reason: SkipReason::Fields, .. }), "{error}");
    }
}

#[test]
fn a_whole_file_in_one_json_list_is_read_by_its_elements() {
    let dataset = scanned(b"[\n\"one\",\n {\"prompt\":\n \"two\"}, 7\n]\n", None).unwrap();
    assert_eq!(prompts(&dataset), ["one", "two"]);
    let left_out = Skipped { reason: SkipReason::Fields, count: 1, lines: vec![4] };
    assert_eq!(dataset.skipped(), [left_out]);
}

#[test]
fn many_bad_rows_are_counted_and_only_the_first_are_named() {
    let dataset = scanned(format!("{}\"good\"", "bad\n".repeat(1_000)).as_bytes(), None).unwrap();
    assert_eq!(dataset.skipped()[0].count, 1_000);
    assert_eq!(dataset.skipped()[0].lines, [1, 2, 3, 4, 5]);
}

#[test]
fn a_format_given_is_not_guessed() {
    let both = b"{\"question\": \"q\", \"answer\": \"a\", \"prompt\": \"p\"}";
    assert_eq!(prompts(&scanned(both, Some(Format::Prompts)).unwrap()), ["p"]);
    assert_eq!(prompts(&scanned(both, Some(Format::Gsm8k)).unwrap()), ["q"]);
    insta::assert_snapshot!(refusal(both, None), @r#"
error: rows of the data set `rows.jsonl` fit more than one format
--> rows.jsonl:1
 = help: say which it is: `format` = `"gsm8k"` or `"prompts"`
"#);
}

#[test]
fn a_file_without_rows_is_refused() {
    insta::assert_snapshot!(refusal(b"\n \n", None), @r"
error: the data set `rows.jsonl` has no rows
--> rows.jsonl
 = help: give one JSON value a line
");
}

#[test]
fn a_file_without_a_good_row_is_refused_with_what_is_expected() {
    insta::assert_snapshot!(refusal(b"\nQ: 2+2?\n", None), @r#"
error: no row of the data set `rows.jsonl` has a known format
--> rows.jsonl:2
 = help: known by their fields are gsm8k, math, sharegpt, messages, batch, turns, prompts, longbench, longbench-v2, mooncake, bailian, azure, burstgpt; for other rows say `format = "jsonl"` or `"csv"` and name the columns: `columns.prompt = "question"`
"#);
}

#[test]
fn a_file_of_another_format_than_said_is_refused() {
    insta::assert_snapshot!(refusal(b"{\"prompt\": \"p\"}\n", Some(Format::Gsm8k)), @r"
error: no row of the data set `rows.jsonl` is a `gsm8k` row
--> rows.jsonl:1
 = help: the first row: a `gsm8k` row must have `question` and `answer` as text, each once
");
}

#[test]
fn what_is_missing_or_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Dataset::scan(&source(&folder.path().join("none.jsonl"), None)).unwrap_err();
    assert!(missing.to_string().contains("none.jsonl"), "{missing}");
    assert!(matches!(Dataset::scan(&source(folder.path(), None)), Err(ScanError::NotAFile(_))));
}

#[test]
fn a_file_cut_or_rewritten_after_the_scan_is_noticed() {
    let file = file(b"\"first\"\n\"second\"\n");
    let dataset = Dataset::scan(&source(file.path(), None)).unwrap();
    file.as_file().set_len(8).unwrap();
    assert!(dataset.row(0).is_ok());
    assert!(matches!(dataset.row(1), Err(RowError::Changed)));
    assert!(matches!(dataset.row(2), Err(RowError::Changed)));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_scanned_or_refused(bytes: Vec<u8>) {
        let _ = scanned(&bytes, None);
    }

    #[test]
    fn what_is_written_is_read(texts in proptest::collection::vec("[^\\s].{0,20}", 1..20), crlf: bool) {
        let end = if crlf { "\r\n" } else { "\n" };
        let lines = texts.iter().map(|text| serde_json::json!({ "prompt": text }).to_string());
        let dataset = scanned(lines.collect::<Vec<_>>().join(end).as_bytes(), None).unwrap();
        proptest::prop_assert_eq!(prompts(&dataset), texts);
    }
}
