//! A file that holds whole rows at any moment.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::ResultsError;
use crate::results::text::{Column, write_header, write_row};

/// Rows are handed to the system in pieces of about this size.
const BUFFER_BYTES: usize = 64 << 10;

/// A CSV file that holds whole rows at any moment.
pub(super) struct Table {
    path: PathBuf,
    file: File,
    /// Rows that are not in the file yet.
    rows: String,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// Bytes in the file.
    written: u64,
}

impl Table {
    pub(super) fn create<R>(path: PathBuf, columns: &[Column<R>]) -> Result<Table, ResultsError> {
        let mut header = String::new();
        write_header(columns, &mut header);
        Table::begin(path, &header)
    }

    /// One that begins with this header row, which ends with a line break.
    pub(super) fn begin(path: PathBuf, header: &str) -> Result<Table, ResultsError> {
        let mut table = Table::bare(path)?;
        table.rows.push_str(header);
        table.ends.push(table.rows.len());
        table.flush()?;
        Ok(table)
    }

    /// Opens a table to add rows to it.
    pub(super) fn open(path: PathBuf) -> Result<Table, ResultsError> {
        let opened = File::options().write(true).open(&path).and_then(|mut file| {
            let written = io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
            Ok((file, written))
        });
        match opened {
            Ok((file, written)) => Ok(Table { path, file, rows: String::new(), ends: Vec::new(), written }),
            Err(source) => Err(ResultsError::Write { path, source }),
        }
    }

    /// One without a header.
    pub(super) fn bare(path: PathBuf) -> Result<Table, ResultsError> {
        let file =
            File::create_new(&path).map_err(|source| ResultsError::Create { path: path.clone(), source })?;
        Ok(Table { path, file, rows: String::new(), ends: Vec::new(), written: 0 })
    }

    pub(super) fn push_line(&mut self, line: &str) -> Result<(), ResultsError> {
        self.push_text(|rows| {
            rows.push_str(line);
            rows.push('\n');
        })
    }

    /// Takes over the lines of the file of this name in another folder; nothing where there is none.
    pub(super) fn take_over(&mut self, folder: &Path, has_header: bool) -> Result<(), ResultsError> {
        self.flush()?;
        let path = folder.join(self.path.file_name().unwrap_or_default());
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|source| ResultsError::Read { path: path.clone(), source })?,
        };
        let mut lines = io::BufReader::new(file);
        if has_header {
            io::BufRead::read_until(&mut lines, b'\n', &mut Vec::new())
                .map_err(|source| ResultsError::Read { path, source })?;
        }
        let copied = io::copy(&mut lines, &mut self.file);
        self.written += copied.map_err(|source| ResultsError::Write { path: self.path.clone(), source })?;
        Ok(())
    }

    pub(super) fn push<R>(&mut self, columns: &[Column<R>], row: &R) -> Result<(), ResultsError> {
        self.push_text(|rows| write_row(columns, row, rows))
    }

    /// Adds what `write` writes, a whole row.
    pub(super) fn push_text(&mut self, write: impl FnOnce(&mut String)) -> Result<(), ResultsError> {
        write(&mut self.rows);
        self.end_row()
    }

    /// A row is whole.
    fn end_row(&mut self) -> Result<(), ResultsError> {
        self.ends.push(self.rows.len());
        if self.rows.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn push_all<R>(&mut self, columns: &[Column<R>], rows: &[R]) -> Result<(), ResultsError> {
        rows.iter().try_for_each(|row| self.push(columns, row))?;
        self.flush()
    }

    pub(super) fn flush(&mut self) -> Result<(), ResultsError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if let Err(source) = self.file.write_all(self.rows.as_bytes()) {
            self.keep_whole_rows();
            return Err(ResultsError::Write { path: self.path.clone(), source });
        }
        self.written += self.rows.len() as u64;
        self.rows.clear();
        self.ends.clear();
        Ok(())
    }

    /// After a failed write the file may end within a row. It goes back to the last whole one that it got; the others
    /// wait for the next flush. If even that fails, the write's own error says more.
    fn keep_whole_rows(&mut self) {
        let length = self.file.metadata().map_or(self.written, |metadata| metadata.len());
        let got = length.saturating_sub(self.written);
        let whole = self.ends.iter().take_while(|end| **end as u64 <= got).count();
        let kept = whole.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.written += kept as u64;
        self.rows.drain(..kept);
        self.ends.drain(..whole);
        self.ends.iter_mut().for_each(|end| *end -= kept);
        let _ = self.file.set_len(self.written);
        let _ = io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.written));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const COLUMNS: &[Column<String>] = &[
        Column { name: "text", write: |row, cell| cell.push_str(row) },
        Column { name: "end", write: |_, cell| cell.push('.') },
    ];

    fn table(folder: &Path) -> Table {
        Table::create(folder.join("t.csv"), COLUMNS).unwrap()
    }

    fn read(table: &Table) -> String {
        fs::read_to_string(&table.path).unwrap()
    }

    #[test]
    fn a_full_buffer_reaches_the_disk_in_whole_rows() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = table(folder.path());
        let row = "x".repeat(1_000);
        (0..100).for_each(|_| table.push(COLUMNS, &row).unwrap());
        let text = read(&table);
        assert!(text.len() > BUFFER_BYTES && text.ends_with(",.\n"));
    }

    #[test]
    fn whole_rows_of_a_write_that_failed_half_way_stay_and_the_others_follow_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = table(folder.path());
        let header = read(&table);
        // A line break inside a row is no end of it.
        ["one\nmore", "two\nmore", "three\nmore"]
            .iter()
            .for_each(|row| table.push(COLUMNS, &(*row).to_owned()).unwrap());
        let all = table.rows.clone();
        // What a full disk leaves: two rows, and the third up to its line break.
        let got = table.ends[1] + all[table.ends[1]..].find('\n').unwrap() + 1;
        table.file.write_all(&all.as_bytes()[..got]).unwrap();
        table.keep_whole_rows();
        let two = table.written as usize - header.len();
        assert_eq!((two, table.rows.as_str()), (all.len() - table.rows.len(), &all[two..]));
        assert_eq!(read(&table), format!("{header}{}", &all[..two]));
        table.flush().unwrap();
        assert_eq!(read(&table), format!("{header}{all}"));
    }

    #[test]
    fn after_a_failed_write_the_file_ends_with_a_whole_row_and_nothing_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = table(folder.path());
        let before = read(&table);
        table.push(COLUMNS, &"one".to_owned()).unwrap();
        let path = table.path.clone();
        let writable = std::mem::replace(&mut table.file, File::open(&path).unwrap());
        assert!(matches!(table.flush(), Err(ResultsError::Write { path: failed, .. }) if failed == path));
        assert_eq!(read(&table), before);
        table.file = writable;
        table.flush().unwrap();
        assert_eq!(read(&table).lines().count(), 2);
    }
}
