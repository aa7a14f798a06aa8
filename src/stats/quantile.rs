//! Quantiles and tails of the normal, Student's t and the binomial distribution.
//!
//! Of our own, so that figures are the same to the last digit on every machine; transcendentals come from `libm`.

/// The normal quantile of `p` in (0, 1): Wichura, Algorithm AS 241 (PPND16), *Applied Statistics* 37 (1988),
/// relative error about 1e−16. NaN outside.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = libm::sqrt(-libm::log(p.min(1.0 - p)));
    let (of, r) = if tail <= 5.0 { (&MIDDLE, tail - 1.6) } else { (&FAR, tail - 5.0) };
    (polynomial(&of.0, r) / polynomial(&of.1, r)).copysign(q)
}

/// The chance that a normal value lies above `z`.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The quantile of Student's t with `freedom` ≥ 1 degrees for `p` in (0.5, 1), by bisection of its tail.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let tail = |t: f64| 0.5 * beta_share(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > 1.0 - p && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > 1.0 - p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The chance of at most `k` hits among `n` draws that each hit with chance `p`.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n { 1.0 } else { beta_share(1.0 - p, (n - k) as f64, k as f64 + 1.0) }
}

/// The regularised incomplete beta function I_x(a, b) by Lentz's continued fraction (Abramowitz and Stegun,
/// 26.5.8; Press and others, *Numerical Recipes*, 3rd ed., §6.4).
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    let front = libm::exp(log_front);
    // The fraction converges fast below the mean; above it the mirrored one does.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    /// Stands for zero where a division would follow.
    const TINY: f64 = 1e-300;
    /// Terms needed grow with the root of a and b: enough for samples of 10⁹.
    const MOST_TERMS: u32 = 100_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..=MOST_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            step = c * d;
            value *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Coefficients from the constant term on.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

type Rational = ([f64; 8], [f64; 8]);

const CENTRE: Rational = (
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
);

const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const FAR: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, error: f64) {
        assert!((value - expected).abs() <= error, "{value} is not {expected}");
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (p, z) in [
            (0.5, 0.0),
            (0.9, 1.281_551_565_544_600_4),
            (0.95, 1.644_853_626_951_472_2),
            (0.975, 1.959_963_984_540_054),
            (0.99, 2.326_347_874_040_840_8),
            (0.999, 3.090_232_306_167_813_5),
            (1e-12, -7.034_483_825_301_131),
        ] {
            near(normal_quantile(p), z, 1e-12);
            near(normal_tail(z), 1.0 - p, 1e-12);
        }
    }

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        for (freedom, t975, t99) in [
            (1.0, 12.706_204_736, 31.820_515_953),
            (2.0, 4.302_652_730, 6.964_556_734),
            (5.0, 2.570_581_836, 3.364_929_997),
            (9.0, 2.262_157_163, 2.821_437_925),
            (19.0, 2.093_024_054, 2.539_483_191),
            (30.0, 2.042_272_456, 2.457_261_542),
            (1e6, 1.959_966_357, 2.326_352_310),
        ] {
            near(student_quantile(0.975, freedom), t975, 1e-6);
            near(student_quantile(0.99, freedom), t99, 1e-6);
        }
    }

    #[test]
    fn binomial_sums_are_those_of_adding_up() {
        for (n, p) in [(1_u32, 0.5), (10, 0.1), (36, 0.9), (368, 0.01)] {
            let (mut term, mut sum) = (libm::pow(1.0 - p, f64::from(n)), 0.0);
            for k in 0..=n {
                sum += term;
                near(binomial_at_most(u64::from(k), u64::from(n), p), sum, 1e-11);
                term *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
            }
        }
        near(binomial_at_most(500_000, 1_000_000, 0.5), 0.5 + 0.000_398_942, 1e-7);
    }
}
