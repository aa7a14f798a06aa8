//! Conversations that end before they would pass a stated context: by plan, or by what the server counts.

use tonnage::dataset::tokenizer::Tokenizer;
use tonnage::sim::Profile;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

/// Every word is a token.
const WORDS: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"w": 0}, "unk_token": "w"}}"#;

const ROWS: &str = r#"[
{"conversations": [{"from": "human", "value": "a b c d e f g h i j"}, {"from": "gpt", "value": "A B"},
  {"from": "human", "value": "k l m n o p q r s t"}, {"from": "gpt", "value": "C D"},
  {"from": "human", "value": "u v w x y z"}]},
{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}]}
]"#;

fn made_up(workload: &str, phase: &str) -> Stage {
    let opening = "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n";
    let workload = format!("[[workload]]\nname = \"chat\"\n{workload}\n");
    Stage::new(&format!("{opening}{workload}[[phase]]\nname = \"p\"\n{phase}\n"))
}

fn rows(session: &str, answer: u32) -> Stage {
    let workload = format!(
        "prompt.dataset.path = \"talk.json\"\noutput.max_tokens = {answer}\nsession = {{ {session} }}"
    );
    made_up(&workload, "requests = \"all\"\nload.closed = 1").file("talk.json", ROWS)
}

/// Words of all that was asked, and four for each message: what a server would count.
fn counted(asked: &Asked) -> u64 {
    let messages = asked.body["messages"].as_array().unwrap();
    let words = |message: &serde_json::Value| message["content"].as_str().unwrap().split_whitespace().count();
    messages.iter().map(|message| words(message) as u64 + 4).sum()
}

/// An answer of so many words, each a token, that states what it counted.
fn answer(asked: &Asked, words: u32) -> Answer {
    answer_after(10, asked, words)
}

fn answer_after(delay_ms: u64, asked: &Asked, words: u32) -> Answer {
    let answer = (0..words).fold(Answer::new().at(ms(delay_ms)), |answer, _| answer.token());
    answer.finish("stop").usage(counted(asked), words.into()).done()
}

fn turns(play: &Play) -> Vec<[&str; 3]> {
    let cells = ["session", "turn", "outcome"];
    play.rows.iter().map(|row| cells.map(|name| &row[name])).collect()
}

const FILL: &str =
    "prompt.synthetic.tokens = 100\noutput = { max_tokens = 50, exact = true }\nsession.max_context";

#[test]
fn a_conversation_without_turns_goes_on_until_its_context_is_full() {
    // Turn k has 100 + 150 k tokens by plan, and 8 more a turn for the template; the answer takes 50.
    let stage = made_up(&format!("{FILL} = 1000"), "requests = 12\nload.closed = 1");
    let play = stage.simulated(Profile::named("8b-h100").unwrap());
    assert_eq!(play.ended("ok"), 12);
    assert_eq!(play.column("session"), ["0", "0", "0", "0", "0", "0", "1", "1", "1", "1", "1", "1"]);
    let lengths = ["100", "258", "416", "574", "732", "890"];
    assert_eq!(play.column("prompt_tokens"), [lengths, lengths].concat());
    assert!(!play.found().contains(&"context_full"));
}

#[test]
fn a_turn_that_fits_by_plan_and_not_in_fact_is_skipped_and_says_why() {
    // By plan the sixth turn ends at 900 to the token; in fact it has the template of ten more messages.
    let stage = made_up(&format!("{FILL} = 900"), "requests = 12\nload.closed = 1");
    let play = stage.simulated(Profile::named("8b-h100").unwrap());
    let outcomes = ["ok", "ok", "ok", "ok", "ok", "skipped"];
    assert_eq!(play.column("outcome"), [outcomes, outcomes].concat());
    let skipped = &play.rows[5];
    assert_eq!(&skipped["error"], "max_context: a prompt of 890 tokens and an answer of 50 would pass 900");
    assert_eq!((&skipped["scheduled_s"], &skipped["measured"], &skipped["sent_s"]), ("", "false", ""));
    let count = |outcome| play.figure("p", "requests", outcome).unwrap();
    assert_eq!([count("planned"), count("sent"), count("skipped")], [12.0, 10.0, 2.0]);
    assert_eq!(play.figure("p", "success", "value"), Some(1.0));
    assert!(play.found().contains(&"context_full"));
}

