//! Fetching from loopback servers that behave and misbehave.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Response, StatusCode, header},
    routing::get,
};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use super::{
    DownloadError, Parcel, Progress, Source, Wanted, Watch,
    archive::{self, Kind},
    fetch, hex, is_there,
};
use crate::loopback::serve;

fn content() -> Vec<u8> {
    (0..300_000u32).map(|n| (n * 7 % 251) as u8).collect()
}

fn wanted(name: &str, content: &[u8]) -> Wanted {
    Wanted { name: name.to_owned(), sha256: hex(&Sha256::digest(content)), bytes: content.len() as u64 }
}

fn quiet() -> Watch {
    Arc::new(|_| {})
}

fn parcel(files: Vec<Wanted>, addresses: Vec<String>) -> Parcel {
    Parcel { title: "the voice".to_owned(), files, sources: vec![Source::Web { addresses }] }
}

/// What is in the folder, the lock left out.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

/// `/whole` honours ranges, `/stubborn` does not, `/torn` breaks off halfway, `/huge` and `/other` are wrong.
fn server() -> Router {
    let ranged = |headers: HeaderMap| async move {
        let whole = content();
        let from = headers
            .get(header::RANGE)
            .and_then(|range| range.to_str().ok()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
        match from {
            Some(from) => (StatusCode::PARTIAL_CONTENT, whole[from..].to_vec()),
            None => (StatusCode::OK, whole),
        }
    };
    let torn = || async {
        // Promises more than comes; the pause lets the first half leave before the end is noticed.
        let half = futures_util::stream::once(async { Ok::<_, io::Error>(Bytes::from(content()[..150_000].to_vec())) });
        let end = futures_util::stream::once(async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            Err(io::Error::other("torn"))
        });
        Response::new(Body::from_stream(futures_util::StreamExt::chain(half, end)))
    };
    Router::new()
        .route("/whole", get(ranged))
        .route("/stubborn", get(|| async { content() }))
        .route("/torn", get(torn))
        .route("/huge", get(|| async { vec![0u8; 300_001] }))
        .route("/other", get(|| async { vec![0u8; 300_000] }))
}

#[tokio::test]
async fn a_file_is_fetched_once_and_told_about() {
    let (base, folder) = (serve(server()).await, tempfile::tempdir().expect("a folder"));
    let parcel = parcel(vec![wanted("voices/a.bin", &content())], vec![format!("{base}/whole")]);
    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let watch: Watch = {
        let told = told.clone();
        Arc::new(move |progress| told.lock().expect("unpoisoned").push(progress))
    };
    assert!(!is_there(&parcel, folder.path()));
    fetch(&parcel, folder.path(), &watch).await.expect("fetched");
    assert!(is_there(&parcel, folder.path()));
    assert_eq!(fs::read(folder.path().join("voices/a.bin")).expect("a file"), content());
    let last = Progress { what: "voices/a.bin".to_owned(), done_bytes: 300_000, total_bytes: Some(300_000) };
    assert_eq!(told.lock().expect("unpoisoned").last(), Some(&last));

    // The second time the file is only read: the address no longer matters.
    let parcel = Parcel { sources: vec![], ..parcel };
    fetch(&parcel, folder.path(), &quiet()).await.expect("still there");

    // Damage is noticed.
    fs::write(folder.path().join("voices/a.bin"), vec![1; 300_000]).expect("written");
    assert!(matches!(fetch(&parcel, folder.path(), &quiet()).await, Err(DownloadError::NoSource { .. })));
}

#[tokio::test]
async fn a_torn_fetch_goes_on_where_it_stopped() {
    for rest in ["whole", "stubborn"] {
        let (base, folder) = (serve(server()).await, tempfile::tempdir().expect("a folder"));
        let files = vec![wanted("a.bin", &content())];
        let torn = parcel(files.clone(), vec![format!("{base}/torn")]);
        fetch(&torn, folder.path(), &quiet()).await.expect_err("torn");
        assert_eq!(names(folder.path()), ["a.bin.part"]);
        let mended = parcel(files, vec![format!("{base}/{rest}")]);
        fetch(&mended, folder.path(), &quiet()).await.expect("mended");
        assert_eq!(names(folder.path()), ["a.bin"]);
        assert_eq!(fs::read(folder.path().join("a.bin")).expect("a file"), content());
    }
}

#[tokio::test]
async fn what_is_wrong_is_not_kept() {
    let base = serve(server()).await;
    for (path, says) in [("huge", "larger"), ("other", "SHA-256"), ("nowhere", "404")] {
        let folder = tempfile::tempdir().expect("a folder");
        let wrong = parcel(vec![wanted("a.bin", &content())], vec![format!("{base}/{path}")]);
        let error = fetch(&wrong, folder.path(), &quiet()).await.expect_err("wrong").to_string();
        assert!(error.contains(says) && error.contains("the voice"), "{error}");
        assert!(!error.contains("127.0.0.1"), "{error}");
        assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    }
}

