//! What a reply comes to: the agent's own words for this one turn, and nothing after them.

use super::Participant;
use crate::{
    Conversation,
    format::Hearing,
    text::{
        identity::{own_line, settled},
        reply::Repair,
    },
};

/// The reply as one line of this participant's: without the speaker's name before it, and only up to the first
/// stop sequence or the place where it goes on as somebody else. `None` when nothing is left of it.
pub(super) fn read(
    text: &str,
    own: &Participant,
    all: &[Participant],
    stops: &[String],
    repairs: &mut Vec<Repair>,
) -> Option<String> {
    // The names are also cut with the role behind them, as the agents are shown them: `ann (leader): …`.
    let shown = |participant: &Participant| format!("{} ({}", participant.name(), participant.role);
    let others: Vec<&Participant> = all.iter().filter(|other| other.name() != own.name()).collect();
    let with_roles: Vec<String> = others.iter().map(|other| shown(other)).collect();
    let names = others.iter().map(|other| other.name()).chain(with_roles.iter().map(String::as_str));
    let names: Vec<&str> = names.collect();
    let text = own_line(text, &shown(own), &[], repairs);
    let text = own_line(text, own.name(), &names, repairs);
    let end = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min();
    if end.is_some() {
        repairs.push(Repair::Stop);
    }
    let text = text[..end.unwrap_or(text.len())].trim();
    let within = text.char_indices().nth(Conversation::MAX_MESSAGE_CHARS).map_or(text.len(), |(at, _)| at);
    if within < text.len() {
        repairs.push(Repair::Cut);
    }
    repairs.sort_unstable();
    repairs.dedup();
    Some(text[..within].to_owned()).filter(|text| !text.is_empty())
}

/// How a reply of this participant reads while it arrives: as [`read`] will have it, without what may turn out to be
/// a name or a stop sequence.
pub(super) fn hearing(own: &Participant, all: &[Participant], stops: &[String]) -> Hearing {
    let (own, all, stops) = (own.clone(), all.to_vec(), stops.to_vec());
    Hearing::new(move |partial| {
        let mut text = partial.trim();
        let is_begun = |text: &str| stops.iter().any(|stop| may_end_with(text, stop));
        while is_begun(text) {
            text = &text[..text.char_indices().next_back().map_or(0, |(at, _)| at)];
        }
        let shown = all.iter().map(|one| format!("{} ({}", one.name(), one.role));
        let names: Vec<String> = all.iter().map(|one| one.name().to_owned()).chain(shown).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        read(settled(text, &names), &own, &all, &stops, &mut Vec::new()).unwrap_or_default()
    })
}

/// Whether a text ends with the beginning of `stop`, and not with all of it.
fn may_end_with(text: &str, stop: &str) -> bool {
    stop.char_indices().skip(1).any(|(at, _)| text.ends_with(&stop[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::discussion::{Role, Settings, Who};

    #[test]
    fn a_reply_is_one_turn_of_one_speaker() {
        use Repair::*;
        let agent = |name: &str, role| Participant { role, who: Who::Agent(name.parse().unwrap()) };
        let you = Participant { role: Role::User, who: Who::Person("you".parse().unwrap()) };
        let all = [agent("ann", Role::Leader), you, agent("ben", Role::Specialist)];
        let stops = Settings::DEFAULT_STOP.map(str::to_owned);
        let cases: &[(&str, Option<&str>, &[Repair])] = &[
            ("Let us begin.", Some("Let us begin."), &[]),
            ("  \n\n Let us begin.\n", Some("Let us begin."), &[]),
            ("ann: Let us begin.", Some("Let us begin."), &[NamePrefix]),
            ("ann (leader): Let us begin.", Some("Let us begin."), &[NamePrefix]),
            ("[Ann]: Let us begin.", Some("Let us begin."), &[NamePrefix]),
            ("Let us begin.\nben: Yes, let us.", Some("Let us begin."), &[OtherSpeaker]),
            ("Let us begin.\nBen (specialist): Yes.\nyou: No.", Some("Let us begin."), &[OtherSpeaker]),
            ("Let us begin.\n**you:** No.", Some("Let us begin."), &[OtherSpeaker]),
            ("First.\n\nSecond.", Some("First."), &[Stop]),
            ("As in [1], we begin.", Some("As in"), &[Stop]),
            ("Yes. Speaker: No.", Some("Yes."), &[Stop]),
            ("[Everybody nods.]", None, &[Stop]),
            ("Speaker: Hello.", None, &[Stop]),
            ("", None, &[]),
            (" \n\n ", None, &[]),
        ];
        for (text, line, expected) in cases {
            let mut repairs = Vec::new();
            assert_eq!(read(text, &all[0], &all, &stops, &mut repairs).as_deref(), *line, "{text}");
            assert_eq!(repairs, *expected, "{text}");
        }
        let long = read(&"é".repeat(30_000), &all[0], &all, &stops, &mut Vec::new());
        assert_eq!(long.map(|text| text.chars().count()), Some(Conversation::MAX_MESSAGE_CHARS));
    }
}
