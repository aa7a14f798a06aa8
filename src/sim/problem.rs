//! Why a request is refused, in the form OpenAI-compatible servers give it.

use serde_json::json;

use super::request::Refusal;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: u16,
    kind: &'static str,
    pub(super) message: String,
    pub(super) param: Option<&'static str>,
    /// The methods the path takes, where another one was used.
    pub(super) allowed: Option<&'static str>,
}

impl Problem {
    /// 400: the request is not one that can be served.
    pub(super) fn bad_request(message: impl Into<String>, param: Option<&'static str>) -> Problem {
        Problem { status: 400, kind: "BadRequestError", message: message.into(), param, allowed: None }
    }

    /// 400: the simulated server does not do this, and does not pretend to.
    pub(super) fn unsupported(param: &'static str) -> Problem {
        let message = format!("The simulated server does not support `{param}`.");
        Problem::bad_request(message, Some(param))
    }

    /// 404: no such model.
    pub(super) fn unknown_model(asked: &str, served: &str) -> Problem {
        let message = format!("The model `{asked}` does not exist. The model served is `{served}`.");
        Problem { status: 404, kind: "NotFoundError", message, param: Some("model"), allowed: None }
    }

    /// 404: no such path.
    pub(super) fn unknown_path() -> Problem {
        let message = "There is nothing at this path.".to_owned();
        Problem { status: 404, kind: "NotFoundError", message, param: None, allowed: None }
    }

    /// 405: the path takes `allowed` only.
    pub(super) fn method(allowed: &'static str) -> Problem {
        let message = format!("This path takes {allowed} only.");
        Problem { status: 405, kind: "MethodNotAllowedError", message, param: None, allowed: Some(allowed) }
    }

    /// 401. The key that was sent is not repeated.
    pub(super) fn unauthorised() -> Problem {
        let message = "The API key is missing or wrong.".to_owned();
        Problem { status: 401, kind: "AuthenticationError", message, param: None, allowed: None }
    }

    /// 413: the body exceeds `limit` bytes.
    pub(super) fn too_large(limit: usize) -> Problem {
        let message = format!("The request body exceeds {limit} bytes.");
        Problem { status: 413, kind: "BadRequestError", message, param: None, allowed: None }
    }

    /// A failure on purpose, of any status.
    pub(super) fn injected(status: u16) -> Problem {
        let (kind, message) = match status {
            429 => ("RateLimitError", "Too many requests; this one was refused on purpose."),
            400..500 => ("BadRequestError", "The request was refused on purpose."),
            503 => ("ServiceUnavailableError", "The server is unavailable on purpose."),
            _ => ("InternalServerError", "The server failed on purpose."),
        };
        Problem { status, kind, message: message.to_owned(), param: None, allowed: None }
    }

    /// The error object.
    pub(super) fn to_json(&self) -> String {
        let Problem { status, kind, message, param, .. } = self;
        json!({ "error": { "message": message, "type": kind, "param": param, "code": status } }).to_string()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let param = match refusal {
            Refusal::EmptyPrompt | Refusal::PromptTooLong { .. } => "input_tokens",
            Refusal::NoAnswer | Refusal::AnswerTooLong { .. } => "max_tokens",
        };
        Problem::bad_request(refusal.to_string(), Some(param))
    }
}
