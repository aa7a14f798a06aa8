//! The laws of lengths, as written and as written back.

use super::*;
use crate::distribution::{Bounds, Law};

/// The law written under `output.max_tokens`.
fn law(text: &str) -> Result<Distribution, String> {
    let scenario = read_with(MINIMAL, &set(&[&format!("workload.w.output.max_tokens={text}")]))?;
    assert_eq!(again(&scenario), scenario, "{text}");
    Ok(scenario.workloads[0].max_tokens.clone())
}

#[test]
fn every_law_is_read_and_written_back() {
    let bounds = |min, max| Bounds { min, max };
    let most = u32::MAX.into();
    let drawn = |law, bounds| Ok(Distribution::Drawn { law, bounds });
    let normal = Law::Normal { mean: 1_000.0, sd: 200.5 };
    assert_eq!(law("{ fixed = \"1Ki\" }"), Ok(Distribution::Fixed(1_024)));
    assert_eq!(law("{ normal = { mean = 1000, sd = 200.5 } }"), drawn(normal, bounds(1, most)));
    let lognormal = Law::Lognormal { median: 8_000.0, sigma: 0.8 };
    let text = "{ lognormal = { median = 8000, sigma = 0.8, min = \"4Ki\", max = \"120Ki\" } }";
    assert_eq!(law(text), drawn(lognormal, bounds(4_096, 122_880)));
    let by_p99 = law("{ lognormal = { median = 100, p99 = 1000 } }");
    assert_eq!(by_p99, drawn(Law::lognormal_by_p99(100.0, 1_000.0), bounds(1, most)));
    let gamma = Law::Gamma { mean: 250.0, cv: 0.5 };
    assert_eq!(law("{ gamma = { mean = 250, cv = 0.5, max = 900 } }"), drawn(gamma, bounds(1, 900)));
    let zipf = Distribution::zipf(1.1, 16, 4_096).unwrap();
    assert_eq!(law("{ zipf = { exponent = 1.1, min = 16, max = \"4Ki\" } }"), Ok(zipf.clone()));
    let values = |weighted: &[(u64, f64)]| Ok(Distribution::values(weighted).unwrap());
    assert_eq!(law("{ values = [5, \"1k\"] }"), values(&[(5, 1.0), (1_000, 1.0)]));
    assert_eq!(law("{ values = { of = [5, 9], weights = [3, 0.5] } }"), values(&[(5, 3.0), (9, 0.5)]));
    let mix = vec![(Distribution::Fixed(7), 3.0), (zipf, 1.0)];
    let text = "{ mix = [{ weight = 3, fixed = 7 }, { zipf = { exponent = 1.1, min = 16, max = 4096 } }] }";
    assert_eq!(law(text), Ok(Distribution::mix(mix).unwrap()));
}
