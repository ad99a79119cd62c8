//! What a small model is told in a collaboration or a single call, and how it comes to its reply.
//!
//! It writes plain text. Whether that is the finished work, and who goes on with what, it is asked afterwards, and
//! the envelope is written from its answers. Nothing is finished before another has looked at it, and in the last
//! round there is nobody to hand over to: then it is not asked.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{Collaboration, Mode, Quote};
use crate::{
    ask::{Choice, Part, Pick, Plan, Request, Thread, Words},
    line::Speaker,
    prompt::Templates,
    setup::{Agent, BadSetup},
    stage::Stage,
};

/// Sentences and characters that one turn writes, at most.
const MESSAGE: (usize, usize) = (12, 900);
const ANSWER: (usize, usize) = (4, 500);
const TASK: (usize, usize) = (1, 120);
/// How many of the last contributions are shown.
const SHOWN: usize = 2;

const IS_DONE: &str = "small/is_done.j2";
const NEXT: &str = "small/who_is_next.j2";
const ASK_TASK: &str = "small/task.j2";

impl Mode {
    fn small_templates(self) -> [&'static str; 2] {
        match self {
            Mode::Collaborate => ["small/collaboration_system.j2", "small/collaboration_turn.j2"],
            Mode::Single => ["small/call_system.j2", "small/call_turn.j2"],
        }
    }
}

impl Collaboration {
    pub(super) fn small_request(&self, stage: &Stage, agent: &Agent) -> Request {
        let templates = stage.templates();
        let [system, turn] = self.mode.small_templates();
        Request {
            model: agent.model.clone(),
            system: templates.render(system, &names(stage)),
            thread: Thread::default(),
            prompt: templates.render(turn, &self.small_variables(agent)),
            shape: Some(self.envelope.clone()),
            grammar: None,
            plan: Some(Arc::new(self.plan(stage, agent))),
            sampling: agent.sampling.clone(),
        }
    }

    fn small_variables(&self, agent: &Agent) -> Value {
        let router = Speaker::Router.shared_name();
        let quotes = self.window.quotes();
        let work: Vec<&Quote> = quotes.iter().copied().filter(|quote| quote.name != router).collect();
        let work = &work[work.len().saturating_sub(SHOWN)..];
        let task = quotes.last().filter(|quote| quote.name == router).map(|quote| &*quote.text);
        let item = |quote: &&Quote| context! { name => &quote.name, text => &quote.text };
        context! {
            goal => &self.goal,
            background_lines => self.background.lines(),
            name => agent.name.as_str(),
            persona => agent.persona.as_deref().map(str::trim),
            work => work.iter().map(item).collect::<Vec<Value>>(),
            task,
            is_last => self.round >= self.max_rounds,
        }
    }

    fn plan(&self, stage: &Stage, agent: &Agent) -> Plan {
        let templates = stage.templates();
        if self.mode == Mode::Single {
            return Plan::object(vec![Part::Words(Words::new("message", ANSWER.0, ANSWER.1))]);
        }
        let message = Words { has_paragraphs: true, ..Words::new("message", MESSAGE.0, MESSAGE.1) };
        let done = Pick::new("Yes", true);
        let over = Pick::new("No", serde_json::Value::Null).then(vec![self.handoff(stage, agent)]);
        let options = match self.round {
            round if round >= self.max_rounds => vec![done],
            1 => vec![over],
            _ => vec![done, over],
        };
        let ask = templates.render(IS_DONE, &context! { goal => &self.goal });
        Plan::object(vec![Part::Words(message), Part::Choice(Choice::new("final", options).asked(ask))])
    }

    /// To whom, and with what task.
    fn handoff(&self, stage: &Stage, agent: &Agent) -> Part {
        let templates = stage.templates();
        let others = stage.cast().agents().iter().filter(|other| other.name != agent.name);
        let pick = |other: &Agent| {
            let name = other.name.as_str();
            let ask = templates.render(ASK_TASK, &context! { to => name });
            let task = Part::Words(Words::new("handoff.task", TASK.0, TASK.1).asked(ask));
            Pick::new(name, name).then(vec![task])
        };
        let next = Choice::new("handoff.to", others.map(pick).collect());
        Part::Choice(next.asked(templates.render(NEXT, &context! {})))
    }

    /// Fills every template of this file once.
    pub(super) fn try_small(&self, templates: &Templates, stage: &Stage) -> Result<(), BadSetup> {
        let [system, turn] = self.mode.small_templates();
        templates.try_render(system, &names(stage))?;
        templates.try_render(IS_DONE, &context! { goal => &self.goal })?;
        templates.try_render(NEXT, &context! {})?;
        templates.try_render(ASK_TASK, &context! { to => "name" })?;
        templates.try_render(turn, &self.small_variables(&stage.cast().agents()[0])).map(|_| ())
    }
}

fn names(stage: &Stage) -> Value {
    let names: Vec<String> = stage.cast().agents().iter().map(|agent| agent.name.to_string()).collect();
    context! { names }
}
