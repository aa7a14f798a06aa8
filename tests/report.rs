//! A folder read back gives the figures it was written with.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing where something must be has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assert_cmd::Command;
use tonnage::results::{reader, tables, text};

/// Two phases and two workloads with limits, drops, rows cut at the end, and a phase that ends by count.
const SCENARIO: &str = r#"
name = "two"
seed = 3
target.sim.profile = "8b-h100"

[[workload]]
name = "chat"
weight = 2
prompt.synthetic.words = 50
output.max_tokens.uniform = { min = 8, max = 40 }
slo = { ttft = "40ms", tpot = "20ms" }

[[workload]]
name = "long"
prompt.synthetic.words = 600
output.max_tokens = 64

[[phase]]
name = "timed"
warm_up = "5s"
duration = "40s"
drain = "50ms"
load.poisson = { rate = "20/s", max_in_flight = 12 }

[[phase]]
name = "counted"
requests = 200
load.closed = 8
"#;

fn tonnage() -> Command {
    Command::cargo_bin("tonnage").unwrap()
}

/// The folder of a run, which is made once and copied.
fn rehearse(folder: &Path) -> PathBuf {
    static ONCE: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("two.toml");
        fs::write(&scenario, SCENARIO).unwrap();
        let run = folder.path().join("run");
        tonnage().arg("rehearse").arg(&scenario).arg("--out").arg(&run).arg("--quiet").output().unwrap();
        folder
    });
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    for file in fs::read_dir(ONCE.path().join("run")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), run.join(file.file_name())).unwrap();
    }
    run
}

fn rows(path: &Path) -> usize {
    csv::Reader::from_path(path).unwrap().records().map(Result::unwrap).count()
}

#[test]
fn every_figure_of_the_summary_is_rebuilt_to_the_last_digit() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let written = fs::read_to_string(run.join("summary.csv")).unwrap();
    let mut seen = 0;
    let read = reader::read(&run, |_, _| seen += 1).unwrap();
    assert_eq!(seen, rows(&run.join("requests.csv")));
    assert!(seen > 900, "{seen}");
    assert_eq!(text::file(tables::SUMMARY, &read.summary()), written);
    assert_eq!(
        text::file(tables::GAPS, &read.runs[0].fold.gaps()),
        fs::read_to_string(run.join("gaps.csv")).unwrap()
    );
    assert_eq!(
        text::file(tables::TIMELINE, &read.runs[0].seconds),
        fs::read_to_string(run.join("timeline.csv")).unwrap()
    );
    let told = tonnage().arg("report").arg(&run).arg("--csv").assert().success();
    assert_eq!(String::from_utf8(told.get_output().stdout.clone()).unwrap(), written);
    for outcome in ["dropped", "cut_at_end"] {
        assert!(fs::read_to_string(run.join("requests.csv")).unwrap().contains(outcome), "{outcome}");
    }
}

#[test]
fn the_report_tells_what_the_run_told_and_leaves_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let told = tonnage().arg("report").arg(&run).assert().success();
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(told.starts_with("two · sim 8b-h100") && told.contains("timed: 35.0 s measured"), "{told}");
    assert_eq!(told.trim_end().lines().last(), run.join("report.html").to_str());
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 8);
    assert!(page.len() < 1_000_000, "{}", page.len());
    assert!(!page.contains("NaN") && !page.contains("<script"));
}

/// Makes of a run one that did not end: its manifest says how it began, and of those tables there is the header alone.
fn leave_unended(run: &Path, tables: &[&str]) {
    let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest["state"] = "running".into();
    manifest["verdict"] = serde_json::Value::Null;
    for phase in manifest["phases"].as_array_mut().unwrap() {
        for key in ["start_s", "window_start_s", "window_end_s", "end_s", "drained_s", "ended_by"] {
            phase[key] = serde_json::Value::Null;
        }
    }
    fs::write(run.join("manifest.json"), manifest.to_string()).unwrap();
    for file in tables {
        let text = fs::read_to_string(run.join(file)).unwrap();
        fs::write(run.join(file), format!("{}\n", text.lines().next().unwrap())).unwrap();
    }
}

