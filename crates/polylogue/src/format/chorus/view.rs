//! A chorus on a terminal: turn by turn on standard output, and a lane for every slot on standard error.

use std::collections::BTreeMap;

use polylogue_core::{
    Conversation, Event, Record,
    format::chorus::{Decision, Phase, Settings, Slot},
    id::{AgentId, AskId},
    line::{ClipState, Line, LineKind},
    projection::Costs,
};

use crate::{
    output,
    printable::{filled, fitted, tail},
    view::{StatusLine, Style, View, clips_in_words, costs_in_words, opening},
};

/// How much of an agent's name a lane begins with.
const NAME_COLUMNS: usize = 12;

pub(super) struct Lanes {
    style: Style,
    /// The lanes.
    status: StatusLine,
    /// What each slot is doing, by the name of its agent.
    doing: BTreeMap<AgentId, Doing>,
    shown_lines: usize,
    turn: u32,
}

enum Doing {
    Thinking(String),
    WaitingFor(String),
    Done,
    Failed,
    /// It has no place in this turn.
    Out,
}

impl Lanes {
    pub(super) fn new() -> Lanes {
        Lanes { style: Style::of_stdout(), status: StatusLine::new(), doing: BTreeMap::new(), shown_lines: 0, turn: 0 }
    }

    /// Something that is no line of the conversation.
    fn aside(&self, text: &str) {
        output::line(format!("{}\n", self.style.remark(text)));
    }

    /// Says which turn it is, once.
    fn head(&mut self, turn: u32) {
        if turn != self.turn {
            self.turn = turn;
            let what = match Phase::at(turn) {
                Phase::Respond => "respond",
                Phase::Comment => "comment",
                Phase::Reply => "reply",
            };
            output::line(self.style.dim(&format!("— turn {}: {what} —\n", Phase::at(turn).index())));
        }
    }

    fn decided(&mut self, decision: &Decision) {
        match decision {
            Decision::SlotFailed { slot, message, .. } => {
                self.doing.insert(slot.agent(), Doing::Failed);
                self.aside(&format!("[slot {slot} falls out: {message}]"));
            }
            Decision::TurnBegun { .. } => self.doing.values_mut().for_each(|doing| *doing = Doing::Out),
            Decision::Routed { target, dropped, .. } if !dropped.is_empty() => {
                let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
                let note = format!("[not passed on to slot {target}: the comments of {}]", dropped.join(", "));
                self.aside(&note);
            }
            Decision::Routed { .. }
            | Decision::Reasked { .. }
            | Decision::TargetDrawn { .. }
            | Decision::TurnEnded { .. }
            | Decision::TurnVoiced { .. } => {}
        }
    }

    fn show_lanes(&self, conversation: &Conversation) {
        let width = self.style.width().saturating_sub(NAME_COLUMNS + 8).max(10);
        let costs = costs_in_words(&Costs::of(conversation));
        let clips = clips_in_words(conversation).map(|clips| format!(" · {clips}")).unwrap_or_default();
        let mut lanes = vec![format!("turn {} of 3{clips} · {costs}", Phase::at(self.turn.max(1)).index())];
        let is_at_work = |doing: &Doing| matches!(doing, Doing::Thinking(_) | Doing::WaitingFor(_));
        if !self.doing.values().any(is_at_work) {
            // All is said, and what is left to do is in the first line.
            return self.status.show(&lanes);
        }
        for slot in slots(conversation) {
            let state = match self.doing.get(&slot.slot_id.agent()) {
                None | Some(Doing::Out) => String::new(),
                Some(Doing::Done) => "✓".to_owned(),
                Some(Doing::Failed) => "✗".to_owned(),
                Some(Doing::WaitingFor(what)) => format!("waits for {what}"),
                Some(Doing::Thinking(arriving)) if arriving.is_empty() => "thinking".to_owned(),
                Some(Doing::Thinking(arriving)) => tail(arriving, width),
            };
            let agent = filled(&fitted(called(slot), NAME_COLUMNS), NAME_COLUMNS);
            lanes.push(format!("{} {agent} {}", slot.slot_id, self.style.dim(&state)));
        }
        self.status.show(&lanes);
    }

