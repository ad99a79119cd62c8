//! Who plays whom: a model for every character, and for the moderator.

use std::{collections::BTreeMap, path::Path};

use polylogue_core::{
    format::scene::{MODERATOR, STAND_IN},
    id::{AgentId, PersonId},
    money::Price,
    setup::{Agent, Cast, ModelRef, Sampling},
};
use polylogue_providers::resolve::{BUILT_IN, claude_code};

use super::{character::Character, fields::Moderator, setup::Origin};
use crate::{agents, args::Common, config::Config, engine::Engine, failure::Failure, opened};

/// What this process can play with.
pub(super) struct House<'a> {
    pub(super) common: &'a Common,
    pub(super) config: &'a Config,
    pub(super) engine: &'a Engine,
    pub(super) origin: Origin<'a>,
}

impl House<'_> {
    /// The characters and the moderator with their models; or everything that cannot be had.
    pub(super) fn cast(
        &self,
        characters: &[Character],
        people: &BTreeMap<AgentId, PersonId>,
        moderator: Option<&Moderator>,
    ) -> Result<Cast, Vec<String>> {
        let mut problems: Vec<String> = Vec::new();
        let mut kept = |part: Result<Agent, Failure>| match part {
            Ok(agent) => Some(agent),
            Err(failure) => {
                // Several may lack the same thing.
                if !problems.iter().any(|problem| problem == failure.message()) {
                    problems.push(failure.message().to_owned());
                }
                None
            }
        };
        let agents: Vec<Agent> = characters
            .iter()
            .filter_map(|character| match people.get(&character.id) {
                Some(who) => kept(self.part_of(who, character)),
                None => kept(self.part(character)),
            })
            .collect();
        let crew: Vec<Agent> = self.crew(moderator).into_iter().filter_map(kept).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let cast = Cast::new(agents, people.values().cloned().collect()).and_then(|cast| cast.with_crew(crew));
        cast.map_err(|problem| vec![problem.to_string()])
    }

    /// The part of a person: no model is asked for it, and nothing is paid.
    fn part_of(&self, who: &PersonId, character: &Character) -> Result<Agent, Failure> {
        let table = self.config.agents.get(character.id.as_str());
        let voice = character.voice.as_deref().or(table.and_then(|table| table.voice.as_deref()));
        voice.map_or(Ok(()), |voice| agents::known_voice(&character.id, voice, self.config))?;
        Ok(Agent {
            name: character.id.clone(),
            model: ModelRef::of_person(who),
            persona: character.persona.as_deref().map(Into::into),
            voice: voice.map(Into::into),
            sampling: Sampling::default(),
            price: Some(Price::FREE),
            is_small: false,
        })
    }

    fn part(&self, character: &Character) -> Result<Agent, Failure> {
        let named = |failure: Failure| Failure::config(format!("Character '{}': {}", character.id, failure.message()));
        let mut agent = match self.own_model(character).map_err(named)? {
            Some(model) => {
                self.engine.check(&model).map_err(named)?;
                agents::played_by(character.id.clone(), model, self.config, self.engine)?
            }
            None => agents::played_by(character.id.clone(), self.default_model()?, self.config, self.engine)?,
        };
        if let Some(voice) = &character.voice {
            agents::known_voice(&character.id, voice, self.config)?;
            agent.voice = Some(voice.as_str().into());
        }
        agent.persona = character.persona.as_deref().map(Into::into).or(agent.persona);
        Ok(agent)
    }

    /// The model that was chosen for this character: by the command, its own file, or the configuration.
    fn own_model(&self, character: &Character) -> Result<Option<ModelRef>, Failure> {
        if let Some(model) = &self.common.model {
            return agents::parse(model).map(Some);
        }
        let configured = || {
            let table = self.config.agents.get(character.id.as_str());
            table.map(|table| agents::chosen_model(table, self.config)).transpose().map(Option::flatten)
        };
        match character.model.as_deref() {
            None | Some("inherit") => configured(),
            Some(word) => match claude_code(word) {
                Some(model)
                    if self.may_name(&model, character.folder.is_some()) && self.engine.check(&model).is_ok() =>
                {
                    Ok(Some(model))
                }
                Some(model) => {
                    tracing::info!("{} is written for {model}, which cannot be used here", character.id);
                    configured()
                }
                None => self.named_in(word, character.folder.as_deref()).map(Some),
            },
        }
    }

    /// What plays where nobody chose: the configuration's choice for scenes, or the vendor that there is a key for.
    fn default_model(&self) -> Result<ModelRef, Failure> {
        if let Some(model) = &self.common.model {
            return agents::parse(model);
        }
        if let Some(model) = &self.config.scene.model {
            let model = self.named_in(model, Some(&self.config.folder))?;
            return self.engine.check(&model).map(|()| model);
        }
        // The files are those of Claude's agents, so Claude comes first.
        let built_in = BUILT_IN.iter().rev().map(|built_in| built_in.agent);
        let mut first_failure = None;
        for name in built_in {
            match agents::agent(name, self.common, self.config, self.engine) {
                Ok(agent) => return Ok(agent.model),
                Err(failure) => first_failure = first_failure.or(Some(failure)),
            }
        }
        Err(first_failure.unwrap_or_else(|| Failure::config("there is no model here")))
    }

    /// The moderator, and the one who stands in for it.
    fn crew(&self, of_scene: Option<&Moderator>) -> Vec<Result<Agent, Failure>> {
        let part = |name: &str, model: Result<ModelRef, Failure>| {
            let id: AgentId = name.parse().expect("a good name");
            model.and_then(|model| {
                self.engine.check(&model)?;
                agents::played_by(id, model, self.config, self.engine)
            })
        };
        let of_house = self.config.scene.moderator.as_ref();
        let folder = match self.origin {
            Origin::Folder(folder) => Some(folder),
            Origin::Request(_) => None,
        };
        let chosen = of_scene.map(|moderator| (moderator, folder));
        let chosen = chosen.or(of_house.map(|moderator| (moderator, Some(self.config.folder.as_path()))));
        let Some((moderator, folder)) = chosen else { return vec![part(MODERATOR, self.default_model())] };
        let model = moderator.model.as_deref().map(|model| self.named_in(model, folder));
        let mut crew = vec![part(MODERATOR, model.unwrap_or_else(|| self.default_model()))];
        crew.extend(moderator.fallback.as_deref().map(|model| part(STAND_IN, self.named_in(model, folder))));
        crew
    }

    /// The model that a file names. A script lies beside the file; what came from elsewhere lies nowhere.
    fn named_in(&self, model: &str, folder: Option<&Path>) -> Result<ModelRef, Failure> {
        let parsed = agents::parse(model)?;
        match folder {
            Some(folder) => Ok(agents::in_folder(parsed, folder)),
            None if self.may_name(&parsed, false) => Ok(parsed),
            None => Err(Failure::config(opened::closed(&parsed, &agents::names(self.config)))),
        }
    }

    /// What was written down on this machine may name every model, and who asks from outside those that are open.
    fn may_name(&self, model: &ModelRef, is_of_here: bool) -> bool {
        match self.origin {
            Origin::Request(opened) if !is_of_here => opened.admits(model),
            Origin::Folder(_) | Origin::Request(_) => true,
        }
    }
}