#[test]
fn c136_a_run_that_was_killed_is_told_from_the_rows_it_left() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    // As if it had been killed while a row was being written: no summary, no timeline, no end in the manifest.
    leave_unended(&run, &["summary.csv", "gaps.csv", "timeline.csv"]);
    let requests = fs::read_to_string(run.join("requests.csv")).unwrap();
    let whole: Vec<&str> = requests.split_inclusive('\n').take(601).collect();
    fs::write(run.join("requests.csv"), whole.concat() + "0,0,601,timed,ch").unwrap();
    let mut seen = 0;
    let read = reader::read(&run, |_, _| seen += 1).unwrap();
    assert_eq!(seen, 600);
    let summary = read.summary();
    let ttft = summary.iter().find(|row| row.metric == "ttft" && row.statistic == "p50").unwrap();
    assert!(ttft.value.is_some() && ttft.count > 100);
    assert!(read.runs[0].seconds.len() > 20, "the course is rebuilt from rows");
    let told = tonnage().arg("report").arg(&run).assert().success();
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(told.lines().next().unwrap().ends_with("not ended"), "{told}");
}

#[test]
fn a_run_that_was_killed_before_its_first_row_is_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    leave_unended(&run, &["requests.csv", "gaps.csv", "timeline.csv"]);
    let told = tonnage().arg("report").arg(&run).assert();
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(told.lines().next().unwrap().contains("insufficient"), "{told}");
    assert!(told.contains("no measured request ended ok"), "{told}");
}

#[test]
fn what_is_no_folder_of_a_run_is_refused_with_the_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |run: &Path| {
        let told = tonnage().arg("report").arg(run).assert().code(2);
        String::from_utf8(told.get_output().stderr.clone()).unwrap()
    };
    let told = refused(folder.path());
    assert!(told.contains("manifest.json") && told.contains("help: name the folder of a run"), "{told}");
    let run = rehearse(folder.path());
    let requests = fs::read_to_string(run.join("requests.csv")).unwrap();
    let broken = requests.replacen(",ok,", ",fine,", 1);
    fs::write(run.join("requests.csv"), broken).unwrap();
    let told = refused(&run);
    assert!(told.contains("requests.csv:2: column `outcome` cannot be read"), "{told}");
    fs::write(run.join("manifest.json"), "{\"format\": 99}").unwrap();
    assert!(refused(&run).contains("has form 99"));
}

/// A folder of its own with a copy of the run.
/// What `report` says of a run whose rows were changed since, header included.
fn told_of(change: impl Fn(&mut Vec<String>)) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let path = run.join("requests.csv");
    let mut lines = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    change(&mut lines);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let output = tonnage().arg("report").arg(&run).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), told.replace(&run.display().to_string(), "RUN"))
}

#[test]
fn rows_that_are_not_those_of_the_run_are_refused() {
    assert_eq!(told_of(|_| {}), (Some(0), String::new()));
    let (code, told) = told_of(|lines| lines.truncate(lines.len() - 3));
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(told, @r"
    error: RUN/requests.csv has 197 rows of phase `counted` that are planned, and the run had 200: rows were lost or changed since
      help: take the folder as the run left it
    ");
    for change in [
        |lines: &mut Vec<String>| lines.truncate(1),
        |lines: &mut Vec<String>| lines.push(lines[1].clone()),
        |lines: &mut Vec<String>| lines[5] = lines[5].replacen(",ok,", ",truncated,", 1),
    ] {
        let (code, told) = told_of(change);
        assert_eq!(code, Some(2));
        assert!(told.contains("rows were lost or changed since"), "{told}");
    }
}

fn copy(folder: &Path, name: &str) -> PathBuf {
    let inner = folder.join(name);
    fs::create_dir(&inner).unwrap();
    rehearse(&inner)
}

#[test]
fn a_run_compares_with_its_copy_and_not_with_another_load() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let again = copy(folder.path(), "again");
    let told = tonnage().arg("compare").args([&run, &again]).assert().code(0);
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(
        told.contains("within-run interval only") && told.contains("0 worse by more than 5.0 %"),
        "{told}"
    );
    let told = tonnage().arg("compare").args([&run, &again]).arg("--csv").assert().code(0);
    let rows: Vec<_> = csv::Reader::from_reader(&told.get_output().stdout[..]).into_records().collect();
    assert!(rows.len() > 20 && rows.iter().all(Result::is_ok));

    let other = copy(folder.path(), "other");
    let scenario = fs::read_to_string(other.join("scenario.toml")).unwrap();
    fs::write(other.join("scenario.toml"), scenario.replace("words = 600", "words = 700")).unwrap();
    let told = tonnage().arg("compare").args([&run, &other]).assert().code(2);
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    assert!(told.contains("workload.long.prompt.synthetic") && told.contains("--anyway"), "{told}");
    let _ = tonnage().arg("compare").args([&run, &other]).arg("--anyway").assert().code(0);
}

