//! Laws that hold for every text, and responses made to break the checker.

use proptest::prelude::*;

use super::work::LIMIT;
use super::*;

/// The answer of a response for every kind, compared with itself and with the truth; returns the steps taken.
fn steps(response: &str, truth: &str) -> u64 {
    let mut most = 0;
    for kind in ["gsm8k", "math", "choice", "exact", "contains"] {
        let rule = Rule::new(Kind::named(kind).unwrap()).unwrap();
        let found = extract(&rule, response, Role::Prediction);
        for other in [extract(&rule, truth, Role::Truth), found.clone()] {
            let mut work = Work::default();
            if let (Ok(found), Ok(other)) = (&found, &other) {
                rule.equal(found, other, &mut work);
            }
            most = most.max(work.spent());
        }
        let check = rule.check(response, truth);
        assert!(check.answer.len() <= MAX_ANSWER && check.truth.len() <= MAX_ANSWER);
    }
    most
}

#[test]
fn hostile_answers_end_after_few_steps() {
    let tower = "9^".repeat(60) + "9";
    let braced_tower = "9^{".repeat(80) + "9" + &"}".repeat(80);
    let bodies: Vec<String> = [
        "9^9^9^9",
        "9^{9^{9^{9}}}",
        "2^{2^{20}}",
        "(2^{65536})^{65536}",
        "1.1^{99999999}",
        "0^0",
        "0^{-1}",
        "1/0",
        r"\frac{1}{1-1}",
        "999999999!",
        "3000!",
        "3000!!",
        "5!!!!!!!!",
        r"\binom{1000000}{500000}",
        r"\binom{3000}{1500}",
        r"\sqrt[999999999]{2}",
        r"\sqrt[0]{2}",
        r"\sqrt{-1}^{\sqrt{-1}}",
        r"\log_1 5",
        r"\log_0 0",
        r"\ln 0",
        "1e999999999",
        "1e-999999999",
        "1e4096",
        r"\tan 90^\circ",
        r"\frac",
        r"\frac{1}",
        r"\sqrt",
        "^",
        "_",
        "x^",
        "x_",
        "|||||",
        "((((",
        "))))",
        "([)]",
        r"\left(\right.",
        r"\begin{pmatrix}",
        r"\end{pmatrix}",
        r"\begin{pmatrix}1&2\\",
        r"\text{",
        r"\text",
        r"\",
        r"\\\\",
        "=",
        "==",
        "=5=",
        "<>",
        ",,,,",
        "±±±",
        r"\pm",
        ".",
        "-",
        "- - - -",
        "0.",
        r"0.\overline{}",
        r"0.\overline{3}\overline{3}",
        "\u{301}\u{301}",
        "√√√",
        "²²²",
        "½½",
        "١٢٣",
        "\u{0}",
        "9223372036854775808^9223372036854775808",
    ]
    .iter()
    .map(|&body| body.to_owned())
    .chain([
        tower,
        braced_tower,
        "(".repeat(2000) + "1" + &")".repeat(2000),
        "{".repeat(2000) + "1" + &"}".repeat(2000),
        r"\frac{1}{".repeat(300) + "2" + &"}".repeat(300),
        r"1\frac{".repeat(60) + "1" + &"}{2}".repeat(60),
        r"\sqrt{".repeat(60) + "2" + &"}".repeat(60),
        r"\text{".repeat(500) + "2" + &"}".repeat(500),
        r"\mathbf{".repeat(60) + "2" + &"}".repeat(60),
        r"\sin ".repeat(800) + "x",
        "-".repeat(4000) + "1",
        "1+".repeat(2000) + "1",
        "2*".repeat(2000) + "2",
        "1/7+1/11+1/13+".repeat(280) + "1",
        "9!*".repeat(1300) + "1",
        "3000!+".repeat(600) + "1",
        "x^{99}+".repeat(580) + "1",
        "1,".repeat(2000) + "1",
        "{1},".repeat(800) + "2",
        r"\{".repeat(60) + "1,2" + &r"\}".repeat(60),
        r"\{\{1,2\},\{2,1\}\},".repeat(200),
        r"\pm 1,".repeat(600),
        "(1,2)".repeat(700),
        "x".repeat(4000),
        "7".repeat(4000),
        "7".repeat(2000) + "." + &"3".repeat(2000),
        "1/".repeat(2000) + "1",
        "!".repeat(4000),
        "2^{1000}^".repeat(400),
        r"\begin{pmatrix}".repeat(200),
        "a_".repeat(2000),
        "a_{".repeat(1000),
        "|".repeat(4000),
        "1 ".repeat(2000),
        "1:".repeat(2000) + "1",
        "x=".repeat(2000) + "1",
        "x<".repeat(2000) + "1",
        r"\cup".repeat(1000),
    ])
    .collect();
    assert!(bodies.len() >= 100);
    for body in bodies {
        for response in [
            body.clone(),
            format!(r"\boxed{{{body}}}"),
            format!("#### {body}"),
            format!("The answer is {body}."),
        ] {
            let steps = steps(&response, "5");
            assert!(steps < 2 * LIMIT, "{steps} steps: {}", &response[..response.floor_char_boundary(60)]);
        }
    }
}

