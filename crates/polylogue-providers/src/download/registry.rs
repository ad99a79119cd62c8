//! Package registries, through the clients that people have set up for them.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::DownloadError;

/// A client that has not finished by then is given up.
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Which Python the wheel is chosen for. The library inside does not depend on it; naming one makes the same
/// wheel come on every machine.
const PYTHON: &str = "3.11";

/// Downloads a package of the npm registry as it was published.
pub(super) async fn npm_pack(spec: &str, into: &Path) -> Result<PathBuf, DownloadError> {
    let mut command = Command::new("npm");
    command.args(["pack", "--silent", "--pack-destination"]).arg(into).arg(spec);
    run("npm", spec, &mut command).await?;
    only_file(into, "tgz", "npm", spec)
}

/// Downloads a wheel for a platform, whichever platform this is.
pub(super) async fn pip_download(spec: &str, platform: &str, into: &Path) -> Result<PathBuf, DownloadError> {
    let ways: [(&str, &[&str]); 3] = [("pip", &[]), ("pip3", &[]), ("python3", &["-m", "pip"])];
    let mut outcome = Err(DownloadError::NoClient { program: "pip" });
    for (program, before) in ways {
        let mut command = Command::new(program);
        command.args(before).args(["download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        command.args(["--only-binary=:all:", "--python-version", PYTHON, "--platform", platform]);
        command.arg("--dest").arg(into).arg(spec);
        match run("pip", spec, &mut command).await {
            Ok(()) => return only_file(into, "whl", "pip", spec),
            // The next way may be there, or may be a pip that works.
            Err(error) if matches!(outcome, Err(DownloadError::NoClient { .. })) => outcome = Err(error),
            Err(_) => {}
        }
    }
    outcome
}

async fn run(program: &'static str, what: &str, command: &mut Command) -> Result<(), DownloadError> {
    let failed = |problem: String| DownloadError::Client { program, what: what.to_owned(), problem };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(DownloadError::NoClient { program }),
        Err(error) => return Err(failed(error.to_string())),
    };
    match timeout(TIME_LIMIT, child.wait_with_output()).await {
        Err(_) => Err(failed(format!("it took longer than {} min", TIME_LIMIT.as_secs() / 60))),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => Err(failed(last_words(&output.stderr))),
    }
}

/// The first line in which a program says what is wrong, short enough to be shown.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.to_lowercase().contains("error")).or_else(|| lines().next());
    line.map_or_else(|| "it did not say why".to_owned(), |line| line.chars().take(200).collect())
}

fn only_file(folder: &Path, ending: &str, program: &'static str, what: &str) -> Result<PathBuf, DownloadError> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new(ending)) {
            return Ok(path);
        }
    }
    Err(DownloadError::Client { program, what: what.to_owned(), problem: "it left no file".to_owned() })
}
