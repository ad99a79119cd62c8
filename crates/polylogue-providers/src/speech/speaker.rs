//! The one who speaks: picks voice and engine for a line, and leaves a clip among the artifacts.
//!
//! Every engine has a bounded number of places. Who wants one queues in order of asking, which is the order in
//! which a session needs its clips; leaving the queue is dropping the future.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    line::{Clip, SpeechBill},
    money::Money,
    text::{language, spoken::spoken},
};
use polylogue_runtime::port::{ArtifactError, ArtifactPath, Artifacts, Budget, Speech, Voice, VoiceError};
use tokio::sync::Semaphore;

use super::{
    cache::{Cache, Key},
    engine::{Engine, EngineError, EngineName},
    file_name::safe_name,
    loudness::{evened, loudness_lufs},
    manner::Manner,
    profiles::{Profile, Profiles},
    sound::Sound,
    wav::WavError,
};
use crate::Prices;

/// Speaks with the first of its engines that can be used.
#[derive(Clone)]
pub struct Speaker {
    artifacts: Arc<dyn Artifacts>,
    profiles: Arc<Profiles>,
    engines: Arc<[Seated]>,
    cache: Arc<Cache>,
    prices: Arc<Prices>,
    herald: Arc<Herald>,
}

/// Tells a person what they would wonder about when they hear it, each thing once.
struct Herald {
    told: Mutex<BTreeSet<String>>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Herald {
    fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Herald {
        Herald { told: Mutex::default(), tell: Box::new(tell) }
    }

    fn once(&self, what: String) {
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(what.clone());
        if is_new {
            (self.tell)(&what);
        }
    }
}

/// An engine and its places.
struct Seated {
    engine: Arc<dyn Engine>,
    places: Semaphore,
}

/// A clip in the cache, before it has a place in a session.
struct Made {
    path: PathBuf,
    sound: Sound,
    engine: EngineName,
    billed: Option<SpeechBill>,
}

/// Why a line was not made a clip by one engine.
enum NotMade {
    Engine(EngineError),
    OverBudget,
}

impl From<EngineError> for NotMade {
    fn from(error: EngineError) -> NotMade {
        NotMade::Engine(error)
    }
}

impl std::fmt::Debug for Speaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let engines: Vec<EngineName> = self.engines.iter().map(|seated| seated.engine.name()).collect();
        f.debug_struct("Speaker").field("engines", &engines).finish_non_exhaustive()
    }
}

impl Speaker {
    /// Clips go below `tts/` of the artifacts, and what was spoken before is found in `tts/cache` of a folder of this
    /// machine. Engines are tried in their order; the next one is for when one is not there, not for when one fails.
    pub fn new(
        artifacts: Arc<dyn Artifacts>,
        folder: &Path,
        profiles: Profiles,
        engines: Vec<Arc<dyn Engine>>,
    ) -> Speaker {
        let seat = |engine: Arc<dyn Engine>| Seated { places: Semaphore::new(engine.name().places()), engine };
        Speaker {
            cache: Arc::new(Cache::new(folder.join("tts/cache"))),
            artifacts,
            profiles: Arc::new(profiles),
            engines: engines.into_iter().map(seat).collect(),
            prices: Arc::default(),
            herald: Arc::new(Herald::new(|what| tracing::info!("{what}"))),
        }
    }

    /// The same, where clips cost this.
    #[must_use]
    pub fn with_prices(self, prices: Prices) -> Speaker {
        Speaker { prices: Arc::new(prices), ..self }
    }

