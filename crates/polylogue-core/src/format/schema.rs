//! The schemas of what a format adds to the shared types: its settings in a setup, its decisions among the records.
//! They are made of the types themselves, so they say what is really written.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{FORMATS, Format, FormatSetup, Recorded};
use crate::{id::Seq, time::Timestamp};

/// A format's settings with its name, as [`FormatSetup`] writes them.
pub(super) struct SetUp<F>(PhantomData<F>);

impl<F: Format> JsonSchema for SetUp<F> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Setup", capitalised(F::NAME)).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_first(F::json_schema(generator), vec![("name", json!({ "type": "string", "const": F::NAME }))])
    }
}

/// The settings of any format, told apart by `name`.
impl JsonSchema for FormatSetup {
    fn schema_name() -> Cow<'static, str> {
        "FormatSetup".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let formats: Vec<Schema> = FORMATS.iter().map(|format| (format.setup_schema)(generator)).collect();
        json_schema!({
            "description": "The format with its settings, told apart by `name`. Settings that a newer version wrote are \
                            passed on as they were recorded.",
            "oneOf": formats,
        })
    }
}

/// A decision of one format with its place and time, as a record writes it.
pub(super) struct DecisionRecord<D>(PhantomData<D>);

impl<D: Recorded> JsonSchema for DecisionRecord<D> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Decision", capitalised(D::FORMAT)).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let format = ("type", json!({ "type": "string", "const": D::FORMAT }));
        placed(D::json_schema(generator), &[format], generator)
    }
}

/// The decisions of every format that decides something of its own.
pub(crate) fn decision_schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
    FORMATS.iter().filter_map(|format| format.decision_schema).map(|schema| schema(generator)).collect()
}

/// A union of what is recorded, each variant with its place, its time and these fields before its own.
pub(crate) fn placed(mut union: Schema, fields: &[(&'static str, Value)], generator: &mut SchemaGenerator) -> Schema {
    let mut first = vec![
        ("seq", generator.subschema_for::<Seq>().to_value()),
        ("at", generator.subschema_for::<Timestamp>().to_value()),
    ];
    first.extend_from_slice(fields);
    if let Some(Value::Array(variants)) = union.get_mut("oneOf") {
        for variant in variants {
            let schema = Schema::try_from(variant.take()).expect("a variant is described by an object");
            *variant = with_first(schema, first.clone()).to_value();
        }
    }
    union
}

/// The schema of an object that has these fields before its own.
fn with_first(mut object: Schema, first: Vec<(&'static str, Value)>) -> Schema {
    let object_map = object.ensure_object();
    let own = |map: &mut Map<String, Value>, key: &str| map.remove(key).unwrap_or_default();
    let mut properties: Map<String, Value> = Map::new();
    let mut required: Vec<Value> = Vec::new();
    for (name, schema) in first {
        required.push(name.into());
        properties.insert(name.to_owned(), schema);
    }
    if let Value::Object(own) = own(object_map, "properties") {
        properties.extend(own);
    }
    if let Value::Array(own) = own(object_map, "required") {
        required.extend(own);
    }
    object_map.insert("properties".to_owned(), properties.into());
    object_map.insert("required".to_owned(), required.into());
    object
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
