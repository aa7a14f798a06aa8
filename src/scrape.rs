//! The server's own metrics, looked at beside the run.
//!
//! One task a page asks for it at fixed times of the run's clock, over a connection of its own, and hands it on as
//! it came: [`page`] reads it elsewhere, so that the sender waits for nothing. A page that takes longer than the
//! time between two looks leaves looks out, which are counted; one that cannot be had is a look without figures.

pub mod page;
pub mod track;

use std::rc::Rc;
use std::time::Duration;

use hyper::{StatusCode, Uri};

use crate::client::Client;
use crate::client::preflight::NotReady;
use crate::clock::Clock;
use crate::record::{Event, Scraped};
use crate::units::Nanos;

/// A page of metrics and the way to it.
pub struct Page {
    /// Its place among the scenario's, from 0.
    pub endpoint: u32,
    /// What asks for it.
    pub client: Rc<Client>,
    /// Its path.
    pub path: Uri,
}

impl Page {
    /// Looks at the page at `start` and every `every` from there, until it is dropped.
    pub async fn watch(self, clock: Clock, start: Nanos, every: Duration, sink: Rc<dyn Fn(Event)>) {
        let mut due = start;
        loop {
            clock.watch_until(due).await;
            let sent = clock.now();
            let page = match self.client.fetch(&self.path).await {
                Ok((status, body)) if status.is_success() => Ok(body),
                Ok((status, _)) => Err(refusal(status)),
                Err(NotReady::Unreachable(why) | NotReady::Unusable(why)) => Err(why),
                Err(NotReady::Refused(status) | NotReady::Unavailable(status)) => Err(refusal(status)),
            };
            let received = clock.now();
            let mut missed = 0;
            due = due + every;
            while due < received {
                due = due + every;
                missed += 1;
            }
            sink(Event::Scraped(Box::new(Scraped { endpoint: self.endpoint, sent, received, page, missed })));
        }
    }
}

fn refusal(status: StatusCode) -> String {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!("it refuses the key ({status})"),
        StatusCode::NOT_FOUND => format!("there is no such page ({status})"),
        status => format!("it answers {status}"),
    }
}
