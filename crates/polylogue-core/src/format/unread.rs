//! What a newer version wrote and this one does not know: kept as it was read, shown by its name, never played.

use serde_json::{Map, Value};

use super::{
    AnyRules, Decided, Described, Happened, Reaction, Rules, Wants, decision::AnyDecision, setup::AnySettings,
};
use crate::{
    ask::Request,
    event::Record,
    id::{AskId, PersonId},
    setup::{BadSetup, Cast},
    stage::Stage,
    step::Rejected,
};

/// A decision that cannot be read here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnreadDecision {
    format: String,
    json: String,
}

impl UnreadDecision {
    pub(super) fn new(format: &str, json: &str) -> UnreadDecision {
        UnreadDecision { format: format.to_owned(), json: json.to_owned() }
    }
}

impl Decided for UnreadDecision {
    fn unread(&self) -> Option<String> {
        let name = serde_json::from_str::<Value>(&self.json).ok();
        let name = name.as_ref().and_then(|json| json.get("decision")).and_then(Value::as_str).unwrap_or_default();
        Some(format!("the decision `{name}` of the format `{}`", self.format))
    }
}

impl AnyDecision for UnreadDecision {
    fn encode(&self) -> String {
        self.json.clone()
    }

    fn is_same(&self, other: &dyn AnyDecision) -> bool {
        (other as &dyn std::any::Any).downcast_ref() == Some(self)
    }
}

/// A format, or settings of one, that cannot be read here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnreadSettings {
    name: String,
    settings: Map<String, Value>,
}

impl UnreadSettings {
    pub(super) fn new(name: String, settings: Map<String, Value>) -> UnreadSettings {
        UnreadSettings { name, settings }
    }
}

impl Described for UnreadSettings {
    /// The formats call it differently; one of these it usually is.
    fn title(&self) -> &str {
        let named = ["title", "message", "goal", "question"].into_iter().find_map(|name| self.settings.get(name));
        named.and_then(Value::as_str).unwrap_or_default()
    }

    fn check(&self, _: &Cast) -> Result<(), BadSetup> {
        Err(BadSetup::Settings(vec![format!("the format `{}` is unknown here", self.name)]))
    }

    fn unread(&self) -> Option<String> {
        Some(format!("the format `{}` with its settings", self.name))
    }
}

impl AnySettings for UnreadSettings {
    fn boxed(&self) -> Box<dyn AnySettings> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn AnySettings) -> bool {
        (other as &dyn std::any::Any).downcast_ref() == Some(self)
    }

    fn to_map(&self) -> Map<String, Value> {
        self.settings.clone()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn rules(&self, _: &mut Stage, _: &Record) -> Box<dyn AnyRules> {
        Box::new(UnreadRules)
    }
}

/// The rules of a format that nobody here knows: nothing is wanted, and nothing follows from anything.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UnreadRules;

impl Rules for UnreadRules {
    fn wants(&self, _: &Stage) -> Wants {
        Wants::asks(Vec::new())
    }

    fn request(&self, _: &Stage, ask: &AskId) -> Request {
        unreachable!("nobody is asked: {ask}")
    }

    fn on(&self, _: &Stage, _: Happened<'_>) -> Result<Reaction, Rejected> {
        Ok(Reaction::default())
    }

    fn apply(&mut self, _: &mut Stage, _: &Record) {}

    fn try_templates(&self, _: &Stage) -> Result<(), BadSetup> {
        Ok(())
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        Err(Rejected::NotYourTurn(who.clone()))
    }

    fn counter(&self, ask: &AskId) -> String {
        format!("turn {}", ask.turn)
    }
}
