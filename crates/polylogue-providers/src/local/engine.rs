//! A model file that is loaded, and the asks that it works on. All of it belongs to one thread.
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

use std::{collections::VecDeque, num::NonZeroU32, path::Path, sync::OnceLock};

use llama_cpp_2::{
    context::{
        LlamaContext,
        params::{KvCacheType, LlamaContextParams},
    },
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel, params::LlamaModelParams},
    sampling::LlamaSampler,
    token::LlamaToken,
};
use llguidance::ParserFactory;
use polylogue_core::{
    ask::{Part, Request, Walk},
    ledger::Usage,
};
use polylogue_runtime::port::CallError;

use super::{
    choice::{self, Candidates},
    grammar::Grammars,
    kept::{Kept, Place, common, place},
    prompt::{self, Reader},
    sampler::{self, Banned},
    words::{self, Said},
    work::{Draft, Goal, Listener, WordsGoal, Work},
};
use crate::answer::End;

/// Seats: one for every voice of a full chorus.
pub(super) const SEATS: usize = 6;
/// Drafts of one line, at most and at least.
const MOST_DRAFTS: usize = 4;
const LEAST_DRAFTS: usize = 2;
/// Drafts that are drawn at once in all: what a step computes in groups of four costs hardly more than one by one.
const DRAFTS_AT_ONCE: usize = 12;
/// How often drafts that all echo are thrown away.
const MOST_TRIES: u32 = 2;
/// Tokens that are computed together; a stop is noticed in between.
const GROUP: usize = 64;
/// llama.cpp's number for flash attention: keys and values of 8 bits need it.
const FLASH_ATTENTION: i32 = 1;
/// Tokens of a reply when the agent names no limit of its own.
const OUTPUT: usize = 512;
/// Lines of others that a new one is held against, at most.
const REMEMBERED: usize = 12;

/// How much of the machine a model may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) threads: i32,
    pub(super) context: u32,
}

/// A model file that was read.
pub(super) struct File {
    model: LlamaModel,
    template: LlamaChatTemplate,
    grammars: Grammars,
    banned: Banned,
}

impl File {
    pub(super) fn open(path: &Path) -> Result<File, CallError> {
        let broken = |problem: &dyn std::fmt::Display| {
            tracing::warn!(%problem, "the embedded model cannot be loaded");
            CallError::Unavailable(
                "the embedded model cannot be loaded: its file is damaged or of another kind".to_owned(),
            )
        };
        // The weights are put into another order for the processor: a file that stays mapped would be there twice.
        let params = LlamaModelParams::default().with_use_mmap(false);
        let model = LlamaModel::load_from_file(backend()?, path, &params);
        let model = model.map_err(|error| broken(&error))?;
        let parsers = ParserFactory::new_simple(&LlamaSampler::llguidance_tok_env(&model));
        let mut parsers = parsers.map_err(|error| broken(&error))?;
        parsers.quiet();
        let chat_ml = || LlamaChatTemplate::new("chatml").map_err(|error| broken(&error));
        let template = model.chat_template(None).map_or_else(|_| chat_ml(), Ok)?;
        let banned = Banned::new(&model);
        Ok(File { model, template, grammars: Grammars::new(parsers), banned })
    }

    fn context(&self, bounds: Bounds) -> Result<LlamaContext<'_>, CallError> {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(bounds.context.saturating_mul(number(SEATS))))
            .with_n_seq_max(number(SEATS * MOST_DRAFTS))
            // Seats that share a beginning share its memory.
            .with_kv_unified(true)
            .with_n_batch(number(GROUP))
            .with_n_ubatch(number(GROUP))
            .with_n_threads(bounds.threads)
            .with_n_threads_batch(bounds.threads)
            .with_flash_attention_policy(FLASH_ATTENTION)
            .with_type_k(KvCacheType::Q8_0)
            .with_type_v(KvCacheType::Q8_0);
        self.model.new_context(backend()?, params).map_err(|error| failed(&error))
    }
}

impl Reader for File {
    type Token = LlamaToken;

