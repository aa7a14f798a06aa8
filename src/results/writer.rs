//! The results folder: made at the start, never over an old one, readable at any moment.
//!
//! Rows reach a file in whole lines only, so a run that is killed leaves complete rows, and one that meets a
//! full disk keeps all that was written. The manifest is replaced in one step.

mod error;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use error::ResultsError;
use table::Table;

use super::analysis::ANALYSIS;
use super::columns::RequestRow;
use super::details::{CHUNKS, CHUNKS_FILE, ChunkRow, RESPONSES_FILE, response_line};
use super::manifest::Manifest;
use super::prune::prune;
use super::tables::{ACCURACY, GAPS, SERVER, SERVER_EXTRA, SUMMARY, TIMELINE};
use super::text::{file, write_read_cells};
use crate::record::{ExtraSample, RequestRecord, ServerSample, Texts};
use crate::stats::{AccuracyRow, AnalysisRow, GapRow, RowEvents, SummaryRow, TimelineRow};

/// Names of the files of a server's metrics.
const SERVER_FILE: &str = "server.csv";
const SERVER_EXTRA_FILE: &str = "server_extra.csv";

/// How many names [`Place::Fresh`] tries.
const FRESH_NAMES: u32 = 1_000;

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Exactly here; it must not exist.
    Exact(PathBuf),
    /// Here, or where that exists beside it with `-2`, `-3`, … behind.
    Fresh(PathBuf),
}

/// Writes the files of one run.
pub struct Writer {
    folder: PathBuf,
    requests: Table,
    gaps: Table,
    summary: Table,
    timeline: Table,
    accuracy: Table,
    /// Details: where they are asked for.
    chunks: Option<Table>,
    responses: Option<Table>,
    /// Looks at the server's metrics, and samples asked for by name: where they are taken.
    server: Option<Table>,
    server_extra: Option<Table>,
    /// Only of sweeps.
    points: Option<Table>,
}

impl Writer {
    /// Makes the folder with all files: tables with their header row, `scenario.toml`, and the manifest.
    ///
    /// # Errors
    /// When the place is taken, or cannot be written to.
    pub fn create(place: &Place, manifest: &Manifest, scenario: &str) -> Result<Writer, ResultsError> {
        let folder = create_folder(place)?;
        let writer = Writer {
            requests: Table::create(folder.join("requests.csv"), RequestRow::COLUMNS)?,
            gaps: Table::create(folder.join("gaps.csv"), GAPS)?,
            summary: Table::create(folder.join("summary.csv"), SUMMARY)?,
            timeline: Table::create(folder.join("timeline.csv"), TIMELINE)?,
            accuracy: Table::create(folder.join("accuracy.csv"), ACCURACY)?,
            chunks: None,
            responses: None,
            server: None,
            server_extra: None,
            points: None,
            folder,
        };
        let path = writer.folder.join("scenario.toml");
        fs::write(&path, scenario).map_err(|source| ResultsError::Write { path, source })?;
        writer.write_manifest(manifest)?;
        Ok(writer)
    }

    /// Makes `points.csv` with this header row, which ends with a line break.
    ///
    /// # Errors
    /// When it is there already, or cannot be written to.
    pub fn create_points(&mut self, header: &str) -> Result<(), ResultsError> {
        self.points = Some(Table::begin(self.folder.join("points.csv"), header)?);
        Ok(())
    }