#[test]
fn a_megabyte_of_digits_or_braces_is_read_and_refused() {
    for unit in ["7", "{", "\\boxed{", "1,"] {
        let text = unit.repeat(1_000_000 / unit.len());
        for kind in ["gsm8k", "math"] {
            assert_ne!(verdict(kind, &text, "5"), Verdict::Right, "{unit}");
        }
    }
}

#[test]
fn a_long_text_of_anything_is_read_and_refused() {
    for unit in [
        "7",
        "7,",
        "7 ",
        "x",
        "{",
        "}",
        "\\",
        "$",
        "#",
        "####",
        "####\n",
        "#### ",
        "\\boxed",
        "\\boxed{",
        "\\boxed a{",
        "\\boxed{5}",
        "\\boxed{5},",
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "<<",
        "<<1",
        "answer is ",
        "answer: 5 or ",
        "Question: ",
        "\n\nQ:",
        "1:2",
        "1/2/",
        "-",
        "*",
        "_",
        "`",
        "\\frac",
        "\\frac{",
        "\\text{",
        " ",
        "\n",
        "é",
        "\u{301}",
        "½",
        "答案是",
        "A ",
        "(A)",
        "A. b\n",
        "Step 1: ",
        "1. ",
        "=",
        "≈",
    ] {
        let text = unit.repeat(1 + 30_000 / unit.len());
        let steps = steps(&text, "5");
        assert!(steps < 2 * LIMIT, "{steps} steps: {unit:?}");
    }
}

#[test]
fn an_answer_too_long_to_look_at_is_none() {
    let long = format!(r"\boxed{{{}}}", "7".repeat(MAX_ANSWER + 1));
    for kind in ["gsm8k", "math"] {
        let check = Rule::new(Kind::named(kind).unwrap()).unwrap().check(&long, "7");
        assert_eq!((check.verdict, check.rule), (Verdict::NoAnswer, "too_long"), "{kind}");
    }
}

#[test]
fn large_numbers_are_told_apart_exactly() {
    let digits = "7".repeat(4000);
    let text = format!("#### {digits}");
    assert_eq!(verdict("gsm8k", &text, &digits), Verdict::Right);
    let other = format!("{}8", &digits[1..]);
    assert_eq!(verdict("gsm8k", &text, &other), Verdict::Wrong);
    assert_eq!(verdict("math", r"\boxed{\frac{1}{2006!}}", r"\frac{1}{2004!}"), Verdict::Wrong);
    assert_eq!(verdict("math", r"\boxed{2^{30}+1}", r"(\sqrt{2})^{60}"), Verdict::Wrong);
}

