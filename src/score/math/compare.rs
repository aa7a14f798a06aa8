//! Forms and values against each other.

use num_traits::ToPrimitive as _;

use super::super::work::Work;
use super::evaluate::{self, Complex};
use super::expression::Node;
use super::form::{Form, Leaf};

/// The most members of a list that are matched in any order.
const MAX_MEMBERS: usize = 128;

/// Points at which expressions with variables are compared.
const POINTS: u64 = 20;

/// How many of them must say something.
const NEEDED_POINTS: u32 = 3;

/// The largest relative difference of values that count as identical.
const IDENTICAL: f64 = 1e-9;

/// The same for a rational number against one that is not known exactly.
const IDENTICAL_RATIONAL: f64 = 1e-12;

/// The longest decimal that may stand in an expression compared at points: a longer one could imitate an irrational.
const MAX_DECIMAL_DIGITS: usize = 7;

/// The most bits of a rational number that may equal one not known exactly.
const MAX_RATIONAL_BITS: u64 = 40;

/// One comparison.
pub(super) struct Comparison<'a> {
    /// How far numbers may differ, as a share of the truth; 0 for not at all.
    pub(super) tolerance: f64,
    /// What it may still cost.
    pub(super) work: &'a mut Work,
}

impl Comparison<'_> {
    /// Whether `left`, the prediction, says the same as `right`, the truth.
    pub(super) fn same(&mut self, left: &Form, right: &Form) -> bool {
        if self.work.spend(1).is_none() {
            return false;
        }
        match (left, right) {
            (
                Form::Relation { operators: left, sides: left_sides },
                Form::Relation { operators: right, sides: right_sides },
            ) => self.same_relation((left, left_sides), (right, right_sides)),
            // Whatever equation leads to the answer, its last side is the answer.
            (Form::Relation { operators, sides }, _) => match (operators.last(), sides.as_slice()) {
                (Some('='), [.., last]) if operators.iter().all(|operator| *operator == '=') => {
                    self.same(last, right)
                }
                (Some('∈'), [name, set]) if is_name(name) => self.same(set, right),
                _ => false,
            },
            (_, Form::Relation { operators, sides }) => match (operators.as_slice(), sides.as_slice()) {
                (['=' | '∈'], [name, last]) if is_name(name) => self.same(left, last),
                _ => false,
            },
            (Form::Set { members: left, braced: a }, Form::Set { members: right, braced: b }) => {
                self.same_members(left, right, *a || *b)
            }
            (Form::Set { members, .. }, other) if members.len() == 1 => self.same(&members[0], other),
            (other, Form::Set { members, .. }) if members.len() == 1 => self.same(other, &members[0]),
            (Form::Union(left), Form::Union(right))
            | (Form::Intersection(left), Form::Intersection(right)) => self.same_members(left, right, false),
            (
                Form::Tuple { open: a, close: b, items: left },
                Form::Tuple { open: c, close: d, items: right },
            ) => (a, b) == (c, d) && self.same_items(left, right),
            (Form::Ratio(left), Form::Ratio(right)) => self.same_items(left, right),
            (Form::Matrix(left), Form::Matrix(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.same_items(left, right))
            }
            (Form::Leaf(left), Form::Leaf(right)) => self.same_leaf(left, right),
            _ => false,
        }
    }

    fn same_items(&mut self, left: &[Form], right: &[Form]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.same(left, right))
    }

    /// Whether each member has its match on the other side; one to one, unless repeats do not count.
    fn same_members(&mut self, left: &[Form], right: &[Form], repeats: bool) -> bool {
        if left.len().max(right.len()) > MAX_MEMBERS {
            return false;
        }
        if repeats {
            return left.iter().all(|one| right.iter().any(|other| self.same(one, other)))
                && right.iter().all(|other| left.iter().any(|one| self.same(one, other)));
        }
        if left.len() != right.len() {
            return false;
        }
        let mut unmatched: Vec<&Form> = right.iter().collect();
        left.iter().all(|one| {
            let found = unmatched.iter().position(|other| self.same(one, other));
            found.is_some_and(|at| {
                unmatched.swap_remove(at);
                true
            })
        })
    }

    fn same_relation(&mut self, left: (&[char], &[Form]), right: (&[char], &[Form])) -> bool {
        let (left, right) = (rising(left), rising(right));
        if left.0 == right.0 && left.1.iter().zip(&right.1).all(|(left, right)| self.same(left, right)) {
            return true;
        }
        match (left.0.as_slice(), right.0.as_slice()) {
            (['='], ['=']) => {
                self.same(left.1[0], right.1[1]) && self.same(left.1[1], right.1[0])
                    || self.same_equation(&left.1, &right.1)
            }
            (['≠'], ['≠']) => self.same(left.1[0], right.1[1]) && self.same(left.1[1], right.1[0]),
            // Of a chain of equations only the end counts.
            (['=', .., '='], ['=']) | (['='], ['=', .., '=']) => {
                let ends = left.1.last().zip(right.1.last());
                let names = left.1.first().zip(right.1.first());
                names.is_some_and(|(left, right)| self.same(left, right))
                    && ends.is_some_and(|(left, right)| self.same(left, right))
            }
            _ => false,
        }
    }

    /// Whether two equations are one, with all terms brought to one side, but for the sign.
    fn same_equation(&mut self, left: &[&Form], right: &[&Form]) -> bool {
        let difference = |sides: &[&Form]| match sides {
            [Form::Leaf(Leaf { node: Some(a), .. }), Form::Leaf(Leaf { node: Some(b), .. })] => {
                Some(Node::Sum(vec![a.clone(), Node::Negative(Box::new(b.clone()))]))
            }
            _ => None,
        };
        let Some((left, right)) = difference(left).zip(difference(right)) else { return false };
        let mut variables = Vec::new();
        left.variables(&mut variables);
        if variables.is_empty() {
            return false;
        }
        self.identical(&left, &right) || self.identical(&Node::Negative(Box::new(left)), &right)
    }

    fn same_leaf(&mut self, left: &Leaf, right: &Leaf) -> bool {
        if left.key == right.key {
            return !left.key.is_empty();
        }
        if left.based.is_some() || right.based.is_some() {
            return left.based == right.based;
        }
        if left.words.is_some() || right.words.is_some() {
            return left.as_words().is_some_and(|words| Some(words) == right.as_words());
        }
        match (&left.node, &right.node) {
            (Some(left), Some(right)) => self.identical(left, right),
            _ => false,
        }
    }

    /// Whether two expressions have the same value: exactly, or as far as doubles can tell.
    fn identical(&mut self, left: &Node, right: &Node) -> bool {
        let exact_left = evaluate::exact(left, self.work);
        let exact_right = evaluate::exact(right, self.work);
        if let (Some(left), Some(right)) = (&exact_left, &exact_right) {
            return left == right || self.tolerates(left.to_f64(), right.to_f64());
        }
        let (mut names, mut others) = (Vec::new(), Vec::new());
        left.variables(&mut names);
        right.variables(&mut others);
        for names in [&mut names, &mut others] {
            names.sort_unstable();
            names.dedup();
        }
        if names != others {
            return false;
        }
        if names.is_empty() { self.same_constant(left, right) } else { self.same_at_points(left, right) }
    }

    fn tolerates(&self, left: Option<f64>, right: Option<f64>) -> bool {
        let (Some(left), Some(right)) = (left, right) else { return false };
        self.tolerance > 0.0 && (left - right).abs() <= self.tolerance * right.abs()
    }

    /// Two constants, not both known exactly.
    fn same_constant(&mut self, left: &Node, right: &Node) -> bool {
        let nowhere = |_: &str| f64::NAN;
        let values =
            evaluate::value(left, &nowhere, self.work).zip(evaluate::value(right, &nowhere, self.work));
        let Some((a, b)) = values else { return false };
        if a.im == 0.0 && b.im == 0.0 && self.tolerates(Some(a.re), Some(b.re)) {
            return true;
        }
        let mut bound = IDENTICAL;
        for node in [left, right] {
            let Some(rational) = evaluate::exact(node, self.work) else { continue };
            if node.decimal_digits() > 0
                || rational.numer().bits() + rational.denom().bits() > MAX_RATIONAL_BITS
            {
                return false;
            }
            bound = IDENTICAL_RATIONAL;
        }
        left.decimal_digits().max(right.decimal_digits()) <= MAX_DECIMAL_DIGITS && close(a, b, bound)
    }

    /// Two expressions in the same variables. At a point where roots or logarithms of negative numbers make both
    /// imaginary, they say nothing about real variables.
    fn same_at_points(&mut self, left: &Node, right: &Node) -> bool {
        if left.decimal_digits().max(right.decimal_digits()) > MAX_DECIMAL_DIGITS {
            return false;
        }
        let complex = left.is_complex() || right.is_complex();
        let (mut real, mut imaginary) = (0, 0);
        for point in 0..POINTS {
            let at = |name: &str| coordinate(name, point);
            let values = evaluate::value(left, &at, self.work).zip(evaluate::value(right, &at, self.work));
            let Some((a, b)) = values else { continue };
            let agree = close(a, b, IDENTICAL);
            if !complex && a.im != 0.0 && b.im != 0.0 {
                imaginary += u32::from(agree);
                continue;
            }
            if !agree {
                return false;
            }
            real += 1;
        }
        real >= NEEDED_POINTS || real == 0 && imaginary >= NEEDED_POINTS
    }
}

