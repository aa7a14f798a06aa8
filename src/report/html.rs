//! The report as one page that needs nothing else: no network, no script.

use std::fmt::Write as _;

use super::chart::escaped;
use super::course::Course;
use super::figure::{NONE, grouped, percent, short, size, time};
use super::objective;
use super::points;
use super::terminal::shards;
use crate::results::Manifest;
use crate::results::manifest::State;
use crate::results::text::printable;
use crate::stats::SummaryRow;
use crate::stats::fold::ALL;
use crate::stats::metrics::{Source, Unit, metric};

const STYLE: &str = include_str!("page.css");

/// Statistics of the table of latencies and lengths.
const STATISTICS: [&str; 8] = ["mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max"];

/// The page of a run. A pure function of what its folder holds.
pub fn page(manifest: &Manifest, scenario: &str, rows: &[SummaryRow], courses: &[Course<'_>]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} · Tonnage</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        shown(&manifest.name)
    );
    write_head(&mut html, manifest);
    write_objectives(&mut html, manifest);
    write_findings(&mut html, manifest);
    write_client(&mut html, manifest);
    write_points(&mut html, manifest, rows);
    for course in courses {
        write_course(&mut html, course);
    }
    for section in sections(rows) {
        write_section(&mut html, section);
    }
    let _ = write!(
        html,
        "<h2>Scenario</h2>\n<details><summary>as it ran, defaults filled in, secrets left out</summary>\n\
         <pre>{}</pre></details>\n</body>\n</html>\n",
        escaped(scenario)
    );
    html
}

/// Text of others, for the page.
fn shown(text: &str) -> String {
    escaped(&printable(text))
}

fn write_head(html: &mut String, manifest: &Manifest) {
    let _ = write!(html, "<h1>{}</h1>\n<p>{}", shown(&manifest.name), shown(&manifest.target));
    if let Some(model) = &manifest.model {
        let _ = write!(html, " · {}", shown(model));
    }
    if let Some(verdict) = &manifest.verdict {
        let simulated = if verdict.simulated { "simulated, " } else { "" };
        let word = shown(&verdict.verdict);
        let _ = write!(html, " · <span class=\"verdict {word}\">{simulated}{word}</span>");
    }
    let ended = match manifest.state {
        State::Complete => "",
        State::Running => " · did not end: killed, or still running; windows are read off the rows",
        State::Stopped => " · stopped",
        State::Interrupted => " · interrupted",
    };
    let _ = writeln!(
        html,
        "{ended}</p>\n<p class=\"soft\">{} · run {} · seed {} · tonnage {}</p>",
        shown(&manifest.started),
        shown(&manifest.run_id),
        manifest.seed,
        shown(&manifest.tool_version)
    );
    for shard in shards(manifest) {
        let _ = writeln!(html, "<p class=\"soft\">shard {}</p>", escaped(&shard));
    }
    for (key, value) in &manifest.about {
        let _ = writeln!(html, "<p class=\"soft\">{}: {}</p>", shown(key), shown(value));
    }
}

fn write_objectives(html: &mut String, manifest: &Manifest) {
    let lines = objective::lines(manifest);
    if lines.is_empty() {
        return;
    }
    html.push_str(
        "<h2>Objectives</h2>\n<table>\n<tr><th>answer</th><th>where</th><th>asked</th><th>found</th></tr>\n",
    );
    for line in lines {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            line.answer.name(),
            escaped(&line.place),
            escaped(&line.asked),
            escaped(&line.found)
        );
    }
    html.push_str("</table>\n");
}

fn write_findings(html: &mut String, manifest: &Manifest) {
    let Some(verdict) = manifest.verdict.as_ref().filter(|verdict| !verdict.findings.is_empty()) else {
        return;
    };
    html.push_str("<h2>To know when reading these figures</h2>\n<ul class=\"findings\">\n");
    for severity in ["invalid", "insufficient", "warning"] {
        for finding in verdict.findings.iter().filter(|finding| finding.severity == severity) {
            let _ = writeln!(
                html,
                "<li class=\"{severity}\"><strong>{severity}</strong> <span>{}: {}</span><br>\
                 <span class=\"do\">do: {}</span></li>",
                shown(&finding.phase),
                shown(&finding.text),
                shown(&finding.advice)
            );
        }
    }
    html.push_str("</ul>\n");
}

