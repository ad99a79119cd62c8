//! What the moderator's judgement of a beat comes to, or the want of one: everything up to the next beat, or the
//! end. What is computed and not asked is computed here: moods, and whether the scene goes in circles.

use std::collections::BTreeMap;

use super::{
    Decision, Scene, by_moderator, evidence,
    follow::Outlook,
    judgement::{self, ArcState, Judgement},
    mood::Mood,
    pace::BeatFacts,
    player::{Player, Standing},
    repetition,
    settings::Edition,
    vocabulary::kind,
};
use crate::{
    event::Event,
    format::Reaction,
    id::{AgentId, AskId},
    line::{Line, Speaker},
    stage::Stage,
    text::reply,
};

/// How many lines back something counts as said before.
const LOOK_BACK: usize = 24;

impl Scene {
    pub(super) fn judged(&self, stage: &Stage, ask: &AskId, text: &str, is_full: bool) -> Reaction {
        let reading = reply::read(text, &self.director.shape);
        let reading = reading.within_limit(is_full && !self.director.is_asked_again());
        let events = match reading.value {
            Ok(value) => {
                let mut judgement = judgement::from_value(&value, &self.settings, stage.cast());
                let parts = self.goal.parts_with(&judgement.parts);
                let quoted = std::mem::take(&mut judgement.evidence);
                (judgement.evidence, judgement.refuted) = evidence::tried(quoted, parts, self.onstage(stage));
                let following = self.what_follows(stage, Some(&judgement));
                let judged = Event::decision(Decision::Judged { beat: ask.turn, judgement });
                [vec![judged], following].concat()
            }
            Err(problem) if !self.director.is_asked_again() => {
                vec![Event::decision(Decision::Reasked { ask: ask.clone(), problem: problem.to_string() })]
            }
            Err(problem) => self.unjudged(stage, format!("the judgement could not be used, twice: {problem}")),
        };
        Reaction { repairs: reading.repairs, events }
    }

    pub(super) fn unjudged(&self, stage: &Stage, problem: String) -> Vec<Event> {
        let stands_in = self.director.stand_in(stage.cast());
        let unjudged = Event::decision(Decision::Unjudged { beat: self.beat, problem, stands_in });
        [vec![unjudged], self.what_follows(stage, None)].concat()
    }

    /// What follows from this beat, with the judgement of it if there is one.
    fn what_follows(&self, stage: &Stage, judgement: Option<&Judgement>) -> Vec<Event> {
        let spoke = self.who(|player| player.standing == Standing::Spoke);
        let failed = self.who(|player| player.standing == Standing::Failed);
        let is_circling = is_circling(stage.transcript().lines(), self.begins[1]);
        let mut pace = self.pace.clone();
        pace.count(self.facts(&spoke, &failed, is_circling));
        let arcs = self.arcs_with(judgement);
        let arcs: Vec<Option<ArcState>> = self.players.iter().map(|player| arcs.get(&player.id).copied()).collect();
        let is_shown = judgement.is_some_and(|judgement| self.goal.with(judgement).is_shown(self.onstage(stage)));
        let outlook = Outlook {
            is_goal_shown: is_shown || self.settings.edition == Edition::First,
            directed: &self.directed,
            players: &self.players,
            settings: &self.settings,
            seed: stage.setup().seed,
            beat: self.beat,
            max_beats: self.max_beats,
            pace: &pace,
            is_silent: spoke.is_empty(),
            arcs: &arcs,
            judgement,
        };
        let moods = self.moods(stage);
        let mut events =
            vec![Event::decision(Decision::BeatEnded { beat: self.beat, spoke, failed, is_circling, moods })];
        if let Some((reason, goal_achieved)) = outlook.conclusion() {
            events.push(Event::decision(Decision::Concluded { reason, goal_achieved }));
            return events;
        }
        events.extend(outlook.world_events().into_iter().map(|text| by_moderator(kind::EVENT, text, None)));
        events.push(Event::decision(Decision::BeatBegun { beat: self.beat + 1, notes: outlook.notes() }));
        events
    }

    pub(super) fn facts<'a>(&self, spoke: &'a [AgentId], failed: &[AgentId], is_circling: bool) -> BeatFacts<'a> {
        let asked = self.players.iter().filter(|player| player.standing != Standing::Out).count();
        BeatFacts { spoke, all_failed: failed.len() == asked, is_circling }
    }

    pub(super) fn arcs_with(&self, judgement: Option<&Judgement>) -> BTreeMap<AgentId, ArcState> {
        let mut arcs = self.arcs.clone();
        for on in judgement.iter().flat_map(|judgement| &judgement.characters) {
            if let Some(arc) = on.arc {
                arcs.insert(on.character.clone(), arc);
            }
        }
        arcs
    }

    /// The moods after this beat.
    fn moods(&self, stage: &Stage) -> BTreeMap<AgentId, Mood> {
        let lines = self.lines_of_beat(stage);
        let after = |player: &Player| {
            let own = lines.iter().filter(|line| line.speaker == Speaker::Agent(player.id.clone()));
            let tones = own.filter_map(|line| line.delivery.tone.as_deref());
            tones.fold(player.mood.faded(), Mood::with_tone)
        };
        self.players.iter().map(|player| (player.id.clone(), after(player))).collect()
    }

    fn lines_of_beat<'a>(&self, stage: &'a Stage) -> &'a [Line] {
        &stage.transcript().lines()[self.begins[1]..]
    }
}

/// Whether a line has words that a character said.
pub(super) fn spoken(line: &Line) -> bool {
    matches!(line.kind, kind::SPEAK | kind::INTERRUPT)
}

/// Whether everything that was said from this line on its speakers had said before.
pub(super) fn is_circling(lines: &[Line], begins: usize) -> bool {
    let spoken = |line: &&Line| spoken(line);
    let is_repeat = |line: &Line| {
        let until = lines[..line.id.0 as usize].iter().rev().filter(spoken).take(LOOK_BACK + 1);
        let mut until: Vec<(&str, &str)> = until.map(|line| (line.speaker.name(), &*line.text)).collect();
        until.reverse();
        repetition::repeats(&until, LOOK_BACK).is_some() || repetition::repeats_exactly(&until, LOOK_BACK)
    };
    let mut said = lines[begins..].iter().filter(spoken).peekable();
    said.peek().is_some() && said.all(is_repeat)
}
