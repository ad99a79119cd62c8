//! A scene on a terminal: what is said and done on standard output, who is thinking on standard error.
//!
//! For a person it is set as a play; for a file or another program each line has the transcript's form.

use std::collections::{BTreeMap, BTreeSet};

use polylogue_core::{
    Conversation, Event, Record,
    format::scene::{Decision, Entry, Settings, beats_over, entry, kind, purpose, reason, titled},
    id::{AgentId, AskId, LineId},
    line::{Line, Speaker},
    projection::Costs,
};

use super::player::Player;
use crate::{
    format::Left,
    output,
    view::{StatusLine, Style, View, clips_in_words, costs_in_words, opening},
};

/// How many lines are shown again to somebody who goes on playing.
const SHOWN_AGAIN: usize = 6;

pub(super) struct Scene {
    style: Style,
    /// Who is thinking.
    status: StatusLine,
    /// Where the files of the scene are, when it has left them.
    left: Option<Left>,
    shown_lines: usize,
    /// Lines that will be cut off, in a replay: they are shown as far as they were heard.
    foreseen: BTreeMap<LineId, Line>,
    /// The beat that was last announced.
    announced: Option<u32>,
    beat: u32,
    progress: Option<u8>,
    thinking: Vec<AskId>,
    /// Of those, whose words have begun to arrive.
    writing: BTreeSet<AskId>,
    /// Who waits before a model works on it, and for what.
    waiting: BTreeMap<AskId, String>,
    /// Somebody who plays a character, if they are here.
    player: Option<Player>,
}

impl Scene {
    pub(super) fn new(left: Option<Left>) -> Scene {
        let (style, status) = (Style::of_stdout(), StatusLine::new());
        Scene {
            style,
            status,
            left,
            shown_lines: 0,
            foreseen: BTreeMap::new(),
            announced: None,
            beat: 0,
            progress: None,
            thinking: Vec::new(),
            writing: BTreeSet::new(),
            waiting: BTreeMap::new(),
            player: None,
        }
    }

    /// Says which beat it is, before the first that is seen of it.
    fn announce(&mut self) {
        if !self.style.is_rich() || self.announced == Some(self.beat) {
            return;
        }
        self.announced = Some(self.beat);
        // Who plays does not know how far the moderator thinks that they have come.
        let progress = self.progress.filter(|_| self.player.is_none());
        let progress = progress.map(|progress| format!(" · {progress}% there")).unwrap_or_default();
        output::line(self.style.dim(&format!("── beat {}{progress} ──\n", self.beat)));
    }

    fn show(&mut self, line: &Line, conversation: &Conversation) {
        self.announce();
        if let Some(settings) = settings(conversation) {
            output::line(in_style(self.style, line, settings, conversation));
        }
    }

    fn aside(&mut self, text: &str) {
        self.announce();
        let text = if self.style.is_rich() { self.style.remark(text) } else { format!("[{text}]") };
        output::line(format!("{text}\n"));
    }

    fn decision(&mut self, decision: &Decision, conversation: &Conversation) {
        match decision {
            // What is not in the transcript is for those who watch.
            Decision::StayedSilent { ask, nonverbal } if self.style.is_rich() => {
                let acts: Vec<String> = nonverbal.iter().map(|act| format!(" *{act}*")).collect();
                let name = name_of(&ask.agent, conversation);
                let mark = if acts.is_empty() { "." } else { "," };
                self.aside(&format!("{name} says nothing{mark}{}", acts.concat()));
            }
            Decision::Judged { judgement, .. } => self.progress = Some(judgement.progress),
            Decision::Unjudged { problem, stands_in, .. } => {
                let then = stands_in.as_ref().map(|other| format!("; {other} takes over")).unwrap_or_default();
                self.aside(&format!("The moderator failed: {problem}{then}"));
            }
            // An event of the world comes before the beat that it belongs to is announced in the journal.
            Decision::BeatEnded { beat, .. } => self.beat = beat + 1,
            Decision::BeatBegun { beat, .. } => self.beat = *beat,
            Decision::PassedOver { ask } if self.style.is_rich() => {
                let name = name_of(&ask.agent, conversation).to_owned();
                self.aside(&format!("{name} says nothing: nobody spoke in time."));
            }
            Decision::Waited { ask } if self.style.is_rich() => {
                let name = name_of(&ask.agent, conversation).to_owned();
                self.aside(&format!("{name} wanted to speak, and has to wait."));
            }
            Decision::StayedSilent { .. }
            | Decision::PassedOver { .. }
            | Decision::WaitBegun { .. }
            | Decision::Bid { .. }
            | Decision::FloorGranted { .. }
            | Decision::Waited { .. }
            | Decision::Salvaged { .. }
            | Decision::Reasked { .. }
            | Decision::Directed { .. }
            | Decision::Concluded { .. }
            | Decision::Remembered { .. }
            | Decision::NotRemembered { .. } => {}
        }
    }

