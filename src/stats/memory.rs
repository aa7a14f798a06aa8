//! What a model's keys and values take of a server's memory, and how many sequences fit beside its weights.
//!
//! ```text
//! bytes a token = layers · elements a layer · bytes of an element · copies
//! elements a layer = 2 · KV heads · head size        (MHA, GQA, MQA: a key and a value for each KV head)
//!                  = latent size                     (MLA: the compressed latent and the shared rotary key)
//! copies = max(1, ranks / KV heads), ranks for a latent
//! tokens = (memory · utilisation − weights) / bytes a token
//! ```
//!
//! Copies: tensor parallelism splits heads over its ranks; a head cannot be split, so with more ranks than heads
//! each rank keeps a copy, and a latent, which all heads share, is kept by every rank. Room for activations and
//! graphs is not known here and not subtracted: what is said to fit is the most that can.

/// Tokens of a block of memory where nothing else is known: the default of vLLM and of the simulated server.
pub const BLOCK_TOKENS: u64 = 16;

/// How one layer stores a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvLayout {
    /// A key and a value for each KV head: as many as query heads (MHA), fewer (GQA), or one (MQA).
    Heads {
        /// KV heads, at least 1.
        kv_heads: u64,
        /// Elements of one key or value, at least 1.
        head_size: u64,
    },
    /// One latent vector for all heads (MLA).
    Latent {
        /// Its elements, the rotary key's among them, at least 1.
        size: u64,
    },
}

/// The type of one element of a key, a value or a latent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// 32-bit floating point.
    Fp32,
    /// 16-bit floating point.
    Fp16,
    /// bfloat16.
    Bf16,
    /// 8-bit floating point.
    Fp8,
    /// 8-bit whole numbers.
    Int8,
    /// 4-bit whole numbers.
    Int4,
}

impl ElementType {
    /// All, in the order of the key's values.
    pub const ALL: [ElementType; 6] = [
        ElementType::Fp32,
        ElementType::Fp16,
        ElementType::Bf16,
        ElementType::Fp8,
        ElementType::Int8,
        ElementType::Int4,
    ];

    /// The value in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Fp32 => "fp32",
            ElementType::Fp16 => "fp16",
            ElementType::Bf16 => "bf16",
            ElementType::Fp8 => "fp8",
            ElementType::Int8 => "int8",
            ElementType::Int4 => "int4",
        }
    }

    /// Bytes of one, scales of quantized ones left out.
    pub fn bytes(self) -> f64 {
        match self {
            ElementType::Fp32 => 4.0,
            ElementType::Fp16 | ElementType::Bf16 => 2.0,
            ElementType::Fp8 | ElementType::Int8 => 1.0,
            ElementType::Int4 => 0.5,
        }
    }
}

/// A model in a server's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMemory {
    /// Layers that keep keys and values, at least 1.
    pub layers: u64,
    /// What each of them keeps of a token.
    pub layout: KvLayout,
    /// Type of what is kept.
    pub kv_type: ElementType,
    /// Bytes of all weights; `None` where not known.
    pub weights: Option<u64>,
    /// Memory of all devices together, in bytes; `None` where not stated.
    pub memory: Option<u64>,
    /// Share of the memory that the server takes.
    pub utilisation: f64,
    /// Ranks of tensor parallelism, at least 1.
    pub tensor_parallel: u64,
}

impl ModelMemory {
    /// How many times tensor parallelism keeps the same element.
    pub fn copies(&self) -> f64 {
        let ranks = self.tensor_parallel as f64;
        match self.layout {
            KvLayout::Heads { kv_heads, .. } => (ranks / kv_heads as f64).max(1.0),
            KvLayout::Latent { .. } => ranks,
        }
    }

    /// Bytes that one token of one sequence takes, over all layers and devices.
    pub fn kv_bytes_per_token(&self) -> f64 {
        let elements = match self.layout {
            KvLayout::Heads { kv_heads, head_size } => 2.0 * kv_heads as f64 * head_size as f64,
            KvLayout::Latent { size } => size as f64,
        };
        self.layers as f64 * elements * self.kv_type.bytes() * self.copies()
    }

    /// Tokens that fit beside the weights, at most; 0 where the weights alone do not fit, `None` where memory or
    /// weights are not known.
    pub fn kv_tokens(&self) -> Option<u64> {
        let left = self.memory? as f64 * self.utilisation - self.weights? as f64;
        // f64 to integer casts saturate: what does not fit is 0.
        Some((left / self.kv_bytes_per_token()) as u64)
    }

