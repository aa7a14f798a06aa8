//! What is served beside plain chat streams.

use serde_json::Value;

use super::*;
use crate::sim::AnswerKey;

fn ask_at(path: &str, body: &Value) -> Request<Full<Bytes>> {
    Request::post(path).body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

/// The answer to one request as JSON.
async fn json_of(sender: &mut SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> Value {
    let response = sender.send_request(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

async fn text_of(sender: &mut SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> String {
    let response = sender.send_request(request).await.unwrap();
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[test]
fn a_completion_streams_and_comes_whole_with_the_same_text() {
    let (whole, streamed) = simulate(profile(4), Options::default(), async |_, server| {
        let mut sender = connect(&server).await;
        let mut body = json!({ "prompt": "Once upon a time", "max_tokens": 3, "ignore_eos": true });
        let whole = json_of(&mut sender, ask_at("/v1/completions", &body)).await;
        body["stream"] = true.into();
        body["stream_options"] = json!({ "include_usage": true });
        (whole, text_of(&mut sender, ask_at("/v1/completions", &body)).await)
    });
    insta::assert_snapshot!(whole, @r#"{"choices":[{"finish_reason":"length","index":0,"logprobs":null,"text":"lantern lantern bridge"}],"created":0,"id":"cmpl-0000000000000000","model":"tiny","object":"text_completion","usage":{"completion_tokens":3,"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":7}}"#);
    insta::assert_snapshot!(streamed, @r#"
data: {"id":"cmpl-0000000000000001","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":"lantern","logprobs":null,"finish_reason":null}]}

data: {"id":"cmpl-0000000000000001","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":" lantern","logprobs":null,"finish_reason":null}]}

data: {"id":"cmpl-0000000000000001","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":" bridge","logprobs":null,"finish_reason":null}]}

data: {"id":"cmpl-0000000000000001","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}]}

data: {"id":"cmpl-0000000000000001","object":"text_completion","created":0,"model":"tiny","choices":[],"usage":{"completion_tokens":3,"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":7}}

data: [DONE]
"#);
}

#[test]
fn usage_comes_on_every_event_when_that_is_asked_for() {
    let text = simulate(profile(4), Options::default(), async |_, server| {
        let body = ask(30, 3, true).replace("include_usage", "continuous_usage_stats");
        text_of(&mut connect(&server).await, post(body)).await
    });
    let counts = text
        .split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok());
    let counts = counts.map(|event| event["usage"]["completion_tokens"].as_u64()).collect::<Vec<_>>();
    assert_eq!(
        counts,
        [None, Some(1), Some(2), Some(3), Some(3), Some(3)],
        "role, tokens, finish, the last one"
    );
}

#[test]
fn cached_tokens_are_told_in_whole_blocks_until_the_cache_is_reset() {
    simulate(profile(4), Options::default(), async |_, server| {
        let mut sender = connect(&server).await;
        let mut cached = async |tokens| {
            let answer = json_of(&mut sender, post(ask(tokens, 1, false))).await;
            answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64()
        };
        assert_eq!(cached(70).await, Some(0));
        assert_eq!(cached(70).await, Some(64));
        // 64 tokens: the words of the first are the same, the template at its end is not.
        assert_eq!(cached(64).await, Some(48));
        assert_eq!(cached(5).await, Some(0));
        let reset = Request::post("/reset_prefix_cache").body(Full::default()).unwrap();
        assert_eq!(exchange(&mut connect(&server).await, reset).await, "200 ");
        assert_eq!(cached(70).await, Some(0));
    });
    let parameters = Parameters { prefix_caching: false, ..profile(4).parameters().clone() };
    simulate(Profile::new("cold", parameters).unwrap(), Options::default(), async |_, server| {
        let answer = json_of(&mut connect(&server).await, post(ask(70, 1, false))).await;
        assert_eq!(answer["usage"].get("prompt_tokens_details"), None, "absent is not 0");
    });
}

#[test]
fn thoughts_stream_on_their_own_channel_and_are_counted_apart() {
    let (whole, streamed) = simulate(profile(4), Options::default(), async |_, server| {
        let mut sender = connect(&server).await;
        let body = |stream| {
            let body = ask(9, 5, stream);
            format!("{},\"reasoning_effort\":\"low\"}}", body.strip_suffix('}').unwrap())
        };
        let whole = json_of(&mut sender, post(body(false))).await;
        (whole, text_of(&mut sender, post(body(true))).await)
    });
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["reasoning_content"].as_str().unwrap().split(' ').count(), 2);
    assert_eq!(message["content"].as_str().unwrap().split(' ').count(), 3);
    assert_eq!(whole["usage"]["completion_tokens_details"]["reasoning_tokens"], 2);
    assert_eq!(whole["usage"]["completion_tokens"], 5);
    let (thoughts, answer) =
        (streamed.matches("reasoning_content").count(), streamed.matches(r#"{"content":"#).count());
    assert_eq!((thoughts, answer), (2, 3));
}

#[test]
fn a_stop_string_ends_the_text_before_it_and_the_count_with_it() {
    let (whole, streamed) = simulate(profile(4), Options::default(), async |_, server| {
        let mut sender = connect(&server).await;
        let plain = json_of(&mut sender, post(ask(9, 6, false))).await;
        let text = plain["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        let words = text.split(' ').collect::<Vec<_>>();
        let stop = format!("{} {}", &words[2][1..], words[3]);
        let body = |stream| {
            let body = ask(9, 6, stream);
            format!("{},\"stop\":[\"{stop}\"]}}", body.strip_suffix('}').unwrap())
        };
        let whole = json_of(&mut sender, post(body(false))).await;
        assert_eq!(whole["choices"][0]["message"]["content"], text[..text.find(&stop).unwrap()]);
        (whole, text_of(&mut sender, post(body(true))).await)
    });
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert_eq!(whole["usage"]["completion_tokens"], 4);
    assert_eq!(streamed.matches(r#"{"content":"#).count(), 3, "the fourth token has nothing left to show");
    assert!(streamed.contains(r#""completion_tokens":4"#));
}

struct Key;

impl AnswerKey for Key {
    fn solution(&self, question: &str) -> Option<String> {
        question.starts_with("How many").then(|| "12 + 12 = 24\n#### 24".to_owned())
    }
}

#[test]
fn a_known_question_gets_its_answer_and_another_seed_other_words() {
    let answers = |seed| {
        let options = Options { answer_key: Some(Arc::new(Key)), seed, ..Options::default() };
        simulate(profile(4), options, async |_, server| {
            let mut sender = connect(&server).await;
            let mut text = async |question: &str| {
                let body = json!({ "messages": [{ "role": "user", "content": question }], "max_tokens": 90 });
                let answer = json_of(&mut sender, post(body.to_string())).await;
                answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
            };
            (text("How many clips?").await, text("Why?").await)
        })
    };
    let (known, words) = answers(0);
    assert_eq!(known, "12 + 12 = 24\n#### 24");
    assert_eq!(answers(0), (known.clone(), words.clone()));
    assert_eq!(answers(1).0, known);
    assert_ne!(answers(1).1, words);
}

#[test]
fn text_becomes_ids_and_ids_that_were_shown_become_text() {
    simulate(profile(4), Options::default(), async |_, server| {
        let mut sender = connect(&server).await;
        let tokens =
            json_of(&mut sender, ask_at("/tokenize", &json!({ "prompt": "Hello there,  world" }))).await;
        assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(3), &json!(1000)));
        let body = json!({ "tokens": tokens["tokens"] });
        let text = json_of(&mut sender, ask_at("/detokenize", &body)).await;
        assert_eq!(text, json!({ "prompt": "Hello there, world" }));
        let word = crate::sim::tokenize::word_id("lantern");
        let text = json_of(&mut sender, ask_at("/detokenize", &json!({ "tokens": [word] }))).await;
        assert_eq!(text["prompt"], "lantern", "words of answers are known from the start");
        let body = json!({ "messages": [{ "role": "user", "content": "one two" }, { "role": "user", "content": "3" }] });
        assert_eq!(json_of(&mut sender, ask_at("/tokenize", &body)).await["count"], 2 + 4 + 1 + 4);
        insta::assert_snapshot!(exchange(&mut sender, ask_at("/detokenize", &json!({ "tokens": [7] }))).await, @r#"400 {"error":{"code":400,"message":"Token 7 is not known: ids are hashes of words, and only words that were tokenized here can be told from them.","param":"tokens","type":"BadRequestError"}}"#);
        insta::assert_snapshot!(exchange(&mut sender, ask_at("/tokenize", &json!({}))).await, @r#"400 {"error":{"code":400,"message":"`prompt` or `messages` must be given.","param":"prompt","type":"BadRequestError"}}"#);
    });
}

#[test]
fn the_page_of_metrics_agrees_with_what_happened() {
    let page = simulate(profile(1), Options::default(), async |clock, server| {
        let mut sender = connect(&server).await;
        for _ in 0..2 {
            json_of(&mut sender, post(ask(40, 3, false))).await;
        }
        // One that runs, one that waits, and one that has left.
        let mut others = Vec::new();
        for _ in 0..3 {
            let (mut near, far) = duplex(16 * 1024);
            spawn_local(server.serve(far));
            near.write_all(raw(&ask(20, 100, true)).as_bytes()).await.unwrap();
            clock.sleep(Duration::from_nanos(1)).await;
            others.push(near);
        }
        others.pop();
        clock.sleep(Duration::from_nanos(1)).await;
        text_of(&mut sender, bare("GET", "/metrics")).await
    });
    for line in [
        r#"vllm:num_requests_running{engine="0",model_name="tiny"} 1.0"#,
        r#"vllm:num_requests_waiting{engine="0",model_name="tiny"} 1.0"#,
        r#"vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 100.0"#,
        r#"vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 48.0"#,
        r#"vllm:prompt_tokens_total{engine="0",model_name="tiny"} 80.0"#,
        r#"vllm:generation_tokens_total{engine="0",model_name="tiny"} 6.0"#,
        r#"vllm:request_success_total{engine="0",model_name="tiny",finished_reason="length"} 2.0"#,
        r#"vllm:request_success_total{engine="0",model_name="tiny",finished_reason="abort"} 1.0"#,
        r#"vllm:time_to_first_token_seconds_bucket{engine="0",model_name="tiny",le="0.005"} 2.0"#,
        r#"vllm:time_to_first_token_seconds_count{engine="0",model_name="tiny"} 2.0"#,
        r#"vllm:inter_token_latency_seconds_count{engine="0",model_name="tiny"} 4.0"#,
        r#"vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.9",num_gpu_blocks="262144"} 1.0"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
    }
    let usage = page
        .lines()
        .find_map(|line| line.strip_prefix(r#"vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} "#));
    assert_eq!(usage.unwrap().parse::<f64>().unwrap(), 2.0 / 262_144.0);
    let typed = page.lines().filter(|line| line.starts_with("# TYPE")).count();
    let helped = page.lines().filter(|line| line.starts_with("# HELP")).count();
    assert_eq!((typed, helped), (24, 24));
}
