//! The value of an expression: exact where it is rational, else a complex number in double precision at given points.

use num_bigint::BigInt;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::super::work::{MAX_BITS, Work};
use super::Rational;
use super::expression::{Function, Node};

/// The largest number whose factorial is taken exactly.
const MAX_FACTORIAL: u32 = 3000;

/// The largest lower number of a binomial coefficient over something that is no number.
const MAX_CHOICE: u32 = 64;

/// The exact value of `node`.
///
/// Returns `None` where it is not rational, is undefined, or is out of bounds.
pub(super) fn exact(node: &Node, work: &mut Work) -> Option<Rational> {
    work.spend(1)?;
    let value = match node {
        Node::Number(value) | Node::Decimal(value, _) => value.clone(),
        Node::Pi | Node::E | Node::I | Node::Variable(_) => return None,
        Node::Sum(terms) => {
            let mut sum = Rational::zero();
            for term in terms {
                sum = plus(sum, exact(term, work)?, work)?;
            }
            sum
        }
        Node::Product(factors) => {
            let mut product = Rational::one();
            for factor in factors {
                product = times(product, exact(factor, work)?, work)?;
            }
            product
        }
        Node::Negative(node) => -exact(node, work)?,
        Node::Inverse(node) => {
            let value = exact(node, work)?;
            if value.is_zero() {
                return None;
            }
            value.recip()
        }
        Node::Power(base, exponent) => {
            let exponent = exact(exponent, work)?;
            let base = exact(base, work)?;
            let root = root(&base, index(exponent.denom())?, work)?;
            power(&root, exponent.numer(), work)?
        }
        Node::Root(index_node, radicand) => {
            let degree = exact(index_node, work)?;
            if !degree.is_integer() {
                return None;
            }
            let radicand = exact(radicand, work)?;
            root(&radicand, index(degree.numer())?, work)?
        }
        Node::Apply(function, argument) => apply_exact(*function, exact(argument, work)?, work)?,
        Node::Choose(above, below) => {
            let (above, below) = (exact(above, work)?, exact(below, work)?);
            let (above, below) = (small(&above, MAX_FACTORIAL)?, small(&below, MAX_FACTORIAL)?);
            choose(above, below, work)?
        }
        Node::Log(..) => return None,
    };
    bounded(&value)?;
    Some(value)
}

fn bits(value: &Rational) -> u64 {
    value.numer().bits().max(value.denom().bits())
}

fn bounded(value: &Rational) -> Option<()> {
    (bits(value) <= MAX_BITS).then_some(())
}

/// A sum. Whole numbers are kept from the fractions' way, which would look for common divisors with 1.
fn plus(a: Rational, b: Rational, work: &mut Work) -> Option<Rational> {
    let sum = if a.is_integer() && b.is_integer() {
        work.spend_product(bits(&a), 64)?;
        Rational::from_integer(a.into_raw().0 + b.into_raw().0)
    } else {
        work.spend_divisor(bits(&a) + bits(&b))?;
        a + b
    };
    bounded(&sum)?;
    Some(sum)
}

/// A product.
fn times(a: Rational, b: Rational, work: &mut Work) -> Option<Rational> {
    let product = if a.is_integer() && b.is_integer() {
        work.spend_product(bits(&a), bits(&b))?;
        Rational::from_integer(a.into_raw().0 * b.into_raw().0)
    } else if a.is_one() {
        b
    } else {
        work.spend_divisor(bits(&a).max(bits(&b)))?;
        a * b
    };
    bounded(&product)?;
    Some(product)
}

fn index(index: &BigInt) -> Option<u32> {
    index.to_u32().filter(|index| (1..=64).contains(index))
}

fn small(value: &Rational, most: u32) -> Option<u32> {
    if !value.is_integer() {
        return None;
    }
    value.numer().to_u32().filter(|value| *value <= most)
}

fn power(base: &Rational, exponent: &BigInt, work: &mut Work) -> Option<Rational> {
    if base.is_zero() {
        return (exponent.is_positive()).then(Rational::zero);
    }
    if base.abs().is_one() {
        return Some(if exponent.bit(0) { base.clone() } else { Rational::one() });
    }
    let magnitude = exponent.abs().to_u32()?;
    let size = bits(base).checked_mul(u64::from(magnitude))?;
    if size > MAX_BITS {
        return None;
    }
    work.spend_product(size, size)?;
    let value = Rational::new_raw(
        num_traits::pow(base.numer().clone(), magnitude as usize),
        num_traits::pow(base.denom().clone(), magnitude as usize),
    );
    Some(if exponent.is_negative() { value.recip() } else { value })
}

