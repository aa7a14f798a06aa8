//! What is wrong with a file, said to the person who wrote it.
//!
//! A [`Diagnostic`] carries all that is shown: message, place, the line with the culprit underlined, help. It
//! holds no more of the file than that line, and whoever makes one has taken secrets out of the line already.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be run.
    Error,
    /// It can be run, and the result may surprise.
    Warning,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without place or help.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, message: message.into(), location: None, help: None }
    }

    /// A warning without place or help.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    /// The same at `location`.
    pub fn at(mut self, location: Location) -> Diagnostic {
        self.location = Some(location);
        self
    }

    /// The same with help.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    fn write(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(&*self.message));
        if let Some(location) = &self.location {
            group = location.add_to(group);
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
        }
        renderer.render(&[group])
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file as its user named it.
    pub file: String,
    /// Line from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// Column from 1, in characters.
    pub column: Option<u64>,
    /// The line itself; `None` where it is too long to show or not text.
    pub excerpt: Option<Excerpt>,
}

/// A line of a file, without its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Excerpt {
    /// The line.
    pub text: String,
    /// First byte underlined.
    pub start: usize,
    /// First byte no longer underlined.
    pub end: usize,
}

/// Longer lines are located but not shown, so that many problems in one of them take no memory.
const LONGEST_SHOWN_LINE: usize = 1_000;

impl Location {
    /// A file as a whole.
    pub fn file(file: impl Into<String>) -> Location {
        Location { file: file.into(), line: None, column: None, excerpt: None }
    }

    /// A line that is not shown.
    pub fn line(file: impl Into<String>, line: u64) -> Location {
        Location { line: Some(line), ..Location::file(file) }
    }

    /// The bytes `span` of `text`, which is the whole file. A span over several lines is underlined up to the end
    /// of its first line; one that is not in the text, or not between characters, is moved to where it fits.
    pub fn span(file: impl Into<String>, text: &str, span: &Range<usize>) -> Location {
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[line_start..].split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let start_in_line = line.floor_char_boundary(start - line_start);
        let end_in_line = line.ceil_char_boundary(span.end.saturating_sub(line_start)).max(start_in_line);
        let number = text[..line_start].bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
        Location {
            file: file.into(),
            line: Some(number),
            column: Some(line[..start_in_line].chars().count() as u64 + 1),
            excerpt: (line.len() <= LONGEST_SHOWN_LINE).then(|| Excerpt {
                text: line.to_owned(),
                start: start_in_line,
                end: end_in_line,
            }),
        }
    }

    fn add_to<'a>(&'a self, group: Group<'a>) -> Group<'a> {
        if let (Some(excerpt), Some(line)) = (&self.excerpt, self.line) {
            let snippet = Snippet::source(&*excerpt.text).path(&*self.file).line_start(line as usize);
            let underlined = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
            return group.element(snippet.annotation(underlined));
        }
        let mut origin = Origin::path(&*self.file);
        if let Some(line) = self.line {
            origin = origin.line(line as usize);
        }
        if let Some(column) = self.column {
            origin = origin.char_column(column as usize);
        }
        group.element(origin)
    }
}

/// Whether rendered text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With terminal colours.
    Coloured,
}

/// Problems collected until all are known. Keeps the first hundred and counts the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    more: u64,
    errors: u64,
}

