//! Every API, from the head of its request to the times of its answer.

use tonnage::client::Settings;
use tonnage::clock::Clock;
use tonnage::prompt::Message;
use tonnage::protocol::{Api, BodyOptions};
use tonnage::record::{Outcome, Timeline, Usage};
use tonnage::units::Nanos;

use crate::support::bench::{Bench, KEY, ask_with, header_of, ms, outgoing, settings};
use crate::support::script::{Framing, Reply, reply, stream};
use crate::support::server::{Heard, Server};

/// An answer of two tokens, piece by piece: what comes before the first, each of them, and the end.
fn pieces(api: Api) -> [&'static str; 4] {
    match api {
        Api::Chat => [
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        ],
        Api::Completions => [
            "data: null\n\n",
            "data: {\"choices\":[{\"text\":\"a\"}]}\n\n",
            "data: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"length\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        ],
        Api::Responses => [
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\"}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"b\"}\n\n",
            concat!(
                "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":",
                "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"length\"},",
                "\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}}\n\n"
            ),
        ],
        Api::Messages => [
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"b\"}}\n\n",
            concat!(
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"length\"},",
                "\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
            ),
        ],
        Api::Ollama => [
            "\n",
            "{\"created_at\":\"1\",\"message\":{\"content\":\"a\"},\"done\":false}\n",
            "{\"created_at\":\"2\",\"message\":{\"content\":\"b\"},\"done\":false}\n",
            concat!(
                "{\"created_at\":\"3\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"length\",",
                "\"prompt_eval_count\":9,\"eval_count\":2}\n"
            ),
        ],
        Api::OllamaGenerate => [
            "\n",
            "{\"created_at\":\"1\",\"response\":\"a\",\"done\":false}\n",
            "{\"created_at\":\"2\",\"response\":\"b\",\"done\":false}\n",
            concat!(
                "{\"created_at\":\"3\",\"response\":\"\",\"done\":true,\"done_reason\":\"length\",",
                "\"prompt_eval_count\":9,\"eval_count\":2}\n"
            ),
        ],
        Api::LlamaCpp => [
            "data: {\"content\":\"\",\"tokens\":[0],\"stop\":false,\"tokens_predicted\":0,\"tokens_evaluated\":9}\n\n",
            "data: {\"content\":\"a\",\"stop\":false,\"tokens_predicted\":1,\"tokens_evaluated\":9}\n\n",
            "data: {\"content\":\"b\",\"stop\":false,\"tokens_predicted\":2,\"tokens_evaluated\":9}\n\n",
            concat!(
                "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"length\",\"tokens_predicted\":2,",
                "\"tokens_evaluated\":9}\n\n"
            ),
        ],
    }
}

/// A response whose pieces come at 10, 20, 50 and 70 ms.
fn answer(api: Api) -> Reply {
    let [opening, first, second, end] = pieces(api);
    let head = match api.framing() {
        tonnage::wire::Framing::Sse => stream(),
        tonnage::wire::Framing::Ndjson => reply("200 OK", "application/x-ndjson"),
    };
    head.at(10, opening).at(20, first).at(50, second).at(70, end)
}

fn settings_of(api: Api) -> Settings {
    let (name, value) = api.key_header(KEY);
    Settings {
        api,
        path: api.path().to_owned(),
        models_path: api.models_path().to_owned(),
        headers: vec![header_of(name, &value)],
        ..settings()
    }
}

/// A request for a stream, and what the server heard of it.
fn exchange(api: Api, script: Reply) -> (Timeline, Heard) {
    let options = BodyOptions { model: "tiny".to_owned(), stream: true, ..BodyOptions::default() };
    let body = String::from_utf8(options.body(api, &[Message::user("Hi")], 2)).unwrap();
    Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [script]), &clock, settings_of(api));
        let timeline = bench.send(&outgoing(body)).await;
        (timeline, bench.server.heard().remove(0))
    })
    .unwrap()
}

#[test]
fn every_api_is_asked_in_its_way_and_timed_alike() {
    for api in Api::ALL {
        let (timeline, heard) = exchange(api, answer(api));
        let usage = Usage { prompt: Some(9), completion: Some(2), ..Usage::default() };
        assert_eq!((timeline.outcome, timeline.usage), (Outcome::Ok, usage), "{api:?}: {:?}", timeline.error);
        let since = |at: Option<Nanos>| at.map(|at| at.since(timeline.sent));
        assert_eq!(since(timeline.first_token), Some(ms(20)), "{api:?}");
        assert_eq!(since(timeline.last_token), Some(ms(50)), "{api:?}");
        assert_eq!((timeline.events, timeline.finish_reason.as_deref()), (2, Some("length")), "{api:?}");

        assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", api.path()), "{api:?}");
        assert_eq!(heard.all("accept"), [api.framing().media_type()], "{api:?}");
        let (name, value) = api.key_header(KEY);
        assert_eq!(heard.all(name), [value], "{api:?}");
        for (name, value) in api.headers() {
            assert_eq!(heard.all(name), [*value], "{api:?}");
        }
    }
}

#[test]
fn an_exchange_is_over_at_the_end_of_its_answer_whatever_the_connection_does() {
    for api in Api::ALL {
        let (timeline, _) = exchange(api, answer(api).open());
        assert_eq!(timeline.outcome, Outcome::Ok, "{api:?}: {:?}", timeline.error);
        assert_eq!(timeline.ended.since(timeline.sent), ms(70), "{api:?}");
    }
}

#[test]
fn an_answer_that_breaks_off_is_truncated_in_every_api() {
    for api in Api::ALL {
        let [opening, first, ..] = pieces(api);
        let cut = reply("200 OK", "text/plain").framed(Framing::Close).at(10, opening).at(20, first);
        let (timeline, _) = exchange(api, cut);
        assert_eq!((timeline.outcome, timeline.events), (Outcome::Truncated, 1), "{api:?}");
    }
}

#[test]
fn a_page_in_the_place_of_an_answer_is_malformed_in_every_api() {
    for api in Api::ALL {
        let timeline =
            ask_with(settings_of(api), reply("200 OK", "text/html").at(5, "<html>\nno: such\n</html>\n"));
        assert_eq!(timeline.outcome, Outcome::Malformed, "{api:?}: {:?}", timeline.error);
    }
}

#[test]
fn a_header_of_the_scenario_takes_the_place_of_the_apis() {
    let mut settings = settings_of(Api::Messages);
    settings.headers.push(header_of("anthropic-version", "2099-01-01"));
    let heard = Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [answer(Api::Messages)]), &clock, settings);
        bench.ask().await;
        bench.server.heard().remove(0)
    });
    assert_eq!(heard.unwrap().all("anthropic-version"), ["2099-01-01"]);
}

#[test]
fn ollamas_list_of_models_is_read() {
    let list = reply("200 OK", "application/json").at(1, r#"{"models":[{"name":"tiny:latest"}]}"#);
    let (models, heard) = Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [list]), &clock, settings_of(Api::Ollama));
        (bench.client.models().await, bench.server.heard().remove(0))
    })
    .unwrap();
    assert_eq!(heard.path, "/api/tags");
    assert_eq!(models, Ok(tonnage::client::preflight::Models::Listed(vec!["tiny:latest".to_owned()])));
}
