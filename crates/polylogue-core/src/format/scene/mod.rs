//! Scene: every beat all characters get the update at once, and each speaks, interrupts, reacts or stays silent
//! as it pleases; then the moderator judges the beat, and the scene goes on or ends.
//!
//! A beat has two phases: the characters, all at once, then the judgement. What follows from a judgement, up to
//! the beginning of the next beat, is decided together with it. A character that fails is missed for one beat,
//! a moderator that fails for one judgement: neither ends the scene.

mod act;
mod being_said;
pub mod bracket;
mod decision;
mod direct;
mod director;
mod evidence;
mod feelings;
mod floor;
mod follow;
mod goal;
mod grammar;
mod judge;
mod judgement;
mod mood;
mod notes;
mod pace;
mod person;
mod player;
mod recall;
mod relations;
mod repetition;
mod settings;
mod small;
mod stock;
mod story;
mod told;
mod view;
mod vocabulary;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::context;

pub use self::{
    being_said::{Watcher, being_said},
    decision::Decision,
    evidence::Evidence,
    feelings::{Bond, Feelings, Left, carried_over},
    follow::{Note, NoteKind},
    goal::goal_in,
    judgement::{ArcState, Judgement, OnCharacter, Shift},
    mood::Mood,
    person::{Cue, MAX_PATIENCE_SECONDS, PATIENCE_SECONDS, Part, cues, part},
    recall::{Budget, recall},
    relations::Relations,
    settings::{AgentMode, Edition, Floor, Scheduled, Settings, TranscriptForm, WorldEvents},
    story::{Standing as StoryStanding, Story, StoryBond, StoryMemory, StoryMood, StoryScene, left},
    view::{
        Beat, BeatCosts, BeatDynamics, Entry, MoodFigures, NotATranscript, PlayedScene, Relationship, SceneCosts,
        SceneError, SceneReport, SceneText, Silence, TranscriptProblem, debug_log, entry, read_transcript, titled,
    },
    vocabulary::{kind, purpose, reason},
};
use self::{
    bracket::Action,
    director::{Director, Report},
    evidence::Goal,
    floor::{Bid, Held},
    notes::Directed,
    pace::Pace,
    player::{Player, Standing},
    recall::memory,
    told::{NOW, Onstage, Seen, Span, action_of},
};
use super::{Format, Happened, Hearing, Place, Reaction, Rules, Vocabulary, Wants};
use crate::{
    Conversation,
    ask::Request,
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Seq},
    line::{Delivery, Line, LineForm, LineKind, Speaker},
    narration,
    reason::{Ending, Reason},
    setup::{self, BadSetup, Change},
    stage::{Stage, Words},
    step::Rejected,
    time::Timestamp,
};

/// The moderator's name in the cast.
pub const MODERATOR: &str = "moderator";
/// The name of the one who stands in for it.
pub const STAND_IN: &str = "moderator-fallback";

impl Format for Settings {
    const NAME: &'static str = "scene";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("scene_again.j2", include_str!("templates/scene_again.j2")),
        ("scene_memory.j2", include_str!("templates/scene_memory.j2")),
        ("scene_moderator_beat.j2", include_str!("templates/scene_moderator_beat.j2")),
        ("scene_moderator_system.j2", include_str!("templates/scene_moderator_system.j2")),
        ("scene_system.j2", include_str!("templates/scene_system.j2")),
        ("scene_update.j2", include_str!("templates/scene_update.j2")),
        small::TEMPLATES[0],
        small::TEMPLATES[1],
        small::TEMPLATES[2],
        small::TEMPLATES[3],
        small::TEMPLATES[4],
        small::TEMPLATES[5],
        small::TEMPLATES[6],
        small::TEMPLATES[7],
        small::TEMPLATES[8],
        small::TEMPLATES[9],
    ];

    const EARLIER_TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("first/scene_moderator_system.j2", include_str!("templates/first/scene_moderator_system.j2")),
        ("first/scene_system.j2", include_str!("templates/first/scene_system.j2")),
    ];

    type Decision = Decision;
    type Rules = Scene;

    fn rules(&self, stage: &mut Stage, started: &Record) -> Scene {
        Scene::new(self, stage, started)
    }
}

