//! The embedded model, `local/smollm2`: a small language model in this process, offline, without a key.
//!
//! The model is a file of the user's cache folder, fetched by [`pull`]; other GGUF files can be named in the
//! configuration. It is loaded when it is first asked, and one thread for each file owns it from then on.
//! Nothing here downloads by itself. A build without the feature `local` has everything but the thinking.

#[cfg(feature = "local")]
mod engine;
mod files;
#[cfg(feature = "local")]
mod grammar;
#[cfg(feature = "local")]
mod kept;
#[cfg(feature = "local")]
mod prompt;
#[cfg(feature = "local")]
mod text;
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

use crate::download::{self, DownloadError, Watch};

/// The model that is there without any configuration, by its name after `local/`.
pub const SMOLLM2: &str = "smollm2";

const PULL: &str = "run `polylogue models pull`";

/// What the configuration says about the embedded model: `[local]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalSettings {
    /// GGUF files of one's own, by the name after `local/`.
    pub models: BTreeMap<String, PathBuf>,
    /// Threads that compute. One core less than there are unless somebody says otherwise: threads that wait for
    /// each other on a busy machine are slower than fewer of them.
    pub threads: Option<NonZeroUsize>,
    /// Tokens that a request and its reply may have together.
    pub context: Option<u32>,
}

/// Fetches the model file into the user's cache folder, unless it is there.
pub async fn pull(cache: &Path, watch: &Watch) -> Result<(), DownloadError> {
    download::fetch(&files::parcel(), &cache.join(files::FOLDER), watch).await
}

/// Whether the model file is in the cache folder.
pub fn is_pulled(cache: &Path) -> bool {
    download::is_there(&files::parcel(), &cache.join(files::FOLDER))
}

/// The provider `local`.
pub struct Local {
    models: BTreeMap<String, PathBuf>,
    #[cfg(feature = "local")]
    workers: worker::Workers,
}

impl Local {
    /// On the files of a cache folder and those that the settings name.
    pub fn new(settings: &LocalSettings, cache: &Path) -> Local {
        let built_in = (SMOLLM2.to_owned(), cache.join(files::FOLDER).join(files::MODEL));
        let own = settings.models.iter().map(|(name, path)| (name.clone(), path.clone()));
        Local {
            models: std::iter::once(built_in).chain(own).collect(),
            #[cfg(feature = "local")]
            workers: worker::Workers::new(settings),
        }
    }

    /// The names after `local/`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
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
        match path.is_file() {
            true => Ok(path),
            false if model == SMOLLM2 => Err(format!("the embedded model is not there: {PULL}")),
            false => Err(format!("the file of the embedded model `{model}` is not there: see [local.models]")),
        }
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("models", &self.models).finish_non_exhaustive()
    }
}

/// The model that is there without any configuration.
pub fn smollm2() -> ModelRef {
    ModelRef { provider: "local".into(), model: SMOLLM2.into() }
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
