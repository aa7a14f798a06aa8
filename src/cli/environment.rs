//! The environment: read here and nowhere else.

use std::io::Read as _;

use super::exit::Failure;

/// The value of `name`, which must be set and not empty.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub(super) fn required(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        _ => Err(Failure::usage(format!(
            "the environment variable `{name}` is not set\n  help: export {name}=… before the run"
        ))),
    }
}

/// The value of `name` where it is set.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub(super) fn optional(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Nanoseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time of day; it measures nothing"
)]
pub(super) fn unix_time_ns() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128)
}

/// Seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time of day; it measures nothing"
)]
pub(super) fn unix_time_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The time of day in UTC.
pub(super) fn utc_now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(i64::try_from(unix_time_s()).unwrap_or(0))
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// A number nobody has drawn before, from the kernel.
pub(super) fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::unexpected(format!("cannot read /dev/urandom: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