#[test]
fn a_folder_that_is_named_twice_is_refused_under_whatever_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let again = copy(folder.path(), "again");
    let dotted = folder.path().join("again").join("..").join("run");
    for args in [vec![&run, &run], vec![&run, &dotted], vec![&run, &again, &again]] {
        let told = tonnage().arg("compare").args(args).assert().code(2);
        let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
        assert!(told.contains(" is the same run as ") && told.contains("name each run once"), "{told}");
    }
    let told = tonnage().arg("compare").args([&again, &run]).arg("--base").arg(&dotted).assert().code(2);
    assert!(String::from_utf8_lossy(&told.get_output().stderr).contains("name each run once"));
}

#[test]
fn rehearsals_of_one_seed_are_one_run_however_many_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let copies = ["a", "b", "c", "d", "e"].map(|name| copy(folder.path(), name));
    let mut compare = tonnage();
    let _ = compare.arg("compare").arg(&run).args(&copies[..3]);
    let told = compare.arg("--base").arg(&copies[3]).arg("--base").arg(&copies[4]).assert().code(0);
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    let names = format!("{}, {}, {}", copies[0].display(), copies[1].display(), copies[2].display());
    assert!(told.contains(&format!("these rehearsals are the same run: {names}; counted once")), "{told}");
    assert!(told.contains("set another seed for each (seed = 3)"), "{told}");
    assert!(told.contains("timed: 1 run against 1 run; within-run interval only"), "{told}");
}

#[test]
fn a_rehearsal_against_a_measured_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let real = copy(folder.path(), "real");
    let manifest = fs::read_to_string(real.join("manifest.json")).unwrap();
    let changed = manifest.replace("\"clock\": \"virtual\"", "\"clock\": \"real\"");
    assert_ne!(changed, manifest);
    fs::write(real.join("manifest.json"), changed).unwrap();
    let told = tonnage().arg("compare").args([&run, &real]).assert().code(0);
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(told.contains("clock: virtual, rehearsed → real, measured\n"), "{told}");
}

/// Ten requests a second for three minutes, to a server that is not busy.
const STEADY: &str = r#"
name = "steady"
seed = 1
target.sim.profile = "8b-h100"

[[workload]]
name = "chat"
prompt.synthetic.words = 40
output.max_tokens = 20
slo.ttft = "100ms"

[[phase]]
name = "steady"
duration = "3m"
load.poisson = "10/s"
"#;

/// A rehearsal whose server has these faults.
fn rehearse_faulty(folder: &Path, faults: &str) -> PathBuf {
    let scenario = folder.join("faulty.toml");
    fs::write(&scenario, STEADY).unwrap();
    let out = folder.join(if faults.is_empty() { "sound".to_owned() } else { faults.replace('@', "-") });
    let faults = format!("target.sim.faults={faults}");
    let set = if out.ends_with("sound") { vec![] } else { vec!["--set", faults.as_str()] };
    let done = tonnage().arg("rehearse").arg(&scenario).arg("--out").arg(&out).args(set).output().unwrap();
    assert!(out.join("summary.csv").exists(), "{}", String::from_utf8_lossy(&done.stderr));
    out
}

