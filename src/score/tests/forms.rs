//! Written forms, one table a rule.

use super::*;

const RIGHT: bool = true;
const WRONG: bool = false;

#[test]
fn c106_a_gold_that_is_the_worked_solution_goes_through_the_same_extraction() {
    let solution = r"The side is 0.8, so s = 2\cdot 0.8 = \boxed{1.6} cm.";
    let (others, none) = (r"We try \boxed{3}. It fails: \boxed{1.6}", "so there is no telling");
    assert_verdicts(
        "math",
        &[
            (r"\boxed{1.6}", solution, RIGHT),
            (r"\boxed{\frac{8}{5}}", solution, RIGHT),
            (r"\boxed{1.7}", solution, WRONG),
            (r"\boxed{1.6}", others, RIGHT),
            (r"\boxed{3}", others, WRONG),
            (r"\boxed{1.6}", none, WRONG),
        ],
    );
}

#[test]
fn disputed_forms_are_decided_as_the_documentation_says() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{\frac{4}{6}}", r"\frac{2}{3}", RIGHT),
            (r"\boxed{0.3333}", r"\frac{1}{3}", WRONG),
            (r"\boxed{0.3333333333}", r"\frac{1}{3}", WRONG),
            (r"\boxed{0.33333333333333333}", r"\frac{1}{3}", WRONG),
            (r"\boxed{1.732}", r"\sqrt{3}", WRONG),
            (r"\boxed{1.7320508075688772}", r"\sqrt{3}", WRONG),
            (r"\boxed{2.6667}", r"\frac{8}{3}", WRONG),
            (r"\boxed{3.141592653589793}", r"\pi", WRONG),
            (r"\boxed{3.141592653589793x}", r"\pi x", WRONG),
            (r"\boxed{5000}", "50", WRONG),
            (r"\boxed{\pm 2}", "-2,2", RIGHT),
            (r"\boxed{2 \geq x}", r"x \le 2", RIGHT),
            (r"\boxed{(5,\infty) \cup (-\infty,-5)}", r"(-\infty,-5)\cup(5,\infty)", RIGHT),
            (r"\boxed{(0,1)}", "[0,1)", WRONG),
            (r"\boxed{x<2}", r"x\le2", WRONG),
            (r"\boxed{52_9}", "52_8", WRONG),
            (r"\boxed{2516}", "2516_8", WRONG),
            (r"\boxed{41, 276}", "41276", WRONG),
            (r"\boxed{41, 276}", r"\$41,\!276", WRONG),
            (r"\boxed{5!}", "120", RIGHT),
            (r"\boxed{2\times3}", "6", RIGHT),
            (r"\boxed{50\%}", "0.5", WRONG),
            (r"\boxed{1, 2}", "(1,2)", WRONG),
            (r"\boxed{x<3}", r"(-\infty,3)", WRONG),
            (r"\boxed{5\text{ cm}}", r"5\text{ m}", RIGHT),
            (r"\boxed{64\text{ square feet}}", r"64\text{ feet}", RIGHT),
            (r"\boxed{1,22}", "1.22", WRONG),
            (r"\boxed{eighteen}", "18", WRONG),
            (r"\boxed{[1,2]}", "(1,2)", WRONG),
            ("\\boxed{9} wait\n#### 18", "18", RIGHT),
            (r"\boxed{9} and then, on reflection, \boxed{18}", "18", RIGHT),
        ],
    );
    assert_verdicts(
        "gsm8k",
        &[
            ("#### 5\nwait\n#### 6", "6", RIGHT),
            ("#### 5\nwait\n#### 6", "5", WRONG),
            ("9 + 9 = 18\n#### eighteen", "18", WRONG),
            ("#### 1,5", "1.5", WRONG),
            ("#### 1.000", "1000", WRONG),
            ("#### 41, 276", "41276", WRONG),
            ("#### 0.3333333333", "1/3", WRONG),
        ],
    );
}