    /// Goes on with the files in `folder`, an interrupted sweep's, after all rows of runs that did not end were removed:
    /// `is_done` says of point and repeat whether theirs did. Returns how many rows of requests that were.
    ///
    /// # Errors
    /// When a file is missing, or cannot be replaced or written to.
    pub fn resume(
        folder: &Path,
        is_done: &dyn Fn((Option<u32>, Option<u32>)) -> bool,
    ) -> Result<(Writer, u64), ResultsError> {
        let open = |name: &str| {
            let path = folder.join(name);
            let removed = prune(&path, is_done)?;
            Ok::<_, ResultsError>((Table::open(path)?, removed))
        };
        let optional = |name: &str| match folder.join(name).exists() {
            true => open(name).map(|(table, _)| Some(table)),
            false => Ok(None),
        };
        let (requests, removed) = open("requests.csv")?;
        let writer = Writer {
            requests,
            gaps: open("gaps.csv")?.0,
            summary: open("summary.csv")?.0,
            timeline: open("timeline.csv")?.0,
            accuracy: open("accuracy.csv")?.0,
            chunks: optional(CHUNKS_FILE)?,
            responses: optional(RESPONSES_FILE)?,
            server: optional("server.csv")?,
            server_extra: optional("server_extra.csv")?,
            points: Some(open("points.csv")?.0),
            folder: folder.to_owned(),
        };
        Ok((writer, removed))
    }

