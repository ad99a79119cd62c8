//! What happened in a scene as its characters, its moderator and its transcript have it: `Alice [TONE: angry] "No!"`.
//!
//! Nobody is told what they cannot know. A line that was cut reads as it was heard. Whoever has been told the whole of
//! it before is told that the rest was never said, and so is whoever began to say it. What somebody does in silence is
//! seen by the others.

use std::sync::Arc;

use super::{
    bracket::{Action, ActionKind},
    settings::{AgentMode, Edition, Settings},
    vocabulary::kind,
};
use crate::{
    id::{AgentId, Seq},
    line::{Line, Speaker},
    stage::Stage,
};

/// As of the newest record that there is.
pub(super) const NOW: Seq = Seq(u64::MAX);

/// How many exchanges are told to somebody who is asked anew each beat.
const WINDOW: usize = 10;

/// The words before a cut that are quoted to whoever has to know of it.
const QUOTED_WORDS: usize = 12;

/// Somebody who chose to say nothing, and what could be seen of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) at: Seq,
    pub(super) who: AgentId,
    pub(super) nonverbal: Vec<Arc<str>>,
}

/// A scene with all that can be told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Onstage<'a> {
    pub(super) stage: &'a Stage,
    pub(super) settings: &'a Settings,
    pub(super) silences: &'a [Seen],
}

/// The part of what happened that somebody is told: after one record, up to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// What came before this was told before, as it was then.
    pub(super) after: Seq,
    /// Lines are told as they were at this record: what was cut later was still heard whole.
    pub(super) as_of: Seq,
    /// The lines of the transcript that are new, from and to.
    pub(super) lines: [usize; 2],
}

