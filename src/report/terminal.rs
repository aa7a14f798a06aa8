//! The summary that a person reads in ten seconds.
//!
//! A pure function of the manifest and the summary rows, so that a finished run and a folder read back give the
//! same text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::figure::{NONE, grouped, percent, short, size, time};
use super::objective;
use super::points;
use crate::record::Outcome;
use crate::results::Manifest;
use crate::results::manifest::{FindingEntry, PhaseEntry, ShardEntry, State};
use crate::results::text::printable;
use crate::stats::fold::ALL;
use crate::stats::metrics::{FinishReason, metric};
use crate::stats::{ClientFigures, SummaryRow};

/// Columns of text.
const WIDTH: usize = 100;

/// Latencies of the table, by title and tag: from the send, and right below from the due time.
const LATENCIES: [(&str, &str); 8] = [
    ("TTFT", "ttft"),
    ("  from due", "ttft_scheduled"),
    ("first answer", "first_answer"),
    ("TPOT", "tpot"),
    ("gap", "gap"),
    ("E2E", "e2e"),
    ("  from due", "e2e_scheduled"),
    ("lag", "lag"),
];

/// Statistics of the table.
const STATISTICS: [&str; 4] = ["p50", "p90", "p99", "max"];

/// The summary as text, each line at most about 100 columns, with a line break at its end.
pub fn text(manifest: &Manifest, rows: &[SummaryRow]) -> String {
    let mut text = headline(manifest);
    text.push('\n');
    write_shards(manifest, &mut text);
    if !manifest.points.is_empty() {
        text.push('\n');
        text.push_str(&points::text(manifest, rows));
        if let Some(answer) = points::answer(manifest) {
            text.push('\n');
            write_wrapped(&mut text, "capacity      ", &answer);
        }
        write_findings(manifest, &mut text);
        return text;
    }
    for section in sections(rows) {
        text.push('\n');
        section.write(manifest, &mut text);
    }
    write_server(manifest, &mut text);
    write_left_out(manifest, &mut text);
    write_objectives(manifest, &mut text);
    write_findings(manifest, &mut text);
    text
}

/// A line for each page of the server's metrics that was looked at.
fn write_server(manifest: &Manifest, text: &mut String) {
    for (index, page) in manifest.server.iter().filter(|page| page.looks > 0).enumerate() {
        if index == 0 {
            text.push('\n');
        }
        let server = page.server.as_deref().unwrap_or("no name in it is known");
        *text +=
            &format!("server metrics of {}: {server}, {} looks", printable(&page.page), grouped(page.looks));
        if page.failed > 0 {
            let why = page.last_error.as_deref().map(printable).unwrap_or_default();
            *text += &format!(", {} of them failed ({why})", grouped(page.failed));
        }
        if page.missed > 0 {
            *text += &format!(", {} left out because the page took too long", grouped(page.missed));
        }
        if page.resets > 0 {
            *text += &format!(", counters began anew {} times", grouped(page.resets));
        }
        if page.faults > 0 {
            *text += &format!(", {} lines could not be read", grouped(page.faults));
        }
        text.push('\n');
    }
}

fn headline(manifest: &Manifest) -> String {
    let mut parts = vec![printable(&manifest.name), printable(&manifest.target)];
    parts.extend(manifest.model.as_deref().map(printable));
    match &manifest.verdict {
        Some(verdict) if verdict.simulated => parts.push(format!("simulated, {}", verdict.verdict)),
        Some(verdict) => parts.push(verdict.verdict.clone()),
        None => {}
    }
    match manifest.state {
        State::Complete => {}
        State::Running => parts.push("not ended".to_owned()),
        State::Stopped => parts.push("stopped".to_owned()),
        State::Interrupted => parts.push("interrupted".to_owned()),
    }
    parts.join(" · ")
}

/// The parts that were joined: where each ran, when it began, and what is known of its clock.
fn write_shards(manifest: &Manifest, text: &mut String) {
    for line in shards(manifest) {
        write_wrapped(text, "  shard         ", &line);
    }
}