    /// Sequences of `length` tokens that fit at once, each in whole blocks of `block_tokens` (at least 1).
    pub fn sequences(&self, length: u64, block_tokens: u64) -> Option<u64> {
        let blocks = self.kv_tokens()? / block_tokens.max(1);
        Some(blocks / length.div_ceil(block_tokens.max(1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(layers: u64, layout: KvLayout) -> ModelMemory {
        ModelMemory {
            layers,
            layout,
            kv_type: ElementType::Bf16,
            weights: None,
            memory: None,
            utilisation: 0.9,
            tensor_parallel: 1,
        }
    }

    fn heads(kv_heads: u64, head_size: u64) -> KvLayout {
        KvLayout::Heads { kv_heads, head_size }
    }

    /// Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023), 3:
    /// "for the 13B parameter OPT model, the KV cache of a single token demands 800 KB".
    #[test]
    fn mha_is_that_of_opt_13b_in_the_paper_on_paged_attention() {
        assert_eq!(model(40, heads(40, 128)).kv_bytes_per_token(), 800.0 * 1024.0);
    }

    /// Zhao et al., "Insights into DeepSeek-V3" (2025), table 1: 327.680 KB a token for Qwen-2.5 72B and 516.096 KB
    /// for LLaMA-3.1 405B in 16 bit.
    #[test]
    fn gqa_is_that_of_the_table_in_insights_into_deepseek_v3() {
        assert_eq!(model(80, heads(8, 128)).kv_bytes_per_token(), 327_680.0);
        assert_eq!(model(126, heads(8, 128)).kv_bytes_per_token(), 516_096.0);
    }

    /// The same table: 70.272 KB a token for DeepSeek-V3, which keeps a latent of 512 and a rotary key of 64.
    #[test]
    fn mla_is_that_of_the_table_in_insights_into_deepseek_v3() {
        let mla = model(61, KvLayout::Latent { size: 512 + 64 });
        assert_eq!(mla.kv_bytes_per_token(), 70_272.0);
        // Every rank keeps the latent.
        assert_eq!(ModelMemory { tensor_parallel: 8, ..mla }.kv_bytes_per_token(), 8.0 * 70_272.0);
    }

    /// Pope et al., "Efficiently Scaling Transformer Inference" (2022), table 1: PaLM 540B with one KV head of 256
    /// holds contexts of 43,000 tokens for 128 sequences, or of 10,700 for 512, in 30 % of 64 chips of 32 GiB.
    #[test]
    fn mqa_is_that_of_palm_in_the_paper_on_scaling_inference() {
        let palm = ModelMemory {
            weights: Some(0),
            memory: Some(64 * (32 << 30)),
            utilisation: 0.3,
            ..model(118, heads(1, 256))
        };
        let tokens = palm.kv_tokens().unwrap() as f64;
        assert!((tokens / 128.0 / 43_000.0 - 1.0).abs() < 0.01, "{tokens}");
        assert!((tokens / 512.0 / 10_700.0 - 1.0).abs() < 0.01, "{tokens}");
    }

    #[test]
    fn more_ranks_than_heads_keep_copies() {
        let model = model(80, heads(8, 128));
        let at = |tensor_parallel| ModelMemory { tensor_parallel, ..model.clone() }.kv_bytes_per_token();
        assert_eq!([at(1), at(8), at(16)], [327_680.0, 327_680.0, 655_360.0]);
    }

    #[test]
    fn sequences_fit_by_whole_blocks_and_not_beside_weights_that_do_not() {
        let model = ModelMemory { weights: Some(1000), memory: Some(2000), ..model(1, heads(1, 1)) };
        // 1800 − 1000 bytes at 4 a token: 200 tokens, 12 blocks of 16.
        assert_eq!(model.kv_tokens(), Some(200));
        let fit = |length| model.sequences(length, 16);
        assert_eq!([fit(1), fit(16), fit(17), fit(64), fit(193)].map(Option::unwrap), [12, 12, 6, 3, 0]);
        let heavy = ModelMemory { weights: Some(1900), ..model.clone() };
        assert_eq!((heavy.kv_tokens(), heavy.sequences(1, 16)), (Some(0), Some(0)));
        assert_eq!(ModelMemory { weights: None, ..model }.kv_tokens(), None);
    }
}
