//! A score on a terminal: as every conversation, with its phases between the lines.

use polylogue_core::{
    Conversation, Event, Record,
    format::score::{Decision, Phase, Seat, Settings, Who},
    id::AskId,
    setup::{Agent, Cast},
};

use crate::{
    agents,
    view::{Style, Terminal, View, opening},
};

pub(super) struct Phases {
    terminal: Terminal,
    has_begun: bool,
}

impl Phases {
    pub(super) fn new() -> Phases {
        Phases { terminal: Terminal::new(), has_begun: false }
    }

    fn phase(&self, name: &str, rounds: &[u32]) {
        let round = rounds.last().map(|round| format!(", round {round}")).unwrap_or_default();
        self.terminal.aside(&format!("{name}{round}"));
    }
}

impl View for Phases {
    fn tell(&mut self, conversation: &Conversation) {
        let setup = conversation.stage().setup();
        let Some(settings) = setup.format.settings::<Settings>() else { return };
        let what = |agent: &Agent| agents::introduced(&agent.model);
        let players = seats(settings, &setup.cast).into_iter();
        let players = players.map(|(name, agent)| (name, agent.map_or_else(|| "a person".to_owned(), what)));
        opening::tell_players(conversation, Style::of_stdout(), players.collect());
    }

    fn open(&mut self, conversation: &Conversation) {
        self.has_begun = conversation.stage().head().0 > 1;
        self.terminal.open(conversation);
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        // The first phase begins with the session.
        if let Event::Asked { ask, .. } = &record.event
            && !self.has_begun
        {
            self.has_begun = true;
            self.terminal.aside(&conversation.counter(ask));
        }
        match record.event.decided() {
            Some(Decision::PhaseBegun { phase, rounds, .. }) => {
                self.has_begun = true;
                self.phase(phase, rounds);
            }
            Some(Decision::SeatFailed { seat, message, kind: None, .. }) => {
                self.terminal.aside(&format!("{seat} falls out: {message}"));
            }
            _ => {}
        }
        self.terminal.record(record, conversation);
    }

    fn void(&mut self, ask: &AskId) {
        self.terminal.void(ask);
    }

    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation) {
        self.terminal.delta(ask, text, conversation);
    }

    fn waiting(&mut self, ask: &AskId, what: Option<&str>, conversation: &Conversation) {
        self.terminal.waiting(ask, what, conversation);
    }

    fn stopping(&mut self) {
        self.terminal.stopping();
    }

    fn close(&mut self, conversation: &Conversation) {
        self.terminal.close(conversation);
    }
}

/// The seats, each called with its role; a person has no agent.
pub(super) fn seats<'a>(settings: &Settings, cast: &'a Cast) -> Vec<(String, Option<&'a Agent>)> {
    let seat = |Seat { name, role }: &Seat| {
        // The only one of a role is called as the role.
        let called = if role == name { name.to_string() } else { format!("{role} {name}") };
        (called, cast.agents().iter().find(|agent| agent.name.as_str() == &**name))
    };
    settings.seats.iter().map(seat).collect()
}

/// The phases as they would be played, a line each, with what is around them further to the left.
pub(super) fn phases(settings: &Settings) -> Vec<String> {
    let mut lines = Vec::new();
    write(&settings.score.phases, settings, 1, &mut lines);
    lines
}

fn write(phases: &[Phase], settings: &Settings, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for phase in phases {
        match phase {
            Phase::Turn(turn) => {
                let who: Vec<String> = turn.who.iter().map(|who| speakers(who, settings)).collect();
                let order = if turn.one_by_one { ", one by one" } else { "" };
                let blind = if turn.blind { ", blind" } else { "" };
                lines.push(format!("{indent}{}: {}{order}{blind}", turn.name, who.join(", ")));
            }
            Phase::Repeat(repeat) => {
                let until = repeat.until.as_ref().map(|until| format!(", until {until}")).unwrap_or_default();
                lines.push(format!("{indent}at most {} times{until}:", settings.times(&repeat.at_most)));
                write(&repeat.phases, settings, depth + 1, lines);
            }
        }
    }
}

fn speakers(who: &Who, settings: &Settings) -> String {
    let names = |role: &str| settings.of_role(role).map(|seat| seat.name.to_string()).collect::<Vec<_>>();
    match who {
        Who::Role { role, only_if: None } => names(role).join(", "),
        Who::Role { role, only_if: Some(only_if) } => format!("those of {} for whom {only_if}", names(role).join(", ")),
        Who::Pick { by, from, .. } => {
            let from: Vec<String> = from.iter().flat_map(|role| names(role)).collect();
            format!("one of {}, whom {} picks", from.join(", "), names(by).join(", "))
        }
    }
}
