//! The text form of faults.

use std::fmt;
use std::time::Duration;

use super::manner::{
    ConnectionFault, Ending, ErrorShape, LineEnd, Missing, RequestFault, Role, Stage, UsageManner,
};
use super::{Fault, Rule, When};
use crate::units::{Nanos, parse_duration};

/// Every fault: its form, and what it does. Numbers of tokens count from the beginning of the answer.
pub const FAULTS: [(&str, &str); 25] = [
    ("status=CODE[:TIME]", "an error answer with this status, and `retry-after`"),
    ("delay=TIME", "the request waits so long before the server takes it up"),
    ("slow-read=BYTES", "the request's body is read at so many bytes a second"),
    ("hang[=STAGE]", "nothing more comes; the connection stays open"),
    ("reset[=STAGE]", "the connection is reset"),
    ("cut[=STAGE]", "the connection is closed, the response unfinished"),
    ("truncate[=N]", "the stream ends in good order after N tokens, without finish reason and [DONE]"),
    ("missing=done|finish|both", "the stream lacks [DONE], the finish reason, or both"),
    ("malformed[=N]", "the event after N tokens is broken JSON"),
    ("error[=object|text|choices|event|field|detail][:N]", "an error in the stream after N tokens"),
    ("stall=N:TIME", "nothing comes for TIME after N tokens"),
    (
        "role=early|null|bare|none",
        "the opening event comes at once, with null, without content, or not at all",
    ),
    ("empty=N", "N events of empty text before each token"),
    ("join=N", "N tokens in each event"),
    ("batch=N", "N events in each write"),
    ("split=BYTES[:TIME]", "each write has at most BYTES, and TIME passes after it"),
    ("lines=crlf|cr", "lines end so"),
    ("no-blank", "no blank after `data:`"),
    ("comments", "a comment before each event"),
    ("ping=TIME", "a comment whenever nothing else came for TIME"),
    ("usage=none|zero|finish|late:TIME", "no usage, zeros, in the finish event, or so long after it"),
    ("buffer[=BYTES]", "the stream is held back until there are BYTES, or whole"),
    ("document", "one JSON document although a stream was asked for"),
    ("corrupt", "the answer is another one: its last number is one higher, or all of its words are others"),
    (
        "accept-delay=TIME, refuse, idle-close=TIME",
        "of connections: taken up late, reset at once, closed when idle for TIME",
    ),
];

/// The longest time of a fault.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultError {
    rule: String,
    problem: String,
}

impl FaultError {
    pub(super) fn new(rule: &str, problem: impl Into<String>) -> FaultError {
        // It may come from a header: not to be repeated at any length.
        FaultError { rule: rule.chars().take(80).collect(), problem: problem.into() }
    }
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault `{}`: {}", self.rule, self.problem)
    }
}

impl std::error::Error for FaultError {}

/// Reads one rule.
pub(super) fn rule(text: &str) -> Result<Rule, FaultError> {
    let mut parts = text.split('@').map(str::trim);
    let fault = parts.next().unwrap_or_default();
    let (name, value) = match fault.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (fault, None),
    };
    let fault = read(name, value).map_err(|problem| FaultError::new(text, problem))?;
    let when = parts.map(when).collect::<Result<Vec<_>, _>>();
    let when = when.map_err(|problem| FaultError::new(text, problem))?;
    Ok(Rule { text: text.to_owned(), fault, when })
}

