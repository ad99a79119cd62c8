//! Profiles as a configuration writes them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{KokoroVoice, ProfileSettings, Profiles};

#[derive(Deserialize)]
struct Config {
    voices: BTreeMap<String, ProfileSettings>,
}

#[test]
fn a_profile_of_any_name_has_a_voice() {
    for letters in 1..=64 {
        let name = "z".repeat(letters);
        let profiles = Profiles::with(BTreeMap::from([(name.clone(), ProfileSettings::default())]));
        assert!(profiles.names().any(|known| **known == *name), "{letters} letters");
    }
}

#[test]
fn built_in_profiles_share_no_voice() {
    let profiles = Profiles::default();
    assert!(profiles.iter().count() >= 8);
    for required in ["confident_charming", "playful_expressive", "dry_precise", "warm_reflective"] {
        assert!(profiles.get(required).is_ok(), "{required}");
    }
    let engines: [fn(&super::Profile) -> String; 4] = [
        |profile| profile.kokoro.voice.clone(),
        |profile| profile.espeak.voice.clone(),
        |profile| profile.openai.voice.clone(),
        |profile| profile.elevenlabs.voice.clone(),
    ];
    for voice in engines {
        let distinct: BTreeSet<String> = profiles.iter().map(voice).collect();
        assert_eq!(distinct.len(), profiles.iter().count());
    }
    assert!(profiles.table().contains("| dry_precise | measured"));
}

#[test]
fn a_configuration_changes_and_adds_profiles() {
    let config: Config = toml::from_str(
        r#"
        [voices.dry_precise]
        elevenlabs = "VOICE_ID"
        openai = "onyx"
        kokoro = { voice = "bm_george", speed = 0.95 }
        espeak = { voice = "en-gb", pitch = 35, rate = 150 }

        [voices.robot]
        description = "flat and metallic"
        espeak = { voice = "en-us+m1", pitch = 0 }
        kokoro = "am_adam"
        "#,
    )
    .expect("the form of the contract");
    let profiles = Profiles::with(config.voices);
    let dry = profiles.get("dry_precise").expect("changed");
    assert_eq!(dry.elevenlabs.voice, "VOICE_ID");
    assert_eq!(*dry.description, *"measured and exact, a British man who wastes no word");
    let robot = profiles.get("robot").expect("added");
    assert_eq!(robot.kokoro, KokoroVoice { voice: "am_adam".to_owned(), speed: 1.0 });
    assert_eq!((robot.espeak.pitch, robot.espeak.rate), (0, 165));
    assert!(!robot.openai.voice.is_empty(), "what is not said is filled in");
    assert!(toml::from_str::<Config>("[voices.x]\nkokoro = { vice = 1 }").is_err());
    let unknown = profiles.get("nobody").expect_err("unknown").to_string();
    assert!(unknown.contains("nobody") && unknown.contains("robot"), "{unknown}");
}

#[test]
fn a_new_profile_is_filled_in_from_one_of_its_sex() {
    for letters in 1..=20 {
        let name = "z".repeat(letters);
        for (description, sign) in [("distant, a woman from far away", "f_"), ("a man of few words", "m_")] {
            let settings = ProfileSettings { description: Some(description.into()), ..ProfileSettings::default() };
            let profiles = Profiles::with(BTreeMap::from([(name.clone(), settings)]));
            let voice = &profiles.get(&name).expect("added").kokoro.voice;
            assert_eq!(&voice[1..3], sign, "{voice} for {description}");
        }
    }
}

#[test]
fn without_a_choice_the_seat_decides() {
    let profiles = Profiles::default();
    // A profile that does not exist counts as none.
    assert_ne!(profiles.choose(None, 0).name, profiles.choose(Some("no such"), 1).name);
    assert_eq!(*profiles.choose(Some(" dry_precise "), 0).name, *"dry_precise");
    assert_eq!(profiles.choose(None, 10).name, profiles.choose(None, 0).name);
}
