//! How a reply is drawn: the samplers of replies in a form, of plain words, and what words are never made of.

use std::collections::BTreeMap;

use llama_cpp_2::{
    model::LlamaModel,
    sampling::LlamaSampler,
    token::{LlamaToken, logit_bias::LlamaLogitBias},
};
use polylogue_core::ask::Request;

/// How a reply is drawn, as the model's makers and small models in general like it.
pub(super) const TEMPERATURE: f32 = 0.7;
const TOP_K: i32 = 40;
const TOP_P: f32 = 0.95;
const MIN_P: f32 = 0.05;
const REPEAT_PENALTY: f32 = 1.15;
const REPEAT_WINDOW: i32 = 128;

/// Plain words are drawn a little more freely: of several drafts the best is kept.
const WORDS_TEMPERATURE: f32 = 0.8;
/// What is added to it for every further try at words that echo what they were asked with.
const WARMER: f32 = 0.2;

/// Signs that people do not speak: of code, of forms, of markup.
const SIGNS: &[u8] = b"{}[]<>|#*_`\\~=@^$/+&%";

/// The tokens that plain words are not made of.
pub(super) struct Banned {
    /// In one paragraph, in several; where the prompt is in a script of Asia, and where it is not.
    lists: BTreeMap<(bool, bool), Vec<LlamaLogitBias>>,
}

impl Banned {
    pub(super) fn new(model: &LlamaModel) -> Banned {
        let vocab = model.vocab();
        let pieces: Vec<(LlamaToken, Vec<u8>)> = vocab
            .tokens()
            .filter(|token| !vocab.is_eog(*token))
            .map(|token| (token, vocab.token_to_piece(token, false, None)))
            .collect();
        let list = |paragraphs: bool, wide: bool| {
            let is_banned = |piece: &[u8]| piece.is_empty() || is_no_speech(piece, paragraphs, wide);
            let banned = pieces.iter().filter(|(_, piece)| is_banned(piece));
            banned.map(|(token, _)| LlamaLogitBias::new(*token, f32::NEG_INFINITY)).collect()
        };
        let keys = [(false, false), (false, true), (true, false), (true, true)];
        Banned { lists: keys.into_iter().map(|(one, two)| ((one, two), list(one, two))).collect() }
    }

    fn sampler(&self, n_vocab: i32, paragraphs: bool, wide: bool) -> LlamaSampler {
        LlamaSampler::logit_bias(n_vocab, &self.lists[&(paragraphs, wide)])
    }
}

/// Whether a piece of text is no part of speech.
fn is_no_speech(piece: &[u8], paragraphs: bool, wide: bool) -> bool {
    let is_sign = |byte: &u8| SIGNS.contains(byte);
    let is_control = |byte: &u8| byte.is_ascii_control() && !(paragraphs && *byte == b'\n');
    // Pictures have four bytes and begin so; letters of Asia have three and begin with these.
    let is_picture = piece.contains(&0xf0);
    let is_wide = piece.iter().any(|byte| (0xe3..=0xef).contains(byte));
    piece.iter().any(|byte| is_sign(byte) || is_control(byte)) || is_picture || (is_wide && !wide)
}

/// Whether a text has letters of Asia, which three bytes beginning with these make.
pub(super) fn is_wide(text: &str) -> bool {
    text.bytes().any(|byte| (0xe3..=0xef).contains(&byte))
}

/// Draws a reply that is held to this form, if any.
pub(super) fn reply(model: &LlamaModel, request: &Request, form: Option<LlamaSampler>, seed: u32) -> LlamaSampler {
    let temperature = request.sampling.temperature.map_or(TEMPERATURE, |asked| asked as f32);
    chain(model, form, temperature, seed)
}

/// Draws plain words, for the nth time because those before could not be used.
pub(super) fn words(
    model: &LlamaModel,
    banned: &Banned,
    request: &Request,
    paragraphs: bool,
    nth: u32,
    seed: u32,
) -> LlamaSampler {
    let usual = request.sampling.temperature.map_or(WORDS_TEMPERATURE, |asked| asked as f32);
    let wide = is_wide(&request.prompt) || is_wide(&request.system);
    let speech = banned.sampler(model.n_vocab(), paragraphs, wide);
    chain(model, Some(speech), usual + WARMER * nth as f32, seed)
}

fn chain(model: &LlamaModel, first: Option<LlamaSampler>, temperature: f32, seed: u32) -> LlamaSampler {
    let drawn = match temperature > 0.0 {
        true => vec![
            LlamaSampler::top_k(TOP_K),
            LlamaSampler::top_p(TOP_P, 1),
            LlamaSampler::min_p(MIN_P, 1),
            LlamaSampler::temp(temperature),
            LlamaSampler::dist(seed),
        ],
        false => vec![LlamaSampler::greedy()],
    };
    let penalties = LlamaSampler::penalties(model.n_vocab(), REPEAT_WINDOW, REPEAT_PENALTY, 0.0, 0.0);
    LlamaSampler::chain_simple(first.into_iter().chain([penalties]).chain(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_is_made_of_words() {
        for (piece, paragraphs, wide, is_banned) in [
            (" home", false, false, false),
            ("\"", false, false, false),
            ("é", false, false, false),
            ("—", false, false, false),
            ("…", false, false, false),
            ("{\"", false, false, true),
            (" [", false, false, true),
            ("**", false, false, true),
            ("\n", false, false, true),
            ("\n\n", true, false, false),
            ("\t", true, false, true),
            ("家", false, false, true),
            ("家", false, true, false),
            ("🦀", true, true, true),
        ] {
            assert_eq!(is_no_speech(piece.as_bytes(), paragraphs, wide), is_banned, "{piece:?} {paragraphs} {wide}");
        }
        assert!(is_wide("家?") && !is_wide("ein Haus — für alle…"));
    }
}
