//! Pages as servers write them, lines that are none, and the law that what is written is read back.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn read(page: &str) -> Vec<Sample<'_>> {
    samples(page).map(|sample| sample.expect("a sample")).collect()
}

fn only(line: &str) -> Sample<'_> {
    let mut read = read(line);
    assert_eq!(read.len(), 1, "{line}");
    read.remove(0)
}

#[test]
fn counters_and_gauges_of_prometheus_text_are_read() {
    let page = "\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens, \\\\ and # more
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 17062

# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"tiny\"} 0.25
undeclared 1 1796149622000
";
    let read = read(page);
    let brief: Vec<_> =
        read.iter().map(|sample| (sample.name, sample.kind, sample.value, sample.timestamp)).collect();
    assert_eq!(
        brief,
        [
            ("llamacpp:prompt_tokens_total", Kind::Counter, 17062.0, None),
            ("vllm:kv_cache_usage_perc", Kind::Gauge, 0.25, None),
            ("undeclared", Kind::Other, 1.0, Some(1_796_149_622_000.0)),
        ]
    );
    assert_eq!((read[1].label("engine"), read[1].label("model_name")), (Some("0"), Some("tiny")));
    assert_eq!(read[1].label("none"), None);
}

#[test]
fn a_histogram_and_a_summary_are_read_sample_by_sample() {
    let page = "\
# TYPE ttft histogram
ttft_bucket{le=\"0.1\"} 3
ttft_bucket{le=\"+Inf\"} 5.0
ttft_sum 1.5e-1
ttft_count 5
# TYPE wait summary
wait{quantile=\"0.5\"} NaN
wait_sum 0
wait_count 0
wait_max 0
";
    let read = read(page);
    let kinds = [[Kind::Histogram; 4].as_slice(), &[Kind::Summary; 3], &[Kind::Other]].concat();
    assert_eq!(read.iter().map(|sample| sample.kind).collect::<Vec<_>>(), kinds);
    assert_eq!((read[1].label("le"), read[1].value), (Some("+Inf"), 5.0));
    assert!(read[4].value.is_nan());
}

#[test]
fn openmetrics_is_read_to_its_end_without_exemplars() {
    let page = "\
# TYPE hits counter
# UNIT hits tokens
hits_total{a=\"b\"} 8 1796149622.5 # {trace_id=\"x y\"} 0.67 1796149622.1
hits_created{a=\"b\"} 1.7961495915460677e+09
# EOF
anything
";
    let read = read(page);
    assert_eq!(read.len(), 2);
    assert_eq!((read[0].value, read[0].timestamp, read[0].kind), (8.0, Some(1_796_149_622.5), Kind::Counter));
    assert_eq!((read[0].is_creation_time(), read[1].is_creation_time()), (false, true));
    assert_eq!(read[1].kind, Kind::Counter);
}

#[test]
fn a_type_holds_for_its_own_family_only() {
    let read = read("# TYPE a counter\na_total 1\na_bucket 1\nab 1\nb 1\n#TYPE b gauge\nb 1\n# TYPE\nb 1\n");
    let kinds: Vec<_> = read.iter().map(|sample| sample.kind).collect();
    assert_eq!(kinds, [Kind::Counter, Kind::Other, Kind::Other, Kind::Other, Kind::Gauge, Kind::Other]);
}

#[test]
fn values_are_any_numbers() {
    for (text, value) in [
        ("+Inf", f64::INFINITY),
        ("-Inf", f64::NEG_INFINITY),
        ("inf", f64::INFINITY),
        ("-1.5e-3", -0.0015),
        ("0", 0.0),
        ("1.", 1.0),
    ] {
        assert_eq!(only(&format!("x {text}")).value, value, "{text}");
    }
    assert!(only("x NaN").value.is_nan());
}

#[test]
fn escapes_in_labels_are_undone_and_other_backslashes_stay() {
    let sample = only(r#"x{path="C:\\a\"b\"\n{},=",odd="\d\x",empty=""} 1"#);
    assert_eq!(sample.label("path"), Some("C:\\a\"b\"\n{},="));
    assert_eq!((sample.label("odd"), sample.label("empty")), (Some("\\d\\x"), Some("")));
}

#[test]
fn blanks_and_a_last_comma_are_allowed_where_the_formats_allow_them() {
    for line in ["x{a=\"b\",c=\"é\"} 1", " x { a = \"b\" , c = \"é\" , }\t1 ", "x{a=\"b\",c=\"é\"}1"] {
        let sample = only(line);
        assert_eq!(
            (sample.label("a"), sample.label("c"), sample.value),
            (Some("b"), Some("é"), 1.0),
            "{line}"
        );
    }
    assert_eq!(only("x{} 1").labels, []);
    assert_eq!(read("x 1\r\ny 2\r\n").len(), 2);
}

#[test]
fn a_line_that_cannot_be_read_is_a_fault_and_hides_no_other() {
    let page = "\
a 1
1a 1
b
b x
b 1 x
b 1 2 3
b{a=\"1\" 1
b{a=\"1} 1
b{a=1} 1
b{a} 1
b{=\"1\"} 1
b-c 1
{\"quoted\"} 1
<html>
c 2
";
    let read: Vec<_> = samples(page).collect();
    let faults: Vec<_> =
        read.iter().filter_map(|sample| sample.as_ref().err()).map(Fault::to_string).collect();
    insta::assert_snapshot!(faults.join("\n"), @r#"
    line 2 of the metrics: expected the name of a metric
    line 3 of the metrics: expected labels or a blank after the name
    line 4 of the metrics: expected a number as the value
    line 5 of the metrics: expected a number as the time
    line 6 of the metrics: expected nothing after value and time
    line 7 of the metrics: expected a comma or `}` after a label
    line 8 of the metrics: expected the quote that ends a label's value
    line 9 of the metrics: expected a label's value in quotes
    line 10 of the metrics: expected `=` after the label's name
    line 11 of the metrics: expected the name of a label
    line 12 of the metrics: expected labels or a blank after the name
    line 13 of the metrics: expected the name of a metric
    line 14 of the metrics: expected the name of a metric
    "#);
    let values: Vec<_> = read.iter().flatten().map(|sample| (sample.name, sample.value)).collect();
    assert_eq!(values, [("a", 1.0), ("c", 2.0)]);
}

fn write(sample: &Sample<'_>) -> String {
    let mut line = sample.name.to_owned();
    for (at, (name, value)) in sample.labels.iter().enumerate() {
        let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
        write!(line, "{}{name}=\"{value}\"", if at == 0 { '{' } else { ',' }).unwrap();
    }
    line += if sample.labels.is_empty() { "" } else { "}" };
    write!(line, " {}", sample.value).unwrap();
    if let Some(time) = sample.timestamp {
        write!(line, " {time}").unwrap();
    }
    line + "\n"
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,12}",
        labels in proptest::collection::vec(("[a-zA-Z_][a-zA-Z0-9_]{0,6}", r#"[a-z\\\n"{},= #é🙂]{0,8}"#), 0..4),
        value in any::<f64>().prop_filter("NaN is not equal to itself", |value| !value.is_nan()),
        timestamp in proptest::option::of(0.0_f64..1e13),
        comment in "[^\n\r]{0,12}",
    ) {
        let labels = labels.iter().map(|(name, value)| (name.as_str(), Cow::from(value.as_str()))).collect();
        let sample = Sample { name: &name, labels, value, timestamp, kind: Kind::Gauge };
        let page = format!("# HELP {name} {comment}\n# TYPE {name} gauge\n{}", write(&sample));
        prop_assert_eq!(samples(&page).collect::<Vec<_>>(), [Ok(sample)]);
    }

    #[test]
    fn any_text_is_taken_line_by_line(page in "([a-c_:{}=\",\\\\ #0-9.\n\t]|\\PC){0,60}") {
        prop_assert!(samples(&page).count() <= page.lines().count());
    }
}