/// How the client itself fared in each phase, where that was measured.
fn write_client(html: &mut String, manifest: &Manifest) {
    let own = manifest.phases.iter().filter_map(|entry| Some((entry, entry.client?)));
    let own: Vec<_> = own.filter(|(entry, own)| entry.measured && own.is_measured()).collect();
    if own.is_empty() {
        return;
    }
    html.push_str(
        "<h2>The client itself</h2>\n<div class=\"wide\"><table>\n<tr><th>phase</th><th>late to send, p99</th>\
         <th>late to wake, p99</th><th>late to read, p99</th><th>reads of several events</th>\
         <th>stamps put right</th><th>sender at work</th><th>queued at most</th><th>memory at most</th></tr>\n",
    );
    for (entry, own) in own {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let shared = (own.reads > 0).then(|| percent(own.shared_reads as f64 / own.reads as f64));
        let memory = own.memory_peak_bytes.map(|bytes| match own.memory_share {
            Some(share) => format!("{} ({} of all)", size(bytes), percent(share)),
            None => size(bytes),
        });
        let cells = [
            or_none(own.send_delay_p99_ms.map(time)),
            or_none(own.loop_delay_p99_ms.map(time)),
            or_none(own.read_delay_p99_ms.map(time)),
            or_none(shared),
            grouped(own.clamped_stamps),
            or_none(own.sender_cpu_share.map(percent)),
            or_none(own.backlog_peak_bytes.map(size)),
            or_none(memory),
        ];
        let place = format!("{}{}", shown(&entry.name), of_point(entry.point, entry.repeat));
        let _ = writeln!(html, "<tr><td>{place}</td><td>{}</td></tr>", cells.join("</td><td>"));
    }
    html.push_str("</table></div>\n");
}

