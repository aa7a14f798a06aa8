//! `datasets/word-problems.jsonl` keeps its promises: every step is computed again, exactly.

use std::collections::BTreeSet;

const ROWS: &str = include_str!("../datasets/word-problems.jsonl");

struct Row {
    question: String,
    answer: String,
}

/// The rows, each of exactly two texts.
fn rows() -> Vec<Row> {
    ROWS.lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect(line);
            let object = value.as_object().expect(line);
            assert_eq!(object.len(), 2, "{line}");
            let text = |key: &str| object[key].as_str().expect(line).to_owned();
            Row { question: text("question"), answer: text("answer") }
        })
        .collect()
}

/// One `<<expression=result>>` and the text behind it.
struct Step<'a> {
    expression: &'a str,
    result: &'a str,
    after: &'a str,
}

/// The steps of an answer. Panics on an annotation that is not closed or has no result.
fn steps(answer: &str) -> Vec<Step<'_>> {
    answer
        .split("<<")
        .skip(1)
        .map(|part| {
            let (annotation, after) = part.split_once(">>").expect(answer);
            let (expression, result) = annotation.rsplit_once('=').expect(answer);
            Step { expression, result, after }
        })
        .collect()
}

/// The number at the start of a text, as written: `-1,200` of `-1,200 liters.`
fn leading_number(text: &str) -> &str {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(unsigned.len());
    text[..text.len() - unsigned.len() + digits].trim_end_matches(',')
}

/// A written whole number. None where a comma stands elsewhere than before each group of three digits.
fn whole(written: &str) -> Option<i128> {
    let mut groups = written.trim_start_matches('-').rsplit(',').peekable();
    while let Some(group) = groups.next() {
        let last = groups.peek().is_none();
        if !last && group.len() != 3 || last && written.contains(',') && !(1..=3).contains(&group.len()) {
            return None;
        }
    }
    written.replace(',', "").parse().ok()
}

/// The value of an arithmetic expression, as numerator and denominator without a common factor.
///
/// Grammar: sums of products of whole numbers and brackets, with a leading minus. None where the text is anything
/// else, on division by zero, and where an i128 would overflow.
fn evaluate(expression: &str) -> Option<(i128, i128)> {
    let mut rest = expression.as_bytes();
    let value = sum(&mut rest)?;
    rest.is_empty().then_some(value)
}

fn sum(rest: &mut &[u8]) -> Option<(i128, i128)> {
    let mut total = product(rest)?;
    while let Some(sign @ (b'+' | b'-')) = rest.first().copied() {
        *rest = &rest[1..];
        let (n, d) = product(rest)?;
        let n = if sign == b'+' { n } else { n.checked_neg()? };
        let numerator = total.0.checked_mul(d)?.checked_add(n.checked_mul(total.1)?)?;
        total = reduced(numerator, total.1.checked_mul(d)?)?;
    }
    Some(total)
}

fn product(rest: &mut &[u8]) -> Option<(i128, i128)> {
    let mut total = factor(rest)?;
    while let Some(sign @ (b'*' | b'/')) = rest.first().copied() {
        *rest = &rest[1..];
        let (n, d) = factor(rest)?;
        let (n, d) = if sign == b'*' { (n, d) } else { (d, n) };
        total = reduced(total.0.checked_mul(n)?, total.1.checked_mul(d)?)?;
    }
    Some(total)
}

