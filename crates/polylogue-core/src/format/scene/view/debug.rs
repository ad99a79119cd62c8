//! `debug.log`: everything that happened in a scene, in order, for people who wonder why it went as it did.

use std::fmt::Write;

use super::{played::without_conclusion, report::failure_in_words};
use crate::{
    Conversation, Reason, Record, Timestamp,
    event::Event,
    format::scene::{Decision, Mood, Note, Settings, beats_over, reason},
    id::AgentId,
    ledger::Usage,
};

/// The log of a scene; `None` where the records are not one's.
pub fn debug_log(records: &[Record]) -> Option<String> {
    let conversation = Conversation::replay(&records[..1.min(records.len())]).ok()?;
    let settings = conversation.stage().setup().format.settings::<Settings>()?.clone();
    let mut log = Log { began: records[0].at, settings, conversation, text: String::new() };
    log.heading();
    for record in &records[1..] {
        log.conversation.apply(record);
        log.record(record);
    }
    Some(log.text)
}

struct Log {
    began: Timestamp,
    settings: Settings,
    conversation: Conversation,
    text: String,
}

impl Log {
    /// One thing that happened: when, what it is, and what there is to say of it. Text of several lines is indented.
    fn line(&mut self, at: Timestamp, what: &str, text: impl AsRef<str>) {
        let ms = at.since(self.began);
        let text = text.as_ref().trim_end().replace('\n', "\n                     ");
        let _ = writeln!(self.text, "{:>6}.{:03}  {what:<7}  {text}", ms / 1000, ms % 1000);
    }

    fn heading(&mut self) {
        let stage = self.conversation.stage();
        let setup = stage.setup();
        let (id, seed, began) = (setup.id, setup.seed, self.began);
        let who: Vec<String> =
            stage.cast().everyone().map(|agent| format!("{} ({})", agent.name, agent.model)).collect();
        let _ = writeln!(self.text, "{} · session {id} · seed {seed} · began {began}", self.settings.name);
        let _ = writeln!(self.text, "{}\n", who.join(", "));
        self.line(began, "BEAT", "0");
        let opening = self.settings.opening();
        self.notes(began, opening.as_slice());
    }

    fn notes(&mut self, at: Timestamp, notes: &[Note]) {
        for note in notes {
            let to = note.to.as_ref().map_or("everybody", |to| self.settings.name_of(to));
            let text = format!("to {to}, {}: {}", note.kind.as_str(), note.text);
            self.line(at, "note", text);
        }
    }

    fn name(&self, agent: &AgentId) -> String {
        self.settings.name_of(agent).to_owned()
    }