#[tokio::test]
async fn the_next_source_is_tried_when_one_fails() {
    let (base, folder) = (serve(server()).await, tempfile::tempdir().expect("a folder"));
    let mut parcel = parcel(vec![wanted("a.bin", &content())], vec![format!("{base}/nowhere")]);
    parcel.sources.push(Source::Web { addresses: vec![format!("{base}/whole")] });
    fetch(&parcel, folder.path(), &quiet()).await.expect("the second source has it");
}

#[tokio::test]
async fn a_file_that_somebody_has_is_taken_if_it_is_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (right, wrong) = (folder.path().join("right"), folder.path().join("wrong"));
    fs::write(&right, content()).expect("written");
    fs::write(&wrong, vec![0; 300_000]).expect("written");
    let into = folder.path().join("into");
    for (path, is_taken) in [(folder.path().join("nowhere"), false), (wrong, false), (right, true)] {
        let files = vec![wanted("a.bin", &content())];
        let parcel = Parcel { title: "the model".to_owned(), files, sources: vec![Source::File { path }] };
        assert_eq!(fetch(&parcel, &into, &quiet()).await.is_ok(), is_taken);
        assert_eq!(names(&into).len(), usize::from(is_taken));
    }
}

#[tokio::test]
async fn a_server_says_what_its_large_file_is_before_it_is_fetched() {
    let hash = hex(&Sha256::digest(content()));
    let linked = |tag: String, size: &'static str| {
        let answer = move || {
            let builder = Response::builder().status(302).header("location", "/elsewhere");
            let answer = builder.header("x-linked-etag", tag.clone()).header("x-linked-size", size);
            async move { answer.body(Body::empty()).expect("an answer") }
        };
        get(answer)
    };
    let router = Router::new()
        .route("/o/r/resolve/main/m.gguf", linked(format!("\"{hash}\""), "300000"))
        .route("/short", linked("\"abc\"".to_owned(), "300000"))
        .route("/plain", get(|| async { "no large file" }));
    let base = serve(router).await;
    assert_eq!(super::linked(&format!("{base}/o/r/resolve/main/m.gguf"), "m").await.expect("told"), (hash, 300_000));
    for path in ["short", "plain", "nowhere"] {
        let error = super::linked(&format!("{base}/{path}"), "m").await.expect_err("not told").to_string();
        assert!(error.starts_with("m could not be fetched") && !error.contains("127.0.0.1"), "{error}");
    }
}

/// The same three members as npm and pip would pack them.
fn package(kind: Kind, path: &Path) {
    let members: [(&str, &[u8]); 3] = [("p/a.bin", b"alpha"), ("p/b.bin", b"beta"), ("p/c.bin", b"gamma")];
    match kind {
        Kind::TarGz => {
            let mut tar = tar::Builder::new(GzEncoder::new(File::create(path).expect("a file"), Compression::fast()));
            for (name, content) in members {
                let mut header = tar::Header::new_gnu();
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, name, content).expect("packed");
            }
            tar.into_inner().and_then(GzEncoder::finish).expect("packed");
        }
        Kind::Zip => {
            let mut zip = zip::ZipWriter::new(File::create(path).expect("a file"));
            for (name, content) in members {
                zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("packed");
                zip.write_all(content).expect("packed");
            }
            zip.finish().expect("packed");
        }
    }
}

#[test]
fn members_are_taken_out_of_both_kinds_of_package() {
    for kind in [Kind::TarGz, Kind::Zip] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("package");
        package(kind, &path);
        let into = folder.path().join("into");
        fs::create_dir(&into).expect("a folder");
        let take = |member: &str, file: Wanted| {
            archive::unpack(kind, &path, vec![(member.to_owned(), file)], &into, &quiet()).map_err(|e| e.to_string())
        };
        assert_eq!(take("p/c.bin", wanted("deep/c", b"gamma")), Ok(()), "{kind:?}");
        assert_eq!(fs::read(into.join("deep/c")).expect("a file"), b"gamma");
        assert_eq!(take("p/d.bin", wanted("d", b"delta")), Err("d is not in the package".to_owned()));
        let wrong = take("p/b.bin", wanted("b", b"gamma")).expect_err("another content");
        assert!(wrong.contains("SHA-256"), "{wrong}");
        assert_eq!(names(&into), ["deep"], "{kind:?}");
    }
}