#[test]
fn numbers_are_read_in_every_written_form() {
    assert_verdicts(
        "gsm8k",
        &[
            ("#### 1 000", "1000", RIGHT),
            ("#### 1\u{a0}000", "1000", RIGHT),
            ("#### 1.5e3", "1500", RIGHT),
            ("#### 1.5E3", "1500", RIGHT),
            ("#### 2e-1", "0.2", RIGHT),
            ("#### +5", "5", RIGHT),
            ("#### - 5", "-5", RIGHT),
            ("#### - 5", "5", WRONG),
            ("#### -$5", "-5", RIGHT),
            ("#### $-5", "-5", RIGHT),
            ("#### USD 5", "5", RIGHT),
            ("#### 5 USD", "5", RIGHT),
            ("#### £1,000.50", "1000.5", RIGHT),
            ("#### 007", "7", RIGHT),
            ("#### 0.50", ".5", RIGHT),
            (r"#### $\frac{1}{2}$", "0.5", RIGHT),
            (r"\boxed{3\frac{1}{2}}", "3.5", RIGHT),
            (r"\boxed{3½}", "3.5", RIGHT),
            (r"\boxed{\frac{7}{2}}", "3.5", RIGHT),
            (r"\boxed{\dfrac72}", "3.5", RIGHT),
            (r"\boxed{10^4}", "10000", RIGHT),
            (r"\boxed{1.2 x 10^6}", "1200000", RIGHT),
            (r"\boxed{1.2×10⁶}", "1200000", RIGHT),
            (r"\boxed{1{,}234}", "1234", RIGHT),
            (r"\boxed{1,\!234}", "1234", RIGHT),
            (r"\boxed{1\,234}", "1234", RIGHT),
            (r"\boxed{\$1,234.00}", "1234", RIGHT),
            (r"\boxed{18 \text{ dollars}}", "18", RIGHT),
            (r"\boxed{\text{18 dollars}}", "18", RIGHT),
            (r"\boxed{\text{\$}18}", "18", RIGHT),
            (r"\boxed{30 \text{ m}^2}", "30", RIGHT),
            (r"\boxed{30\ \mathrm{cm}^{2}}", "30", RIGHT),
            (r"\boxed{90^\circ}", "90", RIGHT),
            (r"\boxed{x = 5}", "5", RIGHT),
            (r"\boxed{5.}", "5", RIGHT),
            ("#### 18!", "18", RIGHT),
            ("#### 18。", "18", RIGHT),
            ("#### _18_", "18", RIGHT),
            ("#### *18*", "18", RIGHT),
            ("#### \"18\"", "18", RIGHT),
            ("#### ~18", "18", RIGHT),
            ("#### (18)", "18", RIGHT),
            ("#### [18]", "18", RIGHT),
            ("#### 18 (9 eggs at $2)", "18", RIGHT),
            ("#### 18 eggs.", "18", RIGHT),
            ("#### 5kg", "5", RIGHT),
            ("#### 18/1", "18", RIGHT),
            ("#### 36/2", "18", RIGHT),
            ("#### 9*2", "18", RIGHT),
            ("#### 9 * 2 = 18", "18", RIGHT),
            ("#### 18 = 9 * 2", "18", RIGHT),
        ],
    );
}

#[test]
fn after_a_mark_there_is_one_value() {
    assert_verdicts(
        "gsm8k",
        &[
            ("#### 2 or 3", "3", WRONG),
            ("#### 10 to 20", "10", WRONG),
            ("#### 10-20", "10", WRONG),
            ("#### 10–20", "20", WRONG),
            ("#### 5:30", "30", WRONG),
            ("#### 3:2", "3", WRONG),
            ("#### 18, 19", "18", WRONG),
            ("#### 18 and 19", "19", WRONG),
            (r"\boxed{18}, \boxed{19}", "19", WRONG),
            (r"\boxed{18}, \boxed{18.0}", "18", RIGHT),
            ("The answer is 2 or 3.", "2", WRONG),
            ("The answer is between 10 and 20.", "10", WRONG),
            ("The answer is 5:30.", "5", WRONG),
            ("#### 18 (or 20)", "18", WRONG),
            ("#### 1.2.3", "1.2", WRONG),
            ("<answer>2 or 3</answer>", "3", WRONG),
        ],
    );
    assert_verdicts(
        "math",
        &[
            (r"\boxed{10 \text{ to } 20}", "10", WRONG),
            (r"\boxed{2 \text{ or } 3}", "2", WRONG),
            (r"\boxed{3:2}", "3", WRONG),
        ],
    );
}