#[test]
fn answers_that_are_shorter_than_asked_for_leave_room_for_more_turns() {
    let workload =
        "prompt.synthetic.tokens = 100\noutput.max_tokens = 50\nsession = { turns = 9, max_context = 700 }";
    let stage = made_up(workload, "requests = 18\nload.constant = \"10/s\"");
    let play = stage.scripted(|asked| answer(asked, 10));
    // By plan six fit, were each answered with one token. In fact each adds 100, 10 and two messages: the sixth would
    // have 100 + 5 × 118 = 690 tokens.
    let session = ["ok", "ok", "ok", "ok", "ok", "skipped"];
    let per_session = play.rows.iter().filter(|row| &row["session"] == "0").collect::<Vec<_>>();
    let outcomes = per_session.iter().map(|row| &row["outcome"]).collect::<Vec<_>>();
    assert_eq!(outcomes, session);
    let why = "max_context: a prompt of 690 tokens and an answer of 50 would pass 700";
    assert_eq!(&per_session[5]["error"], why);
    let sent = play.rows.iter().filter_map(|row| row.number("prompt_tokens"));
    assert!(sent.clone().all(|tokens| tokens + 50.0 <= 700.0));
    assert_eq!(sent.fold(0.0, f64::max), 100.0 + 4.0 * 118.0);
}

#[test]
fn a_first_prompt_that_is_too_long_is_skipped_when_it_is_due() {
    let workload = "prompt.synthetic.tokens.values = [60, 90]\noutput = { max_tokens = 20, exact = true }\n\
                    session = { turns = 1, max_context = 100 }";
    let play =
        made_up(workload, "requests = 40\nload.constant = \"10/s\"").scripted(|asked| answer(asked, 20));
    for (index, row) in play.rows.iter().enumerate() {
        let due = format!("{}.{}00000", index / 10, index % 10);
        let (outcome, measured, why) = match &row["prompt_tokens_planned"] {
            "60" => ("ok", "true", ""),
            _ => {
                ("skipped", "false", "max_context: a prompt of 90 tokens and an answer of 20 would pass 100")
            }
        };
        let cells = [&row["scheduled_s"], &row["outcome"], &row["measured"], &row["error"]];
        assert_eq!(cells, [due.as_str(), outcome, measured, why]);
    }
    assert!(play.ended("skipped") > 5 && play.ended("ok") > 5);
    // A user takes the next session 10 ms later, so that virtual time goes on.
    let play = made_up(workload, "duration = \"1s\"\nload.closed = 1").scripted(|asked| answer(asked, 20));
    let first = play.rows.iter().position(|row| &row["outcome"] == "skipped").unwrap();
    let due = |index: usize| play.rows[index].number("scheduled_s").unwrap();
    assert!((due(first + 1) - due(first) - 0.01).abs() < 1e-9);
}

#[test]
fn rows_of_a_data_set_are_as_dense_as_what_the_server_counted_of_them() {
    // The first prompt: 10 words in 19 bytes, 14 tokens. The second adds 19 bytes, about 14, and the answer of 3.
    let play = rows("max_context = 35", 4).scripted(|asked| answer(asked, 3));
    assert_eq!(
        turns(&play),
        [["0", "0", "ok"], ["0", "1", "ok"], ["0", "2", "skipped"], ["1", "0", "ok"], ["1", "1", "ok"]]
    );
    let play = rows("max_context = 34", 4).scripted(|asked| answer(asked, 3));
    assert_eq!(turns(&play)[..3], [["0", "0", "ok"], ["0", "1", "skipped"], ["0", "2", "skipped"]]);
    let why = "max_context: a prompt of 31 tokens and an answer of 4 would pass 34";
    assert_eq!(play.column("error")[1..3], [why, why]);
}

