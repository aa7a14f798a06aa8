//! How long a step of the engine takes.

use std::time::Duration;

/// What one step processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Sequences that take part, decoding or prefilling.
    pub sequences: u64,
    /// Prompt tokens over all of them.
    pub prefill_tokens: u64,
    /// Tokens over all of them, those that decode (one each) among them.
    pub tokens: u64,
    /// Tokens whose keys and values are read: the contexts of all sequences, the step's own tokens included.
    pub context_tokens: u64,
    /// Σ n · (2k + n) over the sequences, each with n tokens in the step and k before it: twice the pairs of
    /// tokens that attend to each other. It adds up alike however a prompt is cut into chunks.
    pub attention: u64,
}

impl Batch {
    /// Adds a sequence with `new` tokens after `context` others; `prefill` if they are of its prompt.
    pub fn add(&mut self, new: u64, context: u64, prefill: bool) {
        self.sequences += 1;
        self.tokens += new;
        self.prefill_tokens += if prefill { new } else { 0 };
        self.context_tokens = self.context_tokens.saturating_add(context + new);
        self.attention = self.attention.saturating_add(new.saturating_mul(2 * context + new));
    }
}

/// How long a step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CostModel {
    /// Stated times, for tests and for queues of textbooks.
    Fixed(FixedCost),
    /// What a model needs of a machine.
    Roofline(Roofline),
}

impl Default for CostModel {
    /// Nothing takes any time.
    fn default() -> CostModel {
        CostModel::Fixed(FixedCost::default())
    }
}

impl CostModel {
    /// The time one step over `batch` computes, before its tokens are handed out.
    pub fn computing_time(&self, batch: Batch) -> Duration {
        match self {
            CostModel::Fixed(cost) => cost.computing_time(batch),
            CostModel::Roofline(cost) => cost.computing_time(batch),
        }
    }

    /// The time that handing out the tokens of `batch` takes after that, one sequence after the other.
    pub fn handing_time(&self, batch: Batch) -> Duration {
        let nanos = self.sequence_cost().as_nanos().saturating_mul(u128::from(batch.sequences));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The time one step over `batch` takes.
    pub fn step_time(&self, batch: Batch) -> Duration {
        self.computing_time(batch).saturating_add(self.handing_time(batch))
    }

    /// The time that each sequence adds to a step.
    pub fn sequence_cost(&self) -> Duration {
        match self {
            CostModel::Fixed(cost) => cost.sequence_cost,
            CostModel::Roofline(cost) => cost.sequence_cost,
        }
    }
}

/// step time = overhead + prefill tokens / prefill rate, rounded to whole nanoseconds, ties to even, then
/// sequences × sequence cost to hand out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FixedCost {
    /// Time of every step, whatever is in it.
    pub step_overhead: Duration,
    /// Time added by each sequence that takes part in the step: its token is handed out.
    pub sequence_cost: Duration,
    /// Prompt tokens processed per second; `None` where they cost nothing.
    pub prefill_tokens_per_s: Option<f64>,
}

impl FixedCost {
    fn computing_time(&self, batch: Batch) -> Duration {
        let prefill = match self.prefill_tokens_per_s {
            Some(rate) => seconds(batch.prefill_tokens as f64 / rate),
            None => Duration::ZERO,
        };
        self.step_overhead.saturating_add(prefill)
    }
}

/// A roofline after Williams, Waterman and Patterson (2009): each part of a step is as slow as the scarcer of
/// arithmetic and memory, and the parts follow one another.
///
/// ```text
/// linear layers  max(2 · parameters · tokens / F,  weight bytes / B)
/// attention      max(4 · layers · heads · head size · Σ n(2k + n)/2 / F,  KV bytes a token · Σ (k + n) / B)
/// exchange       2 · layers · (latency + 2 · (d − 1)/d · tokens · hidden · 2 bytes / link),  0 for d = 1
/// step           overhead + linear + attention + exchange, then sequences · sequence cost to hand out
/// ```
///
/// F is the peak arithmetic and B the memory bandwidth of all `d` devices together, each times the share of it that
/// real kernels reach. The factor 2 of the linear layers is a multiplication and an addition for each parameter; the
/// factor 4 of attention the same for queries with keys and for weights with values; exchange is a ring all-reduce
/// after attention and after the feed-forward part of each layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// The model.
    pub model: Model,
    /// The machine.
    pub machine: Machine,
    /// Time of every step: launches, scheduling, sampling.
    pub step_overhead: Duration,
    /// Time added by each sequence in the step: its token is sampled and handed out.
    pub sequence_cost: Duration,
}

