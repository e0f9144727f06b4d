//! Amounts as people read them: counted things, bytes, times, money. Pure.

use std::time::Duration;

/// `1 change` or `3 changes`.
pub fn counted(number: impl TryInto<u64>, word: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    if number == 1 { format!("1 {word}") } else { format!("{number} {}", plural(word)) }
}

/// Only the last word is inflected, so `entry of the lock` does not work.
fn plural(word: &str) -> String {
    let ends_in_vowel_and_y = ["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end));
    match word {
        _ if word.ends_with('y') && !ends_in_vowel_and_y => format!("{}ies", &word[..word.len() - 1]),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| word.ends_with(end)) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

/// `340 MB`: units of 1000, as disks are sold and `du --si` counts.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut divisor, mut unit) = (1, 0);
    // What would be shown as 1000 is 1 of the next.
    while number >= divisor * 1000 - divisor / 2 && unit + 1 < UNITS.len() {
        divisor *= 1000;
        unit += 1;
    }
    let tenths = tenths(number, divisor);
    if unit > 0 && tenths < 100 {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        format!("{} {}", number.saturating_add(divisor / 2) / divisor, UNITS[unit])
    }
}

/// How many tenths of a unit, rounded.
fn tenths(number: u64, unit: u64) -> u64 {
    number.saturating_mul(10).saturating_add(unit / 2) / unit
}

/// `8s`, `2m10s`, `1h05m`, `3d02h`.
pub fn seconds(number: f64) -> String {
    let rounded = Duration::try_from_secs_f64(number.max(0.0) + 0.5).unwrap_or_default();
    let number = rounded.as_secs();
    let (days, hours, minutes, seconds) = (number / 86400, number / 3600 % 24, number / 60 % 60, number % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{seconds:02}s"),
        (0, _, _) => format!("{hours}h{minutes:02}m"),
        _ => format!("{days}d{hours:02}h"),
    }
}

/// `$0.42`, `<$0.01` for what is less than a cent.
pub fn dollars(number: f64) -> String {
    if number > 0.0 && number < 0.01 { "<$0.01".to_owned() } else { format!("${number:.2}") }
}

/// `870`, `12k`, `3.4M`: how many tokens, roughly.
pub fn rough(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..999_500 => format!("{}k", (number + 500) / 1000),
        _ => {
            let tenths = tenths(number, 1_000_000);
            format!("{}.{}M", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        assert_eq!(counted(1_u64, "change"), "1 change");
        assert_eq!(counted(0_usize, "change"), "0 changes");
        assert_eq!(counted(2_usize, "entry"), "2 entries");
        assert_eq!(counted(2_usize, "key"), "2 keys");
        assert_eq!(counted(3_usize, "input value"), "3 input values");
        assert_eq!(counted(2_usize, "branch"), "2 branches");
    }

    #[test]
    fn amounts_are_short() {
        let shown =
            [0, 999, 1000, 1040, 9_960, 123_456, 999_400, 999_600, 340_000_000, 5_250_000_000].map(bytes);
        assert_eq!(
            shown,
            ["0 B", "999 B", "1.0 kB", "1.0 kB", "10 kB", "123 kB", "999 kB", "1.0 MB", "340 MB", "5.3 GB"]
        );
        let shown = [0.2, 59.6, 130.0, 3900.0, 180_000.0].map(seconds);
        assert_eq!(shown, ["0s", "1m00s", "2m10s", "1h05m", "2d02h"]);
        assert_eq!([0.0, 0.004, 0.419, 12.0].map(dollars), ["$0.00", "<$0.01", "$0.42", "$12.00"]);
        assert_eq!([870, 12_400, 999_600, 3_400_000].map(rough), ["870", "12k", "1.0M", "3.4M"]);
    }
}
