//! Who gets which voice: a profile for everybody who has none of their own, by what their description tells.
//!
//! Sex comes first, then age, then temper; where several fit alike, the name decides, so that a voice does not change
//! because somebody else joins or leaves. Nobody shares a voice as long as there are enough that fit.

mod portrait;
mod words;

use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use self::portrait::Portrait;
use self::portrait::Sex;
use super::profiles::{Profile, Profiles};

/// Somebody who is to be heard.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// What stays the same whoever else takes part.
    pub id: &'a str,
    pub name: &'a str,
    pub persona: Option<&'a str>,
    /// The profile that was chosen for them, or that they had before.
    pub voice: Option<Arc<str>>,
}

/// Where nobody is described: what a narrator sounds best with, then every other.
const NARRATORS: [&str; 3] = ["steady_storyteller", "warm_reflective", "deep_grave"];

impl Profiles {
    /// A voice for each part, in their order. Those who have one keep it; `taken` are somebody else's.
    pub fn cast(&self, parts: &[Part<'_>], taken: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut voices: Vec<Option<Arc<str>>> = parts.iter().map(|part| part.voice.clone()).collect();
        let portraits: Vec<Portrait> = parts.iter().map(|part| Portrait::of(part.name, part.persona)).collect();
        loop {
            let uses = |profile: &Profile| {
                let all = taken.iter().chain(voices.iter().flatten());
                all.filter(|voice| ***voice == *profile.name).count() as i32
            };
            // Of all pairs the one that fits best goes first; who could be anybody waits for those who could not.
            let open = (0..parts.len()).filter(|at| voices[*at].is_none());
            let pairs = open.flat_map(|at| self.iter().map(move |profile| (at, profile)));
            let best = pairs.max_by_key(|(at, profile)| {
                let portrait = &portraits[*at];
                let is_known = portrait.sex.is_some();
                (
                    is_known,
                    portrait.fits(&Portrait::of_profile(profile)) - 50 * uses(profile),
                    chance(parts[*at].id, profile),
                )
            });
            let Some((at, profile)) = best else { break };
            voices[at] = Some(profile.name.clone());
        }
        voices.into_iter().flatten().collect()
    }

    /// The voice of a narrator beside those that are taken.
    pub fn narrator(&self, taken: &[Arc<str>]) -> Arc<str> {
        let is_free = |profile: &&Profile| !taken.contains(&profile.name);
        let preferred = NARRATORS.iter().filter_map(|name| self.get(name).ok()).find(is_free);
        let any = || self.iter().find(is_free).or_else(|| self.iter().next());
        preferred.or_else(any).map_or_else(|| NARRATORS[0].into(), |profile| profile.name.clone())
    }
}

/// Decides between profiles that fit alike, always in the same way.
fn chance(id: &str, profile: &Profile) -> [u8; 4] {
    let digest = Sha256::digest(format!("{id}\n{}", profile.name).as_bytes());
    [digest[0], digest[1], digest[2], digest[3]]
}

/// A man's or a woman's voice, by the name that Kokoro has for it.
fn sex_of_kokoro(voice: &str) -> Option<Sex> {
    match voice.as_bytes().get(1) {
        Some(b'f') => Some(Sex::Woman),
        Some(b'm') => Some(Sex::Man),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
