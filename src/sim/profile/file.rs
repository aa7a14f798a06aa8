//! Profile files: TOML, read key by key, so that every problem is told at once with its line.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Impossible, Parameters, Profile, Skill};
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::sim::cost_model::{CostModel, FixedCost, Machine, Model, Roofline};

/// The tables of a file.
const TABLES: [&str; 5] = ["model", "machine", "fixed", "engine", "answers"];

/// Longest file.
const MOST_BYTES: usize = 1 << 16;

/// Reads a profile file.
pub(super) fn parse(name: &str, text: &str) -> Result<Profile, Diagnostics> {
    let file = format!("{name}.toml");
    if text.len() > MOST_BYTES {
        let problem = Diagnostic::error("the profile is larger than 64 KiB").at(Location::file(file));
        return Err(problem.help("is it the right file?").into());
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { file, text, problems: Diagnostics::default() };
    for error in &errors {
        let problem = format!("not valid TOML: {}", error.message());
        let help = "a line is `key = value` or `[table]`";
        reader.report(error.span().unwrap_or_default(), problem, help);
    }
    if errors.is_empty() {
        let parameters = reader.parameters(root.get_ref());
        if reader.problems.is_empty() {
            match Profile::new(name, parameters) {
                Ok(profile) => return Ok(profile),
                Err(impossible) => reader.refuse(impossible),
            }
        }
    }
    reader.problems.sort();
    Err(reader.problems)
}

struct Reader<'a> {
    file: String,
    text: &'a str,
    problems: Diagnostics,
}

/// One table of the file, or its absence.
struct Section<'a> {
    name: &'static str,
    table: Option<(&'a DeTable<'a>, Range<usize>)>,
    known: Vec<&'static str>,
}

/// What a key holds.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Whole,
    Switch,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Whole => "a whole number from 0 on",
            Kind::Switch => "true or false",
        }
    }
}

