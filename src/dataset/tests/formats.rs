//! Each format from a file of its own: told by its fields, read, and refused where it is something else.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::prompt::Role;

/// What is said and answered, turn by turn.
fn turns(row: &Row) -> Vec<(Vec<String>, Option<&str>)> {
    let said = |turn: &Turn| turn.said.iter().map(|message| message.content.clone()).collect();
    row.turns.iter().map(|turn| (said(turn), turn.answer.as_deref())).collect()
}

fn one(text: &str) -> (Format, Row) {
    let dataset = scanned(text.as_bytes(), None).unwrap();
    (dataset.format(), dataset.row(0).unwrap())
}

fn columns(prompt: &str) -> Columns {
    Columns { prompt: Some(prompt.to_owned()), ..Columns::default() }
}

fn scanned_with(bytes: &[u8], change: impl FnOnce(&mut Source)) -> Result<Dataset, ScanError> {
    let file = file(bytes);
    let mut source = source(file.path(), None);
    change(&mut source);
    Dataset::scan(&source)
}

fn skipped(dataset: &Dataset) -> Vec<(SkipReason, u64)> {
    dataset.skipped().iter().map(|skipped| (skipped.reason, skipped.count)).collect()
}

#[test]
fn math_takes_the_bare_answer_for_truth_and_else_the_solution() {
    let (format, row) = one(
        r#"{"problem": "1+1?", "solution": "It is $\\boxed{2}$.", "level": "Level 3", "type": "Algebra"}"#,
    );
    assert_eq!((format, row.truth.as_deref()), (Format::Math, Some(r"It is $\boxed{2}$.")));
    let (format, row) = one(
        r#"{"problem": "1+1?", "solution": "$\\boxed{2}$", "answer": "2", "level": 3, "unique_id": "x"}"#,
    );
    assert_eq!((format, row.truth.as_deref()), (Format::Math, Some("2")));
    let dataset = scanned(b"{\"problem\": \"p\"}\n{\"problem\": \"p\", \"answer\": \" \"}\n{\"problem\": \"p\", \"answer\": \"1\"}", Some(Format::Math));
    assert_eq!(skipped(&dataset.unwrap()), [(SkipReason::Fields, 1), (SkipReason::Blank, 1)]);
}

#[test]
fn every_dialect_of_sharegpt_is_a_conversation() {
    for text in [
        r#"{"id": "a_0", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}, {"from": "user", "value": "r"}]}"#,
        r#"{"conversation": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "r"}]}"#,
        r#"{"items": [{"from": "human", "value": "q"}, {"from": "bing", "value": "a"}, {"from": "human", "value": "r"}]}"#,
    ] {
        let (format, row) = one(text);
        assert_eq!(format, Format::ShareGpt, "{text}");
        assert_eq!(turns(&row), [(vec!["q".to_owned()], Some("a")), (vec!["r".to_owned()], None)]);
    }
    let (format, row) = one(
        r#"{"conversation_id": "1", "category": "c", "conversation": [{"human": "q", "assistant": "a"}]}"#,
    );
    assert_eq!((format, turns(&row)), (Format::ShareGpt, vec![(vec!["q".to_owned()], Some("a"))]));
}

#[test]
fn a_conversation_that_begins_with_an_answer_begins_with_its_first_question() {
    let text = r#"[{"conversations": [{"from": "gpt", "value": "lost"}, {"from": "human", "value": "q"}]},
        {"conversations": []},
        {"conversations": [{"from": "gpt", "value": "alone"}]},
        {"conversations": [{"from": "tool", "value": "x"}, {"from": "human", "value": "q"}]},
        {"conversations": [{"from": "human", "value": "whole"}]}]"#;
    let dataset = scanned(text.as_bytes(), None).unwrap();
    assert_eq!(prompts(&dataset), ["q", "whole"]);
    assert_eq!(dataset.mended(), 1);
    assert_eq!(skipped(&dataset), [(SkipReason::NoQuestion, 2), (SkipReason::Role, 1)]);
    let told = dataset.warnings().iter().map(|warning| warning.message.clone()).collect::<Vec<_>>();
    assert!(
        told.contains(&"of 1 of 2 conversations messages were left out or joined".to_owned()),
        "{told:?}"
    );
}

#[test]
fn a_list_that_is_cut_off_says_where() {
    let text = "[\n{\"prompt\": \"whole\"},\n{\"prompt\": \"cut";
    let dataset = scanned(text.as_bytes(), None).unwrap();
    assert_eq!(dataset.skipped(), [Skipped { reason: SkipReason::Cut, count: 1, lines: vec![3] }]);
}

