//! The schedule: due times hold, and everything follows from the seed.

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

/// `chat` and `code`, three to one; `seed` and the longest answers of `chat` as told.
fn two_workloads(seed: u64, length: &str, phase: &str) -> Stage {
    Stage::new(&format!(
        "name = \"stage\"\nseed = {seed}\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
         [[workload]]\nname = \"chat\"\nweight = 3\nprompt.synthetic.words = 20\noutput.max_tokens = {length}\n\
         [[workload]]\nname = \"code\"\nprompt.synthetic.words = 5\noutput.max_tokens = 9\nslo.ttft = \"20ms\"\n\
         [slo]\nttft = \"12ms\"\n[[phase]]\nname = \"p\"\n{phase}"
    ))
}

const POISSON: &str = "requests = 10000\nload.poisson = \"200/s\"\n";

fn five_ms(_: &Asked) -> Answer {
    Answer::tokens(ms(5), ms(0), 1)
}

#[test]
fn c072_c077_ten_thousand_poisson_sends_are_on_time_and_the_same_to_the_byte_for_a_seed() {
    let play = two_workloads(7, "64", POISSON).scripted(five_ms);
    assert_eq!(play.rows.len(), 10_000);
    assert!(play.rows.iter().all(|row| row["sent_s"] == row["scheduled_s"] && &row["lag_ms"] == "0.000"));
    let rate = 10_000.0 / play.rows[9_999].number("scheduled_s").unwrap();
    assert!((rate / 200.0 - 1.0).abs() < 0.03, "{rate}");
    assert_eq!(play.file, two_workloads(7, "64", POISSON).scripted(five_ms).file);

    let fewer = POISSON.replace("10000", "500");
    let slow = two_workloads(7, "64", &fewer).scripted(|_| Answer::tokens(ms(3_333), ms(7), 2));
    assert_eq!(play.column("scheduled_s")[..500], slow.column("scheduled_s"), "the server has no say");
    let other = two_workloads(8, "64", &fewer).scripted(five_ms);
    assert_ne!(slow.column("scheduled_s"), other.column("scheduled_s"));
    assert_ne!(slow.column("workload"), other.column("workload"));
}

#[test]
fn c078_a_poisson_phase_covers_its_duration_whatever_the_count() {
    let counts = (0..40).map(|seed| {
        let play =
            two_workloads(seed, "64", "duration = \"20s\"\nload.poisson = \"5/s\"\n").scripted(five_ms);
        assert_eq!(play.end_of(0).0, 20.0);
        play.rows.len() as f64
    });
    let counts: Vec<_> = counts.collect();
    let mean = counts.iter().sum::<f64>() / 40.0;
    let sd = (counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 39.0).sqrt();
    // Mean 100 ± 3 standard errors of 10/√40; the deviation within its own.
    assert!((mean - 100.0).abs() < 4.8 && (6.5..13.5).contains(&sd), "mean {mean}, sd {sd}");
}

#[test]
fn changing_lengths_leaves_due_times_workloads_and_prompts_alone() {
    let play =
        |length| two_workloads(7, length, "requests = 500\nload.poisson = \"200/s\"\n").scripted(five_ms);
    let (fixed, drawn) = (play("64"), play("{ uniform = { min = 16, max = 512 } }"));
    assert_eq!(fixed.column("scheduled_s"), drawn.column("scheduled_s"));
    assert_eq!(fixed.column("workload"), drawn.column("workload"));
    assert_ne!(fixed.column("output_tokens_planned"), drawn.column("output_tokens_planned"));
    let prompts = |play: &Play| play.asked.iter().map(|asked| asked.prompt().to_owned()).collect::<Vec<_>>();
    assert_eq!(prompts(&fixed), prompts(&drawn));
    for (row, asked) in drawn.rows.iter().zip(&drawn.asked) {
        assert_eq!(row["output_tokens_planned"], asked.body["max_tokens"].to_string());
    }
}

