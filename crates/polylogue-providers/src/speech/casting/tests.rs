//! Whose voice is whose.

use super::{portrait::Age, *};

fn part<'a>(id: &'a str, name: &'a str, persona: &'a str) -> Part<'a> {
    Part { id, name, persona: Some(persona).filter(|persona| !persona.is_empty()), voice: None }
}

fn names(voices: &[Arc<str>]) -> Vec<&str> {
    voices.iter().map(|voice| &**voice).collect()
}

#[test]
fn a_description_tells_who_somebody_is() {
    use Age::{Old, Young};
    use Sex::{Man, Woman};
    let alice = include_str!("../../../../../examples/scenes/agents/alice.md");
    let bob = include_str!("../../../../../examples/scenes/agents/bob.md");
    let charlie = include_str!("../../../../../examples/scenes/agents/charlie.md");
    let jonas = include_str!("../../../../../examples/scenes/agents/jonas.md");
    let mara = include_str!("../../../../../examples/scenes/agents/mara.md");
    let cases = [
        ("Alice", alice, Some(Woman), None),
        ("Bob", bob, Some(Man), None),
        ("Charlie", charlie, Some(Man), None),
        // He speaks of his daughter, and is none.
        ("Jonas", jonas, Some(Man), None),
        ("Mara", mara, Some(Woman), Some(Old)),
        ("Sam", "Sam is a retired actress of 71 years. She never forgets a line.", Some(Woman), Some(Old)),
        ("Kim", "You are Kim, a 19-year-old apprentice. Your mother owns the shop.", None, Some(Young)),
        ("Dr. Miller", "", None, None),
        ("Mrs Miller", "Her husband: he left, he never wrote, he took his dog.", Some(Woman), None),
        ("Peter", "", Some(Man), None),
        ("HAL 9000", "A computer. It is calm and never wrong.", None, None),
        (
            "Anna",
            "Anna ist Stationsleiterin und seit zwanzig Jahren dabei. Sie sagt, was sie denkt, und ihr Chef fürchtet sie.",
            Some(Woman),
            None,
        ),
        (
            "Karl",
            "# Karl - Gärtner\nEr ist 72 Jahre alt und mag seine Ruhe. Die Tochter besucht ihn.",
            Some(Man),
            Some(Old),
        ),
        ("Camille", "Camille est une jeune avocate. Elle ne perd jamais, et elle le sait.", Some(Woman), Some(Young)),
        ("Alex", "Alex es un anciano pescador. Él no habla mucho, pero siempre dice la verdad.", Some(Man), Some(Old)),
        ("Andrea", "Andrea è un giovane cuoco. Lui non sa mentire, e lo sanno tutti.", Some(Man), Some(Young)),
        ("Duda", "Duda é uma enfermeira. Ela não gosta de silêncio e ela fala muito.", Some(Woman), None),
        ("雪", "雪は旅館の女将。彼女は静かで、決して怒らない。", Some(Woman), None),
        ("健太", "健太は若い見習いの料理人。彼は失敗をとても恐れている。", Some(Man), Some(Young)),
        ("花子", "", Some(Woman), None),
        ("小明", "小明是一个年轻的学徒。他总是迟到。", Some(Man), Some(Young)),
    ];
    for (name, text, sex, age) in cases {
        let portrait = Portrait::of(name, Some(text));
        assert_eq!((portrait.sex, portrait.age), (sex, age), "{name}: {text}");
    }
}

#[test]
fn built_in_profiles_are_what_their_descriptions_say() {
    let profiles = Profiles::default();
    let women: Vec<&str> = profiles
        .iter()
        .filter(|profile| Portrait::of_profile(profile).sex == Some(Sex::Woman))
        .map(|profile| &*profile.name)
        .collect();
    assert_eq!(women, ["playful_expressive", "warm_reflective", "brisk_witty", "soft_intimate", "bright_curious"]);
    for profile in profiles.iter() {
        let portrait = Portrait::of_profile(profile);
        assert!(portrait.sex.is_some() && portrait.tempers() > 0, "{}", profile.name);
        assert_eq!(portrait.sex, sex_of_kokoro(&profile.kokoro.voice), "{}", profile.name);
    }
}

#[test]
fn everybody_gets_a_voice_that_fits() {
    let profiles = Profiles::default();
    let apology = [
        part("alice", "Alice", include_str!("../../../../../examples/scenes/agents/alice.md")),
        part("bob", "Bob", include_str!("../../../../../examples/scenes/agents/bob.md")),
        part("charlie", "Charlie", include_str!("../../../../../examples/scenes/agents/charlie.md")),
    ];
    let voices = profiles.cast(&apology, &[]);
    assert_eq!(names(&voices), ["brisk_witty", "confident_charming", "steady_storyteller"]);
    // The same voice whoever else is there, and in whatever order.
    for part in &apology {
        let alone = profiles.cast(std::slice::from_ref(part), &[]);
        let with_all = &voices[apology.iter().position(|other| other.id == part.id).expect("there")];
        assert_eq!(&alone[0], with_all, "{}", part.id);
    }
    let mut turned = apology.clone();
    turned.reverse();
    let mut again = profiles.cast(&turned, &[]);
    again.reverse();
    assert_eq!(again, voices);
}

#[test]
fn what_was_chosen_is_kept_and_nobody_shares() {
    let profiles = Profiles::default();
    let kept = [
        Part { voice: Some("dry_precise".into()), ..part("a", "Ann", "She is loud.") },
        part("b", "Bert", "He is dry, exact and precise. He is organized."),
        part("c", "Carl", "He is dry, exact and precise. He is organized."),
        part("d", "Dora", "She is curious and eager."),
        part("e", "E", ""),
    ];
    let voices = profiles.cast(&kept, &["bold_dramatic".into()]);
    let named = names(&voices);
    assert_eq!((named[0], named[3]), ("dry_precise", "bright_curious"));
    let mut distinct = named.clone();
    distinct.extend(["bold_dramatic"]);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 6, "{named:?}");
    for at in [1, 2] {
        let profile = profiles.get(named[at]).expect("a profile");
        assert_eq!(Portrait::of_profile(profile).sex, Some(Sex::Man), "{}", named[at]);
    }
    // When there are not enough that fit, they are shared; nobody changes sex.
    let men: Vec<String> = (0..8).map(|at| format!("man-{at}")).collect();
    let men: Vec<Part<'_>> = men.iter().map(|id| part(id, id, "He is a man. He talks.")).collect();
    let voices = profiles.cast(&men, &[]);
    for voice in &voices {
        assert_eq!(Portrait::of_profile(profiles.get(voice).expect("a profile")).sex, Some(Sex::Man), "{voice}");
    }
    let mut distinct = names(&voices);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 5);
}

#[test]
fn a_narrator_is_somebody_else() {
    let profiles = Profiles::default();
    assert_eq!(&*profiles.narrator(&[]), "steady_storyteller");
    assert_eq!(&*profiles.narrator(&["steady_storyteller".into()]), "warm_reflective");
    let all: Vec<Arc<str>> = profiles.names().cloned().collect();
    let but_one: Vec<Arc<str>> = all.iter().filter(|name| &***name != "bold_dramatic").cloned().collect();
    assert_eq!(&*profiles.narrator(&but_one), "bold_dramatic");
    assert!(all.contains(&profiles.narrator(&all)));
}
