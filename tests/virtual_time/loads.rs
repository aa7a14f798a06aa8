//! Rates that change, times that were recorded, and several loads in one window.

use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

fn quick(_: &Asked) -> Answer {
    Answer::tokens(ms(10), ms(10), 2)
}

#[test]
fn a_ramp_runs_over_the_phases_duration() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"2s\"\n\
                 load.ramp = { from = \"0/s\", to = \"4/s\", arrivals = \"constant\" }\n";
    let play = Stage::chat(phase).scripted(quick);
    // The integral is t², so the n-th is due at √n; the fifth would be at the end.
    assert_eq!(play.column("scheduled_s"), ["0.000000", "1.000000", "1.414214", "1.732051"]);
    assert_eq!(play.column("lag_ms"), ["0.000"; 4]);
    assert_eq!(play.end_of(0), (2.0, EndedBy::Duration));
}

#[test]
fn steps_follow_one_another_and_end_the_phase() {
    let phase = "[[phase]]\nname = \"p\"\n\
                 load.steps = { rates = [\"2/s\", \"0/s\", \"4/s\"], each = \"1s\", arrivals = \"constant\" }\n";
    let play = Stage::chat(phase).scripted(quick);
    let due = ["0.000000", "0.500000", "2.000000", "2.250000", "2.500000", "2.750000"];
    assert_eq!(play.column("scheduled_s"), due);
    assert_eq!(play.end_of(0), (3.0, EndedBy::Duration));
}

#[test]
fn a_trace_is_replayed_at_its_speed_and_ends_the_phase_with_its_last_arrival() {
    let phase = "[[phase]]\nname = \"p\"\nload.trace = { path = \"t.jsonl\", format = \"mooncake\", \
                 skip = \"10ms\", speed = 2 }\n[[phase]]\nname = \"q\"\nrequests = 2\nduration = \"1s\"\n\
                 load.trace = { path = \"t.csv\", format = \"csv\", column = \"at\", unit = \"s\" }\n";
    let rows = [3, 13, 13, 503].map(|ms| format!("{{\"timestamp\": {ms}}}\n")).concat();
    let stage = Stage::chat(phase).file("t.jsonl", &rows).file("t.csv", "at\n7\n7.25\n7.5\n");
    let play = stage.scripted(quick);
    assert_eq!(play.column("scheduled_s")[..3], ["0.000000", "0.000000", "0.245000"]);
    assert_eq!(play.end_of(0), (0.245, EndedBy::Data));
    assert_eq!(play.column("scheduled_s")[3..], ["0.265000", "0.515000"]);
    assert_eq!(play.end_of(1).1, EndedBy::Requests);
}

#[test]
fn bursts_are_as_bursty_as_asked() {
    let phase = "[[phase]]\nname = \"p\"\nrequests = 5000\nload.gamma = { rate = \"100/s\", cv = 3 }\n";
    let play = Stage::chat(phase).scripted(quick);
    let due: Vec<f64> = play.rows.iter().map(|row| row.number("scheduled_s").unwrap()).collect();
    let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean * 100.0 - 1.0).abs() < 0.1 && (variance.sqrt() / mean / 3.0 - 1.0).abs() < 0.1);
}

fn three(phases: &str) -> Stage {
    let workload = |name: &str| format!("[[workload]]\nname = \"{name}\"\nprompt.synthetic = 3\n");
    let workloads = ["a", "b", "c"].map(workload).concat();
    Stage::new(&format!(
        "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n{workloads}{phases}"
    ))
}

fn of<'a>(play: &'a Play, workload: &str, column: &str) -> Vec<&'a str> {
    play.rows.iter().filter(|row| &row["workload"] == workload).map(|row| &row[column]).collect()
}

#[test]
fn a_phase_sends_the_workloads_it_names() {
    let play = three(
        "[[phase]]\nname = \"p\"\nrequests = 20\nworkloads = [\"a\", \"c\"]\nload.closed = 1\n\
         [[phase]]\nname = \"q\"\nrequests = 4\nworkloads = [\"b\"]\nload.closed = 1\n",
    )
    .scripted(quick);
    let of_phase = |phase: &str, workload: &str| {
        play.phase(phase).iter().filter(|row| &row["workload"] == workload).count()
    };
    assert_eq!((of_phase("p", "b"), of_phase("q", "b")), (0, 4));
    assert!(of_phase("p", "a") > 0 && of_phase("p", "c") > 0);
}

