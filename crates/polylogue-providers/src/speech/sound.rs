//! Sound in memory: one channel of samples between -1 and 1.

use std::fmt;

/// What counts as silence at the ends of a clip.
const SILENCE: f32 = 0.004;
/// How much of it is left there, so that no consonant is clipped.
const MARGIN_MS: u64 = 30;
/// Long enough to hide a step in the wave, short enough not to be heard.
const FADE_MS: u64 = 6;

#[derive(Clone, PartialEq)]
pub struct Sound {
    /// Samples per second.
    pub rate: u32,
    pub samples: Vec<f32>,
}

impl fmt::Debug for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sound of {} ms at {} Hz, peak {}", self.duration_ms(), self.rate, self.peak())
    }
}

impl Sound {
    pub fn new(rate: u32, samples: Vec<f32>) -> Self {
        Sound { rate, samples }
    }

    /// From 16-bit samples, low byte first; an odd last byte is left out.
    pub(crate) fn from_s16le(rate: u32, bytes: &[u8]) -> Self {
        let samples = bytes.chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0);
        Sound { rate, samples: samples.collect() }
    }

    pub fn duration_ms(&self) -> u64 {
        (self.samples.len() as u64 * 1000 + u64::from(self.rate) / 2) / u64::from(self.rate.max(1))
    }

    pub fn peak(&self) -> f32 {
        self.samples.iter().fold(0.0, |peak, sample| peak.max(sample.abs()))
    }

    /// How many samples a time takes.
    pub(crate) fn frames(&self, ms: u64) -> usize {
        (ms * u64::from(self.rate) / 1000) as usize
    }

    /// Without the silence at both ends, but for a margin.
    pub(crate) fn trimmed(mut self) -> Self {
        let loud = |sample: &f32| sample.abs() > SILENCE;
        let Some(first) = self.samples.iter().position(loud) else { return self };
        let last = self.samples.iter().rposition(loud).unwrap_or(first);
        let margin = self.frames(MARGIN_MS);
        self.samples.truncate((last + 1 + margin).min(self.samples.len()));
        self.samples.drain(..first.saturating_sub(margin));
        self
    }

    /// Rises from nothing at the start and falls to nothing at the end.
    pub(crate) fn faded(mut self) -> Self {
        let length = self.frames(FADE_MS).min(self.samples.len() / 2);
        let count = self.samples.len();
        for at in 0..length {
            let gain = at as f32 / length as f32;
            self.samples[at] *= gain;
            self.samples[count - 1 - at] *= gain;
        }
        self
    }

    /// Joins parts with silence between them. Each part is trimmed and faded, so that no join clicks.
    pub(crate) fn joined(rate: u32, parts: impl IntoIterator<Item = (Sound, u64)>) -> Sound {
        let mut whole = Sound::new(rate, Vec::new());
        let mut pause_ms = 0;
        for (part, pause_after_ms) in parts {
            whole.samples.resize(whole.samples.len() + whole.frames(pause_ms), 0.0);
            whole.samples.extend(part.trimmed().faded().samples);
            pause_ms = pause_after_ms;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tone that begins and ends where the wave is, which without a fade is a step.
    fn tone(ms: u64, silence_ms: u64) -> Sound {
        let mut sound = Sound::new(24_000, Vec::new());
        let (lead, length) = (sound.frames(silence_ms), sound.frames(ms));
        sound.samples.resize(lead, 0.0);
        sound.samples.extend((0..length).map(|n| (n as f32 * 0.05 + 1.5).sin() * 0.5));
        sound.samples.resize(sound.samples.len() + lead, 0.0);
        sound
    }

    #[test]
    fn parts_join_without_a_click() {
        let whole = Sound::joined(24_000, [(tone(300, 0), 180), (tone(200, 0), 180)]);
        assert_eq!(whole.duration_ms(), 300 + 180 + 200);
        let step = whole.samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
        // The steepest step of the tone itself is 0.5 × 0.05.
        assert!(step < 0.03, "{step}");
        assert_eq!((whole.samples[0], *whole.samples.last().expect("sound")), (0.0, 0.0));
        // Silence at the ends is replaced by the pause, but for its margins.
        let whole = Sound::joined(24_000, [(tone(300, 500), 180), (tone(200, 500), 0)]);
        assert_eq!(whole.duration_ms(), 360 + 180 + 260);
    }

    #[test]
    fn silence_stays_silence() {
        let silence = Sound::new(24_000, vec![0.0; 2400]);
        assert_eq!(silence.clone().trimmed().faded(), silence);
        assert_eq!(Sound::joined(24_000, []).duration_ms(), 0);
    }
}
