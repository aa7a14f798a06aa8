//! Rows whose prompts are too short or too long.

use super::*;

/// Every word is a token.
const WORDS: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"w": 0}, "unk_token": "w"}}"#;

fn bounded(rows: &[u8], min: u64, max: u64, tokenizer: Option<&Path>) -> Result<Dataset, ScanError> {
    let rows = file(rows);
    let (bounds, tokenizer) = (Some(PromptBounds { min, max }), tokenizer.map(Path::to_owned));
    Dataset::scan(&Source { bounds, tokenizer, ..source(rows.path(), None) })
}

fn left_out(dataset: &Dataset) -> Vec<(SkipReason, u64, Vec<u64>)> {
    let skipped = dataset.skipped().iter();
    skipped.map(|skipped| (skipped.reason, skipped.count, skipped.lines.clone())).collect()
}

#[test]
fn texts_are_counted_by_the_tokenizer_and_those_outside_are_left_out_with_their_lines() {
    let words = file(WORDS.as_bytes());
    let rows =
        b"{\"prompt\": \"a b c\"}\n{\"prompt\": \"a\"}\n{\"prompt\": \"a b c d e\"}\n{\"prompt\": \"a b\"}\n\
                 {\"prompt\": \"b\"}\n{\"prompt\": \" \"}\n";
    let dataset = bounded(rows, 2, 4, Some(words.path())).unwrap();
    assert_eq!(prompts(&dataset), ["a b c", "a b"]);
    let expected = [
        (SkipReason::Blank, 1, vec![6]),
        (SkipReason::FewTokens, 2, vec![2, 5]),
        (SkipReason::ManyTokens, 1, vec![3]),
    ];
    assert_eq!(left_out(&dataset), expected);
    // What the scenario asks for is no reason to warn.
    assert_eq!(dataset.warnings().len(), 1);
}

#[test]
fn of_a_conversation_the_first_prompt_counts_with_its_instructions() {
    let words = file(WORDS.as_bytes());
    let rows =
        br#"[{"conversations": [{"from": "system", "value": "be brief"}, {"from": "human", "value": "a b"},
        {"from": "gpt", "value": "A"}, {"from": "human", "value": "c d e f g"}]},
        {"conversations": [{"from": "human", "value": "a b c"}, {"from": "gpt", "value": "A"}]}]"#;
    let dataset = bounded(rows, 4, 4, Some(words.path())).unwrap();
    assert_eq!((dataset.rows(), dataset.all_turns()), (1, 2));
    assert_eq!(dataset.skipped()[0].reason, SkipReason::FewTokens);
}

#[test]
fn lengths_that_rows_state_need_no_tokenizer_and_keep_their_times() {
    let rows = b"{\"timestamp\": 0, \"input_length\": 900, \"output_length\": 5, \"hash_ids\": [1, 2]}\n\
                 {\"timestamp\": 70, \"input_length\": 90, \"output_length\": 6, \"hash_ids\": [3]}\n\
                 {\"timestamp\": 80, \"input_length\": 9000, \"output_length\": 6, \"hash_ids\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]}\n\
                 {\"timestamp\": 90, \"input_length\": 400, \"output_length\": 7, \"hash_ids\": [4]}\n";
    let dataset = bounded(rows, 100, 1_000, None).unwrap();
    let lengths = dataset.lengths().iter().map(|lengths| lengths.prompt).collect::<Vec<_>>();
    assert_eq!(lengths, [Some(900), Some(400)]);
    assert_eq!(dataset.times(), [0, 90].map(Duration::from_millis));
    assert_eq!(
        left_out(&dataset),
        [(SkipReason::FewTokens, 1, vec![2]), (SkipReason::ManyTokens, 1, vec![3])]
    );
}

#[test]
fn what_cannot_be_counted_or_leaves_nothing_is_refused() {
    let rows = b"{\"prompt\": \"a b c\"}\n{\"prompt\": \"a\"}\n";
    let shown = |error: ScanError| Diagnostics::from(error.diagnostic()).render(Style::Plain);
    let words = file(WORDS.as_bytes());
    let none = shown(bounded(rows, 8, u64::MAX, Some(words.path())).unwrap_err());
    assert!(none.contains("none of the 2 prompts of"), "{none}");
    assert!(none.contains("lower `min_prompt_tokens`"), "{none}");
    insta::assert_snapshot!(shown(bounded(rows, 2, 9, None).unwrap_err()), @r#"
    error: `min_prompt_tokens` and `max_prompt_tokens` need a tokenizer to count the texts of rows
     |
     = help: name one: `target.tokenizer.file = "tokenizer.json"`; a server's cannot be asked before the run
    "#);
    let broken = file(b"{}");
    let broken = shown(bounded(rows, 2, 9, Some(broken.path())).unwrap_err());
    assert!(broken.starts_with("error: the tokens of rows cannot be counted: "), "{broken}");
}
