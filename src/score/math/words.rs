//! What names mean: LaTeX commands, and words that no backslash precedes.

/// What a run of letters without a backslash is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A function or constant.
    Command(&'static str),
    /// A word: a unit, a remark, or a whole answer.
    Text,
    /// Variables side by side.
    Letters,
}

const FUNCTIONS: [&str; 23] = [
    "sin", "cos", "tan", "cot", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "log",
    "lg", "exp", "sqrt", "pi", "infty", "theta", "alpha", "beta", "gamma", "lambda",
];

/// Short words that are no variables.
const SHORT_WORDS: [&str; 51] = [
    "and", "or", "no", "yes", "odd", "one", "two", "six", "ten", "cm", "mm", "km", "dm", "ft", "kg", "mg",
    "gm", "ml", "mph", "kph", "hr", "hrs", "min", "mins", "sec", "secs", "am", "pm", "oz", "lb", "lbs", "sq",
    "cu", "day", "way", "inch", "feet", "mile", "per", "usd", "the", "men", "red", "for", "if", "to", "is",
    "are", "of", "in", "rad",
];

/// What a run of letters is; `glued` when a digit or letter stands right before it, `only_words` when the whole answer
/// has nothing but letters.
pub(super) fn meaning(word: &str, glued: bool, only_words: bool) -> Meaning {
    if !word.is_ascii() {
        return if word.chars().count() > 1 { Meaning::Text } else { Meaning::Letters };
    }
    if let Some(name) = FUNCTIONS.iter().find(|name| **name == word) {
        return Meaning::Command(name);
    }
    if matches!(word, "infinity" | "Infinity" | "inf" | "oo") {
        return Meaning::Command("infty");
    }
    let lower = word.to_ascii_lowercase();
    let length = word.len();
    let short = length > 1 && SHORT_WORDS.contains(&lower.as_str());
    let long = length >= 4 && !(glued && length == 4 && !UNITS.contains(&lower.as_str()));
    if short || long || only_words && length >= 3 { Meaning::Text } else { Meaning::Letters }
}

/// Units of four letters, which may follow a number without a blank.
const UNITS: [&str; 7] = ["feet", "inch", "mile", "days", "ways", "mins", "secs"];

/// What a LaTeX command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latex {
    /// It changes looks only.
    Nothing,
    /// Letters after it are words.
    Roman,
    /// It is a blank.
    Blank,
    /// It and its argument are invisible.
    NothingWithArgument,
    /// A size of the bracket that follows; `.` is no bracket.
    Size,
    /// An operator or bracket.
    Symbol(char),
    /// A word.
    Text(&'static str),
    /// Another name of a command.
    Command(&'static str),
    /// Its argument counts as if it stood alone.
    Wrapper,
    /// Its argument is words.
    TextWrapper,
    /// Command and argument are one name: `\overline{AB}`.
    Named,
    /// Its argument is a function's name.
    Operator,
    /// `\begin`.
    Begin,
    /// `\end`.
    End,
    /// None of these.
    Unknown,
}

/// What the command `\name` is.
pub(super) fn command(name: &str) -> Latex {
    use Latex::*;
    match name {
        "displaystyle" | "textstyle" | "scriptstyle" | "limits" | "nolimits" | "bf" | "it" | "sf"
        | "mathstrut" | "strut" | "allowbreak" | "Large" | "large" | "small" | "normalsize" => Nothing,
        "rm" => Roman,
        "quad" | "qquad" | "enspace" | "thinspace" | "newline" | "par" => Blank,
        "hspace" | "vspace" | "phantom" | "hphantom" | "vphantom" | "label" | "tag" | "color" => {
            NothingWithArgument
        }
        "left" | "right" | "middle" | "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr"
        | "biggl" | "biggr" | "Biggl" | "Biggr" | "bigm" => Size,
        "le" | "leq" | "leqslant" | "leqq" => Symbol('≤'),
        "ge" | "geq" | "geqslant" | "geqq" => Symbol('≥'),
        "ne" | "neq" => Symbol('≠'),
        "lt" => Symbol('<'),
        "gt" => Symbol('>'),
        "approx" | "simeq" | "thickapprox" => Symbol('≈'),
        "in" => Symbol('∈'),
        "cup" | "bigcup" => Symbol('∪'),
        "cap" | "bigcap" => Symbol('∩'),
        "times" | "cdot" | "ast" => Symbol('*'),
        "div" => Symbol('/'),
        "pm" => Symbol('±'),
        "mp" => Symbol('∓'),
        "degree" | "degrees" => Symbol('°'),
        "lbrace" => Symbol('⦃'),
        "rbrace" => Symbol('⦄'),
        "lvert" | "rvert" | "vert" | "mid" => Symbol('|'),
        "lfloor" => Symbol('⌊'),
        "rfloor" => Symbol('⌋'),
        "lceil" => Symbol('⌈'),
        "rceil" => Symbol('⌉'),
        "langle" | "lparen" => Symbol('('),
        "rangle" | "rparen" => Symbol(')'),
        "lbrack" => Symbol('['),
        "rbrack" => Symbol(']'),
        "colon" => Symbol(':'),
        "land" | "wedge" => Text("and"),
        "lor" | "vee" => Text("or"),
        "dfrac" | "tfrac" | "cfrac" => Command("frac"),
        "dbinom" | "tbinom" => Command("binom"),
        "varnothing" | "O" => Command("emptyset"),
        "epsilon" | "varepsilon" => Command("epsilon"),
        "phi" | "varphi" => Command("phi"),
        "dots" | "ldots" | "cdots" | "dotsc" => Command("ldots"),
        "mathbf" | "boldsymbol" | "bm" | "underline" | "mathit" | "mathsf" | "mathtt" | "boxed" | "fbox"
        | "ensuremath" | "uline" => Wrapper,
        "text" | "textbf" | "textit" | "textrm" | "textnormal" | "textsf" | "texttt" | "textsc"
        | "mathrm" | "mbox" | "hbox" | "emph" | "textup" => TextWrapper,
        "overline" | "vec" | "hat" | "bar" | "dot" | "tilde" | "widehat" | "overrightarrow" | "mathbb"
        | "mathcal" | "overarc" | "widetilde" => Named,
        "operatorname" => Operator,
        "begin" => Begin,
        "end" => End,
        _ => Unknown,
    }
}
