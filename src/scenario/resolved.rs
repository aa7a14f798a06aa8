//! A scenario written out with nothing left open.

mod lengths;
mod phase;
mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::tree;
use super::{
    Axis, Capacity, Endpoint, Loaded, Origins, Popularity, PromptSource, Scenario, ServerWatch, Sweep,
    SystemText, TokenPrompts, TokenizerSource, Transport, Workload,
};
use crate::score::{Kind, Rule};
use crate::stats::metrics::{Unit, metric};
use crate::stats::objective::Bound;
use crate::stats::{KvLayout, ModelMemory, Objective};
use crate::units::{Rate, write_bytes, write_duration, write_rate};

/// The scenario as TOML, defaults in, one dotted key a line. Read again it is the same scenario, but for the
/// values of headers, which are left out: each has a comment that says so.
pub fn resolved(scenario: &Scenario) -> String {
    write(scenario, None)
}

/// The scenario as [`resolved`], each value with a comment that says where it came from: `# base.toml:12`,
/// `# --set`, `# default`.
pub fn explained(loaded: &Loaded) -> String {
    write(&loaded.scenario, Some(&loaded.origins))
}

fn write(scenario: &Scenario, origins: Option<&Origins>) -> String {
    let mut out = Lines { text: String::new(), table: String::new(), origins };
    out.put("name", quoted(&scenario.name));
    out.maybe("seed", scenario.seed);
    out.maybe("salt", scenario.salt);
    if !scenario.about.is_empty() {
        out.header("[about]", "about.");
    }
    for (name, value) in &scenario.about {
        out.put(&key(name), quoted(value));
    }
    write_target(&mut out, scenario);
    for workload in &scenario.workloads {
        write_workload(&mut out, workload);
    }
    for phase in &scenario.phases {
        phase::write(&mut out, phase);
    }
    scenario.objectives.iter().for_each(|objective| write_objective(&mut out, objective));
    phase::write_stop(&mut out, &scenario.stop);
    verdict::write(&mut out, &scenario.thresholds);
    out.header("[results]", "results.");
    out.put("chunks", scenario.results.chunks);
    out.put("responses", scenario.results.responses);
    if let Some(server) = &scenario.server {
        write_server(&mut out, server);
    }
    if let Some(model) = &scenario.model {
        write_model(&mut out, model);
    }
    if let Some(sweep) = &scenario.sweep {
        write_sweep(&mut out, sweep);
    }
    if let Some(capacity) = &scenario.capacity {
        write_capacity(&mut out, capacity);
    }
    out.text
}

fn write_target(out: &mut Lines, scenario: &Scenario) {
    let target = &scenario.target;
    out.header("[target]", "target.");
    match &target.endpoint {
        Endpoint::Url(url) => out.put("url", quoted(&url.to_string())),
        Endpoint::Sim { profile, faults } => {
            out.put("sim.profile", quoted(&profile.to_string()));
            out.maybe("sim.faults", (!faults.is_empty()).then(|| quoted(&faults.to_string())));
        }
    }
    out.put("api", quoted(target.api.name()));
    out.maybe("model", target.model.as_deref().map(quoted));
    out.put("length_member", quoted(target.chat_limit.name()));
    out.maybe("api_key_env", target.api_key_env.as_deref().map(quoted));
    for (name, _) in &target.headers {
        out.text += &format!("# headers.{} = … (values of headers are not stored)\n", key(name));
    }
    out.put("timeouts.connect", quoted(&write_duration(target.timeouts.connect)));
    out.put("timeouts.first_token", quoted(&write_duration(target.timeouts.first_token)));
    out.put("timeouts.idle", quoted(&write_duration(target.timeouts.idle)));
    out.maybe("timeouts.total", target.timeouts.total.map(|total| quoted(&write_duration(total))));
    match &target.tokenizer {
        None => {}
        Some(TokenizerSource::Server) => out.put("tokenizer.endpoint", quoted("server")),
        Some(TokenizerSource::File(path)) => out.put("tokenizer.file", quoted(&path.to_string_lossy())),
    }
    out.put("reset_cache", target.reset_cache);
    write_transport(out, &target.transport);
}

