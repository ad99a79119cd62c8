//! Prompts from templates. The built-in ones are compiled once for the whole process; a session may bring
//! replacements of the same names.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use crate::setup::BadSetup;

const BUILT_IN: &[(&str, &str)] = &[
    ("call_system.j2", include_str!("../templates/call_system.j2")),
    ("call_turn.j2", include_str!("../templates/call_turn.j2")),
    ("chorus_again.j2", include_str!("../templates/chorus_again.j2")),
    ("chorus_system.j2", include_str!("../templates/chorus_system.j2")),
    ("collaboration_system.j2", include_str!("../templates/collaboration_system.j2")),
    ("collaboration_turn.j2", include_str!("../templates/collaboration_turn.j2")),
    ("discussion_again.j2", include_str!("../templates/discussion_again.j2")),
    ("discussion_system.j2", include_str!("../templates/discussion_system.j2")),
    ("discussion_turn.j2", include_str!("../templates/discussion_turn.j2")),
    ("interview.j2", include_str!("../templates/interview.j2")),
    ("scene_again.j2", include_str!("../templates/scene_again.j2")),
    ("scene_memory.j2", include_str!("../templates/scene_memory.j2")),
    ("scene_moderator_beat.j2", include_str!("../templates/scene_moderator_beat.j2")),
    ("scene_moderator_system.j2", include_str!("../templates/scene_moderator_system.j2")),
    ("scene_system.j2", include_str!("../templates/scene_system.j2")),
    ("scene_update.j2", include_str!("../templates/scene_update.j2")),
    ("turn1_response.j2", include_str!("../templates/turn1_response.j2")),
    ("turn2_comment_select.j2", include_str!("../templates/turn2_comment_select.j2")),
    ("turn3_reply.j2", include_str!("../templates/turn3_reply.j2")),
];

static DEFAULTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment();
    for &(name, source) in BUILT_IN {
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
            if !BUILT_IN.iter().any(|(known, _)| known == name) {
                return Err(BadSetup::UnknownTemplate(name.clone(), Self::names().collect::<Vec<_>>().join(", ")));
            }
            own.add_template_owned(name.clone(), source.to_string())
                .map_err(|error| BadSetup::Template { name: name.clone(), problem: error.to_string() })?;
        }
        Ok(Templates { own: Some(Arc::new(own)) })
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Fills the template. A replacement that fails on these variables is passed over for the built-in
    /// one: a session does not end over a prompt. [`Templates::try_render`] finds such a one beforehand.
    pub(crate) fn render(&self, name: &str, variables: &Value) -> Arc<str> {
        self.try_render(name, variables).unwrap_or_else(|_| fill(&DEFAULTS, name, variables).expect("built in")).into()
    }

    pub(crate) fn try_render(&self, name: &str, variables: &Value) -> Result<String, BadSetup> {
        let own = self.own.as_deref().filter(|own| own.get_template(name).is_ok());
        fill(own.unwrap_or(&DEFAULTS), name, variables)
            .map_err(|error| BadSetup::Template { name: name.to_owned(), problem: error.to_string() })
    }
}

fn fill(environment: &Environment<'_>, name: &str, variables: &Value) -> Result<String, minijinja::Error> {
    environment.get_template(name)?.render(variables)
}
