//! File names from names that people and models make up.

use sha2::{Digest, Sha256};

use crate::download::hex;

/// The longest name in bytes, well below what file systems take.
const MAX: usize = 120;

/// A name that is one part of a path on every system, and that no other name is turned into: what had to be
/// changed is marked with `~` and a digest of the whole, and no unchanged name holds a `~`.
pub fn safe_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect();
    let plain = plain.trim_start_matches('.').trim_end_matches('.');
    if plain == name && !name.is_empty() && name.len() <= MAX && !is_device(name) {
        return name.to_owned();
    }
    let digest = hex(&Sha256::digest(name.as_bytes())[..6]);
    let kept = &plain[..plain.len().min(MAX - digest.len() - 1)];
    // A device name stays one with anything after a dot, but not with something before it.
    let before = if is_device(kept) { "_" } else { "" };
    format!("{before}{kept}~{digest}")
}

/// Names that some systems take for devices, with any ending.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let numbered =
        |prefix: &str| stem.strip_prefix(prefix).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::safe_name;

    #[test]
    fn names_are_kept_where_they_can_be() {
        for name in ["slot-1_gpt-4o_confident_charming", "alice", "claude-sonnet-4.5", "A_b-c.d"] {
            assert_eq!(safe_name(name), name);
        }
        for (name, starts) in [
            ("../../etc/passwd", "_.._etc_passwd~"),
            ("a/b:c", "a_b_c~"),
            ("a\\b", "a_b~"),
            ("..", "~"),
            (".hidden", "hidden~"),
            ("", "~"),
            ("con", "_con~"),
            ("aux.wav", "_aux.wav~"),
            ("Łódź", "__d_~"),
            ("x~y", "x_y~"),
        ] {
            let safe = safe_name(name);
            assert!(safe.starts_with(starts), "{safe} of {name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_one_part_of_a_path(name in prop_oneof![any::<String>(), r"[./\\:a~ -]{0,300}"]) {
            let safe = safe_name(&name);
            let parts: Vec<Component<'_>> = Path::new(&safe).components().collect();
            prop_assert!(matches!(parts.as_slice(), [Component::Normal(part)] if *part == safe.as_str()), "{safe:?}");
            prop_assert!(safe.len() <= 121 && !safe.contains(['\\', ':', '\0']), "{safe:?}");
        }

        #[test]
        fn two_names_never_become_one(a in r"[./:a_~]{0,6}", b in r"[./:a_~]{0,6}") {
            prop_assert_eq!(safe_name(&a) == safe_name(&b), a == b);
            // Not even when one is written like the safe form of the other.
            prop_assert!(safe_name(&safe_name(&a)) != safe_name(&b) || safe_name(&a) == b);
        }
    }
}
