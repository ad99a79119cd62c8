//! The whole conversation as one file: every clip at its time on the timeline, each speaker at a place between
//! left and right, in one rate.
//!
//! Clips are read one at a time and written as soon as nothing more can be heard over them, so a long session
//! takes no more memory than its longest lines.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    process::Stdio,
    str::FromStr,
    sync::Arc,
};

use hound::{SampleFormat, WavSpec, WavWriter};
use polylogue_core::{
    id::Seq,
    projection::{FADE_MS, Placed},
};
use polylogue_runtime::port::{ArtifactError, ArtifactPath, Artifacts};
use rubato::{Fft, FixedSync, Resampler, audioadapter_buffers::direct::InterleavedSlice};
use tokio::{process::Command, runtime::Handle};

use super::{
    loudness::bend,
    sound::Sound,
    wav::{self, WavError},
};

/// What the mix is made in. The engines speak at this rate or just below.
const RATE: u32 = 24_000;
/// How far from the middle speakers are put; 1 would be all the way.
const WIDTH: f32 = 0.35;
/// Of a line in plain speech. It leaves room for two voices at once, and for one that shouts.
const GAIN: f32 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AudioFormat {
    Wav,
    Mp3,
    Opus,
}

impl FromStr for AudioFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "wav" => Ok(AudioFormat::Wav),
            "mp3" => Ok(AudioFormat::Mp3),
            "opus" => Ok(AudioFormat::Opus),
            other => Err(format!("there is no audio format `{other}`: choose wav, mp3 or opus")),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum MixError {
    #[error("there is nothing to hear: no line of the session has a clip")]
    Nothing,
    #[error(transparent)]
    Wav(#[from] WavError),
    /// A clip may be there and cannot be had, so that the mix would have holes in it.
    #[error("the clips cannot be fetched: {0}")]
    Clips(ArtifactError),
    #[error("ffmpeg is not installed: install it, or export as wav")]
    NoEncoder,
    #[error("ffmpeg could not encode the file: {0}")]
    Encoder(String),
}

impl From<io::Error> for MixError {
    fn from(error: io::Error) -> Self {
        MixError::Wav(error.into())
    }
}

/// What was mixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixed {
    pub duration_ms: u64,
    /// Lines whose clips are gone: there is silence in their place.
    pub missing: Vec<Seq>,
}

/// Mixes the clips of a timeline into one file, written to a temporary name and renamed.
pub async fn mix(
    timeline: Vec<Placed>,
    artifacts: Arc<dyn Artifacts>,
    out: PathBuf,
    format: AudioFormat,
) -> Result<Mixed, MixError> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    std::fs::create_dir_all(&folder)?;
    let file = tempfile::Builder::new().prefix(".mix-").suffix(".wav").tempfile_in(&folder)?;
    let runtime = Handle::current();
    let (mixed, file) = tokio::task::spawn_blocking(move || {
        let fetch = |path: &str| runtime.block_on(fetch(&*artifacts, path));
        let mixed = write(&timeline, fetch, file.as_file())?;
        wav::readable(file.as_file())?;
        Ok::<_, MixError>((mixed, file))
    })
    .await
    .map_err(io::Error::other)??;
    let finished = match format {
        AudioFormat::Wav => file.into_temp_path(),
        AudioFormat::Mp3 => encode(file.path(), &folder, ".mp3", &["-c:a", "libmp3lame", "-q:a", "4"]).await?,
        AudioFormat::Opus => encode(file.path(), &folder, ".opus", &["-c:a", "libopus", "-b:a", "48k"]).await?,
    };
    finished.persist(&out).map_err(|error| error.error)?;
    Ok(mixed)
}

/// The clip's file on this machine.
async fn fetch(artifacts: &dyn Artifacts, path: &str) -> Result<PathBuf, ArtifactError> {
    artifacts.local(&ArtifactPath::parse(path).ok_or(ArtifactError::Missing)?).await
}

