//! Whether the parts of a score fit each other, and whether it can be played.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    super::{
        Seat, Settings,
        bound::Bound,
        compiled::{self, Compiled, Faulty, Part},
        language::{Form, MESSAGE, Of, Phase, Score, Seen, Sees, Times, Turn, Who},
        rehearsal::NoBound,
    },
    Places, Problem, kinds, meant, names,
};
use crate::{
    money::Price,
    setup::{Agent, Cast, Sampling},
};

/// How many asks a score comes to at most, and how often its repeats go round, as far as that is too much.
pub(in super::super) fn check_times(score: &Score, times: impl Fn(&Times) -> u32) -> Vec<String> {
    let mut problems = Vec::new();
    let asks = asks_of(score, &score.phases, 1, &times, &mut problems);
    if problems.is_empty() && asks > Score::MAX_ASKS {
        let most = Score::MAX_ASKS;
        problems.push(format!("it comes to {asks} asks with one more try for each: at most {most} are allowed"));
    }
    problems
}

fn asks_of(
    score: &Score,
    phases: &[Phase],
    times: u64,
    how_often: &impl Fn(&Times) -> u32,
    problems: &mut Vec<String>,
) -> u64 {
    let seats = |role: &Arc<str>| score.role(role).map_or(0, |role| u64::from(role.most));
    let mut asks: u64 = 0;
    for phase in phases {
        asks = asks.saturating_add(match phase {
            Phase::Turn(turn) => {
                let of = |who: &Who| match who {
                    Who::Role { role, .. } => seats(role),
                    Who::Pick { .. } => 2,
                };
                times.saturating_mul(2 * turn.who.iter().map(of).sum::<u64>())
            }
            Phase::Repeat(repeat) => {
                let most = how_often(&repeat.at_most);
                if !(1..=Score::MAX_TIMES).contains(&most) {
                    let (at_most, limit) = (&repeat.at_most, Score::MAX_TIMES);
                    problems.push(format!("a repeat goes round 1 to {limit} times at most: `{at_most}` is {most}"));
                }
                let times = times.saturating_mul(u64::from(most));
                asks_of(score, &repeat.phases, times, how_often, problems)
            }
        });
    }
    asks
}

/// Everything that is wrong. It is only rehearsed where nothing else is.
pub(super) fn problems(score: &Score, places: &Places, is_good: bool) -> Vec<Problem> {
    let mut check =
        Check { score, places, problems: Vec::new(), before: Vec::new(), open: BTreeSet::new(), repeats: 0 };
    check.names();
    check.phases(&score.phases, &mut Vec::new());
    let (seats, most) = (score.roles.iter().map(|role| role.most as usize).sum::<usize>(), Score::MAX_SEATS);
    if seats > most {
        check.wrong("", format!("the roles have {seats} seats together: at most {most} are there"));
    }
    let settings = Settings::new(score.clone().into(), "A question.", Default::default(), Vec::new());
    for problem in check_times(score, |times| settings.times(times)) {
        check.wrong("", problem);
    }
    let (compiled, faulty) = Compiled::new(score, |times| settings.times(times));
    let at = |part: &Part| called(score, &compiled, part);
    for Faulty { part, line, problem } in &faulty {
        check.wrong_in(&at(part), *line, problem.clone());
    }
    check.names_used(&compiled);
    check.blind_lines(&compiled);
    check.blind_personas(&compiled);
    if is_good && check.problems.is_empty() {
        check.rehearse(false);
        check.rehearse(true);
    }
    check.problems
}

/// What a part is called in the places.
fn called(score: &Score, compiled: &Compiled, part: &Part) -> String {
    let of = |what: &str, phase: &usize| format!("`{what}` of phase `{}`", compiled.turn(*phase).name);
    match part {
        Part::Prompt(phase) => of("prompt", phase),
        Part::Line(phase) => of("line", phase),
        Part::If(phase, _) => of("if", phase),
        Part::Pick(phase) => of("pick", phase),
        Part::Where(phase, _) => of("where", phase),
        Part::Until(nth) => format!("until {nth}"),
        Part::Result(at) => format!("the result `{}`", score.results[*at].name),
        Part::Persona(at) => format!("`persona` of the role `{}`", score.roles[*at].name),
    }
}