#[test]
fn phrases_and_last_numbers_are_found_in_prose() {
    assert_verdicts(
        "gsm8k",
        &[
            ("The answer is 9 * 2 = 18 dollars.", "18", RIGHT),
            ("The answer is 18, since 9 * 2 = 19.", "18", RIGHT),
            ("The answer is $18.50.", "18.5", RIGHT),
            ("The answer is **$1,234**.", "1234", RIGHT),
            ("Answer:\n\n18", "18", RIGHT),
            ("**Final Answer:**\n\n18 eggs", "18", RIGHT),
            ("The final answer is: $\\frac{1}{2}$.", "0.5", RIGHT),
            ("The answer is -5.", "-5", RIGHT),
            ("The answer is 18. I hope the answer is clear.", "18", RIGHT),
            ("答案为 18", "18", RIGHT),
            ("最终答案：18 个", "18", RIGHT),
            ("Step 1: 9 eggs\nStep 2: she earns 18 dollars.\nStep 3: done.", "18", RIGHT),
            ("1. First, 9 eggs.\n2. Then 18 dollars.\n3. That is all.", "18", RIGHT),
            ("She earns 18 dollars on the 4th day.", "18", RIGHT),
            ("The room is R2D2 and the count 18", "18", RIGHT),
            ("In total 30 m² are painted", "30", RIGHT),
            ("In total 30 cm^2 are painted", "30", RIGHT),
            ("Result:\n- 18 eggs", "18", RIGHT),
            ("It costs 1 000 dollars", "1000", RIGHT),
            ("10 - 3", "3", RIGHT),
            ("They meet at 5:30", "30", WRONG),
            ("nothing", "18", WRONG),
            ("18", "18", RIGHT),
            ("18.", "18", RIGHT),
        ],
    );
}

#[test]
fn cut_off_and_empty_answers_are_none() {
    for (kind, text, rule) in [
        ("gsm8k", r"so it comes to \boxed{18", "open_box"),
        ("math", r"\boxed{12} or rather \boxed{\frac{1}{2}", "open_box"),
        ("gsm8k", r"18 \boxed{}", "hollow_mark"),
        ("math", r"The answer is 5. \boxed{?}", "hollow_mark"),
        ("math", r"\boxed{\,}", "hollow_mark"),
        ("gsm8k", "<think>18", "open_reasoning"),
        ("choice", "<think>B</think> hm <think>C", "open_reasoning"),
        ("exact", "<think>Paris", "open_reasoning"),
        ("gsm8k", " \n", "nothing"),
        ("exact", "", "nothing"),
        ("choice", "None of these fits.", "nothing"),
        ("math", "line one\nline two", "nothing"),
        ("gsm8k", "18\n####", "hollow_mark"),
    ] {
        let check = Rule::new(Kind::named(kind).unwrap()).unwrap().check(text, "B");
        assert_eq!((check.verdict, check.rule), (Verdict::NoAnswer, rule), "{kind}: {text:?}");
        assert_eq!(check.answer, "", "{kind}: {text:?}");
    }
}

#[test]
fn leaked_tokens_reasoning_and_invented_questions_are_cut() {
    assert_verdicts(
        "gsm8k",
        &[
            ("\u{feff}#### 18", "18", RIGHT),
            ("#### 18</s> #### 9", "18", RIGHT),
            ("#### 18<|im_end|>\n<|im_start|>user\n<think>9", "18", RIGHT),
            ("9</think>ignored</think>#### 18", "18", RIGHT),
            ("<think>a</s>b</think>#### 18", "18", RIGHT),
            ("#### 18\n**Question:** next?\n#### 9", "18", RIGHT),
            ("#### 18\nProblem: next?\n#### 9", "18", RIGHT),
            ("#### 18\n问题：下一个\n#### 9", "18", RIGHT),
            ("Question: how many?\n#### 18", "18", RIGHT),
            ("9 * 2 = <<9*2=18>>18", "18", RIGHT),
            ("<answer>9</answer> no: <answer>18</answer>", "18", RIGHT),
            ("<answer>18", "18", RIGHT),
            ("<answer>\n18 eggs\n</answer>", "18", RIGHT),
        ],
    );
}