impl Reader<'_> {
    fn parameters(&mut self, root: &DeTable<'_>) -> Parameters {
        for (key, _) in root {
            if !TABLES.contains(&&**key.get_ref()) {
                let problem = format!("no table `{}` in a profile", key.get_ref());
                self.report(key.span(), problem, &format!("tables are {}", TABLES.join(", ")));
            }
        }
        let mut fixed = self.open(root, "fixed");
        let mut model = self.open(root, "model");
        let mut machine = self.open(root, "machine");
        let mut engine = self.open(root, "engine");
        let mut answers = self.open(root, "answers");

        let is_fixed = fixed.table.is_some();
        for section in [&model, &machine] {
            match &section.table {
                Some((_, span)) if is_fixed => {
                    let problem = format!("`[{}]` beside `[fixed]`", section.name);
                    self.report(
                        span.clone(),
                        problem,
                        "times are stated or follow from model and machine: keep one",
                    );
                }
                None if !is_fixed => {
                    let help = "a profile has `[model]` and `[machine]`, or `[fixed]`";
                    self.report(0..0, format!("`[{}]` is missing", section.name), help);
                }
                _ => {}
            }
        }
        let base = Parameters::default();
        let micros = |value: f64| Duration::try_from_secs_f64(value / 1e6).unwrap_or(Duration::MAX);
        let step_overhead = micros(self.number(&mut engine, "step_overhead_us", Some(0.0)));
        let sequence_cost = micros(self.number(&mut engine, "sequence_cost_us", Some(0.0)));
        let utilisation = self.number(&mut engine, "utilisation", Some(base.utilisation));
        let block_tokens = self.whole(&mut engine, "block_tokens", Some(base.block_tokens));
        let (cost, kv_blocks) = if is_fixed {
            let rate = self.given(&fixed, "prefill_tokens_per_s");
            let rate = rate.then(|| self.number(&mut fixed, "prefill_tokens_per_s", None));
            fixed.known.push("prefill_tokens_per_s");
            (
                CostModel::Fixed(FixedCost { step_overhead, sequence_cost, prefill_tokens_per_s: rate }),
                base.kv_blocks,
            )
        } else {
            let model = self.model(&mut model);
            let machine = self.machine(&mut machine);
            let roofline = Roofline { model, machine, step_overhead, sequence_cost };
            (CostModel::Roofline(roofline), roofline.kv_blocks(utilisation, block_tokens.max(1)))
        };
        let parameters = Parameters {
            cost,
            max_batched_tokens: self.whole(&mut engine, "max_batched_tokens", Some(base.max_batched_tokens)),
            max_num_seqs: self.whole(&mut engine, "max_num_seqs", Some(base.max_num_seqs as u64)) as usize,
            max_model_len: self.whole(&mut engine, "max_model_len", Some(base.max_model_len)),
            chunked_prefill: self.switch(&mut engine, "chunked_prefill", base.chunked_prefill),
            prefix_caching: self.switch(&mut engine, "prefix_caching", base.prefix_caching),
            block_tokens,
            kv_blocks: self.whole(&mut engine, "kv_blocks", Some(kv_blocks)),
            utilisation,
            mean_answer_tokens: self.whole(&mut answers, "mean_tokens", Some(base.mean_answer_tokens)),
            skill: Skill {
                right_share: self.number(&mut answers, "right_share", Some(base.skill.right_share)),
                right_length_loss: self.number(&mut answers, "right_length_loss", Some(0.0)),
                needle_share: self.number(&mut answers, "needle_share", Some(base.skill.needle_share)),
                needle_length_loss: self.number(&mut answers, "needle_length_loss", Some(0.0)),
                needle_depth_loss: self.number(&mut answers, "needle_depth_loss", Some(0.0)),
            },
        };
        // What stands in a table that does not belong here at all was told above.
        let read = if is_fixed { vec![&fixed] } else { vec![&model, &machine] };
        for section in read.into_iter().chain([&engine, &answers]) {
            self.close(section);
        }
        parameters
    }

    fn model(&mut self, section: &mut Section<'_>) -> Model {
        Model {
            parameters: self.number(section, "parameters", None),
            bytes_per_parameter: self.number(section, "bytes_per_parameter", Some(2.0)),
            layers: self.whole(section, "layers", None),
            hidden_size: self.whole(section, "hidden_size", None),
            attention_heads: self.whole(section, "attention_heads", None),
            kv_heads: self.whole(section, "kv_heads", None),
            head_size: self.whole(section, "head_size", None),
            kv_bytes: self.number(section, "kv_bytes", Some(2.0)),
        }
    }

    fn machine(&mut self, section: &mut Section<'_>) -> Machine {
        let devices = self.whole(section, "devices", Some(1));
        // Nothing is exchanged where there is one device.
        let link = (devices <= 1).then_some(1.0);
        Machine {
            devices,
            memory_bytes: self.number(section, "memory_gib", None) * (1u64 << 30) as f64,
            bandwidth: self.number(section, "bandwidth_gb_per_s", None) * 1e9,
            bandwidth_share: self.number(section, "bandwidth_share", Some(1.0)),
            flops: self.number(section, "tflops", None) * 1e12,
            flops_share: self.number(section, "flops_share", Some(1.0)),
            link: self.number(section, "link_gb_per_s", link) * 1e9,
            link_latency: Duration::try_from_secs_f64(
                self.number(section, "link_latency_us", Some(0.0)) / 1e6,
            )
            .unwrap_or(Duration::MAX),
        }
    }

    fn open<'a>(&mut self, root: &'a DeTable<'a>, name: &'static str) -> Section<'a> {
        let table = match root.get_key_value(name) {
            Some((key, value)) => match value.get_ref() {
                DeValue::Table(table) => Some((table, key.span())),
                _ => {
                    let help = format!("write `[{name}]` on a line of its own");
                    self.report(key.span(), format!("`{name}` is a table"), &help);
                    None
                }
            },
            None => None,
        };
        Section { name, table, known: Vec::new() }
    }

    /// Reports the keys that nobody has asked for.
    fn close(&mut self, section: &Section<'_>) {
        let Some((table, _)) = &section.table else { return };
        for (key, _) in *table {
            if !section.known.contains(&&**key.get_ref()) {
                let problem = format!("no key `{}` in `[{}]`", key.get_ref(), section.name);
                self.report(key.span(), problem, &format!("its keys are {}", section.known.join(", ")));
            }
        }
    }

    fn given(&self, section: &Section<'_>, key: &str) -> bool {
        section.table.as_ref().is_some_and(|(table, _)| table.contains_key(key))
    }

    /// The value of `key`, where there is one; else reports it if it must be there.
    fn find<'a>(
        &mut self,
        section: &mut Section<'a>,
        key: &'static str,
        required: bool,
    ) -> Option<&'a Spanned<DeValue<'a>>> {
        section.known.push(key);
        let (table, span) = section.table.as_ref()?;
        let value = table.get(key);
        if value.is_none() && required {
            self.report(span.clone(), format!("`{}.{key}` is missing", section.name), "");
        }
        value
    }

    /// A number not below 0.
    fn number(&mut self, section: &mut Section<'_>, key: &'static str, default: Option<f64>) -> f64 {
        let fallback = default.unwrap_or(1.0);
        let Some(value) = self.find(section, key, default.is_none()) else { return fallback };
        let number = match value.get_ref() {
            DeValue::Float(float) => float.as_str().replace('_', "").parse::<f64>().ok(),
            DeValue::Integer(_) => integer(value.get_ref()).map(|number| number as f64),
            _ => None,
        };
        match number {
            Some(number) if number >= 0.0 && number.is_finite() => number,
            Some(_) => {
                let problem = format!("`{}.{key}` must be a finite number, not below 0", section.name);
                self.report(value.span(), problem, "");
                fallback
            }
            None => {
                self.wrong_kind(section.name, key, value, Kind::Number);
                fallback
            }
        }
    }

    fn whole(&mut self, section: &mut Section<'_>, key: &'static str, default: Option<u64>) -> u64 {
        let fallback = default.unwrap_or(1);
        let Some(value) = self.find(section, key, default.is_none()) else { return fallback };
        match integer(value.get_ref()).and_then(|number| u64::try_from(number).ok()) {
            Some(number) => number,
            None => {
                self.wrong_kind(section.name, key, value, Kind::Whole);
                fallback
            }
        }
    }

    fn switch(&mut self, section: &mut Section<'_>, key: &'static str, default: bool) -> bool {
        match self.find(section, key, false) {
            None => default,
            Some(value) => match value.get_ref() {
                DeValue::Boolean(on) => *on,
                _ => {
                    self.wrong_kind(section.name, key, value, Kind::Switch);
                    default
                }
            },
        }
    }

    fn wrong_kind(&mut self, section: &str, key: &str, value: &Spanned<DeValue<'_>>, kind: Kind) {
        let found = match value.get_ref() {
            DeValue::String(_) => "text",
            DeValue::Integer(_) | DeValue::Float(_) => "this number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let problem = format!("`{section}.{key}` takes {}, not {found}", kind.name());
        self.report(value.span(), problem, "");
    }

    /// What is wrong with the whole, at the key it names where the file has that.
    fn refuse(&mut self, impossible: Impossible) {
        let message = impossible.to_string();
        let named = message.split('`').nth(1).unwrap_or_default().to_owned();
        let begin = self.text.lines().position(|line| {
            line.trim_start().strip_prefix(&*named).is_some_and(|rest| rest.trim_start().starts_with('='))
        });
        let start = begin.map_or(0, |line| self.text.split_inclusive('\n').take(line).map(str::len).sum());
        let end = if begin.is_some() { start + named.len() } else { 0 };
        self.report(start..end, message, "");
    }

    /// Reports a problem at `span`, or of the file as a whole if that is 0..0.
    fn report(&mut self, span: Range<usize>, problem: impl Into<String>, help: &str) {
        let location = match span {
            Range { start: 0, end: 0 } => Location::file(&*self.file),
            span => Location::span(&*self.file, self.text, &span),
        };
        let problem = Diagnostic::error(problem).at(location);
        self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
    }
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let DeValue::Integer(number) = value else { return None };
    i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}
