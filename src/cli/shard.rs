//! Which part of a run this process is, and when it starts: `--shard`, `--start-at`, `--run-id`.

use std::time::Duration;

use clap::Args;

use super::environment;
use super::exit::Failure;
use super::prepare::Prepared;
use crate::clock::Clock;
use crate::plan::compose::Salt;
use crate::plan::shard::Shard;
use crate::scenario::{Load, PhaseLoad, Scenario};
use crate::seed::Seed;
use crate::units::Nanos;

#[derive(Debug, Args)]
pub(super) struct ShardArgs {
    /// Send one part of the load: K/N with K from 0, `auto` to read it from Slurm, or `auto/N` in an indexed job
    #[arg(long, value_name = "K/N")]
    pub(super) shard: Option<String>,
    /// Start then: an instant in UTC such as 2026-01-02T03:04:05Z, or +SECONDS from now
    #[arg(long, value_name = "TIME")]
    pub(super) start_at: Option<String>,
    /// Name the run in its requests and results, the same for all shards [default: drawn; of shards, from start and scenario]
    #[arg(long, value_name = "ID")]
    pub(super) run_id: Option<String>,
}

/// What the arguments say.
#[derive(Debug, Default)]
pub(super) struct Part {
    shard: Option<Shard>,
    start: Option<Instant>,
    run_id: Option<String>,
}

/// A time of day to start at.
#[derive(Clone, Copy, Debug)]
struct Instant {
    unix_ns: i128,
    /// Whether it was given as such, so that it is the same for all shards.
    is_absolute: bool,
}

impl Part {
    pub(super) fn read(args: &ShardArgs) -> Result<Part, Failure> {
        let shard = args.shard.as_deref().map(|text| shard(text, environment::optional)).transpose()?;
        let now = environment::unix_time_ns();
        let start = args.start_at.as_deref().map(|text| start(text, now)).transpose()?;
        if let Some(id) = &args.run_id {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
            if id.is_empty() || id.len() > 64 || !id.bytes().all(is_plain) {
                return Err(Failure::usage("--run-id takes 1 to 64 letters, digits, `_` or `.`"));
            }
        }
        Ok(Part { shard, start, run_id: args.run_id.clone() })
    }

    /// Makes `prepared` this part of the run that all shards share.
    pub(super) fn apply(&self, prepared: &mut Prepared) -> Result<(), Failure> {
        if let Some(id) = &self.run_id {
            prepared.run_id.clone_from(id);
        }
        let Some(shard) = self.shard.filter(|shard| shard.is_part()) else { return Ok(()) };
        if prepared.draws_seed {
            let help = "add `seed = 7` to the scenario, or --set seed=7 to each";
            return Err(Failure::usage(format!(
                "shards need one seed, and the scenario has none\n  help: {help}"
            )));
        }
        check(&prepared.scenario, shard)?;
        let scenario = crate::scenario::resolved(&prepared.scenario);
        match (&self.run_id, self.start) {
            (Some(_), _) => {}
            (None, Some(Instant { unix_ns, is_absolute: true })) => {
                let bits = Seed(unix_ns as u64).stream("run_id", &scenario).bits();
                prepared.run_id = format!("{:012x}", bits >> 16);
            }
            (None, _) => {
                let help = "give all shards the same --start-at (an instant in UTC) or --run-id";
                return Err(Failure::usage(format!("shards need a name in common\n  help: {help}")));
            }
        }
        prepared.salt = Salt(Seed(prepared.seed.0).stream("salt", &prepared.run_id).bits());
        prepared.shard = shard;
        Ok(())
    }

    /// The instant to start at, by `clock`. A shard that is late is refused: its schedule is never moved.
    pub(super) fn start(&self, clock: &Clock) -> Result<Option<Nanos>, Failure> {
        let Some(Instant { unix_ns, .. }) = self.start else { return Ok(None) };
        let left = unix_ns - environment::unix_time_ns();
        let Ok(left) = u64::try_from(left) else {
            let late_s = -left as f64 / 1e9;
            return Err(Failure::usage(format!(
                "the time of --start-at passed {late_s:.1} s before this process was ready; nothing was sent\n  \
                 help: choose a later time, so that every shard is up before it"
            )));
        };
        Ok(Some(clock.now() + Duration::from_nanos(left)))
    }
}

