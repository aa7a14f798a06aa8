//! `tonnage score` as its users see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs `tonnage score` in the folder.
    fn score(&self, args: &[&str]) -> Output {
        Command::new(cargo_bin!("tonnage")).arg("score").args(args).current_dir(&self.0).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const ANSWERS: &str = r#####"{"kind":"gsm8k","prediction":"9 * 2\n#### 18","truth":"18","extra":[1]}
{"kind":"math","prediction":"\\boxed{\\frac{4}{6}}","truth":"\\frac{2}{3}"}
{"kind":"gsm8k","prediction":"#### 9","truth":18}
{"kind":"choice","prediction":"All of the above.","truth":"A"}
"#####;

#[test]
fn each_row_gets_a_verdict_and_totals_follow() {
    let folder = Folder::new();
    folder.file("answers.jsonl", ANSWERS);
    let output = folder.score(&["answers.jsonl"]);
    insta::assert_snapshot!(text(&output.stdout), @r"
    row,verdict,rule,answer,truth
    0,right,hashes,18,18
    1,right,box,\frac{4}{6},\frac{2}{3}
    2,wrong,hashes,9,18
    3,no_answer,nothing,,A
    ");
    insta::assert_snapshot!(text(&output.stderr), @r"
    right 2 · wrong 1 · no answer 1
    accuracy 50.00 % (95 % interval 15.00 % to 85.00 %)
    ");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn csv_and_jsonl_give_the_same_verdicts_whatever_their_other_columns() {
    let folder = Folder::new();
    folder.file("answers.jsonl", ANSWERS);
    let csv = "\u{feff}note,truth,prediction,kind\r\n,18,\"9 * 2\n#### 18\",gsm8k\r\n,\\frac{2}{3},\\boxed{\\frac{4}{6}},math\r\nx,18,#### 9,gsm8k\r\n,A,All of the above.,choice";
    folder.file("answers.csv", csv);
    let (lines, table) = (folder.score(&["answers.jsonl"]), folder.score(&["answers.csv"]));
    assert_eq!(text(&lines.stdout), text(&table.stdout));
    assert_eq!(text(&lines.stderr), text(&table.stderr));
}

#[test]
fn standard_input_is_a_file_too_and_kind_fills_in() {
    let mut child = Command::new(cargo_bin!("tonnage"))
        .args(["score", "-", "--kind", "math"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"prediction,truth\n\\boxed{x+1},1+x\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "row,verdict,rule,answer,truth\n0,right,box,x+1,1+x\n");
}

#[test]
fn rows_that_cannot_be_scored_are_named_counted_and_left_out() {
    let folder = Folder::new();
    let lines = [
        r#"{"prediction":"18","truth":"18"}"#,
        "nonsense",
        r#"{"prediction":"18"}"#,
        "",
        r#"{"prediction":null,"truth":"18"}"#,
        r#"{"prediction":["18"],"truth":"18"}"#,
        r#"{"prediction":"18","truth":"none"}"#,
        r#"{"prediction":"18","truth":"18","kind":"gsm"}"#,
        r#"{"prediction":"18","truth":"18","kind":"regex"}"#,
        r#"{"prediction":"18","truth":0.12345678901234567}"#,
        r#"{"prediction":"9","truth":"18"}"#,
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n{\"prediction\":\"\xff\",\"truth\":\"18\"}\n");
    folder.file("answers.jsonl", bytes);
    let output = folder.score(&["answers.jsonl", "--kind", "gsm8k"]);
    assert_eq!(
        text(&output.stdout),
        "row,verdict,rule,answer,truth\n0,right,last_number,18,18\n9,wrong,last_number,9,18\n"
    );
    insta::assert_snapshot!(text(&output.stderr), @r"
    answers.jsonl:2: not a JSON object
    answers.jsonl:3: no `truth`
    answers.jsonl:5: no `prediction`
    answers.jsonl:6: `prediction` is neither text nor a number
    answers.jsonl:7: the truth has no answer of kind `gsm8k`
    answers.jsonl:8: unknown kind: it is one of gsm8k, math, choice, exact, contains, regex
    answers.jsonl:9: kind `regex` needs a pattern: give it with --pattern
    answers.jsonl:10: `truth` has too many digits for a number: give it as text
    answers.jsonl:12: not UTF-8 text
    right 1 · wrong 1 · no answer 0
    accuracy 50.00 % (95 % interval 9.45 % to 90.55 %)
    9 rows left out
    ");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(folder.score(&["answers.jsonl", "--kind", "gsm8k", "--strict"]).status.code(), Some(4));
}

#[test]
fn only_the_first_bad_rows_are_named() {
    let folder = Folder::new();
    folder.file("answers.jsonl", "nonsense\n".repeat(1000));
    let output = folder.score(&["answers.jsonl", "--kind", "gsm8k"]);
    let told = text(&output.stderr);
    assert_eq!(told.lines().count(), 23, "{told}");
    assert!(
        told.ends_with("no row could be scored\n1000 rows left out, the first 20 named above\n"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn a_csv_row_with_other_fields_than_the_header_is_left_out() {
    let folder = Folder::new();
    folder.file("answers.csv", "prediction,truth\n18,18\n18,18,18\n9,18\n");
    let output = folder.score(&["answers.csv", "--kind", "gsm8k"]);
    assert_eq!(text(&output.stdout).lines().count(), 3);
    let told = text(&output.stderr);
    assert!(told.starts_with("answers.csv:3: more or fewer fields than the header\n"), "{told}");
}

#[test]
fn wrong_use_ends_with_what_to_do() {
    let folder = Folder::new();
    folder.file("answers.jsonl", ANSWERS);
    folder.file("list.json", "[{}]");
    folder.file("columns.csv", "question,answer\n1,2\n");
    for (args, message) in [
        (&["missing.jsonl"][..], "cannot read missing.jsonl"),
        (&["."], "cannot read ."),
        (&["list.json"], "a JSON list, not an object a line"),
        (&["columns.csv"], "columns.csv:1: no column `prediction`"),
        (&["answers.jsonl", "--kind", "gsm"], "invalid value 'gsm'"),
        (&["answers.jsonl", "--kind", "regex"], "give it with --pattern"),
        (&["answers.jsonl", "--pattern", "("], "the pattern cannot be used"),
        (&["answers.jsonl", "--tolerance", "2"], "a percentage or a number from 0 to 1"),
        (&["answers.jsonl", "--letters", "a"], "the last letter of a choice"),
        (&["answers.jsonl", "--explain", "4"], "it has 4, numbered from 0"),
    ] {
        let output = folder.score(args);
        let told = text(&output.stderr);
        assert!(told.contains(message), "{args:?}: {told}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
}

#[test]
fn a_file_without_a_row_to_score_ends_with_4_whether_it_has_a_header_or_nothing() {
    let folder = Folder::new();
    for (name, content) in
        [("nothing.csv", ""), ("nothing.jsonl", "\n"), ("header.csv", "prediction,truth\n")]
    {
        folder.file(name, content);
        let output = folder.score(&[name, "--kind", "gsm8k"]);
        assert_eq!(output.status.code(), Some(4), "{name}");
        assert!(text(&output.stderr).contains("no row could be scored"), "{name}");
    }
}

#[test]
fn a_row_whose_truth_is_unusable_is_explained_as_left_out() {
    let folder = Folder::new();
    folder.file("answers.jsonl", r#"{"prediction": "It is 5.", "truth": "none here"}"#);
    let output = folder.score(&["answers.jsonl", "--kind", "gsm8k", "--explain", "0"]);
    let told = text(&output.stdout);
    assert!(told.ends_with("left out: the truth has no answer of kind `gsm8k`\n"), "{told}");
    assert!(!told.contains("verdict"), "{told}");
    assert_eq!(output.status.code(), Some(0));
    let output = folder.score(&["answers.jsonl", "--kind", "gsm8k", "--explain", "0", "--strict"]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn a_tolerance_may_be_a_percentage() {
    let folder = Folder::new();
    folder.file("answers.jsonl", r#"{"prediction": "It is 101.", "truth": "100"}"#);
    for (tolerance, verdict) in [("1%", ",right,"), ("0.01", ",right,"), ("0.5%", ",wrong,")] {
        let output = folder.score(&["answers.jsonl", "--kind", "gsm8k", "--tolerance", tolerance]);
        assert!(text(&output.stdout).contains(verdict), "{tolerance}");
    }
}

#[test]
fn one_row_is_explained_step_by_step() {
    let folder = Folder::new();
    folder.file("answers.jsonl", ANSWERS);
    let output = folder.score(&["answers.jsonl", "--explain", "2"]);
    insta::assert_snapshot!(text(&output.stdout), @r"
    row 2, line 3
    kind: gsm8k
    prediction: 6 of 6 bytes are searched
    prediction: rule `hashes` gives `9`
    prediction: the number `9`
    truth: 2 of 2 bytes are searched
    truth: rule `whole` gives `18`
    truth: the number `18`
    verdict: wrong
    ");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn options_change_what_counts() {
    let folder = Folder::new();
    folder.file("answers.jsonl", "{\"prediction\":\"it is 99\",\"truth\":\"100\"}\n");
    let verdict = |args: &[&str]| {
        let output = folder.score(&[&["answers.jsonl"], args].concat());
        text(&output.stdout).lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(verdict(&["--kind", "gsm8k"]), "0,wrong,last_number,99,100");
    assert_eq!(verdict(&["--kind", "gsm8k", "--tolerance", "0.01"]), "0,right,last_number,99,100");
    assert_eq!(verdict(&["--kind", "gsm8k", "--marked-only"]), "0,no_answer,nothing,,100");
    assert_eq!(verdict(&["--kind", "regex", "--pattern", r"is \d+"]), "0,right,pattern,is 99,");
    assert_eq!(verdict(&["--kind", "contains"]), "0,wrong,whole,it is 99,100");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    let path = folder.file("answers.jsonl", ANSWERS.repeat(20_000));
    let mut child = Command::new(cargo_bin!("tonnage"))
        .arg("score")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 16];
    child.stdout.as_mut().unwrap().read_exact(&mut start).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert!(told.starts_with("right 40000 · wrong 20000 · no answer 20000\n"), "{told}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_quotation_mark_that_nothing_closes_ends_the_reading() {
    let folder = Folder::new();
    let mut content = "prediction,truth\n18,18\n\"18,18\n".to_owned();
    content.push_str(&"x".repeat(20 << 20));
    folder.file("answers.csv", content);
    let output = folder.score(&["answers.csv", "--kind", "gsm8k"]);
    assert!(text(&output.stdout).contains("0,right"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("a row is longer than 16 MiB"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
}
