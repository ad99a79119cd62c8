//! A model file that was read: its weights, its template, how its tokens are read and drawn.

use std::{num::NonZeroU32, path::Path, sync::OnceLock};

use llama_cpp_2::{
    context::{
        LlamaContext,
        params::{KvCacheType, LlamaContextParams},
    },
    llama_backend::LlamaBackend,
    model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel, params::LlamaModelParams},
    sampling::LlamaSampler,
    token::LlamaToken,
};
use llguidance::ParserFactory;
use polylogue_runtime::port::CallError;

use super::{
    engine::{GROUP, LANES, SEATS, failed},
    grammar::Grammars,
    prompt::Reader,
    sampler::Banned,
};

/// llama.cpp's number for flash attention: keys and values of 8 bits need it.
const FLASH_ATTENTION: i32 = 1;

/// How much of the machine a model may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) threads: i32,
    pub(super) context: u32,
}

/// A model file that was read.
pub(super) struct File {
    pub(super) model: LlamaModel,
    template: LlamaChatTemplate,
    pub(super) grammars: Grammars,
    pub(super) banned: Banned,
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

    pub(super) fn context(&self, bounds: Bounds) -> Result<LlamaContext<'_>, CallError> {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(bounds.context.saturating_mul(number(SEATS))))
            .with_n_seq_max(number(LANES))
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
