//! What prompts share, and what they do not.

use super::*;
use crate::record::Planned;

fn turn(request: u64, group: u32, tokens: u32) -> Turn {
    let planned = Planned { request, session: request, prefix_group: Some(group), ..Planned::default() };
    Turn { planned, think: std::time::Duration::ZERO, prompt_tokens: Some(tokens) }
}

fn form(prompts: Prompts, system: System, cache: CachePolicy) -> Form {
    let options = BodyOptions::default();
    let (workload, history) = ("chat".to_owned(), History::None);
    let measure = Some(Measure { overhead_tokens: 4, ..Measure::words() });
    let (context, tokenizer) = (None, None);
    let (checks, compares) = (false, false);
    Form { workload, prompts, system, measure, cache, history, context, tokenizer, options, checks, compares }
}

fn tokens(prefix_tokens: u64) -> Prompts {
    Prompts::Tokens { prefix_tokens, of: Stuff::Words }
}

/// The words of a request, of every message.
fn words(form: &Form, salt: u64, turn: &Turn) -> Vec<String> {
    let messages = form.opening(Salt(salt), turn).unwrap().messages;
    let words = messages.iter().flat_map(|message| message.content.split_whitespace());
    words.map(str::to_owned).collect()
}

/// How many words two requests begin with alike.
fn common(one: &[String], other: &[String]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[test]
fn a_prompt_has_exactly_its_words() {
    for words in [1, 2, 500] {
        let form = form(Prompts::Synthetic { words, passage: None }, System::None, CachePolicy::Cold);
        assert_eq!(self::words(&form, 1, &turn(0, 0, 1)).len(), words as usize);
    }
}

#[test]
fn a_prompt_of_tokens_is_as_long_as_planned_with_all_that_belongs_to_it() {
    for (prefix, length, own) in [(0, 500, 496), (100, 500, 496), (100, 105, 101), (100, 3, 101)] {
        let form = form(tokens(prefix), System::None, CachePolicy::Shared);
        assert_eq!(words(&form, 1, &turn(0, 0, length)).len(), own);
    }
}

#[test]
fn c098_prompts_of_another_run_begin_otherwise_unless_they_are_to_be_natural() {
    let of = |cache, salt, request| words(&form(tokens(0), System::None, cache), salt, &turn(request, 0, 60));
    for request in 0..200 {
        let (one, other) = (of(CachePolicy::Cold, 1, request), of(CachePolicy::Cold, 2, request));
        assert!(common(&one, &other) < 16);
        assert_eq!(one, of(CachePolicy::Cold, 1, request));
    }
}

#[test]
fn c100_prompts_share_exactly_the_declared_prefix() {
    let form = form(tokens(64), System::None, CachePolicy::Shared);
    let prompts = (0..500).map(|request| words(&form, 1, &turn(request, (request % 2) as u32, 300)));
    let prompts = prompts.collect::<Vec<_>>();
    for (i, one) in prompts.iter().enumerate() {
        for (j, other) in prompts.iter().enumerate().skip(i + 1) {
            let expected = if (i + j) % 2 == 0 { 64 } else { 0 };
            assert_eq!(common(one, other), expected, "{i} and {j}");
        }
    }
}

#[test]
fn cold_prompts_share_nothing_and_keep_their_length() {
    let cold = form(tokens(64), System::Tokens(32), CachePolicy::Cold);
    let shared = form(tokens(64), System::Tokens(32), CachePolicy::Shared);
    let prompts = (0..100).map(|request| words(&cold, 1, &turn(request, 0, 300))).collect::<Vec<_>>();
    for (i, one) in prompts.iter().enumerate() {
        assert_eq!(one.len(), words(&shared, 1, &turn(0, 0, 300)).len());
        assert!(prompts[..i].iter().all(|other| common(one, other) == 0));
    }
    let [one, other] = [0, 1].map(|request| words(&shared, 1, &turn(request, 0, 300)));
    assert_eq!(common(&one, &other), 32 + 64);
}

#[test]
fn a_cold_system_text_has_a_block_of_each_request_before_it() {
    let text = || System::Text("Answer in one word.".to_owned());
    let cold = form(Prompts::Synthetic { words: 5, passage: None }, text(), CachePolicy::Cold);
    let messages = [0, 1].map(|request| cold.opening(Salt(1), &turn(request, 0, 1)).unwrap().messages);
    assert!(messages.iter().all(|messages| messages[0].content.ends_with("\n\nAnswer in one word.")));
    assert_ne!(messages[0][0].content, messages[1][0].content);
    let shared = form(Prompts::Synthetic { words: 5, passage: None }, text(), CachePolicy::Shared);
    assert_eq!(shared.opening(Salt(1), &turn(3, 0, 1)).unwrap().messages[0].content, "Answer in one word.");
}

#[test]
fn rows_are_sent_as_they_stand_unless_they_are_to_be_cold() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "\"two and two?\"\n").unwrap();
    let source = dataset::Source::of(file.path().to_owned());
    let dataset = Arc::new(Dataset::scan(&source).unwrap());
    let of = |cache, request| {
        let form = form(Prompts::Rows(Arc::clone(&dataset)), System::None, cache);
        let mut turn = turn(request, 0, 1);
        turn.planned.dataset_row = Some(0);
        form.opening(Salt(1), &turn).unwrap().messages.remove(0).content
    };
    assert_eq!(of(CachePolicy::Natural, 0), "two and two?");
    let [one, other] = [0, 1].map(|request| of(CachePolicy::Cold, request));
    assert!(one.ends_with("\n\ntwo and two?") && other.ends_with("\n\ntwo and two?"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((words(&one).len(), common(&words(&one), &words(&other))), (16 + 3, 0));
}

/// The words of a row of a trace, sent as request `request`.
fn row_of_trace(form: &Form, salt: u64, request: u64, prompt_tokens: u32, blocks: &[u64]) -> Vec<String> {
    let size = Size { prompt_tokens, blocks: blocks.to_vec(), block_tokens: 512 };
    let text = form.sized(Salt(salt), &turn(request, 0, prompt_tokens), true, &size);
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn prompts_of_a_trace_share_the_words_of_equal_leading_ids_and_no_more() {
    let form = form(tokens(0), System::None, CachePolicy::Natural);
    let words = |salt, request, tokens, blocks: &[u64]| row_of_trace(&form, salt, request, tokens, blocks);
    let long = words(1, 0, 1_304, &[7, u64::from(u32::MAX) + 8, 9]);
    assert_eq!(long.len(), 1_300, "the template's 4 are taken off");
    // The second id differs above the 32nd bit only.
    let other = words(1, 5, 1_304, &[7, 7, 9]);
    assert_eq!(common(&long, &other), 512);
    assert_eq!(long[1_024..], other[1_024..]);
    // A last block that is shorter begins as the whole one does.
    assert_eq!(common(&long, &words(1, 9, 604, &[7, u64::from(u32::MAX) + 8])), 600);
    assert_eq!(common(&long, &words(1, 9, 1_028, &[7, u64::from(u32::MAX) + 8, 1])), 1_024);
    assert!(common(&long, &words(2, 0, 1_304, &[7, 8, 9])) < 16, "another run's salt");
}

#[test]
fn a_cold_trace_shares_nothing_and_keeps_its_lengths() {
    let form = form(tokens(0), System::None, CachePolicy::Cold);
    let rows = (0..20).map(|request| row_of_trace(&form, 1, request, 1_300, &[7, 8, 9])).collect::<Vec<_>>();
    for (i, one) in rows.iter().enumerate() {
        assert_eq!(one.len(), 1_296);
        assert!(rows[..i].iter().all(|other| common(one, other) == 0));
    }
}

#[test]
fn blocks_of_words_that_are_several_tokens_keep_their_borders() {
    let plain = form(tokens(0), System::None, CachePolicy::Natural);
    let model = TokenModel::common().with_tokens_per_word(1.3);
    let form = Form { measure: Some(Measure { overhead_tokens: 4, ..Measure::of(model) }), ..plain };
    let ids = (0..40).collect::<Vec<_>>();
    let long = row_of_trace(&form, 1, 0, 16 * 1_024, &ids[..32]);
    assert_eq!(long.len(), ((16.0 * 1_024.0 - 4.0) / 1.3_f64).round() as usize, "no error adds up");
    let other = row_of_trace(&form, 1, 1, 16 * 1_024, &[&ids[..20], &ids[21..33]].concat());
    assert_eq!(common(&long, &other), (20.0 * 512.0 / 1.3_f64).round() as usize);
}
