//! Failures are rows, at exact times, and the run goes on.

use crate::answer::{Answer, ms};
use crate::stage::{Row, Stage};

/// Request 3 of 8, a second apart, meets `fault`; time-outs are 5 s to the first token and 2 s of silence.
fn faulty(fault: fn() -> Answer) -> Row {
    let stage = Stage::chat(
        "[target.timeouts]\nfirst_token = \"5s\"\nidle = \"2s\"\n\
         [[phase]]\nname = \"p\"\nrequests = 8\nload.constant = \"1/s\"\n",
    );
    let play = stage.scripted(move |asked| match asked.request {
        3 => fault(),
        _ => Answer::tokens(ms(100), ms(10), 4),
    });
    assert_eq!((play.rows.len(), play.ended("ok")), (8, 7));
    for (i, row) in play.rows.iter().enumerate().filter(|(i, _)| *i != 3) {
        assert_eq!(row["sent_s"], format!("{i}.000000"));
        assert_eq!((&row["ttft_ms"], &row["e2e_ms"], &row["output_tokens"]), ("100.000", "130.000", "4"));
    }
    assert_eq!(play.figure("p", "success", "value"), Some(7.0 / 8.0));
    assert_eq!(play.figure("p", "ttft", "max"), Some(100.0), "figures of latency are those of ok rows");
    let failed = play.rows[3].clone();
    let after = failed.number("ended_s").unwrap() - 3.0;
    assert_eq!(play.figure("p", "failed_after", "max"), Some((after * 1e6).round() / 1e3));
    failed
}

fn cells<'a>(row: &'a Row, columns: &[&str]) -> Vec<&'a str> {
    columns.iter().map(|column| &row[column]).collect()
}

#[test]
fn a_connection_closed_before_an_answer() {
    let row = faulty(Answer::refusal);
    assert_eq!(
        cells(&row, &["outcome", "http_status", "ended_s", "reconnects"]),
        ["connect_error", "", "3.000000", "1"]
    );
    assert!(row["error"].contains("the connection ended before a response"), "{}", &row["error"]);
}

#[test]
fn a_status_of_500() {
    let row = faulty(|| Answer::status(500, ms(40)));
    assert_eq!(cells(&row, &["outcome", "http_status", "ended_s"]), ["http_error", "500", "3.040000"]);
    assert_eq!(cells(&row, &["error", "ttft_ms", "e2e_ms"]), ["engine is busy", "", ""]);
}

#[test]
fn c029_an_error_in_the_stream() {
    let row = faulty(|| {
        let answer = Answer::new().role().at(ms(50)).token().at(ms(60)).token().at(ms(70));
        answer.data(r#"{"error":{"message":"engine died","code":500}}"#).done()
    });
    assert_eq!(cells(&row, &["outcome", "http_status", "error"]), ["stream_error", "200", "engine died"]);
    assert_eq!(cells(&row, &["ended_s", "ttft_ms", "e2e_ms", "events"]), ["3.070000", "50.000", "", "2"]);
}

#[test]
fn a_stream_that_breaks_off() {
    let row = faulty(|| Answer::new().role().at(ms(50)).token().at(ms(60)).token().at(ms(80)).close());
    assert_eq!(
        cells(&row, &["outcome", "ended_s", "ttft_ms", "e2e_ms"]),
        ["truncated", "3.080000", "50.000", ""]
    );
}

#[test]
fn silence_ends_at_the_limit_to_the_first_token() {
    let row = faulty(Answer::new);
    assert_eq!(cells(&row, &["outcome", "ended_s", "ttft_ms"]), ["timeout_first_token", "8.000000", ""]);
    // A role is no token.
    let row = faulty(|| Answer::new().at(ms(10)).role());
    assert_eq!(
        cells(&row, &["outcome", "ended_s", "first_byte_s"]),
        ["timeout_first_token", "8.000000", "3.010000"]
    );
}

#[test]
fn c039_silence_after_a_token_ends_at_the_idle_limit() {
    let row = faulty(|| Answer::new().role().at(ms(50)).token().at(ms(75)).token());
    assert_eq!(cells(&row, &["outcome", "ended_s", "ttft_ms"]), ["timeout_idle", "5.075000", "50.000"]);
}

#[test]
fn a_server_that_is_down_fails_every_request_at_once_and_the_schedule_holds() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.constant = \"10/s\"\n");
    let play = stage.lead_in(ms(500)).refuses_for(ms(4_950)).scripted(|_| Answer::tokens(ms(10), ms(10), 2));
    assert_eq!((play.ended("connect_error"), play.ended("ok")), (50, 50));
    assert!(play.rows.iter().all(|row| &row["lag_ms"] == "0.000"));
    assert_eq!(play.figure("p", "success", "value"), Some(0.5));
    assert!(play.found().contains(&"failed"));
}

#[test]
fn c032_an_answer_without_a_token_is_empty_and_c056_leaves_no_zero_behind() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 20\nload.constant = \"1/s\"\n");
    let play = stage.scripted(|asked| match asked.request {
        0..8 => Answer::new().role().finish("stop").done(),
        _ => Answer::tokens(ms(300), ms(10), 3),
    });
    assert_eq!((play.ended("empty"), play.ended("ok")), (8, 12));
    for statistic in ["min", "p50", "max"] {
        assert_eq!(play.figure("p", "ttft", statistic), Some(300.0));
    }
    let ttft = play.summary.iter().find(|row| row.metric == "ttft").unwrap();
    assert_eq!(ttft.count, 12);
    assert_eq!(&play.rows[0]["ttft_ms"], "");
}
