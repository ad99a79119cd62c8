//! What is drawn: several drafts of the same words, choices out of lists, replies as they come; which of the drafts
//! is kept, and what the plan asks for next.

use llama_cpp_2::token::LlamaToken;
use polylogue_runtime::port::CallError;

use super::{
    choice,
    engine::{Engine, SEATS, chance, failed, finish, position, sequence},
    kept::common,
    prompt, sampler, words,
    work::{Draft, Goal, WordsGoal, Work},
};
use crate::answer::End;

/// Drafts of one line, at most and at least.
pub(super) const MOST_DRAFTS: usize = 4;
const LEAST_DRAFTS: usize = 2;
/// Drafts that are drawn at once in all: what a step computes in groups of four costs hardly more than one by one.
const DRAFTS_AT_ONCE: usize = 12;
/// How often drafts that all echo are thrown away.
const MOST_TRIES: u32 = 2;
/// Lines of others that a new one is held against, at most.
const REMEMBERED: usize = 12;

impl Engine<'_> {
    /// A seat has read everything: its drafts begin, from the one place.
    pub(super) fn begin_drafts(&mut self, at: usize, index: i32) -> Result<(), CallError> {
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
    pub(super) fn draw(&mut self, at: usize, nth: usize, index: i32) {
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
    pub(super) fn conclude(&mut self, at: usize) -> Result<(), CallError> {
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
    pub(super) fn drop_lanes(&mut self, at: usize, drafts: &[Draft]) -> Result<(), CallError> {
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