fn write_transport(out: &mut Lines<'_>, transport: &Transport) {
    out.put("ready_within", quoted(&write_duration(transport.ready_within)));
    out.put("connections", quoted(transport.connections.name()));
    if let Some(retries) = &transport.retries {
        out.put("retries.attempts", retries.attempts);
        let on = retries.on.iter().map(u16::to_string).collect::<Vec<_>>();
        out.put("retries.on", format!("[{}]", on.join(", ")));
    }
    let tls = &transport.tls;
    let path = |path: &PathBuf| quoted(&path.to_string_lossy());
    out.maybe("tls.ca", tls.ca.as_ref().map(path));
    out.maybe("tls.cert", tls.identity.as_ref().map(|(cert, _)| path(cert)));
    out.maybe("tls.key", tls.identity.as_ref().map(|(_, key)| path(key)));
    out.maybe("tls.server_name", tls.server_name.as_deref().map(quoted));
    out.put("tls.insecure", tls.insecure);
    out.put("http", quoted(transport.http.name()));
    out.put("stamps", quoted(transport.stamps.name()));
}

fn write_server(out: &mut Lines, server: &ServerWatch) {
    let list = |texts: Vec<String>| format!("[{}]", texts.join(", "));
    out.header("[server]", "server.");
    out.put("metrics", list(server.metrics.iter().map(|page| quoted(&page.text())).collect()));
    out.put("every", quoted(&write_duration(server.every)));
    out.maybe("block_size", server.block_size);
    if !server.extra.is_empty() {
        out.put("extra", list(server.extra.iter().map(|name| quoted(name)).collect()));
    }
}

/// The values alone, not the file that some are from: it may be gone when this is read.
fn write_model(out: &mut Lines, model: &ModelMemory) {
    out.header("[model]", "model.");
    let default = if out.is_given("path") { "file of `path`" } else { "default" };
    out.put_or("layers", model.layers, default);
    match model.layout {
        KvLayout::Heads { kv_heads, head_size } => {
            out.put_or("kv_heads", kv_heads, default);
            out.put_or("head_size", head_size, default);
        }
        KvLayout::Latent { size } => out.put_or("kv_latent", size, default),
    }
    out.put_or("kv_type", quoted(model.kv_type.name()), default);
    if let Some(weights) = model.weights {
        out.put_or("weights", quoted(&write_bytes(weights)), default);
    }
    out.maybe("memory", model.memory.map(|bytes| quoted(&write_bytes(bytes))));
    out.put("utilisation", number(model.utilisation));
    out.put("tensor_parallel", model.tensor_parallel);
}

fn write_workload(out: &mut Lines, workload: &Workload) {
    out.header("[[workload]]", &format!("workload.{}.", workload.name));
    out.put("name", quoted(&workload.name));
    out.put("weight", number(workload.weight));
    match &workload.prompt {
        PromptSource::Synthetic { words, text: None } => out.put("prompt.synthetic.words", words),
        PromptSource::Synthetic { words, text: Some(file) } => {
            out.put("prompt.text.path", quoted(&file.path.to_string_lossy()));
            out.put("prompt.text.words", words);
        }
        PromptSource::Needle(form) => {
            let list = |values: Vec<String>| format!("[{}]", values.join(", "));
            out.put("prompt.needle.depths", list(form.depths.iter().map(|depth| number(*depth)).collect()));
            out.put("prompt.needle.lengths", list(form.lengths.iter().map(u64::to_string).collect()));
            out.put("prompt.needle.repeats", form.repeats);
            out.put("prompt.needle.needles", form.needles);
            out.put("prompt.needle.distractors", form.distractors);
        }
        PromptSource::Tokens(prompts) => write_tokens(out, prompts),
        PromptSource::Dataset(set) => {
            out.put("prompt.dataset.path", quoted(&set.path.to_string_lossy()));
            out.maybe("prompt.dataset.format", set.format.map(|format| quoted(format.name())));
            out.put("prompt.dataset.shuffle", set.shuffle);
            out.put("prompt.dataset.when_exhausted", quoted(set.when_exhausted.name()));
            if let Some(bounds) = &set.bounds {
                let (min, max) = (Some(bounds.min), Some(bounds.max));
                out.maybe("prompt.dataset.min_prompt_tokens", min.filter(|min| *min > 0));
                out.maybe("prompt.dataset.max_prompt_tokens", max.filter(|max| *max < u64::MAX));
            }
            for (column, name) in set.columns.all() {
                out.put(&format!("prompt.dataset.columns.{column}"), quoted(name));
            }
            if let Some((_, unit)) = &set.columns.time {
                out.put("prompt.dataset.columns.time_unit", quoted(unit.name()));
            }
            out.maybe(
                "prompt.dataset.template",
                set.template.as_ref().map(|template| quoted(template.text())),
            );
            if let Some(few_shot) = &set.few_shot {
                out.put("prompt.dataset.few_shot.path", quoted(&few_shot.path.to_string_lossy()));
                out.put("prompt.dataset.few_shot.count", few_shot.count);
            }
        }
    }
    match &workload.system {
        None => {}
        Some(SystemText::Text(text)) => out.put("system.text", quoted(text)),
        Some(SystemText::File { path, .. }) => out.put("system.path", quoted(&path.to_string_lossy())),
        Some(SystemText::Tokens(tokens)) => out.put("system.tokens", tokens),
    }
    out.put("cache", quoted(workload.cache.name()));
    let is_joint =
        matches!(&workload.prompt, PromptSource::Tokens(prompts) if prompts.joint_output.is_some());
    match workload.uses_output_tokens() {
        true => out.put("output.max_tokens", quoted("dataset")),
        false if is_joint => {}
        false => lengths::write(out, "output.max_tokens", &workload.max_tokens),
    }
    out.put("output.exact", workload.exact_output);
    if let Some(rule) = &workload.score {
        write_score(out, rule);
    }
    if workload.score.is_some() || workload.consistency {
        out.put("consistency", workload.consistency);
    }
    if let Some(session) = &workload.session {
        phase::write_session(out, session);
    }
    for (metric, limit) in &workload.slo.limits {
        out.put(&format!("slo.{}", metric.name()), quoted(&write_duration(*limit)));
    }
    out.put("request.stream", workload.request.stream);
    out.put("request.temperature", number(workload.request.temperature));
    for (name, value) in &workload.request.extra {
        out.put(&format!("request.extra.{}", key(name)), toml_value(value));
    }
}

