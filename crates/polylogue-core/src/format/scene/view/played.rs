//! A scene beat by beat: what was done in each, what the moderator made of it, and what it cost.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Conversation, Record,
    event::Event,
    format::scene::{Decision, Judgement, Mood, Note, Relations, Settings, kind, purpose, reason},
    id::{AgentId, AskId, LineId},
    ledger::{Account, Usage},
    line::Speaker,
};

/// A scene as far as its journal goes.
#[derive(Clone, Debug)]
pub struct PlayedScene {
    pub conversation: Conversation,
    pub settings: Settings,
    pub beats: Vec<Beat>,
    pub goal_achieved: bool,
    /// What went wrong besides the characters' own failures, in words.
    pub warnings: Vec<String>,
}

/// One beat, counted from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub number: u32,
    /// What the characters were told before it.
    pub notes: Vec<Note>,
    /// What was said and done in it, and what happened before it.
    pub lines: Vec<LineId>,
    pub silent: Vec<Silence>,
    /// People who did not speak while they were waited for.
    pub passed_over: Vec<AgentId>,
    /// Who could not be reached, and why.
    pub failed: Vec<(AgentId, String)>,
    pub judgement: Option<Judgement>,
    /// Why there is no judgement, if there is none.
    pub unjudged: Option<String>,
    /// How the characters feel after it.
    pub moods: BTreeMap<AgentId, Mood>,
    /// What is between them after it.
    pub relations: Relations,
    pub account: Account,
    pub is_over: bool,
}

/// Somebody who chose to say nothing, and what they did meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    pub who: AgentId,
    pub nonverbal: Vec<Arc<str>>,
}

impl PlayedScene {
    /// `None` where the records are not a scene's.
    pub fn of(records: &[Record]) -> Option<PlayedScene> {
        let conversation = Conversation::replay(&records[..1.min(records.len())]).ok()?;
        let settings = conversation.stage().setup().format.settings::<Settings>()?.clone();
        let mut played =
            PlayedScene { conversation, settings, beats: Vec::new(), goal_achieved: false, warnings: Vec::new() };
        let opening = played.settings.opening();
        played.beat(0).notes.extend(opening);
        played.take_lines(0);
        for record in &records[1..] {
            played.fold(record);
        }
        Some(played)
    }

    /// How many beats are over.
    pub fn total_beats(&self) -> u32 {
        self.beats.iter().filter(|beat| beat.is_over).count() as u32
    }

    pub fn name_of<'a>(&'a self, agent: &'a AgentId) -> &'a str {
        self.settings.name_of(agent)
    }

    fn beat(&mut self, number: u32) -> &mut Beat {
        while self.beats.len() <= number as usize {
            let (moods, relations) =
                self.beats.last().map(|last| (last.moods.clone(), last.relations.clone())).unwrap_or_default();
            self.beats.push(Beat {
                number: self.beats.len() as u32,
                notes: Vec::new(),
                lines: Vec::new(),
                silent: Vec::new(),
                passed_over: Vec::new(),
                failed: Vec::new(),
                judgement: None,
                unjudged: None,
                moods,
                relations,
                account: Account::default(),
                is_over: false,
            });
        }
        &mut self.beats[number as usize]
    }

    /// Lines that are in no beat yet belong to this one.
    fn take_lines(&mut self, number: u32) {
        let placed: usize = self.beats.iter().map(|beat| beat.lines.len()).sum();
        let new: Vec<LineId> =
            self.conversation.stage().transcript().lines()[placed..].iter().map(|line| line.id).collect();
        if !new.is_empty() {
            self.beat(number).lines.extend(new);
        }
    }

