//! Where clips and manifests are kept, as the configuration and the environment say.

use std::sync::Arc;

use polylogue_artifacts::{Folder, Keys, S3, S3Settings};
use polylogue_core::id::SessionId;
use polylogue_runtime::port::{ArtifactError, ArtifactPath, Artifacts};

use crate::{config, engine, failure::Failure};

/// The variables that Amazon's own clients read.
const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// Where the clips and manifests of sessions are among the artifacts.
const SESSIONS: &str = "tts/sessions";
/// More than what is written to see whether it can be.
const MAX_TRIED_BYTES: u64 = 1024;

/// Opens them. A bucket is not asked for anything yet.
pub(crate) fn open(config: &config::Artifacts) -> Result<Arc<dyn Artifacts>, Failure> {
    let folder = Folder::new(&config.dir);
    let Some(url) = &config.url else { return Ok(Arc::new(folder)) };
    let settings = S3Settings {
        url: url.clone(),
        endpoint: config.endpoint.clone().or_else(|| first(&ENDPOINTS)),
        region: config.region.clone().or_else(|| first(&REGIONS)),
        path_style: config.path_style,
        keys: keys(config)?,
    };
    let bucket = S3::new(&settings, folder).map_err(|error| Failure::config(error.to_string()))?;
    Ok(Arc::new(bucket))
}

fn keys(config: &config::Artifacts) -> Result<Keys, Failure> {
    let access = config.access_key_env.as_deref().unwrap_or(ACCESS_KEY);
    let secret = config.secret_key_env.as_deref().unwrap_or(SECRET_KEY);
    let found = |name: &str| {
        first(&[name]).ok_or_else(|| Failure::config(format!("[artifacts] url needs a key: set {access} and {secret}")))
    };
    // A token goes with the key of the usual name and with no other.
    let is_usual = config.access_key_env.is_none();
    let session_token = is_usual.then(|| first(&[SESSION_TOKEN])).flatten();
    Ok(Keys { access_key: found(access)?, secret_key: found(secret)?, session_token })
}

/// The first variable of these that is set.
fn first(names: &[&str]) -> Option<String> {
    let mut set = names.iter().filter_map(|name| std::env::var(name).ok());
    set.find(|value| !value.trim().is_empty()).map(|value| value.trim().to_owned())
}

/// Where a person finds the files of a session, if it has made any.
pub(crate) fn place(config: &config::Artifacts, session: SessionId, has_files: bool) -> Option<String> {
    match &config.url {
        Some(url) => has_files.then(|| format!("{}/{SESSIONS}/{session}", url.trim_end_matches('/'))),
        None => {
            let folder = config.dir.join(SESSIONS).join(session.to_string());
            folder.is_dir().then(|| folder.display().to_string())
        }
    }
}

/// Writes a file, reads it, removes it, and looks whether it is gone.
pub(crate) async fn check(artifacts: &dyn Artifacts) -> Result<(), String> {
    let mark = engine::new_seed().map_err(|failure| failure.message().to_owned())?.to_string();
    let path = ArtifactPath::parse(&format!("tts/doctor-{mark}.json")).expect("a path");
    let tried = async {
        artifacts.write(&path, mark.clone().into()).await?;
        let read = artifacts.open(&path).await?.whole(MAX_TRIED_BYTES).await?;
        artifacts.remove(std::slice::from_ref(&path)).await?;
        // A bucket that may not be listed refuses what is not there.
        match artifacts.open(&path).await {
            Err(ArtifactError::Missing) => Ok(Some(read)),
            Err(error) => Err(error),
            Ok(_) => Ok(None),
        }
    };
    match tried.await {
        Ok(Some(read)) if read == mark.as_bytes() => Ok(()),
        Ok(Some(_)) => Err("what was written is not what is read".to_owned()),
        Ok(None) => Err("what was removed is still there".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
