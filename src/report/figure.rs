//! Numbers for people: three digits, a unit, and groups of thousands.

/// Stands where there is no figure.
pub(super) const NONE: &str = "–";

/// Three significant digits, more before the point if there are more: `0.123`, `12.3`, `1,234`.
pub(super) fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        small if small < 0.9995 => format!("{value:.3}"),
        small if small < 9.995 => format!("{value:.2}"),
        small if small < 99.95 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

/// A duration given in ms, as ms or from one second on as s.
pub(super) fn time(ms: f64) -> String {
    if ms < 999.5 { format!("{} ms", short(ms)) } else { format!("{} s", short(ms / 1e3)) }
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        // Never rounded up to a whole that it is not.
        nearly if (99.95..100.0).contains(&nearly) => format!("{:.3} %", (nearly * 1e3).floor() / 1e3),
        percent => format!("{percent:.1} %"),
    }
}

/// A size, in KiB or from one MiB on in MiB.
pub(super) fn size(bytes: u64) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib < 1024.0 { format!("{} KiB", short(kib)) } else { format!("{} MiB", short(kib / 1024.0)) }
}

/// A count: `12,345`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let written = [0.0, 0.0123, 0.9999, 9.994, 9.996, 99.94, 99.96, 1_234.5, 1_234_567.0].map(short);
        assert_eq!(written, ["0", "0.012", "1.00", "9.99", "10.0", "99.9", "100", "1,235", "1,234,567"]);
    }

    #[test]
    fn sizes_change_to_mebibytes_at_one_mebibyte() {
        assert_eq!([0, 700, 1 << 20, 37 << 20].map(size), ["0 KiB", "0.684 KiB", "1.00 MiB", "37.0 MiB"]);
    }

    #[test]
    fn times_change_to_seconds_at_one_second() {
        assert_eq!(
            [0.5, 12.34, 999.4, 999.6, 65_000.0].map(time),
            ["0.500 ms", "12.3 ms", "999 ms", "1.00 s", "65.0 s"]
        );
    }

    #[test]
    fn a_share_short_of_all_is_not_written_as_all() {
        assert_eq!(
            [0.0, 0.5, 0.9995, 0.99999, 1.0].map(percent),
            ["0.0 %", "50.0 %", "99.950 %", "99.999 %", "100.0 %"]
        );
        assert_eq!(percent(0.999_999_9), "99.999 %");
    }
}