/// Refuses loads that cannot be split so far.
fn check(scenario: &Scenario, shard: Shard) -> Result<(), Failure> {
    let count = shard.count();
    if scenario.sweep.is_some() || scenario.capacity.is_some() {
        let help = "run the points one by one, each from a file without `[sweep]` and `[capacity]`";
        return Err(Failure::usage(format!(
            "a sweep or search cannot be split into shards: they would not keep step between points\n  help: {help}"
        )));
    }
    for PhaseLoad { name, load } in scenario.phases.iter().flat_map(|phase| phase.loads()) {
        let (what, most) = match load {
            Load::Closed { users, .. } => ("users", Some(*users)),
            Load::Open { max_in_flight, .. } => ("max_in_flight", *max_in_flight),
        };
        if let Some(most) = most.filter(|most| *most < count) {
            return Err(Failure::usage(format!(
                "`{name}` cannot be split over {count} shards: its {what} is {most}\n  \
                 help: take fewer shards, or raise {what}"
            )));
        }
    }
    Ok(())
}

fn shard(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, Failure> {
    let refuse = |problem: String| {
        let help =
            "write it like --shard 0/4, or --shard auto under Slurm, or --shard auto/4 in an indexed job";
        Failure::usage(format!("{problem}\n  help: {help}"))
    };
    let (index, count) = text.split_once('/').map_or((text, None), |(index, count)| (index, Some(count)));
    let count = count
        .map(|count| count.parse::<u32>().map_err(|_| refuse(format!("`{count}` is no number of shards"))));
    let count = count.transpose()?;
    if index == "auto" {
        return auto(count, variable).map_err(refuse);
    }
    let found = index.parse::<u32>().ok().zip(count).and_then(|(index, count)| Shard::new(index, count));
    found.ok_or_else(|| refuse(format!("there is no shard `{text}`: they are counted from 0")))
}

/// The shard that a scheduler's variables name. `count` is how many there are, where a user said so.
fn auto(count: Option<u32>, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(text) => {
            text.trim().parse::<u32>().map(Some).map_err(|_| format!("{name} is no number: `{text}`"))
        }
    };
    let needed = |name: &str| number(name)?.ok_or_else(|| format!("{name} is not set"));
    // Outside a step only one process runs, whatever the number of tasks.
    let step = match variable("SLURM_STEP_ID") {
        Some(_) => Some((needed("SLURM_PROCID")?, needed("SLURM_NTASKS")?)),
        None => None,
    };
    // The number of an array's task is not its rank.
    let array = match number("SLURM_ARRAY_TASK_ID")? {
        Some(id) => {
            let (min, of) = (needed("SLURM_ARRAY_TASK_MIN")?, needed("SLURM_ARRAY_TASK_COUNT")?);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let rank = id.checked_sub(min).filter(|above| above % step == 0).map(|above| above / step);
            let rank = rank.filter(|rank| *rank < of);
            let irregular = "the job array is irregular: submit it as 0-(N-1)";
            Some((rank.ok_or(irregular)?, of))
        }
        None => None,
    };
    let (index, of) = match (array, step, number("JOB_COMPLETION_INDEX")?) {
        (Some((rank, of)), Some((process, tasks)), _) => {
            (u64::from(rank) * u64::from(tasks) + u64::from(process), u64::from(of) * u64::from(tasks))
        }
        (Some((rank, of)), None, _) => (rank.into(), of.into()),
        (None, Some((process, tasks)), _) => (process.into(), tasks.into()),
        (None, None, Some(index)) => match count {
            Some(count) => (index.into(), count.into()),
            None => {
                return Err(
                    "JOB_COMPLETION_INDEX does not say how many there are: write --shard auto/N".into()
                );
            }
        },
        (None, None, None) => {
            let sought = "SLURM_STEP_ID with SLURM_PROCID, SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX";
            return Err(format!("no scheduler says which shard this is; looked for {sought}"));
        }
    };
    if let Some(count) = count.filter(|count| u64::from(*count) != of) {
        return Err(format!("the scheduler runs {of} tasks, and --shard says {count}"));
    }
    let shard = u32::try_from(index).ok().zip(u32::try_from(of).ok());
    let shard = shard.and_then(|(index, of)| Shard::new(index, of));
    shard.ok_or_else(|| format!("there is no shard {index} of {of}"))
}

