//! A conversation played without a runtime: every step is performed at once, by a function.

use std::sync::Arc;

use polylogue_core::{
    Answer, Conversation, Event, Input, Record, Rejected, Setup, Step, Timestamp,
    ask::Ask,
    event::Origin,
    format::{
        chorus::{self, Slot, SlotId, VoiceProfile},
        collaboration::Settings,
        discussion::{self, Participant, Role, Who},
    },
    id::SessionId,
    money::Price,
    setup::{Agent, BadSetup, Cast, FormatSetup, Limits, Sampling},
};

pub(crate) struct Play {
    pub(crate) conversation: Conversation,
    pub(crate) records: Vec<Record>,
    now: Timestamp,
}

impl Play {
    pub(crate) fn start(setup: Setup) -> Result<Play, BadSetup> {
        let now = Timestamp(1_700_000_000_000);
        let (conversation, first) = Conversation::start(setup, now)?;
        Ok(Play { conversation, records: vec![first], now })
    }

    /// A play that goes on after these records.
    pub(crate) fn replay(records: &[Record]) -> Play {
        let conversation = Conversation::replay(records).unwrap();
        let now = conversation.stage().last_at();
        Play { conversation, records: records.to_vec(), now }
    }

    pub(crate) fn wait_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    pub(crate) fn record(&mut self, events: Vec<Event>) {
        for event in events {
            let record = Record { seq: self.conversation.stage().head().next(), at: self.now, event };
            self.conversation.apply(&record);
            self.records.push(record);
        }
    }

    /// Begins what is next, and returns the asks.
    pub(crate) fn begin(&mut self) -> Vec<Ask> {
        let steps = self.conversation.next();
        for step in &steps {
            self.record(self.conversation.begin(step));
        }
        steps
            .into_iter()
            .filter_map(|step| match step {
                Step::Ask(ask) => Some(ask),
                Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
            })
            .collect()
    }

    pub(crate) fn give(&mut self, input: Input) -> Result<(), Rejected> {
        let events = self.conversation.on(input)?;
        self.record(events);
        Ok(())
    }

    pub(crate) fn answer(&mut self, ask: &Ask, text: &str) {
        let answer = Answer { text: text.into(), ..Answer::default() };
        self.give(Input::Answered { ask: ask.id.clone(), answer }).unwrap();
    }

    /// An answer that broke off at the output limit.
    pub(crate) fn answer_in_part(&mut self, ask: &Ask, text: &str) {
        let answer = Answer { text: text.into(), is_full: true, ..Answer::default() };
        self.give(Input::Answered { ask: ask.id.clone(), answer }).unwrap();
    }

    /// Plays to the end, a second for every answer.
    pub(crate) fn run(mut self, reply: impl Fn(&Ask) -> String) -> Play {
        while self.conversation.stage().ended().is_none() {
            for ask in self.begin() {
                self.wait_ms(1_000);
                let text = reply(&ask);
                self.answer(&ask, &text);
            }
        }
        self
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.conversation.stage().transcript().lines();
        lines.iter().map(|line| format!("{}: {}", line.speaker, line.text)).collect()
    }

    /// The journal, a line for each event, as it is stored.
    pub(crate) fn journal(&self) -> String {
        self.records.iter().map(|record| format!("{} {}\n", record.seq, record.event.encode())).collect()
    }
}

pub(crate) fn agent(name: &str) -> Agent {
    Agent {
        name: name.parse().unwrap(),
        model: "script/test.yaml".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    }
}

pub(crate) fn collaboration(names: &[&str], max_rounds: u32) -> Setup {
    Setup {
        id: SessionId::from_bytes([0x11; 16]),
        format: FormatSetup::new(Settings::new("Write a fairy tale.", names[0].parse().unwrap(), max_rounds)),
        cast: Cast::new(names.iter().map(|name| agent(name)).collect(), vec!["you".parse().unwrap()]).unwrap(),
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

pub(crate) fn settings(setup: &mut Setup) -> &mut Settings {
    setup.format.settings_mut().expect("a collaboration")
}

pub(crate) fn handoff(message: &str, to: &str, task: &str) -> String {
    format!(r#"{{"message": "{message}", "handoff": {{"to": "{to}", "task": "{task}"}}}}"#)
}

/// A person's words.
pub(crate) fn said(who: &str, words: &str) -> Input {
    Input::HumanSaid { who: who.parse().unwrap(), text: words.into(), origin: Origin::default() }
}

/// The participant that is written so: `user=ada` is a person, everything else an agent.
pub(crate) fn participant(written: &str) -> Participant {
    let (role, name) = written.split_once('=').unwrap();
    let role = Role::named(role).unwrap();
    let who = match role {
        Role::User => Who::Person(name.parse().unwrap()),
        Role::Manager | Role::Leader | Role::Specialist => Who::Agent(name.parse().unwrap()),
    };
    Participant { role, who }
}

/// Who takes part, and their cast with the default stop sequences.
pub(crate) fn seats(written: &[&str]) -> (Vec<Participant>, Cast) {
    let participants: Vec<Participant> = written.iter().map(|written| participant(written)).collect();
    let (mut agents, mut people) = (Vec::new(), Vec::new());
    for participant in &participants {
        match &participant.who {
            Who::Agent(name) => {
                let mut agent = agent(name.as_str());
                agent.sampling.stop = discussion::Settings::DEFAULT_STOP.map(str::to_owned).to_vec();
                agents.push(agent);
            }
            Who::Person(person) => people.push(person.clone()),
        }
    }
    (participants, Cast::new(agents, people).unwrap())
}

pub(crate) fn discussion(written: &[&str], max_rounds: u32) -> Setup {
    let (participants, cast) = seats(written);
    Setup {
        id: SessionId::from_bytes([0x33; 16]),
        format: FormatSetup::new(discussion::Settings {
            title: "The roof".into(),
            topic: None,
            participants,
            max_rounds,
            key: None,
            closing: discussion::Closing::Open,
        }),
        cast,
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

pub(crate) fn text(text: &str) -> Arc<str> {
    text.into()
}

/// A chorus of so many slots; the agent of slot n is `agent-n` to the outside.
pub(crate) fn chorus(slots: u8) -> Setup {
    let ids: Vec<SlotId> = (1..=slots).map(|slot| slot.try_into().unwrap()).collect();
    let voice = |name: &str, description: &str| VoiceProfile { name: name.into(), description: description.into() };
    Setup {
        id: SessionId::from_bytes([0x22; 16]),
        format: FormatSetup::new(chorus::Settings {
            message: "What is a home?".into(),
            slots: ids
                .iter()
                .map(|id| Slot { slot_id: *id, agent_id: format!("agent-{id}").parse().unwrap(), name: None })
                .collect(),
            voices: vec![voice("dry_precise", "measured and exact"), voice("playful", "lively")],
        }),
        cast: Cast::new(ids.iter().map(|id| agent(id.agent().as_str())).collect(), vec!["you".parse().unwrap()])
            .unwrap(),
        limits: Limits::default(),
        seed: 7,
        speech: true,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

pub(crate) fn spoken(words: &str) -> String {
    format!(r#"{{"text": "{words}", "voice_profile": "playful"}}"#)
}

pub(crate) fn comment_on(target: u8, words: &str) -> String {
    format!(r#"{{"targetSlotId": {target}, "comment": "{words}", "voice_profile": "dry_precise"}}"#)
}
