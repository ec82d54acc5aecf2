//! `%.10f` and `%.10g` as C and Python print them: correctly rounded, ties to even.

use std::io::Write;

use super::print::push_exponent;

/// Appends `value` with `digits` decimals, as `%.{digits}f` does. NaN appends nothing, as `to_csv` does.
pub fn push_fixed(out: &mut Vec<u8>, value: f64, digits: usize) {
    if !push_special(out, value) {
        // Writing into a vector cannot fail. The standard library rounds the exact decimal value.
        let _ = write!(out, "{value:.digits$}");
    }
}

/// Appends `value` with at most `digits` significant digits, as `%.{digits}g` does: with an exponent below 1e-4 and from
/// 10^digits on, without zeros at the end. NaN appends nothing, as `to_csv` does.
pub fn push_general(out: &mut Vec<u8>, value: f64, digits: usize) {
    if push_special(out, value) {
        return;
    }
    let digits = digits.max(1);
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    // The rounded value decides between the two forms, so the exponent is taken after rounding.
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let start = out.len();
    if exponent < -4 || i64::from(exponent) >= digits as i64 {
        out.extend_from_slice(mantissa.as_bytes());
        strip_zeros(out, start);
        push_exponent(out, exponent);
    } else {
        let decimals = (digits as i64 - 1 - i64::from(exponent)).max(0) as usize;
        push_fixed(out, value, decimals);
        strip_zeros(out, start);
    }
}

/// Appends an infinity; says whether `value` was one, or NaN.
fn push_special(out: &mut Vec<u8>, value: f64) -> bool {
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
    !value.is_finite()
}

/// Drops zeros at the end of the decimals that start somewhere behind `start`, and a point left alone.
fn strip_zeros(out: &mut Vec<u8>, start: usize) {
    if !out.get(start..).unwrap_or_default().contains(&b'.') {
        return;
    }
    while out.last() == Some(&b'0') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
}