impl<'a> Onstage<'a> {
    fn lines(self) -> &'a [Line] {
        self.stage.transcript().lines()
    }

    /// A span in one's own words: in a thread what is new, else the last exchanges. `own` is whoever is told it and
    /// has its own lines in its thread already.
    pub(super) fn told(self, span: Span, own: Option<&AgentId>) -> Vec<String> {
        let Span { after, as_of, lines: [from, until] } = span;
        if self.settings.agent_mode == AgentMode::Fresh {
            return self.recent(as_of, until);
        }
        let lines = &self.lines()[..until];
        let mut told: Vec<((Seq, u8), String)> = Vec::new();
        let is_own = |who: &AgentId| own == Some(who);
        let others = lines[from..].iter().filter(|line| own.is_none_or(|own| !is_by(line, own)));
        told.extend(others.map(|line| ((line.seq, 1), self.line(line, as_of))));
        if self.settings.edition > Edition::First {
            let seen = self.silences.iter().filter(|silence| after < silence.at && silence.at <= as_of);
            let seen = seen.filter(|silence| !is_own(&silence.who));
            told.extend(seen.map(|silence| ((silence.at, 1), self.silence(silence))));
            told.extend(self.cuts(span, own));
        }
        told.sort_by_key(|(place, _)| *place);
        told.into_iter().map(|(_, told)| told).collect()
    }

    /// What is to be put right of what somebody was told or said before: each stands before the line that came in.
    fn cuts(self, span: Span, own: Option<&'a AgentId>) -> impl Iterator<Item = ((Seq, u8), String)> {
        let Span { after, as_of, lines: [_, until] } = span;
        let lines = &self.lines()[..until];
        let is_due = move |line: &&Line| {
            let is_new = line.cut_at.is_some_and(|cut| after < cut && cut <= as_of);
            is_new && (line.seq <= after || own.is_some_and(|own| is_by(line, own)))
        };
        lines.iter().filter(is_due).filter_map(move |line| {
            let (by, cut) = (line.cut_by.as_ref()?, line.cut_at?);
            let came_in = lines.iter().rev().find(|other| other.seq < cut && is_by(other, by));
            let place = (came_in.map_or(cut, |line| line.seq), 0);
            Some((place, self.cut(line, by, own)))
        })
    }

    /// Who was cut off after which words, as one of them is told it.
    fn cut(self, line: &Line, by: &AgentId, own: Option<&AgentId>) -> String {
        let heard = line.heard(NOW);
        let words: Vec<&str> = heard.split_whitespace().collect();
        let dots = if words.len() > QUOTED_WORDS { "…" } else { "" };
        let quoted = format!("{dots}{}", words[words.len().saturating_sub(QUOTED_WORDS)..].join(" "));
        let by = if own == Some(by) { "You" } else { self.settings.name_of(by) };
        match own.is_some_and(|own| is_by(line, own)) {
            true => format!(
                "[CUT: {by} came in after your words \"{quoted}\" You never said the rest of that line, and nobody \
                 heard it.]"
            ),
            false => {
                let whose = self.name_of(line);
                format!(
                    "[CUT: {by} came in after {whose}'s words \"{quoted}\" The rest of that line was never said, and \
                     nobody heard it.]"
                )
            }
        }
    }

    /// The last exchanges, as they were at a record.
    fn recent(self, as_of: Seq, until: usize) -> Vec<String> {
        let lines = &self.lines()[..until];
        let lines = &lines[lines.len().saturating_sub(WINDOW)..];
        let mut told: Vec<(Seq, String)> = lines.iter().map(|line| (line.seq, self.line(line, as_of))).collect();
        let seen = self.seen_after(lines.first().map(|line| line.seq), as_of);
        told.extend(seen.map(|silence| (silence.at, self.silence(silence))));
        told.sort_by_key(|(at, _)| *at);
        told.into_iter().map(|(_, told)| told).collect()
    }

    /// What could be seen of those who stayed silent after a record, or all of it, up to another.
    pub(super) fn seen_after(self, after: Option<Seq>, as_of: Seq) -> impl Iterator<Item = &'a Seen> {
        let is_told = self.settings.edition > Edition::First;
        let seen = self.silences.iter().filter(move |silence| after < Some(silence.at) && silence.at <= as_of);
        seen.filter(move |_| is_told)
    }

    /// The line in one row, as it was at a record.
    pub(super) fn line(self, line: &Line, as_of: Seq) -> String {
        match (&line.speaker, action_of(line, self.settings, as_of)) {
            (Speaker::Agent(agent), Some(action)) => format!("{} {action}", self.settings.name_of(agent)),
            (_, _) if line.kind == kind::EVENT => format!("[EVENT: {}]", line.text),
            (_, _) => format!("[SYSTEM: {}]", line.text),
        }
    }

    fn silence(self, silence: &Seen) -> String {
        let action = Action { nonverbal: silence.nonverbal.clone(), ..Action::silent() };
        format!("{} {action}", self.settings.name_of(&silence.who))
    }

    fn name_of<'b>(self, line: &'b Line) -> &'b str
    where
        'a: 'b,
    {
        match &line.speaker {
            Speaker::Agent(agent) => self.settings.name_of(agent),
            Speaker::Person(_) | Speaker::Router | Speaker::Moderator => line.speaker.name(),
        }
    }
}

/// Whether this character said or did it.
pub(super) fn is_by(line: &Line, who: &AgentId) -> bool {
    matches!(&line.speaker, Speaker::Agent(agent) if agent == who)
}

/// What a character did with this line, as far as it came with it: a line that was cut ends with a dash.
pub(super) fn action_of(line: &Line, settings: &Settings, as_of: Seq) -> Option<Action> {
    let kind = match line.kind {
        kind::SPEAK => ActionKind::Speak,
        kind::INTERRUPT => ActionKind::Interrupt,
        kind::REACT => ActionKind::React,
        _ => return None,
    };
    Some(Action {
        kind,
        to: line.to.as_ref().map(|to| settings.name_of(to).into()),
        tone: line.delivery.tone.clone(),
        nonverbal: line.delivery.nonverbal.clone(),
        after: line.delivery.interrupts_after.clone(),
        text: if kind.is_verbal() { line.heard(as_of) } else { "".into() },
    })
}
