//! Characters before tokens: Unicode signs to LaTeX, thousands separators away.

/// Which plain commas between groups of three digits are taken for thousands separators. `{,}`, `,\!` and narrow
/// blanks always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::score) enum Commas {
    /// All: the text is about one number.
    Join,
    /// Those outside brackets: inside, a comma separates coordinates.
    JoinOutsideBrackets,
    /// None: the text is a list.
    Keep,
}

/// Maps signs that have a LaTeX or ASCII form to it: full-width characters, minus signs, fractions, superscripts,
/// Greek letters, operators.
pub(in crate::score) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if let Some(digit) = raised(char) {
            out.push_str("^{");
            out.push(digit);
            while let Some(digit) = chars.peek().copied().and_then(raised) {
                out.push(digit);
                chars.next();
            }
            out.push('}');
        } else if let Some(digit) = lowered(char) {
            out.push_str("_{");
            out.push(digit);
            while let Some(digit) = chars.peek().copied().and_then(lowered) {
                out.push(digit);
                chars.next();
            }
            out.push('}');
        } else if char == '√' {
            root(&mut out, &mut chars);
        } else if let Some(replacement) = replacement(char) {
            out.push_str(replacement);
        } else {
            out.push(half_width(char));
        }
    }
    out
}

/// `√13` is the root of 13, where `\sqrt13` could be read as that of 1.
fn root(out: &mut String, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    out.push_str("\\sqrt ");
    if chars.peek().is_some_and(char::is_ascii_digit) {
        out.push('{');
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            out.push(digit);
        }
        out.push('}');
    }
}

fn half_width(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(char as u32 - 0xfee0).unwrap_or(char),
        '\u{3000}' => ' ',
        char => char,
    }
}

fn raised(char: char) -> Option<char> {
    Some(match char {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴'..='⁹' => char::from_digit(char as u32 - 0x2070, 10)?,
        '⁻' => '-',
        'ⁿ' => 'n',
        _ => return None,
    })
}

fn lowered(char: char) -> Option<char> {
    char::from_digit((char as u32).checked_sub(0x2080)?, 10)
}

fn replacement(char: char) -> Option<&'static str> {
    Some(match char {
        '−' | '–' | '‐' | '‑' | '﹣' | '－' => "-",
        '×' => "\\times ",
        '⋅' | '·' | '∙' => "\\cdot ",
        '÷' => "/",
        '∕' | '⁄' => "/",
        '½' => "\\frac{1}{2}",
        '⅓' => "\\frac{1}{3}",
        '⅔' => "\\frac{2}{3}",
        '¼' => "\\frac{1}{4}",
        '¾' => "\\frac{3}{4}",
        '⅕' => "\\frac{1}{5}",
        '⅖' => "\\frac{2}{5}",
        '⅗' => "\\frac{3}{5}",
        '⅘' => "\\frac{4}{5}",
        '⅙' => "\\frac{1}{6}",
        '⅚' => "\\frac{5}{6}",
        '⅛' => "\\frac{1}{8}",
        '⅜' => "\\frac{3}{8}",
        '⅝' => "\\frac{5}{8}",
        '⅞' => "\\frac{7}{8}",
        '≤' | '⩽' => "\\le ",
        '≥' | '⩾' => "\\ge ",
        '≠' => "\\ne ",
        '≈' => "\\approx ",
        '∞' => "\\infty ",
        '°' => "^\\circ ",
        '±' => "\\pm ",
        '∓' => "\\mp ",
        '∪' => "\\cup ",
        '∩' => "\\cap ",
        '∈' => "\\in ",
        '∅' => "\\emptyset ",
        '∠' => "\\angle ",
        'ℝ' => "\\mathbb{R}",
        'ℤ' => "\\mathbb{Z}",
        'ℕ' => "\\mathbb{N}",
        'ℚ' => "\\mathbb{Q}",
        'ℂ' => "\\mathbb{C}",
        'π' | '𝜋' => "\\pi ",
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'γ' => "\\gamma ",
        'δ' => "\\delta ",
        'θ' => "\\theta ",
        'λ' => "\\lambda ",
        'μ' => "\\mu ",
        'σ' => "\\sigma ",
        'φ' | 'ϕ' => "\\phi ",
        'ω' => "\\omega ",
        '⟨' => "\\langle ",
        '⟩' => "\\rangle ",
        '￥' => "¥",
        '、' => ", ",
        '\u{2061}'..='\u{2064}' | '\u{200b}' | '\u{feff}' => "",
        _ => return None,
    })
}

/// Takes thousands separators away: only between a digit and a group of exactly three.
///
/// A comma with a blank after it separates two numbers, unless `\!` says otherwise. A plain blank separates groups
/// only after a group of at most three.
pub(in crate::score) fn without_thousands(text: &str, commas: Commas) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut depth = 0_i32;
    let mut digits = 0_usize;
    let mut fraction = false;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii_digit() {
            digits += 1;
            at += 1;
            continue;
        }
        if digits > 0 && !fraction {
            let group = Group { rest: &text[at..], short: digits <= 3, commas, in_brackets: depth > 0 };
            if let Some(length) = group.separator() {
                out.push_str(&text[copied..at]);
                at += length;
                copied = at;
                digits = if byte == b' ' { 0 } else { 4 };
                continue;
            }
        }
        fraction = byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        digits = 0;
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'\\' if bytes.get(at + 1) == Some(&b'{') => depth += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'}') => depth -= 1,
            _ => {}
        }
        at += 1;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// A place after a digit.
