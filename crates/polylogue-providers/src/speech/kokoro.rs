//! Kokoro: a neural voice in this process, offline. Words become phonemes by dictionary and rule, phonemes
//! become sound in the model, sentence by sentence.
//!
//! The model and the library that runs it are files of the user's cache folder, fetched by [`pull`].

mod files;
mod phonemes;
mod reading;
mod vocabulary;

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use ort::{
    environment::Environment,
    session::{NoSelectedOutputs, RunOptions, Session, builder::GraphOptimizationLevel},
    value::Tensor,
};
use polylogue_core::text::language::Language;
use serde_json::json;

use self::phonemes::Phonemes;
use super::{
    engine::{Engine, EngineError, EngineName},
    manner::Manner,
    profiles::Profile,
    sound::Sound,
    split,
};
use crate::download::{self, DownloadError, Watch};

/// What the model makes.
const RATE: u32 = 24_000;
/// The most phonemes that the model takes at once; a voice has one row of style for each count.
const MAX_PHONEMES: usize = 509;
const STYLE: usize = 256;
/// Pieces of text are kept about so long: prosody is best over a sentence or two, and a stop is noticed between.
const PIECE_BYTES: usize = 200;

/// Fetches whatever is missing into the user's cache folder.
pub async fn pull(cache: &Path, watch: &Watch) -> Result<(), DownloadError> {
    let Some(parcels) = files::parcels() else {
        let problem = format!("there is no runtime library for {} on {}", std::env::consts::ARCH, std::env::consts::OS);
        return Err(DownloadError::NoSource { title: "the Kokoro voice".to_owned(), problems: vec![problem] });
    };
    for parcel in parcels {
        download::fetch(&parcel, &cache.join(files::FOLDER), watch).await?;
    }
    Ok(())
}

/// Whether everything is in the cache folder.
pub fn is_pulled(cache: &Path) -> bool {
    let folder = cache.join(files::FOLDER);
    files::parcels().is_some_and(|parcels| parcels.iter().all(|parcel| download::is_there(parcel, &folder)))
}

/// The names of the voices.
pub fn voices() -> impl Iterator<Item = &'static str> {
    files::VOICES.iter().map(|(voice, _)| *voice)
}

/// The engine. It is loaded when it first speaks; copies share what is loaded.
#[derive(Clone)]
pub struct Kokoro {
    folder: PathBuf,
    loaded: Arc<Mutex<Option<Arc<Loaded>>>>,
}

impl fmt::Debug for Kokoro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kokoro").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Kokoro {
    /// The engine on the files of a cache folder.
    pub fn new(cache: &Path) -> Kokoro {
        Kokoro { folder: cache.join(files::FOLDER), loaded: Arc::default() }
    }

    /// What is loaded, or an attempt at it: what is not there now may have been pulled by the next time.
    fn loaded(&self) -> Result<Arc<Loaded>, EngineError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loaded {
            return Ok(loaded.clone());
        }
        let opened = Arc::new(Loaded::open(&self.folder).map_err(EngineError::Unavailable)?);
        *loaded = Some(opened.clone());
        Ok(opened)
    }

    fn speed(profile: &Profile, manner: &Manner) -> f32 {
        (profile.kokoro.speed * manner.speed()).clamp(0.5, 2.0)
    }
}

#[async_trait]
impl Engine for Kokoro {
    fn name(&self) -> EngineName {
        EngineName::Kokoro
    }

    /// Its dictionaries are English, and so are the voices that are fetched.
    fn speaks(&self, language: Language) -> bool {
        language.is_english()
    }

    fn recipe(&self, profile: &Profile, manner: &Manner) -> serde_json::Value {
        json!({ "model": files::FOLDER, "voice": profile.kokoro.voice, "speed": Self::speed(profile, manner) })
    }