#[test]
fn mathematics_is_compared_by_form_and_value() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{(x+1)^2}", "x^2+2x+1", RIGHT),
            (r"\boxed{\sqrt8}", r"2\sqrt{2}", RIGHT),
            (r"\boxed{\sqrt{12}}", r"2\sqrt3", RIGHT),
            (r"\boxed{q-p}", "p-q", WRONG),
            (r"\boxed{-(q-p)}", "p-q", RIGHT),
            (r"\boxed{\frac{x}{2}}", r"\frac12x", RIGHT),
            (r"\boxed{0.5x}", r"\frac{1}{2}x", RIGHT),
            (r"\boxed{|x|}", "x", WRONG),
            (r"\boxed{\sqrt{x^2}}", "x", WRONG),
            (r"\boxed{x\sqrt{x}}", r"\sqrt{x^3}", RIGHT),
            (r"\boxed{12x\sqrt{11x}}", r"12 x \sqrt{11 x}", RIGHT),
            (r"\boxed{\sin 32^\circ}", r"\cos 58^\circ", RIGHT),
            (r"\boxed{\frac{\ln 3}{\ln 2}}", r"\log_2 3", RIGHT),
            (r"\boxed{\log_2 8}", "3", RIGHT),
            (r"\boxed{\tan 45^\circ}", "1", RIGHT),
            (r"\boxed{\sin^2 x + \cos^2 x}", "1", WRONG),
            (r"\boxed{\binom{5}{2}}", "10", RIGHT),
            (r"\boxed{\binom52}", "10", RIGHT),
            (r"\boxed{2^{10}}", "1024", RIGHT),
            (r"\boxed{2^10}", "1024", RIGHT),
            (r"\boxed{8^{1/3}}", "2", RIGHT),
            (r"\boxed{\sqrt[3]{-8}}", "-2", RIGHT),
            (r"\boxed{e^{i\pi}}", "-1", RIGHT),
            (r"\boxed{i^2}", "-1", RIGHT),
            (r"\boxed{0.\overline{3}}", r"\frac13", RIGHT),
            (r"\boxed{0.1\overline{6}}", r"\frac16", RIGHT),
            (r"\boxed{\frac{\pi}{4}}", r"45^\circ", WRONG),
            (r"\boxed{\lfloor 3.7 \rfloor}", "3", RIGHT),
            (r"\boxed{|-3|}", "3", RIGHT),
            (r"\boxed{1/2x}", r"\frac{x}{2}", RIGHT),
            (r"\boxed{x_1 + x_2}", "x_{2}+x_{1}", RIGHT),
            (r"\boxed{2^{n+1}}", r"2\cdot 2^n", RIGHT),
            (r"\boxed{n(n+1)/2}", r"\frac{n^2+n}{2}", RIGHT),
            (r"\boxed{\frac{n!}{(n-1)!}}", "n", RIGHT),
            (r"\boxed{\infty}", r"-\infty", WRONG),
            (r"\boxed{+\infty}", r"\infty", RIGHT),
            (r"\boxed{\frac{1+\sqrt5}{2}}", r"\frac{\sqrt{5}+1}{2}", RIGHT),
            (r"\boxed{\sqrt{3+2\sqrt2}}", r"1+\sqrt2", RIGHT),
            (r"\boxed{1/\sqrt2}", r"\frac{\sqrt{2}}{2}", RIGHT),
            (r"\boxed{\sqrt{2}/2}", r"\frac{\sqrt{2}}{2}", RIGHT),
            (r"\boxed{10^{-20}}", "10^{-21}", WRONG),
            (r"\boxed{e^{-1000}}", "e^{-1001}", WRONG),
            (r"\boxed{e^{1000}}", "e^{1001}", WRONG),
            (r"\boxed{\frac{1}{0}}", r"\frac{2}{0}", WRONG),
            (r"\boxed{1.0 \times 10^{-3}}", "0.001", RIGHT),
            (r"\boxed{-1^2}", "-1", RIGHT),
            (r"\boxed{(-1)^2}", "1", RIGHT),
            (r"\boxed{2 3}", "6", WRONG),
        ],
    );
}