#[test]
fn rows_of_one_prompt_stay_requests_of_their_own() {
    let workload = "prompt.dataset.path = \"rows.jsonl\"\noutput.max_tokens = 4\nsession.max_context = 12";
    let stage =
        made_up(workload, "requests = \"all\"\nload.closed = 1").tokenizer(Tokenizer::parse(WORDS).unwrap());
    let stage = stage.file(
        "rows.jsonl",
        "{\"prompt\": \"a b c\"}\n{\"prompt\": \"a b c d e f g h i\"}\n{\"prompt\": \"d\"}\n",
    );
    let play = stage.scripted(|asked| answer(asked, 3));
    assert_eq!(turns(&play), [["0", "0", "ok"], ["1", "0", "skipped"], ["2", "0", "ok"]]);
}

#[test]
fn a_tokenizer_counts_rows_beforehand_with_real_recorded_and_no_history() {
    let tokenizer = || Tokenizer::parse(WORDS).unwrap();
    let run = |session: &str| {
        let play = rows(session, 4).tokenizer(tokenizer()).scripted(|asked| answer(asked, 3));
        let outcomes = play.column("outcome").into_iter().map(str::to_owned).collect::<Vec<_>>();
        (outcomes, play.rows[2]["error"].to_owned())
    };
    // 14 sent; 3 answered, 10 more, and at most 8 for two more messages: 35 and 4.
    let (outcomes, _) = run("max_context = 39");
    assert_eq!(outcomes[..2], ["ok", "ok"]);
    let (outcomes, _) = run("max_context = 38");
    assert_eq!(outcomes[..2], ["ok", "skipped"]);
    // The third: 35 sent, then 3, 6 and 8; recorded answers have two words.
    assert_eq!(run("max_context = 56").0[2], "ok");
    let why = "max_context: a prompt of 52 tokens and an answer of 4 would pass 55";
    assert_eq!(run("max_context = 55").1, why);
    let why = "max_context: a prompt of 50 tokens and an answer of 4 would pass 53";
    assert_eq!(run("max_context = 53, history = \"recorded\"").1, why);
    // Alone the longest turn has 14 tokens.
    assert_eq!(run("max_context = 18, history = \"none\"").0, ["ok"; 5]);
    assert_eq!(run("max_context = 17, history = \"none\"").0[..2], ["ok", "skipped"]);
    // Before anything was counted, the first is held against its own words alone.
    assert_eq!(run("max_context = 13").0[0], "skipped");
}

#[test]
fn a_conversation_that_nobody_counts_is_ended_by_a_failure_that_says_what_is_missing() {
    let silent = |_: &Asked| Answer::new().at(ms(10)).token().finish("stop").done();
    let play = rows("max_context = 1000", 4).scripted(silent);
    assert_eq!(play.column("outcome")[..3], ["ok", "client_error", "skipped"]);
    assert_eq!(
        &play.rows[1]["error"],
        "max_context cannot be kept: the server states no prompt_tokens, and no target.tokenizer.file is named"
    );
    // With a tokenizer answers count as long as they may be: 10 + 4 + 10, and 4.
    let counted = |limit: u32| {
        let stage = rows(&format!("max_context = {limit}"), 4).tokenizer(Tokenizer::parse(WORDS).unwrap());
        stage.scripted(silent).column("outcome")[1].to_owned()
    };
    assert_eq!([counted(28), counted(27)], ["ok", "skipped"]);
}

#[test]
fn the_turns_that_fit_by_plan_do_not_depend_on_the_server() {
    let workload = "prompt.synthetic.tokens.uniform = { min = 10, max = 90 }\noutput.max_tokens.uniform = { min = 1, max = 60 }\n\
                    session = { max_context = 600, think.exponential = \"1s\" }";
    let stage = made_up(workload, "requests = 60\nload.poisson = \"5/s\"");
    let plan = |words: u32, delay: u64| {
        let play = stage.scripted(move |asked| answer_after(delay, asked, words));
        let cells = ["session", "turn", "output_tokens_planned"];
        play.rows.iter().map(|row| cells.map(|name| row[name].to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(plan(1, 5), plan(9, 900));
}