struct Group<'a> {
    rest: &'a str,
    /// Whether at most three digits stand before it.
    short: bool,
    commas: Commas,
    in_brackets: bool,
}

impl Group<'_> {
    /// Length of the thousands separator here, if there is one.
    fn separator(&self) -> Option<usize> {
        const SURE: [&str; 7] = ["{,}", "\\,", "\\!", "\\ ", "\u{a0}", "\u{202f}", "\u{2009}"];
        let sure = SURE
            .iter()
            .copied()
            .find(|sure| self.rest.starts_with(sure))
            .map(str::len)
            .or_else(|| self.spaced());
        if let Some(length) = sure {
            return self.three_digits(length).then_some(length);
        }
        let plain = match self.rest.as_bytes()[0] {
            b',' if self.commas == Commas::Keep => false,
            b',' => {
                !self.in_brackets || self.commas == Commas::Join || self.rest.as_bytes().get(1) == Some(&b'0')
            }
            b' ' | b'~' => self.short,
            _ => false,
        };
        (plain && self.three_digits(1)).then_some(1)
    }

    /// Length of `,\!` with blanks of any number around its parts.
    fn spaced(&self) -> Option<usize> {
        let after = self.rest.trim_start_matches(' ').strip_prefix(',')?;
        let after = after.trim_start_matches(' ').strip_prefix("\\!")?;
        Some(self.rest.len() - after.trim_start_matches(' ').len())
    }

    fn three_digits(&self, after: usize) -> bool {
        let bytes = &self.rest.as_bytes()[after..];
        bytes.iter().take_while(|byte| byte.is_ascii_digit()).take(4).count() == 3
    }
}

/// What a chain comes to: what follows its last `=`, and of that what precedes `\approx`.
pub(in crate::score) fn last_side(text: &str) -> &str {
    let mut text = text;
    if let Some(at) = text.find("\\approx").or_else(|| text.find('≈')) {
        let before = &text[..at];
        let has_value = |side: &str| side.contains(|char: char| char.is_ascii_digit());
        text = if has_value(before) {
            before
        } else {
            text[at..].trim_start_matches("\\approx").trim_start_matches('≈')
        };
    }
    let bytes = text.as_bytes();
    let is_equals = |at: usize| {
        bytes[at] == b'=' && !(at > 0 && b"<>!".contains(&bytes[at - 1])) && !text[at + 1..].trim().is_empty()
    };
    (0..bytes.len()).rev().find(|at| is_equals(*at)).map_or(text, |at| &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_separators_stand_between_a_digit_and_three() {
        for (text, expected) in [
            ("1,450,000", "1450000"),
            ("9{,}500", "9500"),
            ("1\u{202f}000", "1000"),
            ("1 000 000", "1000000"),
            (r"10\,000", "10000"),
            (r"11,\! 111,\! 111,\! 100", "11111111100"),
            (r"111, \! 111, \! 111", "111111111"),
            ("32, 348", "32, 348"),
            ("109,200,00", "109200,00"),
            ("1,5", "1,5"),
            ("1.000", "1.000"),
            ("2019 300", "2019 300"),
            ("3.141 592", "3.141 592"),
            ("1,2345", "1,2345"),
        ] {
            assert_eq!(without_thousands(text, Commas::Join), expected, "{text}");
        }
    }

    #[test]
    fn commas_in_brackets_separate_coordinates() {
        let outside = |text| without_thousands(text, Commas::JoinOutsideBrackets);
        assert_eq!(outside("(12,102)"), "(12,102)");
        assert_eq!(outside("(1{,}200, 5)"), "(1200, 5)");
        assert_eq!(outside("(10,000)"), "(10000)");
        assert_eq!(outside(r"\{100,200\}"), r"\{100,200\}");
        assert_eq!(outside("10,080"), "10080");
        assert_eq!(without_thousands("100,200", Commas::Keep), "100,200");
    }

    #[test]
    fn signs_take_their_latex_form() {
        assert_eq!(ascii("１８ − ½"), r"18 - \frac{1}{2}");
        assert_eq!(ascii("√13 x²³"), r"\sqrt {13} x^{23}");
        assert_eq!(ascii("52₈"), "52_{8}");
    }

    #[test]
    fn a_chain_comes_to_its_last_side() {
        assert_eq!(last_side("9 * 2 = 18"), " 18");
        assert_eq!(last_side(r"x = 1/3 \approx 0.33"), " 1/3 ");
        assert_eq!(last_side(r"\approx 3"), " 3");
        assert_eq!(last_side("x >= 3"), "x >= 3");
    }
}
