//! Scene: every beat all characters get the update at once, and each speaks, interrupts, reacts or stays silent
//! as it pleases; then the moderator judges the beat, and the scene goes on or ends.
//!
//! A beat has two phases: the characters, all at once, then the judgement. What follows from a judgement, up to
//! the beginning of the next beat, is decided together with it. A character that fails is missed for one beat,
//! a moderator that fails for one judgement: neither ends the scene.

mod act;
mod director;
mod follow;
mod grammar;
mod judge;
mod judgement;
mod pace;
mod player;
mod relations;
mod settings;
mod told;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use self::{
    director::{Director, Report},
    pace::Pace,
    player::{Player, Standing, Update},
};
pub use self::{
    follow::{Note, NoteKind},
    judgement::{ArcState, Judgement, OnCharacter, Shift},
    relations::Relations,
    settings::{AgentMode, Scheduled, Settings, WorldEvents},
};
use super::{Place, Reaction, Rules, Wants};
use crate::{
    ask::Request,
    bracket,
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Purpose},
    line::{Delivery, Line, LineKind, Speaker},
    mood::Mood,
    reason::{Ending, Reason},
    setup::BadSetup,
    stage::Stage,
    step::Rejected,
};
pub(crate) use told::action_of;

/// The moderator's name in the cast.
pub const MODERATOR: &str = "moderator";
/// The name of whoever stands in for it.
pub const STAND_IN: &str = "moderator-fallback";

/// The most of a memory that is kept.
const MAX_MEMORY_CHARS: usize = 600;

/// What only a scene decides. Beats are counted from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// A character chose to say nothing.
    StayedSilent {
        ask: AskId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nonverbal: Vec<Arc<str>>,
    },
    /// A reply was not in its form: what was wrong, and what was made of it.
    Salvaged {
        ask: AskId,
        problems: Vec<bracket::Problem>,
    },
    /// A judgement could not be read, and is asked for once more.
    Reasked {
        ask: AskId,
        problem: String,
    },
    Judged {
        beat: u32,
        judgement: Judgement,
    },
    /// The scene goes on without a judgement of this beat.
    Unjudged {
        beat: u32,
        problem: String,
        /// Who judges from now on, if it is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stands_in: Option<AgentId>,
    },
    BeatEnded {
        beat: u32,
        spoke: Vec<AgentId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<AgentId>,
        /// Whether everything that was said had been said before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_circling: bool,
        moods: BTreeMap<AgentId, Mood>,
    },
    BeatBegun {
        beat: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<Note>,
    },
    Concluded {
        reason: Reason,
        goal_achieved: bool,
    },
    /// What a character takes along from the scene.
    Remembered {
        character: AgentId,
        text: Arc<str>,
    },
    /// A character takes nothing along: why.
    NotRemembered {
        character: AgentId,
        problem: String,
    },
}

/// The state of a scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    settings: Arc<Settings>,
    max_beats: u32,
    beat: u32,
    /// Where the beat before this one begins in the transcript, and where this one does.
    begins: [usize; 2],
    players: Vec<Player>,
    director: Director,
    pace: Pace,
    relations: Relations,
    arcs: BTreeMap<AgentId, ArcState>,
    /// How many beats are over.
    beats: u32,
    over: Option<Reason>,
}

impl Scene {
    pub(crate) fn new(settings: &Settings, stage: &mut Stage, started: &Record) -> Result<Self, BadSetup> {
        let mut players = Vec::with_capacity(stage.cast().agents().len());
        for agent in stage.cast().agents() {
            players.push(Player::new(agent, settings, stage)?);
        }
        let mut scene = Scene {
            settings: Arc::new(settings.clone()),
            max_beats: settings.max_beats,
            beat: 0,
            begins: [0, 0],
            players,
            director: Director::new(settings, stage)?,
            pace: Pace::default(),
            relations: Relations::default(),
            arcs: BTreeMap::new(),
            beats: 0,
            over: None,
        };
        scene.try_templates(stage)?;
        if let WorldEvents::At(events) = &settings.events {
            for event in events.iter().filter(|event| event.beat == 0) {
                stage.say(started, Speaker::Moderator, LineKind::Event, None, &event.text, None);
            }
        }
        scene.begin(stage, 0, settings.opening().as_slice());
        Ok(scene)
    }

