//! One ask while it is answered: what it is at, and the drafts of it.

use llama_cpp_2::{sampling::LlamaSampler, token::LlamaToken};
use polylogue_core::{
    ask::{Choice, Request, Walk, Words},
    ledger::Usage,
};
use polylogue_runtime::port::CallError;

use super::{choice::Candidates, text::Text, words::Said};
use crate::answer::End;

/// Who an ask is answered for. None of it waits for anybody: others are answered in the same steps.
pub(super) trait Listener {
    /// Text of the reply itself.
    fn hear(&mut self, text: &str, usage: Usage);
    /// Something was computed that is not shown: a draft, a choice.
    fn overhear(&mut self, text: &str, usage: Usage);
    fn end(&mut self, ended: Result<(End, Usage), CallError>);
    /// Of how many drafts this one was kept.
    fn kept(&mut self, kept: u8, of: u8);
    /// Whether anybody still listens.
    fn is_there(&self) -> bool;
}

/// An ask that is being answered.
pub(super) struct Work {
    pub(super) request: Request,
    pub(super) seed: u32,
    /// What is still to be read before anything can be drawn.
    pub(super) rest: Vec<LlamaToken>,
    /// Somebody else is reading the same beginning: it is taken over from that seat when so many tokens are there.
    pub(super) waits: Option<(usize, usize)>,
    /// When it began, in asks.
    pub(super) began: u64,
    /// The plan that it goes along; `None` for a reply as it comes.
    pub(super) walk: Option<Walk>,
    /// What it was asked after the prompt.
    pub(super) asked: Vec<String>,
    pub(super) goal: Goal,
    pub(super) drafts: Vec<Draft>,
    pub(super) usage: Usage,
    /// Tokens that the reply may have.
    pub(super) output: u64,
    pub(super) listener: Box<dyn Listener>,
}

/// What is being drawn.
pub(super) enum Goal {
    /// The reply as it comes, held to its form.
    Reply,
    Words(WordsGoal),
    Choice {
        choice: Choice,
        candidates: Candidates<LlamaToken>,
    },
}

pub(super) struct WordsGoal {
    pub(super) words: Words,
    pub(super) said: Said,
    /// How often drafts have been drawn and thrown away.
    pub(super) nth: u32,
}

/// One way in which a reply may go on.
pub(super) struct Draft {
    /// Its sequence in the context.
    pub(super) lane: usize,
    pub(super) sampler: Option<LlamaSampler>,
    pub(super) text: Text,
    pub(super) said: String,
    /// What was drawn and computed.
    pub(super) tokens: Vec<LlamaToken>,
    /// What was drawn and has to be computed before more can be drawn.
    pub(super) next: Option<LlamaToken>,
    pub(super) ended: Option<End>,
}

impl Draft {
    pub(super) fn new(lane: usize, sampler: Option<LlamaSampler>) -> Draft {
        Draft { lane, sampler, text: Text::default(), said: String::new(), tokens: Vec::new(), next: None, ended: None }
    }
}

impl Work {
    pub(super) fn is_drawn(&self) -> bool {
        !self.drafts.is_empty() && self.drafts.iter().all(|draft| draft.ended.is_some())
    }
}
