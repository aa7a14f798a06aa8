//! Expressions: tokens to a tree. No more is understood than can be evaluated; the rest is compared as text.

use num_bigint::BigInt;
use num_traits::{One as _, Zero as _};

use super::super::work::MAX_DEPTH;
use super::Rational;
use super::token::{Shape, Token};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A number as written.
    Number(Rational),
    /// A number written with a point, with the count of its digits.
    Decimal(Rational, usize),
    /// π
    Pi,
    /// e
    E,
    /// The imaginary unit.
    I,
    /// A variable, with its subscript, or a name that stands for itself.
    Variable(String),
    /// A sum.
    Sum(Vec<Node>),
    /// A product.
    Product(Vec<Node>),
    /// −a
    Negative(Box<Node>),
    /// 1/a
    Inverse(Box<Node>),
    /// a to the power of b
    Power(Box<Node>, Box<Node>),
    /// The root of the second with the index of the first.
    Root(Box<Node>, Box<Node>),
    /// The logarithm of the second to the base of the first.
    Log(Box<Node>, Box<Node>),
    /// A function by its name.
    Apply(Function, Box<Node>),
    /// Of the first, choose the second.
    Choose(Box<Node>, Box<Node>),
}

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    Abs,
    Floor,
    Ceil,
    Factorial,
}

impl Function {
    fn named(name: &str) -> Option<Function> {
        Some(match name {
            "sin" => Function::Sin,
            "cos" => Function::Cos,
            "tan" | "tg" => Function::Tan,
            "cot" | "ctg" => Function::Cot,
            "sec" => Function::Sec,
            "csc" => Function::Csc,
            "arcsin" => Function::Arcsin,
            "arccos" => Function::Arccos,
            "arctan" => Function::Arctan,
            "sinh" => Function::Sinh,
            "cosh" => Function::Cosh,
            "tanh" => Function::Tanh,
            "exp" => Function::Exp,
            "ln" => Function::Ln,
            _ => return None,
        })
    }

    fn inverse(self) -> Option<Function> {
        Some(match self {
            Function::Sin => Function::Arcsin,
            Function::Cos => Function::Arccos,
            Function::Tan => Function::Arctan,
            _ => return None,
        })
    }

    fn takes_angle(self) -> bool {
        matches!(
            self,
            Function::Sin | Function::Cos | Function::Tan | Function::Cot | Function::Sec | Function::Csc
        )
    }
}

impl Node {
    fn integer(value: u32) -> Node {
        Node::Number(Rational::from_integer(BigInt::from(value)))
    }

    /// The names of its variables.
    pub(super) fn variables<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Node::Number(_) | Node::Decimal(..) | Node::Pi | Node::E | Node::I => {}
            Node::Variable(name) => into.push(name),
            Node::Sum(nodes) | Node::Product(nodes) => nodes.iter().for_each(|node| node.variables(into)),
            Node::Negative(node) | Node::Inverse(node) | Node::Apply(_, node) => node.variables(into),
            Node::Power(a, b) | Node::Root(a, b) | Node::Log(a, b) | Node::Choose(a, b) => {
                a.variables(into);
                b.variables(into);
            }
        }
    }

    /// The largest count of digits of its decimals; 0 without any.
    pub(super) fn decimal_digits(&self) -> usize {
        match self {
            Node::Decimal(_, digits) => *digits,
            Node::Number(_) | Node::Pi | Node::E | Node::I | Node::Variable(_) => 0,
            Node::Sum(nodes) | Node::Product(nodes) => {
                nodes.iter().map(Node::decimal_digits).max().unwrap_or(0)
            }
            Node::Negative(node) | Node::Inverse(node) | Node::Apply(_, node) => node.decimal_digits(),
            Node::Power(a, b) | Node::Root(a, b) | Node::Log(a, b) | Node::Choose(a, b) => {
                a.decimal_digits().max(b.decimal_digits())
            }
        }
    }

    /// Whether the imaginary unit occurs.
    pub(super) fn is_complex(&self) -> bool {
        match self {
            Node::I => true,
            Node::Number(_) | Node::Decimal(..) | Node::Pi | Node::E | Node::Variable(_) => false,
            Node::Sum(nodes) | Node::Product(nodes) => nodes.iter().any(Node::is_complex),
            Node::Negative(node) | Node::Inverse(node) | Node::Apply(_, node) => node.is_complex(),
            Node::Power(a, b) | Node::Root(a, b) | Node::Log(a, b) | Node::Choose(a, b) => {
                a.is_complex() || b.is_complex()
            }
        }
    }
}

