//! The transcript of a scene from its journal.

use super::{
    Entry, SceneText,
    transcript::{CUT, titled},
};
use crate::{
    Conversation, Reason,
    format::scene::{
        Settings, TranscriptForm, beats_over,
        bracket::Action,
        silences,
        told::{NOW, action_of},
        vocabulary::{kind, reason},
    },
    line::{Line, Speaker},
    projection::grouped,
};

impl SceneText {
    /// `None` where the conversation is not a scene.
    pub fn of(conversation: &Conversation) -> Option<SceneText> {
        let stage = conversation.stage();
        let settings = stage.setup().format.settings::<Settings>()?;
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let characters = stage.cast().agents().iter().map(|agent| settings.name_of(&agent.name).to_owned());
        let total = stage.ledger().total();
        let about = if total.usage.estimated { "~" } else { "" };
        let cost = total.cost.map_or("unknown".to_owned(), |usd| format!("{usd} USD"));
        let beats = beats_over(conversation);
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
            entries: entries(conversation, settings),
            end: stage.ended().map(|reason| end_in_words(reason).to_owned()),
            statistics: statistics.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        })
    }
}

/// The lines, and what was done in silence where the scene's transcript shows it.
fn entries(conversation: &Conversation, settings: &Settings) -> Vec<Entry> {
    let lines = conversation.stage().transcript().lines().iter();
    let mut entries: Vec<_> = lines.map(|line| (line.seq, entry(line, settings))).collect();
    if settings.transcript == TranscriptForm::Full {
        entries.extend(silences(conversation).iter().map(|seen| {
            let action = Action { nonverbal: seen.nonverbal.clone(), ..Action::silent() };
            let speaker = settings.name_of(&seen.who).to_owned();
            (seen.at, Entry::Said { speaker, action, is_cut: false })
        }));
        entries.sort_by_key(|(at, _)| *at);
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// A line as the transcript has it.
pub fn entry(line: &Line, settings: &Settings) -> Entry {
    match (&line.speaker, action_of(line, settings, NOW)) {
        (Speaker::Agent(agent), Some(mut action)) => {
            let heard = action.text.strip_suffix(CUT).filter(|_| line.cut_after.is_some() && action.text != line.text);
            let is_cut = heard.is_some();
            if let Some(heard) = heard {
                action.text = heard.into();
            }
            Entry::Said { speaker: settings.name_of(agent).to_owned(), action, is_cut }
        }
        (_, _) if line.kind == kind::EVENT => Entry::Event(line.text.to_string()),
        (_, _) => Entry::System(line.text.to_string()),
    }
}

/// How a scene ended, as its last line says it.
fn end_in_words(reason: Reason) -> &'static str {
    match reason {
        reason::GOAL_ACHIEVED => "Goal: Achieved",
        reason::NATURAL_END => "Natural end",
        reason::MAX_BEATS_EXCEEDED => "Maximum length reached",
        reason::STALLED => "Stalled",
        Reason::CANCELLED => "Cancelled",
        Reason::LIMIT_USD => "Cost limit reached",
        Reason::LIMIT_TOKENS => "Token limit reached",
        Reason::LIMIT_SECONDS => "Time limit reached",
        Reason::FAILED => "Failed",
        _ => "Ended",
    }
}
