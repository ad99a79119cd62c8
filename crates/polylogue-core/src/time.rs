//! Points in time as data. Core never reads a clock: whoever calls it says what time it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Milliseconds from `earlier` to here; 0 when the clock went backwards.
    pub fn since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms))
    }

    /// Date and time of day in UTC, to the second, as transcripts have it: `2025-10-03 14:32:18`.
    pub fn date_and_time(self) -> String {
        let whole = self.to_string();
        match whole.split_once('T') {
            Some((date, time)) => format!("{date} {}", time.split('.').next().unwrap_or(time)),
            None => whole,
        }
    }
}

/// RFC 3339 in UTC with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()) {
            Some(time) => write!(f, "{time:.3}"),
            None => write!(f, "{} ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (u64::MAX, "18446744073709551615 ms"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
        }
    }

    #[test]
    fn reads_as_a_date_and_a_time_of_day() {
        assert_eq!(Timestamp(1_700_000_000_123).date_and_time(), "2023-11-14 22:13:20");
        assert_eq!(Timestamp(u64::MAX).date_and_time(), "18446744073709551615 ms");
    }
}
