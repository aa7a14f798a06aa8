//! What a plan says of a request.

/// What the plan says of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// Index of the request in the run.
    pub request: u64,
    /// Index of its session in the run.
    pub session: u64,
    /// Turn within the session, from 0.
    pub turn: u32,
    /// Index of the phase.
    pub phase: u32,
    /// Index of the workload.
    pub workload: u32,
    /// Row of the data set, from 0.
    pub dataset_row: Option<u64>,
    /// Prompt length in tokens as the server should count it, where it is known beforehand.
    pub prompt_tokens_planned: Option<u32>,
    /// Output length asked for.
    pub output_tokens_planned: Option<u32>,
    /// Group of requests that share a beginning, from 0.
    pub prefix_group: Option<u32>,
    /// Tokens that all prompts of the group begin with.
    pub prefix_tokens: Option<u32>,
    /// What is hidden in the prompt.
    pub needle: Option<Needle>,
}

/// Where a needle is hidden in a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needle {
    /// How deep, as a share of the prompt: 0 at its beginning, 1 at its end.
    pub depth: f64,
    /// Length asked of the prompt, in tokens.
    pub length_tokens: u32,
}