fn write_points(html: &mut String, manifest: &Manifest, rows: &[SummaryRow]) {
    let table = points::cells(manifest, rows);
    let Some((titles, lines)) = table.split_first() else { return };
    html.push_str("<h2>Points</h2>\n<div class=\"wide\"><table>\n<tr>");
    titles.iter().for_each(|title| *html += &format!("<th>{}</th>", escaped(title)));
    html.push_str("</tr>\n");
    for line in lines {
        html.push_str("<tr>");
        line.iter().for_each(|cell| *html += &format!("<td>{}</td>", escaped(cell)));
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
    if let Some(answer) = points::answer(manifest) {
        *html += &format!("<p>capacity: {}</p>\n", escaped(&answer));
    }
}

fn write_course(html: &mut String, course: &Course<'_>) {
    let _ =
        writeln!(html, "<h2>Over time{}</h2>\n<div class=\"charts\">", of_point(course.point, course.repeat));
    for (title, chart) in course.charts() {
        let _ = writeln!(html, "<figure><h3>{title}</h3>\n{}</figure>", chart.svg());
    }
    html.push_str("</div>\n<p class=\"soft\">Shaded: windows that are measured.</p>\n");
}

fn of_point(point: Option<u32>, repeat: Option<u32>) -> String {
    match (point, repeat) {
        (Some(point), Some(repeat)) => format!(", point {point}, repeat {repeat}"),
        (Some(point), None) => format!(", point {point}"),
        (None, _) => String::new(),
    }
}

/// Rows by point, repeat, phase and workload; joins of one thing are left out.
fn sections(rows: &[SummaryRow]) -> Vec<&[SummaryRow]> {
    let key = |row: &SummaryRow| (row.point, row.repeat, row.phase.clone(), row.workload.clone());
    let groups: Vec<&[SummaryRow]> = rows.chunk_by(|a, b| key(a) == key(b)).collect();
    let is_copy = |group: &&[SummaryRow]| {
        let first = &group[0];
        let others = groups
            .iter()
            .map(|other| &other[0])
            .filter(|other| (other.point, other.repeat) == (first.point, first.repeat));
        let phases = others.clone().filter(|other| other.workload == ALL && other.phase != ALL).count();
        let workloads = others.filter(|other| other.phase == first.phase && other.workload != ALL).count();
        (first.phase == ALL && phases == 1) || (first.workload != ALL && workloads == 1)
    };
    let mut sections: Vec<&[SummaryRow]> = groups.iter().copied().filter(|group| !is_copy(group)).collect();
    // All workloads of a phase before each.
    let phases = |rows: &[SummaryRow]| groups.iter().position(|group| group[0].phase == rows[0].phase);
    sections.sort_by_key(|rows| (rows[0].point, rows[0].repeat, phases(rows), rows[0].workload != ALL));
    sections
}

fn write_section(html: &mut String, rows: &[SummaryRow]) {
    let first = &rows[0];
    let phase = if first.phase == ALL { "all measured phases".to_owned() } else { shown(&first.phase) };
    let workload =
        if first.workload == ALL { String::new() } else { format!(" · {}", shown(&first.workload)) };
    let _ = writeln!(html, "<h2>{phase}{workload}{}</h2>", of_point(first.point, first.repeat));
    let is_sample = |row: &&[SummaryRow]| {
        metric(row[0].metric).is_some_and(|metric| {
            matches!(metric.source, Source::Row(..) | Source::Adjusted(_) | Source::Gaps | Source::TokenGaps)
        })
    };
    let metrics: Vec<&[SummaryRow]> = rows.chunk_by(|a, b| a.metric == b.metric).collect();
    html.push_str("<div class=\"wide\"><table>\n<tr><th>figure</th><th>value</th><th>95 % interval</th><th>of</th></tr>\n");
    for rows in metrics.iter().filter(|rows| !is_sample(rows)) {
        for row in
            rows.iter().filter(|row| row.statistic == "value" || row.value.is_some_and(|value| value > 0.0))
        {
            let name = match row.statistic {
                "value" => row.metric.to_owned(),
                statistic => format!("{}, {statistic}", row.metric),
            };
            let interval = interval(row).unwrap_or_default();
            let value = row.value.map_or(NONE.to_owned(), |value| written(row, value));
            let count = grouped(row.count);
            let _ =
                writeln!(html, "<tr><td>{name}</td><td>{value}</td><td>{interval}</td><td>{count}</td></tr>");
        }
    }
    html.push_str("</table></div>\n<div class=\"wide\"><table>\n<tr><th>metric</th>");
    STATISTICS.iter().for_each(|statistic| {
        let _ = write!(html, "<th>{statistic}</th>");
    });
    html.push_str("<th>of</th></tr>\n");
    for rows in metrics.iter().filter(|rows| is_sample(rows) && rows[0].count > 0) {
        let _ = write!(html, "<tr><td>{}</td>", rows[0].metric);
        for statistic in STATISTICS {
            let row = rows.iter().find(|row| row.statistic == statistic);
            let _ = write!(html, "<td>{}</td>", row.map_or(String::new(), cell));
        }
        let _ = writeln!(html, "<td>{}</td></tr>", grouped(rows[0].count));
    }
    html.push_str("</table></div>\n");
}

/// A figure with its interval below.
fn cell(row: &SummaryRow) -> String {
    let value = match (row.value, row.needs) {
        (Some(value), _) => written(row, value),
        (None, Some(needs)) => return format!("<small>needs {}</small>", grouped(needs)),
        (None, None) => NONE.to_owned(),
    };
    match interval(row) {
        Some(interval) => format!("{value}<small>{interval}</small>"),
        None => value,
    }
}

/// `12.1 – 13.4 ms`; open where an end is not bounded.
fn interval(row: &SummaryRow) -> Option<String> {
    let end = |end: Option<f64>| {
        end.map(|end| if end.is_finite() { written(row, end) } else { "never".to_owned() })
    };
    match (end(row.ci_low), end(row.ci_high)) {
        (None, None) => None,
        (low, high) => {
            Some(format!("{} … {}", low.unwrap_or_default(), high.unwrap_or_default()).trim().to_owned())
        }
    }
}

fn written(row: &SummaryRow, value: f64) -> String {
    match metric(row.metric).map(|metric| metric.unit) {
        Some(Unit::Ms) => time(value),
        Some(Unit::Share) => percent(value),
        Some(Unit::TokensPerSecond | Unit::RequestsPerSecond) => format!("{}/s", short(value)),
        _ => short(value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::stats::ClientFigures;

    #[test]
    fn the_page_holds_verdict_findings_charts_tables_and_scenario() {
        let (manifest, rows) = sample::two_phases();
        let course = Course { point: None, repeat: None, seconds: &[], dots: &[], phases: Vec::new() };
        let page = page(&manifest, "name = \"<documents>\"\n", &rows, &[course]);
        for part in [
            "<h1>documents</h1>",
            "<span class=\"verdict insufficient\">insufficient</span>",
            "do: run longer, or send more requests",
            "<h3>Time to first token, distribution</h3>",
            "<h2>low</h2>",
            "<h2>high</h2>",
            "<h2>all measured phases</h2>",
            "<td>ttft_adjusted</td>",
            "name = &quot;&lt;documents&gt;&quot;",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg").count(), 0, "no rows, no charts");
    }

    #[test]
    fn the_client_has_a_table_where_it_was_measured() {
        let (mut manifest, rows) = sample::two_phases();
        let told = |manifest: &Manifest| page(manifest, "", &rows, &[]);
        assert!(!told(&manifest).contains("The client itself"));
        let own = ClientFigures {
            loop_delay_p99_ms: Some(0.104),
            reads: 200,
            shared_reads: 5,
            memory_peak_bytes: Some(37 << 20),
            memory_share: Some(0.01),
            ..ClientFigures::default()
        };
        manifest.phases[0].client = Some(own);
        let row = "<tr><td>low</td><td>–</td><td>0.104 ms</td><td>–</td><td>2.5 %</td><td>0</td><td>–</td><td>–</td>\
                   <td>37.0 MiB (1.0 % of all)</td></tr>";
        assert!(told(&manifest).contains(row));
    }

    #[test]
    fn the_page_fetches_nothing_and_runs_nothing() {
        let (mut manifest, rows) = sample::all_failed();
        manifest.model = Some("<script>alert(1)</script>".to_owned());
        manifest.target = "http://server\" onload=\"x".to_owned();
        let page = page(&manifest, "", &rows, &[]);
        for active in ["<script", "src=", "href=", "@import", "url(", "\" onload"] {
            assert!(!page.contains(active), "{active}");
        }
    }
}
