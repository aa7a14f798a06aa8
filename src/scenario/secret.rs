//! Text that must not be seen.

use std::fmt;

use super::suggest::nearest;

/// A value that reaches the wire and nothing else: neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `value`.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself, for the request that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Whether a key of this name holds a secret, or a table of them: headers, keys, tokens, passwords. Told from the
/// name alone, so that a secret under a misspelt or misplaced key is not shown either.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', '_', ' '], "");
    let within = ["header", "authorization", "apikey", "passw", "secret", "credential", "cookie", "bearer"];
    let at_end = ["key", "token", "auth"];
    let alike = ["headers", "authorization", "apikey", "apikeyenv"];
    name != "firsttoken"
        && (within.iter().any(|part| name.contains(part))
            || at_end.iter().any(|part| name.ends_with(part))
            || nearest(&name, alike.into_iter()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_to_nobody_who_prints_it() {
        let secret = Secret::new("sk-TEST-123");
        assert_eq!(format!("{secret} {secret:?} {secret:#?}"), "… Secret(…) Secret(…)");
        assert_eq!(secret.reveal(), "sk-TEST-123");
    }

    #[test]
    fn names_of_secrets_are_known_in_every_spelling_and_lengths_are_not_among_them() {
        for name in [
            "headers",
            "Authorization",
            "api_key_env",
            "API-KEY",
            "apiKey",
            "hf_token",
            "heders",
            "api_kee_env",
            "x-api-key",
            "extra_headers",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for key in crate::scenario::keys::TABLES.iter().flat_map(|table| table.keys) {
            assert_eq!(
                is_secret_name(key.name),
                matches!(key.name, "headers" | "api_key_env" | "key"),
                "{}",
                key.name
            );
        }
    }
}