    /// A replaced template that cannot be filled is found before the first call.
    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        let templates = stage.templates();
        let player = &self.players[0];
        templates.try_render("scene_update.j2", &player.variables(stage, &self.update(0, &[], player)))?;
        let report = self.director.variables(stage, &self.settings, &self.report(stage));
        templates.try_render("scene_moderator_beat.j2", &report)?;
        templates.try_render("scene_again.j2", &minijinja::context! { problem => "problem" })?;
        let lines: [&str; 0] = [];
        let memory = minijinja::context! { name => &player.name, scene => &self.settings.name, lines => lines };
        templates.try_render("scene_memory.j2", &memory).map(|_| ())
    }

    fn player(&self, agent: &AgentId) -> Option<&Player> {
        self.players.iter().find(|player| player.id == *agent)
    }

    fn player_mut(&mut self, agent: &AgentId) -> Option<&mut Player> {
        self.players.iter_mut().find(|player| player.id == *agent)
    }

    fn who(&self, which: impl Fn(&Player) -> bool) -> Vec<AgentId> {
        self.players.iter().filter(|player| which(player)).map(|player| player.id.clone()).collect()
    }

    /// Opens a beat for everybody; the first is the initial speaker's alone, if there is one.
    fn begin(&mut self, stage: &Stage, beat: u32, notes: &[Note]) {
        self.beat = beat;
        self.begins = [self.begins[1], stage.transcript().lines().len()];
        for at in 0..self.players.len() {
            let plays = beat > 0 || self.settings.initial_speaker.as_ref().is_none_or(|id| *id == self.players[at].id);
            if !plays {
                self.players[at].standing = Standing::Out;
                continue;
            }
            let settings = self.settings.clone();
            let Update { notes, feelings, .. } = self.update(beat, notes, &self.players[at]);
            self.players[at].open(stage, &Update { beat, settings: &settings, notes, feelings });
        }
    }

    fn update(&self, beat: u32, notes: &[Note], player: &Player) -> Update<'_> {
        let notes = notes.iter().filter(|note| note.is_for(&player.id)).map(|note| note.text.clone()).collect();
        Update { beat, settings: &self.settings, notes, feelings: self.feelings_of(player) }
    }

    /// The moods and what is between the characters, in one line, as one of them sees it.
    fn feelings_of(&self, player: &Player) -> Option<String> {
        let mut parts = Vec::new();
        if player.has_mood() {
            parts.push(format!("you are {}", player.mood));
        }
        for other in self.players.iter().filter(|other| other.id != player.id && other.has_mood()) {
            parts.push(format!("{} seems {}", other.name, other.mood));
        }
        for (other, value) in self.relations.of(&player.id) {
            parts.push(format!("you and {} are {}", self.settings.name_of(other), Relations::word(value)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The same as the moderator sees it.
    fn feelings(&self) -> Option<String> {
        let moods = self.players.iter().filter(|player| player.has_mood());
        let moods = moods.map(|player| format!("{} {}", player.name, player.mood));
        let pairs = self.relations.pairs().map(|(one, other, value)| {
            let (one, other) = (self.settings.name_of(one), self.settings.name_of(other));
            format!("{one} and {other} {} ({value})", Relations::word(value))
        });
        let parts: Vec<String> = moods.chain(pairs).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn report(&self, stage: &Stage) -> Report {
        let names = |standing: &Standing| -> Vec<String> {
            let who = self.players.iter().filter(|player| player.standing == *standing);
            who.map(|player| player.name.to_string()).collect()
        };
        Report {
            beat: self.beat,
            max_beats: self.max_beats,
            silent: names(&Standing::Silent),
            failed: names(&Standing::Failed),
            stuck: self.pace.stuck(),
            is_circling: self.is_circling(stage),
            feelings: self.feelings(),
        }
    }

    fn conclude(&mut self, reason: Reason) {
        self.over = Some(reason);
        let is_played = reason.ending() == Ending::Complete || reason.ending() == Ending::UsedUp;
        let owes = is_played && self.settings.memory && self.settings.story.is_some();
        self.players.iter_mut().for_each(|player| player.owes_memory = owes);
    }

    /// A scene that could not go on for want of beats or of anybody to ask goes on with another beat.
    fn go_on(&mut self, stage: &Stage) {
        let is_open = match self.over {
            Some(Reason::MaxBeatsExceeded) => self.beat + 1 < self.max_beats,
            Some(Reason::Failed) => {
                self.pace.reach_again();
                true
            }
            _ => false,
        };
        if is_open {
            self.over = None;
            self.begin(stage, self.beat + 1, &[]);
        }
    }

    fn fold_decision(&mut self, stage: &mut Stage, decision: &Decision) {
        match decision {
            Decision::StayedSilent { ask, .. } => self.stand(&ask.agent, Standing::Silent),
            Decision::Salvaged { .. } => {}
            Decision::Reasked { ask, problem } => {
                stage.spend_attempt(ask);
                self.director.ask_again(problem);
            }
            Decision::Judged { judgement, .. } => {
                self.director.judged(self.settings.agent_mode);
                self.arcs = self.arcs_with(Some(judgement));
                judgement.relations.iter().for_each(|shift| self.relations.shift(shift));
            }
            Decision::Unjudged { stands_in, .. } => {
                self.director.failed(stands_in.as_ref(), self.settings.agent_mode);
            }
            Decision::BeatEnded { spoke, failed, is_circling, moods, .. } => {
                let facts = self.facts(spoke, failed, *is_circling);
                self.pace.count(facts);
                self.beats += 1;
                for (agent, mood) in moods {
                    if let Some(player) = self.player_mut(agent) {
                        player.mood = *mood;
                    }
                }
            }
            Decision::BeatBegun { beat, notes } => {
                if notes.iter().any(|note| note.kind == NoteKind::Stall) {
                    self.pace.intervene();
                }
                self.begin(stage, *beat, notes);
            }
            Decision::Concluded { reason, .. } => self.conclude(*reason),
            Decision::Remembered { character, .. } | Decision::NotRemembered { character, .. } => {
                if let Some(player) = self.player_mut(character) {
                    player.owes_memory = false;
                }
            }
        }
    }

    fn stand(&mut self, agent: &AgentId, standing: Standing) {
        if let Some(player) = self.player_mut(agent) {
            player.standing = standing;
        }
    }
}

impl Rules for Scene {
    fn wants(&self, _: &Stage) -> Wants {
        let place = |purpose, agent: &AgentId| Place { purpose, turn: self.beat, agent: agent.clone() };
        if let Some(reason) = self.over {
            let owing = self.players.iter().filter(|player| player.owes_memory);
            let places: Vec<Place> = owing.map(|player| place(Purpose::Remember, &player.id)).collect();
            return if places.is_empty() { Wants::End(reason) } else { Wants::Epilogue(places, reason) };
        }
        let open = self.players.iter().filter(|player| player.is_open());
        let places: Vec<Place> = open.map(|player| place(Purpose::Act, &player.id)).collect();
        if places.is_empty() {
            return Wants::Asks(vec![place(Purpose::Judge, &self.director.who)]);
        }
        Wants::Asks(places)
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        match (ask.purpose, self.player(&ask.agent)) {
            (Purpose::Remember, Some(player)) => player.memory_request(stage, &self.settings, agent),
            (_, Some(player)) => player.request(agent),
            (_, None) => self.director.request(stage, &self.settings, &self.report(stage), agent),
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction {
        match ask.purpose {
            Purpose::Judge => self.judged(stage, ask, text),
            Purpose::Remember => {
                let text = memory(text);
                let character = ask.agent.clone();
                let decision = match text.is_empty() {
                    true => Decision::NotRemembered { character, problem: "the reply is empty".to_owned() },
                    false => Decision::Remembered { character, text },
                };
                Reaction { repairs: Vec::new(), events: vec![Event::Scene(decision)] }
            }
            _ => Reaction { repairs: Vec::new(), events: self.acted(stage, ask, text) },
        }
    }

    fn failed(&self, stage: &Stage, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
        match ask.purpose {
            Purpose::Judge => self.unjudged(stage, failure.message.clone()),
            Purpose::Remember => {
                let (character, problem) = (ask.agent.clone(), failure.message.clone());
                vec![Event::Scene(Decision::NotRemembered { character, problem })]
            }
            _ => {
                let text = format!("{} unable to respond", self.settings.name_of(&ask.agent));
                vec![by_moderator(LineKind::System, text.into(), Some(ask.clone()))]
            }
        }
    }

    /// A scene is watched, not taken part in.
    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        Err(Rejected::NotYourTurn(who.clone()))
    }

    fn bound(&self) -> Option<u32> {
        Some(self.max_beats)
    }

    fn beats(&self) -> Option<u32> {
        Some(self.beats)
    }

    /// The end of a scene is part of its transcript's form.
    fn notice(&self, _: &Stage, _: Reason) -> Option<Arc<str>> {
        None
    }

    fn clip_place(&self, _: &Stage, line: &Line) -> Vec<String> {
        let Some(ask) = &line.ask else { return Vec::new() };
        let LineId(number) = line.id;
        vec![format!("beat_{}", ask.turn), format!("{number:03}_{}", ask.agent)]
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::Answered { ask, text, .. } => match ask.purpose {
                Purpose::Act => {
                    let mode = self.settings.agent_mode;
                    if let Some(player) = self.player_mut(&ask.agent) {
                        player.remember(text, mode);
                    }
                }
                Purpose::Judge => {
                    let mut director = self.director.clone();
                    director.remember(stage, &self.settings, &self.report(stage), text);
                    self.director = director;
                }
                _ => {}
            },
            Event::LineSpoken { kind, ask, .. } => match (kind, ask) {
                (LineKind::System, Some(ask)) => self.stand(&ask.agent, Standing::Failed),
                (LineKind::Event, _) => self.pace.event_in(self.beat + 1),
                (_, Some(ask)) => self.stand(&ask.agent, Standing::Spoke),
                (_, None) => {}
            },
            Event::Scene(decision) => self.fold_decision(stage, decision),
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                self.max_beats = change.max_rounds.unwrap_or(self.max_beats);
                self.go_on(stage);
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Collaboration(_)
            | Event::Chorus(_)
            | Event::Discussion(_)
            | Event::Ended { .. } => {}
        }
    }
}

/// What the moderator puts into the transcript: an event of the world, or word of a character who is missed.
fn by_moderator(kind: LineKind, text: Arc<str>, ask: Option<AskId>) -> Event {
    let delivery = Delivery::default();
    Event::LineSpoken { speaker: Speaker::Moderator, kind, text, ask, to: None, voice: None, delivery }
}

/// A memory as one short paragraph.
fn memory(text: &str) -> Arc<str> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_matches('"');
    match words.char_indices().nth(MAX_MEMORY_CHARS) {
        None => words.into(),
        Some((end, _)) => {
            let kept = &words[..end];
            let whole = kept.rfind(['.', '!', '?']).map_or(kept, |at| &kept[..=at]);
            whole.into()
        }
    }
}
