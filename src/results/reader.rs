//! A results folder read back: every figure again from `requests.csv`, `gaps.csv`, `timeline.csv` and the manifest.
//!
//! Rows go through the same fold as while the run went on, so figures are the same to the last digit. A folder whose
//! run was killed can be read too: its manifest says `running`, windows are read off the rows, times between events
//! are missing, and a last row that was not written whole is left out.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::cells::{Cells, ReadRow, millis, real, whole};
use super::manifest::{FORMAT, Manifest, PhaseEntry, State, WorkloadEntry};
use crate::record::{RequestRecord, ServerFigure, ServerFigures, ServerSample};
use crate::stats::verdict::{Figures, judge};
use crate::stats::{
    Finding, Fold, PerSecond, PhaseSetup, RowEvents, SummaryRow, TimelineRow, Window, WorkloadSetup,
};
use crate::units::Micros;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// A run as its folder tells.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// What it was.
    pub manifest: Manifest,
    /// The scenario as it ran.
    pub scenario: String,
    /// Its points and repeats, in order; one where there is no sweep.
    pub runs: Vec<RunRows>,
}

/// One point and repeat.
pub struct RunRows {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Its rows, summed up.
    pub fold: Fold,
    /// Its course by the second.
    pub seconds: Vec<TimelineRow>,
    /// The course rebuilt from rows, until `timeline.csv` gives a better one.
    pub(super) rebuilt: PerSecond,
}

