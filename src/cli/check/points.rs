//! What each point of a sweep will do.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use super::amounts::{Count, Span};
use super::preview::Preview;
use super::text::{number, span};
use crate::dataset::Dataset;
use crate::report::figure::grouped;
use crate::scenario::{Loaded, Scenario};

/// Sessions walked of a point: counts beyond follow from the law of arrivals.
const MOST_WALKED: u64 = 2_000;
/// Most points that are listed for people.
const MOST_LISTED: usize = 100;

/// What one point will do.
pub(super) struct PointPreview {
    /// Name and value of each axis.
    settings: Vec<(String, String)>,
    /// Requests it plans; `None` where that depends on the server.
    requests: Option<u64>,
    /// How long its phases offer load; `None` where that depends on the server.
    length: Option<Span>,
}

impl PointPreview {
    /// Looks at `scenario`, the place `index` of the sweep of `loaded`.
    pub(super) fn of(
        loaded: &Loaded,
        index: usize,
        scenario: &Arc<Scenario>,
        datasets: &[Option<Arc<Dataset>>],
    ) -> PointPreview {
        let preview = Preview::within(scenario, datasets, None, MOST_WALKED);
        let sweep = loaded.scenario.sweep.as_ref();
        let settings = sweep.and_then(|sweep| {
            let points = sweep.points();
            let settings = sweep.settings(points.get(index)?);
            Some(settings.map(|(axis, value)| (axis.to_owned(), value.to_owned())).collect())
        });
        let requests = preview.phases.iter().map(|phase| phase.requests.map(Count::number));
        let lengths = preview.phases.iter().map(|phase| phase.length).collect::<Option<Vec<_>>>();
        PointPreview {
            settings: settings.unwrap_or_default(),
            requests: requests.sum(),
            length: lengths.and_then(|lengths| lengths.into_iter().reduce(Span::then)),
        }
    }
}

/// Lists the points and what they come to together.
pub(super) fn write(out: &mut impl Write, scenario: &Scenario, points: &[PointPreview]) -> io::Result<()> {
    let Some(sweep) = &scenario.sweep else { return Ok(()) };
    let axes = sweep.axes.iter().map(|axis| axis.name.clone());
    let titles =
        std::iter::once("point".to_owned()).chain(axes).chain(["requests", "length"].map(str::to_owned));
    let mut rows = vec![titles.collect::<Vec<_>>()];
    for (index, point) in points.iter().enumerate().take(MOST_LISTED) {
        let values = point.settings.iter().map(|(_, value)| value.clone());
        let requests = point.requests.map_or("as the server allows".to_owned(), grouped);
        let row =
            std::iter::once((index + 1).to_string()).chain(values).chain([requests, span(point.length)]);
        rows.push(row.collect());
    }
    writeln!(out)?;
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = (0..rows[0].len()).map(width).collect::<Vec<_>>();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if points.len() > MOST_LISTED {
        writeln!(out, "… {} more points", points.len() - MOST_LISTED)?;
    }
    let runs = points.len() as u64 * u64::from(sweep.repeats);
    let requests = points.iter().map(|point| point.requests).sum::<Option<u64>>();
    let requests = requests.map(|requests| Count::About(requests * u64::from(sweep.repeats)));
    let total = total(sweep.repeats, sweep.pause, points);
    writeln!(
        out,
        "{} runs of {} points: {} requests, {} with pauses, drains left out. The tables above are of the first point.",
        grouped(runs),
        grouped(points.len() as u64),
        number(requests),
        total.map_or("a time that depends on the server".to_owned(), |total| span(Some(total))),
    )
}

/// How long all runs take, pauses between them included.
fn total(repeats: u32, pause: std::time::Duration, points: &[PointPreview]) -> Option<Span> {
    let one = points.iter().map(|point| point.length).collect::<Option<Vec<_>>>()?;
    let one = one.into_iter().reduce(Span::then)?;
    let runs = repeats.saturating_mul(u32::try_from(points.len()).ok()?);
    let pauses = pause.saturating_mul(runs.saturating_sub(1));
    Some(Span { time: one.time.saturating_mul(repeats).saturating_add(pauses), ..one })
}

/// The points for programs.
pub(super) fn json(points: &[PointPreview]) -> Value {
    let object = |(index, point): (usize, &PointPreview)| {
        let settings = point.settings.iter().map(|(axis, value)| (axis.clone(), Value::from(value.as_str())));
        json!({
            "point": index + 1,
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "requests": point.requests,
            "length_s": point.length.map(|length| length.time.as_secs_f64()),
        })
    };
    points.iter().enumerate().map(object).collect()
}
