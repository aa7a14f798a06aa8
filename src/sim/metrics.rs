//! What the server counts of itself, in Prometheus text under vLLM's names.
//!
//! Names, types and bucket bounds are those of vLLM 0.32's `/metrics`; what the simulator does not have (LoRA, speculative
//! decoding, external caches) is left out rather than told as 0.

use std::fmt::Write as _;
use std::time::Duration;

use super::engine::{Course, Engine};
use super::profile::Parameters;
use super::request::Finish;
use crate::units::Nanos;

const TOKEN_BOUNDS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
const STEP_BOUNDS: &[f64] =
    &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0];
const PREEMPTION_BOUNDS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
const FIRST_TOKEN_BOUNDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
const TOKEN_TIME_BOUNDS: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
const REQUEST_TIME_BOUNDS: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];

/// One histogram.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [f64],
    /// Values up to each bound and above the one before it; the last counts those above all bounds.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Histogram {
        Histogram { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, value: f64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum += value;
    }

    fn add_time(&mut self, time: Duration) {
        self.add(time.as_secs_f64());
    }
}

/// All that is counted beside the engine's own totals.
#[derive(Debug)]
pub(super) struct Metrics {
    stopped: u64,
    cut_by_length: u64,
    aborted: u64,
    prompt_tokens: Histogram,
    generated_tokens: Histogram,
    computed_prompt_tokens: Histogram,
    max_tokens: Histogram,
    preemptions: Histogram,
    step_tokens: Histogram,
    first_token: Histogram,
    gap: Histogram,
    token_time: Histogram,
    whole: Histogram,
    queue: Histogram,
    inference: Histogram,
    prefill: Histogram,
    decode: Histogram,
}

/// The times of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) arrived: Nanos,
    pub(super) first_token: Nanos,
    pub(super) last_token: Nanos,
}

/// A request that has ended well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) times: Times,
    pub(super) course: Course,
    pub(super) finish: Finish,
    pub(super) prompt_tokens: u64,
    pub(super) generated_tokens: u64,
    pub(super) max_tokens: Option<u64>,
}

impl Metrics {
    pub(super) fn new() -> Metrics {
        Metrics {
            stopped: 0,
            cut_by_length: 0,
            aborted: 0,
            prompt_tokens: Histogram::new(TOKEN_BOUNDS),
            generated_tokens: Histogram::new(TOKEN_BOUNDS),
            computed_prompt_tokens: Histogram::new(TOKEN_BOUNDS),
            max_tokens: Histogram::new(TOKEN_BOUNDS),
            preemptions: Histogram::new(PREEMPTION_BOUNDS),
            step_tokens: Histogram::new(STEP_BOUNDS),
            first_token: Histogram::new(FIRST_TOKEN_BOUNDS),
            gap: Histogram::new(TOKEN_TIME_BOUNDS),
            token_time: Histogram::new(TOKEN_TIME_BOUNDS),
            whole: Histogram::new(REQUEST_TIME_BOUNDS),
            queue: Histogram::new(REQUEST_TIME_BOUNDS),
            inference: Histogram::new(REQUEST_TIME_BOUNDS),
            prefill: Histogram::new(REQUEST_TIME_BOUNDS),
            decode: Histogram::new(REQUEST_TIME_BOUNDS),
        }
    }

    /// A step over so many tokens has ended.
    pub(super) fn step(&mut self, tokens: u64) {
        self.step_tokens.add(tokens as f64);
    }

    /// A token came at `at`, after those that `times` knows of; `times` is told of it.
    pub(super) fn token(&mut self, times: &mut Times, is_first: bool, at: Nanos) {
        if is_first {
            times.first_token = at;
            self.first_token.add_time(at.since(times.arrived));
        } else {
            self.gap.add_time(at.since(times.last_token));
        }
        times.last_token = at;
    }

