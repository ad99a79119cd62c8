//! The goal of a scene as its prompt says it, and the prompt without it.
//!
//! Characters are told the goal once and as what it is: where the scene ends. So it is taken out of the context that
//! they are told, and where they are not to know it, nothing of it is left there.

use std::{borrow::Cow, ops::Range};

use super::settings::{Edition, Settings};
use crate::text::cut::words;

const MARKS: [&str; 2] = ["scene goal:", "goal:"];

/// The goal as it stands in a prompt: `Scene goal: …` to the end of the paragraph.
pub fn goal_in(prompt: &str) -> Option<String> {
    passage(prompt).map(|(_, goal)| goal)
}

impl Settings {
    /// The author's words about the scene, without the goal, which is told by itself.
    pub(super) fn context(&self) -> Cow<'_, str> {
        let found =
            passage(&self.prompt).filter(|(_, goal)| self.goal.as_deref().is_some_and(|own| is_same(own, goal)));
        match found {
            Some((place, _)) if self.edition > Edition::First => without(&self.prompt, place).into(),
            _ => Cow::Borrowed(&*self.prompt),
        }
    }

    /// The same for the characters: nothing of the goal is in it where they are not to know it.
    pub(super) fn context_of_characters(&self) -> Cow<'_, str> {
        if self.goal_known {
            return self.context();
        }
        let mut context = self.prompt.to_string();
        while let Some(place) = passage(&context).map(|(place, _)| place).or_else(|| self.goal_as_it_stands(&context)) {
            context = without(&context, place);
        }
        context.into()
    }

    /// The goal as the characters may know it.
    pub(super) fn goal_of_characters(&self) -> Option<&str> {
        self.goal.as_deref().filter(|_| self.goal_known)
    }

    /// Where the very words of the goal stand in a text, with no mark before them.
    fn goal_as_it_stands(&self, text: &str) -> Option<Range<usize>> {
        let goal = self.goal.as_deref()?.trim().trim_end_matches('.');
        let start = text.to_ascii_lowercase().find(&goal.to_ascii_lowercase()).filter(|_| !goal.is_empty())?;
        let end = start + goal.len();
        Some(start..end + usize::from(text[end..].starts_with('.')))
    }
}

/// Where a goal stands in a prompt, its mark included, and what it is.
fn passage(prompt: &str) -> Option<(Range<usize>, String)> {
    let lower = prompt.to_ascii_lowercase();
    let starts = |mark: &&str| {
        let is_word = |at: usize| !lower[..at].ends_with(|c: char| c.is_alphanumeric());
        lower.match_indices(*mark).map(|(at, _)| at).find(|at| is_word(*at)).map(|at| (at, at + mark.len()))
    };
    let (mark, start) = MARKS.iter().find_map(starts)?;
    let paragraph = prompt[start..].trim_start();
    let begins = prompt.len() - paragraph.len();
    // With their line breaks, which are of one or two characters.
    let lines = paragraph.split_inclusive('\n').scan(0, |at, line| {
        let here = *at;
        *at += line.len();
        Some((here, line))
    });
    let end = lines.skip(1).find(|(_, line)| line.trim().is_empty()).map_or(paragraph.len(), |(at, _)| at);
    let goal = paragraph[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    let goal = goal.trim_end_matches('.');
    (!goal.is_empty()).then(|| (mark..begins + end, goal.to_owned()))
}

/// The text without what stands there.
fn without(text: &str, place: Range<usize>) -> String {
    let (before, after) = (text[..place.start].trim_end(), text[place.end..].trim_start());
    let gap = if before.is_empty() || after.is_empty() { "" } else { "\n" };
    format!("{before}{gap}{after}")
}

fn is_same(one: &str, other: &str) -> bool {
    words(one).iter().map(|word| &word.plain).eq(words(other).iter().map(|word| &word.plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_found_in_a_prompt() {
        for (prompt, goal) in [
            ("A quarrel. Scene goal: Bob apologizes,\n   Alice accepts.", Some("Bob apologizes, Alice accepts")),
            ("Goal: they part.\n\nIt is late.", Some("they part")),
            ("It is late.\ngoal:\nthey part", Some("they part")),
            ("The subgoal: none.", None),
            ("The subgoal: none. Goal: one.", Some("one")),
            ("Nothing is said of it.", None),
            (
                "Scene goal: Bob bittet um Für-\r\nsprache, früh.\r\n\r\nÜbrigens regnet es.",
                Some("Bob bittet um Für- sprache, früh"),
            ),
            ("Scene goal:", None),
            ("ÄÖÜ über. Scene Goal: Größe.", Some("Größe")),
        ] {
            assert_eq!(goal_in(prompt).as_deref(), goal, "{prompt}");
        }
    }

    #[test]
    fn the_goal_is_taken_out_of_what_the_characters_are_told() {
        let quarrel = "A quarrel.\nScene goal: Bob apologizes.\n\nIt rains.";
        let twice = "A quarrel. Scene goal: Bob apologizes.\n\nGoal: he means it.\n\nIt rains.";
        let bare = "A quarrel, and in the end Bob apologizes. It rains.";
        for (prompt, goal, known, secret) in [
            (quarrel, "Bob apologizes", "A quarrel.\nIt rains.", "A quarrel.\nIt rains."),
            // Another goal than the prompt names: the author's words stay.
            (quarrel, "they part", quarrel, "A quarrel.\nIt rains."),
            (twice, "Bob apologizes", "A quarrel.\nGoal: he means it.\n\nIt rains.", "A quarrel.\nIt rains."),
            (bare, "bob apologizes.", bare, "A quarrel, and in the end\nIt rains."),
            ("Scene goal: they part.", "they part", "", ""),
            ("It rains.", "", "It rains.", "It rains."),
        ] {
            let mut settings = Settings { goal: Some(goal.into()), ..Settings::new("quarrel", prompt) };
            assert_eq!((&*settings.context(), &*settings.context_of_characters()), (known, known), "{prompt}");
            settings.goal_known = false;
            assert_eq!((&*settings.context(), &*settings.context_of_characters()), (known, secret), "{prompt}");
            assert_eq!(settings.goal_of_characters(), None);
        }
    }
}