#[test]
fn lists_tuples_intervals_and_unions_keep_what_matters() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{1, 2, \text{ and } 3}", "3,2,1", RIGHT),
            (r"\boxed{\{1,2\}}", "1,2", RIGHT),
            (r"\boxed{\{1,1,2\}}", r"\{1,2\}", RIGHT),
            (r"\boxed{2,2,5}", "2,5", WRONG),
            (r"\boxed{x=3, x=5}", "3,5", RIGHT),
            (r"\boxed{x=-2,3}", "3,-2", RIGHT),
            (r"\boxed{1\pm\sqrt{17}}", r"1-\sqrt{17}, 1+\sqrt{17}", RIGHT),
            (r"\boxed{x = 1 \pm \sqrt{17}}", r"1 \pm \sqrt{17}", RIGHT),
            (r"\boxed{1+\sqrt{17}}", r"1 \pm \sqrt{17}", WRONG),
            (r"\boxed{-3, 1\pm\sqrt7}", r"\{1\pm\sqrt{7},-3\}", RIGHT),
            (r"\boxed{100,200}", "100, 200", RIGHT),
            (r"\boxed{100, 200}", "100,200", WRONG),
            (r"\boxed{(1, -2)}", r"\left( 1,-2 \right)", RIGHT),
            (r"\boxed{(3,15)\cup(15,120)}", r"(3,15)\cup(15,120)", RIGHT),
            (r"\boxed{(15, 120)}", "(15,120)", RIGHT),
            (r"\boxed{\langle 1, 2\rangle}", r"\langle 1,2 \rangle", RIGHT),
            (r"\boxed{(\infty, 0)}", r"(-\infty,0)", WRONG),
            (r"\boxed{[0,\infty)}", r"[0, +\infty)", RIGHT),
            (r"\boxed{x \in [-3,8]}", "[-3,8]", RIGHT),
            (r"\boxed{[-3,8]}", r"x \in [-3,8]", RIGHT),
            (r"\boxed{-2 \le x \le 7}", r"7 \ge x \ge -2", RIGHT),
            (r"\boxed{-2 < x \le 7}", r"-2 \le x \le 7", WRONG),
            (r"\boxed{x \neq 3}", r"3 \ne x", RIGHT),
            (r"\boxed{x<1 \text{ or } x>2}", r"x > 2 \text{ or } x < 1", RIGHT),
            (r"\boxed{f(3)<f(0)<f(5)}", "f(3)<f(0)<f(5)", RIGHT),
            (r"\boxed{f(0)<f(3)<f(5)}", "f(3)<f(0)<f(5)", WRONG),
            (r"\boxed{\emptyset}", r"\varnothing", RIGHT),
            (r"\boxed{\mathbb{R}}", "ℝ", RIGHT),
            (r"\boxed{3 : 2}", "3:2", RIGHT),
            (r"\boxed{\{-1\}\cup[0,7)}", r"[0,7) \cup \{-1\}", RIGHT),
        ],
    );
}

