//! `[server]`: which metrics of the server are looked at beside the run, and how often.

use std::time::Duration;

use super::TargetUrl;
use super::fields::Fields;
use super::values::Field;

/// What is looked at beside the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWatch {
    /// Pages of metrics, at least one.
    pub metrics: Vec<MetricsPage>,
    /// Time from look to look.
    pub every: Duration,
    /// Tokens of a block of the server's memory; `None` for what it states itself.
    pub block_size: Option<u64>,
    /// Further metrics to keep, by name.
    pub extra: Vec<String>,
}

/// Where a page of metrics is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsPage {
    /// A path of the target, from its root.
    OfTarget(String),
    /// An address of its own. Key and headers of the target are not sent there.
    At(TargetUrl),
}

impl MetricsPage {
    /// Reads a path, `/metrics`, or an address.
    ///
    /// # Errors
    /// What is wrong and what to do about it.
    pub fn parse(text: &str) -> Result<MetricsPage, (&'static str, &'static str)> {
        if !text.starts_with('/') {
            let at = TargetUrl::parse(text).map(MetricsPage::At);
            return at
                .map_err(|error| (error.problem, "write a path of the target, `/metrics`, or a whole URL"));
        }
        let is_path = text.chars().all(|c| ('!'..='~').contains(&c) && !"?#\"<>\\^`{|}".contains(c));
        match is_path && !text.starts_with("//") {
            true => Ok(MetricsPage::OfTarget(text.to_owned())),
            false => Err(("the path cannot stand in a request", "write it like `/metrics`")),
        }
    }

    /// As a scenario names it.
    pub fn text(&self) -> String {
        match self {
            MetricsPage::OfTarget(path) => path.clone(),
            MetricsPage::At(url) => url.to_string(),
        }
    }
}

/// Reads the table.
pub(super) fn read(fields: &Fields<'_>) -> Option<ServerWatch> {
    let metrics = fields.value("metrics", Field::pages);
    let every = fields.value("every", Field::duration);
    let block_size = fields.own("block_size", Field::integer);
    let extra = fields.own("extra", Field::metrics).unwrap_or_default();
    if let Some(every) = every.filter(|every| *every < SHORTEST) {
        let message = format!("a look every {every:?} would load the server that is measured");
        fields.problems.error(
            fields.place("every"),
            message,
            "write at least `100ms`; a page takes 40 to 100 ms to make",
        );
        return None;
    }
    Some(ServerWatch { metrics: metrics?, every: every?, block_size, extra })
}

/// Shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
