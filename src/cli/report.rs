//! `tonnage report`: a folder read back, as text and as a page.

use std::io::Write as _;
use std::path::Path;

use super::args::ReportArgs;
use super::book::known;
use super::exit::{Exit, Failure};
use crate::report::course::{Course, Dot};
use crate::report::{self, html, json, terminal};
use crate::results::manifest::{ClockKind, VerdictEntry};
use crate::results::objectives::undetermined;
use crate::results::{Folder, reader, tables, text, writer};
use crate::stats::analysis::Step;
use crate::stats::{Analysis, AnalysisRow, SummaryRow};

/// The page's name in its folder.
const PAGE: &str = "report.html";

pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    for folder in &args.folders {
        report(folder, args)?;
    }
    Ok(Exit::Done)
}

fn report(path: &Path, args: &ReportArgs) -> Result<(), Failure> {
    let mut dots: Vec<Vec<Dot>> = Vec::new();
    let mut analysis = Analysis::default();
    let read = reader::read(path, |run, record| {
        analysis.add(record);
        if dots.len() <= run {
            dots.resize(run + 1, Vec::new());
        }
        dots[run].extend(Dot::of(record));
    });
    let mut folder = read.map_err(Failure::usage)?;
    let summary = folder.summary();
    judge_anew(&mut folder, &summary);
    dots.resize(folder.runs.len(), Vec::new());
    let courses: Vec<Course<'_>> =
        folder.runs.iter().zip(&dots).map(|(run, dots)| course(run, dots)).collect();
    let page = html::page(&folder.manifest, &folder.scenario, &summary, &courses);
    let page_path = path.join(PAGE);
    writer::replace(&page_path, page.as_bytes()).map_err(Failure::unexpected)?;
    let analysis = analyse(&folder, analysis)?;
    let told = if args.csv {
        text::file(tables::SUMMARY, &summary)
    } else if args.json {
        json::object(&folder.manifest, &summary, &analysis, path)
    } else {
        terminal::text(&folder.manifest, &summary) + &report::analysis::text(&analysis)
    };
    // A closed pipe is the reader's choice, and the page stands.
    let _ = writeln!(std::io::stdout(), "{}", told.trim_end());
    if args.csv || args.json {
        let _ = writeln!(std::io::stderr(), "{}", page_path.display());
    } else {
        let _ = writeln!(std::io::stdout(), "\n{}", page_path.display());
    }
    Ok(())
}

/// What the rows and looks of a folder say, in `analysis.csv` anew; nothing where its run is not analysed.
pub(super) fn analyse(folder: &Folder, mut analysis: Analysis) -> Result<Vec<AnalysisRow>, Failure> {
    if !folder.manifest.is_analysed() {
        return Ok(Vec::new());
    }
    let looks = reader::read_looks(&folder.path).map_err(Failure::usage)?;
    looks.iter().for_each(|look| analysis.add_look(look));
    let steps = folder.runs.iter().flat_map(|run| Step::of(&run.fold, run.point, run.repeat)).collect();
    let rows = analysis.rows(&known(&folder.manifest, steps));
    writer::write_analysis(&folder.path, &rows).map_err(Failure::unexpected)?;
    Ok(rows)
}

/// Objectives are judged by the figures as they are rebuilt. A run that was killed has no verdict: the one that its rows
/// allow.
fn judge_anew(folder: &mut Folder, summary: &[SummaryRow]) {
    folder.manifest.objectives.iter_mut().for_each(|objective| objective.judge(summary));
    if folder.manifest.verdict.is_none() {
        let manifest = &folder.manifest;
        let simulated = manifest.clock == ClockKind::Virtual || manifest.target.starts_with("sim ");
        let mut findings = folder.findings(simulated);
        findings.extend(undetermined(&folder.manifest.objectives));
        folder.manifest.verdict = Some(VerdictEntry::new(&findings, simulated));
    }
}

fn course<'a>(run: &'a reader::RunRows, dots: &'a [Dot]) -> Course<'a> {
    let phases = (0..).map_while(|phase| run.fold.facts(phase).map(|facts| (phase, facts)));
    let window = |phase| run.fold.window(phase).map(|(from, to)| (from.as_s(), to.as_s()));
    Course {
        point: run.point,
        repeat: run.repeat,
        seconds: &run.seconds,
        dots,
        phases: phases
            .map(|(phase, facts)| (facts.setup.name.as_str(), window(phase).filter(|_| facts.setup.counts)))
            .collect(),
    }
}
