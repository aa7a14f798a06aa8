//! From a page of metrics to figures of common names.
//!
//! The names are those of vLLM (0.6 to 0.32), SGLang and llama.cpp. A figure is taken from the first of its names
//! that a page has: a server in transition shows old and new ones. Names are compared whole, so that
//! `…_created`, `…_bucket` and a histogram that is named like a counter (`vllm:iteration_tokens_total`) are never
//! taken for a value.

use std::collections::BTreeMap;

use crate::record::ServerFigure;
use crate::wire::exposition::{Kind, Sample, samples};

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// `vllm`, `sglang` or `llamacpp`; `None` where no name is known.
    pub server: Option<&'static str>,
    /// The series of each figure: labels and value.
    pub series: BTreeMap<ServerFigure, Vec<(String, f64)>>,
    /// Samples of the names asked for: name, labels, value.
    pub extra: Vec<(String, String, f64)>,
    /// Lines that could not be read.
    pub faults: u64,
}

/// Names of one figure, most wanted first; those that stand together are added up. Counters stand without
/// `_total`.
const NAMES: [(ServerFigure, &[&[&str]]); 15] = [
    (
        ServerFigure::Running,
        &[&["vllm:num_requests_running"], &["sglang:num_running_reqs"], &["llamacpp:requests_processing"]],
    ),
    (
        ServerFigure::Waiting,
        &[&["vllm:num_requests_waiting"], &["sglang:num_queue_reqs"], &["llamacpp:requests_deferred"]],
    ),
    (
        ServerFigure::KvUse,
        &[
            &["vllm:kv_cache_usage_perc"],
            &["vllm:gpu_cache_usage_perc"],
            &["sglang:token_usage"],
            &["llamacpp:kv_cache_usage_ratio"],
        ],
    ),
    (ServerFigure::KvUsedTokens, &[&["sglang:num_used_tokens"], &["llamacpp:kv_cache_tokens"]]),
    (
        ServerFigure::PrefixQueries,
        &[
            &["vllm:prefix_cache_queries"],
            &["vllm:gpu_prefix_cache_queries"],
            &["sglang:prompt_tokens"],
            &["llamacpp:prompt_tokens", "llamacpp:prompt_tokens_cached"],
        ],
    ),
    (
        ServerFigure::PrefixHits,
        &[
            &["vllm:prefix_cache_hits"],
            &["vllm:gpu_prefix_cache_hits"],
            &["sglang:cached_tokens"],
            &["llamacpp:prompt_tokens_cached"],
        ],
    ),
    (ServerFigure::Preemptions, &[&["vllm:num_preemptions"], &["sglang:num_retracted_requests"]]),
    (
        ServerFigure::PromptTokens,
        &[
            &["vllm:prompt_tokens"],
            &["sglang:prompt_tokens"],
            &["llamacpp:prompt_tokens", "llamacpp:prompt_tokens_cached"],
        ],
    ),
    (
        ServerFigure::GenerationTokens,
        &[&["vllm:generation_tokens"], &["sglang:generation_tokens"], &["llamacpp:tokens_predicted"]],
    ),
    (
        ServerFigure::QueueSeconds,
        &[
            &["vllm:request_queue_time_seconds_sum"],
            &["vllm:time_in_queue_requests_sum"],
            &["sglang:queue_time_seconds_sum"],
        ],
    ),
    (
        ServerFigure::QueueCount,
        &[
            &["vllm:request_queue_time_seconds_count"],
            &["vllm:time_in_queue_requests_count"],
            &["sglang:queue_time_seconds_count"],
        ],
    ),
    (
        ServerFigure::PrefillSeconds,
        &[&["vllm:request_prefill_time_seconds_sum"], &["llamacpp:prompt_seconds"]],
    ),
    (ServerFigure::PrefillCount, &[&["vllm:request_prefill_time_seconds_count"]]),
    (
        ServerFigure::DecodeSeconds,
        &[&["vllm:request_decode_time_seconds_sum"], &["llamacpp:tokens_predicted_seconds"]],
    ),
    (ServerFigure::DecodeCount, &[&["vllm:request_decode_time_seconds_count"]]),
];

