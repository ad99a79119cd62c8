//! The description of the API, held to what is really sent: every answer of every test is looked up here.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// The description that answers are held to. An object may hold nothing that is not described.
pub(crate) static API: LazyLock<Api> = LazyLock::new(|| Api::of(polylogue_server::description()));

pub(crate) struct Api {
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// An answer of which the head is known: what its body must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    /// JSON that fits this schema.
    Json(Value),
    /// Events whose data fit this schema.
    Events(Value),
    /// Something else that the route is described to answer with.
    Other,
}

impl Api {
    fn of(api: Value) -> Api {
        let mut schemas = api["components"]["schemas"].as_object().cloned().unwrap_or_default();
        schemas.values_mut().for_each(close_within);
        let paths = api["paths"].as_object().cloned().unwrap_or_default();
        Api { paths, schemas, validators: Mutex::default() }
    }

    /// What the body of such an answer must be.
    pub(crate) fn expected(&self, method: &str, path: &str, status: u16, kind: &str) -> Result<Expected, String> {
        let refused = || Ok(Expected::Json(json!({ "$ref": "#/components/schemas/ErrorBody" })));
        let path = path.split('?').next().unwrap_or_default();
        // The page and the description itself are no part of what is described.
        let is_page =
            status < 400 && !path.starts_with("/v1/") && !path.starts_with("/api/") && self.route(path).is_none();
        if path == "/openapi.json" || path.starts_with("/docs") || is_page {
            return Ok(Expected::Other);
        }
        let Some(route) = self.route(path) else {
            return if status >= 400 { refused() } else { Err(format!("{path} is not described")) };
        };
        let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
        let Some(operation) = route.get(&method) else {
            return if status >= 400 { refused() } else { Err(format!("{method} {path} is not described")) };
        };
        let responses = &operation["responses"];
        let range = format!("{}XX", status / 100);
        let response = responses.get(status.to_string()).or_else(|| responses.get(&range));
        let response = response.ok_or_else(|| format!("{method} {path}: the status {status} is not described"))?;
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if kind.is_empty() && response.get("content").is_none() {
            return Ok(Expected::Other);
        }
        let content = response["content"].get(kind);
        let schema =
            content.ok_or_else(|| format!("{method} {path} {status}: `{kind}` is not described"))?["schema"].clone();
        Ok(match kind {
            "application/json" if self.is_bytes(&schema) => Expected::Other,
            "application/json" => Expected::Json(schema),
            "text/event-stream" => Expected::Events(schema),
            _ => Expected::Other,
        })
    }

    /// Whether a body that was accepted is described.
    pub(crate) fn check_request(&self, method: &str, path: &str, body: &Value) -> Result<(), String> {
        let route = self.route(path.split('?').next().unwrap_or_default());
        let body_of = |route: &Value| route.get(method.to_lowercase())?.get("requestBody").cloned();
        match route.and_then(body_of) {
            Some(described) => self.check(&described["content"]["application/json"]["schema"], body),
            None if body.as_object().is_some_and(Map::is_empty) => Ok(()),
            None => Err(format!("{method} {path} takes no body by its description")),
        }
    }

    /// Whether the data of an event of this name is described: the variants that say `x-event` are for those names.
    pub(crate) fn check_event(&self, schema: &Value, name: &str, data: &Value) -> Result<(), String> {
        let variants: Vec<Value> =
            self.variants(schema).into_iter().filter(|variant| self.event_of(variant) == name).collect();
        if variants.is_empty() {
            return Err(format!("no event called `{name}` is described"));
        }
        self.check(&json!({ "anyOf": variants }), data)
    }

