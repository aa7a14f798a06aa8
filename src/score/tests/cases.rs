//! The cases of section G of the users' reports, by their numbers.

use super::*;

const RIGHT: bool = true;
const WRONG: bool = false;

#[test]
fn c108_braces_of_a_box_balance_and_none_is_dropped() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", RIGHT),
            (r"\boxed{\frac{1}{2}}", r"\frac{1}{3}", WRONG),
            (r"\boxed{\frac{1}{23}}", r"\frac{12}{3}", WRONG),
        ],
    );
}

#[test]
fn c109_the_last_complete_box_counts() {
    let text = r"First I got \boxed{2}. No — it is \boxed{3}.";
    for kind in ["math", "gsm8k"] {
        assert_verdicts(kind, &[(text, "3", RIGHT), (text, "2", WRONG)]);
    }
}

#[test]
fn c113_a_box_needs_no_dollars_and_a_phrase_no_box() {
    assert_verdicts(
        "math",
        &[(r"The domain is \boxed{[2,5)}", "[2,5)", RIGHT), ("**Answer:** 4.", "4", RIGHT)],
    );
    assert_verdicts("gsm8k", &[("**Answer:** 4.", "4", RIGHT)]);
}

#[test]
fn c114_repeated_boxes_are_one_and_adjacent_ones_a_list() {
    assert_verdicts(
        "math",
        &[
            (r"It is \boxed{1}. Yes, \boxed{1}.", "1", RIGHT),
            (r"x = \boxed{3}, \boxed{5}, \boxed{7}", "3,5,7", RIGHT),
        ],
    );
}

#[test]
fn c115_thousands_commas_and_currency_do_not_count() {
    assert_verdicts(
        "gsm8k",
        &[("#### $70,000", "70000", RIGHT), ("He makes $1,234,567.", "1234567", RIGHT), ("50$", "50", RIGHT)],
    );
}

#[test]
fn c116_a_comma_after_a_number_is_no_number() {
    assert_verdicts(
        "gsm8k",
        &[("The total is 72 clips, altogether.", "72", RIGHT), ("#### 72,", "72", RIGHT)],
    );
}

#[test]
fn c117_numbers_compare_as_numbers() {
    assert_verdicts(
        "gsm8k",
        &[
            ("#### 29.00", "29", RIGHT),
            ("#### $29.", "29", RIGHT),
            ("#### 29.0", "29", RIGHT),
            ("#### 29.5", "29", WRONG),
        ],
    );
}

#[test]
fn c118_signs_are_kept_and_hyphens_are_none() {
    assert_verdicts(
        "gsm8k",
        &[
            ("#### -3", "-3", RIGHT),
            ("#### 3", "-3", WRONG),
            (r"\boxed{-1,234.5}", "-1234.5", RIGHT),
            ("it fell to −3", "-3", RIGHT),
            ("7-3=4 and so\n#### 4", "4", RIGHT),
            ("so we get 7-3", "3", RIGHT),
        ],
    );
}

#[test]
fn c119_nothing_is_rounded() {
    assert_verdicts(
        "gsm8k",
        &[("#### 8.5", "9", WRONG), ("#### 8.999", "9", WRONG), ("#### 9.0", "9", RIGHT)],
    );
}

#[test]
fn c120_a_fraction_is_read_whole() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{\frac{2}{3}}", "2/3", RIGHT),
            ("2/3", "2", WRONG),
            (r"\boxed{0.5}", r"\frac12", RIGHT),
            (r"\boxed{4/6}", "2/3", RIGHT),
        ],
    );
    assert_verdicts("gsm8k", &[("2/3", "2", WRONG), ("2/3", "4/6", RIGHT)]);
}

#[test]
fn c122_bold_marks_do_not_stick_to_the_answer() {
    assert_verdicts(
        "gsm8k",
        &[
            ("… 437 + 2*234 = 905 …\nFinal Answer: **73**", "73", RIGHT),
            ("**Answer: 73 people**", "73", RIGHT),
            ("__Answer__: `73`", "73", RIGHT),
        ],
    );
}

#[test]
fn c123_short_fractions_are_fractions() {
    for prediction in [r"-\frac12", r"-\dfrac{1}{2}", r"-\tfrac 1 2", r"\frac{-1}{2}"] {
        assert_eq!(verdict("math", prediction, r"-\frac{1}{2}"), Verdict::Right, "{prediction}");
    }
    assert_verdicts(
        "math",
        &[(r"\frac1{12}", r"\frac{1}{12}", RIGHT), (r"\boxed{\frac{1}{22}}", r"\frac{1}{2}2", WRONG)],
    );
}

#[test]
fn c124_every_form_equals_itself() {
    for truth in [
        "(2,4)",
        "[2,5)",
        r"(-\infty,3]\cup[7,\infty)",
        r"\begin{pmatrix}1\\2\end{pmatrix}",
        r"\text{Tuesday}",
    ] {
        assert_eq!(verdict("math", truth, truth), Verdict::Right, "{truth}");
        assert_eq!(self_check(Kind::Math, truth), Ok(true), "{truth}");
    }
}

#[test]
fn c128_only_the_text_after_the_reasoning_is_searched() {
    assert_verdicts(
        "gsm8k",
        &[("<think>maybe Answer: 5</think> The answer is 72.", "72", RIGHT), ("72", "72", RIGHT)],
    );
}

#[test]
fn c131_an_invented_question_ends_the_answer() {
    assert_verdicts(
        "gsm8k",
        &[
            ("9 * 2\n#### 18\n\nQuestion: Tom has 3 cats.\nAnswer: 3 * 3\n#### 9", "18", RIGHT),
            ("<think>Example: #### 5</think> 9 * 2\n#### 18", "18", RIGHT),
            ("A: 18\n\nQ: Tom has 3 cats.\nA: 9", "18", RIGHT),
        ],
    );
}

#[test]
fn c133_punctuation_counts() {
    for kind in ["gsm8k", "math", "exact"] {
        assert_verdicts(
            kind,
            &[("1.5", "15", WRONG), ("-4", "4", WRONG), ("1/2", "12", WRONG), ("3^2", "32", WRONG)],
        );
    }
}

#[test]
fn c134_percent_signs_are_dropped_on_both_sides_alike() {
    for kind in ["gsm8k", "math"] {
        assert_verdicts(
            kind,
            &[
                (r"\boxed{20\%}", "20", RIGHT),
                ("20%", r"20\%", RIGHT),
                ("50%", "1/2", WRONG),
                ("1/2", "50%", WRONG),
                ("0.2", r"20\%", WRONG),
                ("20", "0.2", WRONG),
            ],
        );
    }
}

#[test]
fn c135_tags_and_boxes_may_come_together() {
    for kind in ["gsm8k", "math"] {
        assert_verdicts(
            kind,
            &[
                (r"<answer>\boxed{42}</answer>", "42", RIGHT),
                ("<answer>42</answer>", "42", RIGHT),
                (r"<answer>The result is \boxed{\frac{1}{2}}</answer>", "0.5", RIGHT),
            ],
        );
    }
}
