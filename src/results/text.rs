//! How cells are written: RFC 4180, UTF-8, `.` decimals, empty for what is not known.
//!
//! Two things are kept from a reader's harm: text that a spreadsheet would run as a formula gets a leading `'`,
//! and control characters other than tab and line breaks become their visible pictures (NUL is `␀`).

use std::fmt::{Display, Write as _};

use crate::units::Micros;

/// The longest text of one cell, in bytes: more is cut and marked with `…`.
pub const TEXT_MAX_BYTES: usize = 1_000;

/// One column of a table of rows `R`: its name and how its cell is written.
pub struct Column<R> {
    /// The name in the header row.
    pub name: &'static str,
    /// Appends the cell's content, before quoting; nothing where the row has none.
    pub write: fn(&R, &mut String),
}

/// Appends a line of the column names.
pub fn write_header<R>(columns: &[Column<R>], line: &mut String) {
    write_cells(columns, line, |column, cell| cell.push_str(column.name));
}

/// Appends a line of the row's cells.
pub fn write_row<R>(columns: &[Column<R>], row: &R, line: &mut String) {
    write_cells(columns, line, |column, cell| (column.write)(row, cell));
}

/// A whole table.
pub fn file<R>(columns: &[Column<R>], rows: &[R]) -> String {
    let mut file = String::new();
    write_header(columns, &mut file);
    rows.iter().for_each(|row| write_row(columns, row, &mut file));
    file
}

fn write_cells<R>(columns: &[Column<R>], line: &mut String, write: impl Fn(&Column<R>, &mut String)) {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        let start = line.len();
        write(column, line);
        quote_from(start, line);
    }
    line.push('\n');
}

/// Appends a line of cells as they were read from a table.
pub(super) fn write_read_cells(cells: &csv::ByteRecord, line: &mut String) {
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        let start = line.len();
        line.push_str(&String::from_utf8_lossy(cell));
        quote_from(start, line);
    }
    line.push('\n');
}

/// Quotes what stands from `start` on, if it must be.
pub(super) fn quote_from(start: usize, line: &mut String) {
    if line.as_bytes()[start..].iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        let quoted = line[start..].replace('"', "\"\"");
        line.truncate(start);
        line.push('"');
        line.push_str(&quoted);
        line.push('"');
    }
}

/// A name of ours, `true` or `false`.
pub fn plain(cell: &mut String, value: Option<impl Display>) {
    if let Some(value) = value {
        let _ = write!(cell, "{value}");
    }
}

/// A count.
pub(super) fn count(cell: &mut String, value: Option<impl Into<u64>>) {
    if let Some(value) = value {
        push_fixed(cell, value.into(), 0);
    }
}

/// An instant in seconds.
pub(super) fn seconds(cell: &mut String, at: Option<Micros>) {
    if let Some(Micros(us)) = at {
        push_fixed(cell, us, 6);
    }
}

/// A duration in milliseconds.
pub(super) fn millis(cell: &mut String, time: Option<Micros>) {
    if let Some(Micros(us)) = time {
        push_fixed(cell, us, 3);
    }
}