/// Whether two values are the same but for rounding. Zero equals nothing that was rounded.
fn close(a: Complex, b: Complex, bound: f64) -> bool {
    a.minus(b).abs() <= bound * a.abs().min(b.abs()) && a.abs() > 0.0
}

/// The value of a variable at a point: between 0.3 and 2.3 in size, negative at every second point in turn with the
/// name. It follows from name and point alone.
fn coordinate(name: &str, point: u64) -> f64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ point.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The finaliser of SplitMix64.
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    let size = 0.3 + 2.0 * (state >> 11) as f64 / (1_u64 << 53) as f64;
    // The first half of the points is positive, so that roots and logarithms have values there.
    if point >= POINTS / 2 && state & 1 == 1 { -size } else { size }
}

/// A relation with `>` turned round.
fn rising<'a>((operators, sides): (&[char], &'a [Form])) -> (Vec<char>, Vec<&'a Form>) {
    let falls = !operators.is_empty() && operators.iter().all(|operator| matches!(operator, '>' | '≥'));
    if !falls {
        return (operators.to_vec(), sides.iter().collect());
    }
    let turned = operators.iter().rev().map(|operator| if *operator == '>' { '<' } else { '≤' });
    (turned.collect(), sides.iter().rev().collect())
}

/// Whether a side of an equation only names what the other side gives: `x`, `f(x)`, `a_1`, `(x,y)`, `\text{Area}`.
fn is_name(form: &Form) -> bool {
    let leaf = match form {
        Form::Leaf(leaf) => leaf,
        Form::Tuple { items, .. } => return items.iter().all(is_name),
        _ => return false,
    };
    if leaf.words.is_some() {
        return true;
    }
    match &leaf.node {
        Some(Node::Variable(_) | Node::E | Node::I) => true,
        Some(Node::Product(factors)) => {
            let letters = leaf.key.chars().filter(|char| char.is_alphabetic()).count();
            let called = leaf.key.ends_with(')') && leaf.key.chars().nth(1) == Some('(');
            factors.len() <= 3 && (called || letters == leaf.key.chars().count() && letters <= 3)
        }
        _ => false,
    }
}