/// What of a model decides how long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Parameters used for each token.
    pub parameters: f64,
    /// Bytes of one parameter.
    pub bytes_per_parameter: f64,
    /// Layers.
    pub layers: u64,
    /// Size of the hidden state.
    pub hidden_size: u64,
    /// Query heads.
    pub attention_heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Size of a head.
    pub head_size: u64,
    /// Bytes of one element of a key or value.
    pub kv_bytes: f64,
}

impl Model {
    /// Bytes of all weights.
    pub fn weight_bytes(&self) -> f64 {
        self.parameters * self.bytes_per_parameter
    }

    /// Bytes of the keys and values of one token over all layers.
    pub fn kv_bytes_per_token(&self) -> f64 {
        2.0 * (self.layers * self.kv_heads * self.head_size) as f64 * self.kv_bytes
    }
}

/// The devices that serve a model together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Devices: the degree of tensor parallelism.
    pub devices: u64,
    /// Memory of one, in bytes.
    pub memory_bytes: f64,
    /// Memory bandwidth of one, bytes per second.
    pub bandwidth: f64,
    /// Share of the bandwidth that kernels reach.
    pub bandwidth_share: f64,
    /// Peak arithmetic of one, dense, in the type the model computes in, per second.
    pub flops: f64,
    /// Share of the peak that kernels reach.
    pub flops_share: f64,
    /// Bandwidth between devices, one direction, bytes per second.
    pub link: f64,
    /// Time of one exchange between devices, however small.
    pub link_latency: Duration,
}

impl Roofline {
    fn computing_time(&self, batch: Batch) -> Duration {
        let Roofline { model, machine, .. } = self;
        let devices = machine.devices as f64;
        let flops = machine.flops * machine.flops_share * devices;
        let bandwidth = machine.bandwidth * machine.bandwidth_share * devices;
        let tokens = batch.tokens as f64;
        let linear = (2.0 * model.parameters * tokens / flops).max(model.weight_bytes() / bandwidth);
        let pairs = batch.attention as f64 / 2.0;
        let heads = (model.layers * model.attention_heads * model.head_size) as f64;
        let read = model.kv_bytes_per_token() * batch.context_tokens as f64;
        let attention = (4.0 * heads * pairs / flops).max(read / bandwidth);
        let exchange = if machine.devices > 1 {
            let moved = 2.0 * (devices - 1.0) / devices * tokens * model.hidden_size as f64 * 2.0;
            2.0 * model.layers as f64 * (machine.link_latency.as_secs_f64() + moved / machine.link)
        } else {
            0.0
        };
        self.step_overhead.saturating_add(seconds(linear + attention + exchange))
    }

    /// Blocks of `block_tokens` that fit beside the weights when `utilisation` of the memory is used; 0 where the
    /// weights alone do not fit.
    pub fn kv_blocks(&self, utilisation: f64, block_tokens: u64) -> u64 {
        let memory = self.machine.memory_bytes * self.machine.devices as f64 * utilisation;
        let left = memory - self.model.weight_bytes();
        // f64 to integer casts saturate: what does not fit is 0.
        (left / (self.model.kv_bytes_per_token() * block_tokens as f64)) as u64
    }
}