/// Reads a page; `extra` are further names wanted.
pub fn read(page: &str, extra: &[String]) -> Reading {
    let mut reading = Reading::default();
    let mut ranks: BTreeMap<ServerFigure, usize> = BTreeMap::new();
    for sample in samples(page) {
        let Ok(sample) = sample else {
            reading.faults += 1;
            continue;
        };
        if !sample.value.is_finite() || sample.is_creation_time() || is_further_rank(&sample) {
            continue;
        }
        if extra.iter().any(|wanted| is_of(sample.name, wanted)) {
            reading.extra.push((sample.name.to_owned(), labels(&sample), sample.value));
        }
        reading.take_capacity(&sample);
        let name = match sample.kind {
            // Its parts are known by `_sum` and `_count`, never by its own name.
            Kind::Histogram | Kind::Summary => sample.name,
            _ => sample.name.strip_suffix("_total").unwrap_or(sample.name),
        };
        for (figure, candidates) in NAMES {
            let Some(rank) = candidates.iter().position(|names| names.contains(&name)) else { continue };
            reading.server.get_or_insert(family(name));
            let best = ranks.entry(figure).or_insert(rank);
            if rank > *best {
                continue;
            }
            let series = reading.series.entry(figure).or_default();
            if rank < *best {
                *best = rank;
                series.clear();
            }
            series.push((format!("{name}{}", labels(&sample)), sample.value));
        }
    }
    reading
}

impl Reading {
    /// What is stated of the memory for keys and values: in labels by vLLM, in samples by SGLang.
    fn take_capacity(&mut self, sample: &Sample<'_>) {
        let mut put = |figure, value: f64| {
            self.series.entry(figure).or_default().push((labels(sample), value));
        };
        match sample.name {
            "vllm:cache_config_info" => {
                let number = |label| sample.label(label).and_then(|value| value.parse::<u32>().ok());
                let (block, blocks) = (number("block_size"), number("num_gpu_blocks"));
                if let Some(block) = block.filter(|block| *block > 0) {
                    put(ServerFigure::BlockTokens, f64::from(block));
                    if let Some(blocks) = blocks.filter(|blocks| *blocks > 0) {
                        put(ServerFigure::KvCapacityTokens, f64::from(blocks) * f64::from(block));
                    }
                }
            }
            "sglang:max_total_num_tokens" => put(ServerFigure::KvCapacityTokens, sample.value),
            "sglang:page_size" => put(ServerFigure::BlockTokens, sample.value),
            _ => {}
        }
    }
}

/// Whether the sample is told again by a further process of the same engine.
fn is_further_rank(sample: &Sample<'_>) -> bool {
    ["tp_rank", "pp_rank"].iter().any(|label| sample.label(label).is_some_and(|rank| rank != "0"))
}

/// Whether a sample belongs to the metric `wanted`; buckets, of which there are many, do not.
fn is_of(name: &str, wanted: &str) -> bool {
    matches!(name.strip_prefix(wanted), Some("" | "_total" | "_sum" | "_count"))
}

fn family(name: &str) -> &'static str {
    match name.split(':').next() {
        Some("vllm") => "vllm",
        Some("sglang") => "sglang",
        _ => "llamacpp",
    }
}

