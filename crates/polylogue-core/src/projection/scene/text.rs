//! The transcript of a scene from its journal.

use super::{
    Entry, SceneText,
    transcript::{CUT, titled},
};
use crate::{
    Conversation, Reason,
    format::scene::{Settings, action_of},
    line::{Line, LineKind, Speaker},
    setup::FormatSetup,
};

impl SceneText {
    /// `None` where the conversation is not a scene.
    pub fn of(conversation: &Conversation) -> Option<SceneText> {
        let stage = conversation.stage();
        let FormatSetup::Scene(settings) = &stage.setup().format else { return None };
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let characters = stage.cast().agents().iter().map(|agent| settings.name_of(&agent.name).to_owned());
        let total = stage.ledger().total();
        let about = if total.usage.estimated { "~" } else { "" };
        let cost = total.cost.map_or("unknown".to_owned(), |usd| format!("{usd} USD"));
        let beats = conversation.beats().unwrap_or_default();
        let statistics = [
            ("Duration", format!("{beats} beat{}", if beats == 1 { "" } else { "s" })),
            ("Processing time", format!("{:.1}s", stage.active_ms() as f64 / 1000.0)),
            ("Total tokens", format!("{about}{}", grouped(total.usage.total()))),
            ("Estimated cost", cost),
        ];
        Some(SceneText {
            title: titled(&settings.name),
            characters: characters.collect(),
            goal: settings.goal.as_deref().map(one_line),
            generated: stage.last_at().to_string().get(..19).unwrap_or_default().replace('T', " "),
            setting: settings.setting.as_deref().map(one_line),
            entries: stage.transcript().lines().iter().map(|line| entry(line, settings)).collect(),
            end: stage.ended().map(|reason| end_in_words(reason).to_owned()),
            statistics: statistics.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        })
    }
}

/// A line as the transcript has it.
pub fn entry(line: &Line, settings: &Settings) -> Entry {
    match (&line.speaker, action_of(line, settings)) {
        (Speaker::Agent(agent), Some(mut action)) => {
            let heard = action.text.strip_suffix(CUT).filter(|_| line.cut_after.is_some() && action.text != line.text);
            let is_cut = heard.is_some();
            if let Some(heard) = heard {
                action.text = heard.into();
            }
            Entry::Said { speaker: settings.name_of(agent).to_owned(), action, is_cut }
        }
        (_, _) if line.kind == LineKind::Event => Entry::Event(line.text.to_string()),
        (_, _) => Entry::System(line.text.to_string()),
    }
}

/// How a scene ended, as its last line says it.
fn end_in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::GoalAchieved => "Goal: Achieved",
        Reason::NaturalEnd => "Natural end",
        Reason::MaxBeatsExceeded => "Maximum length reached",
        Reason::Stalled => "Stalled",
        Reason::Cancelled => "Cancelled",
        Reason::LimitUsd => "Cost limit reached",
        Reason::LimitTokens => "Token limit reached",
        Reason::LimitSeconds => "Time limit reached",
        Reason::Failed => "Failed",
        Reason::Final | Reason::NoHandoff | Reason::CapReached | Reason::MalformedReply | Reason::Completed => "Ended",
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or("")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
