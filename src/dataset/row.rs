//! What one row of a data set says, whatever its file looks like.

use crate::prompt::{Message, Role};

/// What a row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What the model is told before anything is asked.
    pub system: Option<String>,
    /// What is asked, at least once.
    pub turns: Vec<Turn>,
    /// The reference answer as it stands in the file, where the format has one.
    pub truth: Option<String>,
    /// Tokens of the answer, where the file states them.
    pub output_tokens: Option<u32>,
    /// What a trace says of the prompt in place of its text; its only turn then says nothing.
    pub size: Option<Size>,
    /// Whether messages were left out or joined to make turns of them.
    pub is_mended: bool,
}

/// A prompt of which only the length is known, and what of it others have too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its length.
    pub prompt_tokens: u32,
    /// One id for each block of it, in order: equal ids, equal tokens. Empty where the trace has none.
    pub blocks: Vec<u64>,
    /// Tokens of a block; the last may be shorter.
    pub block_tokens: u32,
}

/// One question and the answer that was recorded with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What is said before the answer, at least one message.
    pub said: Vec<Message>,
    /// The answer that stands in the file.
    pub answer: Option<String>,
}

impl Turn {
    /// What the user says in it.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        let asked = self.said.iter().filter(|message| message.role == Role::User);
        asked.map(|message| message.content.as_str())
    }
}

impl Row {
    /// A row that asks one question.
    pub(super) fn question(prompt: String, answer: Option<String>, truth: Option<String>) -> Row {
        let turns = vec![Turn { said: vec![Message::user(prompt)], answer }];
        Row { turns, truth, ..Row::default() }
    }

    /// A row of a trace.
    pub(super) fn sized(size: Size, output_tokens: Option<u32>) -> Row {
        let turns = vec![Turn { said: Vec::new(), answer: None }];
        Row { turns, output_tokens, size: Some(size), ..Row::default() }
    }

    /// A conversation out of messages in order, by these rules: blank ones are left out, as are answers before the
    /// first question; neighbours of one role are joined by a blank line; what is said before the first question
    /// to the model itself is its system text. `None` if nobody asks anything.
    pub(super) fn conversation(messages: impl IntoIterator<Item = Message>) -> Option<Row> {
        let mut row = Row::default();
        for message in messages {
            if message.content.trim().is_empty() {
                row.is_mended = true;
                continue;
            }
            row.say(message);
        }
        // What follows the last answer and is no question waits for none.
        if row.turns.last().is_some_and(|turn| turn.asked().next().is_none()) {
            row.turns.pop();
            row.is_mended = true;
        }
        (!row.turns.is_empty()).then_some(row)
    }

    fn say(&mut self, Message { role, content }: Message) {
        let join = |text: &mut String| {
            text.push_str("\n\n");
            text.push_str(&content);
        };
        let turn = self.turns.last_mut();
        match (role, turn) {
            (Role::System, None) => match &mut self.system {
                Some(system) => join(system),
                None => self.system = Some(content),
            },
            (Role::Assistant, None) => self.is_mended = true,
            (Role::Assistant, Some(Turn { answer: Some(answer), .. })) => {
                join(answer);
                self.is_mended = true;
            }
            (Role::Assistant, Some(turn)) => turn.answer = Some(content),
            (role, Some(Turn { said, answer: None })) => match said.last_mut() {
                Some(last) if last.role == role => {
                    join(&mut last.content);
                    self.is_mended = true;
                }
                _ => said.push(Message { role, content }),
            },
            (role, _) => self.turns.push(Turn { said: vec![Message { role, content }], answer: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(messages: &[(&str, &str)]) -> Option<Row> {
        let role = |name| match name {
            "s" => Role::System,
            "u" => Role::User,
            _ => Role::Assistant,
        };
        Row::conversation(
            messages.iter().map(|(name, text)| Message { role: role(*name), content: (*text).to_owned() }),
        )
    }

    fn turns(row: &Row) -> Vec<(String, Option<&str>)> {
        let said = |turn: &Turn| {
            turn.said
                .iter()
                .map(|m| format!("{}: {}", m.role.name(), m.content))
                .collect::<Vec<_>>()
                .join(" / ")
        };
        row.turns.iter().map(|turn| (said(turn), turn.answer.as_deref())).collect()
    }

    #[test]
    fn questions_and_answers_by_turns_are_taken_as_they_stand() {
        let row = told(&[("s", "be brief"), ("u", "one"), ("a", "1"), ("u", "two")]).unwrap();
        assert_eq!(row.system.as_deref(), Some("be brief"));
        assert_eq!(turns(&row), [("user: one".to_owned(), Some("1")), ("user: two".to_owned(), None)]);
        assert!(!row.is_mended);
    }

    #[test]
    fn what_breaks_the_order_is_left_out_or_joined_and_said() {
        let row =
            told(&[("a", "lost"), ("u", "a"), ("u", "b"), ("a", " "), ("a", "x"), ("a", "y"), ("u", "")])
                .unwrap();
        assert_eq!(turns(&row), [("user: a\n\nb".to_owned(), Some("x\n\ny"))]);
        assert!(row.is_mended);
    }

    #[test]
    fn a_system_text_in_the_middle_stays_there() {
        let row = told(&[("u", "a"), ("a", "1"), ("s", "now in French"), ("u", "b"), ("s", "end")]).unwrap();
        let second = "system: now in French / user: b / system: end".to_owned();
        assert_eq!(turns(&row), [("user: a".to_owned(), Some("1")), (second, None)]);
        let row = told(&[("u", "a"), ("a", "1"), ("s", "nothing follows")]).unwrap();
        assert_eq!((row.turns.len(), row.is_mended), (1, true));
    }

    #[test]
    fn where_nobody_asks_there_is_no_row() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("s", "be brief"), ("a", "hello"), ("u", " ")]), None);
    }
}