    fn show_status(&self, conversation: &Conversation) {
        let Some(settings) = settings(conversation) else { return };
        let judging = self.thinking.iter().any(|ask| ask.purpose == purpose::JUDGE);
        let (waiting, others): (Vec<&AskId>, Vec<&AskId>) =
            self.thinking.iter().partition(|ask| self.waiting.contains_key(*ask));
        let (writing, thinking): (Vec<&AskId>, Vec<&AskId>) =
            others.into_iter().partition(|ask| self.writing.contains(*ask));
        let group = |asks: &[&AskId], doing: &str| {
            let names: Vec<&str> = asks.iter().map(|ask| settings.name_of(&ask.agent)).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            (!names.is_empty()).then(|| format!("{} {verb} {doing}", self.style.bold(&names.join(", "))))
        };
        // One who waits holds up the others: that is what there is to know first.
        let why = waiting.first().and_then(|ask| self.waiting.get(*ask));
        let waits = why.and_then(|why| group(&waiting, &format!("waiting for {why}")));
        let groups = match judging {
            true => [waits.or_else(|| Some("the moderator judges the beat".to_owned())), None, None],
            false => [waits, group(&writing, "writing"), group(&thinking, "thinking")],
        };
        let doing: Vec<String> = groups.into_iter().flatten().chain(clips_in_words(conversation)).collect();
        let doing = if doing.is_empty() { "…".to_owned() } else { doing.join(" · ") };
        let costs = costs_in_words(&Costs::of(conversation));
        let status = format!("{doing} · beat {} of at most {} · {costs}", self.beat, settings.max_beats);
        let prompt = self.player.as_ref().and_then(|player| player.prompt(conversation, self.style));
        self.status.show(&[status].into_iter().chain(prompt).collect::<Vec<_>>());
    }
}

impl View for Scene {
    fn tell(&mut self, conversation: &Conversation) {
        opening::tell(conversation, self.style, |agent| name_of(&agent.name, conversation));
    }

    fn foresee(&mut self, whole: &Conversation) {
        let lines = whole.stage().transcript().lines().iter();
        let cut = lines.filter(|line| line.cut_after.is_some()).map(|line| (line.id, line.clone()));
        self.foreseen = cut.collect();
    }

    fn open(&mut self, conversation: &Conversation) {
        let stage = conversation.stage();
        // What was said before is not said again.
        let has_past = stage.head().0 > 1;
        self.shown_lines = if has_past { stage.transcript().lines().len() } else { 0 };
        self.beat = beats_over(conversation);
        self.status.start();
        let Some(settings) = settings(conversation) else { return };
        if !has_past {
            output::line(self.heading(settings, conversation));
        }
        if let Some(player) = &mut self.player {
            if player.has_keys() {
                self.status.take_keys();
            }
            player.introduce(conversation, self.style);
        }
        if self.player.is_some() && has_past {
            // Who goes on playing wants to know what was said last.
            let lines = stage.transcript().lines();
            for line in &lines[lines.len().saturating_sub(SHOWN_AGAIN)..] {
                self.show(line, conversation);
            }
        }
        if let Some(player) = &mut self.player {
            player.tell_notes(conversation, self.style);
        }
        self.show_status(conversation);
    }

    fn seat(&mut self, has_keys: bool) {
        self.player = Some(Player::new(has_keys));
    }

