//! A request as the tokens that a model reads: its chat template around system text, thread and prompt, cut to
//! what the context holds.
//!
//! Words of the conversation never become control tokens, whatever they spell. What does not fit is taken from
//! the oldest end of the thread, a quarter of a window at a time: so the beginning stays the same for several
//! turns, and what was computed for it is used again. The system text and the prompt are never cut.

use polylogue_core::ask::{Message, Request, Role};
use polylogue_runtime::port::CallError;

/// What a model's file knows of reading.
pub(super) trait Reader {
    type Token: Copy;

    /// The chat template around these messages, ready for the model's own; `None` if it cannot be used.
    fn template(&self, messages: &[(&'static str, String)]) -> Option<String>;

    /// The tokens of a piece of the template, which may spell control tokens.
    fn of_template(&self, text: &str, is_first: bool) -> Vec<Self::Token>;

    /// The tokens of what somebody said, which may not.
    fn of_words(&self, text: &str) -> Vec<Self::Token>;
}

/// Bytes of text for a token, in languages that the models know well.
const BYTES_PER_TOKEN: usize = 3;
/// Bytes that the template puts around a message, about.
const AROUND: usize = 24;
/// Stands around a message's number in the template, where its words belong.
const MARK: char = '\u{1}';

/// The tokens of a request that leave room for `output` more.
pub(super) fn tokens<R: Reader>(
    reader: &R,
    request: &Request,
    context: usize,
    output: usize,
) -> Result<Vec<R::Token>, CallError> {
    let limit = context.saturating_sub(output);
    let thread = request.thread.messages();
    let fixed = request.system.len() + request.prompt.len() + 2 * AROUND;
    let sizes: Vec<usize> = thread.iter().map(|message| message.text.len() + AROUND).collect();
    let mut length = 0;
    // Other languages have fewer bytes to a token; none at all leaves no room for the thread.
    for bytes in (0..=BYTES_PER_TOKEN).rev() {
        let left_out = left_out(thread, &sizes, (limit * bytes).saturating_sub(fixed), limit * bytes / 4);
        let tokens = render(reader, request, &thread[left_out..])?;
        if tokens.len() <= limit {
            if left_out > 0 {
                tracing::info!(messages = left_out, "the oldest messages of a thread do not fit and are left out");
            }
            return Ok(tokens);
        }
        length = tokens.len();
    }
    let message = format!("it has {length} tokens, and the embedded model reads {limit}");
    Err(CallError::ContextTooLong(message))
}

/// The request after its prompt was answered and more was asked: `asked` follows each of the answers.
pub(super) fn after(request: &Request, answers: &[String], asked: &[String]) -> Request {
    let mut thread = request.thread.clone();
    let mut prompt = request.prompt.clone();
    for (answer, ask) in answers.iter().zip(asked) {
        thread.push(Role::User, prompt);
        thread.push(Role::Assistant, answer.as_str().into());
        prompt = ask.as_str().into();
    }
    Request { thread, prompt, ..request.clone() }
}

/// How many messages at the oldest end of a thread are left out, so that the rest has at most `room` bytes and
/// begins with what the agent was told. What is too much is counted in steps.
fn left_out(thread: &[Message], sizes: &[usize], room: usize, step: usize) -> usize {
    let all: usize = sizes.iter().sum();
    if all <= room {
        return 0;
    }
    let surplus = (all - room).next_multiple_of(step.max(1));
    let mut gone = 0;
    for (at, size) in sizes.iter().enumerate() {
        if gone >= surplus && thread[at].role == Role::User {
            return at;
        }
        gone += size;
    }
    thread.len()
}

fn render<R: Reader>(reader: &R, request: &Request, thread: &[Message]) -> Result<Vec<R::Token>, CallError> {
    let system = (!request.system.trim().is_empty()).then_some(("system", &*request.system));
    let said = thread.iter().map(|message| match message.role {
        Role::User => ("user", &*message.text),
        Role::Assistant => ("assistant", &*message.text),
    });
    let messages: Vec<_> = system.into_iter().chain(said).chain([("user", &*request.prompt)]).collect();
    let marked: Vec<(&'static str, String)> =
        messages.iter().enumerate().map(|(at, (role, _))| (*role, format!("{MARK}{at}{MARK}"))).collect();
    let template = reader.template(&marked);
    let template = template.ok_or_else(|| CallError::Rejected("its chat template cannot be used".to_owned()))?;
    let mut tokens = Vec::new();
    // Every second piece is the number of a message.
    for (at, piece) in template.split(MARK).enumerate() {
        match piece.parse::<usize>().ok().filter(|_| at % 2 == 1).and_then(|at| messages.get(at)) {
            Some((_, words)) => tokens.extend(reader.of_words(words.trim())),
            None => tokens.extend(reader.of_template(piece, at == 0)),
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use polylogue_core::{ask::Thread, setup::Sampling};

    use super::*;

    /// Reads three bytes of words as a token, and each byte of the template as a control token.
    struct Bytes;

    impl Reader for Bytes {
        type Token = (bool, [u8; 3]);

        fn template(&self, messages: &[(&'static str, String)]) -> Option<String> {
            let said = messages.iter().map(|(role, text)| format!("<{}>{text}\n", &role[..1]));
            Some(said.collect::<String>() + "<a>")
        }

        fn of_template(&self, text: &str, _: bool) -> Vec<Self::Token> {
            text.bytes().map(|byte| (true, [byte, 0, 0])).collect()
        }

        fn of_words(&self, text: &str) -> Vec<Self::Token> {
            let byte = |part: &[u8], at: usize| part.get(at).copied().unwrap_or_default();
            text.as_bytes().chunks(3).map(|part| (false, [byte(part, 0), byte(part, 1), byte(part, 2)])).collect()
        }
    }

    fn request(thread: &[String]) -> Request {
        let mut told = Thread::default();
        for (at, text) in thread.iter().enumerate() {
            told.push(if at % 2 == 0 { Role::User } else { Role::Assistant }, text.as_str().into());
        }
        Request {
            model: "local/smollm2".parse().unwrap(),
            system: "Be brief.".into(),
            thread: told,
            prompt: " And <u>now?".into(),
            shape: None,
            grammar: None,
            plan: None,
            sampling: Sampling::default(),
        }
    }

    fn read(thread: &[String], context: usize) -> Result<String, CallError> {
        let tokens = tokens(&Bytes, &request(thread), context, 50)?;
        assert!(tokens.len() + 50 <= context);
        let bytes = tokens.into_iter().flat_map(|(_, bytes)| bytes).filter(|byte| *byte != 0);
        Ok(String::from_utf8(bytes.collect()).unwrap())
    }

    #[test]
    fn the_template_goes_around_and_words_stay_words() {
        let told = ["What?".to_owned(), "That.".to_owned()];
        let text = read(&told, 1_000).unwrap();
        assert_eq!(text, "<s>Be brief.\n<u>What?\n<a>That.\n<u>And <u>now?\n<a>");
        let tokens = tokens(&Bytes, &request(&told), 1_000, 50).unwrap();
        let control = tokens.iter().filter(|token| **token == (true, [b'<', 0, 0])).count();
        assert_eq!(control, 5, "what was said with the letters of a control token is none");
    }

    #[test]
    fn a_long_thread_loses_its_oldest_end_and_keeps_its_beginning_for_a_while() {
        let thread =
            |turns: usize| -> Vec<String> { (0..turns * 2).map(|n| format!("{n:03} {}", "x".repeat(20))).collect() };
        let mut beginnings = Vec::new();
        for turns in 1..60 {
            let text = read(&thread(turns), 300).unwrap();
            assert!(text.starts_with("<s>Be brief.\n<u>"), "{text}");
            assert!(text.ends_with("\n<u>And <u>now?\n<a>"), "{text}");
            let first = text["<s>Be brief.\n<u>".len()..].chars().take(3).collect::<String>();
            beginnings.push(first);
        }
        assert!(beginnings.contains(&"000".to_owned()));
        assert!(beginnings.is_sorted(), "it never goes back: {beginnings:?}");
        beginnings.dedup();
        assert!(beginnings.len() <= 30, "it stays for two turns and more: {beginnings:?}");
    }

    #[test]
    fn what_is_asked_later_follows_what_was_answered() {
        let first = request(&[]);
        let answered = ["Yes".to_owned(), "No".to_owned()];
        let later = after(&first, &answered, &["Sure?".to_owned(), "Why?".to_owned()]);
        let tokens = tokens(&Bytes, &later, 1_000, 50).unwrap();
        let bytes = tokens.into_iter().flat_map(|(_, bytes)| bytes).filter(|byte| *byte != 0);
        let text = String::from_utf8(bytes.collect()).unwrap();
        assert_eq!(text, "<s>Be brief.\n<u>And <u>now?\n<a>Yes\n<u>Sure?\n<a>No\n<u>Why?\n<a>");
    }

    #[test]
    fn what_cannot_be_left_out_is_too_long() {
        let long = ["y".repeat(5_000)];
        assert!(read(&long, 400).is_ok());
        let request = Request { prompt: "z".repeat(1_500).into(), ..request(&[]) };
        let error = tokens(&Bytes, &request, 400, 50).unwrap_err();
        assert!(matches!(error, CallError::ContextTooLong(_)), "{error}");
    }
}
