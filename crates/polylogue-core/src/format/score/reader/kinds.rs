//! What there is for each expression of a score, and what is in it, as far as that is known before anything is played.

use std::sync::Arc;

use super::{
    super::{
        compiled::{Compiled, Part},
        language::{Form, MESSAGE, Score, Sees, Turn},
    },
    meant,
};

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Nobody knows beforehand: there may be everything in it.
    Any,
    /// A text, a number, yes or no.
    Plain,
    Several(Box<Kind>),
    Fields(Arc<Fields>),
}

/// Something with fields, and what it is in words.
#[derive(Debug, PartialEq)]
pub(super) struct Fields {
    what: String,
    of: Vec<(Arc<str>, Kind)>,
}

/// A name with what it stands for.
pub(super) type Known = (Arc<str>, Kind);

impl Kind {
    pub(super) fn several(of: Kind) -> Kind {
        Kind::Several(Box::new(of))
    }

    fn fields(what: impl Into<String>, of: impl IntoIterator<Item = (Arc<str>, Kind)>) -> Kind {
        Kind::Fields(Arc::new(Fields { what: what.into(), of: of.into_iter().collect() }))
    }

    /// Fields with a value each.
    pub(super) fn row(what: &str, names: &[&str]) -> Kind {
        Kind::fields(what, names.iter().map(|name| (Arc::from(*name), Kind::Plain)))
    }

    /// What is said about a loop within it.
    pub(super) fn of_loop() -> Kind {
        let plain = ["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"];
        let any = ["previtem", "nextitem", "cycle", "changed"];
        let fields = plain.map(|name| (name, Kind::Plain)).into_iter().chain(any.map(|name| (name, Kind::Any)));
        Kind::fields("`loop`", fields.map(|(name, kind)| (Arc::from(name), kind)))
    }

    /// One of several.
    pub(super) fn one(&self) -> Kind {
        match self {
            Kind::Several(of) => (**of).clone(),
            Kind::Any | Kind::Plain | Kind::Fields(_) => Kind::Any,
        }
    }

    /// A field of it, or why there is none. `called` is how the score calls the whole.
    pub(super) fn field(&self, name: &str, called: &str) -> Result<Kind, String> {
        match self {
            Kind::Any => Ok(Kind::Any),
            Kind::Plain => Err(format!("there is nothing in {called}, so it has no `{name}`")),
            Kind::Several(_) => Err(format!(
                "{called} is a list and has no `{name}`: go through it, or take one of it first (`| first`, `[0]`)"
            )),
            Kind::Fields(fields) => match fields.of.iter().find(|(known, _)| **known == *name) {
                Some((_, kind)) => Ok(kind.clone()),
                None => Err(format!("{} has no `{name}`{}", fields.what, fields.instead_of(name))),
            },
        }
    }

    fn of_form(form: &Form) -> Kind {
        match form {
            Form::Text | Form::YesNo | Form::Number { .. } | Form::OneOf(_) => Kind::Plain,
            Form::Order(_) => Kind::several(Kind::Plain),
            Form::List { of, .. } => Kind::several(Kind::of_form(of)),
        }
    }

    /// A line of a phase, as expressions know it. In a blind phase nobody is told whose part it is.
    fn line(turn: &Turn, is_blind: bool) -> Kind {
        let of = turn.reply.iter().map(|field| (field.name.clone(), Kind::of_form(&field.form)));
        let reply = match turn.reply.is_empty() {
            true => Kind::fields(format!("what is said in `{}` is plain text, so its reply", turn.name), []),
            false => Kind::fields(format!("the reply of `{}`", turn.name), of),
        };
        let known = [("name", Kind::Plain), ("text", Kind::Plain), ("to", Kind::Plain), ("reply", reply)];
        let role = (!is_blind).then_some(("role", Kind::Plain));
        let what = format!("what is said in `{}`", turn.name);
        Kind::fields(what, known.into_iter().chain(role).map(|(name, kind)| (Arc::from(name), kind)))
    }
}

impl Fields {
    /// What was probably meant, or what there is.
    fn instead_of(&self, name: &str) -> String {
        let names = || self.of.iter().map(|(name, _)| &**name);
        let near = meant(name, names());
        match near.is_empty() && !self.of.is_empty() {
            true => format!("; it has {}", names().collect::<Vec<_>>().join(", ")),
            false => near,
        }
    }
}

/// Everything that a part of a score can use.
pub(super) fn known(score: &Score, compiled: &Compiled, part: &Part) -> Vec<Known> {
    let turn = match part {
        Part::Prompt(at) | Part::Line(at) | Part::If(at, _) | Part::Pick(at) | Part::Where(at, _) => {
            Some(compiled.turn(*at))
        }
        Part::Until(_) | Part::Result(_) | Part::Persona(_) => None,
    };
    let is_blind = matches!(part, Part::Prompt(_) | Part::Pick(_)) && turn.is_some_and(|turn| turn.blind);
    let mut known: Vec<(&str, Kind)> = vec![(MESSAGE, Kind::Plain)];
    if !matches!(part, Part::Until(_) | Part::Result(_)) {
        known.push(("me", Kind::row("`me`", &["name", "role", "number"])));
    }
    if !is_blind {
        let roles = score.roles.iter().map(|role| (role.name.clone(), Kind::several(Kind::Plain)));
        known.push(("seats", Kind::fields("`seats`", roles)));
    }
    if !matches!(part, Part::Persona(_)) {
        known.extend([("round", Kind::Plain), ("last_round", Kind::Plain)]);
        let line = |turn: &Turn| Kind::several(Kind::line(turn, is_blind));
        known.extend(compiled.turns().iter().map(|turn| (&*turn.name, line(turn))));
    }
    if let Some(turn) = turn {
        known.extend(of_turn(compiled, part, turn, is_blind));
    }
    known.extend(score.settings.iter().map(|setting| (&*setting.name, Kind::Plain)));
    known.into_iter().map(|(name, kind)| (Arc::from(name), kind)).collect()
}

/// What only a part of a phase can use.
fn of_turn(compiled: &Compiled, part: &Part, turn: &Turn, is_blind: bool) -> Vec<(&'static str, Kind)> {
    let line_of = |phase: &str, is_blind: bool| {
        let at = compiled.phase(phase);
        at.map_or(Kind::Any, |at| Kind::line(compiled.turn(at), is_blind))
    };
    let seen = || match &turn.sees {
        Sees::These(seen) => match seen.iter().filter(|seen| *seen.phase != *MESSAGE).collect::<Vec<_>>().as_slice() {
            [only] => line_of(&only.phase, is_blind),
            _ => Kind::Any,
        },
        Sees::All => Kind::Any,
    };
    match part {
        Part::Prompt(_) => vec![("seen", Kind::several(seen()))],
        Part::Pick(_) => {
            vec![("seen", Kind::several(seen())), ("candidates", Kind::several(Kind::Plain))]
        }
        Part::Line(_) => {
            vec![("reply", Kind::line(turn, false).field("reply", "").unwrap_or(Kind::Any))]
        }
        Part::Where(_, nth) => vec![("line", line_of(&turn.sees.these()[*nth].phase, false))],
        Part::If(..) | Part::Until(_) | Part::Result(_) | Part::Persona(_) => Vec::new(),
    }
}
