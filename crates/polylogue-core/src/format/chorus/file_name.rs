//! The names of clips: deterministic, safe on every file system, and readable by people who debug a show.

use super::{phase::Phase, settings::SlotId};

/// Characters of an agent's name that a file name holds.
const MAX_AGENT: usize = 64;

/// Where the clip of a slot's line in this turn lies within the session's folder: folders, then the name
/// without its ending. The clips of a session's later messages have a folder of their own around the turns.
pub(super) fn place(turn: u32, slot: SlotId, target: Option<SlotId>, agent_id: &str, voice: &str) -> Vec<String> {
    let (agent, voice) = (safe(agent_id), safe(voice));
    let name = match (Phase::at(turn), target) {
        (Phase::Respond, _) | (Phase::Comment, None) => format!("slot-{slot}_{agent}_{voice}"),
        (Phase::Comment, Some(target)) => format!("slot-{slot}_comment_to_slot-{target}_{agent}_{voice}"),
        (Phase::Reply, _) => format!("slot-{slot}_reply_{agent}_{voice}"),
    };
    let message = Phase::message_of(turn);
    let mut place = Vec::with_capacity(3);
    if message > 1 {
        place.push(format!("message_{message}"));
    }
    place.push(format!("turn_{}", Phase::at(turn).index()));
    place.push(name);
    place
}

fn safe(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    name.chars().map(keep).take(MAX_AGENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source_document() {
        let slot = |number: u8| SlotId::try_from(number).unwrap();
        let cases = [
            (1, 1, None, "gpt-4o", "turn_1/slot-1_gpt-4o_dry_precise"),
            (2, 4, Some(2), "claude-sonnet-4.5", "turn_2/slot-4_comment_to_slot-2_claude-sonnet-4.5_dry_precise"),
            (3, 6, None, "openai/gpt 4o", "turn_3/slot-6_reply_openai_gpt_4o_dry_precise"),
            (4, 1, None, "../..\\ä", "message_2/turn_1/slot-1_.._..___dry_precise"),
        ];
        for (turn, number, target, agent, path) in cases {
            assert_eq!(place(turn, slot(number), target.map(slot), agent, "dry_precise").join("/"), path);
        }
    }
}