/// One line for each part of a joined run.
pub(super) fn shards(manifest: &Manifest) -> Vec<String> {
    let origins = manifest.shards.iter().filter_map(|shard| shard.host.as_ref()?.origin_unix_ns);
    let first = origins.min();
    let line = |shard: &ShardEntry| {
        let rows = grouped(shard.rows);
        let Some(host) = &shard.host else { return format!("{}: {rows} requests", shard.shard) };
        let began = host.origin_unix_ns.zip(first).map_or(String::new(), |(origin, first)| {
            format!(", began {} after the first", time((origin - first) as f64 / 1e6))
        });
        let clock = match (host.synchronised, &host.synchronised_by) {
            (Some(true), Some(by)) => format!("clock synchronised by {}", printable(by)),
            (Some(true), None) => "clock synchronised".to_owned(),
            (Some(false), _) => "clock not synchronised".to_owned(),
            (None, _) => "whether its clock is synchronised is not known".to_owned(),
        };
        format!("{} on {}: {rows} requests{began}, {clock}", shard.shard, printable(&host.name))
    };
    manifest.shards.iter().map(line).collect()
}

/// One phase of one point and repeat, all workloads together.
struct Section<'a> {
    point: Option<u32>,
    repeat: Option<u32>,
    phase: &'a str,
    rows: Vec<&'a SummaryRow>,
}

/// A section for each phase, and one for all of them together where there are several.
fn sections(rows: &[SummaryRow]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for row in rows.iter().filter(|row| row.workload == ALL) {
        let key = (row.point, row.repeat, row.phase.as_str());
        match sections.last_mut() {
            Some(last) if (last.point, last.repeat, last.phase) == key => last.rows.push(row),
            _ => sections.push(Section { point: key.0, repeat: key.1, phase: key.2, rows: vec![row] }),
        }
    }
    let phases_beside = |joined: &Section<'_>| {
        let same_run = |other: &&Section<'_>| (other.point, other.repeat) == (joined.point, joined.repeat);
        sections.iter().filter(same_run).count() - 1
    };
    let is_repetition: Vec<bool> =
        sections.iter().map(|section| section.phase == ALL && phases_beside(section) == 1).collect();
    sections
        .into_iter()
        .zip(is_repetition)
        .filter(|(_, repeats)| !repeats)
        .map(|(section, _)| section)
        .collect()
}

