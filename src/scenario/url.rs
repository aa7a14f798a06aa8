//! Addresses of servers.

use std::fmt;
use std::net::Ipv6Addr;

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Plain text.
    Http,
    /// TLS.
    Https,
    /// Plain text through a socket of this machine's file system.
    Unix,
}

impl Scheme {
    /// The name in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Unix => "unix",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
            Scheme::Unix => 0,
        }
    }
}

/// The address of a server and the path under which its API stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetUrl {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Name or address to connect to, lower case, without the brackets of an IPv6 address; of a socket in the
    /// file system its path.
    pub host: String,
    /// Port to connect to; 0 where there is none.
    pub port: u16,
    /// What every path begins with: empty, or `/api/openai` without a slash at the end.
    pub base_path: String,
}

/// Why a text is no [`TargetUrl`]. Holds no part of the text: there may be a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlError {
    /// What is wrong.
    pub problem: &'static str,
    /// What to do about it.
    pub help: &'static str,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem, self.help)
    }
}

impl std::error::Error for UrlError {}

const FORM: &str = "write it like `http://127.0.0.1:8000` or `https://example.org/api/openai`";
const UNIX_FORM: &str = "write it like `unix:/run/llm.sock`, or `unix:/run/llm.sock:/api` with a base path";

impl TargetUrl {
    /// Reads `http://host`, `https://host:8443/base/path`, `http://[::1]:8000/`, `unix:/path/of.sock:/base/path`.
    ///
    /// # Errors
    /// When the text is anything else, or carries a password, a query or a fragment.
    pub fn parse(text: &str) -> Result<TargetUrl, UrlError> {
        let refuse = |problem, help| UrlError { problem, help };
        if let Some(rest) = text.strip_prefix("unix:") {
            return TargetUrl::unix(rest);
        }
        let (scheme, rest) = text.split_once("://").ok_or(refuse("the URL has no scheme", FORM))?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(refuse("the URL's scheme is neither `http` nor `https`", FORM)),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            let help =
                "name the key's environment variable in `api_key_env`, or write an `authorization` header";
            return Err(refuse("a URL with a user name or password is not taken", help));
        }
        let base_path = base_path(path)?;
        let (host, port) =
            split_port(authority).ok_or(refuse("the URL's host or port cannot be read", FORM))?;
        let host = host_name(host).ok_or(refuse("the URL's host cannot be read", FORM))?;
        let port = match port {
            None => scheme.default_port(),
            Some(port) => match port.parse() {
                Ok(port) if port > 0 && port_is_digits(authority) => port,
                _ => return Err(refuse("the URL's port is not a number from 1 to 65535", FORM)),
            },
        };
        Ok(TargetUrl { scheme, host, port, base_path })
    }

    fn unix(rest: &str) -> Result<TargetUrl, UrlError> {
        let (socket, base) = rest.split_once(':').unwrap_or((rest, ""));
        let is_path = socket.len() > 1 && socket.starts_with('/') && !socket.starts_with("//");
        if !is_path || !(base.is_empty() || base.starts_with('/')) || socket.contains(char::is_control) {
            return Err(UrlError { problem: "the path of the socket cannot be read", help: UNIX_FORM });
        }
        Ok(TargetUrl { scheme: Scheme::Unix, host: socket.to_owned(), port: 0, base_path: base_path(base)? })
    }

    /// Scheme and server, without the base path.
    pub fn origin(&self) -> String {
        match self.scheme {
            Scheme::Unix => format!("unix:{}", self.host),
            scheme => format!("{}://{}", scheme.name(), self.authority()),
        }
    }

    /// The path of a request: `path` (`/v1/chat/completions`) after the base path. A base that ends with `/v1`
    /// does not get a second one.
    pub fn join(&self, path: &str) -> String {
        let path = match path.strip_prefix("/v1") {
            Some(rest) if self.base_path.ends_with("/v1") && rest.starts_with('/') => rest,
            _ => path,
        };
        format!("{}{path}", self.base_path)
    }

    /// Host and, unless it is the scheme's own, port: the value of a `host` header. A socket of this machine is
    /// `localhost`.
    pub fn authority(&self) -> String {
        if self.scheme == Scheme::Unix {
            return "localhost".to_owned();
        }
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.scheme == Scheme::Unix && !self.base_path.is_empty() { ":" } else { "" };
        write!(f, "{}{mark}{}", self.origin(), self.base_path)
    }
}