fn write(
    timeline: &[Placed],
    fetch: impl Fn(&str) -> Result<PathBuf, ArtifactError>,
    file: &File,
) -> Result<Mixed, MixError> {
    if timeline.is_empty() {
        return Err(MixError::Nothing);
    }
    let spec = WavSpec { channels: 2, sample_rate: RATE, bits_per_sample: 16, sample_format: SampleFormat::Int };
    let mut out = WavWriter::new(BufWriter::new(file), spec).map_err(WavError::from)?;
    let places = places(timeline);
    let mut missing = Vec::new();
    // What may still be added to, from the frame that comes next in the file.
    let (mut open, mut next): (Vec<[f32; 2]>, u64) = (Vec::new(), 0);
    for placed in timeline {
        let start = frame(placed.start_ms);
        // Nothing later begins before this line, so everything before it is done.
        let done = ((start.saturating_sub(next)) as usize).min(open.len());
        flush(&mut out, open.drain(..done))?;
        next += done as u64;
        if open.is_empty() {
            flush(&mut out, (next..start).map(|_| [0.0; 2]))?;
            next = next.max(start);
        }
        let length = frame(placed.end_ms) - start;
        let found = match fetch(&placed.path) {
            Ok(file) => wav::read(&file).and_then(resampled),
            Err(ArtifactError::Missing) => Err(io::Error::from(io::ErrorKind::NotFound).into()),
            Err(error) => return Err(MixError::Clips(error)),
        };
        let clip = found.unwrap_or_else(|error| {
            tracing::warn!(record = %placed.seq, %error, "a clip is missing from the mix");
            missing.push(placed.seq);
            Sound::new(RATE, Vec::new())
        });
        let fade = if placed.is_cut { frame(FADE_MS).min(length) } else { 0 };
        let place = if placed.is_narrator { 0.0 } else { place_of(&places, &placed.name) };
        let [left, right] = gains(place).map(|gain| gain * 10f32.powf(placed.level_db / 20.0));
        let offset = (start - next) as usize;
        open.resize(open.len().max(offset + length as usize), [0.0; 2]);
        for (at, sample) in clip.samples.iter().take(length as usize).enumerate() {
            let until_end = length - at as u64;
            let sample = if until_end < fade { sample * until_end as f32 / fade as f32 } else { *sample };
            open[offset + at][0] += sample * left;
            open[offset + at][1] += sample * right;
        }
    }
    next += open.len() as u64;
    flush(&mut out, open.into_iter())?;
    out.finalize().map_err(WavError::from)?;
    file.sync_all()?;
    Ok(Mixed { duration_ms: next * 1000 / u64::from(RATE), missing })
}

type Out<'a> = WavWriter<BufWriter<&'a File>>;

fn flush(out: &mut Out<'_>, frames: impl Iterator<Item = [f32; 2]>) -> Result<(), MixError> {
    for sample in frames.flatten() {
        out.write_sample(wav::to_i16(bend(sample))).map_err(WavError::from)?;
    }
    Ok(())
}

fn frame(ms: u64) -> u64 {
    ms * u64::from(RATE) / 1000
}

/// A clip in the rate of the mix.
fn resampled(sound: Sound) -> Result<Sound, WavError> {
    if sound.rate == RATE || sound.samples.is_empty() {
        return Ok(sound);
    }
    let bad = |error: &dyn std::fmt::Display| WavError::Format(error.to_string());
    let length = sound.samples.len();
    let mut resampler =
        Fft::<f32>::new(sound.rate as usize, RATE as usize, 1024, 1, FixedSync::Both).map_err(|e| bad(&e))?;
    let input = InterleavedSlice::new(&sound.samples, 1, length).map_err(|e| bad(&e))?;
    let output = resampler.process_all(&input, length, None).map_err(|e| bad(&e))?;
    Ok(Sound::new(RATE, output.take_data()))
}

/// The speakers in order of their first words.
fn places(timeline: &[Placed]) -> Vec<&str> {
    let mut speakers: Vec<&str> = Vec::new();
    for placed in timeline.iter().filter(|placed| !placed.is_narrator) {
        if !speakers.contains(&&*placed.name) {
            speakers.push(&placed.name);
        }
    }
    speakers
}

/// Between -1 (left) and 1 (right). Who speaks alone is in the middle; those who follow each other stand apart.
fn place_of(speakers: &[&str], speaker: &str) -> f32 {
    let (count, at) = (speakers.len(), speakers.iter().position(|known| *known == speaker).unwrap_or(0));
    if count < 2 {
        return 0.0;
    }
    // 0, last, 1, last but one …
    let seat = if at % 2 == 0 { at / 2 } else { count - 1 - at / 2 };
    WIDTH * (2.0 * seat as f32 / (count - 1) as f32 - 1.0)
}

/// Left and right, equally loud together wherever the place is.
fn gains(place: f32) -> [f32; 2] {
    let angle = (place + 1.0) * std::f32::consts::FRAC_PI_4;
    [angle.cos(), angle.sin()].map(|gain| gain * std::f32::consts::SQRT_2 * GAIN)
}

async fn encode(wav: &Path, folder: &Path, ending: &str, codec: &[&str]) -> Result<tempfile::TempPath, MixError> {
    let encoded = tempfile::Builder::new().prefix(".mix-").suffix(ending).tempfile_in(folder)?.into_temp_path();
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-loglevel", "error", "-y", "-i"]).arg(wav).args(codec).arg(&encoded);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = command.output().await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => MixError::NoEncoder,
        _ => error.into(),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let codec = said.lines().find(|line| line.contains("ncoder")).or_else(|| said.lines().last());
        return Err(MixError::Encoder(codec.unwrap_or("it did not say why").chars().take(200).collect()));
    }
    wav::readable(&File::options().write(true).open(&encoded)?)?;
    Ok(encoded)
}

#[cfg(test)]
mod tests;