    /// Whether a value is what the schema says, and holds nothing else.
    pub(crate) fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let validator = self.validator(schema);
        let problems: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        if problems.is_empty() { Ok(()) } else { Err(format!("{}\n{value:#}", problems.join("\n"))) }
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let made = validators.entry(schema.to_string()).or_insert_with(|| {
            let mut whole = schema.clone();
            close(&mut whole);
            whole["components"] = json!({ "schemas": self.schemas });
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            Arc::new(options.build(&whole).unwrap_or_else(|error| panic!("{error}: {schema}")))
        });
        made.clone()
    }

    /// The route of a path, as its template.
    fn route(&self, path: &str) -> Option<&Value> {
        let fits = |template: &&String| {
            let (mut wanted, mut given) = (template.split('/'), path.split('/'));
            loop {
                match (wanted.next(), given.next()) {
                    (None, None) => return true,
                    // The path of a file goes on to the end.
                    (Some("{audioPath}"), Some(_)) => return true,
                    (Some(part), Some(there)) if part == there || part.starts_with('{') && !there.is_empty() => {}
                    _ => return false,
                }
            }
        };
        self.paths.iter().find(|(template, _)| fits(template)).map(|(_, route)| route)
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.schemas.get(name)).unwrap_or(schema)
    }

    /// The variants of a union, and of the unions in it. One that says for which event it is, is one variant.
    fn variants(&self, schema: &Value) -> Vec<Value> {
        let union = self.resolved(schema);
        match union.get("oneOf").or_else(|| union.get("anyOf")).and_then(Value::as_array) {
            Some(variants) if self.event_of(schema).is_empty() => {
                variants.iter().flat_map(|variant| self.variants(variant)).collect()
            }
            _ => vec![schema.clone()],
        }
    }

    fn event_of<'a>(&'a self, variant: &'a Value) -> &'a str {
        let own = variant.get("x-event").or_else(|| self.resolved(variant).get("x-event"));
        own.and_then(Value::as_str).unwrap_or_default()
    }

    fn is_bytes(&self, schema: &Value) -> bool {
        self.resolved(schema)["format"] == "binary"
    }
}

/// Forbids what is not described in the objects that a value can be, and in what they hold.
fn close(schema: &mut Value) {
    close_within(schema);
    let says = |key: &str| schema.get(key).is_some();
    if ["$ref", "oneOf", "anyOf", "allOf", "properties"].into_iter().any(says) && !says("additionalProperties") {
        schema["unevaluatedProperties"] = json!(false);
    }
}

/// The same for what the objects hold. The variants of a union are closed as a whole, outside of them.
fn close_within(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    for (key, inner) in schema.iter_mut() {
        match (key.as_str(), inner) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(close),
            ("items" | "additionalProperties", inner @ Value::Object(_)) => close(inner),
            ("prefixItems", Value::Array(items)) => items.iter_mut().for_each(close),
            ("oneOf" | "anyOf" | "allOf", Value::Array(variants)) => variants.iter_mut().for_each(close_within),
            _ => {}
        }
    }
}

/// Where the description is kept for those who generate code from it.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json")
}

#[test]
fn the_kept_description_is_the_real_one() {
    let real = format!("{:#}\n", polylogue_server::description());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(kept(), &real).unwrap();
    }
    let kept = std::fs::read_to_string(kept()).unwrap_or_default();
    assert!(kept == real, "web/openapi.json is not what is served: run this test with UPDATE_OPENAPI=1");
}

#[test]
fn every_operation_has_an_id_and_every_reference_leads_somewhere() {
    let api = polylogue_server::description();
    let mut ids = BTreeSet::new();
    for (path, route) in api["paths"].as_object().unwrap() {
        for (method, operation) in route.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no id"));
            assert!(ids.insert(id.to_owned()), "{method} {path}: `{id}` is there twice");
            let responses = operation["responses"].as_object().unwrap();
            for refused in ["4XX", "5XX"] {
                let schema = &responses[refused]["content"]["application/json"]["schema"];
                assert_eq!(schema["$ref"], "#/components/schemas/ErrorBody", "{method} {path} {refused}");
            }
        }
    }
    let schemas = api["components"]["schemas"].as_object().unwrap();
    // Where two types have the same name, the second is given a number.
    let numbered = schemas.keys().find(|name| name.ends_with(|last: char| last.is_ascii_digit()));
    assert_eq!(numbered, None, "two types have this name: rename one with #[schemars(rename = …)]");
    references(&api, &mut |reference| {
        let name = reference.strip_prefix("#/components/schemas/").unwrap_or_else(|| panic!("{reference}"));
        assert!(schemas.contains_key(name), "{reference} leads nowhere");
    });
}

fn references(value: &Value, seen: &mut impl FnMut(&str)) {
    match value {
        Value::Object(object) => {
            object.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *seen);
            object.values().for_each(|inner| references(inner, seen));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, seen)),
        _ => {}
    }
}

