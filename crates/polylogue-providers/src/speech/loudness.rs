//! How loud a clip is, and making all clips about as loud as each other without clipping any.

use ebur128::{EbuR128, Mode};

use super::sound::Sound;

/// How loud every clip is made, as far as its peaks allow.
pub const TARGET_LUFS: f64 = -20.0;
/// No sample goes beyond this: about 1 dB below full scale.
const CEILING: f32 = 0.89;
/// Sound below this is not raised: it would only be noise.
const FLOOR_LUFS: f64 = -60.0;

/// The loudness of a sound in LUFS; `None` for silence.
pub(super) fn loudness_lufs(sound: &Sound) -> Option<f64> {
    let mut meter = EbuR128::new(1, sound.rate, Mode::I).ok()?;
    meter.add_frames_f32(&sound.samples).ok()?;
    // The measure looks at blocks of 400 ms; a shorter sound is measured as if it were repeated.
    let block = sound.frames(400) + 1;
    if sound.samples.len() < block && !sound.samples.is_empty() {
        for _ in 0..=block / sound.samples.len() {
            meter.add_frames_f32(&sound.samples).ok()?;
        }
    }
    meter.loudness_global().ok().filter(|lufs| lufs.is_finite() && *lufs > FLOOR_LUFS)
}

/// Brings a sound to the common loudness. Peaks that would clip are bent, not cut.
pub(super) fn evened(mut sound: Sound) -> Sound {
    let Some(lufs) = loudness_lufs(&sound) else { return sound };
    let gain = 10f64.powf((TARGET_LUFS - lufs) / 20.0) as f32;
    let is_bent = sound.peak() * gain > CEILING;
    for sample in &mut sound.samples {
        *sample = if is_bent { bend(*sample * gain) } else { *sample * gain };
    }
    sound
}

/// Leaves the lower three quarters as they are and presses what is above below the ceiling.
pub(super) fn bend(sample: f32) -> f32 {
    const KNEE: f32 = 0.75 * CEILING;
    let size = sample.abs();
    if size <= KNEE {
        return sample;
    }
    let room = CEILING - KNEE;
    (KNEE + room * ((size - KNEE) / room).tanh()).copysign(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(amplitude: f32, seconds: f32, peak: f32) -> Sound {
        let count = (24_000.0 * seconds) as usize;
        let mut samples: Vec<f32> = (0..count).map(|n| (n as f32 * 0.2).sin() * amplitude).collect();
        if let Some(sample) = samples.get_mut(count / 2) {
            *sample = peak.max(*sample);
        }
        Sound::new(24_000, samples)
    }

    #[test]
    fn clips_end_up_equally_loud_and_unclipped() {
        let cases =
            [tone(0.5, 1.0, 0.0), tone(0.01, 2.0, 0.0), tone(0.05, 1.0, 1.0), tone(0.2, 0.2, 0.0), tone(1.0, 0.1, 0.0)];
        for sound in cases {
            let even = evened(sound);
            let lufs = loudness_lufs(&even).expect("sound");
            assert!((lufs - TARGET_LUFS).abs() < 0.5, "{lufs}");
            assert!(even.peak() <= CEILING, "{}", even.peak());
        }
    }

    #[test]
    fn silence_and_noise_are_left_alone() {
        for sound in [tone(0.0, 1.0, 0.0), tone(0.0003, 1.0, 0.0), Sound::new(24_000, vec![])] {
            assert_eq!(loudness_lufs(&sound), None);
            assert_eq!(evened(sound.clone()), sound);
        }
    }
}