const MIXED: &str = "[[phase]]\nname = \"p\"\nduration = \"1s\"\nwarm_up = \"200ms\"\nload.constant = \"10/s\"\n\
                     workloads = [\"a\"]\n[[phase.also]]\nname = \"side\"\nworkloads = [\"b\"]\n\
                     load.constant = { rate = \"20/s\", max_in_flight = 1 }\n\
                     [[phase.also]]\nname = \"users\"\nworkloads = [\"c\"]\nload.closed = 2\n\
                     [[phase]]\nname = \"q\"\nrequests = 1\nworkloads = [\"a\"]\nload.closed = 1\n";

#[test]
fn a_second_load_runs_in_the_same_window_with_places_of_its_own() {
    let play = three(MIXED).scripted(|asked| {
        let is_side = (1_000_000_000..2_000_000_000).contains(&asked.request);
        Answer::tokens(ms(if is_side { 130 } else { 240 }), ms(10), 2)
    });
    assert_eq!(of(&play, "a", "outcome")[..10], ["ok"; 10]);
    // Twenty a second at 140 ms each: one of three finds the place free.
    let outcomes = of(&play, "b", "outcome");
    assert_eq!(outcomes[..4], ["ok", "dropped", "dropped", "ok"]);
    assert_eq!(outcomes.len(), 20);
    let users = of(&play, "c", "scheduled_s");
    assert_eq!(users[..4], ["0.000000", "0.000000", "0.250000", "0.250000"]);
    assert_eq!(users.len(), 8, "none begins at the end");
    let measured = |workload| of(&play, workload, "measured").iter().filter(|cell| **cell == "true").count();
    assert_eq!((measured("b"), measured("c")), (16, 6));
    assert_eq!(play.end_of(0), (1.0, EndedBy::Duration));
    // Numbers of the main loads run on; each second load has a range of its own.
    let numbers = |workload| of(&play, workload, "request")[0].to_owned();
    assert_eq!([numbers("a"), numbers("b"), numbers("c")], ["0", "1000000000", "2000000000"]);
    assert_eq!(&play.phase("q")[0]["request"], "10");
}

#[test]
fn a_second_load_leaves_the_first_where_it_was() {
    let alone =
        "[[phase]]\nname = \"p\"\nduration = \"20s\"\nload.poisson = \"10/s\"\nworkloads = [\"a\", \"c\"]\n";
    let side = "[[phase.also]]\nname = \"s\"\nworkloads = [\"b\"]\nload.poisson = \"10/s\"\n";
    let columns = |play: &Play| {
        let rows = play.rows.iter().filter(|row| &row["workload"] != "b");
        let cells = ["request", "workload", "scheduled_s", "output_tokens_planned"];
        rows.map(|row| cells.map(|cell| row[cell].to_owned())).collect::<Vec<_>>()
    };
    let both = three(&format!("{alone}{side}")).scripted(quick);
    assert_eq!(columns(&three(alone).scripted(quick)), columns(&both));
    assert_ne!(of(&both, "a", "scheduled_s")[..5], of(&both, "b", "scheduled_s")[..5]);
}

#[test]
fn a_second_load_ends_with_a_phase_that_ends_by_count() {
    let play = three(
        "[[phase]]\nname = \"p\"\nrequests = 3\nload.closed = 1\nworkloads = [\"a\"]\n\
         [[phase.also]]\nname = \"s\"\nworkloads = [\"b\"]\nload.constant = \"100/s\"\n\
         [[phase.also]]\nname = \"w\"\nworkloads = [\"c\"]\n\
         load.constant = { rate = \"50/s\", max_in_flight = 1, when_full = \"wait\" }\n",
    )
    .scripted(|_| Answer::tokens(ms(93), ms(10), 2));
    assert_eq!(play.end_of(0), (0.206, EndedBy::Requests));
    assert_eq!(of(&play, "b", "request").len(), 21);
    // Eleven were due before the end; those held go out in the drain.
    assert_eq!(of(&play, "c", "outcome"), ["ok"; 11]);
    assert_eq!(of(&play, "c", "sent_s")[10], "1.030000");
    assert_eq!(play.drained(0), 1.133);
}
