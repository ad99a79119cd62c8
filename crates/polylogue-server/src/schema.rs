//! The description of the API, put together: utoipa describes the routes, `schemars` the bodies.
//!
//! `schemars` follows serde's own attributes, so a schema says what is really written: a field that is always there
//! is required, one that may be `null` says so, one that is left out when it is empty is optional. utoipa only
//! carries these schemas: a type of this crate is listed in [`described!`], one of another crate gets a stand-in
//! with [`stand_ins!`], and [`whole`] puts them in their places.

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};
use utoipa::openapi::{ObjectBuilder, OpenApi, RefOr, extensions::Extensions, schema::Schema};

/// Where utoipa carries the schemas of a type and of all types in it.
const CARRIED: &str = "x-carried";

/// Describes types to utoipa as serde writes them (`sent`) or reads them (`taken`).
macro_rules! described {
    ($way:ident: $($type:ty),+ $(,)?) => {$(
        $crate::schema::described!(@ $way, $type, $type);
    )+};
    (@ $way:ident, $type:ty, $real:ty) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::schema::$way::<$real>()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                <$real as schemars::JsonSchema>::schema_name()
            }
        }
    };
}
pub(crate) use described;

/// Types that stand for those of other crates where a route is described.
macro_rules! stand_ins {
    ($($name:ident = $real:ty),+ $(,)?) => {$(
        pub(crate) struct $name;
        $crate::schema::described!(@ sent, $name, $real);
    )+};
}
pub(crate) use stand_ins;

/// A type as it is written. What may be left out is left out rather than `null`.
pub(crate) fn sent<T: JsonSchema>() -> RefOr<Schema> {
    let never_null = RecursiveTransform(|schema: &mut schemars::Schema| {
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name))) {
            without_null(property);
        }
    });
    carried::<T>(SchemaSettings::draft2020_12().for_serialize().with_transform(never_null))
}

/// A type as it is read.
pub(crate) fn taken<T: JsonSchema>() -> RefOr<Schema> {
    carried::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn carried<T: JsonSchema>(mut settings: SchemaSettings) -> RefOr<Schema> {
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    generator.subschema_for::<T>();
    let schemas = generator.take_definitions(true);
    let extensions = Extensions::builder().add(CARRIED, schemas).build();
    RefOr::T(ObjectBuilder::new().extensions(Some(extensions)).into())
}

fn without_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(options)) = schema.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            let schema = schema.as_object_mut().expect("it has options");
            schema.remove("anyOf");
            schema.extend(only);
        }
    }
}

/// The whole description, with every schema in its place.
///
/// # Panics
///
/// When two types have the same name: one of them needs another, `#[schemars(rename = "…")]`.
pub(crate) fn whole(api: &OpenApi) -> Value {
    let mut api = serde_json::to_value(api).expect("a description has string keys");
    let schemas = &mut api["components"]["schemas"];
    let mut placed = Map::new();
    for (name, mut schema) in std::mem::take(schemas.as_object_mut().unwrap_or(&mut Map::new())) {
        let types = match schema.get_mut(CARRIED).map(Value::take) {
            Some(Value::Object(types)) => types,
            _ => Map::from_iter([(name, schema)]),
        };
        for (name, schema) in types {
            let before = placed.insert(name.clone(), schema.clone());
            assert!(before.is_none_or(|before| before == schema), "two types are called `{name}`");
        }
    }
    name_variants(&mut placed);
    placed.sort_keys();
    *schemas = placed.into();
    api
}

/// Gives every variant of a union a name of its own, so that whoever reads the description can speak of it.
fn name_variants(schemas: &mut Map<String, Value>) {
    let mut named = Map::new();
    for (union, schema) in schemas.iter_mut() {
        let Some(Value::Array(variants)) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)).cloned() else {
            continue;
        };
        let Some(names) = names_of(&variants) else { continue };
        let key = if schema.get("oneOf").is_some() { "oneOf" } else { "anyOf" };
        let variants = variants.into_iter().zip(names).map(|(variant, name)| match name {
            Some(name) => {
                let name = format!("{union}{}", in_capitals(&name));
                let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
                named.insert(name, variant);
                reference
            }
            None => variant,
        });
        schema[key] = variants.collect();
    }
    for (name, schema) in named {
        assert!(schemas.insert(name.clone(), schema).is_none(), "two schemas are called `{name}`");
    }
}

/// What the variants of a union are called: by their titles, or by the field that tells them apart. Those that have
/// a name elsewhere have none here. `None` where nothing tells them apart.
fn names_of(variants: &[Value]) -> Option<Vec<Option<String>>> {
    let is_own = |variant: &&Value| variant.get("$ref").is_none() || variant.get("title").is_some();
    let own: Vec<&Value> = variants.iter().filter(is_own).collect();
    let by = |name: &dyn Fn(&Value) -> Option<String>| {
        let names: Vec<String> = own.iter().map(|variant| name(variant)).collect::<Option<_>>()?;
        let is_apart = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
        is_apart.then(|| variants.iter().map(|variant| if is_own(&variant) { name(variant) } else { None }).collect())
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    by(&|variant| text(variant.get("title")?)).or_else(|| {
        let fields = own.first()?.get("properties")?.as_object()?.keys();
        fields.into_iter().find_map(|field| by(&|variant| text(variant["properties"].get(field)?.get("const")?)))
    })
}

/// `turn_begun` and `turn.begun` as `TurnBegun`.
fn in_capitals(name: &str) -> String {
    let words = name.split(['_', '.', '-', ' ']);
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}
