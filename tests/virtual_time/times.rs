//! Times of rows: lag, TTFT, TPOT, E2E and gaps, to the microsecond.

use std::time::Duration;

use tonnage::sim::{CostModel, FixedCost, Parameters, Profile};

use crate::answer::{Answer, ms};
use crate::stage::Stage;

/// Three requests a second apart, of which the first two overlap.
#[test]
fn times_of_overlapping_requests_are_exact() {
    let stage = Stage::chat("[[phase]]\nname = \"steady\"\nrequests = 3\nload.constant = \"1/s\"\n");
    let play = stage.scripted(|asked| match asked.request {
        0 => Answer::new()
            .role()
            .at(ms(1_300))
            .token()
            .at(ms(1_450))
            .token()
            .at(ms(1_480))
            .token()
            .at(ms(1_700))
            .finish("stop")
            .at(ms(2_500))
            .usage(12, 3)
            .done(),
        1 => Answer::tokens(ms(200), ms(25), 5),
        _ => Answer::tokens(Duration::from_nanos(7_000_500), Duration::from_nanos(1_000_001), 3),
    });
    assert_eq!(play.column("scheduled_s"), ["0.000000", "1.000000", "2.000000"]);
    assert_eq!(play.column("sent_s"), ["0.000000", "1.000000", "2.000000"]);
    assert_eq!(play.column("lag_ms"), ["0.000", "0.000", "0.000"]);
    assert_eq!(play.column("first_byte_s"), ["0.000000", "1.200000", "2.007000"]);
    assert_eq!(play.column("first_token_s"), ["1.300000", "1.200000", "2.007000"]);
    assert_eq!(play.column("last_token_s"), ["1.480000", "1.300000", "2.009001"]);
    assert_eq!(play.column("ttft_ms"), ["1300.000", "200.000", "7.000"]);
    // 180 ms over two tokens after the first; 100 ms over four; 2.001 ms over two.
    assert_eq!(play.column("tpot_ms"), ["90.000", "25.000", "1.000"]);
    // The late usage does not stretch the answer, but the row ends with it.
    assert_eq!(play.column("e2e_ms"), ["1700.000", "300.000", "9.001"]);
    assert_eq!(play.column("ended_s"), ["2.500000", "1.300000", "2.009001"]);
    assert_eq!(play.column("gap_p50_ms"), ["30.000", "25.000", "1.000"]);
    assert_eq!(play.column("gap_max_ms"), ["150.000", "25.000", "1.001"]);
    assert_eq!(play.column("prompt_tokens"), ["12", "7", "7"]);
    assert_eq!(play.column("output_tokens"), ["3", "5", "3"]);
    assert_eq!(play.column("ignored_events"), ["1", "0", "0"]);
    assert_eq!(play.column("stamp"), ["virtual"; 3]);
    assert_eq!(play.column("connect_ms"), ["0.000", "0.000", ""]);
    assert_eq!(play.column("new_connection"), ["true", "true", "false"]);
}

/// A run that begins at an odd nanosecond of its clock: columns count from its start all the same.
#[test]
fn instants_are_rounded_once_half_to_even_from_the_run_start() {
    let nanos = |at: u64| Duration::from_nanos(at);
    let stage = Stage::chat("[[phase]]\nname = \"steady\"\nrequests = 1\nload.closed = 1\n");
    let play = stage.lead_in(nanos(123_456_789)).scripted(move |_| {
        let answer = Answer::new().at(nanos(1_000_499)).role().at(nanos(2_000_500)).reasoning();
        let answer = answer.at(nanos(3_001_500)).token().at(nanos(4_002_501)).token();
        answer.at(nanos(5_003_500)).finish("stop").usage(3, 4).done()
    });
    assert_eq!(play.origin.0, 123_456_789);
    let cells = ["first_byte_s", "first_token_s", "first_answer_s", "last_token_s", "ended_s"]
        .map(|column| &play.rows[0][column]);
    assert_eq!(cells, ["0.001000", "0.002000", "0.003002", "0.004003", "0.005004"]);
    let cells = ["ttft_ms", "first_answer_ms", "tpot_ms", "e2e_ms", "gap_p50_ms", "gap_max_ms"]
        .map(|column| &play.rows[0][column]);
    assert_eq!(cells, ["2.000", "3.002", "0.668", "5.004", "1.001", "1.002"]);
}

/// Steps of 5.000123 ms, 0.070001 ms more for each sequence and 1 ms for a prompt of 7 tokens.
#[test]
fn the_simulated_server_is_timed_to_its_exact_steps() {
    let cost = CostModel::Fixed(FixedCost {
        step_overhead: Duration::from_nanos(5_000_123),
        sequence_cost: Duration::from_nanos(70_001),
        prefill_tokens_per_s: Some(7_000.0),
    });
    let profile = Profile::new("by-hand", Parameters { cost, ..Parameters::default() }).unwrap();
    let stage = Stage::chat(
        "output.max_tokens = 3\nrequest.extra = { ignore_eos = true }\n\
         [[phase]]\nname = \"steady\"\nrequests = 3\nload.constant = \"100/s\"\n",
    );
    let play = stage.lead_in(Duration::from_nanos(5)).simulated(profile);
    // Steps end at 6.070124, 11.140248, 17.280373, 22.350497, 28.490622, 33.560746, 38.630870 ms: those in which
    // a prompt joins an answer are of two sequences, of which the answer's leaves 0.070001 ms before the end.
    assert_eq!(play.column("sent_s"), ["0.000000", "0.010000", "0.020000"]);
    assert_eq!(play.column("first_token_s"), ["0.006070", "0.017280", "0.028491"]);
    assert_eq!(play.column("last_token_s"), ["0.017210", "0.028421", "0.038631"]);
    assert_eq!(play.column("ttft_ms"), ["6.070", "7.280", "8.491"]);
    assert_eq!(play.column("e2e_ms"), ["17.210", "18.421", "18.631"]);
    assert_eq!(play.column("gap_p50_ms"), ["5.070", "5.070", "5.070"]);
    assert_eq!(play.column("gap_max_ms"), ["6.070", "6.071", "5.070"]);
    assert_eq!(play.column("prompt_tokens"), ["7"; 3]);
    assert_eq!(play.column("output_tokens"), ["3"; 3]);
    assert_eq!(play.column("finish_reason"), ["length"; 3]);
    assert_eq!(play.column("connect_ms"), ["0.000", "0.000", ""], "the third takes the first's connection");
    assert_eq!(play.figure("steady", "output_throughput", "value"), Some(9.0 / 0.038631));
}
