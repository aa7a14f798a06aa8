//! What checking answers costs: ordinary ones by the second, and the slowest of many made to be slow.
//!
//! ```text
//! cargo bench --bench score
//! ```
//!
//! Prints answers of `datasets/word-problems.jsonl` checked in a second, then the slowest hostile inputs of 64 KiB. All
//! times are processor time of the one thread, the least of three.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a table for whoever runs it")]

use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tonnage::score::{Kind, Rule, Verdict};

/// Bytes of a hostile input.
const LONG: usize = 64 << 10;
/// Bytes of a hostile answer inside a mark: just below the longest that is looked at.
const ANSWER: usize = 4_090;
/// The slowest inputs that are shown.
const SHOWN: usize = 8;

/// What hostile texts repeat.
const UNITS: [&str; 98] = [
    "7",
    "7,",
    "7 ",
    "7.",
    "77,777,",
    "x",
    "{",
    "}",
    "{}",
    "\\",
    "$",
    "#",
    "####",
    "####\n",
    "#### ",
    "\\boxed",
    "\\boxed{",
    "\\boxed a{",
    "\\boxed{5}",
    "\\boxed{5},",
    "\\boxed{5} or ",
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<<",
    "<<1",
    "<<1>>",
    "answer is ",
    "answer is 5.",
    "answer: 5 or ",
    "Question: ",
    "\n\nQ:",
    "1:2",
    "1/2/",
    "-",
    "*",
    "_",
    "`",
    "\\frac",
    "\\frac{",
    "\\frac1",
    "\\text{",
    "\\text{a}",
    " ",
    "\n",
    "\r\n",
    "é",
    "\u{301}",
    "½",
    "²",
    "√",
    "答案是",
    "最终答案",
    "A ",
    "(A)",
    "A. b\n",
    "Step 1: ",
    "1. ",
    "=",
    "x=",
    "x<",
    "≈",
    "1+",
    "2*",
    "1/7+1/11+1/13+",
    "9!*",
    "3000!+",
    "3000!*",
    "x^{99}+",
    "(x+1)^{99}*",
    "1,",
    "{1},",
    "\\{\\{1,2\\},\\{2,1\\}\\},",
    "\\pm 1,",
    "\\pm 1\\pm ",
    "(1,2)",
    "(1,2),",
    "[1,2]\\cup",
    "1/",
    "!",
    "9^",
    "9^{",
    "2^{1000}^",
    "2^{9999}*",
    "(",
    "\\left(",
    "\\sqrt{",
    "\\sqrt",
    "\\sin ",
    "\\ln x*",
    "\\binom{3000}{1500}+",
    "\\begin{pmatrix}",
    "1&2\\\\",
    "|",
    "a_",
    "\\cup ",
    "\\%",
];

fn main() {
    ordinary();
    hostile();
}

/// Answers that a model might give.
fn ordinary() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/word-problems.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let answers: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["answer"].as_str().unwrap().to_owned()
        })
        .collect();
    println!("kind     answers    bytes  answers/s");
    for kind in [Kind::Gsm8k, Kind::Math] {
        let rule = Rule::new(kind.clone()).unwrap();
        let repeats = 20_000 / answers.len() + 1;
        let taken = least_of_three(|| {
            for answer in answers.iter().cycle().take(repeats * answers.len()) {
                assert_eq!(rule.check(black_box(answer), black_box(answer)).verdict, Verdict::Right);
            }
        });
        let checked = repeats * answers.len();
        let bytes = answers.iter().map(String::len).sum::<usize>() / answers.len();
        println!("{:<8} {checked:>7} {bytes:>8} {:>10.0}", kind.name(), checked as f64 / taken.as_secs_f64());
    }
}

/// Texts made to be slow, each against a short truth and against itself.
fn hostile() {
    let mut times = Vec::new();
    for unit in UNITS {
        let long = unit.repeat(LONG / unit.len());
        let answer = unit.repeat(ANSWER / unit.len());
        let closers = "}".repeat(ANSWER / 2 / (unit.len() + 1));
        let nested = unit.repeat(ANSWER / 2 / (unit.len() + 1)) + "1" + &closers;
        let before = "Ships go by. ".repeat((LONG - ANSWER) / 13);
        for (form, text) in [
            ("alone", long),
            ("in a box", format!("{before}\\boxed{{{answer}}}")),
            ("nested in a box", format!("{before}\\boxed{{{nested}}}")),
            ("after ####", format!("{before}\n#### {answer}")),
            ("in a sentence", format!("{before}The answer is {answer}.")),
        ] {
            for kind in ["gsm8k", "math", "choice", "exact", "contains"] {
                let rule = Rule::new(Kind::named(kind).unwrap()).unwrap();
                for (against, truth) in [("5", "5"), ("1,2,\\pi", "1,2,\\pi"), ("itself", text.as_str())] {
                    let taken = least_of_three(|| {
                        black_box(rule.check(black_box(&text), black_box(truth)));
                    });
                    times.push((taken, kind, unit, form, against));
                }
            }
        }
    }
    times.sort_unstable_by(|a, b| b.cmp(a));
    println!("\n{} hostile inputs of up to 64 KiB, the slowest:", times.len());
    println!("     ms  kind      text");
    for (taken, kind, unit, form, against) in times.iter().take(SHOWN) {
        println!(
            "{:>7.2}  {kind:<8}  {unit:?} repeated {form}, against {against}",
            taken.as_secs_f64() * 1e3
        );
    }
}

fn least_of_three(mut work: impl FnMut()) -> Duration {
    let times = (0..3).map(|_| {
        let start = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
        work();
        Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap()) - start
    });
    times.min().unwrap()
}