/// A results folder that cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// A file is missing, or cannot be read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is none.
    Manifest {
        /// Which.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The folder has a form that this version does not know.
    Format {
        /// The manifest.
        path: PathBuf,
        /// The number of its form.
        found: u32,
    },
    /// A table has no such column.
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        name: &'static str,
    },
    /// A run that ended wrote other rows.
    Rows {
        /// The file.
        path: PathBuf,
        /// The phase.
        phase: String,
        /// What its rows are: `planned`, or an outcome.
        what: &'static str,
        /// How many it has.
        found: u64,
        /// How many the run had by its manifest.
        told: u64,
    },
    /// A line cannot be read.
    Line {
        /// The file.
        path: PathBuf,
        /// The line it begins in, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::File { path, source } => {
                write!(f, "cannot read {}: {source}\n  help: name the folder of a run", path.display())
            }
            ReadError::Manifest { path, source } => write!(f, "{} is no manifest: {source}", path.display()),
            ReadError::Format { path, found } => write!(
                f,
                "{} has form {found}, and this version reads form {FORMAT}\n  help: use the version that wrote it",
                path.display()
            ),
            ReadError::Column { path, name } => write!(f, "{} has no column `{name}`", path.display()),
            ReadError::Rows { path, phase, what, found, told } => write!(
                f,
                "{} has {found} rows of phase `{phase}` that are {what}, and the run had {told}: rows were lost or changed \
                 since\n  help: take the folder as the run left it",
                path.display()
            ),
            ReadError::Line { path, line, problem } => write!(f, "{}:{line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::File { source, .. } => Some(source),
            ReadError::Manifest { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads a folder. `each` is shown every row, with the place of its run in [`Folder::runs`].
///
/// # Errors
/// When a file is missing or is not what it should be.
pub fn read(path: &Path, each: impl FnMut(usize, &RequestRecord)) -> Result<Folder, ReadError> {
    let manifest = read_manifest(path)?;
    let scenario = read_text(&path.join("scenario.toml"))?;
    let is_killed = manifest.state == State::Running;
    let mut folder = Folder::begin(path, manifest, scenario);
    folder.read_requests(path, is_killed, each)?;
    folder.check_rows(path)?;
    folder.read_gaps(path)?;
    folder.read_timeline(path)?;
    folder.fill_timeline();
    folder.end_windows();
    Ok(folder)
}

/// The looks at the server that a folder holds; none where its run made none.
///
/// # Errors
/// When the table is not what it should be.
pub fn read_looks(folder: &Path) -> Result<Vec<ServerSample>, ReadError> {
    let path = folder.join("server.csv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut table = Table::open(path)?;
    let [point, repeat, t_s, endpoint, took] =
        table.columns(["point", "repeat", "t_s", "endpoint", "took_ms"])?;
    let figures = table.columns(ServerFigure::ALL.map(ServerFigure::name))?;
    let mut looks = Vec::new();
    while table.next()? {
        let number = |at: usize| whole(&table.cells[at]).map(|number| number as u32);
        let read = || {
            let mut look = ServerSample {
                point: number(point),
                repeat: number(repeat),
                endpoint: number(endpoint)?,
                at: micros(real(&table.cells[t_s])??),
                took: millis(&table.cells[took])??,
                error: None,
                figures: ServerFigures::default(),
            };
            for (figure, at) in ServerFigure::ALL.into_iter().zip(figures) {
                look.figures.set(figure, real(&table.cells[at])?);
            }
            Some(look)
        };
        looks.push(read().ok_or_else(|| table.problem("a cell is no number"))?);
    }
    Ok(looks)
}

/// Reads the manifest of a folder.
///
/// # Errors
/// When it is missing, no manifest, or of another form.
pub fn read_manifest(folder: &Path) -> Result<Manifest, ReadError> {
    #[derive(serde::Deserialize)]
    struct Form {
        format: u32,
    }
    let path = folder.join("manifest.json");
    let text = read_text(&path)?;
    let form = serde_json::from_str(&text).map(|form: Form| form.format);
    match (form, serde_json::from_str(&text)) {
        (Ok(found), _) if found != FORMAT => Err(ReadError::Format { path, found }),
        (_, read) => read.map_err(|source| ReadError::Manifest { path, source }),
    }
}

pub(super) fn read_text(path: &Path) -> Result<String, ReadError> {
    fs::read_to_string(path).map_err(|source| ReadError::File { path: path.to_owned(), source })
}

impl Folder {
    /// Every figure of every point and repeat: the rows of `summary.csv`.
    pub fn summary(&self) -> Vec<SummaryRow> {
        self.runs.iter().flat_map(|run| run.fold.summary()).collect()
    }

    /// What rows and manifest say against the figures.
    pub fn findings(&self, simulated: bool) -> Vec<Finding> {
        let (mut findings, limits) = (Vec::new(), &self.manifest.thresholds);
        let mut has_rows = false;
        for run in &self.runs {
            for figures in self.figures(run) {
                has_rows = true;
                findings.extend(judge(&figures, limits, simulated));
            }
            findings.extend(run.fold.answer_findings(limits));
        }
        findings.extend(Finding::answers_forgotten(self.manifest.answers_forgotten));
        // Phases without rows are not judged, so that a run without any would be without fault.
        let counted = self.manifest.phases.iter().find(|entry| entry.measured);
        if let Some(entry) = counted.filter(|_| !has_rows) {
            let nothing = Figures { phase: entry.name.clone(), ..Figures::default() };
            findings.extend(judge(&nothing, limits, simulated));
        }
        findings
    }

    /// What is known of each phase of a run that counts and has rows, by rows and manifest.
    fn figures(&self, run: &RunRows) -> Vec<Figures> {
        let complete = |figures: Figures| {
            let entry = self.manifest.phase(run.point, run.repeat, &figures.phase);
            let client = entry.and_then(|entry| entry.client);
            Figures { client: client.unwrap_or_default().with_rows_of(figures.client), ..figures }
        };
        run.fold.figures().into_iter().map(complete).collect()
    }

    /// Has the manifest say what all rows together say of the client.
    pub(super) fn tell_client(&mut self) {
        for run in &self.runs {
            let own = self.figures(run);
            let is_of_run = |entry: &&mut PhaseEntry| (entry.point, entry.repeat) == (run.point, run.repeat);
            for entry in self.manifest.phases.iter_mut().filter(is_of_run) {
                entry.client =
                    own.iter().find(|it| it.phase == entry.name).map(|it| it.client).or(entry.client);
            }
        }
    }

    /// A folder of which no table has been read.
    pub(super) fn begin(path: &Path, manifest: Manifest, scenario: String) -> Folder {
        let mut folder = Folder { path: path.to_owned(), manifest, scenario, runs: Vec::new() };
        folder.begin_runs();
        folder
    }

    fn begin_runs(&mut self) {
        let mut keys: Vec<_> = self.manifest.phases.iter().map(|entry| (entry.point, entry.repeat)).collect();
        keys.dedup();
        let workloads: Vec<WorkloadSetup> =
            self.manifest.workloads.iter().map(WorkloadEntry::setup).collect();
        let begin = |(point, repeat)| {
            let mut rebuilt = PerSecond::new(point, repeat);
            let mut setups = Vec::new();
            let mut windows = Vec::new();
            for entry in entries(&self.manifest, point, repeat) {
                let (name, counts, open_loop) = (entry.name.clone(), entry.measured, entry.open_loop);
                if let Some(start) = entry.start_s {
                    rebuilt.start_phase(&name, micros(start));
                }
                setups.push(PhaseSetup { name, counts, open_loop });
                let end = entry.window_end_s.filter(|_| !entry.counted).map(micros);
                windows.push(entry.window_start_s.map(|start| Window { start: Some(micros(start)), end }));
            }
            let mut fold = Fold::new(point, repeat, setups, workloads.clone());
            for (phase, window) in (0..).zip(windows) {
                if let Some(window) = window {
                    fold.set_window(phase, window);
                }
            }
            for (phase, entry) in (0..).zip(entries(&self.manifest, point, repeat)) {
                if entry.stopped {
                    fold.mark_stopped(phase);
                }
            }
            RunRows { point, repeat, fold, seconds: Vec::new(), rebuilt }
        };
        self.runs = keys.into_iter().map(begin).collect();
    }

    fn read_requests(
        &mut self,
        folder: &Path,
        rebuilds: bool,
        mut each: impl FnMut(usize, &RequestRecord),
    ) -> Result<(), ReadError> {
        self.read_rows(folder, rebuilds, |run, record, _| {
            each(run, record);
            Ok(())
        })
    }

    /// Whether the rows are those that the run had. One that was killed cannot say, and one that a failure stopped may
    /// have had more than it could write.
    fn check_rows(&self, folder: &Path) -> Result<(), ReadError> {
        if !matches!(self.manifest.state, State::Complete | State::Interrupted) {
            return Ok(());
        }
        for run in &self.runs {
            for (index, entry) in (0..).zip(entries(&self.manifest, run.point, run.repeat)) {
                let told = |what: &str| entry.requests.get(what).copied().unwrap_or(0);
                let found = run.fold.outcomes(index);
                if let Some((what, found)) = found.into_iter().find(|(what, found)| *found != told(what)) {
                    let path = folder.join("requests.csv");
                    let phase = entry.name.clone();
                    return Err(ReadError::Rows { path, phase, what, found, told: told(what) });
                }
            }
        }
        Ok(())
    }

    /// Adds the rows of a folder, each shown with its cells; with `rebuilds` to the course by the second too.
    pub(super) fn read_rows<E: From<ReadError>>(
        &mut self,
        folder: &Path,
        rebuilds: bool,
        mut each: impl FnMut(usize, &RequestRecord, &csv::ByteRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut table = Table::open(folder.join("requests.csv"))?;
        let cells = Cells::of_header(table.header.iter())
            .map_err(|name| ReadError::Column { path: table.path.clone(), name })?;
        let mut row = ReadRow::new();
        let mut place = Place::default();
        while table.next()? {
            cells.read(table.cells.iter(), &mut row).map_err(|column| table.bad_cell(column))?;
            let key = (row.record.point, row.record.repeat);
            let (run, phase, workload) =
                place.find(&self.runs, &self.manifest, key, &row.phase, &row.workload).ok_or_else(|| {
                    table.problem("the manifest knows no such point, repeat, phase or workload")
                })?;
            (row.record.planned.phase, row.record.planned.workload) = (phase, workload);
            let of_run = &mut self.runs[run];
            of_run.fold.add(&row.record, RowEvents::default());
            if rebuilds {
                of_run.rebuilt.add(&row.record, RowEvents::default());
            }
            each(run, &row.record, &table.cells)?;
        }
        Ok(())
    }

    /// Adds the counts of gaps of a folder.
    pub(super) fn read_gaps(&mut self, folder: &Path) -> Result<(), ReadError> {
        let mut table = Table::open(folder.join("gaps.csv"))?;
        let columns = table.columns(["point", "repeat", "phase", "workload", "metric", "low_us", "count"])?;
        let mut place = Place::default();
        while table.next()? {
            let [point, repeat, phase, workload, metric, low_us, count] = columns.map(|at| &table.cells[at]);
            let number = |cell: &[u8]| whole(cell).map(|number| number as u32);
            let text = |cell| std::str::from_utf8(cell).unwrap_or_default();
            let found = place.find(
                &self.runs,
                &self.manifest,
                (number(point), number(repeat)),
                text(phase),
                text(workload),
            );
            let counted = whole(low_us).zip(whole(count));
            let (Some((run, phase, workload)), Some((low_us, count))) = (found, counted) else {
                return Err(table.problem("this is no count of gaps in a phase and workload of the manifest"));
            };
            self.runs[run].fold.add_gaps(phase, workload, metric == b"itl", Micros(low_us), count);
        }
        Ok(())
    }

    /// Adds the seconds of a folder.
    pub(super) fn read_timeline(&mut self, folder: &Path) -> Result<(), ReadError> {
        let mut table = Table::open(folder.join("timeline.csv"))?;
        let columns = table.columns([
            "point",
            "repeat",
            "t_s",
            "phase",
            "offered",
            "sent",
            "completed",
            "failed",
            "dropped",
            "in_flight",
            "prompt_tokens",
            "output_tokens",
            "ttft_p50_ms",
            "ttft_p99_ms",
            "gap_p99_ms",
            "lag_p99_ms",
            "client_cpu",
        ])?;
        while table.next()? {
            let read = second(columns.map(|at| &table.cells[at]));
            let row = read.ok_or_else(|| table.problem("a cell is no number"))?;
            let key = (row.point, row.repeat);
            let run = self.runs.iter_mut().find(|run| (run.point, run.repeat) == key);
            run.ok_or_else(|| table.problem("the manifest knows no such point or repeat"))?.seconds.push(row);
        }
        Ok(())
    }

    /// The seconds of a killed run are those of its rows.
    fn fill_timeline(&mut self) {
        for run in self.runs.iter_mut().filter(|run| run.seconds.is_empty()) {
            run.seconds = run.rebuilt.rows();
            // Rows do not tell when each token came.
            run.seconds.iter_mut().for_each(|second| second.output_tokens = None);
        }
    }

    /// Windows that the manifest of a killed run does not tell are those of the rows.
    pub(super) fn end_windows(&mut self) {
        let is_killed = self.manifest.state == State::Running;
        for run in &mut self.runs {
            for (phase, entry) in (0..).zip(entries(&self.manifest, run.point, run.repeat)) {
                match (entry.counted, entry.window_end_s) {
                    (true, Some(end)) => run.fold.set_last_output(phase, micros(end)),
                    _ if is_killed && entry.window_start_s.is_none() => {
                        run.fold.set_window(phase, Window::default());
                    }
                    _ => {}
                }
            }
        }
    }
}

fn entries(
    manifest: &Manifest,
    point: Option<u32>,
    repeat: Option<u32>,
) -> impl Iterator<Item = &PhaseEntry> {
    manifest.phases.iter().filter(move |entry| (entry.point, entry.repeat) == (point, repeat))
}

fn micros(s: f64) -> Micros {
    Micros((s * 1e6).round() as u64)
}

fn second(cells: [&[u8]; 17]) -> Option<TimelineRow> {
    let number = |at: usize| whole(cells[at]);
    let optional = |at: usize| if cells[at].is_empty() { Some(None) } else { Some(Some(whole(cells[at])?)) };
    Some(TimelineRow {
        point: optional(0)?.map(|point| point as u32),
        repeat: optional(1)?.map(|repeat| repeat as u32),
        t_s: number(2)?,
        phase: Some(std::str::from_utf8(cells[3]).ok()?.to_owned()).filter(|name| !name.is_empty()),
        offered: number(4)?,
        sent: number(5)?,
        completed: number(6)?,
        failed: number(7)?,
        dropped: number(8)?,
        in_flight: number(9)?,
        prompt_tokens: optional(10)?,
        output_tokens: real(cells[11])?,
        ttft_p50: millis(cells[12])?,
        ttft_p99: millis(cells[13])?,
        gap_p99: millis(cells[14])?,
        lag_p99: millis(cells[15])?,
        client_cpu: real(cells[16])?,
    })
}

/// Where the last row belonged, since the next one mostly belongs there too.
#[derive(Default)]
struct Place {
    names: (String, String),
    key: (Option<u32>, Option<u32>),
    found: Option<(usize, u32, u32)>,
}

impl Place {
    /// Run, phase and workload by their names.
    fn find(
        &mut self,
        runs: &[RunRows],
        manifest: &Manifest,
        key: (Option<u32>, Option<u32>),
        phase: &str,
        workload: &str,
    ) -> Option<(usize, u32, u32)> {
        if self.found.is_none() || self.key != key || self.names.0 != phase || self.names.1 != workload {
            let run = runs.iter().position(|run| (run.point, run.repeat) == key)?;
            let phase_at = entries(manifest, key.0, key.1).position(|entry| entry.name == phase)?;
            let workload_at = manifest.workloads.iter().position(|entry| entry.name == workload)?;
            self.names = (phase.to_owned(), workload.to_owned());
            self.key = key;
            self.found = Some((run, phase_at as u32, workload_at as u32));
        }
        self.found
    }
}

/// A CSV file read line by line.
struct Table {
    path: PathBuf,
    reader: csv::Reader<io::Take<File>>,
    header: csv::ByteRecord,
    cells: csv::ByteRecord,
    /// The file does not end with a line break: what stands behind the last one is not whole.
    is_cut: bool,
}

impl Table {
    fn open(path: PathBuf) -> Result<Table, ReadError> {
        let failed = |source| ReadError::File { path: path.clone(), source };
        let mut file = File::open(&path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let whole = whole_lines(&mut file, length).map_err(failed)?;
        let mut reader =
            csv::ReaderBuilder::new().buffer_capacity(BUFFER_BYTES).from_reader(file.take(whole));
        let header = reader.byte_headers().cloned().map_err(|error| ReadError::Line {
            path: path.clone(),
            line: 1,
            problem: error.to_string(),
        })?;
        Ok(Table { path, reader, header, cells: csv::ByteRecord::new(), is_cut: whole < length })
    }

    /// Reads the next line into `cells`; false at the end.
    fn next(&mut self) -> Result<bool, ReadError> {
        match self.reader.read_byte_record(&mut self.cells) {
            Ok(more) => Ok(more),
            // A line break inside the quotes of a row that was being written.
            Err(error) if self.is_cut && matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. }) => {
                if self.reader.is_done() {
                    Ok(false)
                } else {
                    Err(self.problem(&error.to_string()))
                }
            }
            Err(error) => Err(self.problem(&error.to_string())),
        }
    }

    fn columns<const N: usize>(&self, names: [&'static str; N]) -> Result<[usize; N], ReadError> {
        let mut places = [0; N];
        for (place, name) in places.iter_mut().zip(names) {
            let found = self.header.iter().position(|column| column == name.as_bytes());
            *place = found.ok_or_else(|| ReadError::Column { path: self.path.clone(), name })?;
        }
        Ok(places)
    }

    fn bad_cell(&self, column: usize) -> ReadError {
        let name = self.header.get(column).map_or("", |name| std::str::from_utf8(name).unwrap_or(""));
        self.problem(&format!("column `{name}` cannot be read"))
    }

    fn problem(&self, problem: &str) -> ReadError {
        let line = self.cells.position().map_or(0, csv::Position::line);
        ReadError::Line { path: self.path.clone(), line, problem: problem.to_owned() }
    }
}

/// Bytes of a file up to its last line break.
pub(super) fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    const LOOK: u64 = 64 << 10;
    let mut end = length;
    let mut found = 0;
    while end > 0 && found == 0 {
        let start = end.saturating_sub(LOOK);
        let mut bytes = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        found = memchr::memrchr(b'\n', &bytes).map_or(0, |at| start + at as u64 + 1);
        end = start;
    }
    file.rewind()?;
    Ok(found)
}