    async fn say(&self, words: &str, profile: &Profile, manner: &Manner) -> Result<Sound, EngineError> {
        let (engine, ended) = (self.clone(), |_| failed("its thread ended"));
        let loaded = tokio::task::spawn_blocking(move || engine.loaded()).await.map_err(ended)??;
        // Nothing of the runtime may be touched before its library is loaded: that would panic.
        let options = Arc::new(RunOptions::new().map_err(failed)?);
        let stop = StopOnDrop(options.clone());
        let (words, voice, speed) = (words.to_owned(), profile.kokoro.voice.clone(), Self::speed(profile, manner));
        let made = tokio::task::spawn_blocking(move || loaded.say(&words, &voice, speed, &options)).await;
        drop(stop);
        made.map_err(ended)?
    }
}

/// Ends a run of the model whose result nobody waits for any more.
struct StopOnDrop(Arc<RunOptions<NoSelectedOutputs>>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let _ = self.0.terminate();
    }
}

struct Loaded {
    folder: PathBuf,
    session: Mutex<Session>,
    voices: Mutex<BTreeMap<String, Arc<Vec<f32>>>>,
    phonemes: Phonemes,
    /// Sessions end with the environment that they were made in.
    _environment: Environment,
}

impl Loaded {
    /// Loads library and model; the error is what to do.
    fn open(folder: &Path) -> Result<Loaded, String> {
        const PULL: &str = "run `polylogue voices pull kokoro`";
        let library = files::library_in(folder).filter(|path| path.exists());
        let model = Some(folder.join(files::MODEL)).filter(|path| path.exists());
        let (Some(library), Some(model)) = (library, model) else { return Err(format!("Kokoro is not there: {PULL}")) };
        let broken = |error: &dyn fmt::Display| format!("Kokoro cannot be loaded ({error}): {PULL}");
        let environment = ort::init_from(library)
            .map_err(|error| broken(&error))?
            .with_telemetry(false)
            .build()
            .map_err(|error| broken(&error))?;
        let session = Self::session(&environment, &model).map_err(|error| broken(&error))?;
        Ok(Loaded {
            folder: folder.to_owned(),
            session: Mutex::new(session),
            voices: Mutex::default(),
            phonemes: Phonemes::default(),
            _environment: environment,
        })
    }

    fn session(environment: &Environment, model: &Path) -> ort::Result<Session> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut builder = Session::builder(environment)?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(cores.min(4))?
            // Lines differ in length: a plan of memory for each would only pile up.
            .with_memory_pattern(false)?
            // Threads that spin while they wait would take the cores from a language model beside it.
            .with_intra_op_spinning(false)?;
        builder.commit_from_file(model)
    }

    fn say(
        &self,
        words: &str,
        voice: &str,
        speed: f32,
        options: &RunOptions<NoSelectedOutputs>,
    ) -> Result<Sound, EngineError> {
        let style = self.style(voice)?;
        let mut parts = Vec::new();
        for piece in split::pieces(words, PIECE_BYTES) {
            for (tokens, pause_ms) in self.tokens(piece.text, voice.starts_with('b'), piece.pause_ms) {
                parts.push((self.run(&tokens, &style, speed, options)?, pause_ms));
            }
        }
        Ok(Sound::joined(RATE, parts))
    }

    /// The phonemes of a piece as numbers, cut again where a short text makes many of them.
    fn tokens(&self, text: &str, is_british: bool, pause_ms: u64) -> Vec<(Vec<i64>, u64)> {
        let tokens = vocabulary::tokens(&self.phonemes.of(text, is_british));
        if tokens.is_empty() {
            return Vec::new();
        }
        if tokens.len() <= MAX_PHONEMES {
            return vec![(tokens, pause_ms)];
        }
        if text.len() < 8 {
            return tokens.chunks(MAX_PHONEMES).map(|part| (part.to_vec(), 0)).collect();
        }
        let halves = split::pieces(text, text.len().div_ceil(2));
        let last = halves.len().saturating_sub(1);
        let pause = |at: usize, own: u64| if at == last { pause_ms } else { own };
        halves
            .iter()
            .enumerate()
            .flat_map(|(at, half)| self.tokens(half.text, is_british, pause(at, half.pause_ms)))
            .collect()
    }

    fn run(
        &self,
        tokens: &[i64],
        style: &[f32],
        speed: f32,
        options: &RunOptions<NoSelectedOutputs>,
    ) -> Result<Sound, EngineError> {
        // The model expects a blank before and after.
        let ids: Vec<i64> = [0].into_iter().chain(tokens.iter().copied()).chain([0]).collect();
        let row = tokens.len().min(style.len() / STYLE - 1) * STYLE;
        let ids = Tensor::from_array(([1, ids.len()], ids)).map_err(failed)?;
        let style = Tensor::from_array(([1, STYLE], style[row..row + STYLE].to_vec())).map_err(failed)?;
        let speed = Tensor::from_array(([1], vec![speed])).map_err(failed)?;
        let inputs = ort::inputs!["input_ids" => ids, "style" => style, "speed" => speed];
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run_with_options(inputs, options).map_err(failed)?;
        let (_, wave) = outputs["waveform"].try_extract_tensor::<f32>().map_err(failed)?;
        Ok(Sound::new(RATE, wave.to_vec()))
    }

    /// The style of a voice, or the mean of those joined by `+`.
    fn style(&self, voice: &str) -> Result<Arc<Vec<f32>>, EngineError> {
        let mut known = self.voices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(style) = known.get(voice) {
            return Ok(style.clone());
        }
        let names: Vec<&str> = voice.split('+').map(str::trim).collect();
        let mut mean: Vec<f32> = Vec::new();
        for name in &names {
            if !voices().any(|known| known == *name) {
                let known: Vec<&str> = voices().collect();
                let message = format!("there is no voice `{name}`: the voices are {}", known.join(", "));
                return Err(EngineError::Failed { engine: EngineName::Kokoro, message });
            }
            let style = read_style(&self.folder.join(format!("voices/{name}.bin"))).map_err(failed)?;
            mean.resize(style.len(), 0.0);
            mean.iter_mut().zip(style).for_each(|(sum, value)| *sum += value / names.len() as f32);
        }
        let mean = Arc::new(mean);
        known.insert(voice.to_owned(), mean.clone());
        Ok(mean)
    }
}

