//! Parsers for flag values.

use crate::model::tier::Harness;

/// The harnesses, as the help shows what a flag takes.
pub fn harness_names() -> String {
    Harness::names().join("|")
}

pub fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}

/// A length of time above 0, in seconds: `90`, `90s`, `5m`, `1h30m`.
pub fn seconds(text: &str) -> Result<f64, String> {
    let sum = text.parse::<f64>().ok().or_else(|| sum_of_parts(text));
    match sum {
        Some(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("must be a time above 0: seconds, or with a unit as in `90s`, `5m` or `1h30m`".into()),
    }
}

fn sum_of_parts(mut text: &str) -> Option<f64> {
    let mut sum = 0.0;
    while !text.is_empty() {
        let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, rest) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let unit = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * unit;
        text = rest;
    }
    Some(sum)
}

pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("must be a number of at least 0".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds_or_has_units() {
        for (text, expected) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("90s", 90.0),
            ("5m", 300.0),
            ("1.5h", 5400.0),
            ("1h30m", 5400.0),
            ("2d", 172_800.0),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in
            ["", "0", "0s", "-5", "-5m", "m", "5x", "5min", "5 m", "1h30", "inf", "nan", "1..5s", "5M"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