#[test]
fn c098_prompts_of_another_salt_differ_from_their_first_words_and_the_plan_does_not() {
    let play = |salt| {
        two_workloads(7, "64", "requests = 200\nload.poisson = \"200/s\"\n").salt(salt).scripted(five_ms)
    };
    let (first, second) = (play(1), play(2));
    assert_eq!(first.column("scheduled_s"), second.column("scheduled_s"));
    let begin = |asked: &Asked| asked.prompt().split(' ').take(3).map(str::to_owned).collect::<Vec<_>>();
    for (a, b) in first.asked.iter().zip(&second.asked) {
        assert_eq!(a.request, b.request);
        assert_ne!(begin(a), begin(b));
    }
}

#[test]
fn workloads_have_their_share_of_requests_and_limits_of_their_own() {
    // `chat` allows 12 ms and `code` 20 ms; first tokens come after 10 to 18 ms.
    let play = two_workloads(7, "64", "requests = 4000\nload.constant = \"1000/s\"\n")
        .scripted(|asked| Answer::tokens(ms(10 + 2 * (asked.request % 5)), ms(0), 1));
    let chat: Vec<_> = play.rows.iter().filter(|row| &row["workload"] == "chat").collect();
    // 3,000 ± 3 standard deviations of √(4,000 × 0.75 × 0.25).
    assert!((2_918..=3_082).contains(&chat.len()), "{}", chat.len());
    let good = chat.iter().filter(|row| row["request"].parse::<u64>().unwrap() % 5 <= 1).count();
    let attainment = play.figure_of("p", "chat", "attainment", "value");
    assert_eq!(attainment, Some(good as f64 / chat.len() as f64));
    assert_eq!(play.figure_of("p", "code", "attainment", "value"), Some(1.0));
    let all = (good + 4_000 - chat.len()) as f64 / 4_000.0;
    assert_eq!(play.figure("p", "attainment", "value"), Some(all));
}

#[test]
fn lengths_drawn_in_pairs_stay_together_and_have_their_weights() {
    let prompt =
        "prompt.synthetic.joint = { prompt = [50, 900, 400], output = [40, 5, 80], weights = [6, 3, 1] }";
    let text = format!(
        "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n[[workload]]\nname = \"chat\"\n\
         {prompt}\n[[phase]]\nname = \"p\"\nrequests = 1000\nload.constant = \"100/s\"\n"
    );
    let play = Stage::new(&text).scripted(five_ms);
    let pairs = play.rows.iter().map(|row| (&row["prompt_tokens_planned"], &row["output_tokens_planned"]));
    let count = |pair| pairs.clone().filter(|seen| *seen == pair).count();
    let counts = [count(("50", "40")), count(("900", "5")), count(("400", "80"))];
    assert_eq!(counts.iter().sum::<usize>(), 1_000, "no other pairs");
    // Four standard deviations.
    let expected = counts.iter().zip([600.0, 300.0, 100.0]);
    assert!(
        expected.clone().all(|(seen, mean)| (*seen as f64 - mean).abs() < 4.0 * mean.sqrt()),
        "{counts:?}"
    );
    let asked = play.asked.iter().map(|asked| asked.body["max_tokens"].as_u64().unwrap());
    assert!(asked.zip(&play.rows).all(|(asked, row)| row["output_tokens_planned"] == asked.to_string()));
}

#[test]
fn a_workload_of_no_weight_is_never_sent() {
    let text = "name = \"stage\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
         [[workload]]\nname = \"a\"\nprompt.synthetic = 3\n[[workload]]\nname = \"b\"\nweight = 0\nprompt.synthetic = 3\n\
         [[phase]]\nname = \"p\"\nrequests = 300\nload.closed = 3\n";
    let play = Stage::new(text).scripted(five_ms);
    assert_eq!(play.column("workload"), ["a"; 300]);
}
