//! What composing long prompts costs: 64 of 128Ki tokens, and 24,000 of 1Ki, of our words and of a text.
//!
//! ```text
//! cargo bench --bench compose
//! ```
//!
//! Prints seconds and millions of tokens a second. Every prompt is a body ready to be sent; none is kept. A token is a word
//! here, so that no tokenizer is needed: composing counts nothing, whatever the tokenizer.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a table for whoever runs it")]

use std::sync::Arc;

use tonnage::clock::Clock;
use tonnage::plan::Turn;
use tonnage::plan::compose::{Form, Measure, Prompts, Salt, Stuff, System};
use tonnage::plan::passage::Passage;
use tonnage::protocol::{Api, BodyOptions};
use tonnage::record::Planned;
use tonnage::scenario::{CachePolicy, History};

fn main() {
    Clock::run_real(|clock| async move { measure(&clock) }).unwrap();
}

fn measure(clock: &Clock) {
    let text = include_str!("../datasets/filler.txt");
    let counted = |text: &str| Some(text.split_whitespace().count() as u64);
    println!("made of   prompts  tokens each  seconds  Mtokens/s");
    for (count, length) in [(64, 128 << 10), (24_000, 1 << 10)] {
        let passage = Arc::new(Passage::counted(text, length, counted).unwrap());
        for (name, of) in [("words", Stuff::Words), ("a text", Stuff::Passage(passage))] {
            let form = form(Prompts::Tokens { prefix_tokens: 0, of });
            let start = clock.now();
            let bytes = (0..count).map(|request| body(&form, request, length)).sum::<usize>();
            let seconds = clock.now().since(start).as_secs_f64();
            assert!(bytes as u64 > count * length);
            let speed = (count * length) as f64 / 1e6 / seconds;
            println!("{name:<8} {count:>8} {length:>12} {seconds:>8.2} {speed:>10.0}");
        }
    }
}

/// Bytes of the body of a request, whose blocks are hashed too.
fn body(form: &Form, request: u64, length: u64) -> usize {
    let planned = Planned { request, session: request, ..Planned::default() };
    let turn = Turn { planned, think: std::time::Duration::ZERO, prompt_tokens: Some(length as u32) };
    let messages = form.opening(Salt(1), &turn).unwrap().messages;
    let _ = form.blocks(&turn.planned, &messages, 16);
    form.options.body(Api::Chat, &messages, 1).len()
}

fn form(prompts: Prompts) -> Form {
    Form {
        workload: "w".to_owned(),
        prompts,
        system: System::None,
        measure: Some(Measure::words()),
        cache: CachePolicy::Cold,
        history: History::None,
        context: None,
        tokenizer: None,
        options: BodyOptions::default(),
        checks: false,
        compares: false,
    }
}
