//! Least squares with up to a few terms, with the interval of each.
//!
//! Normal equations on columns scaled to length one; a pivot below [`SINGULAR`] says that a term cannot be told
//! from the others (Golub and Van Loan, *Matrix Computations*, 4th ed., §5.3). Intervals are Student's at n − k
//! degrees.

use crate::stats::interval::Interval;
use crate::stats::quantile::student_quantile;

/// Columns more alike than this leave a term open.
const SINGULAR: f64 = 1e-7;

/// What a fit came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit<const K: usize> {
    /// The terms.
    pub(super) terms: [f64; K],
    /// Half the width of the 95 % interval of each.
    pub(super) widths: [f64; K],
    /// Standard deviation of what is left over.
    pub(super) residual: f64,
}

impl<const K: usize> Fit<K> {
    /// The interval of a term.
    pub(super) fn interval(&self, term: usize) -> Interval {
        Interval {
            low: Some(self.terms[term] - self.widths[term]),
            high: Some(self.terms[term] + self.widths[term]),
        }
    }

    /// Whether a term is surely above zero.
    pub(super) fn is_positive(&self, term: usize) -> bool {
        self.terms[term] > self.widths[term]
    }
}

/// Fits y = Σ term · x; `None` of too few rows, or where a term cannot be told from the others.
pub(super) fn fit<const K: usize>(rows: &[([f64; K], f64)]) -> Option<Fit<K>> {
    if rows.len() <= K {
        return None;
    }
    let scale: [f64; K] = std::array::from_fn(|k| rows.iter().map(|(x, _)| x[k] * x[k]).sum::<f64>().sqrt());
    if scale.iter().any(|length| !length.is_finite() || *length == 0.0) {
        return None;
    }
    let mut matrix = [[0.0; K]; K];
    let mut right = [0.0; K];
    for (x, y) in rows {
        for i in 0..K {
            right[i] += x[i] / scale[i] * y;
            for j in 0..K {
                matrix[i][j] += x[i] / scale[i] * (x[j] / scale[j]);
            }
        }
    }
    let inverse = inverse(matrix)?;
    let scaled: [f64; K] = std::array::from_fn(|i| (0..K).map(|j| inverse[i][j] * right[j]).sum());
    let terms: [f64; K] = std::array::from_fn(|k| scaled[k] / scale[k]);
    let left = rows.iter().map(|(x, y)| {
        let fitted: f64 = (0..K).map(|k| terms[k] * x[k]).sum();
        (y - fitted) * (y - fitted)
    });
    let freedom = (rows.len() - K) as f64;
    let variance = left.sum::<f64>() / freedom;
    let t = student_quantile(0.975, freedom);
    let widths = std::array::from_fn(|k| t * (variance * inverse[k][k].max(0.0)).sqrt() / scale[k]);
    Some(Fit { terms, widths, residual: variance.sqrt() })
}

/// The inverse of a symmetric matrix whose diagonal is one, by elimination; `None` where it is nearly singular.
fn inverse<const K: usize>(mut matrix: [[f64; K]; K]) -> Option<[[f64; K]; K]> {
    let mut inverse = [[0.0; K]; K];
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for pivot in 0..K {
        let value = matrix[pivot][pivot];
        if value.abs() < SINGULAR {
            return None;
        }
        for j in 0..K {
            matrix[pivot][j] /= value;
            inverse[pivot][j] /= value;
        }
        for i in (0..K).filter(|i| *i != pivot) {
            let factor = matrix[i][pivot];
            for j in 0..K {
                matrix[i][j] -= factor * matrix[pivot][j];
                inverse[i][j] -= factor * inverse[pivot][j];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_plane_is_found_and_its_intervals_have_no_width() {
        let rows = [1.0_f64, 2.0, 5.0, 9.0, 20.0].map(|x| ([1.0, x, x * x], 3.0 + 0.5 * x + 0.01 * x * x));
        let fit = fit(&rows).unwrap();
        for (found, truth) in fit.terms.iter().zip([3.0, 0.5, 0.01]) {
            assert!((found - truth).abs() < 1e-9, "{fit:?}");
        }
        assert!(fit.residual < 1e-9 && fit.is_positive(2));
    }

    #[test]
    fn the_interval_of_a_slope_is_that_of_the_textbook() {
        // y = 2x + e with residuals 1, −1, −1, 1: s² = 4/2, Σ(x − x̄)² = 5, t(0.975, 2) = 4.302653.
        let rows = [(1.0, 3.0), (2.0, 3.0), (3.0, 5.0), (4.0, 9.0)].map(|(x, y)| ([1.0, x], y));
        let fit = fit(&rows).unwrap();
        assert!((fit.terms[1] - 2.0).abs() < 1e-9 && fit.terms[0].abs() < 1e-9, "{fit:?}");
        assert!((fit.widths[1] - 4.302_653 * (2.0_f64 / 5.0).sqrt()).abs() < 1e-5, "{fit:?}");
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_told() {
        let alike = [1.0, 2.0, 3.0, 4.0].map(|x| ([x, 2.0 * x], x));
        assert_eq!(fit(&alike), None);
        assert_eq!(fit(&[([1.0, 1.0], 1.0), ([1.0, 2.0], 1.0)]), None);
        assert_eq!(fit(&[([0.0], 1.0), ([0.0], 1.0)]), None);
    }
}
