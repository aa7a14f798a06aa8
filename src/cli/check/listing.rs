//! The first requests of a plan, as `check --plan` lists them.

use std::time::Duration;

use super::Sound;
use super::preview::{ends_with_the_server, plan};
use crate::plan::{Plan, Session, Start, Turn};
use crate::scenario::{Load, Phase};

/// The beginning of a plan.
pub(super) struct Listing {
    /// Its requests, phase by phase; in a phase by due time, those of users first.
    pub(super) requests: Vec<Listed>,
    /// Whether what follows depends on how many of these the server lets be sent.
    pub(super) is_open: bool,
}

/// One planned request.
pub(super) struct Listed {
    /// The load that sends it: the phase's name, or that of a further load.
    pub(super) load: String,
    pub(super) start: Start,
    pub(super) turn: Turn,
}

impl Listing {
    /// The first `most` requests.
    pub(super) fn of(sound: &Sound, most: u64) -> Listing {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut plan = plan(&sound.scenario, &sound.datasets);
        let mut listing = Listing { requests: Vec::new(), is_open: false };
        for (index, phase) in sound.scenario.phases.iter().enumerate() {
            plan.begin_phase(index);
            listing.add(phase, &mut plan, most);
            if listing.requests.len() >= most {
                listing.requests.truncate(most);
                break;
            }
            if ends_with_the_server(phase) || phase.also.iter().any(|also| is_open(phase, &also.load)) {
                listing.is_open = true;
                break;
            }
        }
        listing
    }

    fn add(&mut self, phase: &Phase, plan: &mut Plan, most: usize) {
        let names = phase.loads().map(|load| load.name.to_owned()).collect::<Vec<_>>();
        let mut next = (0..names.len()).map(|load| plan.next_session(load)).collect::<Vec<_>>();
        while self.requests.len() < most {
            let due = |session: &Session| match session.start {
                Start::At(due) => due,
                Start::WhenUserFree => Duration::ZERO,
            };
            let of_load = |(load, session): (usize, &Option<Session>)| Some((due(session.as_ref()?), load));
            let Some((_, load)) = next.iter().enumerate().filter_map(of_load).min() else { return };
            let following = plan.next_session(load);
            let Some(session) = std::mem::replace(&mut next[load], following) else { return };
            self.requests.extend(session.turns.into_iter().map(|turn| Listed {
                load: names[load].clone(),
                start: session.start,
                turn,
            }));
            // Further loads go on for ever where only the main one has an end.
            if load == 0 && next[0].is_none() && phase.duration.is_none() {
                return;
            }
        }
    }
}

/// Whether how much a further load sends is for the server to decide.
fn is_open(phase: &Phase, load: &Load) -> bool {
    matches!(load, Load::Closed { .. })
        || matches!(phase.load, Load::Closed { .. }) && phase.duration.is_none()
}