    pub(super) fn ended(&mut self, ended: &Ended) {
        let Ended { times, course, prompt_tokens, generated_tokens, .. } = *ended;
        match ended.finish {
            Finish::Stop => self.stopped += 1,
            Finish::Length => self.cut_by_length += 1,
        }
        self.prompt_tokens.add(prompt_tokens as f64);
        self.generated_tokens.add(generated_tokens as f64);
        self.computed_prompt_tokens.add((prompt_tokens - course.cached_tokens) as f64);
        if let Some(max_tokens) = ended.max_tokens {
            self.max_tokens.add(max_tokens as f64);
        }
        self.preemptions.add(f64::from(u32::try_from(course.preemptions).unwrap_or(u32::MAX)));
        self.whole.add_time(times.last_token.since(times.arrived));
        self.queue.add_time(course.admitted.since(times.arrived));
        self.inference.add_time(times.last_token.since(course.admitted));
        self.prefill.add_time(times.first_token.since(course.admitted));
        let decode = times.last_token.since(times.first_token);
        self.decode.add_time(decode);
        if generated_tokens > 1 {
            self.token_time.add(decode.as_secs_f64() / (generated_tokens - 1) as f64);
        }
    }

    /// The client has left a request.
    pub(super) fn aborted(&mut self) {
        self.aborted += 1;
    }

    /// The page of all metrics; `model` is the served model's name.
    pub(super) fn page(&self, engine: &Engine, parameters: &Parameters, model: &str) -> String {
        let mut page =
            Page { text: String::new(), labels: format!("engine=\"0\",model_name=\"{}\"", quote(model)) };
        let (used, all) = engine.kv_blocks();
        let totals = engine.totals();
        page.one(
            "gauge",
            "num_requests_running",
            "Number of requests in model execution batches.",
            engine.running() as f64,
        );
        page.one(
            "gauge",
            "num_requests_waiting",
            "Number of requests waiting to be processed.",
            engine.waiting() as f64,
        );
        page.one(
            "gauge",
            "kv_cache_usage_perc",
            "KV-cache usage. 1 means 100 percent usage.",
            used as f64 / all.max(1) as f64,
        );
        page.one(
            "counter",
            "prefix_cache_queries_total",
            "Prefix cache queries, in terms of number of queried tokens.",
            totals.queried_tokens as f64,
        );
        page.one(
            "counter",
            "prefix_cache_hits_total",
            "Prefix cache hits, in terms of number of cached tokens.",
            totals.hit_tokens as f64,
        );
        page.one(
            "counter",
            "num_preemptions_total",
            "Cumulative number of preemption from the engine.",
            totals.preemptions as f64,
        );
        page.one(
            "counter",
            "prompt_tokens_total",
            "Number of prefill tokens processed.",
            totals.prompt_tokens as f64,
        );
        page.one(
            "counter",
            "generation_tokens_total",
            "Number of generation tokens processed.",
            totals.generated_tokens as f64,
        );
        page.begin("counter", "request_success_total", "Count of successfully processed requests.");
        for (reason, count) in
            [("stop", self.stopped), ("length", self.cut_by_length), ("abort", self.aborted)]
        {
            page.sample("request_success_total", &format!("finished_reason=\"{reason}\""), count as f64);
        }
        let histograms = [
            ("request_prompt_tokens", "Number of prefill tokens processed.", &self.prompt_tokens),
            ("request_generation_tokens", "Number of generation tokens processed.", &self.generated_tokens),
            ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", &self.step_tokens),
            ("request_params_max_tokens", "Histogram of the max_tokens request parameter.", &self.max_tokens),
            (
                "time_to_first_token_seconds",
                "Histogram of time to first token in seconds.",
                &self.first_token,
            ),
            ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &self.gap),
            (
                "request_time_per_output_token_seconds",
                "Histogram of time_per_output_token_seconds per request.",
                &self.token_time,
            ),
            ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &self.whole),
            (
                "request_queue_time_seconds",
                "Histogram of time spent in WAITING phase for request.",
                &self.queue,
            ),
            (
                "request_inference_time_seconds",
                "Histogram of time spent in RUNNING phase for request.",
                &self.inference,
            ),
            (
                "request_prefill_time_seconds",
                "Histogram of time spent in PREFILL phase for request.",
                &self.prefill,
            ),
            (
                "request_decode_time_seconds",
                "Histogram of time spent in DECODE phase for request.",
                &self.decode,
            ),
            (
                "request_num_preemptions",
                "Histogram of the number of times a request was preempted.",
                &self.preemptions,
            ),
            (
                "request_prefill_kv_computed_tokens",
                "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
                &self.computed_prompt_tokens,
            ),
        ];
        for (name, help, histogram) in histograms {
            page.histogram(name, help, histogram);
        }
        let _ = writeln!(
            page.text,
            "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n\
             # TYPE vllm:cache_config_info gauge\n\
             vllm:cache_config_info{{block_size=\"{}\",cache_dtype=\"auto\",enable_prefix_caching=\"{}\",engine=\"0\",\
             gpu_memory_utilization=\"{}\",num_gpu_blocks=\"{all}\"}} 1.0",
            parameters.block_tokens,
            if parameters.prefix_caching { "True" } else { "False" },
            parameters.utilisation,
        );
        page.text
    }
}

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn begin(&mut self, kind: &str, name: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}");
    }

    fn sample(&mut self, name: &str, label: &str, value: f64) {
        let comma = if label.is_empty() { "" } else { "," };
        let _ = writeln!(self.text, "vllm:{name}{{{}{comma}{label}}} {value:?}", self.labels);
    }

    fn one(&mut self, kind: &str, name: &str, help: &str, value: f64) {
        self.begin(kind, name, help);
        self.sample(name, "", value);
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.begin("histogram", name, help);
        let mut below = 0;
        for (place, count) in histogram.counts.iter().enumerate() {
            below += count;
            let bound = histogram.bounds.get(place).map_or("+Inf".to_owned(), |bound| format!("{bound:?}"));
            self.sample(&format!("{name}_bucket"), &format!("le=\"{bound}\""), below as f64);
        }
        self.sample(&format!("{name}_count"), "", below as f64);
        self.sample(&format!("{name}_sum"), "", histogram.sum);
    }
}

