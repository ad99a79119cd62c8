//! One file by its address. What has arrived is kept beside its place, and a later fetch asks for the rest.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    time::Duration,
};

use reqwest::{StatusCode, header, redirect::Policy};

use super::{DownloadError, Progress, Wanted, Watch, sha256};

/// A connection that brings nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(30);

pub(super) async fn fetch(address: &str, file: &Wanted, folder: &Path, watch: &Watch) -> Result<(), DownloadError> {
    let failed = |problem: String| DownloadError::Web { what: file.name.clone(), problem };
    let network = |error: reqwest::Error| failed(error.without_url().to_string());
    let path = folder.join(&file.name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let part = folder.join(format!("{}.part", file.name));
    let mut done = fs::metadata(&part).map_or(0, |meta| meta.len());
    if done > file.bytes {
        fs::remove_file(&part)?;
        done = 0;
    }

    if done < file.bytes {
        let client = crate::tls::client().connect_timeout(SILENCE).read_timeout(SILENCE).build().map_err(network)?;
        let mut request = client.get(address);
        if done > 0 {
            request = request.header(header::RANGE, format!("bytes={done}-"));
        }
        let mut response = request.send().await.map_err(network)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if done > 0 => {}
            // The server starts again from the beginning, and so do we.
            StatusCode::OK => done = 0,
            status => return Err(failed(format!("the server answered {status}"))),
        }
        let mut out = OpenOptions::new().create(true).write(true).truncate(done == 0).append(done > 0).open(&part)?;
        while let Some(bytes) = response.chunk().await.map_err(network)? {
            done += bytes.len() as u64;
            if done > file.bytes {
                drop(out);
                fs::remove_file(&part)?;
                return Err(failed("it is larger than it should be".to_owned()));
            }
            out.write_all(&bytes)?;
            watch(Progress { what: file.name.clone(), done_bytes: done, total_bytes: Some(file.bytes) });
        }
        out.sync_all()?;
        if done < file.bytes {
            return Err(failed("the connection ended early: fetch again to go on from there".to_owned()));
        }
    }

    let checked = part.clone();
    let found = tokio::task::spawn_blocking(move || sha256(&checked)).await.map_err(std::io::Error::other)??;
    if found != file.sha256 {
        fs::remove_file(&part)?;
        return Err(DownloadError::WrongContent { what: file.name.clone(), found });
    }
    fs::rename(&part, &path)?;
    Ok(())
}

/// What a server says of a large file that it only points to: its SHA-256 and its size.
pub(super) async fn linked(address: &str, what: &str) -> Result<(String, u64), DownloadError> {
    let failed = |problem: String| DownloadError::Web { what: what.to_owned(), problem };
    let network = |error: reqwest::Error| failed(error.without_url().to_string());
    let client = crate::tls::client().redirect(Policy::none()).connect_timeout(SILENCE).timeout(SILENCE);
    let response = client.build().map_err(network)?.head(address).send().await.map_err(network)?;
    let status = response.status();
    if !(status.is_success() || status.is_redirection()) {
        return Err(failed(format!("the server answered {status}")));
    }
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let hash = header("x-linked-etag").map(|tag| tag.trim_matches('"').to_lowercase());
    let hash = hash.filter(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let size = header("x-linked-size").and_then(|size| size.parse().ok());
    hash.zip(size).ok_or_else(|| failed("the server does not say what it should be: it is no model file".to_owned()))
}