/// The real root where it is rational. Odd roots of negative numbers are negative.
fn root(value: &Rational, index: u32, work: &mut Work) -> Option<Rational> {
    if index == 1 {
        return Some(value.clone());
    }
    if value.is_negative() && index.is_multiple_of(2) {
        return None;
    }
    let size = bits(value);
    work.spend_product(size * 8, size)?;
    let above = value.numer().nth_root(index);
    let below = value.denom().nth_root(index);
    let is_exact = num_traits::pow(above.clone(), index as usize) == *value.numer()
        && num_traits::pow(below.clone(), index as usize) == *value.denom();
    is_exact.then(|| Rational::new_raw(above, below))
}

fn apply_exact(function: Function, argument: Rational, work: &mut Work) -> Option<Rational> {
    match function {
        Function::Abs => Some(argument.abs()),
        Function::Floor => Some(argument.floor()),
        Function::Ceil => Some(argument.ceil()),
        Function::Factorial => {
            let top = small(&argument, MAX_FACTORIAL)?;
            let mut product = BigInt::one();
            for factor in 2..=top {
                work.spend_product(product.bits(), 32)?;
                product *= factor;
            }
            Some(product.into())
        }
        Function::Exp | Function::Cos | Function::Cosh | Function::Sec if argument.is_zero() => {
            Some(Rational::one())
        }
        Function::Sin
        | Function::Tan
        | Function::Sinh
        | Function::Tanh
        | Function::Arcsin
        | Function::Arctan
            if argument.is_zero() =>
        {
            Some(argument)
        }
        Function::Ln if argument.is_one() => Some(Rational::zero()),
        _ => None,
    }
}

fn choose(above: u32, below: u32, work: &mut Work) -> Option<Rational> {
    if below > above {
        return Some(Rational::zero());
    }
    let below = below.min(above - below);
    let mut product = BigInt::one();
    for step in 0..below {
        work.spend_product(product.bits(), 64)?;
        product = product * (above - step) / (step + 1);
    }
    Some(product.into())
}

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    /// Its real part.
    pub(super) re: f64,
    /// Its imaginary part.
    pub(super) im: f64,
}

impl Complex {
    const ONE: Complex = Complex { re: 1.0, im: 0.0 };

    fn real(re: f64) -> Complex {
        Complex { re, im: 0.0 }
    }

    fn is_real(self) -> bool {
        self.im == 0.0
    }

