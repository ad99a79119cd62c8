//! A model file that is loaded, and the asks that it works on. All of it belongs to one thread.
//!
//! Several asks are answered at once: each has a seat, which is a sequence in the one context, and a step computes the
//! next token of every seat together. Reading the weights is what a step costs, so six tokens cost little more than
//! one. What a seat has computed stays for the next ask of the same thread; what others have computed of the same
//! beginning is taken over from them.
//!
//! An ask that is alone has the same reply, whatever was asked before it: the seed comes with the request, and
//! attention is computed in a form whose results do not depend on how the tokens were grouped (8-bit keys and values;
//! half-precision ones would be rounded differently in groups). Beside others, what is computed together is rounded
//! together, and a reply may differ in its draws.

use std::{num::NonZeroU32, path::Path, sync::OnceLock};

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
use polylogue_core::{ask::Request, ledger::Usage};
use polylogue_runtime::port::CallError;

use super::{
    grammar::Grammars,
    kept::{Kept, Place, common, place},
    prompt::{self, Reader},
    text::Text,
};
use crate::answer::End;

/// Seats: one for every voice of a full chorus.
pub(super) const SEATS: usize = 6;
/// Tokens that are computed together; a stop is noticed in between.
const GROUP: usize = 64;
/// llama.cpp's number for flash attention: keys and values of 8 bits need it.
const FLASH_ATTENTION: i32 = 1;
/// Tokens of a reply when the agent names no limit of its own.
const OUTPUT: usize = 512;

/// How a reply is drawn, as the model's makers and small models in general like it.
const TEMPERATURE: f32 = 0.7;
const TOP_P: f32 = 0.95;
const MIN_P: f32 = 0.05;
const REPEAT_PENALTY: f32 = 1.15;
const REPEAT_WINDOW: i32 = 128;

/// How much of the machine a model may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) threads: i32,
    pub(super) context: u32,
}

/// Who an ask is answered for. None of it waits for anybody: others are answered in the same steps.
pub(super) trait Listener {
    fn hear(&mut self, text: &str, usage: Usage);
    fn end(&mut self, ended: Result<(End, Usage), CallError>);
    /// Whether anybody still listens.
    fn is_there(&self) -> bool;
}

/// A model file that was read.
pub(super) struct File {
    model: LlamaModel,
    template: LlamaChatTemplate,
    grammars: Grammars,
    bounds: Bounds,
}

impl File {
    pub(super) fn open(path: &Path, bounds: Bounds) -> Result<File, CallError> {
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
        let bounds = Bounds { context: bounds.context.min(model.n_ctx_train()), ..bounds };
        Ok(File { model, template, grammars: Grammars::new(parsers), bounds })
    }

    fn context(&self) -> Result<LlamaContext<'_>, CallError> {
        let group = u32::try_from(GROUP).unwrap_or(u32::MAX);
        let seats = u32::try_from(SEATS).unwrap_or(1);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(self.bounds.context.saturating_mul(seats)))
            .with_n_seq_max(seats)
            // Seats that share a beginning share its memory.
            .with_kv_unified(true)
            .with_n_batch(group)
            .with_n_ubatch(group)
            .with_n_threads(self.bounds.threads)
            .with_n_threads_batch(self.bounds.threads)
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
    context: LlamaContext<'file>,
    seats: Vec<Seat>,
    /// Counts asks, to know which seat was not used for the longest time.
    now: u64,
}

/// A sequence of the context.
#[derive(Default)]
struct Seat {
    /// What it has computed.
    tokens: Vec<LlamaToken>,
    used: u64,
    work: Option<Work>,
}

/// An ask that is being answered.
struct Work {
    /// What is still to be computed before the next token can be drawn: the rest of the request, then each token that
    /// was drawn.
    rest: Vec<LlamaToken>,
    sampler: LlamaSampler,
    text: Text,
    usage: Usage,
    /// Tokens that the reply may have.
    output: u64,
    listener: Box<dyn Listener>,
}

