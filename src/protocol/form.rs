//! What makes an API: where it is, what is asked of it and how its answers are read.

use super::body::{Asked, Member};
use super::json::{Read, Reader};
use super::parts::Parts;
use crate::wire::Framing;

/// One API, as data. Each file of an API has one.
pub(super) struct Form {
    /// The value of `target.api`.
    pub(super) name: &'static str,
    /// Where requests go, below the target's URL.
    pub(super) path: &'static str,
    /// Where its models are listed.
    pub(super) models_path: &'static str,
    /// How its streams are cut.
    pub(super) framing: Framing,
    /// How a key is shown.
    pub(super) key: KeyHeader,
    /// Headers that it calls for.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// Whether `exact` lengths can be asked for.
    pub(super) has_exact_length: bool,
    /// Whether a prompt may be a list of token ids.
    pub(super) takes_ids: bool,
    /// Members of a request, in order.
    pub(super) members: for<'a> fn(&Asked<'a>) -> Vec<(&'static str, Member<'a>)>,
    /// Reads an event of a stream.
    pub(super) event: ReadParts,
    /// Reads a whole answer.
    pub(super) document: ReadParts,
    /// Names of members that differ from one token event to the next and are not read.
    pub(super) volatile: &'static [&'static str],
    /// Names of members whose value names the stream: the same in all of its events, another in each stream's.
    pub(super) own: &'static [&'static str],
    /// Name of the member that states the output tokens so far, where token events may.
    pub(super) counter: Option<&'static str>,
}

/// Reads one JSON object to its end.
pub(super) type ReadParts = for<'a> fn(&mut Reader<'a>, &mut Parts<'a>) -> Read<()>;

/// How a key is shown to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyHeader {
    /// `authorization: Bearer KEY`
    Bearer,
    /// `x-api-key: KEY`
    XApiKey,
}
