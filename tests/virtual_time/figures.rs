//! Figures that can be told by hand.

use crate::answer::{Answer, ms};
use crate::stage::{Play, Stage};

#[test]
fn c060_attainment_and_goodput_count_what_kept_every_limit() {
    let stage = Stage::chat(
        "[slo]\nttft = \"200ms\"\ntpot = \"50ms\"\n\
         [[phase]]\nname = \"p\"\nduration = \"10s\"\ndrain = \"100ms\"\nload.constant = \"1/s\"\n",
    );
    let play = stage.scripted(|asked| match asked.request {
        // At the limits, which keeps them.
        0 => Answer::tokens(ms(200), ms(50), 5),
        1 => Answer::tokens(ms(250), ms(10), 5),
        2 => Answer::tokens(ms(100), ms(60), 5),
        3 => Answer::status(500, ms(5)),
        // Cut while all its limits could still be kept.
        9 => Answer::new().at(ms(150)).role().token().at(ms(20_000)).token(),
        _ => Answer::tokens(ms(100), ms(10), 5),
    });
    assert_eq!(
        play.column("slo_met"),
        ["true", "false", "false", "false", "true", "true", "true", "true", "true", ""]
    );
    assert_eq!(play.figure("p", "attainment", "value"), Some(6.0 / 9.0));
    assert_eq!(play.figure("p", "goodput", "value"), Some(0.6));
    assert_eq!(play.figure("p", "success", "value"), Some(8.0 / 9.0));
}

#[test]
fn c054_an_answer_of_one_token_has_no_tpot() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 10\nload.constant = \"1/s\"\n");
    let play = stage.scripted(|asked| Answer::tokens(ms(50), ms(10), if asked.request < 5 { 1 } else { 10 }));
    let tpot = [[""; 5], ["10.000"; 5]].concat();
    assert_eq!(play.column("tpot_ms"), tpot);
    assert_eq!(play.column("ttft_ms"), ["50.000"; 10]);
    let row = play.summary.iter().find(|row| row.metric == "tpot" && row.statistic == "mean").unwrap();
    assert_eq!((row.count, row.value), (5, Some(10.0)));
    let gaps = play.summary.iter().find(|row| row.metric == "gap" && row.statistic == "mean").unwrap();
    assert_eq!(gaps.count, 45);
}

fn parallel(requests: u64) -> Play {
    let phase = format!("[[phase]]\nname = \"p\"\nrequests = {requests}\nload.closed = {requests}\n");
    Stage::chat(&phase).scripted(|_| {
        // 100 tokens, the first after 1 s, the last after 5 s.
        let mut answer = Answer::new().role();
        for i in 0..100 {
            answer = answer.at(ms(1_000 + 4_000 * i / 99)).token();
        }
        answer.finish("length").usage(10_000, 100).done()
    })
}

#[test]
fn c049_usage_is_asked_for_and_is_the_count_where_it_comes_only_then() {
    let stage =
        Stage::chat("output.max_tokens = 512\n[[phase]]\nname = \"p\"\nrequests = 3\nload.closed = 1\n");
    let play = stage.scripted(|asked| {
        let mut answer = Answer::new();
        for token in 0..24 {
            answer = answer.at(ms(50 + 5 * token)).token();
        }
        let ended = answer.finish("stop");
        match asked.body["stream_options"]["include_usage"].as_bool() {
            Some(true) => ended.usage(7, 24).done(),
            _ => ended.done(),
        }
    });
    assert_eq!((play.column("output_tokens"), play.column("tpot_ms")), (vec!["24"; 3], vec!["5.000"; 3]));
}

#[test]
fn c058_c066_throughput_is_tokens_over_the_time_from_first_send_to_last_output() {
    let (one, four) = (parallel(1), parallel(4));
    assert_eq!(one.figure("p", "output_throughput", "value"), Some(20.0));
    assert_eq!(four.figure("p", "output_throughput", "value"), Some(80.0));
    assert_eq!(four.figure("p", "prompt_throughput", "value"), Some(8_000.0));
    assert_eq!(four.figure("p", "total_throughput", "value"), Some(8_080.0));
    assert_eq!(four.figure("p", "request_throughput", "value"), Some(0.8));
}

#[test]
fn c059_failed_requests_enter_no_latency() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 100\nload.constant = \"10/s\"\n");
    let play = stage.scripted(|asked| match asked.request % 10 {
        0 => Answer::status(500, ms(5_000)),
        _ => Answer::tokens(ms(100), ms(400), 2),
    });
    let figures = [("ttft", "max"), ("e2e", "max"), ("failed_after", "min"), ("success", "value")]
        .map(|(metric, statistic)| play.figure("p", metric, statistic));
    assert_eq!(figures, [Some(100.0), Some(500.0), Some(5_000.0), Some(0.9)]);
}

