//! A bucket that refuses, is not there, is silent or breaks off. Nothing waits for ever, nothing is taken for whole that
//! is not, and no sentence tells a key or an address.

use std::time::Duration;

use futures_util::TryStreamExt;
use polylogue_artifacts::{S3, S3Settings};
use polylogue_runtime::port::{ArtifactError, Artifacts};

use crate::{
    Node,
    bucket::{self, Bucket},
    path, settings,
    weir::{Flow, Weir},
};

const CLIP: &str = "tts/sessions/0190/a.wav";

/// The sentence of a failure that somebody has to mend, or of one that may pass.
fn sentence(error: &ArtifactError) -> String {
    let said = error.to_string();
    for hidden in [bucket::ACCESS_KEY, bucket::SECRET_KEY, "127.0.0.1", "http", "/"] {
        assert!(!said.contains(hidden), "{said}");
    }
    said
}

#[tokio::test]
async fn a_wrong_key_and_a_missing_bucket_are_said() {
    let bucket = Bucket::start();
    let good = settings("s3://team", bucket.at());
    Node::new(&good).keep(CLIP, b"sound").await.unwrap();
    let with = |change: fn(&mut S3Settings)| {
        let mut settings = good.clone();
        change(&mut settings);
        Node::new(&settings)
    };
    for refused in [
        with(|settings| settings.keys.secret_key = "wrong".into()),
        with(|settings| settings.keys.access_key = "x".into()),
    ] {
        for error in [refused.keep("new.wav", b"sound").await.unwrap_err(), refused.read(CLIP).await.unwrap_err()] {
            assert!(matches!(error, ArtifactError::Failed(_)), "{error:?}");
            assert!(sentence(&error).contains("refuses the key"), "{error}");
        }
    }
    let missing = with(|settings| settings.url = "s3://nobody".into());
    for error in [
        missing.keep(CLIP, b"sound").await.unwrap_err(),
        missing.artifacts.write(&path("a.json"), "{}".into()).await.unwrap_err(),
    ] {
        assert!(matches!(error, ArtifactError::Failed(_)) && sentence(&error).contains("no such bucket"), "{error:?}");
    }
    assert_eq!(bucket.keys(), [CLIP], "nothing was written");
}

#[tokio::test]
async fn a_bucket_that_is_gone_may_come_back() {
    let mut bucket = Bucket::start();
    let node = Node::new(&settings("s3://team", bucket.at()));
    node.keep(CLIP, b"sound").await.unwrap();
    bucket.stop();
    for error in [
        node.keep("tts/b.wav", b"sound").await.unwrap_err(),
        node.read(CLIP).await.unwrap_err(),
        node.artifacts.remove(&[path("tts/other.wav")]).await.unwrap_err(),
    ] {
        assert!(matches!(error, ArtifactError::Unavailable(_)), "{error:?}");
        assert!(sentence(&error).contains("cannot be reached"), "{error}");
    }
    assert!(node.artifacts.local(&path(CLIP)).await.is_ok(), "what was spoken here is here");
    bucket.start_again();
    assert_eq!(node.read(CLIP).await.unwrap(), b"sound");
    assert_eq!(node.keep("tts/b.wav", b"sound").await, Ok(true));
}

#[tokio::test]
async fn a_clip_outlasts_a_short_trouble() {
    let bucket = Bucket::start();
    let weir = Weir::before(bucket.at());
    weir.set_for(3, Flow::CutAfter(0));
    let node = Node::new(&settings("s3://team", weir.at()));
    assert_eq!(node.keep(CLIP, b"sound").await, Ok(true));
    assert_eq!(bucket.keys(), [CLIP]);
    // Somebody who only listens is told sooner.
    weir.set_for(3, Flow::CutAfter(0));
    let listener = Node::new(&settings("s3://team", weir.at()));
    assert!(matches!(listener.read(CLIP).await, Err(ArtifactError::Unavailable(_))));
    assert_eq!(listener.read(CLIP).await.unwrap(), b"sound");
}

/// The clock runs on its own whenever nothing else does, so that time limits pass at once.
#[tokio::test(start_paused = true)]
async fn a_silent_bucket_is_not_waited_for() {
    let bucket = Bucket::start();
    let weir = Weir::before(bucket.at());
    weir.set(Flow::Held);
    let node = Node::new(&settings("s3://team", weir.at()));
    let begun = tokio::time::Instant::now();
    for error in [node.keep(CLIP, b"sound").await.unwrap_err(), node.read(CLIP).await.unwrap_err()] {
        assert!(matches!(error, ArtifactError::Unavailable(_)), "{error:?}");
        sentence(&error);
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_breaks_off_is_gone_on_with_or_is_an_error() {
    let mut bucket = Bucket::start();
    let weir = Weir::before(bucket.at());
    let content: Vec<u8> = (0..4 << 20_u32).map(|n| (n / 7) as u8).collect();
    Node::new(&settings("s3://team", bucket.at())).keep(CLIP, &content).await.unwrap();
    let node = || Node::new(&settings("s3://team", weir.at()));

    let found = |artifacts: S3| async move { artifacts.open(&path(CLIP)).await.unwrap() };
    let size = content.len() as u64;
    // Cut once, and let through from then on.
    weir.set(Flow::CutAfter(1 << 20));
    let mut chunks = found(node().artifacts).await.read(0..size).await.unwrap();
    weir.set(Flow::Free);
    let mut read = Vec::new();
    while let Some(chunk) = chunks.try_next().await.unwrap() {
        read.extend_from_slice(&chunk);
    }
    assert!(read == content, "{} of {} bytes", read.len(), content.len());

    // Cut, and nobody is there any more.
    weir.set(Flow::CutAfter(1 << 20));
    let mut chunks = found(node().artifacts).await.read(0..size).await.unwrap();
    bucket.stop();
    let broken = loop {
        match chunks.try_next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a part was taken for the whole"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(broken.contains("stopped in the middle"), "{broken}");
}

#[tokio::test]
async fn no_file_is_too_large_unnoticed() {
    let bucket = Bucket::start();
    let node = Node::new(&settings("s3://team", bucket.at()));
    let file = node.folder.path().join("long.wav");
    std::fs::File::create(&file).unwrap().set_len((64 << 20) + 1).unwrap();
    let error = node.artifacts.keep(&file, &path(CLIP)).await.unwrap_err();
    assert!(sentence(&error).contains("at most"), "{error}");
    assert_eq!(bucket.keys(), Vec::<String>::new());
}