/// A label's value as it stands between quotes.
fn quote(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_bucket_of_the_first_bound_that_is_not_below_it() {
        let mut histogram = Histogram::new(PREEMPTION_BOUNDS);
        [0.0, 1.0, 1.5, 2.0, 50.0, 51.0].iter().for_each(|value| histogram.add(*value));
        assert_eq!(histogram.counts, [1, 1, 2, 0, 0, 0, 1, 1]);
        let mut page = Page { text: String::new(), labels: "a=\"b\"".to_owned() };
        page.histogram("n", "Help.", &histogram);
        insta::assert_snapshot!(page.text, @r#"
# HELP vllm:n Help.
# TYPE vllm:n histogram
vllm:n_bucket{a="b",le="0.0"} 1.0
vllm:n_bucket{a="b",le="1.0"} 2.0
vllm:n_bucket{a="b",le="2.0"} 4.0
vllm:n_bucket{a="b",le="5.0"} 4.0
vllm:n_bucket{a="b",le="10.0"} 4.0
vllm:n_bucket{a="b",le="20.0"} 4.0
vllm:n_bucket{a="b",le="50.0"} 5.0
vllm:n_bucket{a="b",le="+Inf"} 6.0
vllm:n_count{a="b"} 6.0
vllm:n_sum{a="b"} 105.5
"#);
    }

    #[test]
    fn the_times_of_a_request_add_up() {
        let mut metrics = Metrics::new();
        let mut times = Times { arrived: Nanos(1_000_000_000), ..Times::default() };
        for (place, ms) in [1_500, 1_600, 1_900].into_iter().enumerate() {
            metrics.token(&mut times, place == 0, Nanos(ms * 1_000_000));
        }
        let course = Course { admitted: Nanos(1_200_000_000), cached_tokens: 16, preemptions: 0 };
        metrics.ended(&Ended {
            times,
            course,
            finish: Finish::Stop,
            prompt_tokens: 40,
            generated_tokens: 3,
            max_tokens: None,
        });
        let sums = [
            &metrics.first_token,
            &metrics.gap,
            &metrics.queue,
            &metrics.prefill,
            &metrics.decode,
            &metrics.whole,
        ];
        assert_eq!(
            sums.map(|histogram| (histogram.sum * 1e3).round()),
            [500.0, 400.0, 200.0, 300.0, 400.0, 900.0]
        );
        assert_eq!((metrics.token_time.sum * 1e3).round(), 200.0);
        assert_eq!((metrics.computed_prompt_tokens.sum, metrics.max_tokens.sum), (24.0, 0.0));
    }
}