impl Section<'_> {
    fn write(&self, manifest: &Manifest, text: &mut String) {
        text.push_str(&self.title(manifest));
        text.push('\n');
        let lines = [
            ("requests", Some(self.requests())),
            ("rate", Some(self.rates())),
            ("tokens", Some(self.throughputs())),
            ("lengths", Some(self.lengths())),
            ("finished by", self.endings()),
            ("goodput", self.goodput()),
            ("answers", self.answers()),
            ("same answers", self.consistency()),
            ("client", self.entry(manifest).and_then(client)),
        ];
        for (title, line) in lines {
            if let Some(line) = line {
                write_wrapped(text, &format!("  {title:<13} "), &line);
            }
        }
        self.write_latencies(text);
    }

    fn title(&self, manifest: &Manifest) -> String {
        let mut title = match (self.point, self.repeat) {
            (Some(point), Some(repeat)) => format!("point {point}, repeat {repeat}, "),
            (Some(point), None) => format!("point {point}, "),
            (None, _) => String::new(),
        };
        if self.phase == ALL {
            title.push_str("all measured phases");
            return title;
        }
        title.push_str(self.phase);
        let Some(entry) = self.entry(manifest) else { return title };
        if let (Some(start), Some(end)) = (entry.window_start_s, entry.window_end_s) {
            let _ = write!(title, ": {} s measured", short(end - start));
        }
        if let Some(by) = &entry.ended_by {
            let _ = write!(title, ", ended by {by}");
        }
        title
    }

    /// Its phase in the manifest.
    fn entry<'m>(&self, manifest: &'m Manifest) -> Option<&'m PhaseEntry> {
        manifest.phase(self.point, self.repeat, self.phase)
    }

    fn row(&self, metric: &str, statistic: &str) -> Option<&SummaryRow> {
        self.rows.iter().find(|row| row.metric == metric && row.statistic == statistic).copied()
    }

    fn value(&self, metric: &str, statistic: &str) -> Option<f64> {
        self.row(metric, statistic)?.value
    }

    fn count(&self, metric: &str, statistic: &str) -> u64 {
        self.row(metric, statistic).map_or(0, |row| row.count)
    }

    /// `1,790 ok of 1,800 measured, success 99.4 %: 10 http_error; 1,980 planned, 1,980 sent in all`
    fn requests(&self) -> String {
        let of = |statistic| self.count("measured_requests", statistic);
        let mut line = format!("{} ok of {} measured", grouped(of("ok")), grouped(of("planned")));
        if let Some(success) = self.value("success", "value") {
            let _ = write!(line, ", success {}", percent(success));
        }
        let others = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok);
        let others: Vec<_> = others
            .map(|outcome| (outcome.name(), of(outcome.name())))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{} {name}", grouped(count)))
            .collect();
        if !others.is_empty() {
            let _ = write!(line, ": {}", others.join(", "));
        }
        let all = |statistic| self.count("requests", statistic);
        if all("planned") > of("planned") {
            let _ =
                write!(line, "; {} planned, {} sent in all", grouped(all("planned")), grouped(all("sent")));
        }
        line
    }

    fn rates(&self) -> String {
        let [offered, sent, completed] =
            ["offered_rate", "achieved_rate", "request_throughput"].map(|metric| self.rate(metric));
        format!("{offered} offered, {sent} sent, {completed} completed")
    }

    fn throughputs(&self) -> String {
        let [output, prompt, total] =
            ["output_throughput", "prompt_throughput", "total_throughput"].map(|metric| self.rate(metric));
        let uncounted = match self.count("uncounted_requests", "value") {
            0 => String::new(),
            uncounted => format!("; {} requests could not be counted", grouped(uncounted)),
        };
        format!("{output} output, {prompt} prompt, {total} together{uncounted}")
    }

    fn rate(&self, metric: &str) -> String {
        self.value(metric, "value").map_or(NONE.to_owned(), |rate| format!("{}/s", short(rate)))
    }

    /// Mean lengths against those asked for.
    fn lengths(&self) -> String {
        let mean = |metric| self.value(metric, "mean").map(short);
        let against_planned = |name, real, planned| {
            // Where some were not planned, those that were are no measure of all.
            let is_comparable = self.count(planned, "mean") >= self.count(real, "mean");
            let planned = mean(planned).filter(|_| is_comparable);
            let real = mean(real).unwrap_or_else(|| NONE.to_owned());
            match planned {
                Some(planned) => format!("{real} {name} ({planned} asked)"),
                None => format!("{real} {name}"),
            }
        };
        let prompt = against_planned("prompt", "prompt_tokens", "prompt_tokens_planned");
        let output = against_planned("output", "output_tokens", "output_tokens_planned");
        format!("{prompt}, {output}, mean tokens")
    }

    /// Why answers ended.
    fn endings(&self) -> Option<String> {
        let counts = FinishReason::ALL.iter().map(|(name, _)| (self.count("finish_reasons", name), *name));
        let endings: Vec<_> = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{} {name}", grouped(count)))
            .collect();
        (!endings.is_empty()).then(|| endings.join(", "))
    }

    fn goodput(&self) -> Option<String> {
        let attainment = self.value("attainment", "value")?;
        Some(format!("{} good, attainment {}", self.rate("goodput"), percent(attainment)))
    }

    /// Accuracy beside the share of answers that were cut, which look like wrong ones.
    fn answers(&self) -> Option<String> {
        let unchecked = self.count("unchecked_requests", "value");
        let Some(accuracy) = self.row("accuracy", "value").filter(|row| row.value.is_some()) else {
            return (unchecked > 0)
                .then(|| format!("{} could not be checked, and no other came", grouped(unchecked)));
        };
        let counts = ["right", "wrong", "no_answer"].map(|verdict| {
            format!("{} {}", grouped(self.count("verdicts", verdict)), verdict.replace('_', " "))
        });
        let mut line = format!("accuracy {}", percent(accuracy.value?));
        if let (Some(low), Some(high)) = (accuracy.ci_low, accuracy.ci_high) {
            let _ = write!(line, " ({} … {})", percent(low), percent(high));
        }
        let cut = self.count("accuracy", "length") as f64 / accuracy.count as f64;
        let _ = write!(
            line,
            " of {} checked: {}; {} truncated",
            grouped(accuracy.count),
            counts.join(", "),
            percent(cut)
        );
        let _ = write!(line, "; {} right and in time", self.rate("correct_goodput"));
        if unchecked > 0 {
            let _ = write!(line, "; {} could not be checked", grouped(unchecked));
        }
        Some(line)
    }

    fn consistency(&self) -> Option<String> {
        let same = self.row("consistency", "value")?;
        let compared = grouped(same.count);
        Some(format!("{} of {compared} to a request that was sent before", percent(same.value?)))
    }

    /// A table of latencies; what is missing from it, and why, stands below.
    fn write_latencies(&self, text: &mut String) {
        let _ = write!(text, "  {:<13}", "");
        STATISTICS.iter().for_each(|statistic| {
            let _ = write!(text, " {statistic:>10}");
        });
        let _ = writeln!(text, " {:>10}", "of");
        let mut needs = BTreeMap::new();
        for (title, tag) in LATENCIES {
            let count = self.count(tag, "max");
            let repeats_the_line_above = title.starts_with(' ');
            if count == 0 && repeats_the_line_above {
                continue;
            }
            let _ = write!(text, "  {title:<13}");
            if count == 0 {
                let why = metric(tag).map_or("", |metric| metric.empty_when);
                let _ = writeln!(text, " {NONE:>10}  none measured (empty when {why})");
                continue;
            }
            for statistic in STATISTICS {
                let row = self.row(tag, statistic);
                let cell = row.and_then(|row| row.value).map_or(NONE.to_owned(), time);
                let _ = write!(text, " {cell:>10}");
                needs.extend(row.and_then(|row| row.needs).map(|needs| (needs, statistic)));
            }
            let _ = writeln!(text, " {:>10}", grouped(count));
        }
        if !needs.is_empty() {
            let needs: Vec<_> = needs
                .iter()
                .map(|(needs, statistic)| format!("{statistic} needs {} values", grouped(*needs)))
                .collect();
            let _ = writeln!(text, "  {NONE} {}", needs.join(", "));
        }
    }
}