fn write_capacity(out: &mut Lines<'_>, capacity: &Capacity) {
    out.header("[capacity]", "capacity.");
    out.put("key", quoted(&capacity.key));
    let [from, to] = &capacity.bounds;
    out.put("from", from);
    out.put("to", to);
    out.put("precision", number(capacity.precision));
    out.put("confidence", number(capacity.confidence));
    out.put("max_step", quoted(&write_duration(capacity.max_step)));
    out.put("max_time", quoted(&write_duration(capacity.max_time)));
    if let Some(confirm) = capacity.confirm {
        out.put("confirm", quoted(&write_duration(confirm)));
    }
}

fn write_sweep(out: &mut Lines<'_>, sweep: &Sweep) {
    out.header("[sweep]", "sweep.");
    out.put("repeats", sweep.repeats);
    out.put("order", quoted(sweep.order.name()));
    out.put("pause", quoted(&write_duration(sweep.pause)));
    let values = |axis: &Axis, step: usize| match &axis.steps[step].values[..] {
        [value] => value.clone(),
        values => format!("[{}]", values.join(", ")),
    };
    if !sweep.skip.is_empty() {
        let entries = sweep.skip.iter().map(|skip| {
            let steps = skip.iter().map(|(axis, step)| {
                let axis = &sweep.axes[*axis];
                format!("{} = {}", axis.name, values(axis, *step))
            });
            format!("{{ {} }}", steps.collect::<Vec<_>>().join(", "))
        });
        out.put("skip", format!("[{}]", entries.collect::<Vec<_>>().join(", ")));
    }
    for axis in &sweep.axes {
        out.header("[[sweep.axis]]", &format!("sweep.axis.{}.", axis.name));
        out.put("name", quoted(&axis.name));
        match &axis.keys[..] {
            [key] => out.put("key", quoted(key)),
            keys => {
                let keys = keys.iter().map(|key| quoted(key)).collect::<Vec<_>>();
                out.put("keys", format!("[{}]", keys.join(", ")));
            }
        }
        let steps = (0..axis.steps.len()).map(|step| values(axis, step));
        out.put("values", format!("[{}]", steps.collect::<Vec<_>>().join(", ")));
    }
}

fn write_score(out: &mut Lines, rule: &Rule) {
    match rule.kind() {
        Kind::Exact | Kind::Contains => return out.put("score", quoted(rule.kind().name())),
        Kind::Regex { pattern } => return out.put("score.regex.pattern", quoted(pattern)),
        Kind::Choice { last } => out.put("score.choice.last", quoted(&last.to_string())),
        Kind::Gsm8k | Kind::Math => {
            out.put(&format!("score.{}.tolerance", rule.kind().name()), number(rule.share_tolerated()));
        }
    }
    out.put(&format!("score.{}.marked_only", rule.kind().name()), rule.is_marked_only());
}

