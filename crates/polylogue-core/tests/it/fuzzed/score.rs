//! What holds for every text that may be a score: it is read, or everything that is wrong with it is said.

use polylogue_core::format::score::read_text;

pub(crate) fn check(text: &str) {
    match read_text(text) {
        Ok(score) => {
            let json = serde_json::to_string(&score).unwrap();
            assert_eq!(serde_json::from_str(&json).ok().as_ref(), Some(&score), "{json} of {text:?}");
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "{text:?}");
            assert!(problems.iter().all(|problem| !problem.message.is_empty()), "{problems:?}");
        }
    }
}
