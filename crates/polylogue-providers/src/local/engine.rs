//! A model file at work, and the asks that it works on. All of it belongs to one thread.
//!
//! Several asks are answered at once: each has a seat, which is a sequence in the one context, and a step computes the
//! next tokens of every seat together. Reading the weights is much of what a step costs, so several tokens cost little
//! more than one. What a seat has computed stays for the next ask of the same thread; a beginning that several have in
//! common is computed by one of them and taken over by the others.
//!
//! A small model goes along a plan: it chooses out of lists and says plain words. Words are drawn several times at
//! once, each draft in a sequence of its own beside its seat's, and the one is kept that echoes and repeats least.
//!
//! An ask that is alone has the same reply, whatever was asked before it: the seed comes with the request, and
//! attention is computed in a form whose results do not depend on how the tokens were grouped (8-bit keys and values;
//! half-precision ones would be rounded differently in groups). Beside others, what is computed together is rounded
//! together, and a reply may differ in its draws.

use std::collections::VecDeque;

use llama_cpp_2::{context::LlamaContext, llama_batch::LlamaBatch, token::LlamaToken};
use polylogue_core::{
    ask::{Part, Request, Walk},
    ledger::Usage,
};
use polylogue_runtime::port::CallError;

use super::{
    choice::Candidates,
    drafts::MOST_DRAFTS,
    file::{Bounds, File},
    kept::{Kept, Place, common, place},
    prompt,
    words::Said,
    work::{Goal, Listener, WordsGoal, Work},
};
use crate::answer::End;

/// Seats: one for every voice of a full chorus.
pub(super) const SEATS: usize = 6;
/// Sequences of the context: a seat's own, and those of its drafts.
pub(super) const LANES: usize = SEATS * MOST_DRAFTS;
/// Tokens that are computed together; a stop is noticed in between.
pub(super) const GROUP: usize = 64;
/// Tokens of a reply when the agent names no limit of its own.
const OUTPUT: usize = 512;

/// A file at work.
pub(super) struct Engine<'file> {
    pub(super) file: &'file File,
    pub(super) window: usize,
    pub(super) context: LlamaContext<'file>,
    pub(super) seats: Vec<Seat>,
    /// Counts asks, to know which seat was not used for the longest time.
    pub(super) now: u64,
    /// The last words that were said here, and when, so that those who speak at the same time do not say the same.
    pub(super) lately: VecDeque<(u64, String)>,
}

/// A sequence of the context.
#[derive(Default)]
pub(super) struct Seat {
    /// What it has computed.
    pub(super) tokens: Vec<LlamaToken>,
    used: u64,
    pub(super) work: Option<Work>,
}

