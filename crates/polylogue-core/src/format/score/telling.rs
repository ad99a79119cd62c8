//! What a seat is told in a phase: what it sees of what was said and has not been told yet, then the phase's prompt.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use minijinja::{Value, context, value::Object};

use super::{
    blind::Labels,
    compiled::{Faulty, Part},
    language::{MESSAGE, Role, Seen, Sees},
    playing::{Chair, Instance, Playing},
    reply, values,
};
use crate::{ask::Text, chance::Chance, ledger::estimate_tokens, prompt::Templates, text::reply::Shape, thread::Kept};

/// What the draws of a score are for; part of their place.
pub(super) const SHUFFLE: u64 = 1;
const FORWARD: u64 = 2;
pub(super) const PICK: u64 = 3;

/// What a seat is told, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Telling {
    pub(super) seat: usize,
    /// The phase that it belongs to, by its place among those played, and how much had been said.
    pub(super) turn: usize,
    pub(super) until: usize,
    news: News,
    tells_message: bool,
    /// Whether those who are told everything anew are told the message.
    pub(super) has_message: bool,
    notes: Vec<Arc<str>>,
    /// Whom it may choose from, where it is to choose.
    pub(super) candidates: Option<Arc<[usize]>>,
    /// Why its last reply could not be used.
    problem: Option<Arc<str>>,
    shape: Kept<Option<Arc<Shape>>>,
}

/// What is shown of what was said.
#[derive(Clone, Debug, PartialEq)]
enum News {
    /// Everything between these.
    Range(usize, usize),
    These(Arc<[u32]>),
    /// All that the phase lets it see, told before or not.
    AllSeen,
    /// The prompt shows it in its own way.
    InPrompt,
}

/// From where something is seen: by whom, in which phase as they were played, and how much had been said.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) me: Option<usize>,
    pub(super) turn: usize,
    pub(super) until: usize,
    pub(super) labels: Option<Labels>,
}

/// What a template or an expression can use.
#[derive(Clone, Debug)]
pub(super) struct Variables(Vec<(Arc<str>, Value)>);

impl Variables {
    pub(super) fn value(self) -> Value {
        Value::from_object(self)
    }

    /// All of it, and one thing more.
    pub(super) fn with(&self, name: &str, value: Value) -> Value {
        let mut all = self.clone();
        all.0.push((name.into(), value));
        all.value()
    }
}

impl Object for Variables {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.clone())
    }
}

impl Telling {
    pub(super) fn turn(playing: &Playing, seat: usize) -> Telling {
        Telling::new(playing, seat, None)
    }

    pub(super) fn pick(playing: &Playing, by: usize, from: &[usize]) -> Telling {
        Telling::new(playing, by, Some(from.into()))
    }

    fn new(playing: &Playing, seat: usize, candidates: Option<Arc<[usize]>>) -> Telling {
        let (turn, until) = (playing.played.len() - 1, playing.said.len());
        let (chair, phase) = (&playing.seats[seat], playing.played[turn].phase);
        let score = playing.score.turn(phase);
        let part = if candidates.is_some() { Part::Pick(phase) } else { Part::Prompt(phase) };
        let shows = |name: &str| playing.score.uses(&part).iter().any(|used| **used == *name);
        let is_new = |at: &usize| {
            let said = &playing.said[*at];
            said.seat != seat && !said.text.is_empty() && *at >= chair.heard && !chair.told.contains(&(*at as u32))
        };
        let news = match &score.sees {
            _ if shows("seen") => News::InPrompt,
            _ if score.blind => News::AllSeen,
            Sees::All if chair.told.is_empty() => News::Range(chair.heard, until),
            Sees::All => News::These((chair.heard..until).filter(is_new).map(|at| at as u32).collect()),
            Sees::These(seen) if seen.iter().any(|seen| seen.only_where.is_some() || seen.at_most.is_some()) => {
                News::AllSeen
            }
            Sees::These(seen) => {
                let mut these: Vec<u32> = Vec::new();
                for seen in seen {
                    let of_phase = playing.of_phase(&seen.phase, turn, until).into_iter().filter(is_new);
                    these.extend(of_phase.map(|at| at as u32));
                }
                News::These(these.into())
            }
        };
        let sees_message = match &score.sees {
            Sees::All => true,
            Sees::These(seen) => seen.iter().any(|seen| *seen.phase == *MESSAGE),
        };
        Telling {
            seat,
            turn,
            until,
            news,
            tells_message: sees_message && !chair.knows_message && !shows(MESSAGE),
            has_message: (sees_message || chair.knows_message) && !shows(MESSAGE),
            notes: chair.notes.clone(),
            candidates,
            problem: None,
            shape: Kept::default(),
        }
    }

