//! How the client itself fared: what it adds to the times it takes, and how much room it has left.

use serde::{Deserialize, Serialize};

/// The client's own figures in a phase. Delays are over measured rows, the rest over the whole phase; none where it
/// could not be measured. As written in the manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientFigures {
    /// p99 of lag − held: how late requests left by the client's own fault.
    pub send_delay_p99_ms: Option<f64>,
    /// p99 of how late the sender's event loop woke; none under the virtual clock.
    pub loop_delay_p99_ms: Option<f64>,
    /// p99 over rows of the longest time that bytes lay in the kernel before they were read; none without kernel stamps.
    pub read_delay_p99_ms: Option<f64>,
    /// Reads that completed an event with tokens.
    pub reads: u64,
    /// Those of them that completed more than one.
    pub shared_reads: u64,
    /// Kernel stamps that were missing or impossible, and were replaced by the nearest possible time.
    pub clamped_stamps: u64,
    /// Share of the time that the sender, which is one thread, was at work; none under the virtual clock.
    pub sender_cpu_share: Option<f64>,
    /// The most by which the time of day was set between two looks at it; none under the virtual clock.
    pub clock_step_ms: Option<f64>,
    /// The most bytes of events that waited to be taken in; none under the virtual clock.
    pub backlog_peak_bytes: Option<u64>,
    /// The most memory that the process had by the end of the phase; none where a server shares it.
    pub memory_peak_bytes: Option<u64>,
    /// The same as a share of what the machine, or its control group, has.
    pub memory_share: Option<f64>,
}

impl ClientFigures {
    /// The same, with what rows tell taken from `rows`: the rest has no row.
    #[must_use]
    pub fn with_rows_of(self, rows: ClientFigures) -> ClientFigures {
        ClientFigures { send_delay_p99_ms: rows.send_delay_p99_ms, ..self }
    }

    /// Whether there was a client to measure: under the virtual clock its work takes no time.
    pub fn is_measured(&self) -> bool {
        self.loop_delay_p99_ms.is_some() || self.sender_cpu_share.is_some()
    }

    /// Those of two clients together: counts add up, and of the rest the worse one stands.
    #[must_use]
    pub fn join(self, other: ClientFigures) -> ClientFigures {
        let worse = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        ClientFigures {
            send_delay_p99_ms: worse(self.send_delay_p99_ms, other.send_delay_p99_ms),
            loop_delay_p99_ms: worse(self.loop_delay_p99_ms, other.loop_delay_p99_ms),
            read_delay_p99_ms: worse(self.read_delay_p99_ms, other.read_delay_p99_ms),
            reads: self.reads + other.reads,
            shared_reads: self.shared_reads + other.shared_reads,
            clamped_stamps: self.clamped_stamps + other.clamped_stamps,
            sender_cpu_share: worse(self.sender_cpu_share, other.sender_cpu_share),
            clock_step_ms: worse(self.clock_step_ms, other.clock_step_ms),
            backlog_peak_bytes: self.backlog_peak_bytes.max(other.backlog_peak_bytes),
            memory_peak_bytes: self.memory_peak_bytes.max(other.memory_peak_bytes),
            memory_share: worse(self.memory_share, other.memory_share),
        }
    }
}
