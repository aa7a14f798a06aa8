//! Whole runs in virtual time: scenario, plan, sender, client, collector and files against a server whose every
//! delay is known, so that each figure can be told beforehand, to the last digit.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing where something must be has failed")]

#[path = "virtual_time/answer.rs"]
mod answer;
#[path = "virtual_time/server.rs"]
mod server;
#[path = "virtual_time/stage.rs"]
mod stage;

#[path = "virtual_time/accounting.rs"]
mod accounting;
#[path = "virtual_time/analysis.rs"]
mod analysis;
#[path = "virtual_time/closed_loop.rs"]
mod closed_loop;
#[path = "virtual_time/context.rs"]
mod context;
#[path = "virtual_time/conversations.rs"]
mod conversations;
#[path = "virtual_time/drain.rs"]
mod drain;
#[path = "virtual_time/failures.rs"]
mod failures;
#[path = "virtual_time/figures.rs"]
mod figures;
#[path = "virtual_time/golden.rs"]
mod golden;
#[path = "virtual_time/held.rs"]
mod held;
#[path = "virtual_time/loads.rs"]
mod loads;
#[path = "virtual_time/merge.rs"]
mod merge;
#[path = "virtual_time/needles.rs"]
mod needles;
#[path = "virtual_time/planted.rs"]
mod planted;
#[path = "virtual_time/replay.rs"]
mod replay;
#[path = "virtual_time/rules.rs"]
mod rules;
#[path = "virtual_time/schedule.rs"]
mod schedule;
#[path = "virtual_time/sessions.rs"]
mod sessions;
#[path = "virtual_time/shards.rs"]
mod shards;
#[path = "virtual_time/stop.rs"]
mod stop;
#[path = "virtual_time/times.rs"]
mod times;
#[path = "virtual_time/users.rs"]
mod users;
#[path = "virtual_time/windows.rs"]
mod windows;
