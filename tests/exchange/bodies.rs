//! A chunked body is read by the client itself where it is plain, and by hyper alone where its head is out of the
//! ordinary. Which of them reads it makes no difference, whatever comes in whatever pieces. Nor does it where tokens
//! are counted while the exchange sleeps, which is never the case where hyper reads.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tonnage::clock::Clock;
use tonnage::record::Timeline;

use crate::support::bench::{Bench, ms, tell};
use crate::support::frames::{DONE, content, finish, usage};
use crate::support::script::{Intake, Script, chunk, stream};

/// As many further fields as make hyper read a body alone.
const UNUSUAL_FIELDS: usize = 70;

fn head(status: u16, fields: usize) -> String {
    let further = (0..fields).map(|k| format!("x-{k}: y\r\n")).collect::<String>();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: text/event-stream\r\n{further}transfer-encoding: chunked\r\n\r\n"
    )
}

/// A timeline, with every stamp.
fn tell_all(timeline: &Timeline) -> String {
    let Timeline { stamps, reads, counted_tokens, .. } = timeline;
    format!("{}; {stamps:?} {reads:?} {counted_tokens:?}", tell(timeline))
}

/// What becomes of a request that is answered by `pieces` after a head of so many further fields, a millisecond
/// apart, and of the one after it.
fn told(
    status: u16,
    fields: usize,
    pieces: &[Vec<u8>],
    closes: bool,
) -> (String, String, Option<bool>, usize) {
    let mut script = Script::silent(Intake::Whole);
    let first = [head(status, fields).into_bytes(), pieces.first().cloned().unwrap_or_default()].concat();
    let rest = pieces.iter().skip(1).cloned();
    for (at, piece) in (1..).zip(std::iter::once(first).chain(rest)) {
        script = script.write(ms(at), piece);
    }
    if closes {
        script = script.close(ms(pieces.len() as u64 + 1));
    }
    let good = stream().at(5, [&content("b"), &finish("stop"), DONE].concat()).script();
    Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [script, good]);
        let first = bench.ask().await;
        // What ends late has ended.
        clock.sleep(ms(5_000)).await;
        let second = bench.ask().await;
        (tell_all(&first), tell_all(&second), second.new_connection, bench.server.opened())
    })
    .unwrap()
}

/// Chunks, whole and broken, and what is none.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let whole =
        [content("a"), content("bc"), finish("stop"), usage(4, 2), DONE.to_owned(), ": ping\n\n".to_owned()];
    let mut pieces = whole.iter().map(|event| chunk(event.as_bytes()).to_vec()).collect::<Vec<_>>();
    let event = content("x");
    pieces.push(chunk(&event.as_bytes()[..9]).to_vec());
    pieces.push(chunk(&event.as_bytes()[9..]).to_vec());
    pieces.push(chunk([content("d"), content("e")].concat().as_bytes()).to_vec());
    for odd in [
        "0\r\n\r\n",
        "0\r\n\r\n",
        "0\r\nx-y: z\r\n\r\n",
        "0",
        "000\r\n\r\n",
        "2;a=b\r\n\n\n\r\n",
        "2 \r\n\n\n\r\n",
        "002\r\n\n\n\r\n",
        "0000000002\r\n\n\n\r\n",
        "\r\n",
        "5\r\n",
        "5\nabcde\r\n",
        "5\r\nabcdef",
        "5\r\nabcde\rx",
        "g",
        "HTTP/1.1 200 OK\r\n\r\n",
    ] {
        pieces.push(odd.into());
    }
    let tokens = ["f", "g", "hi", "\u{e9}"].map(|text| chunk(content(text).as_bytes()).to_vec());
    let piece = prop_oneof![
        proptest::sample::select(pieces.clone()),
        proptest::collection::vec(proptest::sample::select(tokens.to_vec()), 1..5)
            .prop_map(|tokens| tokens.concat()),
    ];
    proptest::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::with_cases(700)
    })]

    #[test]
    fn who_reads_a_body_makes_no_difference(
        body in bodies(),
        cuts in proptest::collection::vec(0..1_200_usize, 0..12),
        closes in any::<bool>(),
        status in proptest::sample::select(vec![200, 200, 400]),
    ) {
        let mut cuts = cuts.into_iter().map(|cut| cut.min(body.len())).collect::<Vec<_>>();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([body.len()]);
        let pieces = std::iter::once(0).chain(cuts.iter().copied()).zip(ends);
        let pieces = pieces.map(|(from, to)| body[from..to].to_vec()).collect::<Vec<_>>();
        prop_assert_eq!(told(status, 0, &pieces, closes), told(status, UNUSUAL_FIELDS, &pieces, closes));
    }
}