fn start(text: &str, now_unix_ns: i128) -> Result<Instant, Failure> {
    let help = "write an instant in UTC like 2026-01-02T03:04:05Z, or seconds from now like +30";
    let refuse = || Failure::usage(format!("--start-at cannot be read\n  help: {help}"));
    if let Some(seconds) = text.strip_prefix('+') {
        let seconds = seconds.parse::<f64>().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
        let ns = (seconds.ok_or_else(refuse)? * 1e9) as i128;
        return Ok(Instant { unix_ns: now_unix_ns + ns, is_absolute: false });
    }
    let instant = text.parse::<jiff::Timestamp>().map_err(|_| refuse())?;
    Ok(Instant { unix_ns: instant.as_nanosecond(), is_absolute: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, variables: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let shard = shard(text, variable).map_err(|failure| failure.message)?;
        Ok((shard.index(), shard.count()))
    }

    #[test]
    fn a_shard_is_named_by_its_place_from_0() {
        assert_eq!(found("3/4", &[]), Ok((3, 4)));
        for text in ["4/4", "0/0", "1", "a/4", "-1/4", "1/b", "auto/b"] {
            assert!(found(text, &[]).is_err(), "{text}");
        }
    }

    const STEP: [(&str, &str); 3] = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")];
    const ARRAY: [(&str, &str); 4] = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_STEP", "4"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
    ];

    #[test]
    fn auto_reads_steps_arrays_and_both() {
        assert_eq!(found("auto", &STEP), Ok((1, 4)));
        // Ids 1, 5 and 9: the id is not the rank.
        assert_eq!(found("auto", &ARRAY), Ok((1, 3)));
        assert_eq!(found("auto", &[&STEP[..], &ARRAY[..]].concat()), Ok((5, 12)));
        assert_eq!(found("2/9", &STEP), Ok((2, 9)), "what is said comes first");
        assert_eq!(found("auto/4", &STEP), Ok((1, 4)));
        assert!(found("auto/5", &STEP).unwrap_err().contains("runs 4 tasks"));
    }

    #[test]
    fn a_batch_script_that_runs_one_process_is_not_taken_for_its_tasks() {
        let outside = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")];
        assert!(found("auto", &outside).unwrap_err().contains("looked for SLURM_STEP_ID"));
    }

    #[test]
    fn irregular_arrays_and_missing_totals_are_refused() {
        let mut array = ARRAY;
        array[0].1 = "7";
        assert!(found("auto", &array).unwrap_err().contains("irregular"));
        array[0].1 = "13";
        assert!(found("auto", &array).unwrap_err().contains("irregular"));
        let indexed = [("JOB_COMPLETION_INDEX", "2")];
        assert_eq!(found("auto/4", &indexed), Ok((2, 4)));
        assert!(found("auto", &indexed).unwrap_err().contains("auto/N"));
        assert!(found("auto/2", &indexed).is_err());
    }

    #[test]
    fn a_start_is_an_instant_or_a_distance() {
        let read = |text| start(text, 5).map(|instant| (instant.unix_ns, instant.is_absolute)).ok();
        assert_eq!(read("+2.5"), Some((2_500_000_005, false)));
        assert_eq!(read("1970-01-01T00:00:01.25Z"), Some((1_250_000_000, true)));
        for text in ["", "+", "+-1", "+inf", "noon", "2026-01-02", "12"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
