//! LaTeX and plain mathematics as tokens.
//!
//! Here written forms that mean the same become the same tokens: sizes and spacing vanish, `\dfrac` is `\frac`,
//! `\leq` is `≤`, a word is a [`Shape::Text`] whether `\text{…}` wraps it or not. Digits stay single, because
//! `\frac12` is one half.

use super::super::work::MAX_DEPTH;
use super::words;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) shape: Shape,
    /// Whether a blank stands before it.
    pub(super) spaced: bool,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A digit, `0` to `9`.
    Digit(char),
    /// A letter: a variable, `e`, `i`, or the digit of a base.
    Letter(char),
    /// A command that stands for itself: `frac`, `sqrt`, `pi`, `sin`.
    Command(String),
    /// A word or several.
    Text(String),
    /// A grouping brace.
    Open,
    /// Its counterpart.
    Close,
    /// An operator, bracket or separator; `⦃` and `⦄` are the braces of a set.
    Symbol(char),
    /// `\begin{…}`.
    Begin(String),
    /// `\end{…}`.
    End(String),
    /// `\\` in an environment.
    Row,
    /// `&` in an environment.
    Cell,
}

impl Token {
    /// Whether it opens a bracket, and then +1; whether it closes one, and then -1.
    pub(super) fn nesting(&self) -> i32 {
        match &self.shape {
            Shape::Open | Shape::Begin(_) | Shape::Symbol('(' | '[' | '⦃' | '⌊' | '⌈') => 1,
            Shape::Close | Shape::End(_) | Shape::Symbol(')' | ']' | '⦄' | '⌋' | '⌉') => -1,
            _ => 0,
        }
    }