/// The rows of `compare --csv` by metric: change, lower and upper end, meaning.
fn compared(base: &Path, new: &Path, code: i32) -> std::collections::BTreeMap<String, [String; 4]> {
    let told = tonnage().arg("compare").args([base, new]).args(["--csv", "--anyway"]).assert().code(code);
    let rows = csv::Reader::from_reader(&told.get_output().stdout[..]).into_records();
    rows.map(Result::unwrap)
        .map(|row| (format!("{} {}", &row[3], &row[4]), [7, 8, 9, 13].map(|at| row[at].to_owned())))
        .collect()
}

#[test]
fn figures_that_failures_make_late_for_ever_are_worse_and_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, failing) =
        (rehearse_faulty(folder.path(), ""), rehearse_faulty(folder.path(), "status=500@10%"));
    let (fall, rise) = (compared(&sound, &failing, 5), compared(&failing, &sound, 0));
    for metric in ["ttft_adjusted p99", "e2e_adjusted p99"] {
        assert_eq!((fall[metric][3].as_str(), rise[metric][3].as_str()), ("worse", "better"), "{metric}");
    }
    let told = tonnage().arg("compare").args([&sound, &failing]).arg("--anyway").assert().code(5);
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    let line = told.lines().find(|line| line.contains("ttft_adjusted p99")).unwrap();
    assert!(line.contains(" never ") && line.ends_with(" worse"), "{line}");
    assert!(!told.contains("the base alone has"), "{told}");
}

#[test]
fn what_falls_to_zero_is_worse_and_what_rises_from_it_is_better() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, dead) =
        (rehearse_faulty(folder.path(), ""), rehearse_faulty(folder.path(), "status=500@100%"));
    let fall = compared(&sound, &dead, 5);
    for rate in ["request_throughput", "goodput", "output_throughput", "success", "attainment"] {
        let Some([change, low, high, meaning]) = fall.get(&format!("{rate} value")) else {
            panic!("{rate} is not compared: {fall:?}")
        };
        assert_eq!((change.as_str(), meaning.as_str()), ("-1", "worse"), "{rate}");
        assert!(!low.is_empty() && high.parse::<f64>().unwrap() < -0.9, "{rate}: {high}");
    }
    let rise = compared(&dead, &sound, 0);
    for rate in ["request_throughput", "goodput", "output_throughput", "success", "attainment"] {
        assert_eq!(rise[&format!("{rate} value")][3], "better", "{rate}");
    }
    // Nothing from nothing tells nothing.
    let copied = folder.path().join("copied");
    fs::create_dir(&copied).unwrap();
    let still = compared(&dead, &rehearse_faulty(&copied, "status=500@100%"), 0);
    assert!(still.values().all(|[.., meaning]| meaning == "unclear" || meaning == "same"), "{still:?}");
}

#[test]
fn a_regression_over_the_bound_ends_with_code_5() {
    let folder = tempfile::tempdir().unwrap();
    let run = rehearse(folder.path());
    let slow = folder.path().join("slow");
    fs::create_dir(&slow).unwrap();
    let slow = rehearse(&slow);
    // Each first token half a second later.
    let requests = fs::read_to_string(slow.join("requests.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(requests.as_bytes());
    let header = reader.headers().unwrap().clone();
    let place = header.iter().position(|name| name == "first_token_s").unwrap();
    let mut writer = csv::Writer::from_path(slow.join("requests.csv")).unwrap();
    writer.write_record(&header).unwrap();
    for row in reader.records().map(Result::unwrap) {
        let cells = row.iter().enumerate().map(|(at, cell)| match cell.parse::<f64>() {
            Ok(s) if at == place => format!("{:.6}", s + 0.5),
            _ => cell.to_owned(),
        });
        writer.write_record(cells.collect::<Vec<_>>()).unwrap();
    }
    writer.flush().unwrap();
    let told = tonnage().arg("compare").args([&run, &slow]).assert().code(5);
    let told = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    assert!(told.contains("ttft p50") && told.contains(" worse"), "{told}");
}