#[test]
fn equations_and_matrices_keep_what_matters() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{-2x + 3y - 7z - 6 = 0}", "2x - 3y + 7z + 6 = 0", RIGHT),
            (r"\boxed{2x+3 = y}", "y = 2x + 3", RIGHT),
            (r"\boxed{2x+3}", "y = 2x + 3", RIGHT),
            (r"\boxed{y = 2x+3}", "2x+3", RIGHT),
            (r"\boxed{x = 5}", "y = 5", WRONG),
            (r"\boxed{k=15}", "15", RIGHT),
            (r"\boxed{x+y = 7}", "7", RIGHT),
            (r"\boxed{-40}", "3x-8y=-40", WRONG),
            (r"\boxed{x = y = 5}", "5", RIGHT),
            (r"\boxed{\frac{x^2}{25}-\frac{y^2}{4}=1}", r"\frac{x^2}{25} - \frac{y^2}{4} = 1", RIGHT),
            (r"\boxed{\frac{y^2}{25}-\frac{x^2}{4}=1}", r"\frac{x^2}{25} - \frac{y^2}{4} = 1", WRONG),
            (
                r"\boxed{\begin{pmatrix}1&2\\3&4\end{pmatrix}}",
                r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \\ \end{bmatrix}",
                RIGHT,
            ),
            (
                r"\boxed{\begin{pmatrix}-\frac13\\ \frac23\end{pmatrix}}",
                r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}",
                RIGHT,
            ),
            (r"\boxed{\begin{pmatrix}1&2\end{pmatrix}}", r"\begin{pmatrix}1\\2\end{pmatrix}", WRONG),
            (
                r"\boxed{\left(\begin{array}{cc}1&2\\3&4\end{array}\right)}",
                r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
                RIGHT,
            ),
        ],
    );
}

#[test]
fn units_remarks_and_words_are_told_from_values() {
    assert_verdicts(
        "math",
        &[
            (r"\boxed{5 \text{ for all } n}", "5", RIGHT),
            (r"\boxed{5, \text{ where } n \in \mathbb{Z}}", "5", RIGHT),
            (r"\boxed{10\;\text{edges}}", "10", RIGHT),
            (r"\boxed{25}", r"25 \, \text{km}", RIGHT),
            (r"\boxed{648}", r"648 \mbox{ inches}^2", RIGHT),
            (r"\boxed{8\sqrt3}", r"8\sqrt{3} \text { square inches}", RIGHT),
            (r"\boxed{45 mph}", r"45\text{ mph}", RIGHT),
            (r"\boxed{9}", r"9\text{ a.m.}", RIGHT),
            (r"\boxed{9 \text{ p.m.}}", r"9\text{ a.m.}", WRONG),
            (r"\boxed{4:30 \text{ p.m.}}", r"\text{4:30 p.m.}", RIGHT),
            (r"\boxed{4:30 PM}", r"\text{4:30 p.m.}", RIGHT),
            (r"\boxed{\text{June } 20}", r"\text{June 20}", RIGHT),
            (r"\boxed{\text{May } 20}", r"\text{June 20}", WRONG),
            (r"\boxed{20}", r"\text{June 20}", WRONG),
            (r"\boxed{The ellipse}", r"\text{ellipse}", RIGHT),
            (r"\boxed{\text{an ellipse}}", r"\text{ellipse}", RIGHT),
            (r"\boxed{C}", r"\text{(C)}", RIGHT),
            (r"\boxed{\text{B, C}}", "B, C", RIGHT),
            (r"\boxed{\textbf{(E)}}", r"\text{(E)}", RIGHT),
            (r"\boxed{\text{odd}}", r"\text{even}", WRONG),
            (r"\boxed{No}", r"\text{no}", RIGHT),
            (r"\boxed{\overline{CD}}", r"\overline{CD}", RIGHT),
            (r"\boxed{273B_{12}}", "273B_{12}", RIGHT),
            (r"\boxed{\text{Monday}}", r"\mbox{Saturday}", WRONG),
            (r"\boxed{0.20}", r"\$0.20", RIGHT),
            (r"\boxed{x^2 \text{ cm}}", "x^2", RIGHT),
            (r"\boxed{1{,}000{,}000 \text{ people}}", "1000000", RIGHT),
            (r"\boxed{\text{Area} = 12}", "12", RIGHT),
            (r"\boxed{AB = 12}", "12", RIGHT),
        ],
    );
}