    fn fold(&mut self, record: &Record) {
        self.conversation.apply(record);
        match &record.event {
            Event::Answered { ask, usage, is_edited: false, .. } => self.charge(ask, *usage),
            Event::AskFailed { ask, failure, usage, .. } => {
                if usage.total() > 0 {
                    self.charge(ask, *usage);
                }
                // A memory is put down after the last beat: it is missed by nobody in it.
                if ask.purpose == purpose::ACT {
                    let why = super::report::failure_in_words(failure, self.conversation.stage().limits());
                    self.beat(ask.turn).failed.push((ask.agent.clone(), why));
                }
            }
            Event::AskCut { ask, usage, .. } if usage.total() > 0 => self.charge(ask, *usage),
            Event::Resumed { lost, .. } => lost.iter().for_each(|lost| self.charge(&lost.ask, lost.usage)),
            Event::LineSpoken { speaker, kind, ask, .. } => {
                let next = self.beats.iter().rfind(|beat| beat.is_over).map_or(0, |beat| beat.number + 1);
                let number = match (speaker, *kind, ask) {
                    (Speaker::Moderator, kind::EVENT, _) | (_, _, None) => next,
                    (_, _, Some(ask)) => ask.turn,
                };
                self.take_lines(number);
            }
            Event::Forked { .. } => {
                // What was spent before the fork was spent by the other session.
                self.beats.iter_mut().for_each(|beat| beat.account = Account::default());
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.fold_decision(decision);
                }
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn fold_decision(&mut self, decision: &Decision) {
        match decision {
            Decision::StayedSilent { ask, nonverbal } => {
                let silence = Silence { who: ask.agent.clone(), nonverbal: nonverbal.clone() };
                self.beat(ask.turn).silent.push(silence);
            }
            Decision::PassedOver { ask } => self.beat(ask.turn).passed_over.push(ask.agent.clone()),
            Decision::Judged { beat, judgement } => {
                let beat = self.beat(*beat);
                judgement.relations.iter().for_each(|shift| beat.relations.shift(shift));
                beat.judgement = Some(judgement.clone());
            }
            Decision::Unjudged { beat, problem, stands_in } => {
                self.beat(*beat).unjudged = Some(problem.clone());
                let then = stands_in.as_ref().map(|other| format!("; {other} takes over")).unwrap_or_default();
                self.warnings.push(format!("The moderator failed in beat {beat}: {problem}{then}"));
            }
            Decision::BeatEnded { beat, moods, .. } => {
                let beat = self.beat(*beat);
                beat.moods = moods.clone();
                beat.is_over = true;
            }
            Decision::BeatBegun { beat, notes } => self.beat(*beat).notes.extend(notes.iter().cloned()),
            Decision::Directed { note, .. } => {
                let beat = self.beats.iter().rfind(|beat| beat.is_over).map_or(0, |beat| beat.number + 1);
                self.beat(beat).notes.extend(note.iter().cloned());
            }
            Decision::Concluded { reason, goal_achieved } => {
                self.goal_achieved = *goal_achieved;
                if *reason == reason::MAX_BEATS_EXCEEDED {
                    self.warnings.push(without_conclusion(self.total_beats()));
                }
            }
            Decision::NotRemembered { character, problem } => {
                self.warnings.push(format!("{} remembers nothing of it: {problem}", self.name_of(character)));
            }
            Decision::Bid { .. }
            | Decision::FloorGranted { .. }
            | Decision::Waited { .. }
            | Decision::Salvaged { .. }
            | Decision::Reasked { .. }
            | Decision::WaitBegun { .. }
            | Decision::Remembered { .. } => {}
        }
    }

    fn charge(&mut self, ask: &AskId, usage: Usage) {
        let price = self.conversation.stage().cast().agent(&ask.agent).and_then(|agent| agent.price);
        let cost = price.map(|price| price.of(&usage));
        self.beat(ask.turn).account += Account { calls: 1, usage, cost };
    }
}

/// What is said about a scene that used up its beats.
pub(super) fn without_conclusion(beats: u32) -> String {
    format!("Scene reached max beats ({beats}) without natural conclusion")
}