    fn show(&mut self, line: &Line, conversation: &Conversation) {
        if let Some(ask) = &line.ask {
            self.head(ask.turn);
        }
        let slot = |name: &str| slots(conversation).iter().find(|slot| slot.slot_id.agent().as_str() == name);
        let shown = match slot(line.speaker.name()) {
            None => format!("{}:", line.speaker),
            Some(own) => {
                let to = line.to.as_ref().and_then(|to| slot(to.as_str()));
                let to = to.map(|to| format!(" → {} {}", to.slot_id, called(to))).unwrap_or_default();
                format!("{} {}{to}:", own.slot_id, called(own))
            }
        };
        let name = self.style.name(&line.speaker, &shown, conversation);
        output::line(format!("{name}\n{}\n", self.style.wrap(&line.text, "  ")));
    }
}

fn slots(conversation: &Conversation) -> &[Slot] {
    conversation.stage().setup().format.settings::<Settings>().map_or(&[], |settings| &settings.slots)
}

/// What the others call it or, where it has no name, its agent.
fn called(slot: &Slot) -> &str {
    slot.name.as_deref().unwrap_or(slot.agent_id.as_str())
}

fn is_made(line: &Line) -> bool {
    matches!(line.clip, ClipState::Made(_))
}

impl View for Lanes {
    fn tell(&mut self, conversation: &Conversation) {
        opening::tell(conversation, self.style, |agent| {
            let slot = slots(conversation).iter().find(|slot| slot.slot_id.agent() == agent.name);
            slot.map_or(agent.name.as_str(), called)
        });
    }

    fn open(&mut self, conversation: &Conversation) {
        let stage = conversation.stage();
        // What was said before is not said again.
        self.shown_lines = if stage.head().0 > 1 { stage.transcript().lines().len() } else { 0 };
        self.status.start();
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        match &record.event {
            Event::Asked { ask, .. } => {
                self.head(ask.turn);
                self.doing.insert(ask.agent.clone(), Doing::Thinking(String::new()));
            }
            Event::LineSpoken { ask: Some(ask), .. } => {
                self.doing.insert(ask.agent.clone(), Doing::Done);
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.decided(decision);
                }
            }
            Event::ClipFailed { line, error } => {
                self.aside(&format!("[line {line} is not heard: {error}]"));
            }
            _ => {}
        }
        let lines = conversation.stage().transcript().lines();
        for line in &lines[self.shown_lines.min(lines.len())..] {
            self.show(line, conversation);
        }
        self.shown_lines = lines.len();
        self.show_lanes(conversation);
    }

    fn void(&mut self, ask: &AskId) {
        if let Some(Doing::Thinking(arriving)) = self.doing.get_mut(&ask.agent) {
            arriving.clear();
        }
    }

    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation) {
        if let Some(Doing::Thinking(arriving)) = self.doing.get_mut(&ask.agent) {
            arriving.push_str(text);
            self.show_lanes(conversation);
        }
    }

    fn waiting(&mut self, ask: &AskId, what: Option<&str>, conversation: &Conversation) {
        let doing = what.map_or(Doing::Thinking(String::new()), |what| Doing::WaitingFor(what.to_owned()));
        self.doing.insert(ask.agent.clone(), doing);
        self.show_lanes(conversation);
    }

    fn stopping(&mut self) {
        self.status.stopping();
    }

    fn close(&mut self, conversation: &Conversation) {
        self.status.clear();
        let stage = conversation.stage();
        let state = stage.ended().map_or("unfinished".to_owned(), |reason| format!("ended: {reason}"));
        let lines = stage.transcript().lines();
        let spoken = lines.iter().filter(|line| line.kind != LineKind::USER).count();
        let clips = lines.iter().filter(|line| is_made(line)).count();
        let clips = if stage.setup().speech { format!(", {clips} clips") } else { String::new() };
        let costs = costs_in_words(&Costs::of(conversation));
        let session = self.style.session(stage.setup().id);
        output::line(self.style.remark(&format!("{state} · {spoken} lines{clips} · {costs} · session {session}")));
    }
}