#[test]
fn c071_tokens_that_come_in_a_burst_are_reported_as_seen_and_warned_of() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 1\nload.closed = 1\n");
    let play = stage.scripted(|_| Answer::tokens(ms(15_000), ms(0), 60));
    let cells = ["ttft_ms", "tpot_ms", "e2e_ms", "gap_max_ms", "events"].map(|column| &play.rows[0][column]);
    assert_eq!(cells, ["15000.000", "", "15000.000", "0.000", "60"]);
    assert!(play.found().contains(&"bursts"));
}

#[test]
fn c083_tokens_of_answers_that_outlast_the_window_count_as_far_as_they_came_in_it() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.closed = 4\n");
    // Eight seconds at 50 tokens a second.
    let play = stage.scripted(|_| Answer::tokens(ms(20), ms(20), 400));
    assert_eq!(play.ended("ok"), 8);
    // The second answer of each user has 99 of its tokens before 10 s.
    assert_eq!(play.column("output_tokens_in_window"), [["400"; 4], ["99"; 4]].concat());
    assert_eq!(play.figure("p", "output_throughput", "value"), Some(199.6));
    let by_second: Vec<_> = play.timeline.iter().map(|second| second.output_tokens.unwrap()).collect();
    assert_eq!(by_second.iter().sum::<f64>(), 3_200.0);
    assert_eq!(by_second[0], 4.0 * 49.0);
}

#[test]
fn c044_reasoning_is_output_and_the_answer_has_its_own_first_time() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 1\nload.closed = 1\n");
    let play = stage.scripted(|_| {
        let mut answer = Answer::new().at(ms(5)).role();
        for i in 0..10 {
            answer = answer.at(ms(100 + 20 * i)).reasoning();
        }
        answer.at(ms(300)).token().at(ms(320)).token().finish("stop").usage(9, 12).done()
    });
    let cells =
        ["ttft_ms", "first_answer_ms", "tpot_ms", "output_tokens"].map(|column| &play.rows[0][column]);
    assert_eq!(cells, ["100.000", "300.000", "20.000", "12"]);
}

#[test]
fn an_answer_of_more_events_than_are_handed_over_at_once_is_whole() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.constant = \"1/s\"\n");
    let play = stage.scripted(|asked| match asked.request {
        // Exactly two lots, then two lots and three.
        0 => Answer::tokens(ms(1), ms(1), 16_384),
        1 => Answer::tokens(ms(1), ms(1), 16_387),
        _ => Answer::tokens(ms(5), ms(5), 2),
    });
    let lots = play.events.iter().filter(|event| matches!(event, tonnage::record::Event::Stamps { .. }));
    assert_eq!(lots.count(), 4);
    let cells = |row: usize| {
        ["events", "output_tokens", "output_tokens_in_window", "gap_p50_ms", "gap_max_ms", "tpot_ms"]
            .map(|column| &play.rows[row][column])
    };
    assert_eq!(cells(0), ["16384", "16384", "9999", "1.000", "1.000", "1.000"]);
    assert_eq!(cells(1), ["16387", "16387", "8999", "1.000", "1.000", "1.000"]);
    let gaps = play.summary.iter().find(|row| row.metric == "gap" && row.statistic == "mean").unwrap();
    assert_eq!(gaps.count, 16_383 + 16_386 + 8);
}

#[test]
fn c150_without_usage_token_figures_are_empty_and_latencies_stand() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 40\nload.constant = \"10/s\"\n");
    let play = stage.scripted(|_| Answer::new().at(ms(30)).token().at(ms(40)).token().finish("stop").done());
    assert_eq!(play.ended("ok"), 40);
    assert_eq!(play.figure("p", "ttft", "max"), Some(30.0));
    for (metric, statistic) in [("tpot", "max"), ("output_throughput", "value"), ("output_tokens", "max")] {
        assert_eq!(play.figure("p", metric, statistic), None, "{metric}");
    }
    assert!(play.found().contains(&"uncounted"));
}

#[test]
fn c151_finish_reasons_and_lengths_are_reported() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 10\nload.constant = \"10/s\"\n");
    let play = stage.scripted(|asked| {
        let reason = if asked.request % 2 == 0 { "stop" } else { "length" };
        Answer::new().at(ms(30)).token().finish(reason).usage(3, 1).done()
    });
    assert_eq!(play.figure("p", "finish_reasons", "stop"), Some(5.0));
    assert_eq!(play.figure("p", "finish_reasons", "length"), Some(5.0));
    assert!(play.found().contains(&"truncated"));
}
