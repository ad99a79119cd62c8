//! A score made ready: its templates and expressions compiled, its phases in the order in which they are gone through.
//!
//! No template reads a file, and each has only so much work and so many letters.

use std::{collections::BTreeMap, fmt, io, sync::Arc};

use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use super::{
    language::{Phase, Score, Sees, Times, Turn, Who},
    votes,
};

/// Instructions that one template may take.
const FUEL: u64 = 200_000;
/// Bytes that one template may write.
const MAX_WRITTEN: usize = 256 * 1024;

/// Something of a phase that is written as a template or an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Prompt(usize),
    Line(usize),
    /// The expression of the n-th of those who speak.
    If(usize, usize),
    Pick(usize),
    Where(usize, usize),
    Until(usize),
    Result(usize),
    /// Who somebody is in the n-th role.
    Persona(usize),
}

/// What does not compile, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Faulty {
    pub(super) part: Part,
    /// The line within its text, from 1.
    pub(super) line: u32,
    pub(super) problem: String,
}

/// A score made ready. It follows from the settings, which are compared where it matters.
#[derive(Clone)]
pub(super) struct Compiled(Arc<Inner>);

struct Inner {
    environment: Environment<'static>,
    parts: BTreeMap<Part, Template>,
    turns: Vec<Turn>,
    loops: Vec<Loop>,
    ops: Vec<Op>,
    /// For each phase, the repeats around it, the outermost first, and its place among the ops.
    places: Vec<(Vec<usize>, usize)>,
    results: Vec<Arc<str>>,
}

/// A part that is compiled.
struct Template {
    name: String,
    source: String,
    /// The variables that it uses.
    uses: Vec<Arc<str>>,
    /// What it says, whatever they are.
    constant: Option<String>,
}

/// A repeat.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) at_most: u32,
    pub(super) has_end: bool,
    pub(super) first: usize,
}

/// What is next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Enter(usize),
    Turn(usize),
    /// The end of a round.
    Again(usize),
}

impl PartialEq for Compiled {
    fn eq(&self, _: &Compiled) -> bool {
        true
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Compiled").field(&self.0.ops).finish()
    }
}

impl Compiled {
    /// Makes a score ready. What cannot be compiled is listed, and fails wherever it is used.
    pub(super) fn new(score: &Score, times: impl Fn(&Times) -> u32) -> (Compiled, Vec<Faulty>) {
        let mut inner = Inner {
            environment: environment(),
            parts: BTreeMap::new(),
            turns: Vec::new(),
            loops: Vec::new(),
            ops: Vec::new(),
            places: Vec::new(),
            results: Vec::new(),
        };
        let mut sources: Vec<(Part, Arc<str>)> = Vec::new();
        inner.unfold(&score.phases, &mut Vec::new(), &times, &mut sources);
        for (at, role) in score.roles.iter().enumerate() {
            sources.extend(role.persona.clone().map(|persona| (Part::Persona(at), persona)));
        }
        for (at, yielded) in score.results.iter().enumerate() {
            sources.push((Part::Result(at), yielded.value.clone()));
            inner.results.push(expression(&yielded.value).into());
        }
        let mut faulty = Vec::new();
        for (part, source) in sources {
            let template = match part {
                Part::If(..) | Part::Where(..) | Part::Until(_) => {
                    format!("{{% if {} %}}1{{% endif %}}", expression(&source))
                }
                Part::Result(_) => format!("{{{{ {} }}}}", expression(&source)),
                Part::Prompt(_) | Part::Line(_) | Part::Pick(_) | Part::Persona(_) => source.to_string(),
            };
            let name = part.to_string();
            let constant =
                (!template.contains('{')).then(|| template.strip_suffix('\n').unwrap_or(&template).to_owned());
            match inner.environment.add_template_owned(name.clone(), template.clone()) {
                Ok(()) => {
                    let compiled = inner.environment.get_template(&name).expect("it was just added");
                    let mut uses: Vec<Arc<str>> =
                        compiled.undeclared_variables(false).into_iter().map(Arc::from).collect();
                    uses.sort();
                    inner.parts.insert(part, Template { name, source: template, uses, constant });
                }
                Err(error) => faulty.push(Faulty::of(part, &error)),
            }
        }
        (Compiled(Arc::new(inner)), faulty)
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.0.turns
    }

    pub(super) fn turn(&self, at: usize) -> &Turn {
        &self.0.turns[at]
    }

    pub(super) fn phase(&self, name: &str) -> Option<usize> {
        self.0.turns.iter().position(|turn| *turn.name == *name)
    }

    pub(super) fn ops(&self) -> &[Op] {
        &self.0.ops
    }

    pub(super) fn looped(&self, at: usize) -> &Loop {
        &self.0.loops[at]
    }

    pub(super) fn loops(&self) -> usize {
        self.0.loops.len()
    }

    /// The repeats around a phase, the outermost first.
    pub(super) fn around(&self, phase: usize) -> &[usize] {
        &self.0.places[phase].0
    }

    /// The place of a phase among the ops.
    pub(super) fn place(&self, phase: usize) -> usize {
        self.0.places[phase].1
    }

    /// The variables that a part uses.
    pub(super) fn uses(&self, part: &Part) -> &[Arc<str>] {
        self.0.parts.get(part).map(|template| template.uses.as_slice()).unwrap_or_default()
    }

