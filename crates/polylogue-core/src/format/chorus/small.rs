//! What a small model is told in a chorus, and how it comes to its reply.
//!
//! What is common to all slots comes first and in the same order, what is a slot's own comes last: so it is computed
//! once for all of them. A slot keeps no thread; what it has to know stands in the prompt.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    answer,
    persona::Persona,
    phase::Phase,
    seat::{Comment, News, Peer, Seat},
    settings::VoiceProfile,
};
use crate::{
    ask::{Choice, Part, Pick, Plan, Request, Thread, Words},
    prompt::Templates,
    setup::{Agent, BadSetup},
    stage::Stage,
};

const SYSTEM: &str = "small/chorus_system.j2";
const EXAMPLE: &str = "small/chorus_example.j2";
const RESPOND: &str = "small/turn1_response.j2";
const SELECT: &str = "small/turn2_comment_select.j2";
const COMMENT: &str = "small/turn2_comment.j2";
const REPLY: &str = "small/turn3_reply.j2";
const VOICE: &str = "small/voice.j2";

impl Seat {
    /// The request of a small model at its turn.
    pub(super) fn small_request(&self, stage: &Stage, all: &[VoiceProfile], agent: &Agent, news: &News) -> Request {
        let templates = stage.templates();
        let (template, _) = by_phase(news.phase);
        Request {
            model: agent.model.clone(),
            system: templates.render(SYSTEM, &context! {}),
            thread: Thread::example(&templates.render(EXAMPLE, &context! {})),
            prompt: templates.render(template, &self.small_variables(agent, news)),
            shape: self.shape().map(Arc::new),
            grammar: None,
            plan: Some(Arc::new(self.plan(templates, all, news))),
            sampling: agent.sampling.clone(),
        }
    }

    fn small_variables(&self, agent: &Agent, news: &News) -> Value {
        let usual = Persona::of(self.slot).brief();
        let answer = |peer: &Peer| {
            context! { number => peer.slot.number(), name => &peer.called, text => &peer.text }
        };
        let comment = |comment: &Comment| context! { name => &comment.called, text => &comment.text };
        let mut answers: Vec<Peer> = news.peers.iter().cloned().chain(self.as_peer()).collect();
        answers.sort_by_key(|peer| peer.slot);
        let before = |(message, said): &(Arc<str>, Arc<str>)| context! { message => message, said => said };
        context! {
            user_message => &news.message,
            name => &self.called,
            persona => agent.persona.as_deref().map_or(usual, str::trim),
            earlier => self.earlier.iter().map(before).collect::<Vec<Value>>(),
            answers => answers.iter().map(answer).collect::<Vec<Value>>(),
            own => self.slot.number(),
            said => self.response.as_deref().unwrap_or_default(),
            received => news.received.iter().map(|comment| comment.text.clone()).collect::<Vec<Arc<str>>>(),
            comments => news.received.iter().map(comment).collect::<Vec<Value>>(),
        }
    }

    /// Fills every template of this file once, with something in every list.
    pub(super) fn try_small(&self, templates: &Templates, agent: &Agent, news: &News) -> Result<(), BadSetup> {
        templates.try_render(SYSTEM, &context! {})?;
        templates.try_render(VOICE, &context! {})?;
        templates.try_render(EXAMPLE, &context! {})?;
        templates.try_render(COMMENT, &context! { name => "name", text => "text" })?;
        templates.try_render(by_phase(news.phase).0, &self.small_variables(agent, news)).map(|_| ())
    }

    /// What it answers, one thing after the other.
    fn plan(&self, templates: &Templates, all: &[VoiceProfile], news: &News) -> Plan {
        let voice = self.voice_part(templates, all);
        let heard = self.heard(news);
        let (_, (sentences, max_chars)) = by_phase(news.phase);
        let words = |field| Words::new(field, sentences, max_chars).having_heard(heard.clone());
        if news.phase != Phase::Comment {
            let about: Vec<Arc<str>> = match news.phase {
                Phase::Reply => news.received.iter().map(|comment| comment.text.clone()).collect(),
                Phase::Respond | Phase::Comment => vec![news.message.clone()],
            };
            return Plan::object(vec![Part::Words(words(answer::TEXT).about(about)), voice]);
        }
        let pick = |peer: &Peer| {
            let ask = templates.render(COMMENT, &context! { name => &peer.called, text => &peer.text });
            let words = Part::Words(words(answer::COMMENT).asked(ask).about([peer.text.clone()]));
            Pick::new(peer.slot.to_string(), peer.slot.number()).then(vec![words])
        };
        let target = Choice::new(answer::TARGET, news.peers.iter().map(pick).collect());
        Plan::object(vec![Part::Choice(target), voice])
    }

    fn voice_part(&self, templates: &Templates, all: &[VoiceProfile]) -> Part {
        let pick = |name: &Arc<str>| {
            let described = all.iter().any(|voice| voice.name == *name);
            let words = if described { name.replace('_', " ") } else { name.to_string() };
            Pick::new(words, &**name)
        };
        let voices = self.voices.iter().map(pick).collect();
        Part::Choice(Choice::new(answer::VOICE, voices).asked(templates.render(VOICE, &context! {})))
    }

    /// What was said already, and need not be said again.
    fn heard(&self, news: &News) -> Arc<[Arc<str>]> {
        let peers = news.peers.iter().map(|peer| peer.text.clone());
        let received = news.received.iter().map(|comment: &Comment| comment.text.clone());
        let own = self.response.iter().chain(self.comment.as_ref().map(|comment| &comment.text)).cloned();
        peers.chain(received).chain(own).chain(self.earlier.iter().map(|(_, said)| said.clone())).collect()
    }
}

/// The template of a turn, and how many sentences and characters its words have at most.
fn by_phase(phase: Phase) -> (&'static str, (usize, usize)) {
    match phase {
        Phase::Respond => (RESPOND, (2, 320)),
        Phase::Comment => (SELECT, (1, 180)),
        Phase::Reply => (REPLY, (2, 320)),
    }
}