fn labels(sample: &Sample<'_>) -> String {
    if sample.labels.is_empty() {
        return String::new();
    }
    let labels = sample.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>();
    format!("{{{}}}", labels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(page: &str, figure: ServerFigure) -> Option<f64> {
        let reading = read(page, &[]);
        reading.series.get(&figure).map(|series| series.iter().map(|(_, value)| value).sum())
    }

    const NEW_VLLM: &str = "\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0
vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine=\"0\"} 0.5
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{engine=\"0\"} 100.0
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{engine=\"0\"} 1.76e9
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{le=\"1.0\"} 5.0
vllm:iteration_tokens_total_count 7.0
vllm:iteration_tokens_total_sum 70.0
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{le=\"0.3\"} 2.0
vllm:request_queue_time_seconds_count 2.0
vllm:request_queue_time_seconds_sum 0.25
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size=\"128\",num_gpu_blocks=\"500\"} 1.0
";

    #[test]
    fn new_names_of_vllm_are_known_and_engines_of_a_page_are_told_apart() {
        use ServerFigure::{
            BlockTokens, KvCapacityTokens, KvUse, PrefixQueries, QueueCount, QueueSeconds, Running,
        };
        let expected = [
            (Running, 7.0),
            (KvUse, 0.5),
            (PrefixQueries, 100.0),
            (QueueSeconds, 0.25),
            (QueueCount, 2.0),
            (KvCapacityTokens, 64_000.0),
            (BlockTokens, 128.0),
        ];
        for (figure, expected) in expected {
            assert_eq!(value(NEW_VLLM, figure), Some(expected), "{}", figure.name());
        }
        let reading = read(NEW_VLLM, &[]);
        assert_eq!((reading.server, reading.series.len(), reading.faults), (Some("vllm"), expected.len(), 0));
        assert_eq!(reading.series[&Running].len(), 2);
    }

    #[test]
    fn old_names_of_vllm_are_known_and_new_ones_beside_them_are_preferred() {
        let old = "vllm:gpu_cache_usage_perc 0.25\nvllm:gpu_prefix_cache_hits_total 9\nvllm:num_preemptions_total 2\n\
                   vllm:time_in_queue_requests_sum 1.5\n";
        assert_eq!(value(old, ServerFigure::KvUse), Some(0.25));
        assert_eq!(value(old, ServerFigure::PrefixHits), Some(9.0));
        assert_eq!(value(old, ServerFigure::Preemptions), Some(2.0));
        assert_eq!(value(old, ServerFigure::QueueSeconds), Some(1.5));
        for both in
            [format!("{old}vllm:kv_cache_usage_perc 0.75\n"), format!("vllm:kv_cache_usage_perc 0.75\n{old}")]
        {
            assert_eq!(value(&both, ServerFigure::KvUse), Some(0.75));
        }
        // Not known yet when the first pages are served.
        let early = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1.0\n";
        assert_eq!(value(early, ServerFigure::KvCapacityTokens), None);
        assert_eq!(value(early, ServerFigure::BlockTokens), Some(16.0));
    }

    #[test]
    fn names_of_sglang_are_known_and_ranks_of_one_engine_count_once() {
        let page = "sglang:num_running_reqs{tp_rank=\"0\"} 5\nsglang:num_running_reqs{tp_rank=\"1\"} 5\n\
                    sglang:num_queue_reqs{tp_rank=\"0\"} 1\nsglang:token_usage 0.3\nsglang:num_used_tokens 300\n\
                    sglang:max_total_num_tokens 1000\nsglang:cached_tokens_total 40\nsglang:prompt_tokens_total 90\n\
                    sglang:cache_hit_rate NaN\n";
        let expected = [
            (ServerFigure::Running, 5.0),
            (ServerFigure::Waiting, 1.0),
            (ServerFigure::KvUse, 0.3),
            (ServerFigure::KvUsedTokens, 300.0),
            (ServerFigure::KvCapacityTokens, 1000.0),
            (ServerFigure::PrefixHits, 40.0),
            (ServerFigure::PrefixQueries, 90.0),
            (ServerFigure::PromptTokens, 90.0),
        ];
        for (figure, expected) in expected {
            assert_eq!(value(page, figure), Some(expected), "{}", figure.name());
        }
        assert_eq!(read(page, &[]).server, Some("sglang"));
    }

    #[test]
    fn names_of_llama_cpp_are_known_and_its_prompts_are_whole() {
        let page = "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 70\n\
                    # TYPE llamacpp:prompt_tokens_cached_total counter\nllamacpp:prompt_tokens_cached_total 30\n\
                    # TYPE llamacpp:requests_deferred gauge\nllamacpp:requests_deferred 2\n\
                    # TYPE llamacpp:prompt_seconds_total counter\nllamacpp:prompt_seconds_total 0.5\n";
        let expected = [
            (ServerFigure::PromptTokens, 100.0),
            (ServerFigure::PrefixQueries, 100.0),
            (ServerFigure::PrefixHits, 30.0),
            (ServerFigure::Waiting, 2.0),
            (ServerFigure::PrefillSeconds, 0.5),
        ];
        for (figure, expected) in expected {
            assert_eq!(value(page, figure), Some(expected), "{}", figure.name());
        }
        assert_eq!(read(page, &[]).server, Some("llamacpp"));
    }

    #[test]
    fn further_metrics_come_by_name_without_buckets_and_birthdays() {
        let extra = ["vllm:iteration_tokens_total".to_owned(), "vllm:prefix_cache_queries".to_owned()];
        let found = read(NEW_VLLM, &extra).extra;
        let names = found.iter().map(|(name, labels, value)| (&**name, &**labels, *value));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                ("vllm:prefix_cache_queries_total", "{engine=\"0\"}", 100.0),
                ("vllm:iteration_tokens_total_count", "", 7.0),
                ("vllm:iteration_tokens_total_sum", "", 70.0),
            ]
        );
    }

    #[test]
    fn a_page_of_others_has_no_figures_and_a_broken_line_hides_no_other() {
        assert_eq!(
            read("<html>\nup 1\nprocess_cpu_seconds_total 3\n", &[]),
            Reading { faults: 1, ..Reading::default() }
        );
        let cut = format!("{NEW_VLLM}vllm:num_requests_waiting{{engine=");
        assert_eq!((read(&cut, &[]).faults, read(&cut, &[]).series.len()), (1, 7));
    }

    proptest::proptest! {
        #[test]
        fn any_page_is_read(page in "(vllm:[a-z_]{0,12}|sglang:page_size|[{}=\", \n#.0-9a-zé]){0,80}") {
            let _ = read(&page, &["vllm:a".to_owned()]);
        }
    }
}