fn write_tokens(out: &mut Lines<'_>, prompts: &TokenPrompts) {
    if let Some(file) = prompts.text() {
        out.put("prompt.text.path", quoted(&file.path.to_string_lossy()));
        lengths::write(out, "prompt.text.tokens", &prompts.tokens);
        return;
    }
    match &prompts.joint_output {
        Some(outputs) => lengths::write_joint(out, "prompt.synthetic.joint", &prompts.tokens, outputs),
        None => lengths::write(out, "prompt.synthetic.tokens", &prompts.tokens),
    }
    if let Some(ids) = &prompts.ids() {
        out.put("prompt.synthetic.ids.min", ids.min);
        out.put("prompt.synthetic.ids.max", ids.max);
    }
    let Some(prefix) = &prompts.shared_prefix else { return };
    let key = |name: &str| format!("prompt.synthetic.shared_prefix.{name}");
    out.put(&key("tokens"), prefix.tokens);
    out.put(&key("groups"), prefix.groups);
    match prefix.popularity {
        Popularity::Uniform => out.put(&key("popularity.order"), quoted("uniform")),
        Popularity::RoundRobin => out.put(&key("popularity.order"), quoted("round_robin")),
        Popularity::Zipf(exponent) => out.put(&key("popularity.zipf"), number(exponent)),
    }
    out.put(&key("fill"), prefix.fill);
}

fn write_objective(out: &mut Lines, objective: &Objective) {
    out.header("[[objective]]", "objective.");
    out.put("metric", quoted(objective.tag()));
    out.maybe("percentile", objective.statistic().strip_prefix('p'));
    let (name, value) = match objective.bound() {
        Bound::AtMost(value) => ("at_most", value),
        Bound::AtLeast(value) => ("at_least", value),
    };
    let unit = metric(objective.tag()).map(|metric| metric.unit);
    out.put(
        name,
        match unit {
            Some(Unit::Ms) => quoted(&write_duration(Duration::from_nanos((value * 1e6).round() as u64))),
            Some(Unit::TokensPerSecond | Unit::RequestsPerSecond) => {
                quoted(&Rate::per_second(value).map_or("0/s".to_owned(), write_rate))
            }
            _ => number(value),
        },
    );
    out.maybe("phase", objective.phase().map(quoted));
    out.maybe("workload", objective.workload().map(quoted));
    out.put("over", quoted(objective.over().name()));
    out.put("points", quoted(objective.points().name()));
}

/// Text under construction.
struct Lines<'a> {
    text: String,
    /// What paths of keys begin with in this table: `target.`
    table: String,
    origins: Option<&'a Origins>,
}

impl Lines<'_> {
    fn header(&mut self, header: &str, table: &str) {
        self.text += &format!("\n{header}\n");
        self.table = table.to_owned();
    }

    fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        self.put_or(key, value, "default");
    }

    /// Whether the table says something of `key` itself.
    fn is_given(&self, key: &str) -> bool {
        let path = format!("{}{key}", self.table);
        self.origins.is_some_and(|origins| origins.describe(&path).is_some())
    }

    /// As [`Lines::put`]; a value that was not given is from `otherwise`.
    fn put_or(&mut self, key: &str, value: impl std::fmt::Display, otherwise: &str) {
        self.text += &format!("{key} = {value}");
        if let Some(origins) = self.origins {
            let origin = origins.describe(&format!("{}{key}", self.table));
            // A name of a file may hold anything.
            let origin = origin.unwrap_or(otherwise.to_owned()).replace(char::is_control, "?");
            self.text += &format!("  # {origin}");
        }
        self.text += "\n";
    }

    fn maybe(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}

/// A text in quotes. JSON's escapes are TOML's, and only delete must be escaped in one and not in the other.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A key, in quotes where it needs them.
pub(super) fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A number as short as it can be read back exactly.
pub(super) fn number(number: f64) -> String {
    if number.fract() == 0.0 && number < 1e15 { format!("{number:.0}") } else { format!("{number:?}") }
}

fn toml_value(value: &Value) -> String {
    match value {
        // A body has no nulls, since TOML has none.
        Value::Null => quoted(""),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => format!("{number:?}"),
            None => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{} = {}", key(name), toml_value(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A value as it may be written.
pub(super) fn toml_of(value: &tree::Value) -> String {
    match value {
        tree::Value::Text(text) => quoted(text),
        tree::Value::Integer(number) => number.to_string(),
        tree::Value::Float(number) => format!("{number:?}"),
        tree::Value::Boolean(value) => value.to_string(),
        tree::Value::Date(date) => date.clone(),
        tree::Value::List(list) => {
            let members = list.iter().map(|node| toml_of(&node.value)).collect::<Vec<_>>();
            format!("[{}]", members.join(", "))
        }
        tree::Value::Table(table) => {
            let members = table.entries.iter();
            let members =
                members.map(|entry| format!("{} = {}", key(&entry.name), toml_of(&entry.node.value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