#[test]
fn messages_are_objects_or_bare_lists_one_a_line() {
    let (format, row) = one(
        r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "q"}]}, {"role": "assistant", "content": null, "tool_calls": []}]}"#,
    );
    assert_eq!((format, row.system.as_deref()), (Format::Messages, Some("s")));
    assert_eq!(turns(&row), [(vec!["q".to_owned()], None)]);
    let lines = "[{\"role\": \"user\", \"content\": \"a\"}]\n[{\"role\": \"user\", \"content\": \"b\"}]\n";
    let dataset = scanned(lines.as_bytes(), None).unwrap();
    assert_eq!(
        (dataset.format(), prompts(&dataset)),
        (Format::Messages, vec!["a".to_owned(), "b".to_owned()])
    );
    let image = "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\", \"image_url\": {}}]}]}\n";
    let both = format!("{image}{{\"messages\": [{{\"role\": \"user\", \"content\": \"a\"}}]}}");
    assert_eq!(skipped(&scanned(both.as_bytes(), None).unwrap()), [(SkipReason::NotText, 1)]);
}

#[test]
fn a_request_of_a_batch_is_one_turn_with_all_that_was_said() {
    let (format, row) = one(
        r#"{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "max_tokens": 7, "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "r"}]}}"#,
    );
    assert_eq!((format, row.output_tokens), (Format::Batch, Some(7)));
    let roles = row.turns[0].said.iter().map(|message| message.role).collect::<Vec<_>>();
    assert_eq!((row.turns.len(), roles), (1, vec![Role::User, Role::Assistant, Role::User]));
    assert_eq!(one(r#"{"body": {"prompt": "p"}, "timestamp": 1}"#).0, Format::Batch);
}

#[test]
fn turns_are_questions_with_or_without_answers() {
    let (format, row) =
        one(r#"{"question_id": 81, "category": "writing", "turns": ["q", "r"], "reference": ["x", "y"]}"#);
    assert_eq!(
        (format, turns(&row)),
        (Format::Turns, vec![(vec!["q".to_owned()], None), (vec!["r".to_owned()], None)])
    );
    let (_, row) = one(r#"{"turns": [{"user": "q", "assistant": "a"}, {"user": "r"}]}"#);
    assert_eq!(turns(&row)[0], (vec!["q".to_owned()], Some("a")));
    let (format, row) = one(r#"{"document": "A long text.", "turns": ["q", "r"]}"#);
    assert_eq!((format, row.system.as_deref(), row.turns.len()), (Format::Turns, Some("A long text."), 2));
}

#[test]
fn long_documents_come_before_their_question() {
    let (format, row) = one(
        r#"{"input": "Who?", "context": "A text.", "answers": ["Ada", "Ada L."], "length": 2, "dataset": "d", "language": "en", "all_classes": null, "_id": "1"}"#,
    );
    assert_eq!((format, row.truth.as_deref()), (Format::LongBench, Some("Ada")));
    assert_eq!(row.turns[0].said[0].content, "A text.\n\nWho?");
    let (format, row) = one(
        r#"{"_id": "1", "question": "Which?", "choice_A": "a", "choice_B": "b", "choice_C": "c", "choice_D": "d", "answer": "B", "context": "A text."}"#,
    );
    assert_eq!((format, row.truth.as_deref()), (Format::LongBenchV2, Some("B")));
    let prompt = &row.turns[0].said[0].content;
    assert!(
        prompt.contains("A text.\n\nQuestion: Which?\nA. a\nB. b\n") && prompt.ends_with("(X)."),
        "{prompt}"
    );
}

#[test]
fn csv_is_read_by_the_names_of_its_header_whatever_divides_it() {
    let text = b"\xef\xbb\xbf Question ;Answer;n\r\n\"one;\ntwo\";1,450;x\r\nthree;\"4\";y\r\nfive;6\r\n\r\n";
    let change = |source: &mut Source| {
        source.columns = Columns { truth: Some("answer".to_owned()), ..columns("question") };
    };
    let dataset = scanned_with(text, change).unwrap();
    assert_eq!(
        (dataset.format(), prompts(&dataset)),
        (Format::Csv, vec!["one;\ntwo".to_owned(), "three".to_owned()])
    );
    assert_eq!(dataset.row(0).unwrap().truth.as_deref(), Some("1,450"));
    assert_eq!(dataset.skipped(), [Skipped { reason: SkipReason::Cells, count: 1, lines: vec![5] }]);
}

#[test]
fn a_column_that_is_not_there_is_named_with_those_that_are() {
    let file = file(b"a,b\n1,2\n");
    let source = Source { columns: columns("c"), ..source(file.path(), Some(Format::Csv)) };
    let error = Dataset::scan(&source).unwrap_err();
    let text = Diagnostics::from(error.diagnostic()).render(Style::Plain);
    let text = text.replace(&*file.path().to_string_lossy(), "rows.csv");
    insta::assert_snapshot!(text, @r"
error: the data set `rows.csv` has no column `c`
--> rows.csv:1
 = help: the header has `a`, `b`
");
}

#[test]
fn json_lines_with_named_fields_and_a_template() {
    let text = b"{\"doc\": \"D\", \"q\": {\"x\": 1}}\n{\"doc\": \"D\", \"q\": 7, \"a\": [\"yes\"]}\n{\"doc\": \"D\"}\n";
    let change = |source: &mut Source| {
        source.format = Some(Format::Jsonl);
        source.columns.truth = Some("a".to_owned());
        source.template = Some(Template::new("{doc}: {q}").unwrap());
    };
    let dataset = scanned_with(text, change).unwrap();
    assert_eq!(
        (prompts(&dataset), skipped(&dataset)),
        (vec!["D: 7".to_owned()], vec![(SkipReason::Fields, 2)])
    );
    assert_eq!(dataset.row(0).unwrap().truth.as_deref(), Some("yes"));
    let named = scanned_with(text, |source| source.columns = columns("doc")).unwrap();
    assert_eq!((named.format(), named.rows()), (Format::Jsonl, 3));
}

#[test]
fn a_template_makes_the_prompt_of_a_known_format_and_none_of_a_conversation() {
    let template = |source: &mut Source| source.template = Some(Template::new("Q: {question}\nA:").unwrap());
    let dataset = scanned_with(b"{\"question\": \"2+2?\", \"answer\": \"#### 4\"}", template).unwrap();
    assert_eq!((dataset.format(), prompts(&dataset)), (Format::Gsm8k, vec!["Q: 2+2?\nA:".to_owned()]));
    let error = scanned_with(b"{\"turns\": [\"a\"], \"question\": \"b\"}", template).unwrap_err();
    assert!(matches!(error, ScanError::NoTemplate { format: Format::Turns, .. }), "{error}");
}

#[test]
fn examples_stand_before_every_question_with_their_answers() {
    let examples = file(b"{\"question\": \"1+1?\", \"answer\": \"#### 2\"}\n{\"question\": \"2+1?\", \"answer\": \"#### 3\"}\n");
    let few = |count| FewShot { path: examples.path().to_owned(), count };
    let text = b"{\"question\": \"2+2?\", \"answer\": \"#### 4\"}";
    let dataset = scanned_with(text, |source| source.few_shot = Some(few(2))).unwrap();
    let row = dataset.row(0).unwrap();
    let said =
        row.turns[0].said.iter().map(|message| (message.role, message.content.as_str())).collect::<Vec<_>>();
    let (user, assistant) = (Role::User, Role::Assistant);
    let expected =
        [(user, "1+1?"), (assistant, "#### 2"), (user, "2+1?"), (assistant, "#### 3"), (user, "2+2?")];
    assert_eq!(said, expected);
    let error = scanned_with(text, |source| source.few_shot = Some(few(3))).unwrap_err();
    assert!(matches!(error, ScanError::FewExamples { found: 2, wanted: 3, .. }), "{error}");
}

#[test]
fn packed_files_are_read_like_plain_ones() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"\"one\"\n\"two\"\n").unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(prompts(&scanned(&packed, None).unwrap()), ["one", "two"]);
    // Two members, as `cat a.gz b.gz` makes them.
    assert_eq!(scanned(&packed.repeat(2), None).unwrap().rows(), 4);
    let cut = scanned(&packed[..packed.len() - 9], None).unwrap_err();
    assert!(matches!(cut, ScanError::Packed(..)), "{cut}");
    let other = scanned(b"\x28\xb5\x2f\xfd....", None).unwrap_err();
    assert!(other.to_string().contains("Zstandard"), "{other}");
}

#[test]
fn turns_that_must_have_recorded_answers_are_left_out_without_them() {
    let text = b"{\"turns\": [\"a\", \"b\"]}\n{\"turns\": [{\"user\": \"a\", \"assistant\": \"x\"}, {\"user\": \"b\"}]}\n";
    let dataset = scanned_with(text, |source| source.needs_answers = true).unwrap();
    assert_eq!((dataset.rows(), skipped(&dataset)), (1, vec![(SkipReason::NoAnswer, 1)]));
}

#[test]
fn a_row_of_two_formats_is_asked_about() {
    let both = b"{\"turns\": [\"a\"], \"prompt\": \"p\"}";
    let error = scanned(both, None).unwrap_err();
    let help = error.diagnostic().help.unwrap_or_default();
    assert_eq!(help, "say which it is: `format` = `\"turns\"` or `\"prompts\"`");
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_in_every_format(bytes: Vec<u8>, format in 0..Format::ALL.len(), opening in "[\\[{\"]?") {
        let bytes = [opening.as_bytes(), &bytes].concat();
        let change = |source: &mut Source| {
            source.format = Some(Format::ALL[format]);
            source.columns = columns("a");
        };
        let _ = scanned_with(&bytes, change);
    }
}
