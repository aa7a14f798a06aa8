//! Looking at the server's metrics while a run goes on.

use std::cell::RefCell;
use std::rc::Rc;

use hyper::Uri;
use tokio::task::JoinHandle;

use super::exit::Failure;
use super::target;
use crate::client::Client;
use crate::clock::Clock;
use crate::record::Event;
use crate::run::Sink;
use crate::scenario::{MetricsPage, Scenario, ServerWatch};
use crate::scrape::Page;

/// Where the simulated server has its metrics.
const SIMULATED_PAGE: &str = "/metrics";

/// The pages that `scenario` wants looked at; those of the target go by its own `client`.
pub(super) async fn pages(
    scenario: &Scenario,
    clock: &Clock,
    client: &Rc<Client>,
) -> Result<Vec<Page>, Failure> {
    let mut pages = Vec::new();
    for (endpoint, page) in (0..).zip(scenario.server.iter().flat_map(|server| &server.metrics)) {
        let (client, path) = match page {
            MetricsPage::OfTarget(path) => (Rc::clone(client), path.clone()),
            MetricsPage::At(url) => {
                let client = target::stranger(clock, url, &scenario.target).await?;
                (Rc::new(client), url.join(""))
            }
        };
        pages.push(Page { endpoint, client, path: uri(&path)? });
    }
    Ok(pages)
}

/// The first page of `scenario`, which a rehearsal finds at the simulated server, and no other: they would be the
/// same one again.
pub(super) fn simulated_page(scenario: &Scenario, client: &Rc<Client>) -> Result<Vec<Page>, Failure> {
    match &scenario.server {
        Some(_) => Ok(vec![Page { endpoint: 0, client: Rc::clone(client), path: uri(SIMULATED_PAGE)? }]),
        None => Ok(Vec::new()),
    }
}

fn uri(path: &str) -> Result<Uri, Failure> {
    let path = if path.is_empty() { "/" } else { path };
    path.parse().map_err(|error| Failure::usage(format!("server.metrics: `{path}`: {error}")))
}

/// Watchers of pages.
pub(super) struct Watchers(Rc<RefCell<Vec<JoinHandle<()>>>>);

impl Watchers {
    /// Ends them: none has hold of the sink afterwards.
    pub(super) async fn end(self) {
        for task in self.0.take() {
            task.abort();
            // That it was ended is no news.
            let _ = task.await;
        }
    }
}

/// `sink`, which begins to watch `pages` when the run starts.
pub(super) fn watching(
    sink: Sink,
    clock: &Clock,
    server: Option<&ServerWatch>,
    pages: Vec<Page>,
) -> (Sink, Watchers) {
    let tasks = Rc::new(RefCell::new(Vec::new()));
    let watchers = Watchers(Rc::clone(&tasks));
    let Some(every) = server.map(|server| server.every) else { return (sink, watchers) };
    let (clock, waiting) = (clock.clone(), RefCell::new(pages));
    let watching = Rc::new(move |event: Event| {
        let started = match &event {
            Event::RunStarted { origin } => Some(*origin),
            _ => None,
        };
        sink(event);
        let Some(origin) = started else { return };
        for page in waiting.take() {
            let watch = page.watch(clock.clone(), origin, every, Rc::clone(&sink));
            tasks.borrow_mut().push(tokio::task::spawn_local(watch));
        }
    });
    (watching, watchers)
}