    /// The parts that could be read, each with its template.
    pub(super) fn templates(&self) -> impl Iterator<Item = (&Part, &str)> {
        self.0.parts.iter().map(|(part, template)| (part, &*template.source))
    }

    /// A part as text.
    pub(super) fn write(&self, part: &Part, variables: impl FnOnce() -> Value) -> Result<String, Faulty> {
        let faulty = |error: &minijinja::Error| Faulty::of(part.clone(), error);
        let name = match self.0.parts.get(part) {
            Some(Template { constant: Some(constant), .. }) => return Ok(constant.clone()),
            Some(Template { name, .. }) => name.as_str(),
            None => "",
        };
        let template = self.0.environment.get_template(name).map_err(|error| faulty(&error))?;
        let mut written = Bounded(Vec::with_capacity(256));
        template.render_captured_to(variables(), &mut written).map_err(|error| faulty(&error))?;
        Ok(String::from_utf8(written.0).unwrap_or_default())
    }

    /// Whether a part that is a condition holds.
    pub(super) fn holds(&self, part: &Part, variables: Value) -> Result<bool, Faulty> {
        self.write(part, || variables).map(|written| !written.is_empty())
    }

    /// The value of a result.
    pub(super) fn result(&self, at: usize, variables: Value) -> Result<Value, Faulty> {
        let faulty = |error: &minijinja::Error| Faulty::of(Part::Result(at), error);
        let compiled = self.0.environment.compile_expression(&self.0.results[at]).map_err(|error| faulty(&error))?;
        compiled.eval(variables).map_err(|error| faulty(&error))
    }
}

impl Inner {
    fn unfold(
        &mut self,
        phases: &[Phase],
        around: &mut Vec<usize>,
        times: &impl Fn(&Times) -> u32,
        sources: &mut Vec<(Part, Arc<str>)>,
    ) {
        for phase in phases {
            match phase {
                Phase::Turn(turn) => {
                    let at = self.turns.len();
                    collect(at, turn, sources);
                    self.places.push((around.clone(), self.ops.len()));
                    self.ops.push(Op::Turn(at));
                    self.turns.push(turn.clone());
                }
                Phase::Repeat(repeat) => {
                    let at = self.loops.len();
                    self.ops.push(Op::Enter(at));
                    let (at_most, first) = (times(&repeat.at_most), self.ops.len());
                    self.loops.push(Loop { at_most, has_end: repeat.until.is_some(), first });
                    if let Some(until) = &repeat.until {
                        sources.push((Part::Until(at), until.clone()));
                    }
                    around.push(at);
                    self.unfold(&repeat.phases, around, times, sources);
                    around.pop();
                    self.ops.push(Op::Again(at));
                }
            }
        }
    }
}

/// The templates and expressions of a phase.
fn collect(at: usize, turn: &Turn, sources: &mut Vec<(Part, Arc<str>)>) {
    let prompt = turn.prompt.clone().unwrap_or_else(|| "It is your turn, {{ me.name }}.".into());
    sources.push((Part::Prompt(at), prompt));
    if let Some(line) = &turn.line {
        sources.push((Part::Line(at), line.clone()));
    }
    for (nth, who) in turn.who.iter().enumerate() {
        match who {
            Who::Role { only_if: Some(only_if), .. } => sources.push((Part::If(at, nth), only_if.clone())),
            Who::Role { only_if: None, .. } => {}
            Who::Pick { prompt, .. } => {
                let usual = "Who speaks next: {{ candidates | join(', ') }}?";
                sources.push((Part::Pick(at), prompt.clone().unwrap_or_else(|| usual.into())));
            }
        }
    }
    if let Sees::These(seen) = &turn.sees {
        for (nth, seen) in seen.iter().enumerate() {
            sources.extend(seen.only_where.clone().map(|only_where| (Part::Where(at, nth), only_where)));
        }
    }
}

/// An expression without the braces around it.
pub(super) fn expression(source: &str) -> &str {
    let source = source.trim();
    let inner = source.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.map_or(source, |inner| inner.trim_matches('-').trim())
}

/// How templates are written.
pub(super) fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.expect("the usual delimiters are good")
}

pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    // They write as much as they are told to.
    for filter in ["indent", "format", "pprint"] {
        environment.remove_filter(filter);
    }
    votes::add_to(&mut environment);
    environment
}

/// As much as a template may write.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.0.len() + more.len() > MAX_WRITTEN {
            return Err(io::Error::other("it writes too much"));
        }
        self.0.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Faulty {
    fn of(part: Part, error: &minijinja::Error) -> Faulty {
        use std::error::Error as _;
        let what = match error.detail() {
            Some(detail) => detail.to_owned(),
            None => error.kind().to_string(),
        };
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Faulty { part, line: error.line().unwrap_or(1) as u32, problem: format!("{what}{cause}") }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Prompt(at) => write!(f, "{at} prompt"),
            Part::Line(at) => write!(f, "{at} line"),
            Part::If(at, nth) => write!(f, "{at} if {nth}"),
            Part::Pick(at) => write!(f, "{at} pick"),
            Part::Where(at, nth) => write!(f, "{at} where {nth}"),
            Part::Until(at) => write!(f, "until {at}"),
            Part::Result(at) => write!(f, "result {at}"),
            Part::Persona(at) => write!(f, "persona {at}"),
        }
    }
}
