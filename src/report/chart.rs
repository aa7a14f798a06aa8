//! Charts as SVG text.
//!
//! A module of our own: what a report draws is lines, steps and dots on two axes, which takes less code than fitting a
//! plotting library to the page's colours, and brings no dependency. Colours are CSS classes, so that the page decides
//! on light or dark.

use std::fmt::Write as _;

/// Size of a chart in its own units; the page scales it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 250.0;
/// Room for labels at each side of the plot.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 34.0;

/// A chart.
pub(super) struct Chart {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Stretches of x that are marked, with a label each.
    pub(super) bands: Vec<(f64, f64, String)>,
}

/// An axis.
pub(super) struct Axis {
    pub(super) label: &'static str,
    pub(super) scale: Scale,
    /// How its numbers are written.
    pub(super) write: fn(f64) -> String,
}

/// How an axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Even, from 0.
    Linear,
    /// By powers, for values that span several.
    Log,
    /// Even, from 0 to 1.
    Share,
}

/// Values that belong together.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// Colour 0 to 6, as the page defines them.
    pub(super) colour: usize,
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// How they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Joined; broken where a value is missing.
    Line,
    /// Each by itself.
    Dots,
}

/// The ends of an axis and its ticks.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Chart {
    /// The chart with its legend; a note instead where there is nothing to draw.
    pub(super) fn svg(&self) -> String {
        let values = || self.series.iter().flat_map(|series| &series.points);
        let xs = Range::of(self.x.scale, values().map(|(x, _)| *x));
        let ys = Range::of(self.y.scale, values().filter_map(|(_, y)| *y));
        let (Some(xs), Some(ys)) = (xs, ys) else {
            return "<p class=\"none\">nothing to draw</p>\n".to_owned();
        };
        let x_at = |x: f64| LEFT + xs.place(x) * (WIDTH - LEFT - RIGHT);
        let y_at = |y: f64| HEIGHT - BOTTOM - ys.place(y) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
        for (from, to, label) in &self.bands {
            let (from, to) = (x_at(*from), x_at(*to));
            let height = HEIGHT - TOP - BOTTOM;
            let _ = writeln!(
                svg,
                "<rect class=\"band\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{height}\"/>\
                 <text class=\"band\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                (to - from).max(0.0),
                from + 4.0,
                TOP + 11.0,
                escaped(label)
            );
        }
        self.draw_axes(&mut svg, (&xs, &x_at), (&ys, &y_at));
        for series in &self.series {
            series.draw(&mut svg, &xs, &ys, &x_at, &y_at);
        }
        svg.push_str("</svg>\n");
        self.write_legend(&mut svg);
        svg
    }

    fn draw_axes(
        &self,
        svg: &mut String,
        (xs, x_at): (&Range, &dyn Fn(f64) -> f64),
        (ys, y_at): (&Range, &dyn Fn(f64) -> f64),
    ) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in &ys.ticks {
            let y = y_at(*tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                y + 3.5,
                (self.y.write)(*tick)
            );
        }
        for tick in &xs.ticks {
            let x = x_at(*tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
                 <text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 14.0,
                (self.x.write)(*tick)
            );
        }
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
             <line class=\"axis\" x1=\"{LEFT}\" y1=\"{TOP}\" x2=\"{LEFT}\" y2=\"{bottom}\"/>\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"label\" transform=\"translate(12 {:.1}) rotate(-90)\">{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 4.0,
            escaped(self.x.label),
            f64::midpoint(TOP, bottom),
            escaped(self.y.label)
        );
    }

    fn write_legend(&self, html: &mut String) {
        html.push_str("<p class=\"legend\">");
        for series in &self.series {
            let _ = write!(html, "<span class=\"key c{}\"></span>{} ", series.colour, escaped(&series.name));
        }
        html.push_str("</p>\n");
    }
}

impl Series {
    fn draw(
        &self,
        svg: &mut String,
        xs: &Range,
        ys: &Range,
        x_at: &dyn Fn(f64) -> f64,
        y_at: &dyn Fn(f64) -> f64,
    ) {
        let mut path = String::new();
        let mut pen_down = false;
        for (x, y) in &self.points {
            let drawable = y.filter(|y| xs.holds(*x) && ys.holds(*y));
            let Some(y) = drawable else {
                pen_down = false;
                continue;
            };
            let (x, y) = (x_at(*x), y_at(y));
            match self.shape {
                Shape::Line => {
                    let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
                    pen_down = true;
                }
                // A line of no length with round ends: a dot in a third of the bytes of a circle.
                Shape::Dots => {
                    let _ = write!(path, "M{x:.1} {y:.1}h0");
                }
            }
        }
        let class = match self.shape {
            Shape::Line => "line",
            Shape::Dots => "dots",
        };
        let _ = writeln!(svg, "<path class=\"{class} c{}\" d=\"{path}\"/>", self.colour);
    }
}