    /// The same, where a person is told by this of an engine that is passed over. Each is told once.
    #[must_use]
    pub fn telling(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Speaker {
        Speaker { herald: Arc::new(Herald::new(tell)), ..self }
    }

    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Speaks words outside any session and leaves the clip where the caller wants it.
    pub async fn say(&self, text: &str, profile: &Profile, tone: Option<&str>, out: &Path) -> Result<Clip, VoiceError> {
        let manner = Manner::of_tone(tone).in_language(language::of_line(None, text, []));
        let made = self.make(text, profile, &manner, &Budget::default()).await?;
        let (from, to) = (made.path.clone(), out.to_owned());
        let copied = join(move || copy(&from, &to)).await.and_then(|done| done.map_err(|e| e.kind().to_string()));
        copied.map_err(not_written)?;
        Ok(self.clip(made, profile, out.to_string_lossy().into_owned()))
    }

    async fn make(&self, text: &str, profile: &Profile, manner: &Manner, budget: &Budget) -> Result<Made, VoiceError> {
        let words = spoken(text);
        if words.is_empty() {
            return Err(VoiceError::Failed("there is nothing to say in it".to_owned()));
        }
        let language = manner.language;
        let (mut absent, mut passed) = (Vec::new(), None);
        for seated in self.engines.iter() {
            let engine = seated.engine.name();
            if !seated.engine.speaks(language) {
                passed = passed.or(Some(engine));
                continue;
            }
            match self.make_with(seated, &words, profile, manner, budget).await {
                Ok(made) => {
                    if let Some(passed) = passed {
                        let (able, unable, language) = (engine.title(), passed.title(), language.name());
                        self.herald
                            .once(format!("{unable} does not speak {language}: {able} does, and speaks those lines."));
                    }
                    return Ok(made);
                }
                Err(NotMade::OverBudget) => return Err(VoiceError::OverBudget),
                Err(NotMade::Engine(EngineError::Unavailable(why))) => absent.push(why),
                Err(NotMade::Engine(error)) => return Err(VoiceError::Failed(error.to_string())),
            }
        }
        if absent.is_empty() && passed.is_some() {
            let (language, espeak) = (language.name(), "espeak-ng");
            absent.push(format!("none of them speaks {language}: install {espeak}, or use a vendor's voices"));
        } else if absent.is_empty() {
            absent.push("run `polylogue voices pull kokoro`, or install espeak-ng".to_owned());
        }
        Err(VoiceError::Unavailable(absent.join("; ")))
    }

    async fn make_with(
        &self,
        seated: &Seated,
        words: &str,
        profile: &Profile,
        manner: &Manner,
        budget: &Budget,
    ) -> Result<Made, NotMade> {
        let engine = seated.engine.name();
        let key = Key::new(engine, &seated.engine.recipe(profile, manner), words);
        let failed = |message: String| EngineError::Failed { engine, message };
        let (cache, wanted) = (self.cache.clone(), key.clone());
        if let Some((path, sound)) = join(move || cache.get(&wanted)).await.map_err(failed)? {
            return Ok(Made { path, sound, engine, billed: None });
        }
        let billed = seated.engine.billing(profile).map(|billing| {
            let characters = words.chars().count() as u64;
            SpeechBill { characters, cost: self.prices.of_speech(&billing, characters) }
        });
        // What costs nothing needs no budget, and what nobody knows the price of cannot be held to one.
        let cost = billed.and_then(|bill| bill.cost).unwrap_or_default();
        if cost > Money::ZERO && !budget.allows(cost) {
            return Err(NotMade::OverBudget);
        }
        let place = seated.places.acquire().await.map_err(|error| failed(error.to_string()))?;
        let sound = seated.engine.say(words, profile, manner).await?;
        drop(place);
        if sound.duration_ms() < 20 {
            return Err(EngineError::NoSpeech { engine, message: "it is too short".to_owned() }.into());
        }
        let cache = self.cache.clone();
        let kept = join(move || {
            let sound = evened(sound);
            cache.put(&key, &sound).map(|path| Made { path, sound, engine, billed })
        });
        Ok(kept.await.map_err(failed)?.map_err(|error: WavError| failed(error.to_string()))?)
    }

    fn clip(&self, made: Made, profile: &Profile, path: String) -> Clip {
        let lufs = loudness_lufs(&made.sound).map(|lufs| ((lufs * 10.0).round() / 10.0) as f32);
        Clip {
            path,
            duration_ms: made.sound.duration_ms(),
            loudness_lufs: lufs,
            voice: Some(profile.name.clone()),
            engine: Some(made.engine.as_str().into()),
            billed: made.billed,
        }
    }

    /// Where a line's clip goes among the artifacts: the parts of its path, each safe, the name without its
    /// ending.
    fn place(speech: &Speech, profile: &Profile) -> Vec<String> {
        let mut parts = vec!["tts".to_owned(), "sessions".to_owned(), safe_name(&speech.session.to_string())];
        if speech.place.is_empty() {
            parts.push(safe_name(&format!("{}_{}_{}", speech.mark, speech.by, profile.name)));
        } else {
            parts.extend(speech.place.iter().map(|part| safe_name(part)));
        }
        parts
    }
}

#[async_trait]
impl Voice for Speaker {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let profile = self.profiles.choose(speech.profile.as_deref(), speech.seat);
        let manner = Manner::of_tone(speech.tone.as_deref()).in_language(speech.language);
        let made = self.make(&speech.text, profile, &manner, &speech.budget).await?;
        let place = Self::place(speech, profile).join("/");
        let path = settle(&*self.artifacts, &made.path, &place, &speech.mark).await;
        let path = path.map_err(|error| not_written(error.to_string()))?;
        Ok(self.clip(made, profile, path))
    }
}

/// Gives a clip its place and answers with its path. A place that another clip has is never written over:
/// then the line's mark joins the name.
async fn settle(artifacts: &dyn Artifacts, from: &Path, place: &str, mark: &str) -> Result<String, ArtifactError> {
    let named =
        |path: String| ArtifactPath::parse(&path).ok_or_else(|| ArtifactError::Failed(format!("{path}: no path")));
    let path = named(format!("{place}.wav"))?;
    if artifacts.keep(from, &path).await? {
        return Ok(path.to_string());
    }
    let path = named(format!("{place}_{mark}.wav"))?;
    if !artifacts.keep(from, &path).await? {
        // Only this line has that name: it is an earlier try at the same clip.
        let content = tokio::fs::read(from).await.map_err(|error| ArtifactError::Failed(error.kind().to_string()))?;
        artifacts.write(&path, content.into()).await?;
    }
    Ok(path.to_string())
}

fn not_written(why: String) -> VoiceError {
    VoiceError::Failed(format!("the clip could not be written: {why}"))
}

/// Copies to a temporary name and renames.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut fs::File::open(from)?, &mut file)?;
    super::wav::readable(file.as_file())?;
    file.persist(to)?;
    Ok(())
}

async fn join<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|_| "its thread ended".to_owned())
}

#[cfg(test)]
mod tests;