    /// The same, asked for once more.
    pub(super) fn again(&self, problem: &str) -> Telling {
        Telling { problem: Some(problem.into()), ..self.clone() }
    }

    /// What a seat knows once it has been told this.
    pub(super) fn note(&self, chair: &mut Chair, is_all: bool) {
        if self.problem.is_some() {
            return;
        }
        chair.notes.clear();
        chair.knows_message |= self.tells_message;
        match &self.news {
            News::Range(..) => chair.heard = self.until,
            News::These(_) if is_all => {
                chair.heard = self.until;
                chair.told.clear();
            }
            News::These(these) => chair.told.extend(these.iter()),
            News::AllSeen | News::InPrompt => {}
        }
    }

    pub(super) fn write(&self, playing: &Playing, templates: &Templates) -> Text {
        let view = playing.view_at(Some(self.seat), self.turn, self.until);
        let form = self.form(playing);
        if let Some(problem) = &self.problem {
            return templates.render("score_again.j2", &context! { problem, form });
        }
        let prompt = self.body(playing, &view).unwrap_or_else(|_| "It is your turn.".to_owned());
        let seen = match &self.news {
            News::Range(from, until) => (*from..*until).collect(),
            News::These(these) => these.iter().map(|at| *at as usize).collect(),
            News::AllSeen => playing.seen(&view),
            News::InPrompt => Vec::new(),
        };
        let heard = |at: &usize| playing.said[*at].seat != self.seat && !playing.said[*at].text.is_empty();
        let seen: Vec<Value> = seen.into_iter().filter(heard).map(|at| playing.heard(at, &view)).collect();
        let message = self.tells_message.then(|| playing.settings.message.clone());
        let notes = self.notes.clone();
        templates.render("score_turn.j2", &context! { message, seen, notes, prompt => prompt.trim(), form })
    }

    /// The prompt of the score itself.
    pub(super) fn body(&self, playing: &Playing, view: &View) -> Result<String, Faulty> {
        let phase = playing.played[self.turn].phase;
        let known = |part| playing.variables(part, view, playing.round_at(self.turn));
        match &self.candidates {
            None => {
                let part = Part::Prompt(phase);
                playing.score.write(&part, || known(&part).value())
            }
            Some(from) => {
                let part = Part::Pick(phase);
                let from = || Value::from(playing.all_called(from, view));
                playing.score.write(&part, || known(&part).with("candidates", from()))
            }
        }
    }

    /// The form of the reply that is asked for; `None` for plain text.
    pub(super) fn shape(&self, playing: &Playing) -> Option<Arc<Shape>> {
        self.shape.get(|| reply::shape(playing, self).map(Arc::new))
    }

    /// The form of the reply, in words.
    fn form(&self, playing: &Playing) -> Option<String> {
        self.shape(playing).map(|shape| reply::in_words(&shape))
    }

    /// What it may see and was said lately, for those who are told everything anew: their own words as well.
    pub(super) fn lately(&self, playing: &Playing, most: usize) -> Vec<Value> {
        let view = playing.view_at(Some(self.seat), self.turn, self.until);
        let seen: BTreeSet<usize> = playing.seen(&view).into_iter().collect();
        let is_own = |at: usize| playing.said[at].seat == self.seat;
        let mut heard = playing.in_sight(&view);
        heard.retain(|at| !playing.said[*at].text.is_empty() && (is_own(*at) || seen.contains(at)));
        let from = heard.len().saturating_sub(most);
        heard[from..].iter().map(|at| playing.heard(*at, &view)).collect()
    }

    pub(super) fn notes(&self) -> &[Arc<str>] {
        &self.notes
    }
}

