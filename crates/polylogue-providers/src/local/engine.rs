//! A model file that is loaded, and the contexts that are kept of it. All of it belongs to one thread.
//!
//! The same request gives the same reply, whatever was asked before it: the seed comes with the request, and
//! attention is computed in a form whose results do not depend on how the tokens were grouped (8-bit keys and
//! values; half-precision ones would be rounded differently in groups).

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
    kept::{Kept, Place, place},
    prompt::{self, Reader},
    text::Text,
};
use crate::answer::End;

/// Contexts that are kept: one for every voice of a full chorus.
const CONTEXTS: usize = 6;
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

/// What is told of a reply while it is made; `false` when nobody listens any more.
pub(super) trait Listener {
    fn hear(&mut self, text: &str, usage: Usage) -> bool;
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
        let model = LlamaModel::load_from_file(backend()?, path, &LlamaModelParams::default());
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
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(self.bounds.context))
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
    contexts: Vec<Context<'file>>,
    /// Counts requests, to know which context was not used for the longest time.
    now: u64,
}

struct Context<'file> {
    inner: LlamaContext<'file>,
    /// What it has computed.
    tokens: Vec<LlamaToken>,
    used: u64,
}

impl<'file> Engine<'file> {
    pub(super) fn new(file: &'file File) -> Engine<'file> {
        Engine { file, contexts: Vec::new(), now: 0 }
    }

    /// Answers a request, or gives up when nobody listens any more.
    pub(super) fn answer(
        &mut self,
        request: &Request,
        seed: u32,
        listener: &mut dyn Listener,
    ) -> Result<(End, Usage), CallError> {
        let file = self.file;
        let window = file.bounds.context as usize;
        let output = request.sampling.max_output_tokens.map_or(OUTPUT, |max| max as usize).clamp(1, window / 2);
        let tokens = prompt::tokens(file, request, window, output)?;
        let form = file.grammars.sampler(request, output)?;
        let (context, shared) = self.place(&tokens)?;
        let mut usage = Usage { input: tokens.len() as u64, cached: shared as u64, ..Usage::default() };
        if !context.read(&tokens, shared, listener)? {
            return Ok((End::Complete, usage));
        }
        let mut sampler = sampler(&file.model, request, form, seed);
        let mut text = Text::default();
        loop {
            let token = sampler.sample(&context.inner, -1);
            usage.output += 1;
            if file.model.vocab().is_eog(token) {
                return Ok((End::Complete, usage));
            }
            let bytes = file.model.vocab().token_to_piece(token, false, None);
            if !listener.hear(&text.push(&bytes), usage) {
                return Ok((End::Complete, usage));
            }
            if usage.output >= output as u64 {
                return Ok((End::OutputFull, usage));
            }
            context.extend(&[token])?;
        }
    }

    /// The context for these tokens, and how many of them it has already.
    fn place(&mut self, tokens: &[LlamaToken]) -> Result<(&mut Context<'file>, usize), CallError> {
        self.now += 1;
        let kept: Vec<Kept<'_, LlamaToken>> =
            self.contexts.iter().map(|context| Kept { tokens: &context.tokens, used: context.used }).collect();
        let (at, shared) = match place(&kept, tokens, CONTEXTS) {
            Place::Kept { at, shared } => (at, shared),
            Place::New => {
                self.contexts.push(Context { inner: self.file.context()?, tokens: Vec::new(), used: 0 });
                (self.contexts.len() - 1, 0)
            }
        };
        let context = &mut self.contexts[at];
        context.used = self.now;
        Ok((context, shared))
    }
}

impl Context<'_> {
    /// Computes the tokens from the first that is not shared; `false` when nobody listens any more.
    fn read(&mut self, tokens: &[LlamaToken], shared: usize, listener: &dyn Listener) -> Result<bool, CallError> {
        self.forget_after(shared)?;
        for group in tokens[shared..].chunks(GROUP) {
            if !listener.is_there() {
                return Ok(false);
            }
            self.extend(group)?;
        }
        Ok(true)
    }

    fn forget_after(&mut self, shared: usize) -> Result<(), CallError> {
        self.tokens.truncate(shared);
        let from = u32::try_from(shared).map_err(|error| failed(&error))?;
        self.inner.kv_cache_seq_rm(0, Some(from), None).map_err(|error| failed(&error))
    }

    /// Computes tokens at the end; the last one's followers can be drawn then.
    fn extend(&mut self, tokens: &[LlamaToken]) -> Result<(), CallError> {
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        for (at, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.tokens.len() + at).map_err(|error| failed(&error))?;
            batch.add(*token, position, &[0], at + 1 == tokens.len()).map_err(|error| failed(&error))?;
        }
        if let Err(error) = self.inner.decode(&mut batch) {
            // What is half computed is not to be gone on from.
            self.tokens.clear();
            self.inner.clear_kv_cache();
            return Err(failed(&error));
        }
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }
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