    /// Its distance from zero.
    pub(super) fn abs(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    fn plus(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }

    /// Its difference to another.
    pub(super) fn minus(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }

    /// Minus it.
    pub(super) fn negative(self) -> Complex {
        Complex { re: -self.re, im: -self.im }
    }

    fn times(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }

    fn inverse(self) -> Option<Complex> {
        let square = self.re * self.re + self.im * self.im;
        (square > 0.0 && square.is_finite()).then(|| Complex { re: self.re / square, im: -self.im / square })
    }

    fn exp(self) -> Complex {
        let size = libm::exp(self.re);
        Complex { re: size * libm::cos(self.im), im: size * libm::sin(self.im) }
    }

    fn ln(self) -> Option<Complex> {
        let size = self.abs();
        (size > 0.0).then(|| Complex { re: libm::log(size), im: libm::atan2(self.im, self.re) })
    }

    fn sin(self) -> Complex {
        Complex { re: libm::sin(self.re) * libm::cosh(self.im), im: libm::cos(self.re) * libm::sinh(self.im) }
    }

    fn cos(self) -> Complex {
        Complex {
            re: libm::cos(self.re) * libm::cosh(self.im),
            im: -libm::sin(self.re) * libm::sinh(self.im),
        }
    }
}

/// The value of `node` where its variables have the values `at` gives.
///
/// Returns `None` where it is undefined, out of bounds, or left the range in which doubles keep their digits.
pub(super) fn value(node: &Node, at: &dyn Fn(&str) -> f64, work: &mut Work) -> Option<Complex> {
    work.spend(1)?;
    let value = match node {
        Node::Number(value) | Node::Decimal(value, _) => Complex::real(double(value, work)?),
        Node::Pi => Complex::real(std::f64::consts::PI),
        Node::E => Complex::real(std::f64::consts::E),
        Node::I => Complex { re: 0.0, im: 1.0 },
        Node::Variable(name) => Complex::real(at(name)),
        Node::Sum(terms) => {
            let mut sum = Complex::real(0.0);
            for term in terms {
                sum = sum.plus(value(term, at, work)?);
            }
            sum
        }
        Node::Product(factors) => {
            let mut product = Complex::ONE;
            for factor in factors {
                product = product.times(value(factor, at, work)?);
            }
            product
        }
        Node::Negative(node) => value(node, at, work)?.negative(),
        Node::Inverse(node) => value(node, at, work)?.inverse()?,
        Node::Power(base, exponent) => raise(base, exponent, at, work)?,
        Node::Root(index, radicand) => {
            let index = small(&exact(index, work)?, 64).filter(|index| *index > 0)?;
            nth_root(value(radicand, at, work)?, index)?
        }
        Node::Log(base, argument) => {
            let base = value(base, at, work)?.ln()?;
            value(argument, at, work)?.ln()?.times(base.inverse()?)
        }
        Node::Apply(function, argument) => apply(*function, value(argument, at, work)?)?,
        Node::Choose(above, below) => {
            let below = small(&exact(below, work)?, MAX_CHOICE)?;
            let above = value(above, at, work)?;
            let mut product = Complex::ONE;
            for step in 0..below {
                let factor = above.minus(Complex::real(f64::from(step)));
                product = product.times(factor).times(Complex::real(1.0 / f64::from(step + 1)));
            }
            product
        }
    };
    let size = value.abs();
    let in_range = size == 0.0 || (1e-280..1e280).contains(&size);
    in_range.then_some(value)
}

fn double(value: &Rational, work: &mut Work) -> Option<f64> {
    work.spend(bits(value) / 64)?;
    value.to_f64().filter(|value| value.is_finite())
}

fn raise(base: &Node, exponent: &Node, at: &dyn Fn(&str) -> f64, work: &mut Work) -> Option<Complex> {
    let base = value(base, at, work)?;
    if let Some(exponent) = exact(exponent, work) {
        let index = index(exponent.denom())?;
        let times = exponent.numer().to_i32().filter(|times| times.abs() <= 100_000)?;
        let root = nth_root(base, index)?;
        let power = integer_power(root, times.unsigned_abs());
        return if times < 0 { power.inverse() } else { Some(power) };
    }
    let exponent = value(exponent, at, work)?;
    if base.is_real() && base.re > 0.0 && exponent.is_real() {
        return Some(Complex::real(libm::pow(base.re, exponent.re)));
    }
    Some(base.ln()?.times(exponent).exp())
}

fn integer_power(base: Complex, mut exponent: u32) -> Complex {
    let mut power = Complex::ONE;
    let mut square = base;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.times(square);
        }
        square = square.times(square);
        exponent >>= 1;
    }
    power
}

/// The real root where there is one, else the principal one.
fn nth_root(value: Complex, index: u32) -> Option<Complex> {
    if index == 1 {
        return Some(value);
    }
    if value.is_real() && (value.re >= 0.0 || index % 2 == 1) {
        let size = match index {
            2 => libm::sqrt(value.re.abs()),
            3 => libm::cbrt(value.re.abs()),
            _ => libm::pow(value.re.abs(), 1.0 / f64::from(index)),
        };
        return Some(Complex::real(if value.re < 0.0 { -size } else { size }));
    }
    if value.is_real() && index == 2 {
        return Some(Complex { re: 0.0, im: libm::sqrt(-value.re) });
    }
    Some(value.ln()?.times(Complex::real(1.0 / f64::from(index))).exp())
}

fn apply(function: Function, argument: Complex) -> Option<Complex> {
    let real = |map: fn(f64) -> f64| argument.is_real().then(|| Complex::real(map(argument.re)));
    Some(match function {
        Function::Sin => argument.sin(),
        Function::Cos => argument.cos(),
        Function::Tan => argument.sin().times(argument.cos().inverse()?),
        Function::Cot => argument.cos().times(argument.sin().inverse()?),
        Function::Sec => argument.cos().inverse()?,
        Function::Csc => argument.sin().inverse()?,
        Function::Exp => argument.exp(),
        Function::Ln => argument.ln()?,
        Function::Abs => Complex::real(argument.abs()),
        Function::Arcsin => real(libm::asin)?,
        Function::Arccos => real(libm::acos)?,
        Function::Arctan => real(libm::atan)?,
        Function::Sinh => real(libm::sinh)?,
        Function::Cosh => real(libm::cosh)?,
        Function::Tanh => real(libm::tanh)?,
        Function::Floor => real(libm::floor)?,
        Function::Ceil => real(libm::ceil)?,
        Function::Factorial => real(|value| libm::tgamma(value + 1.0))?,
    })
}