    pub(super) fn is_symbol(&self, symbol: char) -> bool {
        self.shape == Shape::Symbol(symbol)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.shape {
            Shape::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads `text`, which [`super::ascii`] and [`super::without_thousands`] have been over.
///
/// Returns `None` when wrappers nest too deep.
pub(super) fn read(text: &str) -> Option<Vec<Token>> {
    let only_words = text.chars().all(|char| char.is_ascii_alphabetic() || char.is_whitespace());
    let mut reader = Reader { tokens: Vec::new(), spaced: false, environments: 0, only_words };
    reader.read(text, Mode::Formula, MAX_DEPTH)?;
    Some(with_unions(reader.tokens))
}

/// A `U` between two brackets is a union.
fn with_unions(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len().saturating_sub(1) {
        let between = matches!(tokens[at - 1].shape, Shape::Symbol(')' | ']' | '⦄'))
            && matches!(tokens[at + 1].shape, Shape::Symbol('(' | '[' | '⦃'));
        if between && tokens[at].shape == Shape::Letter('U') {
            tokens[at].shape = Shape::Symbol('∪');
        }
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Formula,
    /// Inside `\text{…}`: letters are words.
    Words,
}

struct Reader {
    tokens: Vec<Token>,
    spaced: bool,
    environments: u32,
    only_words: bool,
}

impl Reader {
    fn push(&mut self, shape: Shape) {
        let spaced = std::mem::take(&mut self.spaced);
        if let (Shape::Text(more), Some(Token { shape: Shape::Text(text), .. })) =
            (&shape, self.tokens.last_mut())
            && !is_conjunction(more)
            && !is_conjunction(text)
        {
            text.push(' ');
            text.push_str(more);
            return;
        }
        self.tokens.push(Token { shape, spaced });
    }

    fn read(&mut self, text: &str, mode: Mode, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let after = &rest[char.len_utf8()..];
            rest = match char {
                '\\' => self.command(after, depth)?,
                '0'..='9' => {
                    self.push(Shape::Digit(char));
                    after
                }
                char if char.is_alphabetic() => self.letters(rest, mode),
                '{' => {
                    self.push(Shape::Open);
                    after
                }
                '}' => {
                    self.push(Shape::Close);
                    after
                }
                '*' if after.starts_with('*') => self.stars(&after[1..]),
                '&' => {
                    if self.environments > 0 {
                        self.push(Shape::Cell);
                    }
                    after
                }
                '$' | '%' | '`' | '€' | '£' | '¥' | '#' | '"' => after,
                '~' => self.blank(after),
                '^' => self.raised(after),
                '<' | '>' | '!' if after.starts_with('=') => {
                    self.push(Shape::Symbol(match char {
                        '<' => '≤',
                        '>' => '≥',
                        _ => '≠',
                    }));
                    &after[1..]
                }
                char if char.is_whitespace() => self.blank(after),
                char => {
                    self.push(Shape::Symbol(char));
                    after
                }
            };
        }
        Some(())
    }

    fn blank<'a>(&mut self, after: &'a str) -> &'a str {
        self.spaced = true;
        after
    }

    /// `**` is a power between operands, else a mark of bold type.
    fn stars<'a>(&mut self, after: &'a str) -> &'a str {
        let operand = |char: char| char.is_ascii_alphanumeric() || char == '(';
        let previous = self.tokens.last().map(|token| &token.shape);
        let follows_operand =
            matches!(previous, Some(Shape::Digit(_) | Shape::Letter(_) | Shape::Symbol(')')));
        if follows_operand && !self.spaced && after.starts_with(operand) {
            self.push(Shape::Symbol('^'));
        }
        after
    }

    /// `^\circ` and `^{\circ}` are degrees.
    fn raised<'a>(&mut self, after: &'a str) -> &'a str {
        let exponent = after.trim_start();
        for degree in ["\\circ", "{\\circ}", "{ \\circ }", "\\degree", "{\\degree}"] {
            if let Some(rest) = exponent.strip_prefix(degree)
                && !(degree.ends_with(char::is_alphabetic) && rest.starts_with(char::is_alphabetic))
            {
                self.push(Shape::Symbol('°'));
                return rest;
            }
        }
        self.push(Shape::Symbol('^'));
        after
    }

    /// A run of letters: a word, a function's name, or variables.
    fn letters<'a>(&mut self, text: &'a str, mode: Mode) -> &'a str {
        let is_inner =
            |char: char| char.is_alphabetic() || mode == Mode::Words && (char == '.' || char == '\'');
        let length = text.find(|char| !is_inner(char)).unwrap_or(text.len());
        let (word, rest) = text.split_at(length);
        let glued = !self.spaced
            && self
                .tokens
                .last()
                .is_some_and(|token| matches!(token.shape, Shape::Digit(_) | Shape::Letter(_)));
        if mode == Mode::Words {
            self.push(Shape::Text(word.to_owned()));
            return rest;
        }
        match words::meaning(word, glued, self.only_words) {
            words::Meaning::Command(name) => self.push(Shape::Command(name.to_owned())),
            words::Meaning::Text => self.push(Shape::Text(word.to_owned())),
            words::Meaning::Letters => {
                for letter in word.chars() {
                    self.push(Shape::Letter(letter));
                }
            }
        }
        rest
    }

    /// What follows a backslash; returns what follows the command.
    fn command<'a>(&mut self, text: &'a str, depth: u32) -> Option<&'a str> {
        let length = text.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(text.len());
        if length == 0 {
            return Some(self.control_symbol(text));
        }
        let (name, rest) = text.split_at(length);
        match words::command(name) {
            words::Latex::Nothing => {}
            words::Latex::Roman => return Some(self.roman(rest)),
            words::Latex::Blank => self.spaced = true,
            words::Latex::NothingWithArgument => return Some(argument(rest).map_or(rest, |(_, rest)| rest)),
            words::Latex::Size => {
                let after = rest.trim_start();
                return Some(after.strip_prefix('.').unwrap_or(rest));
            }
            words::Latex::Symbol(symbol) => self.push(Shape::Symbol(symbol)),
            words::Latex::Text(text) => self.push(Shape::Text(text.to_owned())),
            words::Latex::Command(name) => self.push(Shape::Command(name.to_owned())),
            words::Latex::Wrapper => return self.wrapped(rest, depth),
            words::Latex::TextWrapper => return self.text_wrapped(name, rest, depth),
            words::Latex::Named => {
                let Some((content, rest)) = argument(rest) else { return Some(rest) };
                self.push(Shape::Command(format!("{name} {}", content.trim())));
                return Some(rest);
            }
            words::Latex::Operator => {
                let Some((content, rest)) = argument(rest) else { return Some(rest) };
                match words::meaning(content.trim(), false, false) {
                    words::Meaning::Command(name) => self.push(Shape::Command(name.to_owned())),
                    _ => self.push(Shape::Command(content.trim().to_owned())),
                }
                return Some(rest);
            }
            words::Latex::Begin => return Some(self.begin(rest)),
            words::Latex::End => {
                let Some((content, rest)) = argument(rest) else { return Some(rest) };
                self.environments = self.environments.saturating_sub(1);
                self.push(Shape::End(environment(content)));
                return Some(rest);
            }
            words::Latex::Unknown => self.push(Shape::Command(name.to_owned())),
        }
        Some(rest)
    }

    /// A backslash and a character that is no letter.
    fn control_symbol<'a>(&mut self, text: &'a str) -> &'a str {
        let Some(char) = text.chars().next() else { return text };
        let after = &text[char.len_utf8()..];
        match char {
            '{' => self.push(Shape::Symbol('⦃')),
            '}' => self.end_set(),
            '|' => self.push(Shape::Symbol('|')),
            '\\' if self.environments > 0 => self.push(Shape::Row),
            // Outside a matrix a doubled backslash before a name is a command escaped once too often.
            '\\' if after.starts_with(|next: char| next.is_ascii_alphabetic()) => return text,
            _ => self.spaced = true,
        }
        after
    }

    /// `\{\}` is the empty set.
    fn end_set(&mut self) {
        match self.tokens.last_mut() {
            Some(last) if last.is_symbol('⦃') => last.shape = Shape::Command("emptyset".to_owned()),
            _ => self.push(Shape::Symbol('⦄')),
        }
    }

    /// `\rm` makes words of the letters after it.
    fn roman<'a>(&mut self, rest: &'a str) -> &'a str {
        let text = rest.trim_start();
        let length = text.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(text.len());
        if length == 0 {
            return rest;
        }
        self.push(Shape::Text(text[..length].to_owned()));
        &text[length..]
    }

    fn begin<'a>(&mut self, rest: &'a str) -> &'a str {
        let Some((content, mut rest)) = argument(rest) else { return rest };
        let name = environment(content);
        if matches!(name.as_str(), "array" | "tabular") {
            rest = argument(rest).map_or(rest, |(_, rest)| rest);
        }
        self.environments += 1;
        self.push(Shape::Begin(name));
        rest
    }

    /// The content of a wrapper that says nothing: inline, unless an exponent needs it together.
    fn wrapped<'a>(&mut self, rest: &'a str, depth: u32) -> Option<&'a str> {
        let Some((content, rest)) = argument(rest) else { return Some(rest) };
        let together = rest.trim_start().starts_with(['^', '_']);
        if together {
            self.push(Shape::Open);
        }
        self.read(content, Mode::Formula, depth)?;
        if together {
            self.push(Shape::Close);
        }
        Some(rest)
    }

    fn text_wrapped<'a>(&mut self, name: &str, rest: &'a str, depth: u32) -> Option<&'a str> {
        let Some((content, rest)) = argument(rest) else { return Some(rest) };
        let trimmed = content.trim();
        if content.starts_with(char::is_whitespace) {
            self.spaced = true;
        }
        let letter = trimmed.chars().next().filter(|_| trimmed.chars().count() == 1);
        match letter {
            Some(letter) if name == "mathrm" && "eid".contains(letter) => self.push(Shape::Letter(letter)),
            _ if trimmed.contains(['\\', '$']) => self.read(content, Mode::Formula, depth)?,
            _ => self.read(content, Mode::Words, depth)?,
        }
        if content.ends_with(char::is_whitespace) {
            self.spaced = true;
        }
        Some(rest)
    }
}

/// Whether a word joins two answers.
pub(super) fn is_conjunction(word: &str) -> bool {
    word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or")
}

/// An environment's name without the star of its variant.
fn environment(content: &str) -> String {
    content.trim().trim_end_matches('*').to_owned()
}

/// The argument at the start of `text`, without its braces, and what follows it.
fn argument(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    if first != '{' {
        return (first != '\\' && first != '}').then(|| text.split_at(first.len_utf8()));
    }
    let bytes = text.as_bytes();
    let mut depth = 0_u32;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
        at += 1;
    }
    None
}