    fn template(&self, messages: &[(&'static str, String)]) -> Option<String> {
        let message = |(role, text): &(&str, String)| LlamaChatMessage::new((*role).to_owned(), text.clone()).ok();
        let messages: Vec<LlamaChatMessage> = messages.iter().map(message).collect::<Option<_>>()?;
        let own = self.model.apply_chat_template(&self.template, &messages, true).ok();
        // A template that llama.cpp does not know: most models understand this one.
        let chat_ml = || self.model.apply_chat_template(&LlamaChatTemplate::new("chatml").ok()?, &messages, true).ok();
        own.or_else(chat_ml)
    }

    fn of_template(&self, text: &str, is_first: bool) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), is_first, true)
    }

    fn of_words(&self, text: &str) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), false, false)
    }
}

/// The process has one backend, whatever models it loads.
fn backend() -> Result<&'static LlamaBackend, CallError> {
    static BACKEND: OnceLock<Option<LlamaBackend>> = OnceLock::new();
    let start = || {
        let mut backend = LlamaBackend::init().ok()?;
        // It speaks to standard error, and mostly of what concerns nobody.
        backend.void_logs();
        Some(backend)
    };
    let backend = BACKEND.get_or_init(start).as_ref();
    backend.ok_or_else(|| CallError::Unavailable("the embedded model cannot be started".to_owned()))
}

/// A file at work.
pub(super) struct Engine<'file> {
    file: &'file File,
    window: usize,
    context: LlamaContext<'file>,
    seats: Vec<Seat>,
    /// Counts asks, to know which seat was not used for the longest time.
    now: u64,
    /// The last words that were said here, and when, so that those who speak at the same time do not say the same.
    lately: VecDeque<(u64, String)>,
}

