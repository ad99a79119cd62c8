//! What holds for every text from outside, one file for each fuzz target. Here the texts that are kept go through them:
//! those that a fuzzer once failed on, and a few that lead it into the depth.

pub(crate) mod bracket;
mod envelope;
mod record;
mod reply;
mod score;

use std::{fs, path::Path};

/// What a target holds every text to.
type Check = fn(&str);

#[test]
#[expect(clippy::disallowed_methods, reason = "the texts that are kept are files")]
fn what_is_kept_holds() {
    let checks: [(&str, Check); 5] = [
        ("bracket", bracket::check),
        ("envelope", envelope::check),
        ("record", record::check),
        ("reply", reply::check),
        ("score", score::check),
    ];
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept");
    for (target, check) in checks {
        let mut files: Vec<_> = fs::read_dir(kept.join(target)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{target} has texts that are kept");
        for file in files {
            println!("{}", file.display());
            check(&String::from_utf8_lossy(&fs::read(&file).unwrap()));
        }
    }
}