/// What is not described is found: this is what the answers of all other tests are held to.
#[test]
fn an_answer_that_is_not_described_is_found() {
    let json = "application/json";
    for (method, path, status, kind, is_described) in [
        ("GET", "/v1/sessions?limit=3", 200, json, true),
        ("GET", "/v1/sessions", 204, json, false),
        ("GET", "/v1/sessions", 200, "text/html", false),
        ("GET", "/v1/sessions", 418, json, true),
        ("GET", "/v1/nothing", 200, json, false),
        ("GET", "/v1/nothing", 404, json, true),
        ("DELETE", "/v1/agents", 200, json, false),
        ("GET", "/v1/audio/tts/a/b.wav", 200, "audio/wav", true),
    ] {
        let expected = API.expected(method, path, status, kind);
        assert_eq!(expected.is_ok(), is_described, "{method} {path} {status} {kind}: {expected:?}");
    }

    let of = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let id = "6b1f9c5e-3f0e-4b57-9a53-0d9c0f5f7a10";
    let usage = json!({"input": 1, "output": 2});
    let ask = json!({"purpose": "act", "turn": 1, "agent": "bob"});
    for (schema, value, is_described) in [
        ("Begun", json!({"sessionId": id}), true),
        ("Begun", json!({"sessionId": id, "more": 1}), false),
        ("Begun", json!({"sessionId": "none"}), false),
        ("Begun", json!({}), false),
        ("Speaker", json!("router"), true),
        ("Speaker", json!({"agent": "bob"}), true),
        ("Speaker", json!({"agent": "bob", "person": "you"}), false),
        ("Participant", json!({"role": "leader", "agent": "bob"}), true),
        ("Participant", json!({"role": "leader", "agent": "bob", "more": 1}), false),
        ("Record", json!({"seq": 1, "at": 2, "type": "ask_cut", "ask": ask, "partial": "", "usage": usage}), true),
        ("Record", json!({"seq": 1, "at": 2, "type": "ask_cut", "ask": ask, "partial": ""}), false),
        ("Record", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed"}), true),
        ("Record", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed", "notice": null}), false),
        ("Record", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed", "more": 1}), false),
        ("Record", json!({"seq": 1, "at": 2, "type": "vanished"}), false),
        ("Record", json!({"seq": 1, "at": 2, "type": "scene", "decision": "beat_begun", "beat": 0}), true),
        ("Record", json!({"seq": 1, "at": 2, "type": "scene", "decision": "turn_begun", "beat": 0}), false),
    ] {
        let checked = API.check(&of(schema), &value);
        assert_eq!(checked.is_ok(), is_described, "{schema}: {checked:?} {value}");
    }

    let turn = json!({"sessionId": id, "turnIndex": 1});
    for (schema, event, data, is_described) in [
        ("ChorusEvent", "turn.start", turn.clone(), true),
        ("ChorusEvent", "turn.done", turn.clone(), false),
        ("ChorusEvent", "turn.pause", turn.clone(), false),
        ("ChorusEvent", "", turn, false),
        ("Record", "", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed"}), true),
        ("Record", "ended", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed"}), false),
        ("SessionStreamEvent", "delta", json!({"ask": ask, "agent": "bob", "text": "I"}), true),
        ("SessionStreamEvent", "delta", json!({"ask": ask, "agent": "bob", "text": "I", "slotId": 1}), false),
        ("SessionStreamEvent", "", json!({"ask": ask, "agent": "bob", "text": "I"}), false),
        ("SessionStreamEvent", "", json!({"seq": 1, "at": 2, "type": "ended", "reason": "completed"}), true),
    ] {
        let checked = API.check_event(&of(schema), event, &data);
        assert_eq!(checked.is_ok(), is_described, "{schema} {event}: {checked:?}");
    }

    for (path, body, is_described) in [
        ("/v1/chat", json!({"message": "Hello."}), true),
        ("/v1/chat", json!({"message": "Hello.", "more": 1}), false),
        ("/v1/chat", json!({"slots": []}), false),
        ("/v1/sessions/x/stop", json!({}), true),
        ("/v1/sessions/x/stop", json!({"now": true}), false),
    ] {
        let checked = API.check_request("POST", path, &body);
        assert_eq!(checked.is_ok(), is_described, "{path} {body}: {checked:?}");
    }
}