fn factor(rest: &mut &[u8]) -> Option<(i128, i128)> {
    if let Some(inner) = rest.strip_prefix(b"-") {
        *rest = inner;
        let (n, d) = factor(rest)?;
        return Some((n.checked_neg()?, d));
    }
    if let Some(inner) = rest.strip_prefix(b"(") {
        *rest = inner;
        let value = sum(rest)?;
        *rest = rest.strip_prefix(b")")?;
        return Some(value);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    *rest = &rest[digits..];
    Some((number, 1))
}

fn reduced(n: i128, d: i128) -> Option<(i128, i128)> {
    let (mut a, mut b) = (n.checked_abs()?, d.checked_abs()?);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (d != 0).then(|| (n / a * d.signum(), d / a * d.signum()))
}

#[test]
fn the_evaluator_is_exact_and_refuses_what_it_does_not_know() {
    assert_eq!(evaluate("48/2"), Some((24, 1)));
    assert_eq!(evaluate("2*(3+4)-1"), Some((13, 1)));
    assert_eq!(evaluate("10-3-4"), Some((3, 1)));
    assert_eq!(evaluate("1/3+1/6"), Some((1, 2)));
    assert_eq!(evaluate("-13+2"), Some((-11, 1)));
    assert_eq!(evaluate("3*(0-2)"), Some((-6, 1)));
    assert_eq!(evaluate("1/(0-2)"), Some((-1, 2)));
    for wrong in ["", "1/0", "1/(2-2)", "2+", "(1", "1)", "0.5", "1 + 1", "1,000", &"9".repeat(40)] {
        assert_eq!(evaluate(wrong), None, "{wrong}");
    }
}

#[test]
fn a_written_number_has_its_commas_before_groups_of_three() {
    assert_eq!(whole("1,234,567"), Some(1_234_567));
    assert_eq!(whole("-42"), Some(-42));
    assert_eq!(whole("6160"), Some(6160));
    for wrong in ["12,34", "1,2345", ",123", "1234,567", "", "-", "1,"] {
        assert_eq!(whole(wrong), None, "{wrong}");
    }
    assert_eq!(leading_number("-1,200 liters, at last."), "-1,200");
    assert_eq!(leading_number("24, or so"), "24");
    assert_eq!(leading_number("none"), "");
}

#[test]
fn the_file_is_480_lines_of_json_with_lf_ends_and_no_bom() {
    assert_eq!(rows().len(), 480);
    assert!(!ROWS.starts_with('\u{feff}'));
    assert!(!ROWS.contains('\r'));
    assert!(ROWS.ends_with("}\n"));
    assert!(ROWS.lines().all(|line| !line.is_empty()));
}

#[test]
fn every_step_evaluates_to_its_result_and_the_text_repeats_it() {
    for Row { answer, .. } in rows() {
        for Step { expression, result, after } in steps(&answer) {
            let result = result.parse().expect(&answer);
            assert_eq!(evaluate(expression), Some((result, 1)), "{expression} in {answer}");
            assert_eq!(whole(leading_number(after)), Some(result), "after {expression} in {answer}");
        }
    }
}

#[test]
fn the_truth_is_the_last_result() {
    for Row { answer, .. } in rows() {
        let (worked, truth) = answer.rsplit_once("\n#### ").expect(&answer);
        let last = steps(worked).last().expect(&answer).result.parse().expect(&answer);
        assert_eq!(whole(truth), Some(last), "{answer}");
        assert_eq!(answer.matches("####").count(), 1, "{answer}");
    }
}

#[test]
fn a_row_has_two_to_six_steps_and_asks_something() {
    for Row { question, answer } in rows() {
        assert!((2..=6).contains(&steps(&answer).len()), "{answer}");
        assert!(question.ends_with('?'), "{question}");
        assert_eq!(question.trim(), question);
    }
}

#[test]
fn no_text_stands_twice() {
    let mut seen = BTreeSet::new();
    for Row { question, answer } in rows() {
        assert!(seen.insert(question.clone()), "{question}");
        assert!(seen.insert(answer.clone()), "{answer}");
    }
}

#[test]
fn the_rows_have_what_makes_answers_hard_to_read() {
    let rows = rows();
    let truths: Vec<&str> = rows.iter().filter_map(|row| row.answer.rsplit("#### ").next()).collect();
    assert!(truths.iter().filter(|truth| truth.starts_with('-')).count() >= 20, "negative truths");
    assert!(truths.iter().filter(|truth| truth.contains(',')).count() >= 20, "truths with thousands commas");
    assert!(rows.iter().any(|row| row.question.contains('\u{2019}')), "curly apostrophes");
    assert!(rows.iter().any(|row| row.question.contains('\'')), "straight apostrophes");
}