/// Texts with more marks in them than prose has.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\\boxed{",
        "}",
        "{",
        "\\frac",
        "\\frac{1}{2}",
        "\\sqrt",
        "####",
        "answer is ",
        "Answer:",
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "<<",
        ">>",
        "1",
        "2.5",
        ",",
        "/",
        "^",
        "_",
        "(",
        ")",
        "[",
        "]",
        "\\{",
        "\\}",
        "x",
        "\\pi",
        "\\text{",
        "\\text{and}",
        "\\pm",
        "\\cup",
        "\\infty",
        "=",
        "<",
        "\\le",
        ":",
        "|",
        "!",
        "$",
        "%",
        "\n",
        " ",
        "-",
        "e",
        "i",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "&",
        "\\\\",
        "\\",
        "½",
        "²",
        "√",
        "°",
        "A",
        "B",
        "or",
        "。",
        "é",
        ".",
        "\\sin",
        "\\log_",
        "\\left",
        "\\right.",
        "Question:",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat()), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_or_takes_many_steps(response in texts(), truth in texts()) {
        prop_assert!(steps(&response, &truth) < 2 * LIMIT);
        prop_assert!(Rule::new(Kind::Math).unwrap().explain(&response, &truth).len() >= 4);
    }

    #[test]
    fn any_bytes_read_as_text_end_in_a_verdict(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        steps(&text, &text);
    }

    #[test]
    fn a_boxed_truth_equals_itself(truth in texts()) {
        for kind in ["gsm8k", "math", "choice", "exact", "contains"] {
            let kind = Kind::named(kind).unwrap();
            let rule = Rule::new(kind.clone()).unwrap();
            if let Some(reduced) = rule.truth(&truth) && !(kind == Kind::Math && math::normal(&reduced).unwrap_or_default().is_empty()) {
                prop_assert!(self_check(kind, &truth).unwrap(), "{:?}", reduced);
            }
        }
    }

    #[test]
    fn mathematics_is_symmetric_but_for_sides_of_equations(left in texts(), right in texts()) {
        if left.contains(['=', '<', ',']) || right.contains(['=', '<', ',']) || left.contains("\\le") || right.contains("\\le") {
            return Ok(());
        }
        let mut work = Work::default();
        let there = math::compare(&left, &right, 0.0, &mut work).is_some();
        let back = math::compare(&right, &left, 0.0, &mut work).is_some();
        prop_assert_eq!(there, back);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_number_equals_itself_in_every_written_form(value in -9_999_999_i64..9_999_999) {
        let sign = if value < 0 { "-" } else { "" };
        let digits = value.unsigned_abs().to_string();
        let grouped = |separator: &str| {
            let mut out = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at).is_multiple_of(3) {
                    out.push_str(separator);
                }
                out.push(digit);
            }
            format!("{sign}{out}")
        };
        let wide: String = digits.chars().map(|digit| char::from_u32(digit as u32 + 0xfee0).unwrap()).collect();
        let forms = [
            grouped(","), grouped("{,}"), grouped(",\\!"), grouped("\\,"), grouped(" "), grouped("\u{202f}"),
            format!("{sign}{wide}"), format!("{sign}{digits}.00"), format!("{sign}00{digits}"),
            format!("{sign}${digits}"), format!("{sign}{digits}\\%"), format!("{sign}\\frac{{{digits}}}{{1}}"),
            format!("{sign}{digits}/1"), format!("{sign}{digits} dollars"), format!("{sign}{digits}\\text{{ cm}}^2"),
            format!("{}{digits}", sign.replace('-', "−")), format!("**{sign}{digits}**"), format!("{sign}{digits}e0"),
            format!("{sign}{digits}^\\circ"), format!("x = {sign}{digits}"),
        ];
        for form in forms {
            for kind in ["gsm8k", "math"] {
                for response in [format!("\\boxed{{{form}}}"), format!("#### {form}"), format!("The answer is {form}.")] {
                    prop_assert_eq!(verdict(kind, &response, &value.to_string()), Verdict::Right, "{}: {}", kind, response);
                    let other = (value + 1).to_string();
                    prop_assert_eq!(verdict(kind, &response, &other), Verdict::Wrong, "{}: {}", kind, response);
                }
            }
        }
    }
}