impl<'file> Engine<'file> {
    pub(super) fn new(file: &'file File, bounds: Bounds) -> Result<Engine<'file>, CallError> {
        let bounds = Bounds { context: bounds.context.min(file.model.n_ctx_train()), ..bounds };
        let seats = (0..SEATS).map(|_| Seat::default()).collect();
        let (window, context) = (bounds.context as usize, file.context(bounds)?);
        Ok(Engine { file, window, context, seats, now: 0, lately: VecDeque::new() })
    }

    /// Whether another ask can begin.
    pub(super) fn has_room(&self) -> bool {
        self.seats.iter().any(|seat| seat.work.is_none())
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.seats.iter().all(|seat| seat.work.is_none())
    }

    /// Begins to answer a request. There has to be room.
    pub(super) fn begin(&mut self, request: &Request, seed: u32, listener: Box<dyn Listener>) {
        let asked = request.sampling.max_output_tokens.map_or(OUTPUT, |max| max as usize);
        let output = asked.clamp(1, self.window / 2);
        let walk = request.plan.as_deref().map(Walk::new);
        let mut work = Work {
            request: request.clone(),
            seed,
            rest: Vec::new(),
            waits: None,
            began: 0,
            walk,
            asked: Vec::new(),
            goal: Goal::Reply,
            drafts: Vec::new(),
            usage: Usage::default(),
            output: output as u64,
            listener,
        };
        // A plan that asks for nothing is written as it is.
        if let Some(walk) = work.walk.as_ref().filter(|walk| walk.now().is_none()) {
            let written = walk.written();
            return finish(work, &written);
        }
        // Where the prompt's own question needs no answer, the first that does stands with it.
        if let Some(ask) = work.walk.as_ref().and_then(Walk::now).and_then(Part::ask) {
            work.request.prompt = format!("{}\n{ask}", work.request.prompt.trim_end()).into();
        }
        match self.take_seat(&mut work) {
            Ok(at) => self.seats[at].work = Some(work),
            Err(error) => work.listener.end(Err(error)),
        }
    }

    /// A seat for a request that begins, with what it has to read there.
    fn take_seat(&mut self, work: &mut Work) -> Result<usize, CallError> {
        let tokens = prompt::tokens(self.file, &work.request, self.window, work.output as usize)?;
        work.goal = self.goal(work)?;
        let (at, shared) = self.sit(&tokens)?;
        work.usage = Usage { input: tokens.len() as u64, cached: shared as u64, ..Usage::default() };
        work.rest = tokens[shared..].to_vec();
        work.waits = self.someone_reading(at, &tokens, shared);
        work.began = self.now;
        Ok(at)
    }

    /// What is to be drawn next.
    pub(super) fn goal(&self, work: &Work) -> Result<Goal, CallError> {
        let vocab = self.file.model.vocab();
        Ok(match work.walk.as_ref().and_then(Walk::now) {
            Some(Part::Words(words)) => {
                let asked = [&*work.request.system, &*work.request.prompt, words.ask.as_deref().unwrap_or_default()];
                let example = work.request.thread.messages().iter().map(|message| &*message.text);
                let said = Said::of(&asked.join("\n"), words.heard.iter().map(|line| &**line).chain(example));
                let said = said.answering(words.about.iter().map(|line| &**line));
                let said = said.having_chosen(work.walk.as_ref().map(Walk::answers).unwrap_or_default());
                Goal::Words(WordsGoal { words: words.clone(), said, nth: 0 })
            }
            Some(Part::Choice(choice)) => {
                let tokens = choice.of.iter().map(|pick| vocab.tokenize(pick.words.as_bytes(), false, false));
                Goal::Choice { choice: choice.clone(), candidates: Candidates::new(tokens) }
            }
            Some(Part::Given { .. }) | None => Goal::Reply,
        })
    }

    /// A seat for these tokens, and how many of them it has already.
    fn sit(&mut self, tokens: &[LlamaToken]) -> Result<(usize, usize), CallError> {
        self.now += 1;
        let free: Vec<usize> = (0..SEATS).filter(|at| self.seats[*at].work.is_none()).collect();
        let kept: Vec<Kept<'_, LlamaToken>> = free
            .iter()
            .filter(|at| !self.seats[**at].tokens.is_empty())
            .map(|at| Kept { tokens: &self.seats[*at].tokens, used: self.seats[*at].used })
            .collect();
        let in_use: Vec<usize> = free.iter().copied().filter(|at| !self.seats[*at].tokens.is_empty()).collect();
        let (at, shared) = match place(&kept, tokens, free.len()) {
            Place::Kept { at, shared } => (in_use[at], shared),
            Place::New => {
                let empty = free.iter().copied().find(|at| self.seats[*at].tokens.is_empty());
                (empty.or(free.first().copied()).ok_or_else(|| failed(&"there is no seat"))?, 0)
            }
        };
        // Somebody else may have read more of the same beginning.
        let most = tokens.len().saturating_sub(1);
        let nearest = (0..SEATS).filter(|other| *other != at);
        let nearest = nearest.map(|other| (common(&self.seats[other].tokens, tokens).min(most), other)).max();
        let shared = match nearest {
            Some((more, other)) if more > shared => {
                self.take_over(at, other, more)?;
                more
            }
            _ => {
                self.forget_after(at, shared)?;
                shared
            }
        };
        self.seats[at].used = self.now;
        Ok((at, shared))
    }

    /// The seat that is about to read more of the same beginning, and how much of it.
    fn someone_reading(&self, at: usize, tokens: &[LlamaToken], shared: usize) -> Option<(usize, usize)> {
        let most = tokens.len().saturating_sub(1);
        let about = |other: usize| {
            let seat = &self.seats[other];
            let work = seat.work.as_ref()?;
            let ahead: Vec<LlamaToken> = seat.tokens.iter().chain(&work.rest).copied().collect();
            let more = common(&ahead, tokens).min(most);
            // Who waits itself is no help.
            (more > shared && work.waits.is_none_or(|(_, upto)| upto >= more)).then_some((more, other))
        };
        let (more, other) = (0..SEATS).filter(|other| *other != at).filter_map(about).max()?;
        // Who is waited for waits for nobody but, at most, for the same.
        let first = self.seats[other].work.as_ref()?.waits.map_or(other, |(first, _)| first);
        Some((first, more))
    }

    /// Takes the first tokens over that another seat has computed.
    fn take_over(&mut self, at: usize, other: usize, count: usize) -> Result<(), CallError> {
        self.forget_after(at, 0)?;
        let (from, to) = (sequence(other)?, sequence(at)?);
        self.context.kv_cache_seq_cp(from, to, Some(0), Some(position(count)?)).map_err(|error| failed(&error))?;
        let tokens = self.seats[other].tokens[..count].to_vec();
        self.seats[at].tokens = tokens;
        Ok(())
    }

    pub(super) fn forget_after(&mut self, at: usize, shared: usize) -> Result<(), CallError> {
        self.seats[at].tokens.truncate(shared);
        let (seat, from) = (sequence(at)?, position(shared)?);
        self.context.kv_cache_seq_rm(seat, Some(from), None).map_err(|error| failed(&error))
    }

    /// Computes the next tokens of every seat together, and draws what follows for those that have read everything.
    pub(super) fn step(&mut self) {
        if let Err(error) = self.try_step() {
            // What is half computed is not to be gone on from.
            self.context.clear_kv_cache();
            for seat in &mut self.seats {
                seat.tokens.clear();
                if let Some(mut work) = seat.work.take() {
                    work.listener.end(Err(error.clone()));
                }
            }
        }
    }

    fn try_step(&mut self) -> Result<(), CallError> {
        for at in 0..SEATS {
            // What was computed for somebody who left stays for whoever comes.
            if let Some(work) = self.seats[at].work.take_if(|work| !work.listener.is_there()) {
                self.drop_lanes(at, &work.drafts)?;
            }
        }
        for at in 0..SEATS {
            self.stop_waiting(at)?;
        }
        for (at, lane, index) in self.compute()? {
            match lane {
                Some(nth) => self.draw(at, nth, index),
                None => self.begin_drafts(at, index)?,
            }
        }
        for at in 0..SEATS {
            if self.seats[at].work.as_ref().is_some_and(Work::is_drawn) {
                self.conclude(at)?;
            }
        }
        Ok(())
    }

    /// Takes over what was waited for, once it is there, or reads it alone if nobody does any more.
    fn stop_waiting(&mut self, at: usize) -> Result<(), CallError> {
        let Some((other, upto)) = self.seats[at].work.as_ref().and_then(|work| work.waits) else { return Ok(()) };
        let wanted = self.wanted(at);
        let is_there = common(&self.seats[other].tokens, &wanted) >= upto;
        let is_coming = self.seats[other].work.as_ref().is_some_and(|work| !work.rest.is_empty());
        if is_there {
            let before = self.seats[at].tokens.len();
            self.take_over(at, other, upto)?;
            if let Some(work) = &mut self.seats[at].work {
                work.rest = wanted[upto..].to_vec();
                work.usage.cached += (upto - before) as u64;
                work.waits = None;
            }
        } else if !is_coming && let Some(work) = &mut self.seats[at].work {
            work.waits = None;
        }
        Ok(())
    }

    /// Everything that a seat is to have read.
    fn wanted(&self, at: usize) -> Vec<LlamaToken> {
        let seat = &self.seats[at];
        let rest = seat.work.as_ref().map(|work| work.rest.as_slice()).unwrap_or_default();
        seat.tokens.iter().chain(rest).copied().collect()
    }

    /// Computes one group: first the drawn tokens of those who write, so that nobody who reads holds them up. Tells
    /// for which drafts something can be drawn, or which seats have read everything, and where in the group that is.
    fn compute(&mut self) -> Result<Vec<(usize, Option<usize>, i32)>, CallError> {
        let mut batch = LlamaBatch::new(GROUP, 1);
        let mut ready = Vec::new();
        let place = |at: usize| i32::try_from(at).map_err(|error| failed(&error));
        for (at, seat) in self.seats.iter_mut().enumerate() {
            let base = seat.tokens.len();
            for (nth, draft) in seat.work.iter_mut().flat_map(|work| work.drafts.iter_mut().enumerate()) {
                if let Some(token) = draft.next.take() {
                    ready.push((at, Some(nth), batch.n_tokens()));
                    let position = place(base + draft.tokens.len())?;
                    batch.add(token, position, &[sequence(draft.lane)?], true).map_err(|error| failed(&error))?;
                    draft.tokens.push(token);
                }
            }
        }
        let is_reading = |at: &usize| {
            let work = self.seats[*at].work.as_ref();
            work.is_some_and(|work| work.waits.is_none() && !work.rest.is_empty())
        };
        let mut order: Vec<usize> = (0..SEATS).filter(is_reading).collect();
        order.sort_by_key(|at| self.seats[*at].work.as_ref().map_or(0, |work| work.rest.len()));
        let mut taken = Vec::new();
        for at in order {
            let room = GROUP - usize::try_from(batch.n_tokens()).unwrap_or(GROUP);
            let Some(work) = &self.seats[at].work else { continue };
            let count = work.rest.len().min(room);
            for (nth, token) in work.rest[..count].iter().enumerate() {
                let is_last = nth + 1 == work.rest.len();
                if is_last {
                    ready.push((at, None, batch.n_tokens()));
                }
                let position = place(self.seats[at].tokens.len() + nth)?;
                batch.add(*token, position, &[sequence(at)?], is_last).map_err(|error| failed(&error))?;
            }
            taken.push((at, count));
        }
        if batch.n_tokens() == 0 {
            return Ok(ready);
        }
        self.context.decode(&mut batch).map_err(|error| failed(&error))?;
        for (at, count) in taken {
            let seat = &mut self.seats[at];
            if let Some(work) = &mut seat.work {
                seat.tokens.extend(work.rest.drain(..count));
            }
        }
        Ok(ready)
    }
}

/// Ends with a reply that was written from a plan.
pub(super) fn finish(mut work: Work, written: &str) {
    work.listener.hear(written, work.usage);
    work.listener.end(Ok((End::Complete, work.usage)));
}

/// A number from 0 to 1 that follows from a seed and a place.
pub(super) fn chance(seed: u32, place: u64) -> f64 {
    let mut mixed = (u64::from(seed) << 32 | 0x9e37_79b9).wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

pub(super) fn sequence(at: usize) -> Result<i32, CallError> {
    i32::try_from(at).map_err(|error| failed(&error))
}

pub(super) fn position(tokens: usize) -> Result<u32, CallError> {
    u32::try_from(tokens).map_err(|error| failed(&error))
}

pub(super) fn failed(error: &dyn std::fmt::Display) -> CallError {
    CallError::BadResponse(format!("the embedded model failed: {error}"))
}
