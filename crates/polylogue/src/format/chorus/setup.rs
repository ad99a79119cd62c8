//! A chorus as this process can seat it: who sits where, what they may sound like, how it is set up.

use polylogue_core::{
    Setup,
    format::chorus::{Persona, Settings, Slot, SlotId, VoiceProfile},
    id::PersonId,
    setup::{Cast, FormatSetup},
};
use polylogue_providers::speech::Profiles;

use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
};

/// What is asked for; what is left open, the configuration and the house decide.
pub(crate) struct Wish {
    pub(crate) message: String,
    pub(crate) slots: Vec<Seat>,
    pub(crate) seed: Option<u64>,
    pub(crate) speech: Option<bool>,
}

/// Who sits in a slot.
pub(crate) struct Seat {
    pub(crate) number: u8,
    /// An agent by its name.
    pub(crate) agent: String,
    /// What the others call it.
    pub(crate) name: Option<String>,
    /// In the place of the agent's own.
    pub(crate) persona: Option<String>,
    pub(crate) voice: Option<String>,
}

impl Seat {
    /// An agent as the configuration has it.
    pub(crate) fn of(number: u8, agent: String) -> Seat {
        Seat { number, agent, name: None, persona: None, voice: None }
    }
}

pub(crate) fn setup(wish: Wish, common: &Common, config: &Config, engine: &Engine) -> Result<Setup, Failure> {
    let seats = if wish.slots.is_empty() { default_seats(common, config, engine)? } else { wish.slots };
    let (mut slots, mut cast) = (Vec::new(), Vec::new());
    for seat in seats {
        let slot_id = SlotId::try_from(seat.number).map_err(|error| Failure::request(error.to_string()))?;
        let mut agent = agents::agent(&seat.agent, common, config, engine)?;
        if let Some(voice) = &seat.voice {
            agents::known_voice(&agent.name, voice, config)?;
            agent.voice = Some(voice.as_str().into());
        }
        if let Some(persona) = seat.persona {
            agent.persona = Some(persona.into());
        }
        let agent_id = std::mem::replace(&mut agent.name, slot_id.agent());
        if slots.iter().any(|slot: &Slot| slot.slot_id == slot_id) {
            return Err(Failure::request(format!("slot {slot_id} is given twice")));
        }
        let usual = agent.persona.is_none().then(|| Persona::of(slot_id));
        if let Some(usual) = usual {
            agent.persona = Some(if agent.is_small { usual.brief().into() } else { usual.full().into() });
        }
        let name = seat.name.or(usual.map(|usual| usual.name.to_owned()));
        slots.push(Slot { slot_id, agent_id, name: name.map(Into::into) });
        cast.push(agent);
    }
    name_the_rest(&mut slots);
    let person: PersonId = "you".parse().expect("a good name");
    let by_default = config.chorus.speech.unwrap_or(true) || common.speech;
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(Settings { message: wish.message.trim().into(), slots, voices: voices(config) }),
        cast: Cast::new(cast, vec![person])?,
        limits: config.limits.limits(),
        seed: wish.seed.or(common.seed).map_or_else(engine::new_seed, Ok)?,
        speech: wish.speech.unwrap_or(by_default) && !common.no_speech,
        templates: config.templates()?,
        room: None,
        tenant: None,
    })
}

/// Whoever has no name goes by that of its agent, where nobody else does.
fn name_the_rest(slots: &mut [Slot]) {
    let plain = |name: &str| name.to_lowercase();
    let names: Vec<String> = slots.iter().filter_map(|slot| slot.name.as_deref().map(plain)).collect();
    let agents: Vec<String> = slots.iter().map(|slot| plain(slot.agent_id.as_str())).collect();
    for slot in slots.iter_mut().filter(|slot| slot.name.is_none()) {
        let own = plain(slot.agent_id.as_str());
        let is_alone = agents.iter().filter(|agent| **agent == own).count() == 1 && !names.contains(&own);
        let is_short = own.chars().count() <= Settings::MAX_NAME_CHARS && !own.contains(':');
        slot.name = (is_alone && is_short).then(|| slot.agent_id.as_str().into());
    }
}

/// The voice profiles that agents are offered.
pub(crate) fn voices(config: &Config) -> Vec<VoiceProfile> {
    let profiles = Profiles::with(config.voices.clone());
    let profile = |name: &str, description: &str| VoiceProfile { name: name.into(), description: description.into() };
    profiles.iter().map(|voice| profile(&voice.name, &voice.description)).collect()
}

/// Six seats: those of the configuration, or else every agent that can be used here, in turn.
pub(crate) fn default_seats(common: &Common, config: &Config, engine: &Engine) -> Result<Vec<Seat>, Failure> {
    let seated = |(number, name): (u8, &String)| Seat::of(number, name.clone());
    let numbered = |names: &[String]| -> Vec<Seat> {
        (1..=SlotId::MAX).zip(names.iter().cycle().take(usize::from(SlotId::MAX))).map(seated).collect()
    };
    if let Some(names) = config.chorus.slots.as_deref().filter(|names| !names.is_empty()) {
        return Ok((1..=SlotId::MAX).zip(names).map(seated).collect());
    }
    let mut usable = Vec::new();
    let mut first_failure = None;
    for name in agents::names(config) {
        match agents::agent(name, common, config, engine) {
            Ok(_) => usable.push(name.to_owned()),
            Err(failure) => first_failure = first_failure.or(Some(failure)),
        }
    }
    match first_failure {
        Some(failure) if usable.is_empty() => Err(failure),
        _ => Ok(numbered(&usable)),
    }
}