    fn record(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::Asked { ask, digest, .. } => {
                let model = self.conversation.stage().cast().agent(&ask.agent).map(|agent| agent.model.to_string());
                let digest = String::from(*digest);
                self.line(at, "ask", format!("{ask} · {} · request {digest}", model.unwrap_or_default()));
            }
            Event::Answered { ask, text, is_edited: true, .. } => {
                self.line(at, "edited", format!("{ask}\n{text}"));
            }
            Event::Answered { ask, text, usage, retries, repairs, is_full, is_edited: false, .. } => {
                let retried = if *retries > 0 { format!(" · {retries} retries") } else { String::new() };
                let full = if *is_full { " · broke off at the output limit" } else { "" };
                let repaired = if repairs.is_empty() { String::new() } else { format!(" · repaired: {repairs:?}") };
                self.line(at, "reply", format!("{ask} · {}{retried}{repaired}{full}\n{text}", tokens(usage)));
            }
            Event::AskFailed { ask, failure, retries, .. } => {
                let why = failure_in_words(failure, self.conversation.stage().limits());
                let why = if why == failure.message { why } else { format!("{why} ({})", failure.message) };
                self.line(at, "ERROR", format!("{ask} failed after {retries} retries: {why}"));
            }
            Event::AskCut { ask, partial, .. } => self.line(at, "cut off", format!("{ask}: {partial}")),
            Event::LineSpoken { .. } => {
                let said = self.conversation.stage().transcript().lines().last().cloned();
                if let Some(line) = said {
                    let entry = super::text::entry(&line, &self.settings).to_string().replace('\n', " ");
                    self.line(at, "line", format!("{}: {entry}", line.id));
                }
            }
            Event::LineCut { line, after, by } => {
                let by = self.name(by);
                self.line(at, "cut", format!("line {line} after \"{after}\", by {by}"));
            }
            Event::ClipMade { line, clip } => self.line(at, "clip", format!("line {line}: {} ms", clip.duration_ms)),
            Event::ClipFailed { line, error } => self.line(at, "WARN", format!("line {line} has no clip: {error}")),
            Event::Narrated { of, clip } => {
                self.line(at, "narrator", format!("record {of}: {} ms", clip.duration_ms));
            }
            Event::NarrationFailed { of, error } => {
                self.line(at, "WARN", format!("record {of} is not narrated: {error}"));
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.decision(at, decision);
                }
            }
            Event::Resumed { .. } => self.line(at, "resumed", ""),
            Event::Forked { from, at: seq, .. } => self.line(at, "forked", format!("from {from} at record {seq}")),
            Event::Ended { reason, .. } => self.line(at, "END", reason.as_str()),
            Event::HumanSpoke { who, text, .. } => self.line(at, "person", format!("{who} wrote\n{text}")),
            Event::Started { .. } => {}
        }
    }

    fn decision(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::StayedSilent { ask, nonverbal } => {
                let acts: Vec<String> = nonverbal.iter().map(|act| format!(" *{act}*")).collect();
                let text = format!("{}{}", self.name(&ask.agent), acts.concat());
                self.line(at, "SILENT", text);
            }
            Decision::WaitBegun { characters, seconds } => {
                let names: Vec<String> = characters.iter().map(|character| self.name(character)).collect();
                let names = if names.is_empty() { "nobody any more".to_owned() } else { names.join(", ") };
                let bound = seconds.map_or("however long it takes".to_owned(), |seconds| format!("for {seconds} s"));
                self.line(at, "waits", format!("for {names}, {bound}"));
            }
            Decision::PassedOver { ask } => {
                let name = self.name(&ask.agent);
                self.line(at, "SILENT", format!("{name}, who was passed over"));
            }
            Decision::Bid { ask, want, cuts_in } => {
                let cuts_in = if *cuts_in { ", and to cut in" } else { "" };
                self.line(at, "bid", format!("{} wants to speak {want} of 9{cuts_in}", self.name(&ask.agent)));
            }
            Decision::FloorGranted { to, .. } => {
                let names: Vec<String> = to.iter().map(|agent| self.name(agent)).collect();
                self.line(at, "floor", names.join(", "));
            }
            Decision::Waited { ask } => {
                let text = format!("{} has to wait", self.name(&ask.agent));
                self.line(at, "WAITED", text);
            }
            Decision::Salvaged { ask, problems } => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                self.line(at, "WARN", format!("{ask} was salvaged: {}", problems.join(" ")));
            }
            Decision::Reasked { ask, problem } => {
                self.line(at, "WARN", format!("{ask} is asked once more: {problem}"));
            }
            Decision::Judged { judgement, .. } => {
                let text = judgement.in_words(&self.settings);
                self.line(at, "judged", text);
            }
            Decision::Unjudged { problem, stands_in, .. } => {
                let then = stands_in.as_ref().map(|other| format!("; {other} takes over")).unwrap_or_default();
                self.line(at, "WARN", format!("the moderator failed: {problem}{then}"));
            }
            Decision::BeatEnded { is_circling, moods, .. } => {
                let moods: Vec<String> =
                    moods.iter().map(|(agent, mood)| format!("{} {}", self.name(agent), described(*mood))).collect();
                self.line(at, "moods", moods.join(", "));
                if *is_circling {
                    self.line(at, "WARN", "what was said had been said before");
                }
            }
            Decision::BeatBegun { beat, notes } => {
                self.line(at, "BEAT", beat.to_string());
                self.notes(at, notes);
            }
            Decision::Directed { note, .. } => self.notes(at, note.as_slice()),
            Decision::Concluded { reason, goal_achieved } => {
                let goal = if *goal_achieved { "the goal is reached" } else { "the goal is not reached" };
                let level = if *reason == Reason::FAILED { "ERROR" } else { "over" };
                self.line(at, level, format!("{reason}: {goal}"));
                if *reason == reason::MAX_BEATS_EXCEEDED {
                    let beats = beats_over(&self.conversation);
                    self.line(at, "WARN", without_conclusion(beats));
                }
            }
            Decision::Remembered { character, text } => {
                let text = format!("{}: {text}", self.name(character));
                self.line(at, "memory", text);
            }
            Decision::NotRemembered { character, problem } => {
                let text = format!("{} remembers nothing: {problem}", self.name(character));
                self.line(at, "WARN", text);
            }
        }
    }
}

fn described(mood: Mood) -> String {
    format!("{} ({:+}, {})", mood.word(), mood.valence, mood.arousal)
}

fn tokens(usage: &Usage) -> String {
    let mark = if usage.estimated { "~" } else { "" };
    format!("{mark}{} in, {} cached, {} out", usage.input, usage.cached, usage.output)
}