const MOST_KEPT: usize = 100;

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += u64::from(diagnostic.severity == Severity::Error);
        if self.kept.len() < MOST_KEPT {
            self.kept.push(diagnostic);
            return;
        }
        self.more += 1;
        // What stops a run is shown before what does not.
        let is_warning = |kept: &&mut Diagnostic| kept.severity == Severity::Warning;
        if diagnostic.severity == Severity::Error
            && let Some(place) = self.kept.iter_mut().rfind(is_warning)
        {
            *place = diagnostic;
        }
    }

    /// Adds all of `others`.
    pub fn append(&mut self, others: Diagnostics) {
        let counted_only =
            others.errors - others.kept.iter().filter(|one| one.severity == Severity::Error).count() as u64;
        self.errors += counted_only;
        self.more += others.more;
        others.kept.into_iter().for_each(|one| self.push(one));
    }

    /// Adds those of `others` that are not there yet.
    pub fn append_new(&mut self, others: Diagnostics) {
        for other in others.kept {
            if !self.kept.contains(&other) {
                self.push(other);
            }
        }
    }

    /// Puts them into the order of the files, and of lines within a file.
    pub fn sort(&mut self) {
        self.kept.sort_by(|a, b| a.location.cmp(&b.location));
    }

    /// Those kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// How many there are besides those kept.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether further ones are counted only.
    pub fn is_full(&self) -> bool {
        self.kept.len() == MOST_KEPT
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them as text, an empty line between two, ending with a line break unless there are none.
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let mut text = self.kept.iter().map(|one| one.write(&renderer) + "\n").collect::<Vec<_>>();
        if self.more > 0 {
            text.push(format!("and {} more problems\n", self.more));
        }
        text.join("\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        let mut all = Diagnostics::default();
        all.push(diagnostic);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(diagnostic: Diagnostic) -> String {
        Diagnostics::from(diagnostic).render(Style::Plain)
    }

    #[test]
    fn a_problem_shows_file_line_column_the_line_and_help() {
        let text = "name = \"a\"\r\n\tschön = 3\r\n";
        let at = text.find("3").unwrap();
        let location = Location::span("load.toml", text, &(at..at + 1));
        assert_eq!((location.line, location.column), (Some(2), Some(10)));
        insta::assert_snapshot!(rendered(Diagnostic::error("no").at(location).help("do this")), @r"
error: no
 --> load.toml:2:10
  |
2 |     schön = 3
  |             ^
  |
  = help: do this
");
    }

    #[test]
    fn a_line_of_a_data_set_is_located_without_being_shown() {
        insta::assert_snapshot!(rendered(Diagnostic::warning("row skipped").at(Location::line("rows.jsonl", 12))), @r"
warning: row skipped
--> rows.jsonl:12
");
    }

    #[test]
    fn a_span_over_lines_is_underlined_on_its_first() {
        let location = Location::span("f", "ab = {\n c = 1 }\n", &(5..16));
        assert_eq!(location.excerpt, Some(Excerpt { text: "ab = {".to_owned(), start: 5, end: 6 }));
    }

    #[test]
    fn a_line_too_long_to_show_is_still_located() {
        let text = format!("{}x", " ".repeat(5_000));
        let location = Location::span("f", &text, &(5_000..5_001));
        assert_eq!((location.line, location.column, location.excerpt), (Some(1), Some(5_001), None));
    }

    #[test]
    fn beyond_a_hundred_problems_are_counted() {
        let mut all = Diagnostics::default();
        for i in 0..70 {
            all.push(Diagnostic::warning(format!("{i}")));
        }
        assert!(!all.has_errors());
        all.append(all.clone());
        all.push(Diagnostic::error("last"));
        assert!(all.has_errors());
        assert_eq!(all.iter().count(), 100);
        assert!(all.render(Style::Plain).ends_with("and 41 more problems\n"));
        assert_eq!((all.more(), all.iter().filter(|one| one.message == "last").count()), (41, 1));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let text = "a\u{1b}[31m = 1";
        let location = Location::span("f", text, &(0..6));
        let problem = Diagnostic::error("\u{1b}[2J").at(location).help("\u{1b}[2J");
        assert!(!rendered(problem).contains('\u{1b}'));
    }

    proptest::proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(text: String, start in 0..40_usize, length in 0..40_usize) {
            let location = Location::span("f", &text, &(start..start + length));
            rendered(Diagnostic::error("m").at(location));
        }
    }
}
