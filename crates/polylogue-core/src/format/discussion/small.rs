//! What a small model is told in a discussion: the newest of what was said, the same for everybody, then who it is.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{Discussion, Participant, Who};
use crate::{
    ask::{Plan, Request, Thread, Words},
    line::Line,
    setup::{Agent, BadSetup},
    stage::Stage,
};

/// Sentences and characters of a turn, at most.
const TURN: (usize, usize) = (3, 420);
/// The newest lines that are shown, at least. More are shown until there are twice as many, so that the beginning
/// stays the same for several turns and is computed once.
const SHOWN: usize = 10;

const SYSTEM: &str = "small/discussion_system.j2";
const TURN_TEMPLATE: &str = "small/discussion_turn.j2";
const CLOSING: &str = "small/discussion_closing.j2";

impl Discussion {
    pub(super) fn small_request(&self, stage: &Stage, agent: &Agent) -> Request {
        let templates = stage.templates();
        let words = Words::new("words", TURN.0, TURN.1);
        let heard: Arc<[Arc<str>]> = self.shown(stage).iter().map(|line| line.text.clone()).collect();
        let about = heard.last().cloned().unwrap_or_else(|| self.title.clone());
        Request {
            model: agent.model.clone(),
            system: templates.render(SYSTEM, &self.small_head()),
            thread: Thread::default(),
            prompt: templates.render(
                if self.closer().is_some() { CLOSING } else { TURN_TEMPLATE },
                &self.small_variables(stage, agent),
            ),
            shape: None,
            grammar: None,
            plan: Some(Arc::new(Plan::plain(words.having_heard(heard).about([about])))),
            sampling: agent.sampling.clone(),
        }
    }

    fn shown<'a>(&self, stage: &'a Stage) -> &'a [Line] {
        let lines = stage.transcript().lines();
        let left_out = (lines.len().saturating_sub(SHOWN) / SHOWN) * SHOWN;
        &lines[left_out..]
    }

    fn small_head(&self) -> Value {
        let names: Vec<String> = self.participants.iter().map(|one| called(one).to_owned()).collect();
        context! { title => &self.title, topic => self.topic.as_ref(), names }
    }

    fn small_variables(&self, stage: &Stage, agent: &Agent) -> Value {
        let entry = |line: &Line| {
            let by = self.participants.iter().find(|participant| participant.is(&line.speaker))?;
            Some(context! { name => called(by), text => &line.text })
        };
        let own = self.participants.iter().find(|participant| participant.name() == agent.name.as_str());
        context! {
            entries => self.shown(stage).iter().filter_map(entry).collect::<Vec<Value>>(),
            name => agent.name.as_str(),
            role => own.map(|own| own.role.as_str()),
            persona => agent.persona.as_deref().map(str::trim),
            notes => self.seats.get(&agent.name).map(|seat| seat.notes.clone()).unwrap_or_default(),
        }
    }

    /// Fills every template of this file once.
    pub(super) fn try_small(&self, stage: &Stage) -> Result<(), BadSetup> {
        stage.templates().try_render(SYSTEM, &self.small_head())?;
        let Some(agent) = stage.cast().agents().first() else { return Ok(()) };
        stage.templates().try_render(CLOSING, &self.small_variables(stage, agent))?;
        stage.templates().try_render(TURN_TEMPLATE, &self.small_variables(stage, agent)).map(|_| ())
    }
}

/// What a participant is called among the others. A person is `you` to whoever speaks to the program, and to nobody
/// in the discussion.
fn called(participant: &Participant) -> &str {
    match &participant.who {
        Who::Person(person) if person.as_str() == "you" => "a guest",
        Who::Person(_) | Who::Agent(_) => participant.name(),
    }
}
