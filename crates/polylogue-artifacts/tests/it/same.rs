//! What holds for every kind of artifacts.

use std::path::Path;

use futures_util::TryStreamExt;
use polylogue_artifacts::{Folder, S3};
use polylogue_runtime::port::{ArtifactError, Artifacts};

use crate::{
    Node,
    bucket::{self, Bucket},
    path, settings,
};

const CLIP: &str = "tts/sessions/0190/turn_1/slot-1_gpt-4o~0a1b.wav";

/// Everything that the port promises.
async fn check(artifacts: &dyn Artifacts) {
    let scratch = tempfile::tempdir().unwrap();
    let file = |content: &str| {
        let file = scratch.path().join("from.wav");
        // Never in place: the file may be the one that is kept.
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, content).unwrap();
        file
    };
    let clip = path(CLIP);
    assert_eq!(artifacts.open(&clip).await.err(), Some(ArtifactError::Missing));
    assert_eq!(artifacts.local(&clip).await.err(), Some(ArtifactError::Missing));

    assert_eq!(artifacts.keep(&file("0123456789"), &clip).await, Ok(true));
    assert_eq!(artifacts.keep(&file("0123456789"), &clip).await, Ok(true), "the same again");
    assert_eq!(artifacts.keep(&file("9876543210"), &clip).await, Ok(false), "another of the same length");
    assert_eq!(artifacts.keep(&file("another"), &clip).await, Ok(false));
    for (part, content) in [(0..10, "0123456789"), (0..1, "0"), (3..7, "3456"), (9..10, "9"), (4..4, "")] {
        let found = artifacts.open(&clip).await.unwrap();
        assert_eq!(found.size(), 10);
        let chunks: Vec<_> = found.read(part).await.unwrap().try_collect().await.unwrap();
        assert_eq!(chunks.concat(), content.as_bytes());
    }
    let too_large = artifacts.open(&clip).await.unwrap().whole(9).await;
    assert!(matches!(too_large, Err(ArtifactError::Failed(_))), "{too_large:?}");
    let local = artifacts.local(&clip).await.unwrap();
    assert_eq!(std::fs::read_to_string(local).unwrap(), "0123456789");

    let manifest = path("tts/sessions/0190/session.json");
    for content in ["{\"lines\": []}", "{}"] {
        artifacts.write(&manifest, content.into()).await.unwrap();
        assert_eq!(artifacts.open(&manifest).await.unwrap().whole(100).await.unwrap(), content.as_bytes());
    }
    let odd = path("tts/sessions/0190/J\u{fc}rgen & Zo\u{eb} (100%) +1.wav");
    assert_eq!(artifacts.keep(&file("odd"), &odd).await, Ok(true));
    assert_eq!(artifacts.open(&odd).await.unwrap().whole(100).await.unwrap(), b"odd");

    artifacts.remove(&[clip.clone(), odd.clone()]).await.unwrap();
    artifacts.remove(&[clip.clone(), path("tts/never.wav")]).await.unwrap();
    for gone in [&clip, &odd] {
        assert_eq!(artifacts.open(gone).await.err(), Some(ArtifactError::Missing));
        assert_eq!(artifacts.local(gone).await.err(), Some(ArtifactError::Missing));
    }
    assert!(artifacts.open(&manifest).await.is_ok(), "nothing else goes");
    artifacts.remove(&[manifest]).await.unwrap();
}

#[tokio::test]
async fn a_folder_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("artifacts");
    check(&Folder::new(&root)).await;
    assert!(!root.join("tts").exists(), "no empty folder is left");
}

#[tokio::test]
async fn a_bucket_keeps_them() {
    let bucket = Bucket::start();
    for (url, prefix) in [("s3://team", ""), ("s3://team/shows/2026/", "shows/2026/")] {
        let node = Node::new(&settings(url, bucket.at()));
        check(&node.artifacts).await;
        assert_eq!(bucket.keys(), Vec::<String>::new());
        assert_eq!(node.keep(CLIP, b"sound").await, Ok(true));
        let key = format!("{prefix}{CLIP}");
        assert_eq!(std::fs::read(bucket.object(&key)).unwrap(), b"sound");
        assert_eq!(bucket.keys(), [key], "the key is the path");
        node.artifacts.remove(&[path(CLIP)]).await.unwrap();
    }
}

#[tokio::test]
async fn what_one_node_keeps_another_has() {
    let bucket = Bucket::start();
    let settings = settings("s3://team", bucket.at());
    let (one, other) = (Node::new(&settings), Node::new(&settings));
    one.keep(CLIP, b"sound").await.unwrap();
    assert_eq!(other.read(CLIP).await.unwrap(), b"sound");
    assert_eq!(other.keep(CLIP, b"sound").await, Ok(true), "the same clip, made again after a takeover");
    assert_eq!(other.keep(CLIP, b"noise").await, Ok(false));
    let copy = other.artifacts.local(&path(CLIP)).await.unwrap();
    assert!(copy.starts_with(other.folder.path()));
    other.artifacts.remove(&[path(CLIP)]).await.unwrap();
    assert!(!copy.exists());
    assert_eq!(one.read(CLIP).await.err(), Some(ArtifactError::Missing), "a copy is never served");
}

/// A clip that lies in the cache of the speech engines as well is the same file, and goes from there too.
#[cfg(unix)]
#[tokio::test]
async fn a_clip_takes_no_room_twice_and_leaves_nothing_behind() {
    let bucket = Bucket::start();
    let folder = tempfile::tempdir().unwrap();
    let bucket_of = |root: &Path| {
        let settings = settings(&format!("s3://{}", bucket::NAME), bucket.at());
        S3::new(&settings, Folder::new(root)).unwrap()
    };
    for (root, artifacts) in [
        (folder.path().join("a"), Box::new(Folder::new(folder.path().join("a"))) as Box<dyn Artifacts>),
        (folder.path().join("b"), Box::new(bucket_of(&folder.path().join("b")))),
    ] {
        use std::os::unix::fs::MetadataExt;
        let cached = root.join("tts/cache/ab/abcd.wav");
        std::fs::create_dir_all(cached.parent().unwrap()).unwrap();
        std::fs::write(&cached, "sound").unwrap();
        artifacts.keep(&cached, &path(CLIP)).await.unwrap();
        assert_eq!(std::fs::metadata(&cached).unwrap().nlink(), 2);
        artifacts.remove(&[path(CLIP)]).await.unwrap();
        assert!(!root.join("tts").exists());
    }
}
