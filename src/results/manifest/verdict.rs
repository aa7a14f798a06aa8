//! Whether the figures can be trusted, in words and figures.

use serde::{Deserialize, Serialize};

use super::point::PointEntry;
use crate::stats::{Finding, Verdict};

/// Whether the figures can be trusted, and what there is to know about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictEntry {
    /// `valid`, `insufficient` or `invalid`.
    pub verdict: String,
    /// Whether the server was simulated.
    pub simulated: bool,
    /// What speaks against them.
    pub findings: Vec<FindingEntry>,
}

/// A finding in words and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// What it is about: `send_delay`.
    pub kind: String,
    /// `warning`, `insufficient` or `invalid`.
    pub severity: String,
    /// Name of the phase.
    pub phase: String,
    /// What was found, in `unit`.
    pub measured: f64,
    /// The limit, in `unit`.
    pub threshold: f64,
    /// `ms`, `share`, `requests` or `times`.
    pub unit: String,
    /// What was found and what it means.
    pub text: String,
    /// What to do.
    pub advice: String,
}

impl VerdictEntry {
    /// The verdict of these findings.
    pub fn new(findings: &[Finding], simulated: bool) -> VerdictEntry {
        VerdictEntry {
            verdict: Verdict::of(findings).name().to_owned(),
            simulated,
            findings: findings.iter().map(FindingEntry::from).collect(),
        }
    }

    /// The verdict; an unknown word is taken for the worst.
    pub fn verdict(&self) -> Verdict {
        let known = [Verdict::Valid, Verdict::Insufficient, Verdict::Invalid];
        known.into_iter().find(|verdict| verdict.name() == self.verdict).unwrap_or(Verdict::Invalid)
    }

    /// Puts findings that were told before in front; the worst of all is the verdict.
    #[must_use]
    pub fn preceded_by(mut self, told: Vec<FindingEntry>) -> VerdictEntry {
        let weigh = |verdict: Verdict| told.iter().any(|finding| finding.severity == verdict.name());
        let worst = [Verdict::Invalid, Verdict::Insufficient]
            .into_iter()
            .find(|verdict| self.verdict == verdict.name() || weigh(*verdict));
        self.verdict = worst.unwrap_or(Verdict::Valid).name().to_owned();
        self.findings.splice(0..0, told);
        self
    }
}

impl FindingEntry {
    /// Whether it says why the run was stopped.
    pub fn is_stop(&self) -> bool {
        self.kind.starts_with("stopped_")
    }
}

impl VerdictEntry {
    /// That of a sweep: the best of its runs, since each stands for itself, with each kind of finding once, in the
    /// words of the first run that has it.
    pub fn of_points(points: &[PointEntry], simulated: bool) -> VerdictEntry {
        let verdicts = points.iter().filter_map(|point| point.verdict.as_ref());
        let names = [Verdict::Valid, Verdict::Insufficient, Verdict::Invalid].map(Verdict::name);
        let has = |name: &&str| verdicts.clone().any(|verdict| verdict.verdict == *name);
        let best = names.into_iter().find(has).unwrap_or(Verdict::Invalid.name());
        let mut found: Vec<(FindingEntry, usize)> = Vec::new();
        for finding in verdicts.clone().flat_map(|verdict| &verdict.findings) {
            let key =
                |entry: &FindingEntry| (entry.kind.clone(), entry.severity.clone(), entry.phase.clone());
            match found.iter_mut().find(|(known, _)| key(known) == key(finding)) {
                Some((_, count)) => *count += 1,
                None => found.push((finding.clone(), 1)),
            }
        }
        let findings = found.into_iter().map(|(finding, count)| FindingEntry {
            text: format!("in {count} of {} runs; first: {}", points.len(), finding.text),
            ..finding
        });
        VerdictEntry { verdict: best.to_owned(), simulated, findings: findings.collect() }
    }
}

impl From<&Finding> for FindingEntry {
    fn from(finding: &Finding) -> FindingEntry {
        FindingEntry {
            kind: finding.kind.name().to_owned(),
            severity: finding.severity.name().to_owned(),
            phase: finding.phase.clone(),
            measured: finding.measured,
            threshold: finding.threshold,
            unit: finding.kind.measure().name().to_owned(),
            text: finding.to_string(),
            advice: finding.kind.advice().to_owned(),
        }
    }
}
