//! Answers that are to be as long as those of the rows.

use super::*;

/// Every word is a token.
const WORDS: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"w": 0}, "unk_token": "w"}}"#;

fn answered(rows: &[u8], tokenizer: Option<&Path>) -> Result<Dataset, ScanError> {
    let rows = file(rows);
    let tokenizer = tokenizer.map(Path::to_owned);
    Dataset::scan(&Source { uses_output_tokens: true, tokenizer, ..source(rows.path(), None) })
}

/// The length of the answer to each turn of each row.
fn lengths(dataset: &Dataset) -> Vec<Vec<Option<u32>>> {
    let order = dataset.order(&source(dataset.path(), None), Seed(1), "w");
    let of_row = |row| {
        let turns = dataset.row(row).unwrap().turns.len() as u32;
        (0..turns).map(|turn| order.output_tokens(row, turn)).collect()
    };
    (0..dataset.rows()).map(of_row).collect()
}

#[test]
fn answers_are_counted_turn_by_turn_where_rows_state_no_length() {
    let words = file(WORDS.as_bytes());
    let rows = br#"[{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "A b c"},
        {"from": "human", "value": "d e"}, {"from": "gpt", "value": "F"}]},
        {"conversations": [{"from": "human", "value": "a b c"}]},
        {"conversations": [{"from": "human", "value": "a b c"}, {"from": "gpt", "value": "A b"}]}]"#;
    let dataset = answered(rows, Some(words.path())).unwrap();
    assert_eq!(lengths(&dataset), [vec![Some(3), Some(1)], vec![Some(2)]]);
    assert_eq!(dataset.mean_output_tokens(), Some(2.0));
    assert_eq!((dataset.skipped()[0].reason, dataset.skipped()[0].count), (SkipReason::NoLength, 1));
    let solved = answered(b"{\"question\": \"q\", \"answer\": \"four words #### 4\"}\n", Some(words.path()));
    assert_eq!(lengths(&solved.unwrap()), [[Some(4)]]);
}

#[test]
fn what_rows_state_goes_before_and_needs_no_tokenizer() {
    let stated = b"{\"prompt\": \"a b\", \"output_tokens\": 7}\n{\"prompt\": \"a\"}\n";
    let dataset = answered(stated, None).unwrap();
    assert_eq!(lengths(&dataset), [[Some(7)]]);
    assert_eq!(dataset.skipped()[0].reason, SkipReason::NoLength);
}

#[test]
fn answers_that_nothing_counts_are_refused_with_the_remedy() {
    let rows = b"{\"question\": \"q\", \"answer\": \"four words #### 4\"}\n";
    let refused = answered(rows, None).unwrap_err();
    insta::assert_snapshot!(Diagnostics::from(refused.diagnostic()).render(Style::Plain), @r#"
    error: `output.max_tokens = "dataset"` needs a tokenizer to count the answers of rows, which state no lengths
     |
     = help: name one: `target.tokenizer.file = "tokenizer.json"`, or give `max_tokens` a number or a law
    "#);
}