    /// Makes `server.csv`, and with `extra` also `server_extra.csv`.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn begin_server(&mut self, extra: bool) -> Result<(), ResultsError> {
        self.server = Some(Table::create(self.folder.join(SERVER_FILE), SERVER)?);
        if extra {
            self.server_extra = Some(Table::create(self.folder.join(SERVER_EXTRA_FILE), SERVER_EXTRA)?);
        }
        Ok(())
    }

    /// Adds a look at the server's metrics, with the samples that were asked for by name, where such files were
    /// begun.
    ///
    /// # Errors
    /// When a file cannot be written to.
    pub fn server(&mut self, sample: &ServerSample, extra: &[ExtraSample]) -> Result<(), ResultsError> {
        if let Some(table) = &mut self.server {
            table.push(SERVER, sample)?;
        }
        let Some(table) = &mut self.server_extra else { return Ok(()) };
        extra.iter().try_for_each(|row| table.push(SERVER_EXTRA, row))
    }

    /// Writes `analysis.csv` as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn analysis(&self, rows: &[AnalysisRow]) -> Result<(), ResultsError> {
        write_analysis(&self.folder, rows)
    }

    /// Makes the files of details that are asked for: `chunks.csv` and `responses.jsonl`.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn begin_details(&mut self, chunks: bool, responses: bool) -> Result<(), ResultsError> {
        if chunks {
            self.chunks = Some(Table::create(self.folder.join(CHUNKS_FILE), CHUNKS)?);
        }
        if responses {
            self.responses = Some(Table::bare(self.folder.join(RESPONSES_FILE))?);
        }
        Ok(())
    }

    /// Whether events have rows of their own.
    pub fn has_chunks(&self) -> bool {
        self.chunks.is_some()
    }

    /// Adds the token-bearing events of a request to `chunks.csv`, where it is asked for.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn chunks(&mut self, record: &RequestRecord, events: RowEvents<'_>) -> Result<(), ResultsError> {
        let Some(table) = &mut self.chunks else { return Ok(()) };
        for (place, at) in events.stamps.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| events.stamps[before]);
            let row = ChunkRow {
                point: record.point,
                repeat: record.repeat,
                request: record.planned.request,
                event: place as u64 + 1,
                at: *at,
                gap: before.map(|before| *at - before),
                tokens: events.tokens.and_then(|tokens| tokens.get(place)).copied(),
            };
            table.push(CHUNKS, &row)?;
        }
        Ok(())
    }

    /// Adds what a model wrote to `responses.jsonl`, where it is asked for.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn response(&mut self, row: &RequestRow<'_>, texts: &Texts) -> Result<(), ResultsError> {
        let Some(table) = &mut self.responses else { return Ok(()) };
        table.push_line(&response_line(row, texts))
    }

    /// Takes the files of details over from another folder, as far as it has them.
    ///
    /// # Errors
    /// When one cannot be read or written to.
    pub fn take_details(&mut self, folder: &Path) -> Result<(), ResultsError> {
        for (table, has_header) in [(&mut self.chunks, true), (&mut self.responses, false)] {
            if let Some(table) = table {
                table.take_over(folder, has_header)?;
            }
        }
        Ok(())
    }

    /// Takes the looks at a server's metrics over from another folder, as far as it has them.
    ///
    /// # Errors
    /// When one cannot be read or written to.
    pub fn take_server(&mut self, folder: &Path) -> Result<(), ResultsError> {
        for file in [SERVER_FILE, SERVER_EXTRA_FILE] {
            let (from, path) = (folder.join(file), self.folder.join(file));
            if from.exists() {
                fs::copy(from, &path).map_err(|source| ResultsError::Write { path, source })?;
            }
        }
        Ok(())
    }

    /// Where the results are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a row to `requests.csv`. It reaches the file with the next full buffer, or with [`Writer::flush`].
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn request(&mut self, row: &RequestRow<'_>) -> Result<(), ResultsError> {
        self.requests.push(RequestRow::COLUMNS, row)
    }

    /// Adds a row to `requests.csv` by its cells, as they were read from another one.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn request_cells(&mut self, cells: &csv::ByteRecord) -> Result<(), ResultsError> {
        self.requests.push_text(|rows| write_read_cells(cells, rows))
    }

    /// Hands all rows so far to the system; to be called at least once a second.
    ///
    /// # Errors
    /// When a file cannot be written to.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        let Writer {
            requests,
            gaps,
            summary,
            timeline,
            accuracy,
            server,
            server_extra,
            chunks,
            responses,
            points,
            ..
        } = self;
        [requests, gaps, summary, timeline, accuracy]
            .into_iter()
            .chain(server)
            .chain(server_extra)
            .chain(chunks)
            .chain(responses)
            .chain(points)
            .try_for_each(Table::flush)
    }

    /// Adds a line to `points.csv`: that of a run that has ended. Without the file nothing is added.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn point(&mut self, line: &str) -> Result<(), ResultsError> {
        self.points.as_mut().map_or(Ok(()), |points| {
            points.push_text(|rows| rows.push_str(line))?;
            points.flush()
        })
    }

    /// Adds rows to `gaps.csv`: those of a point and repeat that has ended.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn gaps(&mut self, rows: &[GapRow]) -> Result<(), ResultsError> {
        self.gaps.push_all(GAPS, rows)
    }

    /// Adds rows to `summary.csv`: those of a point and repeat that has ended.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn summary(&mut self, rows: &[SummaryRow]) -> Result<(), ResultsError> {
        self.summary.push_all(SUMMARY, rows)
    }

    /// Adds rows to `timeline.csv`: those of a point and repeat that has ended.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn timeline(&mut self, rows: &[TimelineRow]) -> Result<(), ResultsError> {
        self.timeline.push_all(TIMELINE, rows)
    }

    /// Adds rows to `accuracy.csv`: those of a point and repeat that has ended.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn accuracy(&mut self, rows: &[AccuracyRow]) -> Result<(), ResultsError> {
        self.accuracy.push_all(ACCURACY, rows)
    }

    /// Replaces the manifest: the old one stands until the new one is whole.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), ResultsError> {
        let path = self.folder.join("manifest.json");
        let text = serde_json::to_vec_pretty(manifest);
        let mut text =
            text.map_err(|error| ResultsError::Write { path: path.clone(), source: error.into() })?;
        text.push(b'\n');
        replace(&path, &text)
    }

    /// Writes what is left, then the manifest with its last word.
    ///
    /// # Errors
    /// When a file cannot be written to.
    pub fn finish(&mut self, manifest: &Manifest) -> Result<(), ResultsError> {
        self.flush()?;
        self.write_manifest(manifest)
    }
}

/// Writes `analysis.csv` of a folder as a whole.
///
/// # Errors
/// When it cannot be written.
pub fn write_analysis(folder: &Path, rows: &[AnalysisRow]) -> Result<(), ResultsError> {
    replace(&folder.join("analysis.csv"), file(ANALYSIS, rows).as_bytes())
}

