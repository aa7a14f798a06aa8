//! Which requests count, which tokens do, and what ends a phase.

use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::stage::Stage;

fn quick(_: &crate::server::Asked) -> Answer {
    Answer::tokens(ms(10), ms(5), 3)
}

#[test]
fn a_request_due_at_the_windows_start_is_measured_and_one_due_at_the_phases_end_is_not_sent() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"steady\"\nduration = \"5s\"\nwarm_up = \"2s\"\nload.constant = \"1/s\"\n",
    );
    let play = stage.lead_in(ms(1_234)).scripted(quick);
    assert_eq!(play.column("scheduled_s"), ["0.000000", "1.000000", "2.000000", "3.000000", "4.000000"]);
    assert_eq!(play.column("measured"), ["false", "false", "true", "true", "true"]);
    assert_eq!(play.end_of(0), (5.0, EndedBy::Duration));
    assert_eq!(play.figure("steady", "measured_requests", "planned"), Some(3.0));
    assert_eq!(play.figure("steady", "offered_rate", "value"), Some(1.0));
    assert_eq!(play.figure("steady", "achieved_rate", "value"), Some(1.0));
    assert_eq!(play.figure("steady", "request_throughput", "value"), Some(1.0));
}

/// Due times of 300 ns before the edges of the window: on the files' axis they lie on them.
#[test]
fn a_row_is_measured_by_its_due_time_as_it_stands_in_the_file() {
    // Due at 0 and 0.9999997 s; the window begins at 1 s.
    let rate = "load.constant = \"1.00000030000009/s\"\n";
    let phase = |keys: &str| Stage::chat(&format!("[[phase]]\nname = \"p\"\n{keys}{rate}"));
    let play = phase("warm_up = \"1s\"\nduration = \"1500ms\"\n").scripted(quick);
    assert_eq!(play.column("scheduled_s"), ["0.000000", "1.000000"]);
    assert_eq!(play.column("measured"), ["false", "true"]);
    let play = phase("duration = \"1s\"\n").scripted(quick);
    assert_eq!(play.column("scheduled_s"), ["0.000000", "1.000000"]);
    assert_eq!(play.column("measured"), ["true", "false"]);
    assert_eq!(play.figure("p", "offered_rate", "value"), Some(1.0));
}

#[test]
fn tokens_count_when_they_arrive_whenever_their_request_was_due() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"p\"\nduration = \"4s\"\nwarm_up = \"2s\"\nload.constant = \"0.5/s\"\n",
    );
    // Due at 0 and 2 s; eight tokens 400 ms apart, the first after 400 ms.
    let play = stage.scripted(|_| Answer::tokens(ms(400), ms(400), 8));
    assert_eq!(play.column("measured"), ["false", "true"]);
    // Of the first, those at 2.0, 2.4, 2.8, 3.2 s; of the second those at 2.4, 2.8, 3.2, 3.6, for 4.0 is outside.
    assert_eq!(play.column("output_tokens_in_window"), ["4", "4"]);
    assert_eq!(play.figure("p", "output_throughput", "value"), Some(4.0));
    assert_eq!(play.figure("p", "e2e", "max"), Some(3_200.0), "the measured one counts wherever it ends");
    assert_eq!(play.figure("p", "request_throughput", "value"), Some(0.5), "the first ended at 3.2 s");
}

#[test]
fn an_unmeasured_phase_leaves_rows_and_no_figures() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"fill\"\nmeasure = false\nrequests = 2\nload.constant = \"10/s\"\n\
         [[phase]]\nname = \"steady\"\nrequests = 3\nload.constant = \"10/s\"\n",
    );
    let play = stage.lead_in(ms(77)).scripted(quick);
    assert_eq!(play.column("phase"), ["fill", "fill", "steady", "steady", "steady"]);
    assert_eq!(play.column("measured"), ["false", "false", "true", "true", "true"]);
    // The second phase starts when the first has drained: 100 + 10 + 2 × 5 ms after the start.
    assert_eq!(play.column("scheduled_s"), ["0.000000", "0.100000", "0.120000", "0.220000", "0.320000"]);
    assert_eq!(play.column("output_tokens_in_window"), ["", "", "3", "3", "3"]);
    assert!(play.summary.iter().all(|row| row.phase != "fill"));
    assert_eq!(play.figure("all", "requests", "planned"), Some(3.0));
    assert_eq!(play.origin.0, 77_000_000);
}

#[test]
fn whichever_of_duration_and_requests_comes_first_ends_the_phase() {
    let end = |keys: &str| {
        let phase = format!("[[phase]]\nname = \"p\"\n{keys}\nload.constant = \"10/s\"\n");
        let play = Stage::chat(&phase).scripted(quick);
        (play.rows.len(), play.end_of(0), play.drained(0))
    };
    assert_eq!(end("requests = 5"), (5, (0.4, EndedBy::Requests), 0.42));
    assert_eq!(end("duration = \"1s\""), (10, (1.0, EndedBy::Duration), 1.0));
    assert_eq!(end("requests = 5\nduration = \"1s\""), (5, (0.4, EndedBy::Requests), 0.42));
    assert_eq!(end("requests = 50\nduration = \"1s\""), (10, (1.0, EndedBy::Duration), 1.0));
    // The eleventh would be due at the end itself.
    assert_eq!(end("requests = 10\nduration = \"1s\""), (10, (0.9, EndedBy::Requests), 0.92));
}