/// `value` / 10^`decimals`, all decimals written. Rows are mostly such numbers, and the general formatting
/// machinery costs ten times as much.
fn push_fixed(cell: &mut String, mut value: u64, decimals: usize) {
    // 20 digits, the point, and leading zeros of at most six decimals.
    let mut digits = [b'0'; 28];
    let mut start = digits.len();
    for place in 0.. {
        if place > decimals && value == 0 {
            break;
        }
        if place == decimals && decimals > 0 {
            start -= 1;
            digits[start] = b'.';
        }
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    cell.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

/// A number with at most `digits` decimals, none of them trailing zeros. What is not finite is empty.
pub fn number(cell: &mut String, value: Option<f64>, digits: usize) {
    let Some(value) = value.filter(|value| value.is_finite()) else { return };
    let start = cell.len();
    let whole = value as u64;
    if whole as f64 == value {
        return push_fixed(cell, whole, 0);
    }
    let _ = write!(cell, "{value:.digits$}");
    if cell[start..].contains('.') {
        let kept = cell.trim_end_matches('0').trim_end_matches('.').len();
        cell.truncate(kept);
    }
    if &cell[start..] == "-0" {
        cell.replace_range(start.., "0");
    }
}

/// Text of others: bounded, and safe to open in a spreadsheet.
pub fn text(cell: &mut String, value: Option<&str>) {
    let Some(value) = value else { return };
    let kept = &value[..value.floor_char_boundary(TEXT_MAX_BYTES)];
    if kept.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        cell.push('\'');
    }
    cell.extend(kept.chars().map(visible));
    if kept.len() < value.len() {
        cell.push('…');
    }
}

/// Text of others for a terminal: nothing in it moves the cursor or breaks the line.
pub fn printable(value: &str) -> String {
    value.chars().map(|character| if character.is_whitespace() { ' ' } else { visible(character) }).collect()
}

/// The picture of a control character: U+2400 and on for C0, U+2421 for DEL, the replacement for C1.
fn visible(character: char) -> char {
    match character {
        '\t' | '\n' | '\r' => character,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '␡',
        '\u{80}'..='\u{9f}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXTS: &[Column<Vec<String>>] = &[
        Column { name: "a", write: |row, cell| text(cell, row.first().map(String::as_str)) },
        Column { name: "b", write: |row, cell| text(cell, row.get(1).map(String::as_str)) },
    ];

    fn file(rows: &[Vec<String>]) -> String {
        let mut file = String::new();
        write_header(TEXTS, &mut file);
        rows.iter().for_each(|row| write_row(TEXTS, row, &mut file));
        file
    }

    fn cell(write: impl Fn(&mut String)) -> String {
        let mut cell = String::new();
        write(&mut cell);
        cell
    }

    #[test]
    fn c140_quotes_commas_and_line_breaks_come_back_exactly() {
        let rows = [vec!["bad \"thing\", line1\nline2".to_owned(), "a,b".to_owned()], vec!["ok".to_owned()]];
        let file = file(&rows);
        assert_eq!(file, "a,b\n\"bad \"\"thing\"\", line1\nline2\",\"a,b\"\nok,\n");
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let read: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        assert_eq!(read, [rows[0].clone(), vec!["ok".to_owned(), String::new()]]);
    }

    #[test]
    fn c140_text_that_a_spreadsheet_would_run_is_marked() {
        for formula in ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", "\rx"] {
            assert_eq!(cell(|cell| text(cell, Some(formula))), format!("'{formula}"));
        }
        assert_eq!(cell(|cell| text(cell, Some("a=b"))), "a=b");
        assert_eq!(cell(|cell| text(cell, Some(""))), "");
    }

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(cell(|cell| text(cell, Some("a\0b\u{1b}[31m\u{7f}\u{9b}c\td"))), "a␀b␛[31m␡\u{fffd}c\td");
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_marked() {
        let cut = cell(|cell| text(cell, Some(&"ä".repeat(TEXT_MAX_BYTES))));
        assert_eq!(cut.chars().count(), TEXT_MAX_BYTES / 2 + 1);
        assert!(cut.ends_with("ä…"));
    }

    proptest! {
        #[test]
        fn fixed_numbers_are_written_as_the_general_way_would(value: u64, decimals in 0usize..=6) {
            let mut cell = String::new();
            push_fixed(&mut cell, value, decimals);
            let unit = 10u64.pow(decimals as u32);
            let expected = match decimals {
                0 => value.to_string(),
                _ => format!("{}.{:0decimals$}", value / unit, value % unit),
            };
            prop_assert_eq!(cell, expected);
        }
    }

    #[test]
    fn numbers_are_short_and_finite() {
        let cases = [
            (Some(12.5), "12.5"),
            (Some(100.0), "100"),
            (Some(0.123_456_789), "0.123457"),
            (Some(-1e-9), "0"),
            (Some(f64::NAN), ""),
            (Some(f64::INFINITY), ""),
            (None, ""),
        ];
        for (value, written) in cases {
            assert_eq!(cell(|cell| number(cell, value, 6)), written);
        }
        assert_eq!(cell(|cell| number(cell, Some(120.0), 0)), "120");
    }

    proptest! {
        #[test]
        fn any_text_is_one_cell_that_a_csv_reader_gives_back(texts in prop::collection::vec(".{0,30}|[,\"\r\n=a]{0,8}", 2)) {
            let file = file(std::slice::from_ref(&texts));
            let mut reader = csv::Reader::from_reader(file.as_bytes());
            let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
            let written: Vec<String> = texts.iter().map(|value| cell(|cell| text(cell, Some(value)))).collect();
            // A row of nothing but empty cells still has its comma.
            prop_assert_eq!(rows.len(), 1);
            prop_assert_eq!(rows[0].iter().collect::<Vec<_>>(), written);
        }
    }
}