/// Reads all of `tokens` as one expression, `None` where they are none or nest too deep.
pub(super) fn parse(tokens: &[Token]) -> Option<Node> {
    let mut parser = Parser { tokens, at: 0, depth: 0, bars: 0, angle: false };
    let node = parser.whole()?;
    (parser.at == tokens.len()).then_some(node)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    /// Open `|`, whose next one closes.
    bars: u32,
    /// Whether this is the argument of a trigonometric function, where a degree is π/180.
    angle: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Shape> {
        self.tokens.get(self.at).map(|token| &token.shape)
    }

    fn spaced(&self) -> bool {
        self.tokens.get(self.at).is_some_and(|token| token.spaced)
    }

    fn next_is(&self, symbol: char) -> bool {
        self.peek() == Some(&Shape::Symbol(symbol))
    }

    fn take(&mut self, symbol: char) -> bool {
        let taken = self.next_is(symbol);
        self.at += usize::from(taken);
        taken
    }

    fn digit(&self) -> Option<char> {
        match self.peek() {
            Some(Shape::Digit(digit)) => Some(*digit),
            _ => None,
        }
    }

    /// All there is in a bracket: a sum, or two with `\choose` between them.
    fn whole(&mut self) -> Option<Node> {
        let node = self.sum()?;
        if !matches!(self.peek(), Some(Shape::Command(name)) if name == "choose") {
            return Some(node);
        }
        self.at += 1;
        let below = self.sum()?;
        Some(Node::Choose(Box::new(node), Box::new(below)))
    }

    /// `[+-] term ([+-] term)*`
    fn sum(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut terms = vec![self.signed_term()?];
        while self.next_is('+') || self.next_is('-') {
            terms.push(self.signed_term()?);
        }
        self.depth -= 1;
        Some(single(terms, Node::Sum))
    }

    fn signed_term(&mut self) -> Option<Node> {
        let mut negative = false;
        loop {
            if self.take('-') {
                negative = !negative;
            } else if !self.take('+') {
                break;
            }
        }
        let term = self.product()?;
        Some(if negative { Node::Negative(Box::new(term)) } else { term })
    }

    /// Factors with `*`, `/` or nothing between them, left to right.
    fn product(&mut self) -> Option<Node> {
        let mut factors = vec![self.mixed()?];
        loop {
            if self.take('*') {
                factors.push(self.signed_factor()?);
            } else if self.take('/') {
                factors.push(Node::Inverse(Box::new(self.signed_factor()?)));
            } else if self.digit().is_some() && self.follows_digit() {
                // Two numbers side by side are no product.
                return None;
            } else if self.starts_factor() {
                factors.push(self.factor()?);
            } else {
                return Some(single(factors, Node::Product));
            }
        }
    }

    fn follows_digit(&self) -> bool {
        self.at.checked_sub(1).is_some_and(|before| matches!(self.tokens[before].shape, Shape::Digit(_)))
    }

    fn starts_factor(&self) -> bool {
        match self.peek() {
            Some(Shape::Command(name)) => name != "choose",
            Some(Shape::Digit(_) | Shape::Letter(_) | Shape::Open) => true,
            Some(Shape::Symbol('(' | '[' | '⌊' | '⌈' | '.')) => true,
            Some(Shape::Symbol('|')) => self.bars == 0,
            _ => false,
        }
    }

    fn signed_factor(&mut self) -> Option<Node> {
        if self.take('-') {
            return Some(Node::Negative(Box::new(self.mixed()?)));
        }
        self.take('+');
        self.mixed()
    }

    /// A factor, or a mixed number: `3\frac{1}{2}`, `3 1/2`.
    fn mixed(&mut self) -> Option<Node> {
        let start = self.at;
        let factor = self.factor()?;
        let Node::Number(whole) = &factor else { return Some(factor) };
        if !self.tokens[start..self.at].iter().all(is_digit) {
            return Some(factor);
        }
        if self.peek().is_some_and(|shape| matches!(shape, Shape::Command(name) if name == "frac")) {
            let part = self.factor()?;
            return Some(match proper_fraction(&part) {
                Some(part) => Node::Number(whole + part),
                None => Node::Product(vec![factor, part]),
            });
        }
        let after_whole = self.at;
        if self.digit().is_some() && self.spaced() {
            match self.plain_fraction() {
                Some(part) => return Some(Node::Number(whole + part)),
                None => self.at = after_whole,
            }
        }
        Some(factor)
    }

    /// `1/2` as part of a mixed number.
    fn plain_fraction(&mut self) -> Option<Rational> {
        let above = self.digits()?;
        if !self.take('/') {
            return None;
        }
        let below = self.digits()?;
        proper(&above, &below)
    }

    fn digits(&mut self) -> Option<BigInt> {
        let mut digits = String::new();
        while let Some(digit) = self.digit() {
            if !digits.is_empty() && self.spaced() {
                break;
            }
            digits.push(digit);
            self.at += 1;
        }
        digits.parse().ok()
    }

    /// An operand with what is written after it: powers, factorials, degrees.
    fn factor(&mut self) -> Option<Node> {
        let mut node = self.operand()?;
        loop {
            if self.take('^') {
                let exponent = self.exponent()?;
                node = Node::Power(Box::new(node), Box::new(exponent));
            } else if self.take('!') {
                if self.next_is('!') {
                    return None;
                }
                node = Node::Apply(Function::Factorial, Box::new(node));
            } else if self.take('°') {
                if self.angle {
                    let degree = Node::Product(vec![Node::Pi, Node::Inverse(Box::new(Node::integer(180)))]);
                    node = Node::Product(vec![node, degree]);
                }
            } else {
                return Some(node);
            }
        }
    }

    /// What a power is raised to: a group, or one operand of several digits with a sign. `x^10` is taken as people
    /// mean it.
    fn exponent(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let negative = self.take('-');
        let node = self.operand()?;
        let node = if self.take('^') {
            let exponent = self.exponent()?;
            Node::Power(Box::new(node), Box::new(exponent))
        } else {
            node
        };
        self.depth -= 1;
        Some(if negative { Node::Negative(Box::new(node)) } else { node })
    }

    fn operand(&mut self) -> Option<Node> {
        match self.peek()?.clone() {
            Shape::Digit(_) | Shape::Symbol('.') => self.number(),
            Shape::Letter(letter) => {
                self.at += 1;
                self.letter(letter)
            }
            Shape::Command(name) => {
                self.at += 1;
                self.command(&name)
            }
            Shape::Open => self.group(&Shape::Close),
            Shape::Symbol('(') => self.group(&Shape::Symbol(')')),
            Shape::Symbol('[') => self.group(&Shape::Symbol(']')),
            Shape::Symbol('⌊') => {
                Some(Node::Apply(Function::Floor, Box::new(self.group(&Shape::Symbol('⌋'))?)))
            }
            Shape::Symbol('⌈') => {
                Some(Node::Apply(Function::Ceil, Box::new(self.group(&Shape::Symbol('⌉'))?)))
            }
            Shape::Symbol('|') if self.bars == 0 => {
                self.bars = 1;
                let node = self.group(&Shape::Symbol('|'))?;
                self.bars = 0;
                Some(Node::Apply(Function::Abs, Box::new(node)))
            }
            _ => None,
        }
    }

    /// A bracketed expression; its opening token comes next.
    fn group(&mut self, close: &Shape) -> Option<Node> {
        self.at += 1;
        let bars = if *close == Shape::Symbol('|') { 1 } else { std::mem::take(&mut self.bars) };
        let node = self.whole()?;
        self.bars = bars;
        if self.peek() != Some(close) {
            return None;
        }
        self.at += 1;
        Some(node)
    }

    /// `12`, `1.5`, `.5`, `1.5e3`, `0.\overline{3}`
    fn number(&mut self) -> Option<Node> {
        let mut text = String::new();
        let mut places: Option<usize> = None;
        while let Some(shape) = self.peek() {
            match shape {
                _ if !text.is_empty() && self.spaced() => break,
                Shape::Digit(digit) => {
                    text.push(*digit);
                    places = places.map(|places| places + 1);
                }
                Shape::Symbol('.') if places.is_none() => {
                    let next = self.tokens.get(self.at + 1).map(|token| &token.shape);
                    let goes_on = match next {
                        Some(Shape::Digit(_)) => true,
                        Some(Shape::Command(name)) => name.starts_with("overline "),
                        _ => false,
                    };
                    if !goes_on && text.is_empty() {
                        return None;
                    }
                    places = Some(0);
                }
                _ => break,
            }
            self.at += 1;
        }
        let digits = text.len();
        let whole: BigInt = if text.is_empty() { BigInt::zero() } else { text.parse().ok()? };
        let Some(places) = places else {
            return Some(Node::Number(self.scaled(Rational::from_integer(whole))?));
        };
        let scale = power_of_ten(places)?;
        if let Some(repeating) = self.repeating() {
            let nines = power_of_ten(repeating.len())? - BigInt::one();
            let tail = Rational::new(repeating.parse().ok()?, nines * &scale);
            return Some(Node::Number(Rational::new(whole, scale) + tail));
        }
        Some(Node::Decimal(self.scaled(Rational::new(whole, scale))?, digits))
    }

    /// The digits of `\overline{…}`, where it comes next.
    fn repeating(&mut self) -> Option<String> {
        let Some(Shape::Command(name)) = self.peek() else { return None };
        let digits = name.strip_prefix("overline ")?.to_owned();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.at += 1;
        Some(digits)
    }

    /// A number times the power of ten that `e3` after it stands for.
    fn scaled(&mut self, number: Rational) -> Option<Rational> {
        let start = self.at;
        let is_letter = matches!(self.peek(), Some(Shape::Letter('e' | 'E'))) && !self.spaced();
        if !is_letter {
            return Some(number);
        }
        self.at += 1;
        let negative = self.take('-');
        if !negative {
            self.take('+');
        }
        if self.digit().is_none() || self.tokens[start + 1..=self.at].iter().any(|token| token.spaced) {
            self.at = start;
            return Some(number);
        }
        let exponent = usize::try_from(self.digits()?).ok()?;
        let scale = Rational::from_integer(power_of_ten(exponent)?);
        Some(if negative { number / scale } else { number * scale })
    }

    /// A variable, with subscript and primes; or a constant.
    fn letter(&mut self, letter: char) -> Option<Node> {
        let name = self.name(letter.to_string())?;
        Some(match name.as_str() {
            "e" => Node::E,
            "i" => Node::I,
            _ => Node::Variable(name),
        })
    }

    /// A name with its subscript and primes.
    fn name(&mut self, mut name: String) -> Option<String> {
        if self.take('_') {
            let start = self.at;
            self.skip_argument()?;
            name.push('_');
            let subscript = &self.tokens[start..self.at];
            name.push_str(super::key(subscript).trim_start_matches('{').trim_end_matches('}'));
        }
        while self.take('\'') {
            name.push('\'');
        }
        Some(name)
    }

    /// Passes over a group or one token.
    fn skip_argument(&mut self) -> Option<()> {
        if self.peek() != Some(&Shape::Open) {
            self.at += 1;
            return (self.at <= self.tokens.len()).then_some(());
        }
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.at) {
            depth += token.nesting();
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
        None
    }

    fn command(&mut self, name: &str) -> Option<Node> {
        match name {
            "pi" => Some(Node::Pi),
            "frac" => {
                let above = self.argument()?;
                let below = self.argument()?;
                Some(Node::Product(vec![above, Node::Inverse(Box::new(below))]))
            }
            "sqrt" => {
                let index =
                    if self.next_is('[') { self.group(&Shape::Symbol(']'))? } else { Node::integer(2) };
                let radicand = if self.digit().is_some() { self.number()? } else { self.argument()? };
                Some(Node::Root(Box::new(index), Box::new(radicand)))
            }
            "binom" => Some(Node::Choose(Box::new(self.argument()?), Box::new(self.argument()?))),
            "log" | "lg" => {
                let base = if self.take('_') {
                    if self.digit().is_some() {
                        Node::Number(self.digits()?.into())
                    } else {
                        self.argument()?
                    }
                } else {
                    Node::integer(10)
                };
                self.applied(None, |argument| Node::Log(Box::new(base), Box::new(argument)))
            }
            _ => match Function::named(name) {
                Some(function) => {
                    self.applied(Some(function), |argument| Node::Apply(function, Box::new(argument)))
                }
                // A name that stands for itself: `\theta`, `\infty`, `\overline{AB}`.
                None => Some(Node::Variable(self.name(format!("\\{name}"))?)),
            },
        }
    }

    /// An argument as LaTeX takes it: a group, a single digit, or one command with its own arguments.
    fn argument(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let node = match self.peek()?.clone() {
            Shape::Digit(digit) => {
                self.at += 1;
                Node::integer(digit.to_digit(10)?)
            }
            Shape::Letter(letter) => {
                self.at += 1;
                match letter {
                    'e' => Node::E,
                    'i' => Node::I,
                    _ => Node::Variable(letter.to_string()),
                }
            }
            _ => self.operand()?,
        };
        self.depth -= 1;
        Some(node)
    }

    /// A function's power, if one is written, and its argument: a bracket, or the factors up to the next operator
    /// or function.
    fn applied(&mut self, function: Option<Function>, wrap: impl FnOnce(Node) -> Node) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let exponent = if self.take('^') { Some(self.exponent()?) } else { None };
        let angle = std::mem::replace(&mut self.angle, function.is_some_and(Function::takes_angle));
        let argument = self.function_argument();
        self.angle = angle;
        self.depth -= 1;
        let argument = argument?;
        let minus_one = Node::Negative(Box::new(Node::integer(1)));
        Some(match exponent {
            Some(exponent) if exponent == minus_one => Node::Apply(function?.inverse()?, Box::new(argument)),
            Some(exponent) => Node::Power(Box::new(wrap(argument)), Box::new(exponent)),
            None => wrap(argument),
        })
    }

    fn function_argument(&mut self) -> Option<Node> {
        match self.peek()? {
            Shape::Symbol('(') => return self.group(&Shape::Symbol(')')),
            Shape::Symbol('[') => return self.group(&Shape::Symbol(']')),
            _ => {}
        }
        let negative = self.take('-');
        let mut factors = vec![self.factor()?];
        loop {
            if self.next_is('/') && matches!(self.tokens.get(self.at + 1), Some(next) if is_digit(next)) {
                self.at += 1;
                factors.push(Node::Inverse(Box::new(self.factor()?)));
            } else if self.starts_factor() && !self.starts_function() && !self.next_is('(') {
                factors.push(self.factor()?);
            } else {
                break;
            }
        }
        let node = single(factors, Node::Product);
        Some(if negative { Node::Negative(Box::new(node)) } else { node })
    }

    fn starts_function(&self) -> bool {
        match self.peek() {
            Some(Shape::Command(name)) => Function::named(name).is_some() || name == "log" || name == "lg",
            _ => false,
        }
    }
}

fn is_digit(token: &Token) -> bool {
    matches!(token.shape, Shape::Digit(_))
}

fn single(mut nodes: Vec<Node>, wrap: fn(Vec<Node>) -> Node) -> Node {
    if nodes.len() == 1 { nodes.remove(0) } else { wrap(nodes) }
}

/// The value of a fraction of whole numbers that is less than one.
fn proper_fraction(node: &Node) -> Option<Rational> {
    let Node::Product(parts) = node else { return None };
    let [Node::Number(above), Node::Inverse(below)] = parts.as_slice() else { return None };
    let Node::Number(below) = below.as_ref() else { return None };
    if !above.is_integer() || !below.is_integer() {
        return None;
    }
    proper(above.numer(), below.numer())
}

fn proper(above: &BigInt, below: &BigInt) -> Option<Rational> {
    (above < below && !below.is_zero()).then(|| Rational::new(above.clone(), below.clone()))
}

/// 10 to the power of `exponent`, `None` for more than an answer may have.
fn power_of_ten(exponent: usize) -> Option<BigInt> {
    (exponent <= super::super::work::MAX_ANSWER).then(|| num_traits::pow(BigInt::from(10), exponent))
}
