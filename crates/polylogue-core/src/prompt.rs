//! Prompts from templates. The built-in ones are compiled once for the whole process; a session may bring
//! replacements of the same names.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use crate::{ask::Text, format, setup::BadSetup};

static DEFAULTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment();
    for (name, source) in format::templates().chain(format::earlier_templates()) {
        environment.add_template(name, source).expect("the built-in templates compile");
    }
    environment
});

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are good"));
    // A template that names a variable wrongly must not quietly leave a hole in every prompt.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}

/// The templates of one session.
#[derive(Clone, Default)]
pub struct Templates {
    own: Option<Arc<Environment<'static>>>,
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<&str> = self.own.iter().flat_map(|own| own.templates()).map(|(name, _)| name).collect();
        f.debug_tuple("Templates").field(&own).finish()
    }
}

/// Templates follow from the setup, which is compared where it matters.
impl PartialEq for Templates {
    fn eq(&self, _: &Templates) -> bool {
        true
    }
}

impl Templates {
    pub fn new(replacements: &BTreeMap<String, Arc<str>>) -> Result<Self, BadSetup> {
        if replacements.is_empty() {
            return Ok(Templates::default());
        }
        let mut own = environment();
        for (name, source) in replacements {
            if !Self::names().any(|known| known == name) {
                return Err(BadSetup::UnknownTemplate(name.clone(), Self::names().collect::<Vec<_>>().join(", ")));
            }
            own.add_template_owned(name.clone(), source.to_string())
                .map_err(|error| BadSetup::Template { name: name.clone(), problem: error.to_string() })?;
        }
        Ok(Templates { own: Some(Arc::new(own)) })
    }

    /// Whether the session brings templates of its own, which may want more than the built-in ones use.
    pub(crate) fn are_replaced(&self) -> bool {
        self.own.is_some()
    }

    /// Whether the session brings this template of its own.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        self.own.as_deref().is_some_and(|own| own.get_template(name).is_ok())
    }

    /// The built-in templates, by name.
    pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
        format::templates()
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        format::templates().map(|(name, _)| name)
    }

    /// Fills the template. A replacement that fails on these variables is passed over for the built-in
    /// one: a session does not end over a prompt. [`Templates::try_render`] finds such a one beforehand.
    pub(crate) fn render(&self, name: &str, variables: &Value) -> Text {
        self.try_render(name, variables).unwrap_or_else(|_| fill(&DEFAULTS, name, variables).expect("built in")).into()
    }

    pub(crate) fn try_render(&self, name: &str, variables: &Value) -> Result<String, BadSetup> {
        let own = self.own.as_deref().filter(|own| own.get_template(name).is_ok());
        fill(own.unwrap_or(&DEFAULTS), name, variables)
            .map_err(|error| BadSetup::Template { name: name.to_owned(), problem: error.to_string() })
    }
}

fn fill(environment: &Environment<'_>, name: &str, variables: &Value) -> Result<String, minijinja::Error> {
    #[cfg(test)]
    tests::FILLED.set(tests::FILLED.get() + 1);
    environment.get_template(name)?.render(variables)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{
        Conversation, Event, Record, Timestamp,
        id::{LineId, Seq},
        projection::{Outcome, plain_text, request_behind},
    };

    thread_local! {
        /// Templates that this thread has filled.
        pub(super) static FILLED: Cell<u32> = const { Cell::new(0) };
    }

    fn filled(work: impl FnOnce()) -> u32 {
        let before = FILLED.get();
        work();
        FILLED.get() - before
    }

    #[test]
    fn folding_fills_no_template() {
        for journal in [
            include_str!("../tests/it/corpus/v1/final.jsonl"),
            include_str!("../tests/it/corpus/v1/chorus.jsonl"),
            include_str!("../tests/it/corpus/v1/discussion.jsonl"),
            include_str!("../tests/it/corpus/v1/scene-with-memory.jsonl"),
            include_str!("../tests/it/corpus/v1/interview.jsonl"),
        ] {
            let record = |(line, seq): (&str, u64)| {
                let event = Event::decode(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                Record { seq: Seq(seq), at: Timestamp(seq), event }
            };
            let records: Vec<Record> = journal.lines().zip(1..).map(record).collect();
            let mut whole = None;
            assert_eq!(filled(|| whole = Conversation::replay(&records).ok()), 0, "{journal}");
            let whole = whole.expect("a session");
            let shown = || {
                Outcome::of(&whole);
                plain_text(&whole);
            };
            assert_eq!(filled(shown), 0, "{journal}");
            // The request behind a line is written when somebody wants to see it.
            let asked = whole.stage().transcript().lines().iter().rfind(|line| line.ask.is_some());
            let line: LineId = asked.expect("somebody was asked").id;
            assert!(filled(|| drop(request_behind(&records, line).expect("a request"))) > 0, "{journal}");
        }
    }
}