fn base_path(path: &str) -> Result<String, UrlError> {
    let refuse = |problem, help| UrlError { problem, help };
    if path.contains(['?', '#']) {
        return Err(refuse("the URL has a query or a fragment", "give host, port and base path alone"));
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~!$&'()*+,;=:@%".contains(c);
    if !path.chars().all(is_allowed) {
        return Err(refuse("the URL's path has a character that must be escaped", "write it as `%20`, say"));
    }
    let base_path = path.trim_end_matches('/');
    if base_path.ends_with("/completions") {
        return Err(refuse(
            "the URL ends with the path of a request",
            "give what stands before `/v1/chat/completions`; the rest is added for each request",
        ));
    }
    Ok(base_path.to_owned())
}

fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        let address = host.parse::<Ipv6Addr>().is_ok();
        return match after.strip_prefix(':') {
            Some(port) if address => Some((host, Some(port))),
            None if address && after.is_empty() => Some((host, None)),
            _ => None,
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((authority, None)),
    }
}

/// `parse` would take a sign.
fn port_is_digits(authority: &str) -> bool {
    authority.rsplit(':').next().is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn host_name(host: &str) -> Option<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    (!host.is_empty() && host.chars().all(is_allowed)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_scheme_host_port_and_base_path() {
        let cases = [
            ("http://127.0.0.1:8000", Scheme::Http, "127.0.0.1", 8000, ""),
            ("http://localhost/", Scheme::Http, "localhost", 80, ""),
            ("unix:/run/LLM.sock", Scheme::Unix, "/run/LLM.sock", 0, ""),
            ("unix:/run/llm.sock:/api/", Scheme::Unix, "/run/llm.sock", 0, "/api"),
            ("HTTPS://Example.org", Scheme::Https, "example.org", 443, ""),
            ("https://h:8443/api/openai/", Scheme::Https, "h", 8443, "/api/openai"),
            ("http://[::1]:8000/v1", Scheme::Http, "::1", 8000, "/v1"),
            ("http://[2001:db8::1]", Scheme::Http, "2001:db8::1", 80, ""),
        ];
        for (text, scheme, host, port, base) in cases {
            let (host, base_path) = (host.to_owned(), base.to_owned());
            assert_eq!(TargetUrl::parse(text), Ok(TargetUrl { scheme, host, port, base_path }), "{text}");
        }
    }

    #[test]
    fn c148_a_request_goes_under_the_base_path_and_v1_is_not_doubled() {
        let cases = [
            ("http://h", "/v1/chat/completions"),
            ("http://h/", "/v1/chat/completions"),
            ("http://h/v1", "/v1/chat/completions"),
            ("http://h/v1/", "/v1/chat/completions"),
            ("http://h/api/openai", "/api/openai/v1/chat/completions"),
            ("http://h/api/openai/v1/", "/api/openai/v1/chat/completions"),
            ("http://h/av1", "/av1/v1/chat/completions"),
        ];
        for (base, path) in cases {
            assert_eq!(TargetUrl::parse(base).unwrap().join("/v1/chat/completions"), path, "{base}");
        }
        assert_eq!(TargetUrl::parse("http://h/v1").unwrap().join("/tokenize"), "/v1/tokenize");
    }

    #[test]
    fn the_host_header_leaves_out_the_usual_port_and_brackets_ipv6() {
        let authority = |text| TargetUrl::parse(text).unwrap().authority();
        assert_eq!(authority("http://h:80"), "h");
        assert_eq!(authority("https://h:80"), "h:80");
        assert_eq!(authority("http://[::1]:9000/x"), "[::1]:9000");
    }

    #[test]
    fn what_is_no_plain_http_address_is_refused_without_being_repeated() {
        let bad = [
            "",
            "127.0.0.1:8000",
            "ftp://h",
            "http://",
            "http:///v1",
            "http://h:0",
            "http://h:70000",
            "http://h:",
            "http://h:+80",
            "http://:80",
            "http://user:hunter2@h",
            "http://h?key=hunter2",
            "http://h/#hunter2",
            "http://[::1",
            "http://[nope]",
            "http://::1",
            "http://h/a b",
            "http://hö",
            "http://h\\x",
            "http://h:8 0",
            "http://h/v1/chat/completions",
            "http://[fe80::1%25eth0]",
            "http://h\r\nx: y",
        ];
        for text in bad {
            let error = TargetUrl::parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_url_written_reads_the_same(text in "https?://([a-z0-9.-]{1,9}|\\[::[0-9a-f]{1,4}\\])(:[1-9][0-9]{0,3})?(/[a-z0-9%]{0,4}){0,3}") {
            let url = TargetUrl::parse(&text).unwrap();
            proptest::prop_assert_eq!(TargetUrl::parse(&url.to_string()), Ok(url));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = TargetUrl::parse(&text);
        }
    }
}