impl Range {
    /// Around these values; `None` if none can be drawn.
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Range> {
        let drawable = |value: &f64| value.is_finite() && (scale != Scale::Log || *value > 0.0);
        let (low, high) = values
            .filter(drawable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        Some(match scale {
            Scale::Share => Range { scale, low: 0.0, high: 1.0, ticks: vec![0.0, 0.25, 0.5, 0.75, 0.9, 1.0] },
            Scale::Linear => {
                let high = if high > 0.0 { high } else { 1.0 };
                let step = step_for(high / 5.0);
                let count = (high / step).ceil();
                let ticks = (0..=count as u32).map(|tick| f64::from(tick) * step).collect();
                Range { scale, low: 0.0, high: count * step, ticks }
            }
            Scale::Log => {
                let steps = log_steps(low, high);
                let at_most = |limit: f64| steps.iter().copied().rfind(|step| *step <= limit);
                let at_least = |limit: f64| steps.iter().copied().find(|step| *step >= limit);
                let (low, high) = (at_most(low)?, at_least(high)?);
                let high = if high > low { high } else { low * 10.0 };
                let ticks: Vec<f64> = steps.into_iter().filter(|step| (low..=high).contains(step)).collect();
                let every = ticks.len().div_ceil(9);
                Range { scale, low, high, ticks: ticks.into_iter().step_by(every).collect() }
            }
        })
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// From 0 at its low end to 1 at its high one.
    fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Log => libm::log(value / self.low) / libm::log(self.high / self.low),
            Scale::Linear | Scale::Share => (value - self.low) / (self.high - self.low),
        };
        place.clamp(0.0, 1.0)
    }
}

/// The next of 1, 2, 5, 10, … times a power of ten.
fn step_for(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(least)));
    [1.0, 2.0, 5.0].into_iter().map(|step| step * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// 1, 2 and 5 times powers of ten from below `low` to above `high`.
fn log_steps(low: f64, high: f64) -> Vec<f64> {
    let power = |value: f64| libm::floor(libm::log10(value)) as i32;
    (power(low) - 1..=power(high) + 1)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * libm::pow(10.0, f64::from(power))))
        .collect()
}

/// A tick as short as it is exact: `0.5`, `20`, `40,000`.
pub(super) fn tick(value: f64) -> String {
    if value >= 1_000.0 {
        return super::figure::grouped(value.round() as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A tick of ms: `20 ms`, `5 s`.
pub(super) fn time_tick(ms: f64) -> String {
    if ms < 1_000.0 { format!("{} ms", tick(ms)) } else { format!("{} s", tick(ms / 1e3)) }
}

/// A tick of a share: `90 %`.
pub(super) fn share_tick(share: f64) -> String {
    format!("{} %", tick(share * 100.0))
}

/// Text in HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, points: Vec<(f64, Option<f64>)>) -> String {
        let axis = |label, scale| Axis { label, scale, write: tick };
        let series = Series { name: "a<b".to_owned(), shape: Shape::Line, colour: 0, points };
        let bands = vec![(0.0, 2.0, "warm".to_owned())];
        Chart { x: axis("s", Scale::Linear), y: axis("ms", scale), series: vec![series], bands }.svg()
    }

    #[test]
    fn a_line_is_broken_where_a_value_is_missing() {
        let svg =
            chart(Scale::Linear, vec![(0.0, Some(0.0)), (5.0, Some(10.0)), (6.0, None), (10.0, Some(5.0))]);
        assert!(svg.contains("d=\"M64.0 216.0L404.0 14.0M744.0 115.0\""), "{svg}");
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let range = |scale, low, high| {
            let range = Range::of(scale, [low, high].into_iter()).unwrap();
            (range.low, range.high, range.ticks)
        };
        assert_eq!(range(Scale::Linear, 3.0, 87.0), (0.0, 100.0, vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]));
        assert_eq!(range(Scale::Log, 30.0, 450.0), (20.0, 500.0, vec![20.0, 50.0, 100.0, 200.0, 500.0]));
        assert_eq!(range(Scale::Log, 100.0, 100.0), (100.0, 1_000.0, vec![100.0, 200.0, 500.0, 1_000.0]));
        assert_eq!(range(Scale::Linear, 0.0, 0.0).1, 1.0);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!([0.0, 0.5, 20.0, 40_000.0].map(tick), ["0", "0.5", "20", "40,000"]);
        assert_eq!([0.02, 500.0, 5_000.0].map(time_tick), ["0.02 ms", "500 ms", "5 s"]);
        assert_eq!(share_tick(0.9), "90 %");
    }

    #[test]
    fn nothing_to_draw_is_said_and_what_is_not_finite_is_passed_over() {
        assert_eq!(
            chart(Scale::Log, vec![(1.0, Some(0.0)), (2.0, None)]),
            "<p class=\"none\">nothing to draw</p>\n"
        );
        let svg =
            chart(Scale::Log, vec![(0.0, Some(f64::NAN)), (1.0, Some(f64::INFINITY)), (2.0, Some(3.0))]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