#[test]
fn letters_count_only_where_they_stand_alone() {
    assert_verdicts(
        "choice",
        &[
            ("B) Paris", "B", RIGHT),
            ("(b)", "B", RIGHT),
            ("B. text", "B", RIGHT),
            ("B\n\nBecause it is.", "B", RIGHT),
            ("`B`", "B", RIGHT),
            ("$B$", "B", RIGHT),
            ("Option B", "B", RIGHT),
            ("A. one\nB. two\nC. three", "A", WRONG),
            ("The answer is a prime number.", "A", WRONG),
            ("The answer is A because it fits.", "A", RIGHT),
            ("The answer is A", "A", RIGHT),
            ("Answer: I think it is B", "B", RIGHT),
            ("Answer: I", "I", RIGHT),
            ("Answer: B or C", "B", WRONG),
            ("Answer: B, C", "C", WRONG),
            ("Answer: (B) and (C)", "B", WRONG),
            ("Answer: B) vitamin C", "B", RIGHT),
            ("Answer: K", "K", WRONG),
            ("The answer is **B**.", "B", RIGHT),
            ("The correct answer is (**B**)", "B", RIGHT),
            ("The answer is $\\boxed{B}$", "B", RIGHT),
            (r"\boxed{\text{B}}", "B", RIGHT),
            (r"\boxed{\text{B. } 12}", "B", RIGHT),
            (r"\boxed{B, C}", "B", WRONG),
            (r"\boxed{A \text{ or } B}", "A", WRONG),
            (r"\boxed{Apples}", "A", WRONG),
            ("#### C", "C", RIGHT),
            ("The correct option is D.", "D", RIGHT),
            ("答案选 B", "B", RIGHT),
            ("故选C。", "C", RIGHT),
            ("正确答案是Ｄ", "D", RIGHT),
            ("<answer>B</answer>", "B", RIGHT),
            ("B", "(B)", RIGHT),
            ("B", "B. Paris", RIGHT),
            ("I", "I", RIGHT),
            ("answer is c", "C", RIGHT),
            ("Vitamin C is healthy.", "C", WRONG),
        ],
    );
    let four = Rule::new(Kind::Choice { last: 'D' }).unwrap();
    assert_eq!(four.check("Answer: E", "E").verdict, Verdict::NoAnswer);
    assert_eq!(Rule::new(Kind::Choice { last: 'A' }).unwrap_err(), RuleError::Letters('A'));
}

#[test]
fn exact_compares_everything_but_outer_blanks_and_unicode_form() {
    assert_verdicts(
        "exact",
        &[
            ("cafe\u{301}", "caf\u{e9}", RIGHT),
            ("a  b", "a b", WRONG),
            ("Paris.", "Paris", WRONG),
            ("a\r\nb", "a\nb", RIGHT),
            ("Paris<|im_end|>", "Paris", RIGHT),
            ("<answer>Paris</answer>", "Paris", RIGHT),
            ("Answer: x\nQuestion: y", "Answer: x", WRONG),
            (r"\boxed{Paris}", "Paris", WRONG),
        ],
    );
}

#[test]
fn contains_looks_for_the_needle_but_not_inside_a_longer_number() {
    assert_verdicts(
        "contains",
        &[
            ("The magic number is 7432.", "7432", RIGHT),
            ("The magic number is 74321.", "7432", WRONG),
            ("The city is san\nfrancisco!", "San Francisco", RIGHT),
            ("The city is Paris.", "Rome", WRONG),
            ("<think>7432</think>no idea", "7432", WRONG),
            ("", "7432", WRONG),
            ("anything", "", WRONG),
        ],
    );
}

