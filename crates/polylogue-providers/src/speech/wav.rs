//! Clips on disk: 16-bit PCM WAV, whole or not there. And WAV as it comes from elsewhere.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use tempfile::NamedTempFile;

use super::sound::Sound;

#[derive(Debug, thiserror::Error)]
pub enum WavError {
    #[error("the file could not be written or read: {0}")]
    Io(#[from] io::Error),
    #[error("it is no WAV that can be read: {0}")]
    Format(String),
}

impl From<hound::Error> for WavError {
    fn from(error: hound::Error) -> Self {
        match error {
            hound::Error::IoError(error) => WavError::Io(error),
            other => WavError::Format(other.to_string()),
        }
    }
}

/// Writes a clip beside its place and renames it.
pub fn write(sound: &Sound, path: &Path) -> Result<(), WavError> {
    write_beside(sound, path)?.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The clip under a temporary name in the folder of its place.
pub(super) fn write_beside(sound: &Sound, path: &Path) -> Result<NamedTempFile, WavError> {
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    fs::create_dir_all(&folder)?;
    let file = tempfile::Builder::new().prefix(".clip-").suffix(".part").tempfile_in(folder)?;
    let spec = WavSpec { channels: 1, sample_rate: sound.rate, bits_per_sample: 16, sample_format: SampleFormat::Int };
    let mut out = WavWriter::new(io::BufWriter::new(file.as_file()), spec)?;
    for sample in &sound.samples {
        out.write_sample(to_i16(*sample))?;
    }
    out.finalize()?;
    readable(file.as_file())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Temporary files are for their owner alone; clips are served and shared.
pub(super) fn readable(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    Ok(())
}

pub(super) fn to_i16(sample: f32) -> i16 {
    (sample.clamp(-1.0, 1.0) * 32767.0).round() as i16
}

/// Reads a WAV of any common kind as one channel.
pub fn read(path: &Path) -> Result<Sound, WavError> {
    let reader = WavReader::open(path)?;
    let spec = reader.spec();
    let samples: Result<Vec<f32>, hound::Error> = match spec.sample_format {
        SampleFormat::Float => reader.into_samples::<f32>().collect(),
        SampleFormat::Int => {
            let scale = 1.0 / (1u64 << (spec.bits_per_sample - 1)) as f32;
            reader.into_samples::<i32>().map(|sample| sample.map(|sample| sample as f32 * scale)).collect()
        }
    };
    let channels = usize::from(spec.channels.max(1));
    let samples = samples?.chunks(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32).collect();
    Ok(Sound::new(spec.sample_rate, samples))
}

/// Reads a 16-bit WAV that may have been streamed: such a header does not know the length of what follows.
/// A length that it does know must be there.
pub(super) fn parse(bytes: &[u8]) -> Result<Sound, WavError> {
    let bad = |what: &str| WavError::Format(what.to_owned());
    if bytes.len() < 12 || &bytes[..4] != b"RIFF" || &bytes[8..12] != b"WAVE" {
        return Err(bad("it does not begin like one"));
    }
    let u16_at = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let u32_at = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let (mut at, mut format) = (12, None);
    loop {
        let (Some(name), Some(length)) = (bytes.get(at..at + 4), u32_at(at + 4)) else {
            return Err(bad("it has no sound in it"));
        };
        let body = at + 8;
        match name {
            b"fmt " => {
                let (Some(kind), Some(channels), Some(rate), Some(bits)) =
                    (u16_at(body), u16_at(body + 2), u32_at(body + 4), u16_at(body + 14))
                else {
                    return Err(bad("its header is cut off"));
                };
                if !matches!(kind, 1 | 0xfffe) || bits != 16 || channels == 0 || rate == 0 {
                    return Err(bad("it is not 16-bit PCM"));
                }
                format = Some((rate, usize::from(channels)));
            }
            b"data" => {
                let (rate, channels) = format.ok_or_else(|| bad("its header is missing"))?;
                let there = &bytes[body..];
                let is_streamed = length == 0 || length >= 0x7fff_f000;
                if !is_streamed && there.len() < length as usize {
                    return Err(bad("it is cut off"));
                }
                let data = if is_streamed { there } else { &there[..length as usize] };
                let all = Sound::from_s16le(rate, data).samples;
                let mono = all.chunks(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32).collect();
                return Ok(Sound::new(rate, mono));
            }
            _ => {}
        }
        at = body + length as usize + (length as usize & 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er/clip.wav");
        let sound = Sound::new(22_050, (0..22_050).map(|n| (n as f32 * 0.1).sin() * 1.2).collect());
        write(&sound, &path).expect("written");
        let bytes = fs::read(&path).expect("a file");
        assert_eq!(bytes.len(), 44 + 2 * 22_050);
        for read in [read(&path).expect("read"), parse(&bytes).expect("parsed")] {
            assert_eq!((read.rate, read.duration_ms()), (22_050, 1000));
            assert!(read.samples.iter().zip(&sound.samples).all(|(a, b)| (a - b.clamp(-1.0, 1.0)).abs() < 1e-3));
        }
        let left: Vec<_> = fs::read_dir(path.parent().expect("a folder")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "no temporary file is left");
    }

    #[test]
    fn what_is_no_clip_is_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("clip.wav");
        write(&Sound::new(24_000, vec![0.5; 480]), &path).expect("written");
        let whole = fs::read(&path).expect("a file");
        let streamed = {
            let mut bytes = whole.clone();
            bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
            bytes
        };
        let cases: [(&[u8], Result<usize, &str>); 6] = [
            (&whole, Ok(480)),
            (&streamed, Ok(480)),
            (&whole[..500], Err("cut off")),
            (&whole[..20], Err("cut off")),
            (b"<html>no</html>", Err("begin")),
            (b"", Err("begin")),
        ];
        for (bytes, expected) in cases {
            match (parse(bytes), expected) {
                (Ok(sound), Ok(length)) => assert_eq!(sound.samples.len(), length),
                (Err(error), Err(says)) => assert!(error.to_string().contains(says), "{error}"),
                (got, expected) => panic!("{got:?} for {expected:?}"),
            }
        }
    }
}