impl Playing {
    /// Where what was said in a phase, when it was played last, stands; by the numbers of the seats. A phase that is
    /// being played counts as far as it has come, with the time before.
    pub(super) fn of_phase(&self, phase: &str, turn: usize, until: usize) -> Vec<usize> {
        let Some(phase) = self.score.phase(phase) else { return Vec::new() };
        let mut found = self.last_of(phase, turn, until);
        if let Some(now) = self.played.get(turn).filter(|now| now.phase == phase) {
            found.extend(now.first..until);
        }
        found
    }

    /// The same of one that is over.
    fn last_of(&self, phase: usize, turn: usize, until: usize) -> Vec<usize> {
        let Some(at) = self.played.last_before(turn, |instance| instance.phase == phase) else { return Vec::new() };
        let end = self.played.get(at + 1).map_or(until, |next| next.first).min(until);
        let mut found: Vec<usize> = (self.played[at].first..end).collect();
        found.sort_by_key(|at| self.said[*at].seat);
        found
    }

    /// The replies of a phase, as expressions know them: of the time that is now, or else of the last.
    fn replies(&self, phase: usize, view: &View) -> Vec<usize> {
        let now = self.played.get(view.turn).filter(|now| now.phase == phase && now.first < view.until);
        let mut found = match now {
            Some(now) => (now.first..view.until).collect(),
            None => self.last_of(phase, view.turn, view.until),
        };
        if let Some(labels) = &view.labels {
            found.sort_by_key(|at| labels.place(self.said[*at].seat));
        }
        found
    }

    /// All that a phase lets a seat see, its own words left out.
    pub(super) fn seen(&self, view: &View) -> Vec<usize> {
        let Some(instance) = self.played.get(view.turn) else { return Vec::new() };
        let mut found: Vec<usize> = match &self.score.turn(instance.phase).sees {
            Sees::All => (0..view.until).filter(|at| self.is_shown(*at, view)).collect(),
            Sees::These(seen) => {
                let seen = seen.iter().enumerate();
                seen.flat_map(|(nth, seen)| self.some_of(instance.phase, nth, seen, view)).collect()
            }
        };
        if let Some(labels) = &view.labels {
            found.sort_by_key(|at| (labels.place(self.said[*at].seat), *at));
        }
        found
    }

    /// All that was said in the phases that a phase sees, one's own words among it.
    fn in_sight(&self, view: &View) -> Vec<usize> {
        let Some(instance) = self.played.get(view.turn) else { return Vec::new() };
        let mut found: Vec<usize> = match &self.score.turn(instance.phase).sees {
            Sees::All => (0..view.until).collect(),
            Sees::These(seen) => {
                seen.iter().flat_map(|seen| self.of_phase(&seen.phase, view.turn, view.until)).collect()
            }
        };
        if let Some(labels) = &view.labels {
            found.sort_by_key(|at| (labels.place(self.said[*at].seat), *at));
        }
        found
    }

    fn some_of(&self, phase: usize, nth: usize, seen: &Seen, view: &View) -> Vec<usize> {
        let mut found = self.of_phase(&seen.phase, view.turn, view.until);
        found.retain(|at| self.is_shown(*at, view));
        if seen.only_where.is_some() && !self.is_rehearsal {
            let part = Part::Where(phase, nth);
            let open = View { labels: None, ..view.clone() };
            let known = self.variables(&part, &open, self.round_at(view.turn));
            found.retain(|at| self.score.holds(&part, known.with("line", self.line(*at, &open))).unwrap_or(true));
        }
        let most = seen.at_most.map_or(usize::MAX, |most| most as usize);
        if found.len() > most {
            if self.is_rehearsal {
                found.sort_by_key(|at| Reverse(self.length_of(*at)));
                found.truncate(most);
            } else if seen.drawn {
                let is_it = |of: &Instance| self.score.turn(of.phase).name == seen.phase;
                let of = self.played.last_before(view.turn, is_it);
                let (of, me) = (of.map_or(0, |of| of as u64 + 1), view.me.map_or(0, |me| me as u64 + 1));
                Chance::new(self.seed, &[FORWARD, of, me]).shuffle(&mut found);
                found.truncate(most);
                found.sort_by_key(|at| (self.said[*at].seat, *at));
            } else {
                found.drain(..found.len() - most);
            }
        }
        found
    }