struct Check<'a> {
    score: &'a Score,
    places: &'a Places,
    problems: Vec<Problem>,
    /// The phases that may have been played by now.
    before: Vec<Arc<str>>,
    /// What a role was shown by name: the role and the phase.
    open: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Repeats that were looked at.
    repeats: usize,
}

impl Check<'_> {
    fn wrong(&mut self, called: &str, message: impl Into<String>) {
        self.wrong_in(called, 1, message);
    }

    /// Something is wrong in a line of a text.
    fn wrong_in(&mut self, called: &str, nth: u32, message: impl Into<String>) {
        let (line, phase) = self.places.get(called).cloned().unwrap_or((0, None));
        let line = (line > 0).then(|| line + nth.saturating_sub(1));
        self.problems.push(Problem { line, phase, message: message.into() });
    }

    /// Phases and settings are variables of templates: no name is there twice.
    fn names(&mut self) {
        let mut seen: Vec<Arc<str>> = self.score.settings.iter().map(|setting| setting.name.clone()).collect();
        let mut turns = Vec::new();
        collect(&self.score.phases, &mut turns);
        for turn in turns {
            if seen.contains(&turn.name) {
                self.wrong(&format!("phase {}", turn.name), format!("the name `{}` is there twice", turn.name));
            }
            seen.push(turn.name.clone());
        }
        if self.score.roles.is_empty() {
            self.wrong("", "there are no roles");
        }
        if self.score.roles.iter().all(|role| role.is_person) && !self.score.roles.is_empty() {
            self.wrong("", "all roles are people: one of them must be an agent's");
        }
    }

    fn phases(&mut self, phases: &[Phase], around: &mut Vec<Arc<str>>) {
        for phase in phases {
            match phase {
                Phase::Turn(turn) => self.turn(turn, around),
                Phase::Repeat(repeat) => {
                    let nth = self.repeats;
                    self.repeats += 1;
                    let mut within = Vec::new();
                    collect(&repeat.phases, &mut within);
                    let length = around.len();
                    around.extend(within.iter().map(|turn| turn.name.clone()));
                    // What is said in a round is seen in the next.
                    self.note_open(&within);
                    self.phases(&repeat.phases, around);
                    around.truncate(length);
                    if let Times::Setting(name) = &repeat.at_most {
                        let is_number =
                            self.score.settings.iter().any(|setting| setting.name == *name && setting.default.is_u64());
                        if !is_number {
                            let problem = format!("`at_most` is a number or a setting that is one: `{name}` is none");
                            self.wrong(&format!("at_most {nth}"), problem);
                        }
                    }
                }
            }
        }
    }

    fn note_open(&mut self, turns: &[&Turn]) {
        for turn in turns.iter().filter(|turn| !turn.blind) {
            let shown: Vec<Arc<str>> = match &turn.sees {
                Sees::All => {
                    let within = turns.iter().map(|turn| turn.name.clone());
                    self.before.iter().cloned().chain(within).collect()
                }
                Sees::These(seen) => seen.iter().map(|seen| seen.phase.clone()).collect(),
            };
            for who in turn.who.iter().flat_map(Who::roles) {
                self.open.extend(shown.iter().map(|phase| (who.clone(), phase.clone())));
            }
        }
    }

    fn role(&mut self, at: &str, role: &str) {
        if self.score.role(role).is_none() {
            let meant = meant(role, self.score.roles.iter().map(|role| &*role.name));
            self.wrong(at, format!("there is no role `{role}`{meant}"));
        }
    }

    /// A phase that is referred to must have been played.
    fn refers(&mut self, at: &str, phase: &str, around: &[Arc<str>], what: &str) {
        let mut turns = Vec::new();
        collect(&self.score.phases, &mut turns);
        if !turns.iter().any(|turn| *turn.name == *phase) {
            let known = turns.iter().map(|turn| &*turn.name).chain([MESSAGE]);
            let meant = meant(phase, known.chain(self.score.roles.iter().map(|role| &*role.name)));
            self.wrong(at, format!("there is no phase `{phase}`{meant}"));
        } else if !self.before.iter().chain(around).any(|known| **known == *phase) {
            self.wrong(at, format!("{what} `{phase}`, which comes later"));
        }
    }

    fn turn(&mut self, turn: &Turn, around: &[Arc<str>]) {
        let at = |what: &str| format!("`{what}` of phase `{}`", turn.name);
        let picks = turn.who.iter().filter(|who| matches!(who, Who::Pick { .. })).count();
        if picks > 0 && turn.who.len() > 1 {
            self.wrong(&at("who"), "a phase in which one is picked has nobody else");
        }
        for who in &turn.who {
            who.roles().into_iter().for_each(|role| self.role(&at("who"), role));
            if let Who::Pick { by, from, .. } = who {
                self.role(&at("who"), by);
                let host = self.score.role(by);
                if host.is_some_and(|role| role.most > 1 || role.is_person) {
                    self.wrong(&at("who"), format!("`by` is a role of one agent: `{by}` is none"));
                }
                if from.contains(by) {
                    self.wrong(&at("who"), format!("`{by}` chooses, so it cannot be chosen"));
                }
            }
        }
        let roles: Vec<Arc<str>> = turn.who.iter().flat_map(Who::roles).cloned().collect();
        let has_person = roles.iter().any(|role| self.score.role(role).is_some_and(|role| role.is_person));
        if has_person && !turn.reply.is_empty() {
            self.wrong(&at("reply"), "a person answers in words: leave `reply` out, or give the phase to agents");
        }
        for seen in turn.sees.these() {
            self.seen(turn, seen, around);
        }
        if turn.blind {
            if has_person {
                let at = at("blind");
                self.wrong(
                    &at,
                    "a person sees the names of the others: leave `blind` out, or give the phase to agents",
                );
            }
            self.blind(turn, &roles);
        }
        for field in &turn.reply {
            self.form(turn, &field.form, around);
        }
        if let Some(to) = &turn.to {
            let field = turn.reply.iter().find(|field| field.name == *to);
            let is_seat = |form: &Form| matches!(form, Form::OneOf(Of::Phase(_) | Of::Role(_)));
            if !field.is_some_and(|field| is_seat(&field.form)) {
                self.wrong(&at("to"), format!("`to` is a field of the reply that chooses a seat: `{to}` is none"));
            }
        }
        if turn.line.is_some() && turn.reply.is_empty() {
            self.wrong(&at("line"), "`line` is made of a `reply`, and there is none");
        }
        self.note_open(&[turn]);
        self.before.push(turn.name.clone());
    }

    fn seen(&mut self, turn: &Turn, seen: &Seen, around: &[Arc<str>]) {
        let at = format!("`sees` of phase `{}`", turn.name);
        if *seen.phase == *MESSAGE {
            if seen.only_where.is_some() || seen.at_most.is_some() {
                self.wrong(&at, "the message is one: it has no `where` and no `at_most`");
            }
            return;
        }
        let own = [turn.name.clone()];
        let around: Vec<Arc<str>> =
            around.iter().chain(if turn.one_by_one { &own[..] } else { &[] }).cloned().collect();
        self.refers(&at, &seen.phase, &around, "it sees");
        if seen.drawn && seen.at_most.is_none() {
            self.wrong(&at, "what is `drawn` needs `at_most`");
        }
    }

    /// Letters hide nobody whose words were shown with a name before.
    fn blind(&mut self, turn: &Turn, roles: &[Arc<str>]) {
        let seen: Vec<Arc<str>> = match &turn.sees {
            Sees::All => self.before.clone(),
            Sees::These(seen) => seen.iter().map(|seen| seen.phase.clone()).collect(),
        };
        for phase in seen.iter().filter(|phase| ***phase != *MESSAGE) {
            if let Some(role) = roles.iter().find(|role| self.open.contains(&((*role).clone(), phase.clone()))) {
                let at = format!("`blind` of phase `{}`", turn.name);
                self.wrong(&at, format!("`{phase}` is not blind here: `{role}` sees it with names in another phase"));
            }
        }
    }

    /// A line is made anew with letters, for each who sees it. What others said is not made anew with it.
    fn blind_lines(&mut self, compiled: &Compiled) {
        for blind in compiled.turns().iter().filter(|turn| turn.blind) {
            for (at, turn) in compiled.turns().iter().enumerate() {
                let is_seen = match &blind.sees {
                    Sees::All => true,
                    Sees::These(seen) => seen.iter().any(|seen| seen.phase == turn.name),
                };
                let part = Part::Line(at);
                let used =
                    compiled.uses(&part).iter().find(|name| compiled.phase(name).is_some() || ***name == *"seats");
                if let Some(used) = used.filter(|_| is_seen) {
                    let (at, blind) = (called(self.score, compiled, &part), &blind.name);
                    let problem =
                        format!("`{blind}` sees this line blind, so it cannot show `{used}`: make it of `reply`");
                    self.wrong(&at, problem);
                }
            }
        }
    }

    fn form(&mut self, turn: &Turn, form: &Form, around: &[Arc<str>]) {
        match form {
            Form::OneOf(Of::Phase(phase)) | Form::Order(Of::Phase(phase)) => {
                self.refers(&format!("`reply` of phase `{}`", turn.name), phase, around, "it chooses from");
            }
            Form::List { of, .. } => self.form(turn, of, around),
            Form::Text | Form::YesNo | Form::Number { .. } | Form::OneOf(_) | Form::Order(_) => {}
        }
    }

    /// Every name in a template is one that there is.
    fn names_used(&mut self, compiled: &Compiled) {
        for (part, template) in compiled.templates() {
            let known = kinds::known(self.score, compiled, part);
            for (line, problem) in names::problems(template, compiled::syntax(), known) {
                self.wrong_in(&called(self.score, compiled, part), line, problem);
            }
        }
    }

    /// Who somebody is says nobody's name to those who are to know none.
    fn blind_personas(&mut self, compiled: &Compiled) {
        for blind in compiled.turns().iter().filter(|turn| turn.blind) {
            let roles: Vec<&Arc<str>> = blind.who.iter().flat_map(Who::roles).collect();
            for (at, _) in self.score.roles.iter().enumerate().filter(|(_, role)| roles.contains(&&role.name)) {
                let part = Part::Persona(at);
                if compiled.uses(&part).iter().any(|name| **name == *"seats") {
                    let problem = format!("`{}` is blind, and `seats` would tell names: leave it out", blind.name);
                    self.wrong(&called(self.score, compiled, &part), problem);
                }
            }
        }
    }

    /// Plays it with stand-ins, with the fewest or the most seats.
    fn rehearse(&mut self, is_full: bool) {
        let (mut seats, mut agents, mut people) = (Vec::new(), Vec::new(), vec!["you".parse().expect("a good name")]);
        for role in &self.score.roles {
            for nth in 1..=(if is_full { role.most } else { role.least }) {
                let name: Arc<str> = format!("{}-{nth}", role.name).into();
                match role.is_person {
                    true => people.push(name.parse().expect("a good name")),
                    false => agents.push(stand_in(&name)),
                }
                seats.push(Seat { name, role: role.name.clone() });
            }
        }
        let cast = match Cast::new(agents, people) {
            Ok(cast) => cast,
            Err(problem) => return self.wrong("", problem.to_string()),
        };
        let settings = Settings::new(self.score.clone().into(), "A question.", Default::default(), seats);
        match Bound::tried(&settings, &cast) {
            Ok(_) => {}
            Err(NoBound::Setup(problem)) => self.wrong("", problem.to_string()),
            Err(NoBound::Faulty(faulty)) => {
                for (at, line, problem) in faulty {
                    // The repeats are not told apart here.
                    let place = if at.contains("repeat") { "until 0" } else { &at };
                    self.wrong_in(place, line, format!("{at}: {problem}"));
                }
            }
        }
    }
}

fn collect<'a>(phases: &'a [Phase], turns: &mut Vec<&'a Turn>) {
    for phase in phases {
        match phase {
            Phase::Turn(turn) => turns.push(turn),
            Phase::Repeat(repeat) => collect(&repeat.phases, turns),
        }
    }
}

/// Somebody to try a score with.
fn stand_in(name: &str) -> Agent {
    Agent {
        name: name.parse().expect("a good name"),
        model: "script/none".parse().expect("a good name"),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    }
}