/// The state of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    settings: Arc<Settings>,
    max_beats: u32,
    beat: u32,
    /// Where the beat before this one begins in the transcript, and where this one does.
    begins: [usize; 2],
    /// The record that this beat began with.
    began: Seq,
    players: Vec<Player>,
    director: Director,
    pace: Pace,
    relations: Relations,
    /// What could be seen of those who stayed silent.
    silences: Vec<Seen>,
    arcs: BTreeMap<AgentId, ArcState>,
    /// What is known of the goal.
    goal: Goal,
    /// What the moderator has had said, and what became of it.
    directed: Directed,
    /// How many beats are over.
    beats: u32,
    /// How often a person has directed in this beat.
    directions: usize,
    /// Since when the beat waits for nobody but people.
    waits_since: Option<Timestamp>,
    over: Option<Reason>,
    /// How many lines there were when the scene last came to an end: nobody comes into those any more.
    settled: usize,
    /// How many there were when it was last the turn of a person who plays.
    seen: usize,
}

impl Scene {
    fn new(settings: &Settings, stage: &mut Stage, started: &Record) -> Self {
        let mut scene = Scene {
            settings: Arc::new(settings.clone()),
            max_beats: settings.max_beats,
            beat: 0,
            begins: [0, 0],
            began: stage.head(),
            players: stage.cast().agents().iter().map(|agent| Player::new(agent, settings)).collect(),
            director: Director::new(settings, stage.cast()),
            pace: Pace::default(),
            relations: settings.feelings.relations(),
            silences: Vec::new(),
            arcs: BTreeMap::new(),
            goal: Goal::default(),
            directed: Directed::default(),
            beats: 0,
            directions: 0,
            waits_since: Some(started.at),
            over: None,
            settled: 0,
            seen: 0,
        };
        for text in settings.events.scheduled(0) {
            scene.narrate(stage, started.seq, None, &text);
            stage.say(started, Words::of(Speaker::Moderator, kind::EVENT, text));
        }
        scene.begin(stage, 0, settings.opening().as_slice());
        stage.set_waiting(scene.is_waiting(stage));
        scene
    }

    /// All that can be told of it.
    fn onstage<'a>(&'a self, stage: &'a Stage) -> Onstage<'a> {
        Onstage { stage, settings: &self.settings, silences: &self.silences }
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
        // A beat that begins with a resume begins again after what happens in the world before it.
        let before = if beat == self.beat { self.begins[0] } else { self.begins[1] };
        self.begins = [before, stage.transcript().lines().len()];
        self.began = stage.head();
        self.beat = beat;
        self.directions = 0;
        for at in 0..self.players.len() {
            let plays = beat > 0 || self.settings.initial_speaker.as_ref().is_none_or(|id| *id == self.players[at].id);
            if !plays {
                self.players[at].standing = Standing::Out;
                continue;
            }
            let player = &self.players[at];
            let own = notes.iter().filter(|note| note.is_for(&player.id)).map(|note| note.text.clone()).collect();
            let feelings = self.feelings_of(player);
            self.players[at].open(stage, beat, own, feelings);
        }
    }

    /// Whether there is a mood to tell of.
    fn shows_mood(&self, player: &Player) -> bool {
        match self.settings.edition {
            Edition::First | Edition::Second => player.has_mood(),
            Edition::Third => player.mood.is_felt(),
        }
    }

    /// The moods and what is between the characters, in one line, as one of them sees it.
    fn feelings_of(&self, player: &Player) -> Option<Arc<str>> {
        let mut parts = Vec::new();
        if self.shows_mood(player) {
            parts.push(format!("you are {}", player.mood));
        }
        for other in self.players.iter().filter(|other| other.id != player.id && self.shows_mood(other)) {
            parts.push(format!("{} seems {}", other.name, other.mood));
        }
        for (other, value) in self.relations.of(&player.id) {
            parts.push(format!("you and {} are {}", self.settings.name_of(other), Relations::word(value)));
        }
        (!parts.is_empty()).then(|| parts.join("; ").into())
    }