    /// Whether whoever looks may be shown this: nobody is shown their own words. In a rehearsal somebody else could
    /// have been chosen to say them.
    fn is_shown(&self, at: usize, view: &View) -> bool {
        let said = &self.said[at];
        Some(said.seat) != view.me || self.is_rehearsal && self.score.turn(self.played[said.turn].phase).is_picked()
    }

    fn length_of(&self, at: usize) -> u64 {
        let said = &self.said[at];
        estimate_tokens(&said.text) + estimate_tokens(&self.seats[said.seat].name)
    }

    /// What is wrong with the conditions of what is seen.
    pub(super) fn try_where(&self, view: &View) -> Vec<Faulty> {
        let phase = self.played[view.turn].phase;
        let open = View { labels: None, ..view.clone() };
        let mut found = Vec::new();
        for (nth, seen) in self.score.turn(phase).sees.these().iter().enumerate() {
            if seen.only_where.is_some() {
                let part = Part::Where(phase, nth);
                let lines = self.of_phase(&seen.phase, view.turn, view.until);
                let known = self.variables(&part, &open, self.round_at(view.turn));
                let fault = |at| self.score.holds(&part, known.with("line", self.line(at, &open))).err();
                found.extend(lines.into_iter().find_map(fault));
            }
        }
        found
    }

    /// The round of the innermost repeat around a phase that was begun, and how many it has at most.
    pub(super) fn round_at(&self, turn: usize) -> Option<(u32, u32)> {
        let instance = self.played.get(turn)?;
        let innermost = self.score.around(instance.phase).last()?;
        Some((*instance.rounds.last()?, self.score.looped(*innermost).at_most))
    }

    /// The variables that a part of the score uses.
    pub(super) fn variables(&self, part: &Part, view: &View, round: Option<(u32, u32)>) -> Variables {
        let mut variables = Vec::new();
        for name in self.score.uses(part) {
            let value = match &**name {
                MESSAGE => Some(self.settings.message.clone().into()),
                "me" => view.me.map(|me| self.seat_value(me, view)),
                "round" => Some(round.map_or(1, |(round, _)| round).into()),
                "last_round" => Some(round.is_none_or(|(round, most)| round == most).into()),
                "seen" => {
                    let seen = self.seen(view).into_iter().filter(|at| !self.said[*at].text.is_empty());
                    Some(seen.map(|at| self.line(at, view)).collect::<Vec<Value>>().into())
                }
                "seats" => view.labels.is_none().then(|| self.by_role()),
                name => self.named_value(name, view),
            };
            variables.extend(value.map(|value| (name.clone(), value)));
        }
        Variables(variables)
    }

    /// Who a seat is in its role. It is told once, before anything is played.
    pub(super) fn persona(&self, seat: usize) -> Result<Option<String>, Faulty> {
        let is_of = |role: &Role| role.name == self.seats[seat].role && role.persona.is_some();
        let Some(role) = self.settings.score.roles.iter().position(is_of) else { return Ok(None) };
        let (part, view) = (Part::Persona(role), View { me: Some(seat), turn: 0, until: 0, labels: None });
        let written = self.score.write(&part, || self.variables(&part, &view, None).value())?;
        Ok(Some(written.trim().to_owned()).filter(|written| !written.is_empty()))
    }

    /// The names of the seats, by role.
    fn by_role(&self) -> Value {
        let roles = self.settings.score.roles.iter().map(|role| {
            let names: Vec<Value> = self.of_role(&role.name).map(|(_, chair)| chair.name.clone().into()).collect();
            (Value::from(role.name.clone()), Value::from(names))
        });
        Value::from_pairs(roles)
    }

    fn named_value(&self, name: &str, view: &View) -> Option<Value> {
        if let Some(setting) = self.settings.score.settings.iter().find(|setting| *setting.name == *name) {
            return Some(values::value(&self.settings.value(setting)));
        }
        let phase = self.score.phase(name)?;
        Some(self.replies(phase, view).into_iter().map(|at| self.line(at, view)).collect::<Vec<Value>>().into())
    }
}