/// Writes a file as a whole: the old one stands until the new one is there.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ResultsError> {
    let mut draft = std::ffi::OsString::from(".");
    draft.push(path.file_name().unwrap_or_default());
    let draft = path.with_file_name(draft);
    fs::write(&draft, content).and_then(|()| fs::rename(&draft, path)).map_err(|source| {
        // What there is of it has no reader.
        let _ = fs::remove_file(&draft);
        ResultsError::Write { path: path.to_owned(), source }
    })
}

fn create_folder(place: &Place) -> Result<PathBuf, ResultsError> {
    let (path, names) = match place {
        Place::Exact(path) => (path, 1),
        Place::Fresh(path) => (path, FRESH_NAMES),
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .map_err(|source| ResultsError::Create { path: parent.to_owned(), source })?;
    }
    for number in 1..=names {
        let mut candidate = path.clone().into_os_string();
        if number > 1 {
            candidate.push(format!("-{number}"));
        }
        match fs::create_dir(&candidate) {
            Ok(()) => return Ok(candidate.into()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ResultsError::Create { path: candidate.into(), source }),
        }
    }
    Err(ResultsError::Exists { path: path.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::manifest::State;
    use super::super::manifest::tests::manifest;
    use super::*;
    use crate::record::Outcome;
    use crate::stats::test_rows::{failed, ok};
    use crate::stats::{Fold, PhaseSetup, RowEvents, Slo, Window, WorkloadSetup};
    use crate::units::Micros;

    fn writer(parent: &Path) -> Writer {
        Writer::create(&Place::Exact(parent.join("run")), &manifest(), "name = \"documents\"\n").unwrap()
    }

    fn read(writer: &Writer, file: &str) -> String {
        fs::read_to_string(writer.folder().join(file)).unwrap()
    }

    #[test]
    fn every_file_is_there_and_readable_from_the_start() {
        let parent = tempfile::tempdir().unwrap();
        let writer = writer(parent.path());
        for (file, columns) in [
            ("requests.csv", 63),
            ("gaps.csv", 8),
            ("summary.csv", 12),
            ("timeline.csv", 17),
            ("accuracy.csv", 14),
        ] {
            let text = read(&writer, file);
            assert_eq!((text.lines().count(), text.trim_end().split(',').count()), (1, columns), "{file}");
        }
        assert_eq!(read(&writer, "scenario.toml"), "name = \"documents\"\n");
        assert!(read(&writer, "manifest.json").contains("\"state\": \"running\""));
    }

    #[test]
    fn c147_a_folder_that_exists_is_never_written_over() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let first = writer(parent.path());
        let error = Writer::create(&Place::Exact(path.clone()), &manifest(), "").err().unwrap();
        assert!(matches!(&error, ResultsError::Exists { path: taken } if *taken == path));
        assert!(
            error.to_string().ends_with("results are never overwritten: choose another folder with --out")
        );
        let second = Writer::create(&Place::Fresh(path), &manifest(), "").unwrap();
        assert_eq!(second.folder(), parent.path().join("run-2"));
        assert_eq!(read(&first, "scenario.toml"), "name = \"documents\"\n");
    }

    #[test]
    fn rows_are_on_disk_after_a_flush_and_come_back_exactly() {
        let parent = tempfile::tempdir().unwrap();
        let mut writer = writer(parent.path());
        let mut broken = failed(5, Outcome::HttpError, 9);
        broken.error = Some("bad \"thing\", line1\nline2".to_owned());
        for record in [&ok(0, 10, 20, 3), &broken] {
            writer.request(&RequestRow { record, phase: "steady", workload: "chat" }).unwrap();
        }
        assert_eq!(read(&writer, "requests.csv").lines().count(), 1, "not yet");
        writer.flush().unwrap();
        let text = read(&writer, "requests.csv");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let error = reader.headers().unwrap().iter().position(|name| name == "error").unwrap();
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!((rows.len(), &rows[0][error], &rows[1][error]), (2, "", "bad \"thing\", line1\nline2"));
    }

    #[test]
    fn the_manifest_is_replaced_at_the_end() {
        let parent = tempfile::tempdir().unwrap();
        let mut writer = writer(parent.path());
        let complete = Manifest { state: State::Complete, ..manifest() };
        writer.finish(&complete).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&read(&writer, "manifest.json")).unwrap(), complete);
        assert!(!writer.folder().join(".manifest.json").exists());
    }

    #[test]
    fn c138_tables_hold_empty_cells_and_never_nan() {
        let parent = tempfile::tempdir().unwrap();
        let mut writer = writer(parent.path());
        let phase = PhaseSetup { name: "steady".to_owned(), counts: true, open_loop: true };
        let chat = WorkloadSetup {
            name: "chat".to_owned(),
            slo: Slo::default(),
            exact_output: false,
            scored: false,
            cold: false,
        };
        let mut fold = Fold::new(None, None, vec![phase], vec![chat]);
        fold.set_window(0, Window { start: Some(Micros(0)), end: None });
        (0..10).for_each(|i| fold.add(&failed(i, Outcome::ConnectError, i + 1), RowEvents::default()));
        writer.summary(&fold.summary()).unwrap();
        writer.gaps(&fold.gaps()).unwrap();
        let text = read(&writer, "summary.csv");
        assert!(text.contains("\n,,steady,chat,ttft,p99,,,,0,368,ms\n"));
        assert!(text.contains("\n,,all,all,success,value,0,0,0.277533,10,,share\n"));
        let lower = text.to_lowercase();
        assert!(!lower.contains(",nan") && !lower.contains(",inf") && !lower.contains(",-"));
    }

    #[test]
    fn errors_name_the_path_and_what_to_do() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let error =
            Writer::create(&Place::Exact(file.join("run")), &manifest(), "").err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot create {}", file.display())), "{error}");
        let full = ResultsError::Write {
            path: "r/requests.csv".into(),
            source: io::Error::from(io::ErrorKind::StorageFull),
        };
        insta::assert_snapshot!(full, @r#"cannot write r/requests.csv: no storage space: free space, or choose a folder on another disk with --out; rows written so far are kept"#);
    }

    #[test]
    fn details_are_whole_lines_from_the_start() {
        let parent = tempfile::tempdir().unwrap();
        let mut writer = writer(parent.path());
        writer.begin_details(true, true).unwrap();
        let record = ok(100, 120, 180, 3);
        let stamps = [120, 150, 180].map(|at| Micros(at * 1_000));
        writer.chunks(&record, RowEvents { stamps: &stamps, tokens: Some(&[1, 1, 2]) }).unwrap();
        let texts = Texts {
            answer: "=1+1\n\"two\"".to_owned(),
            reasoning: "so\u{2028}so".to_owned(),
            tool_calls: vec![("add".to_owned(), "{\"a\":1}".to_owned())],
            cut: false,
        };
        let row = RequestRow { record: &record, phase: "steady", workload: "chat" };
        writer.response(&row, &texts).unwrap();
        writer.flush().unwrap();
        insta::assert_snapshot!(read(&writer, "chunks.csv"), @r#"
        point,repeat,request,event,t_s,gap_ms,tokens
        ,,0,1,0.120000,,1
        ,,0,2,0.150000,30.000,1
        ,,0,3,0.180000,30.000,2
        "#);
        insta::assert_snapshot!(read(&writer, "responses.jsonl"), @r#"{"point":null,"repeat":null,"request":0,"phase":"steady","workload":"chat","session":0,"turn":0,"outcome":"ok","answer":"=1+1\n\"two\"","reasoning":"so so","tool_calls":[{"name":"add","arguments":"{\"a\":1}"}],"cut":false}"#);
    }
}
