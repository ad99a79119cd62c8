//! A format with its settings, as a session's setup holds it.

use std::{any::Any, fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::{AnyRules, Described, Format, named, unread::UnreadSettings};
use crate::{event::Record, stage::Stage};

/// The rules of taking turns, with their settings. It is recorded as the settings with the format's `name`.
pub struct FormatSetup(Box<dyn AnySettings>);

impl FormatSetup {
    pub fn new(settings: impl Format) -> FormatSetup {
        FormatSetup(Box::new(settings))
    }

    /// The settings as their format knows them; `None` for another format.
    pub fn settings<F: Format>(&self) -> Option<&F> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    pub fn settings_mut<F: Format>(&mut self) -> Option<&mut F> {
        (&mut *self.0 as &mut dyn Any).downcast_mut()
    }

    pub fn is<F: Format>(&self) -> bool {
        self.settings::<F>().is_some()
    }

    pub fn name(&self) -> &str {
        self.0.name()
    }

    pub(crate) fn rules(&self, stage: &mut Stage, started: &Record) -> Box<dyn AnyRules> {
        self.0.rules(stage, started)
    }
}

impl Deref for FormatSetup {
    type Target = dyn Described;

    fn deref(&self) -> &(dyn Described + 'static) {
        &*self.0
    }
}

impl Clone for FormatSetup {
    fn clone(&self) -> FormatSetup {
        FormatSetup(self.0.boxed())
    }
}

impl fmt::Debug for FormatSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for FormatSetup {
    fn eq(&self, other: &FormatSetup) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl Serialize for FormatSetup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut whole = Map::new();
        whole.insert("name".to_owned(), self.name().into());
        whole.extend(self.0.to_map());
        whole.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FormatSetup {
    /// Settings that this version cannot read are kept as they are.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FormatSetup, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let Some(Value::String(name)) = map.shift_remove("name") else {
            return Err(de::Error::custom("a format has a name"));
        };
        let known = named(&name).and_then(|format| (format.settings)(map.clone()).ok());
        Ok(known.unwrap_or_else(|| FormatSetup(Box::new(UnreadSettings::new(name, map)))))
    }
}

/// Settings whose type is not known where they are held.
pub(super) trait AnySettings: Described + Any {
    fn boxed(&self) -> Box<dyn AnySettings>;
    fn is_same(&self, other: &dyn AnySettings) -> bool;
    fn to_map(&self) -> Map<String, Value>;
    fn name(&self) -> &str;
    fn rules(&self, stage: &mut Stage, started: &Record) -> Box<dyn AnyRules>;
}

impl<F: Format> AnySettings for F {
    fn boxed(&self) -> Box<dyn AnySettings> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn AnySettings) -> bool {
        (other as &dyn Any).downcast_ref::<F>() == Some(self)
    }

    fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self).expect("settings have string keys") {
            Value::Object(map) => map,
            _ => unreachable!("settings are an object"),
        }
    }

    fn name(&self) -> &str {
        F::NAME
    }

    fn rules(&self, stage: &mut Stage, started: &Record) -> Box<dyn AnyRules> {
        Box::new(Format::rules(self, stage, started))
    }
}
