//! What a description tells of how somebody sounds: sex, age and temper. It reads words and counts; it calls no model
//! and guesses nothing that is not there.

use polylogue_core::text::language::Language;

use super::{
    sex_of_kokoro,
    words::{self, NAMES, OWNERS, TEMPERS, Words},
};
use crate::speech::profiles::Profile;

/// Longer descriptions are read up to here.
const MAX_CHARS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sex {
    Woman,
    Man,
}

/// Grown people are of neither age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    Young,
    Old,
}

/// What is told of somebody; what is not told is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portrait {
    pub sex: Option<Sex>,
    pub age: Option<Age>,
    /// How many words speak for each temper.
    tempers: [u8; TEMPERS.len()],
}

impl Portrait {
    /// What a name and a description tell.
    pub fn of(name: &str, description: Option<&str>) -> Portrait {
        let text: String = description.unwrap_or_default().chars().take(MAX_CHARS).collect();
        let small = text.to_lowercase();
        let language = Language::of(&text).unwrap_or_default();
        Portrait { sex: sex(name, &small, language), age: age(&small, language), tempers: tempers(&small) }
    }

    /// What a profile sounds like, by its own description, and by its voice where that says nothing.
    pub(in crate::speech) fn of_profile(profile: &Profile) -> Portrait {
        let told = Portrait::of("", Some(&profile.description));
        let sex = told.sex.or_else(|| sex_of_kokoro(&profile.kokoro.voice));
        let mut tempers = told.tempers;
        for (sum, named) in tempers.iter_mut().zip(self::tempers(&profile.name.replace(['_', '-'], " "))) {
            *sum += named;
        }
        Portrait { sex, tempers, ..told }
    }

    #[cfg(test)]
    pub(super) fn tempers(&self) -> usize {
        self.tempers.iter().filter(|count| **count > 0).count()
    }

    /// How well a voice fits, more being better.
    pub(super) fn fits(&self, voice: &Portrait) -> i32 {
        let sex = match (self.sex, voice.sex) {
            (Some(one), Some(other)) if one == other => 200,
            (Some(_), Some(_)) => -200,
            _ => 0,
        };
        let age = match (self.age, voice.age) {
            (Some(one), Some(other)) if one == other => 12,
            (Some(_), Some(_)) => -12,
            (None, Some(_)) => -2,
            _ => 0,
        };
        let of_temper = |(own, voices): (&u8, &u8)| if *voices > 0 { 3 * i32::from((*own).min(4)) } else { 0 };
        sex + age + self.tempers.iter().zip(&voice.tempers).map(of_temper).sum::<i32>()
    }
}

/// The words of a text in small letters, in scripts that part them.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

/// A title settles it; then what they are in the first words, then how they are spoken of, then their name.
fn sex(name: &str, small: &str, language: Language) -> Option<Sex> {
    let name = name.to_lowercase();
    let titled = |titles: &[&str]| split(&name).any(|word| titles.contains(&word));
    if titled(words::TITLES.0) != titled(words::TITLES.1) {
        return Some(if titled(words::TITLES.0) { Sex::Woman } else { Sex::Man });
    }
    let own = words::of(language);
    let lead: String = small.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join("\n");
    let (women, men) = (score(&lead, small, own, Sex::Woman), score(&lead, small, own, Sex::Man));
    if women != men {
        return Some(if women > men { Sex::Woman } else { Sex::Man });
    }
    let called = |names: &[&str]| split(&name).any(|word| names.contains(&word));
    let ends = |endings: &[&str]| !name.is_ascii() && endings.iter().any(|end| name.ends_with(end));
    if called(NAMES.0) || ends(words::NAME_ENDINGS.0) {
        Some(Sex::Woman)
    } else if called(NAMES.1) || ends(words::NAME_ENDINGS.1) {
        Some(Sex::Man)
    } else {
        None
    }
}

/// How much speaks for a woman or a man.
fn score(lead: &str, small: &str, own: &Words, sex: Sex) -> usize {
    let (pronouns, roles, endings) = match sex {
        Sex::Woman => (own.she, own.women, own.womens_endings),
        Sex::Man => (own.he, own.men, own.mens_endings),
    };
    if own.is_without_spaces {
        // 彼女 has 彼 in it, so the longer is counted first and taken out.
        let shorter = if sex == Sex::Man {
            own.she.iter().fold(small.to_owned(), |t, she| t.replace(she, ""))
        } else {
            small.to_owned()
        };
        let count = |text: &str, signs: &[&str]| signs.iter().map(|sign| text.matches(sign).count()).sum::<usize>();
        return count(&shorter, pronouns) + 2 * count(lead, roles).min(2);
    }
    let spoken_of = split(small).filter(|word| pronouns.contains(word)).count();
    let is_role = |word: &&str| {
        roles.contains(word) || (word.chars().count() > 5 && endings.iter().any(|ending| word.ends_with(ending)))
    };
    let words: Vec<&str> = split(lead).collect();
    let own_roles = (0..words.len()).filter(|at| {
        // Somebody's mother is somebody else.
        let is_others =
            at.checked_sub(1).is_some_and(|before| OWNERS.contains(&words[before]) || words[before].ends_with("'s"));
        is_role(&words[*at]) && !is_others
    });
    spoken_of + 2 * own_roles.count().min(2)
}

fn age(small: &str, language: Language) -> Option<Age> {
    let own = words::of(language);
    let has = |signs: &[&str]| match own.is_without_spaces {
        true => signs.iter().any(|sign| small.contains(sign)),
        // With a blank on both sides, so that words of several parts are found as well.
        false => {
            let spaced = format!(" {} ", split(small).collect::<Vec<_>>().join(" "));
            signs.iter().any(|sign| spaced.contains(&format!(" {sign} ")))
        }
    };
    match years(small) {
        Some(..=26) => Some(Age::Young),
        Some(58..) => Some(Age::Old),
        Some(_) => None,
        None if has(own.old) => Some(Age::Old),
        None if has(own.young) => Some(Age::Young),
        None => None,
    }
}

/// The age that stands there in figures: `19 years old`, `aged 70`, `62 Jahre`, `17歳`.
fn years(small: &str) -> Option<u32> {
    const AFTER: [&str; 12] =
        ["years old", "year old", "year-old", "jahre alt", "jährig", "ans", "años", "anni", "anos", "歳", "才", "岁"];
    const BEFORE: [&str; 6] = ["aged ", "age ", "age: ", "alter: ", "âge : ", "edad: "];
    let figures = small.char_indices().filter(|(at, c)| {
        c.is_ascii_digit() && !small[..*at].ends_with(|before: char| before.is_ascii_digit() || before == '.')
    });
    for (at, _) in figures {
        let end = small[at..].find(|c: char| !c.is_ascii_digit()).map_or(small.len(), |length| at + length);
        let years = small[at..end].parse::<u32>().ok().filter(|years| (1..=120).contains(years));
        let after = small[end..].trim_start_matches([' ', '-']);
        let is_told =
            AFTER.iter().any(|unit| after.starts_with(unit)) || BEFORE.iter().any(|unit| small[..at].ends_with(unit));
        if let Some(years) = years.filter(|_| is_told) {
            return Some(years);
        }
    }
    None
}

fn tempers(small: &str) -> [u8; TEMPERS.len()] {
    let words: Vec<&str> = split(small).collect();
    TEMPERS.map(|stems| {
        let is_told = |stem: &&&str| match stem.is_ascii() || stem.chars().count() > 3 {
            true => words.iter().any(|word| word.starts_with(**stem)),
            false => small.contains(**stem),
        };
        stems.iter().filter(is_told).count().min(9) as u8
    })
}