    fn typed(&mut self, draft: &str, conversation: &Conversation) {
        if let Some(player) = &mut self.player {
            player.typed(draft);
        }
        self.show_status(conversation);
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        match &record.event {
            Event::Asked { ask, .. } => self.thinking.push(ask.clone()),
            Event::Answered { ask, .. } | Event::AskFailed { ask, .. } => self.thinking.retain(|other| other != ask),
            Event::AskCut { ask, partial, .. } => {
                self.thinking.retain(|other| other != ask);
                if ask.purpose == purpose::ACT && !partial.trim().is_empty() {
                    let name = name_of(&ask.agent, conversation).to_owned();
                    self.aside(&format!("{name} was about to say: {partial} —"));
                }
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.decision(decision, conversation);
                }
            }
            Event::LineCut { line, .. } if !self.foreseen.contains_key(line) => {
                let cut = conversation.stage().transcript().get(*line).cloned();
                if let (Some(cut), Some(settings)) = (cut, settings(conversation))
                    && let Entry::Said { speaker, action, .. } = entry(&cut, settings)
                {
                    self.aside(&format!("{speaker} is cut off: \"{}—\"", action.text));
                }
            }
            _ => {}
        }
        let lines = conversation.stage().transcript().lines();
        let new: Vec<Line> = lines[self.shown_lines.min(lines.len())..].to_vec();
        self.shown_lines = lines.len();
        for line in &new {
            let line = self.foreseen.get(&line.id).unwrap_or(line).clone();
            self.show(&line, conversation);
        }
        if let Some(player) = &mut self.player {
            player.tell_notes(conversation, self.style);
        }
        self.show_status(conversation);
    }

    fn void(&mut self, ask: &AskId) {
        self.writing.remove(ask);
    }

    fn delta(&mut self, ask: &AskId, _: &str, conversation: &Conversation) {
        if self.writing.insert(ask.clone()) {
            self.show_status(conversation);
        }
    }

    fn waiting(&mut self, ask: &AskId, what: Option<&str>, conversation: &Conversation) {
        match what {
            Some(what) => self.waiting.insert(ask.clone(), what.to_owned()),
            None => self.waiting.remove(ask),
        };
        self.show_status(conversation);
    }

    fn stopping(&mut self) {
        self.status.stopping();
    }

    fn close(&mut self, conversation: &Conversation) {
        self.status.clear();
        let stage = conversation.stage();
        let state = match stage.ended() {
            Some(reason::GOAL_ACHIEVED) => "The goal is reached".to_owned(),
            Some(reason) => format!("ended: {reason}"),
            None => "unfinished".to_owned(),
        };
        let beats = beats_over(conversation);
        let costs = costs_in_words(&Costs::of(conversation));
        output::line(self.style.remark(&format!("{state} · {beats} beats · {costs}")));
        let folder = self.left.as_ref().and_then(|left| left(conversation));
        let transcript = folder.map(|folder| format!(" · {}", folder.join("transcript.txt").display()));
        let place = format!("session {}{}", self.style.session(stage.setup().id), transcript.unwrap_or_default());
        output::line(self.style.remark(&place));
    }
}

impl Scene {
    fn heading(&self, settings: &Settings, conversation: &Conversation) -> String {
        let stage = conversation.stage();
        let names = stage.cast().agents().iter().map(|agent| {
            let speaker = Speaker::Agent(agent.name.clone());
            self.style.name(&speaker, settings.name_of(&agent.name), conversation)
        });
        let mut text =
            format!("{}\n{}\n", self.style.bold(&titled(&settings.name)), names.collect::<Vec<_>>().join(", "));
        let of = |what: &str, text: &Option<std::sync::Arc<str>>| {
            let words = text.as_ref()?.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(format!("{}\n", self.style.dim(&self.style.wrap(&format!("{what}: {words}"), ""))))
        };
        // Who plays is told the goal only where the characters are.
        let goal = settings.goal.clone().filter(|_| settings.goal_known || self.player.is_none());
        text.extend(of("Goal", &goal));
        text.extend(of("Setting", &settings.setting));
        text
    }
}

/// A line of a scene, with an empty line after it.
pub(crate) fn in_style(style: Style, line: &Line, settings: &Settings, conversation: &Conversation) -> String {
    let entry = entry(line, settings);
    if !style.is_rich() {
        return format!("{entry}\n");
    }
    match entry {
        Entry::Said { action, is_cut, .. } => {
            let mut how: Vec<String> = action.tone.iter().map(ToString::to_string).collect();
            how.extend(action.nonverbal.iter().map(|act| style.italic(&format!("*{act}*"))));
            let how = if how.is_empty() { String::new() } else { format!(" ({})", how.join(", ")) };
            let to = action.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
            let into = match (line.kind, &action.after) {
                (kind::INTERRUPT, Some(after)) => style.dim(&format!(" cuts in after \"{after}\"")),
                (kind::INTERRUPT, None) => style.dim(" cuts in"),
                (_, _) => String::new(),
            };
            let name = style.name(&line.speaker, name_in(line, settings), conversation);
            let dash = if is_cut { "—" } else { "" };
            match action.kind.is_verbal() {
                true => format!("{name}{how}{to}{into}\n{}\n", style.wrap(&format!("{}{dash}", action.text), "  ")),
                false => format!("{name}{how}{to}\n"),
            }
        }
        Entry::Event(text) => format!("{}\n", style.italic(&style.wrap(&text, "  "))),
        Entry::System(text) => format!("{}\n", style.remark(&format!("[{text}]"))),
    }
}

fn name_in<'a>(line: &'a Line, settings: &'a Settings) -> &'a str {
    match &line.speaker {
        Speaker::Agent(agent) => settings.name_of(agent),
        Speaker::Person(_) | Speaker::Router | Speaker::Moderator => line.speaker.name(),
    }
}

fn settings(conversation: &Conversation) -> Option<&Settings> {
    conversation.stage().setup().format.settings()
}

fn name_of<'a>(agent: &'a AgentId, conversation: &'a Conversation) -> &'a str {
    settings(conversation).map_or(agent.as_str(), |settings| settings.name_of(agent))
}