/// Seconds to whole nanoseconds, ties to even. The cast saturates, so a hopeless time is merely very long.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos(libm::rint(seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_terms_of_a_fixed_cost_add_up_to_the_nanosecond() {
        let model = CostModel::Fixed(FixedCost {
            step_overhead: Duration::from_nanos(5_000_123),
            sequence_cost: Duration::from_nanos(70_001),
            prefill_tokens_per_s: Some(7_000.0),
        });
        let time = |sequences, prefill_tokens| {
            model.step_time(Batch { sequences, prefill_tokens, ..Batch::default() }).as_nanos()
        };
        assert_eq!(time(1, 0), 5_070_124);
        assert_eq!(time(3, 0), 5_210_126);
        // 10 / 7,000 s = 1,428,571.43 ns
        assert_eq!(time(3, 10), 5_210_126 + 1_428_571);
    }

    #[test]
    fn without_a_rate_prompts_cost_nothing_and_no_rate_overflows() {
        let much = Batch { sequences: 9, prefill_tokens: u64::MAX, ..Batch::default() };
        assert_eq!(CostModel::default().step_time(much), Duration::ZERO);
        let hopeless = FixedCost { prefill_tokens_per_s: Some(1e-300), ..FixedCost::default() };
        let one = Batch { sequences: 1, prefill_tokens: 1, ..Batch::default() };
        assert_eq!(CostModel::Fixed(hopeless).step_time(one), Duration::from_nanos(u64::MAX));
    }

    /// 1 G parameters in 2 bytes, 10 layers; per token 2 · 10 · 2 · 64 · 2 = 5,120 bytes of KV. 1 TB/s and
    /// 100 TFLOP/s, half of each reached.
    fn roofline(devices: u64) -> CostModel {
        CostModel::Roofline(Roofline {
            model: Model {
                parameters: 1e9,
                bytes_per_parameter: 2.0,
                layers: 10,
                hidden_size: 512,
                attention_heads: 8,
                kv_heads: 2,
                head_size: 64,
                kv_bytes: 2.0,
            },
            machine: Machine {
                devices,
                memory_bytes: 10e9,
                bandwidth: 1e12,
                bandwidth_share: 0.5,
                flops: 100e12,
                flops_share: 0.5,
                link: 100e9,
                link_latency: Duration::from_micros(10),
            },
            step_overhead: Duration::from_millis(1),
            sequence_cost: Duration::from_micros(5),
        })
    }

    fn batch(sequences: &[(u64, u64, bool)]) -> Batch {
        let mut batch = Batch::default();
        sequences.iter().for_each(|(new, context, prefill)| batch.add(*new, *context, *prefill));
        batch
    }

    #[test]
    fn decode_is_bound_by_reading_weights_and_keys() {
        // 1 ms + 5 µs + 2 GB / 500 GB/s = 4 ms + 1,000 · 5,120 B / 500 GB/s = 10.24 µs
        let one = roofline(1).step_time(batch(&[(1, 999, false)]));
        assert_eq!(one.as_nanos(), 1_000_000 + 5_000 + 4_000_000 + 10_240);
        let two = roofline(1).step_time(batch(&[(1, 999, false), (1, 2_999, false)]));
        assert_eq!(two.as_nanos(), 1_000_000 + 10_000 + 4_000_000 + 40_960);
    }

    #[test]
    fn prefill_is_bound_by_arithmetic() {
        // 2 · 1e9 · 1,000 / 50e12 = 40 ms; 4 · 10 · 8 · 64 · 1,000 · 1,000 / 2 / 50e12 = 204.8 µs
        let whole = roofline(1).step_time(batch(&[(1_000, 0, true)]));
        assert_eq!(whole.as_nanos(), 1_000_000 + 5_000 + 40_000_000 + 204_800);
        // The second half attends to the first as well: three quarters of the pairs.
        let half = roofline(1).step_time(batch(&[(500, 500, true)]));
        assert_eq!(half.as_nanos(), 1_000_000 + 5_000 + 20_000_000 + 153_600);
    }

    #[test]
    fn chunks_of_a_prompt_have_the_attention_of_the_whole() {
        let chunks = batch(&[(300, 0, true), (500, 300, true), (200, 800, true)]);
        assert_eq!(chunks.attention, batch(&[(1_000, 0, true)]).attention);
        assert_eq!((chunks.tokens, chunks.prefill_tokens, chunks.sequences), (1_000, 1_000, 3));
    }

    #[test]
    fn devices_share_the_work_and_pay_for_the_exchange() {
        // A quarter of 4 ms and of 10.24 µs; 20 exchanges of 10 µs + 2 · 3/4 · 512 · 2 B / 100 GB/s = 15.36 ns
        let four = roofline(4).step_time(batch(&[(1, 999, false)]));
        assert_eq!(four.as_nanos(), 1_000_000 + 5_000 + 1_000_000 + 2_560 + 200_000 + 307);
    }

    #[test]
    fn blocks_are_what_the_weights_leave_of_the_memory() {
        // (10 GB · 0.9 − 2 GB) / (5,120 B · 16) = 85,449.2
        let kv_blocks = |devices, utilisation| match roofline(devices) {
            CostModel::Roofline(cost) => cost.kv_blocks(utilisation, 16),
            CostModel::Fixed(_) => 0,
        };
        assert_eq!(kv_blocks(1, 0.9), 85_449);
        assert_eq!(kv_blocks(2, 0.9), 195_312);
        assert_eq!(kv_blocks(1, 0.2), 0);
        assert_eq!(kv_blocks(1, 0.1), 0, "the weights do not fit");
    }
}
