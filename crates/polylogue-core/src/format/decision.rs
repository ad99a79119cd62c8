//! What only one format decides, as the journal holds it.
//!
//! Shared code passes a decision over and asks it the few things that concern everybody. The format's own code
//! opens it: `event.decided::<scene::Decision>()`.

use std::{any::Any, fmt, ops::Deref, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned, ser::Error};

use super::{named, unread::UnreadDecision};
use crate::{
    event::Awaits,
    id::{AgentId, AskId},
};

/// What shared code may ask of a format's decision.
pub trait Decided: fmt::Debug + Send + Sync {
    /// Whether it only says what follows from the event before it. A journal is never cut before such a decision:
    /// both were written together.
    fn is_consequence(&self) -> bool {
        true
    }

    /// The ask that it is about.
    fn ask(&self) -> Option<&AskId> {
        None
    }

    /// Whether only people are waited for from here on, where the decision says so.
    fn awaits_person(&self) -> Option<Awaits> {
        None
    }

    /// What somebody put down to remember, and who.
    fn remembered(&self) -> Option<(&AgentId, &Arc<str>)> {
        None
    }

    /// What the log says of it.
    fn remark(&self) -> Option<Remark> {
        None
    }

    /// What this version cannot read of it.
    fn unread(&self) -> Option<String> {
        None
    }
}

/// A decision that can be recorded: an object with the format's name as its `type` and its own name as its
/// `decision` (`#[serde(tag = "decision")]`), by which a version that does not know the format tells it from an event.
pub trait Recorded: Decided + Serialize + DeserializeOwned + JsonSchema + PartialEq + 'static {
    /// The format that decides so, by the name that it is registered under.
    const FORMAT: &'static str;
}

/// Something for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub is_warning: bool,
    pub text: String,
}

impl Remark {
    pub fn info(text: impl Into<String>) -> Remark {
        Remark { is_warning: false, text: text.into() }
    }

    pub fn warning(text: impl Into<String>) -> Remark {
        Remark { is_warning: true, text: text.into() }
    }
}

/// The decisions of a format that decides nothing of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NoDecision {}

impl Decided for NoDecision {}

impl Recorded for NoDecision {
    const FORMAT: &'static str = "";
}

/// A decision of any format.
#[derive(Clone)]
pub struct Decision(Arc<dyn AnyDecision>);

impl Decision {
    pub fn new(decision: impl Recorded) -> Decision {
        Decision(Arc::new(decision))
    }

    /// The decision as its format knows it; `None` for one of another format.
    pub fn open<D: Recorded>(&self) -> Option<&D> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Reads a decision of the format of this name. What cannot be read is kept as it is.
    pub(crate) fn decode(format: &str, json: &str) -> Decision {
        let known = named(format).and_then(|format| (format.decision)(json).ok());
        known.unwrap_or_else(|| Decision(Arc::new(UnreadDecision::new(format, json))))
    }

    pub(crate) fn encode(&self) -> String {
        self.0.encode()
    }
}

impl Deref for Decision {
    type Target = dyn Decided;

    fn deref(&self) -> &(dyn Decided + 'static) {
        &*self.0
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Decision {
    fn eq(&self, other: &Decision) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: serde_json::Value = serde_json::from_str(&self.encode()).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

/// A decision whose type is not known where it is held.
pub(super) trait AnyDecision: Decided + Any {
    fn encode(&self) -> String;
    fn is_same(&self, other: &dyn AnyDecision) -> bool;
}

impl<D: Recorded> AnyDecision for D {
    fn encode(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a, D> {
            r#type: &'static str,
            #[serde(flatten)]
            decision: &'a D,
        }
        let json = serde_json::to_string(&Whole { r#type: D::FORMAT, decision: self });
        let json = json.expect("decisions have string keys");
        debug_assert!(json.contains("\"decision\":"), "a decision is tagged with its own name: {json}");
        json
    }

    fn is_same(&self, other: &dyn AnyDecision) -> bool {
        (other as &dyn Any).downcast_ref::<D>() == Some(self)
    }
}