/// How the client itself fared, where that was measured: `p99 late to send 0.210 ms, to wake 0.104 ms; …`
fn client(entry: &PhaseEntry) -> Option<String> {
    let own = entry.client.filter(ClientFigures::is_measured)?;
    let delays = [
        ("to send", own.send_delay_p99_ms),
        ("to wake", own.loop_delay_p99_ms),
        ("to read", own.read_delay_p99_ms),
    ];
    let delays = delays.into_iter().filter_map(|(what, ms)| Some(format!("{what} {}", time(ms?))));
    let room = [
        own.sender_cpu_share.map(|share| format!("sender {} at work", percent(share))),
        own.backlog_peak_bytes.map(|bytes| format!("{} queued at most", size(bytes))),
        own.memory_peak_bytes.map(|bytes| format!("{} memory", size(bytes))),
    ];
    let room: Vec<String> = room.into_iter().flatten().collect();
    Some(format!("p99 late {}; {}", delays.collect::<Vec<_>>().join(", "), room.join(", ")))
}

/// What was not kept for want of room.
fn write_left_out(manifest: &Manifest, text: &mut String) {
    let left_out = manifest.left_out;
    let counts = [
        (left_out.stamps, "events whose times no figure has"),
        (left_out.chunks, "rows of chunks.csv"),
        (left_out.responses, "lines of responses.jsonl"),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
    if !told.is_empty() {
        write_wrapped(text, "\nleft out       ", &format!("{}: there was no room", told.join(", ")));
    }
}

/// What had to hold, and whether it did.
fn write_objectives(manifest: &Manifest, text: &mut String) {
    let lines = objective::lines(manifest);
    if !lines.is_empty() {
        text.push_str("\nobjectives\n");
    }
    for line in lines {
        write_wrapped(text, &format!("  {:<13} ", line.answer.name()), &line.text());
    }
}

/// Findings with what to do, the worst first; the same one in several phases stands once.
fn write_findings(manifest: &Manifest, text: &mut String) {
    let Some(verdict) = &manifest.verdict else { return };
    let weight =
        |finding: &FindingEntry| ["invalid", "insufficient"].iter().position(|s| *s == finding.severity);
    let mut findings: Vec<&FindingEntry> = verdict.findings.iter().collect();
    findings.sort_by_key(|finding| weight(finding).unwrap_or(usize::MAX));
    let mut told: Vec<&str> = Vec::new();
    for finding in &findings {
        if told.contains(&finding.kind.as_str()) {
            continue;
        }
        told.push(&finding.kind);
        let also = findings.iter().filter(|other| other.kind == finding.kind).count() - 1;
        let mut line = format!("{}: {}", finding.phase, finding.text);
        if also > 0 {
            let _ = write!(line, " (and in {also} more)");
        }
        text.push('\n');
        write_wrapped(text, &format!("{:<13} ", finding.severity), &line);
        write_wrapped(text, &format!("{:>13} ", "do:"), &finding.advice);
    }
}

/// Writes `body` behind `lead`, broken at spaces, further lines under the first.
fn write_wrapped(text: &mut String, lead: &str, body: &str) {
    let indent = lead.chars().count();
    text.push_str(lead);
    let mut column = indent;
    for (place, word) in body.split(' ').enumerate() {
        let width = word.chars().count();
        if place > 0 && column + 1 + width > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if place > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_run_is_told_on_one_screen() {
        let (manifest, rows) = sample::two_phases();
        insta::assert_snapshot!(text(&manifest, &rows), @r#"
        documents · http://127.0.0.1:8000 · tiny · insufficient

        low: 20.0 s measured, ended by duration
          requests      20 ok of 20 measured, success 100.0 %
          rate          1.00/s offered, 1.00/s sent, 0.950/s completed
          tokens        41.0/s output, 8,012/s prompt, 8,053/s together
          lengths       8,012 prompt (8,000 asked), 41.0 output (60.0 asked), mean tokens
          finished by   20 stop
          goodput       0.950/s good, attainment 100.0 %
                               p50        p90        p99        max         of
          TTFT              189 ms          –          –     199 ms         20
            from due        189 ms          –          –     199 ms         20
          first answer      189 ms          –          –     199 ms         20
          TPOT             24.8 ms          –          –    25.0 ms         20
          gap              25.1 ms    60.2 ms          –    60.2 ms         60
          E2E               1.18 s          –          –     1.18 s         20
            from due        1.18 s          –          –     1.18 s         20
          lag                 0 ms          –          –       0 ms         20
          – p90 needs 36 values, p99 needs 368 values

        high: 40.0 s measured, ended by duration
          requests      400 ok of 407 measured, success 98.5 %: 3 http_error, 1 cut_at_end, 3 dropped
          rate          10.2/s offered, 10.1/s sent, 9.57/s completed
          tokens        410/s output, 79,119/s prompt, 79,529/s together
          lengths       8,012 prompt (8,000 asked), 41.0 output (60.0 asked), mean tokens
          finished by   400 stop
          goodput       5.03/s good, attainment 49.5 %
                               p50        p90        p99        max         of
          TTFT              399 ms     559 ms     595 ms     599 ms        400
            from due        399 ms     559 ms     595 ms     599 ms        400
          first answer      399 ms     559 ms     595 ms     599 ms        400
          TPOT             30.0 ms    30.0 ms    30.0 ms    30.0 ms        400
          gap              25.1 ms    60.2 ms    60.2 ms    60.2 ms      1,200
          E2E               1.60 s     1.76 s     1.79 s     1.80 s        400
            from due        1.60 s     1.76 s     1.79 s     1.80 s        400
          lag                 0 ms       0 ms       0 ms       0 ms        400

        all measured phases
          requests      420 ok of 427 measured, success 98.6 %: 3 http_error, 1 cut_at_end, 3 dropped
          rate          7.12/s offered, 7.07/s sent, 6.70/s completed
          tokens        287/s output, 55,416/s prompt, 55,703/s together
          lengths       8,012 prompt (8,000 asked), 41.0 output (60.0 asked), mean tokens
          finished by   420 stop
          goodput       3.67/s good, attainment 51.9 %
                               p50        p90        p99        max         of
          TTFT              389 ms     557 ms     595 ms     599 ms        420
            from due        389 ms     557 ms     595 ms     599 ms        420
          first answer      389 ms     557 ms     595 ms     599 ms        420
          TPOT             30.0 ms    30.0 ms    30.0 ms    30.0 ms        420
          gap              25.1 ms    60.2 ms    60.2 ms    60.2 ms      1,260
          E2E               1.59 s     1.76 s     1.79 s     1.80 s        420
            from due        1.59 s     1.76 s     1.79 s     1.80 s        420
          lag                 0 ms       0 ms       0 ms       0 ms        420

        insufficient  low: only 20 measured requests ended ok (wanted 36): high percentiles cannot be told
                      from fewer
                  do: run longer, or send more requests

        insufficient  high: 400 answers are worth 4 independent ones where the slowest tenth is concerned
                      (wanted 36): they came in swings of the queue, and another run may show others
                  do: run longer, lengthen warm_up, or lower the load

        warning       low: answers differ by 31.7 % from the length asked for (limit 5.0 %): throughput and
                      end-to-end times hold for the real lengths (and in 1 more)
                  do: check that the server honours ignore_eos and min_tokens

        warning       high: 3 requests (0.74 %) were dropped at max_in_flight: the server saw less load than
                      offered, and success counts them as failed
                  do: raise max_in_flight, lower the rate, or set when_full = "wait"
        "#);
    }

    #[test]
    fn a_run_in_which_everything_failed_has_no_figures_and_says_why() {
        let (manifest, rows) = sample::all_failed();
        insta::assert_snapshot!(text(&manifest, &rows), @r#"
        documents · http://127.0.0.1:8000 · tiny · simulated, insufficient

        steady, ended by duration
          requests      0 ok of 10 measured, success 0.0 %: 10 connect_error
          rate          – offered, – sent, – completed
          tokens        – output, – prompt, – together
          lengths       – prompt, – output, mean tokens
                               p50        p90        p99        max         of
          TTFT                   –  none measured (empty when no such event)
          first answer           –  none measured (empty when reasoning only)
          TPOT                   –  none measured (empty when N < 2, or last token = first)
          gap                    –  none measured (empty when fewer than 2 events)
          E2E                    –  none measured (empty when not ok)
          lag                    –  none measured (empty when not sent)

        insufficient  steady: no measured request ended ok: high percentiles cannot be told from fewer
                  do: run longer, or send more requests

        insufficient  steady: 10 requests (100.0 %) failed (limit 10.0 %): latencies are those of the
                      answers that came
                  do: see columns `outcome` and `error` of requests.csv
        "#);
    }

    #[test]
    fn the_client_is_told_beside_what_it_measured() {
        let (mut manifest, rows) = sample::two_phases();
        manifest.phases[1].client = Some(ClientFigures {
            send_delay_p99_ms: Some(0.21),
            loop_delay_p99_ms: Some(0.104),
            read_delay_p99_ms: None,
            sender_cpu_share: Some(0.123),
            backlog_peak_bytes: Some(200_000),
            memory_peak_bytes: Some(37 << 20),
            ..ClientFigures::default()
        });
        let text = text(&manifest, &rows);
        let told = text.split("  client        ").nth(1).unwrap();
        let told: Vec<&str> = told.lines().take(2).map(str::trim).collect();
        assert_eq!(
            told.join(" "),
            "p99 late to send 0.210 ms, to wake 0.104 ms; sender 12.3 % at work, 195 KiB queued at most, \
                                    37.0 MiB memory"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        for (manifest, rows) in [sample::two_phases(), sample::all_failed()] {
            let text = text(&manifest, &rows);
            assert!(
                text.lines().all(|line| line.chars().count() <= WIDTH && line.trim_end() == line),
                "{text}"
            );
        }
    }

    #[test]
    fn names_of_others_cannot_move_the_cursor() {
        let (mut manifest, rows) = sample::all_failed();
        manifest.model = Some("a\u{1b}[2Jb\nc".to_owned());
        assert!(text(&manifest, &rows).lines().next().unwrap().contains("a␛[2Jb c"));
    }
}
