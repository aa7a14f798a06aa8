//! What a scripted server answers: bytes at exact times after it has read the request.

use std::time::Duration;

/// A whole answer, in order of time.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) acts: Vec<(Duration, Act)>,
    at: Duration,
    /// The head has been written.
    begun: bool,
}

/// One thing the server does.
#[derive(Clone)]
pub(crate) enum Act {
    Write(Vec<u8>),
    /// The response is over; the connection takes another request.
    End,
    /// The connection is closed.
    Close,
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Answer {
    /// An answer to which parts are added; as it stands the server says nothing, for ever.
    pub(crate) fn new() -> Answer {
        Answer::default()
    }

    /// `count` tokens, the first after `first`, the others `gap` apart, then everything that ends a stream.
    pub(crate) fn tokens(first: Duration, gap: Duration, count: u32) -> Answer {
        let mut answer = Answer::new().at(first);
        for i in 0..count {
            answer = answer.at(first + gap * i).token();
        }
        answer.finish("stop").usage(7, u64::from(count)).done()
    }

    /// A status with a JSON body.
    pub(crate) fn status(status: u16, at: Duration) -> Answer {
        let body = r#"{"error":{"message":"engine is busy"}}"#;
        let head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = Answer::new().at(at);
        answer.push(Act::Write(head.into_bytes()));
        answer.push(Act::End);
        answer
    }

    /// The connection is closed as soon as the request has been read.
    pub(crate) fn refusal() -> Answer {
        Answer::new().close()
    }

    /// What follows happens this long after the request has been read.
    pub(crate) fn at(mut self, at: Duration) -> Answer {
        self.at = at;
        self
    }

    pub(crate) fn role(self) -> Answer {
        self.data(
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        )
    }

    pub(crate) fn token(self) -> Answer {
        self.data(r#"{"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}"#)
    }

    pub(crate) fn reasoning(self) -> Answer {
        self.data(r#"{"choices":[{"index":0,"delta":{"reasoning_content":"t"},"finish_reason":null}]}"#)
    }

    pub(crate) fn finish(self, reason: &str) -> Answer {
        self.data(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#))
    }

    pub(crate) fn usage(self, prompt: u64, completion: u64) -> Answer {
        let total = prompt + completion;
        self.data(&format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}}}}}"#
        ))
    }

    pub(crate) fn done(self) -> Answer {
        self.data("[DONE]").end()
    }

    /// An event of the stream, whatever it holds.
    pub(crate) fn data(mut self, data: &str) -> Answer {
        self.begin();
        let event = format!("data: {data}\n\n");
        self.push(Act::Write(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()));
        self
    }

    /// Ends the body as HTTP demands.
    pub(crate) fn end(mut self) -> Answer {
        self.begin();
        self.push(Act::Write(b"0\r\n\r\n".to_vec()));
        self.push(Act::End);
        self
    }

    pub(crate) fn close(mut self) -> Answer {
        self.push(Act::Close);
        self
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            let head =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            self.push(Act::Write(head.to_vec()));
        }
    }

    fn push(&mut self, act: Act) {
        self.acts.push((self.at, act));
    }
}
