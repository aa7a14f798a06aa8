//! Tables of an interrupted sweep cut back to the runs that ended.
//!
//! A run under way when the sweep was interrupted is made again, so its rows must go, or they would be there twice.
//! Files are replaced in one step each; rows that stay keep every byte.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::reader::whole_lines;
use super::writer::ResultsError;

/// A row of a table by its columns `point` and `repeat`.
type Key = (Option<u32>, Option<u32>);

/// Removes the rows of the table at `path`, or the lines of the file of objects there, that `keep` does not want, and a last one that is not whole. Returns how many
/// were removed.
///
/// # Errors
/// When the file cannot be read or replaced.
pub(super) fn prune(path: &Path, keep: &dyn Fn(Key) -> bool) -> Result<u64, ResultsError> {
    let failed = |source| ResultsError::Write { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let whole = whole_lines(&mut file, length).map_err(failed)?;
    let is_table = path.extension().is_some_and(|extension| extension == "csv");
    let kept = if is_table { kept_ranges(&file, whole, keep) } else { kept_lines(&file, whole, keep) };
    let (ranges, removed) = kept.map_err(failed)?;
    let is_same = removed == 0 && whole == length;
    if is_same {
        return Ok(0);
    }
    let draft = draft_of(path);
    let copied = copy(&mut file, &ranges, &draft).and_then(|()| fs::rename(&draft, path));
    copied.map_err(|source| {
        // What there is of it has no reader.
        let _ = fs::remove_file(&draft);
        failed(source)
    })?;
    Ok(removed + u64::from(whole < length))
}

fn draft_of(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Bytes to keep, header first, joined where they touch; and how many rows are not among them.
fn kept_ranges(file: &File, whole: u64, keep: &dyn Fn(Key) -> bool) -> io::Result<(Vec<(u64, u64)>, u64)> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file.take(whole));
    let mut record = csv::ByteRecord::new();
    let mut places = None;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut removed = 0;
    loop {
        let start = reader.position().byte();
        if !reader.read_byte_record(&mut record).map_err(io::Error::from)? {
            return Ok((ranges, removed));
        }
        let end = reader.position().byte();
        let is_kept = match places {
            None => {
                let place = |name: &[u8]| record.iter().position(|cell| cell == name);
                places = Some((place(b"point"), place(b"repeat")));
                true
            }
            Some((point, repeat)) => {
                let number =
                    |place: Option<usize>| std::str::from_utf8(record.get(place?)?).ok()?.parse::<u32>().ok();
                keep((number(point), number(repeat)))
            }
        };
        if is_kept { add(&mut ranges, start, end) } else { removed += 1 }
    }
}

/// The same of objects, one a line.
fn kept_lines(file: &File, whole: u64, keep: &dyn Fn(Key) -> bool) -> io::Result<(Vec<(u64, u64)>, u64)> {
    let mut reader = io::BufReader::new(file.take(whole));
    let mut line = Vec::new();
    let (mut ranges, mut removed, mut start) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        let end = start + reader.read_until(b'\n', &mut line)? as u64;
        if end == start {
            return Ok((ranges, removed));
        }
        let place = serde_json::from_slice::<PlaceOfLine>(&line).unwrap_or_default();
        if keep((place.point, place.repeat)) {
            add(&mut ranges, start, end);
        } else {
            removed += 1;
        }
        start = end;
    }
}

/// Of a line no more than what says which run it belongs to.
#[derive(Default, Deserialize)]
struct PlaceOfLine {
    point: Option<u32>,
    repeat: Option<u32>,
}

fn add(ranges: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    match ranges.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    }
}

fn copy(file: &mut File, ranges: &[(u64, u64)], draft: &Path) -> io::Result<()> {
    let mut out = File::create(draft)?;
    for (start, end) in ranges {
        file.seek(SeekFrom::Start(*start))?;
        io::copy(&mut (&mut *file).take(end - start), &mut out)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pruned(text: &str, keep: &dyn Fn(Key) -> bool) -> (String, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, text).unwrap();
        let removed = prune(&path, keep).unwrap();
        (fs::read_to_string(&path).unwrap(), removed)
    }

    #[test]
    fn lines_of_texts_go_with_their_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("responses.jsonl");
        let line = |point: u32, text: &str| {
            format!("{{\"point\":{point},\"repeat\":1,\"request\":0,\"answer\":\"{text}\"}}\n")
        };
        let text = [line(1, "a"), line(2, "b"), line(1, "\\n\u{fc}")].concat();
        for cut in text.len() - 3..=text.len() {
            fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            let removed = prune(&path, &|key| key == (Some(1), Some(1))).unwrap();
            let is_whole = cut == text.len();
            let last = if is_whole { line(1, "\\n\u{fc}") } else { String::new() };
            assert_eq!(fs::read_to_string(&path).unwrap(), line(1, "a") + &last);
            assert_eq!(removed, if is_whole { 1 } else { 2 });
        }
    }

    const FILE: &str = "axis,point,repeat,error\n8,1,1,\n8,1,2,\"two\nlines, and \"\"more\"\"\"\n64,2,1,x\n64,2,1,y\n8,1,1,z\n";

    #[test]
    fn rows_of_other_runs_keep_every_byte() {
        let (text, removed) = pruned(FILE, &|key| key != (Some(2), Some(1)));
        assert_eq!(text, FILE.replace("64,2,1,x\n64,2,1,y\n", ""));
        assert_eq!(removed, 2);
        let (text, removed) = pruned(FILE, &|_| true);
        assert_eq!((text.as_str(), removed), (FILE, 0));
        let (text, removed) = pruned(FILE, &|_| false);
        assert_eq!((text.as_str(), removed), ("axis,point,repeat,error\n", 5));
    }

    #[test]
    fn a_file_cut_anywhere_comes_back_with_whole_rows_only() {
        for end in "axis,point,repeat,error\n".len()..FILE.len() {
            let cut = &FILE[..end];
            let (text, _) = pruned(cut, &|key| key == (Some(1), Some(1)));
            let whole = "axis,point,repeat,error\n8,1,1,\n";
            let expected = if cut.len() < whole.len() { "axis,point,repeat,error\n" } else { whole };
            assert_eq!(text, expected, "cut at {end}");
        }
    }
}
