//! The lenient reading.
use super::{Action, ActionKind, MAX_TEXT, Problem, cleaned};
pub(super) fn read(reply: &str, _speaker: &str, _others: &[&str]) -> (Action, Vec<Problem>) {
    let text = cleaned(reply, MAX_TEXT);
    if text.is_empty() {
        return (Action::silent(), vec![Problem::EmptyReply]);
    }
    (Action { kind: ActionKind::Speak, text: text.into(), ..Action::silent() }, vec![Problem::NoBracket])
}