fn read_style(path: &Path) -> io::Result<Vec<f32>> {
    let bytes = fs::read(path)?;
    if bytes.len() < STYLE * 4 || bytes.len() % (STYLE * 4) != 0 {
        return Err(io::Error::other("the voice file is damaged"));
    }
    Ok(bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
}

fn failed(error: impl fmt::Display) -> EngineError {
    EngineError::Failed { engine: EngineName::Kokoro, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::profiles::Profiles;

    #[tokio::test]
    async fn what_is_not_there_or_broken_says_how_to_get_it() {
        let cache = tempfile::tempdir().expect("a folder");
        let (kokoro, profiles) = (Kokoro::new(cache.path()), Profiles::default());
        let manner = Manner::default();
        let say = || kokoro.say("Hello.", profiles.choose(None, 0), &manner);
        assert!(!is_pulled(cache.path()));
        let pull = "run `polylogue voices pull kokoro`";
        assert_eq!(say().await, Err(EngineError::Unavailable(format!("Kokoro is not there: {pull}"))));

        let folder = cache.path().join(files::FOLDER);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join(files::MODEL), b"no model").expect("written");
        fs::write(files::library_in(&folder).expect("a known platform"), b"no library").expect("written");
        match say().await {
            Err(EngineError::Unavailable(what)) => {
                assert!(what.contains("cannot be loaded") && what.contains(pull), "{what}")
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_built_in_profile_has_a_voice_that_is_pulled() {
        for profile in Profiles::default().iter() {
            assert!(voices().any(|voice| voice == profile.kokoro.voice), "{}", profile.kokoro.voice);
        }
        let [voice, library] = files::parcels().expect("a known platform");
        assert_eq!((voice.files.len(), library.files.len()), (29, 1));
        for parcel in [voice, library] {
            for source in &parcel.sources {
                let places = match source {
                    crate::download::Source::Npm { members, .. } | crate::download::Source::PyPi { members, .. } => {
                        members
                    }
                    crate::download::Source::Web { addresses } => addresses,
                    other => panic!("a voice has several files, and {other:?} has one"),
                };
                assert_eq!(places.len(), parcel.files.len(), "one place for each file");
            }
        }
    }
}