#[test]
fn a_pattern_captures_the_answer_or_is_the_test() {
    let rule = |pattern: &str| Rule::new(Kind::Regex { pattern: pattern.to_owned() }).unwrap();
    let captures = rule(r"value=(\d+)");
    assert_eq!(captures.check("value=3, no: value=4", "4").verdict, Verdict::Right);
    assert_eq!(captures.check("value=3, no: value=4", "3").verdict, Verdict::Wrong);
    assert_eq!(captures.check("no value", "3").verdict, Verdict::NoAnswer);
    assert_eq!(captures.check("value=4", "value=4").verdict, Verdict::Right);
    let named = rule(r"(x|y)=(?P<answer>\d+)");
    assert_eq!(named.check("y=4", "4").answer, "4");
    let test = rule(r"(?i)i cannot");
    assert_eq!(test.check("Sorry, I cannot.", "").verdict, Verdict::Right);
    assert_eq!(test.check("Sure.", "").verdict, Verdict::Wrong);
    assert_eq!(test.check("", "").verdict, Verdict::NoAnswer);
    assert!(matches!(Rule::new(Kind::Regex { pattern: "(".to_owned() }), Err(RuleError::Pattern(_))));
    assert!(matches!(Rule::new(Kind::Regex { pattern: String::new() }), Err(RuleError::Pattern(_))));
    assert!(matches!(
        Rule::new(Kind::Regex { pattern: r"\w{100}{100}{100}".to_owned() }),
        Err(RuleError::Pattern(_))
    ));
}

#[test]
fn only_marked_answers_count_where_that_is_asked_for() {
    let rule = Rule::new(Kind::Gsm8k).unwrap().marked_only();
    assert_eq!(rule.check("#### 18", "18").verdict, Verdict::Right);
    assert_eq!(rule.check("The answer is 18", "18").verdict, Verdict::NoAnswer);
    assert_eq!(rule.check("18", "18").verdict, Verdict::NoAnswer);
    let rule = Rule::new(Kind::Math).unwrap().marked_only();
    assert_eq!(rule.check(r"\boxed{x}", "x").verdict, Verdict::Right);
    assert_eq!(rule.check("x", "x").verdict, Verdict::NoAnswer);
}

#[test]
fn a_tolerance_is_a_share_of_the_truth_and_off_by_default() {
    for kind in [Kind::Gsm8k, Kind::Math] {
        let rule = Rule::new(kind).unwrap().tolerance(0.01).unwrap();
        assert_eq!(rule.check(r"\boxed{99}", "100").verdict, Verdict::Right);
        assert_eq!(rule.check(r"\boxed{98.9}", "100").verdict, Verdict::Wrong);
    }
    let rule = Rule::new(Kind::Math).unwrap().tolerance(0.001).unwrap();
    assert_eq!(rule.check(r"\boxed{1.732}", r"\sqrt{3}").verdict, Verdict::Right);
    assert!(Rule::new(Kind::Math).unwrap().tolerance(1.0).is_err());
    assert!(Rule::new(Kind::Math).unwrap().tolerance(f64::NAN).is_err());
    assert!(Rule::new(Kind::Math).unwrap().tolerance(-0.1).is_err());
}

#[test]
fn a_truth_without_a_value_is_told() {
    let rule = |kind: &str| Rule::new(Kind::named(kind).unwrap()).unwrap();
    assert_eq!(rule("gsm8k").truth("9 + 9 = <<9+9=18>>18\n#### 18"), Some("18".to_owned()));
    assert_eq!(rule("gsm8k").truth("none"), None);
    assert_eq!(rule("gsm8k").truth(""), None);
    assert_eq!(rule("math").truth(r"It is $\boxed{\frac12}$."), Some(r"\frac12".to_owned()));
    assert_eq!(rule("math").truth(r"\boxed{"), None);
    assert_eq!(rule("choice").truth("none"), None);
    assert_eq!(rule("gsm8k").check("18", "none").verdict, Verdict::Wrong);
}

#[test]
fn an_explanation_shows_each_step() {
    let steps = Rule::new(Kind::Math).unwrap().explain(r"<think>x</think>\boxed{\dfrac{4}{6}}", r"\frac23");
    insta::assert_snapshot!(steps.join("\n"), @r"
    kind: math
    prediction: 20 of 36 bytes are searched
    prediction: rule `box` gives `\dfrac{4}{6}`
    prediction: in normal form `\frac {4}{6}`
    truth: 7 of 7 bytes are searched
    truth: rule `whole` gives `\frac23`
    truth: in normal form `\frac 23`
    compared: the same value
    verdict: right
    ");
}