    /// The same as the moderator sees it.
    fn feelings(&self) -> Option<Arc<str>> {
        let moods = self.players.iter().filter(|player| self.shows_mood(player));
        let moods = moods.map(|player| format!("{} {}", player.name, player.mood));
        let pairs = self.relations.pairs().map(|(one, other, value)| {
            let (one, other) = (self.settings.name_of(one), self.settings.name_of(other));
            format!("{one} and {other} {} ({value})", Relations::word(value))
        });
        let parts: Vec<String> = moods.chain(pairs).collect();
        (!parts.is_empty()).then(|| parts.join("; ").into())
    }

    fn report(&self, stage: &Stage) -> Report {
        let is_first = self.settings.edition == Edition::First;
        let is_whole = self.settings.agent_mode == AgentMode::Fresh;
        let names = |standing: &Standing| -> Vec<Arc<str>> {
            self.players
                .iter()
                .filter(|player| player.standing == *standing)
                .map(|player| player.name.clone())
                .collect()
        };
        let shown =
            self.silences.iter().rev().take_while(|silence| silence.at > self.began).map(|silence| &silence.who);
        let shown: Vec<&str> = shown.filter(|_| !is_first).map(|who| self.settings.name_of(who)).collect();
        let silent = names(&Standing::Silent);
        Report {
            beat: self.beat,
            max_beats: self.max_beats,
            begins: self.begins[1],
            silent: silent.into_iter().filter(|name| !shown.contains(&&**name)).collect(),
            failed: names(&Standing::Failed),
            waited: names(&Standing::Waited),
            stuck: self.pace.stuck(),
            goal: if is_first { Vec::new() } else { self.goal.remarks(self.onstage(stage), is_whole, self.beat) },
            notes: if is_first { Vec::new() } else { self.directed.notes(&self.settings, is_whole, self.beat) },
            feelings: self.feelings(),
        }
    }

    fn conclude(&mut self, stage: &Stage, reason: Reason) {
        self.over = Some(reason);
        self.settled = stage.transcript().lines().len();
        let is_played = reason.ending() == Ending::Complete || reason.ending() == Ending::UsedUp;
        let owes = is_played && self.settings.memory && self.settings.story.is_some();
        // People remember by themselves.
        let cast = stage.cast();
        self.players.iter_mut().for_each(|player| player.owes_memory = owes && cast.person_of(&player.id).is_none());
    }

    /// The beat that a scene goes on with that could not go on for want of beats or of anybody to ask.
    fn next_beat(&self, change: &Change) -> Option<u32> {
        let next = self.beat + 1;
        let is_open = match self.over? {
            reason::MAX_BEATS_EXCEEDED => next < change.max_rounds.unwrap_or(self.max_beats),
            reason => reason == Reason::FAILED,
        };
        is_open.then_some(next)
    }

    fn go_on(&mut self, stage: &Stage, change: &Change) {
        let next = self.next_beat(change);
        self.max_beats = change.max_rounds.unwrap_or(self.max_beats);
        if let Some(beat) = next {
            if self.over == Some(Reason::FAILED) {
                self.pace.reach_again();
            }
            self.over = None;
            self.begin(stage, beat, &[]);
        }
    }

    fn fold_decision(&mut self, stage: &mut Stage, decision: &Decision) {
        match decision {
            Decision::StayedSilent { ask, nonverbal } => {
                self.stand(&ask.agent, Standing::Silent);
                if !nonverbal.is_empty() {
                    let (at, who, nonverbal) = (stage.head(), ask.agent.clone(), nonverbal.clone());
                    self.silences.push(Seen { at, who, nonverbal });
                }
            }
            Decision::Bid { ask, want, cuts_in } => {
                let place = self.players.iter().filter(|player| player.held.is_some()).count() as u32;
                if let Some(held) = self.player_mut(&ask.agent).and_then(|player| player.held.as_mut()) {
                    held.bid = Some(Bid { want: *want, cuts_in: *cuts_in, place });
                }
            }
            Decision::Waited { ask } => {
                if let Some(player) = self.player_mut(&ask.agent) {
                    player.waits();
                }
            }
            Decision::Salvaged { .. } | Decision::FloorGranted { .. } => {}
            Decision::Reasked { ask, problem } => {
                stage.spend_attempt(ask);
                self.director.ask_again(problem);
            }
            Decision::Judged { judgement, .. } => {
                self.director.judged(self.settings.agent_mode);
                self.arcs = self.arcs_with(Some(judgement));
                self.goal = self.goal.with(judgement);
                self.directed.judged(judgement, self.beat);
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
                self.directed.said(notes);
                self.begin(stage, *beat, notes);
            }
            Decision::Directed { note, .. } => self.direct(stage, note.as_ref()),
            Decision::PassedOver { ask } => self.stand(&ask.agent, Standing::Silent),
            // When it begins, the record says.
            Decision::WaitBegun { .. } => {}
            Decision::Concluded { reason, .. } => self.conclude(stage, *reason),
            Decision::Remembered { character, .. } | Decision::NotRemembered { character, .. } => {
                if let Some(player) = self.player_mut(character) {
                    player.owes_memory = false;
                }
            }
        }
    }