#[test]
fn a_phase_that_ends_by_count_has_the_same_figures_with_a_duration_as_without() {
    let figures = |keys: &str| {
        let phase = format!(
            "[[phase]]\nname = \"p\"\nrequests = 5\nwarm_up = \"100ms\"\n{keys}load.constant = \"10/s\"\n"
        );
        let play = Stage::chat(&phase).scripted(|_| Answer::tokens(ms(30), ms(10), 10));
        assert_eq!(play.column("measured"), ["false", "true", "true", "true", "true"]);
        let figure = |metric| play.figure("p", metric, "value");
        [
            figure("offered_rate"),
            figure("achieved_rate"),
            figure("output_throughput"),
            figure("request_throughput"),
        ]
    };
    // From 0.1 s to the last due time are 0.3 s, to the last token 0.42 s. Of the warm-up's ten tokens those from
    // 100 to 120 ms are inside, and its end is.
    let expected = [Some(4.0 / 0.3), Some(4.0 / 0.3), Some(43.0 / 0.42), Some(5.0 / 0.42)];
    assert_eq!(figures(""), expected);
    assert_eq!(figures("duration = \"1m\"\n"), expected);
}

fn prompts(count: usize) -> String {
    (0..count).map(|row| format!("{{\"prompt\": \"row {row}\"}}\n")).collect()
}

fn with_data(keys: &str, phase: &str) -> Stage {
    let text = format!(
        "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
         [[workload]]\nname = \"rows\"\nprompt.dataset = {{ path = \"rows.jsonl\"{keys} }}\n{phase}"
    );
    Stage::new(&text).file("rows.jsonl", &prompts(5))
}

#[test]
fn a_data_set_that_stops_ends_the_phase_at_its_last_row_and_the_next_finds_none() {
    let phases = "[[phase]]\nname = \"a\"\nduration = \"1m\"\nload.constant = \"10/s\"\n\
                  [[phase]]\nname = \"b\"\nduration = \"1m\"\nload.closed = 2\n";
    let play = with_data("", phases).scripted(quick);
    assert_eq!(play.column("dataset_row"), ["0", "1", "2", "3", "4"]);
    assert_eq!(play.end_of(0), (0.4, EndedBy::Data), "the fifth was sent then");
    assert_eq!(play.end_of(1), (0.42, EndedBy::Data));
    assert_eq!(play.figure("a", "request_throughput", "value"), Some(5.0 / 0.42));
}

#[test]
fn c102_a_data_set_that_repeats_goes_round_and_its_cursor_runs_on_across_phases() {
    let phases = "[[phase]]\nname = \"a\"\nrequests = 7\nload.closed = 2\n\
                  [[phase]]\nname = \"b\"\nrequests = 13\nload.constant = \"100/s\"\n";
    let play = with_data(", when_exhausted = \"repeat\"", phases).scripted(quick);
    let rows: Vec<_> = (0..20).map(|request| (request % 5).to_string()).collect();
    assert_eq!(play.column("dataset_row"), rows);
    assert!(play.asked.iter().all(|asked| asked.prompt() == format!("row {}", asked.request % 5)));
}

#[test]
fn a_data_set_that_must_not_run_out_stops_the_run_when_it_does() {
    let phases = "[[phase]]\nname = \"a\"\nduration = \"1m\"\nload.constant = \"10/s\"\n\
                  [[phase]]\nname = \"b\"\nduration = \"1m\"\nload.closed = 2\n";
    let play = with_data(", when_exhausted = \"error\"", phases).scripted(quick);
    let tonnage::run::Ending::Stopped(tonnage::run::stop::Stop::Failed(reason)) = &play.ending else {
        panic!("{:?}", play.ending)
    };
    assert!(reason.contains("workload `rows` has taken every row"), "{reason}");
    assert_eq!(play.ended("ok"), 5);
    assert_eq!(play.end_of(0).1, EndedBy::Stop);
    assert!(play.courses[1].is_none(), "no further phase starts");
}

#[test]
fn c103_a_shuffled_order_follows_the_seed_and_all_rows_come_once() {
    let order = |seed: u64| {
        let phase = "[[phase]]\nname = \"a\"\nrequests = \"all\"\nload.closed = 1\n";
        let text = format!(
            "name = \"stage\"\nseed = {seed}\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
             [[workload]]\nname = \"rows\"\nprompt.dataset = {{ path = \"rows.jsonl\", shuffle = true }}\n{phase}"
        );
        let play = Stage::new(&text).file("rows.jsonl", &prompts(100)).scripted(quick);
        assert_eq!(play.end_of(0).1, EndedBy::Requests);
        play.column("dataset_row").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let first = order(1);
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
    let mut sorted: Vec<u32> = first.iter().map(|row| row.parse().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
}

#[test]
fn all_rows_come_once_from_each_of_several_data_sets_whatever_their_weights() {
    let text = "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
         [[workload]]\nname = \"few\"\nweight = 10\nprompt.dataset = { path = \"few.jsonl\", when_exhausted = \"repeat\" }\n\
         [[workload]]\nname = \"many\"\nprompt.dataset = { path = \"many.jsonl\", when_exhausted = \"repeat\" }\n\
         [[workload]]\nname = \"idle\"\nweight = 0\nprompt.dataset = { path = \"few.jsonl\", when_exhausted = \"repeat\" }\n\
         [[phase]]\nname = \"a\"\nrequests = \"all\"\nload.closed = 4\n";
    let stage = Stage::new(text).file("few.jsonl", &prompts(3)).file("many.jsonl", &prompts(40));
    let play = stage.scripted(quick);
    let count = |workload: &str| play.rows.iter().filter(|row| &row["workload"] == workload).count();
    assert_eq!((count("few"), count("many"), count("idle")), (3, 40, 0));
    assert_eq!(play.end_of(0).1, EndedBy::Requests);
}