/// A sequence of the context.
#[derive(Default)]
struct Seat {
    /// What it has computed.
    tokens: Vec<LlamaToken>,
    used: u64,
    work: Option<Work>,
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
    fn goal(&self, work: &Work) -> Result<Goal, CallError> {
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

    fn forget_after(&mut self, at: usize, shared: usize) -> Result<(), CallError> {
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

    /// A seat has read everything: its drafts begin, from the one place.
    fn begin_drafts(&mut self, at: usize, index: i32) -> Result<(), CallError> {
        let busy = self.seats.iter().filter(|seat| seat.work.is_some()).count().max(1);
        let length = position(self.seats[at].tokens.len())?;
        let Some(work) = &self.seats[at].work else { return Ok(()) };
        let file = self.file;
        let mut drafts = match &work.goal {
            Goal::Reply => {
                let form = file.grammars.sampler(&work.request, work.output as usize)?;
                vec![Draft::new(at, Some(sampler::reply(&file.model, &work.request, form, work.seed)))]
            }
            Goal::Choice { .. } => vec![Draft::new(at, None)],
            Goal::Words(WordsGoal { words, nth, .. }) => {
                let is_drawn = work.request.sampling.temperature.is_none_or(|asked| asked > 0.0);
                // Short ones cost little, and are easily beside the point.
                let is_short = words.sentences == 1;
                let most =
                    if is_short { MOST_DRAFTS } else { (DRAFTS_AT_ONCE / busy).clamp(LEAST_DRAFTS, MOST_DRAFTS) };
                let count = if words.has_paragraphs || !is_drawn { 1 } else { most };
                let draft = |lane: usize| {
                    let seed = work.seed.wrapping_add((lane as u32).wrapping_mul(7919)).wrapping_add(nth * 104_729);
                    let paragraphs = words.has_paragraphs;
                    let sampler = sampler::words(&file.model, &file.banned, &work.request, paragraphs, *nth, seed);
                    Draft::new(at + lane * SEATS, Some(sampler))
                };
                (0..count).map(draft).collect()
            }
        };
        for draft in drafts.iter_mut().skip(1) {
            let (from, to) = (sequence(at)?, sequence(draft.lane)?);
            self.context.kv_cache_seq_rm(to, None, None).map_err(|error| failed(&error))?;
            self.context.kv_cache_seq_cp(from, to, Some(0), Some(length)).map_err(|error| failed(&error))?;
        }
        let count = drafts.len();
        if let Some(work) = &mut self.seats[at].work {
            work.drafts = drafts;
        }
        (0..count).for_each(|nth| self.draw(at, nth, index));
        Ok(())
    }

    /// Draws the next token of a draft, or ends it.
    fn draw(&mut self, at: usize, nth: usize, index: i32) {
        let vocab = self.file.model.vocab();
        let Some(work) = &mut self.seats[at].work else { return };
        let draft = &mut work.drafts[nth];
        work.usage.output += 1;
        let token = match (&mut work.goal, &mut draft.sampler) {
            (Goal::Choice { choice, candidates }, _) => {
                let logits = self.context.get_logits_ith(index);
                let next = candidates.next();
                let weight = |token: &LlamaToken| usize::try_from(token.0).ok().and_then(|at| logits.get(at)).copied();
                let weights: Vec<f32> = next.iter().map(|token| weight(token).unwrap_or(f32::NEG_INFINITY)).collect();
                let asked = work.request.sampling.temperature.map_or(sampler::TEMPERATURE, |asked| asked as f32);
                let temperature = if choice.is_judged { 0.0 } else { asked };
                let drawn = chance(work.seed, work.usage.output);
                let Some(token) = next.get(choice::taken(&weights, temperature, drawn)).copied() else {
                    draft.ended = Some(End::Complete);
                    return;
                };
                if candidates.draw(token).is_some() {
                    draft.ended = Some(End::Complete);
                    return;
                }
                token
            }
            (_, Some(sampler)) => sampler.sample(&self.context, index),
            (_, None) => {
                draft.ended = Some(End::Complete);
                return;
            }
        };
        if vocab.is_eog(token) {
            draft.ended = Some(End::Complete);
            return;
        }
        let text = draft.text.push(&vocab.token_to_piece(token, false, None));
        draft.said.push_str(&text);
        match &work.goal {
            Goal::Reply => work.listener.hear(&text, work.usage),
            Goal::Words(_) | Goal::Choice { .. } => work.listener.overhear(&text, work.usage),
        }
        let tokens = draft.tokens.len() as u64 + 1;
        let is_enough = match &work.goal {
            Goal::Words(goal) => {
                let is_long = draft.said.chars().count() >= goal.words.max_chars;
                is_long || words::sentences(draft.said.trim()) >= goal.words.sentences
            }
            Goal::Reply | Goal::Choice { .. } => false,
        };
        if is_enough {
            draft.ended = Some(End::Complete);
        } else if tokens >= work.output {
            draft.ended = Some(End::OutputFull);
        } else {
            draft.next = Some(token);
        }
    }

    /// Everything is drawn that was to be drawn: goes on with the plan, or ends.
    fn conclude(&mut self, at: usize) -> Result<(), CallError> {
        let Some(mut work) = self.seats[at].work.take() else { return Ok(()) };
        match work.goal {
            Goal::Reply => {
                self.keep(at, &mut work, 0)?;
                let end = work.drafts[0].ended.clone().unwrap_or(End::Complete);
                work.listener.end(Ok((end, work.usage)));
                return Ok(());
            }
            Goal::Choice { ref candidates, .. } => {
                let chosen = candidates.chosen().unwrap_or_default();
                self.keep(at, &mut work, 0)?;
                if let Some(walk) = &mut work.walk {
                    walk.pick(chosen);
                }
            }
            Goal::Words(_) => {
                let Some((nth, said)) = self.best(at, &mut work)? else {
                    self.seats[at].work = Some(work);
                    return Ok(());
                };
                let count = work.drafts.len();
                self.keep(at, &mut work, nth)?;
                if said.is_empty() {
                    let nothing = CallError::BadResponse("the model said nothing".to_owned());
                    work.listener.end(Err(nothing));
                    return Ok(());
                }
                if count > 1 {
                    work.listener.kept(nth as u8 + 1, count as u8);
                }
                self.lately.push_back((self.now, said.clone()));
                while self.lately.len() > REMEMBERED {
                    self.lately.pop_front();
                }
                if let Some(walk) = &mut work.walk {
                    walk.say(said);
                }
            }
        }
        self.go_on(at, work)
    }

    /// The draft that is worth most, and its words. `None` where all of them echo, and others are drawn.
    fn best(&mut self, at: usize, work: &mut Work) -> Result<Option<(usize, String)>, CallError> {
        let names = format!("{}\n{}", work.request.system, work.request.prompt);
        let Goal::Words(goal) = &mut work.goal else { return Ok(None) };
        let mut said = std::mem::take(&mut goal.said);
        // Only what was said since this ask began: what came before it changes no reply.
        let meanwhile = self.lately.iter().filter(|(when, _)| *when >= work.began);
        let paragraphs = goal.words.has_paragraphs;
        if !paragraphs {
            meanwhile.for_each(|(_, line)| said.add(line));
        }
        let worth = work.drafts.iter().enumerate().map(|(nth, draft)| {
            let text = words::cleaned(&draft.said, goal.words.sentences, goal.words.max_chars, &names);
            (said.penalty(&text, words::is_whole(&text)), nth, text)
        });
        let best = worth.min_by(|one, other| one.0.total_cmp(&other.0));
        let Some((_, nth, text)) = best else { return Ok(Some((0, String::new()))) };
        let is_used_up = goal.nth >= MOST_TRIES || work.usage.output >= 4 * work.output;
        let is_good = !text.is_empty() && (paragraphs || !said.is_echoed_in(&text));
        if is_good || is_used_up {
            return Ok(Some((nth, text)));
        }
        goal.nth += 1;
        goal.said = said;
        let drafts = std::mem::take(&mut work.drafts);
        self.drop_lanes(at, &drafts)?;
        // The last token is read once more, so that there is something to draw from.
        let length = self.seats[at].tokens.len().saturating_sub(1);
        work.rest = self.seats[at].tokens.get(length..).unwrap_or_default().to_vec();
        self.forget_after(at, length)?;
        Ok(None)
    }

    /// Makes a draft the seat's own, and forgets the others.
    fn keep(&mut self, at: usize, work: &mut Work, nth: usize) -> Result<(), CallError> {
        let base = position(self.seats[at].tokens.len())?;
        let Some(kept) = work.drafts.get(nth) else { return Ok(()) };
        if kept.lane != at {
            let (from, to) = (sequence(kept.lane)?, sequence(at)?);
            self.context.kv_cache_seq_rm(to, Some(base), None).map_err(|error| failed(&error))?;
            self.context.kv_cache_seq_cp(from, to, Some(base), None).map_err(|error| failed(&error))?;
        }
        let tokens = kept.tokens.clone();
        self.seats[at].tokens.extend(tokens);
        for draft in work.drafts.iter().filter(|draft| draft.lane != at) {
            self.context.kv_cache_seq_rm(sequence(draft.lane)?, None, None).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Forgets what was drawn.
    fn drop_lanes(&mut self, at: usize, drafts: &[Draft]) -> Result<(), CallError> {
        let base = self.seats[at].tokens.len();
        self.forget_after(at, base)?;
        for draft in drafts.iter().filter(|draft| draft.lane != at) {
            self.context.kv_cache_seq_rm(sequence(draft.lane)?, None, None).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Asks for what the plan wants next, or ends with the reply that it comes to.
    fn go_on(&mut self, at: usize, mut work: Work) -> Result<(), CallError> {
        work.drafts.clear();
        let Some(walk) = &work.walk else { return Ok(()) };
        let asked = match walk.now() {
            None => {
                let written = walk.written();
                finish(work, &written);
                return Ok(());
            }
            Some(part) => part.ask().map(|ask| ask.to_string()).unwrap_or_default(),
        };
        work.asked.push(asked);
        let asks = prompt::after(&work.request, walk.answers(), &work.asked);
        let tokens = match prompt::tokens(self.file, &asks, self.window, work.output as usize) {
            Ok(tokens) => tokens,
            Err(error) => {
                work.listener.end(Err(error));
                return Ok(());
            }
        };
        let shared = common(&self.seats[at].tokens, &tokens).min(tokens.len().saturating_sub(1));
        self.forget_after(at, shared)?;
        work.usage.input += (tokens.len() - shared) as u64;
        work.rest = tokens[shared..].to_vec();
        work.goal = match self.goal(&work) {
            Ok(goal) => goal,
            Err(error) => {
                work.listener.end(Err(error));
                return Ok(());
            }
        };
        self.seats[at].work = Some(work);
        Ok(())
    }
}

/// Ends with a reply that was written from a plan.
fn finish(mut work: Work, written: &str) {
    work.listener.hear(written, work.usage);
    work.listener.end(Ok((End::Complete, work.usage)));
}

/// A number from 0 to 1 that follows from a seed and a place.
fn chance(seed: u32, place: u64) -> f64 {
    let mut mixed = (u64::from(seed) << 32 | 0x9e37_79b9).wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn sequence(at: usize) -> Result<i32, CallError> {
    i32::try_from(at).map_err(|error| failed(&error))
}

fn position(tokens: usize) -> Result<u32, CallError> {
    u32::try_from(tokens).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> CallError {
    CallError::BadResponse(format!("the embedded model failed: {error}"))
}