    /// The narrator, where there is one, tells this.
    fn narrate(&self, stage: &mut Stage, of: Seq, ask: Option<&AskId>, text: &str) {
        if self.settings.narrator.is_some() {
            stage.narrate(of, ask.map(|ask| ask.turn), text);
        }
    }

    /// The narrator tells what a character is seen to do.
    fn narrate_acts(&self, stage: &mut Stage, of: Seq, ask: Option<&AskId>, acts: &[Arc<str>]) {
        let Some(who) = ask.map(|ask| self.settings.name_of(&ask.agent)) else { return };
        for told in acts.iter().filter_map(|act| narration::act(who, act)) {
            self.narrate(stage, of, ask, &told);
        }
    }

    fn stand(&mut self, agent: &AgentId, standing: Standing) {
        let mode = self.settings.agent_mode;
        if let Some(player) = self.player_mut(agent) {
            if let Some(held) = player.held.take() {
                player.remember(&held.text, mode);
                player.waited = 0;
            }
            player.standing = standing;
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str, is_full: bool) -> Reaction {
        match ask.purpose {
            purpose::JUDGE => self.judged(stage, ask, text, is_full),
            purpose::REMEMBER => {
                let text = memory(text);
                let character = ask.agent.clone();
                let decision = match text.is_empty() {
                    true => Decision::NotRemembered { character, problem: "the reply is empty".to_owned() },
                    false => Decision::Remembered { character, text },
                };
                Reaction::events(vec![Event::decision(decision)])
            }
            _ => {
                let done = match self.settings.floor {
                    Floor::Open => self.acted(stage, ask, text),
                    Floor::Bids => self.bids(stage, ask, text),
                };
                Reaction::events(done.into_iter().chain(self.wait_after(stage, &ask.agent)).collect())
            }
        }
    }

    fn failed(&self, stage: &Stage, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
        match ask.purpose {
            purpose::JUDGE => self.unjudged(stage, failure.message.clone()),
            purpose::REMEMBER => {
                let (character, problem) = (ask.agent.clone(), failure.message.clone());
                vec![Event::decision(Decision::NotRemembered { character, problem })]
            }
            _ => {
                let text = format!("{} unable to respond", self.settings.name_of(&ask.agent));
                let mut events = vec![by_moderator(kind::SYSTEM, text.into(), Some(ask.clone()))];
                if self.settings.floor == Floor::Bids {
                    events.extend(self.granted(stage, &ask.agent, None));
                }
                events.extend(self.wait_after(stage, &ask.agent));
                events
            }
        }
    }
}

impl Rules for Scene {
    fn wants(&self, stage: &Stage) -> Wants {
        let place = |purpose, agent: &AgentId| Place { purpose, turn: self.beat, agent: agent.clone() };
        if let Some(reason) = self.over {
            let owing = self.players.iter().filter(|player| player.owes_memory);
            let places: Vec<Place> = owing.map(|player| place(purpose::REMEMBER, &player.id)).collect();
            return if places.is_empty() { Wants::End(reason) } else { Wants::Epilogue(places, reason) };
        }
        match self.open_turns(stage) {
            (asks, people) if asks.is_empty() && people.is_empty() => {
                Wants::asks(vec![place(purpose::JUDGE, &self.director.who)])
            }
            (asks, people) => Wants::Turns { asks, people },
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        match (ask.purpose, self.player(&ask.agent)) {
            (purpose::REMEMBER, Some(player)) => player.memory_request(self.onstage(stage), agent),
            (_, Some(player)) => player.request(self.onstage(stage), agent),
            (_, None) => self.director.request(self.onstage(stage), self.report(stage), agent),
        }
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        let (templates, settings) = (stage.templates(), &self.settings);
        for (player, agent) in self.players.iter().zip(stage.cast().agents()) {
            templates.try_render("scene_system.j2", &player.head(stage, settings, agent))?;
        }
        templates.try_render("scene_moderator_system.j2", &self.director.head(stage, settings))?;
        let player = &self.players[0];
        let news = player.news(stage, 0, Vec::new(), self.feelings_of(player));
        templates.try_render("scene_update.j2", &player.variables(self.onstage(stage), &news))?;
        let lines = [0, stage.transcript().lines().len()];
        let span = Span { after: Seq::START, as_of: NOW, lines };
        let report = self.director.variables(self.onstage(stage), &self.report(stage), span);
        templates.try_render("scene_moderator_beat.j2", &report)?;
        templates.try_render("scene_again.j2", &context! { problem => "problem" })?;
        small::try_templates(templates, player, self.onstage(stage))?;
        let lines: [&str; 0] = [];
        let language = settings.spoken_language();
        let memory = context! { name => &player.name, scene => &settings.name, lines => lines, language };
        templates.try_render("scene_memory.j2", &memory).map(|_| ())
    }

    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, is_full } => Ok(self.answered(stage, ask, text, is_full)),
            Happened::Failed { ask, failure } => Ok(Reaction::events(self.failed(stage, ask, failure))),
            Happened::Heard { who, text } => Ok(Reaction::events(self.heard(stage, who, text)?)),
            Happened::Absent { who } => Ok(Reaction::events(self.absent(stage, who)?)),
            Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Proposed(decision) => match decision.open() {
                Some(Decision::Directed { note, event }) => {
                    Ok(Reaction::events(self.directed(stage, note.as_ref(), event.as_ref())?))
                }
                _ => Err(Rejected::NotForOthers),
            },
        }
    }

    fn hearing(&self, _: &Stage, ask: &AskId) -> Option<Hearing> {
        // Where the floor is bid for, nobody knows before all have answered whether it will be said.
        (ask.purpose == purpose::ACT && self.settings.floor == Floor::Open).then(|| Hearing::new(bracket::words_so_far))
    }

    /// A scene is watched and directed; who plays a character speaks once in a beat.
    fn may_speak(&self, stage: &Stage, who: &PersonId) -> Result<(), Rejected> {
        self.turn_of(stage, who).map(|_| ()).ok_or_else(|| Rejected::NotYourTurn(who.clone()))
    }

    fn turn_of(&self, stage: &Stage, who: &PersonId) -> Option<AskId> {
        self.turn_of_person(stage, who)
    }

    /// What was to happen in the world before the beat that it goes on with.
    fn goes_on(&self, stage: &Stage, change: &Change) -> Vec<Event> {
        let Some(beat) = self.next_beat(change) else { return self.wait_again(stage, change).into_iter().collect() };
        let mut events: Vec<Event> =
            self.settings.events.scheduled(beat).map(|text| by_moderator(kind::EVENT, text, None)).collect();
        if !events.is_empty() {
            events.push(Event::decision(Decision::BeatBegun { beat, notes: Vec::new() }));
        }
        events
    }

    fn bound(&self) -> Option<u32> {
        Some(self.max_beats)
    }

    fn most(&self) -> Option<u32> {
        Some(Settings::MAX_BEATS)
    }

    fn counter(&self, ask: &AskId) -> String {
        format!("beat {} of at most {}", ask.turn + 1, self.max_beats)
    }

    fn clip_place(&self, _: &Stage, line: &Line) -> Vec<String> {
        let Some(ask) = &line.ask else { return Vec::new() };
        let LineId(number) = line.id;
        vec![format!("beat_{}", ask.turn), format!("{number:03}_{}", ask.agent)]
    }

    /// The line with other words, or another act where it has none.
    fn reworded(&self, line: &Line, _: &str, words: &str) -> String {
        let Some(action) = action_of(line, &self.settings, NOW) else { return words.to_owned() };
        let said = match action.kind.is_verbal() {
            true => Action { text: words.into(), ..action },
            false => Action { nonverbal: vec![words.into()], ..action },
        };
        match self.settings.floor {
            Floor::Open => said.to_string(),
            Floor::Bids => floor::at_most(&said),
        }
    }

    fn noted(&self, stage: &Stage, note: &setup::Note) -> Result<Vec<Event>, Rejected> {
        let note = Note { to: note.to.clone(), text: note.text.trim().into(), kind: NoteKind::Director };
        self.directed(stage, Some(&note), None)
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::Asked { ask, .. } if ask.purpose == purpose::JUDGE => {
                let report = self.report(stage);
                self.director.sent(stage, report);
            }
            Event::Answered { ask, text, .. } => match ask.purpose {
                purpose::ACT => {
                    let mode = self.settings.agent_mode;
                    let bids = self.settings.floor == Floor::Bids;
                    if let Some(player) = self.player_mut(&ask.agent) {
                        match bids {
                            // What comes of it is known when all have answered.
                            true => player.held = Some(Held { ask: ask.clone(), text: text.clone(), bid: None }),
                            false => player.remember(text, mode),
                        }
                    }
                }
                purpose::JUDGE => {
                    let report = self.report(stage);
                    self.director.remember(stage, report, text);
                }
                _ => {}
            },
            Event::LineSpoken { kind: line, ask, text, delivery, .. } => {
                match line.form() {
                    LineForm::Aside(_) if *line == kind::EVENT => self.narrate(stage, record.seq, None, text),
                    LineForm::Words | LineForm::Act => {
                        self.narrate_acts(stage, record.seq, ask.as_ref(), &delivery.nonverbal);
                    }
                    LineForm::Aside(_) | LineForm::Direction => {}
                }
                match (*line, ask) {
                    (kind::SYSTEM, Some(ask)) => self.stand(&ask.agent, Standing::Failed),
                    (kind::EVENT, _) => self.pace.event_in(self.beat + 1),
                    (_, Some(ask)) => self.stand(&ask.agent, Standing::Spoke),
                    (_, None) => {}
                }
            }
            Event::HumanSpoke { text, ask: Some(ask), .. } => {
                let (form, mode) = (self.in_form(&ask.agent, text), self.settings.agent_mode);
                if let Some(player) = self.player_mut(&ask.agent) {
                    player.remember(&form, mode);
                    player.standing = Standing::Speaking;
                }
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    if matches!(decision, Decision::WaitBegun { .. }) {
                        self.waits_since = Some(record.at);
                    }
                    if let Decision::StayedSilent { ask, nonverbal } = decision {
                        self.narrate_acts(stage, record.seq, Some(ask), nonverbal);
                    }
                    self.fold_decision(stage, decision);
                }
            }
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                self.director.unsent();
                self.go_on(stage, change);
            }
            Event::Ended { .. } => self.settled = stage.transcript().lines().len(),
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::HumanSpoke { .. } => {}
        }
        let is_asked = matches!(
            &record.event,
            Event::Asked { .. }
                | Event::ClipMade { .. }
                | Event::ClipFailed { .. }
                | Event::Narrated { .. }
                | Event::NarrationFailed { .. }
        );
        if !is_asked {
            self.director.look_again();
        }
        if self.is_turn_of_a_person(stage) {
            self.seen = stage.transcript().lines().len();
        }
        stage.set_waiting(self.is_waiting(stage));
    }
}

/// What the moderator puts into the transcript: an event of the world, or word of a character who is missed.
fn by_moderator(kind: LineKind, text: Arc<str>, ask: Option<AskId>) -> Event {
    let delivery = Delivery::default();
    Event::LineSpoken { speaker: Speaker::Moderator, kind, text, ask, to: None, voice: None, delivery }
}

/// How many beats of a scene are over; none in a session of another format.
pub fn beats_over(conversation: &Conversation) -> u32 {
    conversation.rules::<Scene>().map_or(0, |scene| scene.beats)
}

/// What could be seen of those who stayed silent; nothing in a session of another format.
fn silences(conversation: &Conversation) -> &[Seen] {
    conversation.rules::<Scene>().map_or(&[], |scene| &scene.silences)
}