impl<'file> Engine<'file> {
    pub(super) fn new(file: &'file File) -> Result<Engine<'file>, CallError> {
        let seats = (0..SEATS).map(|_| Seat::default()).collect();
        Ok(Engine { file, context: file.context()?, seats, now: 0 })
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
    pub(super) fn begin(&mut self, request: &Request, seed: u32, mut listener: Box<dyn Listener>) {
        match self.prepare(request, seed) {
            Ok((at, rest, sampler, usage, output)) => {
                let (text, output) = (Text::default(), output as u64);
                self.seats[at].work = Some(Work { rest, sampler, text, usage, output, listener });
            }
            Err(error) => listener.end(Err(error)),
        }
    }

    fn prepare(
        &mut self,
        request: &Request,
        seed: u32,
    ) -> Result<(usize, Vec<LlamaToken>, LlamaSampler, Usage, usize), CallError> {
        let file = self.file;
        let window = file.bounds.context as usize;
        let output = request.sampling.max_output_tokens.map_or(OUTPUT, |max| max as usize).clamp(1, window / 2);
        let tokens = prompt::tokens(file, request, window, output)?;
        let form = file.grammars.sampler(request, output)?;
        let (at, shared) = self.sit(&tokens)?;
        let usage = Usage { input: tokens.len() as u64, cached: shared as u64, ..Usage::default() };
        Ok((at, tokens[shared..].to_vec(), sampler(&file.model, request, form, seed), usage, output))
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
                self.forget_after(at, 0)?;
                let (from, to) = (sequence(other)?, sequence(at)?);
                self.context.kv_cache_seq_cp(from, to, Some(0), Some(position(more)?)).map_err(|e| failed(&e))?;
                self.seats[at].tokens = tokens[..more].to_vec();
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

    fn forget_after(&mut self, at: usize, shared: usize) -> Result<(), CallError> {
        self.seats[at].tokens.truncate(shared);
        let (seat, from) = (sequence(at)?, position(shared)?);
        self.context.kv_cache_seq_rm(seat, Some(from), None).map_err(|error| failed(&error))
    }

    /// Computes the next tokens of every seat together, and draws what follows for those that have read everything.
    pub(super) fn step(&mut self) {
        for seat in &mut self.seats {
            // What was computed for somebody who left stays for whoever comes.
            seat.work.take_if(|work| !work.listener.is_there());
        }
        match self.compute() {
            Ok(read) => read.into_iter().for_each(|(at, index)| self.draw(at, index)),
            Err(error) => {
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
    }

    /// Computes one group: first the drawn tokens of those who write, so that nobody who reads holds them up. Tells
    /// which seats have read everything, and where in the group their last token stands.
    fn compute(&mut self) -> Result<Vec<(usize, i32)>, CallError> {
        let mut order: Vec<usize> = (0..SEATS).filter(|at| self.seats[*at].work.is_some()).collect();
        order.sort_by_key(|at| self.seats[*at].work.as_ref().map_or(0, |work| work.rest.len()));
        let mut batch = LlamaBatch::new(GROUP, 1);
        let mut read = Vec::new();
        let mut taken = Vec::new();
        for at in order {
            let room = GROUP - usize::try_from(batch.n_tokens()).unwrap_or(GROUP);
            let Some(work) = &self.seats[at].work else { continue };
            let count = work.rest.len().min(room);
            for (nth, token) in work.rest[..count].iter().enumerate() {
                let is_last = nth + 1 == work.rest.len();
                if is_last {
                    read.push((at, batch.n_tokens()));
                }
                let place = i32::try_from(self.seats[at].tokens.len() + nth).map_err(|error| failed(&error))?;
                batch.add(*token, place, &[sequence(at)?], is_last).map_err(|error| failed(&error))?;
            }
            taken.push((at, count));
        }
        if batch.n_tokens() == 0 {
            return Ok(read);
        }
        self.context.decode(&mut batch).map_err(|error| failed(&error))?;
        for (at, count) in taken {
            let seat = &mut self.seats[at];
            if let Some(work) = &mut seat.work {
                seat.tokens.extend(work.rest.drain(..count));
            }
        }
        Ok(read)
    }

    /// Draws the next token of a seat, or ends its reply.
    fn draw(&mut self, at: usize, index: i32) {
        let vocab = self.file.model.vocab();
        let seat = &mut self.seats[at];
        let Some(work) = &mut seat.work else { return };
        let token = work.sampler.sample(&self.context, index);
        work.usage.output += 1;
        let end = if vocab.is_eog(token) {
            Some(End::Complete)
        } else {
            let text = work.text.push(&vocab.token_to_piece(token, false, None));
            work.listener.hear(&text, work.usage);
            (work.usage.output >= work.output).then_some(End::OutputFull)
        };
        match end {
            Some(end) => {
                work.listener.end(Ok((end, work.usage)));
                seat.work = None;
            }
            None => work.rest.push(token),
        }
    }
}

fn sequence(at: usize) -> Result<i32, CallError> {
    i32::try_from(at).map_err(|error| failed(&error))
}

fn position(tokens: usize) -> Result<u32, CallError> {
    u32::try_from(tokens).map_err(|error| failed(&error))
}

fn sampler(model: &LlamaModel, request: &Request, form: Option<LlamaSampler>, seed: u32) -> LlamaSampler {
    let temperature = request.sampling.temperature.map_or(TEMPERATURE, |asked| asked as f32);
    let drawn = match temperature > 0.0 {
        true => vec![
            LlamaSampler::top_p(TOP_P, 1),
            LlamaSampler::min_p(MIN_P, 1),
            LlamaSampler::temp(temperature),
            LlamaSampler::dist(seed),
        ],
        false => vec![LlamaSampler::greedy()],
    };
    let penalties = LlamaSampler::penalties(model.n_vocab(), REPEAT_WINDOW, REPEAT_PENALTY, 0.0, 0.0);
    LlamaSampler::chain_simple(form.into_iter().chain([penalties]).chain(drawn))
}

fn failed(error: &dyn std::fmt::Display) -> CallError {
    CallError::BadResponse(format!("the embedded model failed: {error}"))
}
