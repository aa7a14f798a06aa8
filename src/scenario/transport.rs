//! How the target is reached: the part of `[target]` that the client's connections follow.

use super::fields::Fields;
use super::values::Field;

/// How connections to the target are made and measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// What times the arrival of bytes.
    pub stamps: Stamps,
}

/// What times the arrival of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The kernel, where it can be had; else the read.
    Kernel,
    /// The read.
    User,
}

impl Default for Transport {
    /// What holds where a scenario says nothing.
    fn default() -> Transport {
        Transport { stamps: Stamps::Kernel }
    }
}

impl Stamps {
    /// All, in the order of the key's values.
    pub const ALL: [Stamps; 2] = [Stamps::Kernel, Stamps::User];

    /// The value in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Stamps::Kernel => "kernel",
            Stamps::User => "user",
        }
    }
}

/// Reads the keys of `[target]` that this is about.
pub(super) fn read(fields: &Fields<'_>) -> Option<Transport> {
    let stamps = fields.value("stamps", Field::choice).and_then(|index| Stamps::ALL.get(index).copied());
    Some(Transport { stamps: stamps? })
}