fn read(name: &str, value: Option<&str>) -> Result<Fault, String> {
    let form = FAULTS.iter().find(|(form, _)| form.split(['=', '[']).next() == Some(name));
    let form = form.map_or("see the list of faults", |(form, _)| form);
    let example = if form.contains("TIME") { ", with TIME like 250ms" } else { "" };
    let wrong = || format!("write `{form}`{example}");
    let needed = || value.ok_or_else(wrong);
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let positive =
        |text: &str| number(text).and_then(|number| if number > 0 { Ok(number) } else { Err(wrong()) });
    let time = |text: &str| match parse_duration(text) {
        Ok(time) if time <= LONGEST => Ok(time),
        Ok(_) => Err("a time is at most a day".to_owned()),
        Err(_) => Err(wrong()),
    };
    let tokens = |value: Option<&str>| value.map_or(Ok(0), number);
    let end = |ending| Ok::<_, String>(RequestFault::End { stage: stage(value).ok_or_else(wrong)?, ending });
    let request = match name {
        "status" => {
            let (status, retry_after) = optional(needed()?);
            let status = number(status)?;
            if !(400..600).contains(&status) {
                return Err("a status is from 400 to 599".to_owned());
            }
            RequestFault::Status { status: status as u16, retry_after: retry_after.map(time).transpose()? }
        }
        "delay" => RequestFault::Delay(time(needed()?)?),
        "slow-read" => RequestFault::SlowRead { bytes_per_s: positive(needed()?)? },
        "hang" => end(Ending::Hang)?,
        "reset" => end(Ending::Reset)?,
        "cut" => end(Ending::Cut)?,
        "truncate" => RequestFault::End { stage: Stage::Tokens(tokens(value)?), ending: Ending::Truncate },
        "missing" => RequestFault::Missing(match needed()? {
            "done" => Missing::Done,
            "finish" => Missing::Finish,
            "both" => Missing::Both,
            _ => return Err(wrong()),
        }),
        "malformed" => RequestFault::Malformed { after: tokens(value)? },
        "error" => {
            let (shape, after) = optional(value.unwrap_or("object"));
            let shape = match shape {
                "object" => ErrorShape::Object,
                "text" => ErrorShape::Text,
                "choices" => ErrorShape::Choices,
                "event" => ErrorShape::Event,
                "field" => ErrorShape::Field,
                "detail" => ErrorShape::Detail,
                _ => return Err(wrong()),
            };
            RequestFault::Error { shape, after: tokens(after)? }
        }
        "stall" => {
            let (after, pause) = needed()?.split_once(':').ok_or_else(wrong)?;
            RequestFault::Stall { after: number(after)?, pause: time(pause)? }
        }
        "role" => RequestFault::Role(match needed()? {
            "early" => Role::Early,
            "null" => Role::Null,
            "bare" => Role::Bare,
            "none" => Role::Absent,
            _ => return Err(wrong()),
        }),
        "empty" => RequestFault::Empty(number(needed()?)?),
        "join" => RequestFault::Join(positive(needed()?)?),
        "batch" => RequestFault::Batch(positive(needed()?)?),
        "split" => {
            let (bytes, pause) = optional(needed()?);
            let pause = pause.map_or(Ok(Duration::ZERO), time)?;
            RequestFault::Split { bytes: positive(bytes)? as usize, pause }
        }
        "lines" => RequestFault::Lines(match needed()? {
            "crlf" => LineEnd::CrLf,
            "cr" => LineEnd::Cr,
            _ => return Err(wrong()),
        }),
        "no-blank" => RequestFault::NoBlank,
        "comments" => RequestFault::Comments,
        "ping" => {
            RequestFault::Ping(Some(time(needed()?)?).filter(|every| !every.is_zero()).ok_or_else(wrong)?)
        }
        "usage" => RequestFault::Usage(match optional(needed()?) {
            ("none", None) => UsageManner::Absent,
            ("zero", None) => UsageManner::Zero,
            ("finish", None) => UsageManner::InFinish,
            ("late", Some(after)) => UsageManner::Late(time(after)?),
            _ => return Err(wrong()),
        }),
        "buffer" => RequestFault::Buffer { bytes: value.map_or(Ok(u64::MAX), positive)? as usize },
        "document" => RequestFault::Document,
        "corrupt" => RequestFault::Corrupt,
        "accept-delay" => return Ok(Fault::Connection(ConnectionFault::AcceptDelay(time(needed()?)?))),
        "refuse" => return Ok(Fault::Connection(ConnectionFault::Refuse)),
        "idle-close" => return Ok(Fault::Connection(ConnectionFault::IdleClose(time(needed()?)?))),
        _ => {
            let names = FAULTS.iter().flat_map(|(form, _)| form.split(", "));
            let names = names.map(|form| form.split(['=', '[']).next().unwrap_or(form)).collect::<Vec<_>>();
            return Err(format!("there is no such fault; there are {}", names.join(", ")));
        }
    };
    if value.is_some() && matches!(name, "no-blank" | "comments" | "document" | "corrupt") {
        return Err(wrong());
    }
    Ok(Fault::Request(request))
}

/// `a:b`, of which `:b` may be missing.
fn optional(value: &str) -> (&str, Option<&str>) {
    value.split_once(':').map_or((value, None), |(first, second)| (first, Some(second)))
}

/// `head` (the default), a number of tokens, or `bytes:` and a number of bytes.
fn stage(value: Option<&str>) -> Option<Stage> {
    match value {
        None | Some("head") => Some(Stage::Head),
        Some(value) => match value.strip_prefix("bytes:") {
            Some(bytes) => bytes.parse().ok().map(Stage::Bytes),
            None => value.parse().ok().map(Stage::Tokens),
        },
    }
}

fn when(text: &str) -> Result<When, String> {
    let wrong = || format!("`@{text}` is no time: write `@10%`, `@1/7`, `@#7` or `@30s..60s`");
    if let Some(share) = text.strip_suffix('%') {
        let share = share.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
        return share.map(|share| When::Share(share / 100.0)).ok_or_else(wrong);
    }
    let positive = |number: &str| number.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(wrong);
    if let Some(every) = text.strip_prefix("1/") {
        return positive(every).map(When::Every);
    }
    if let Some(only) = text.strip_prefix('#') {
        return positive(only).map(When::Only);
    }
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let time = |text: &str| parse_duration(text).map(|time| Nanos::ZERO + time).map_err(|_| wrong());
    let to = if to.is_empty() { Nanos::MAX } else { time(to)? };
    Ok(When::Within(time(from)?, to))
}
