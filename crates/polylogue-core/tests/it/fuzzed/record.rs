//! What holds for every record of a journal, whoever wrote it.

use polylogue_core::{Conversation, Event, Record, Timestamp, id::Seq};

pub(crate) fn check(json: &str) {
    let Ok(event) = Event::decode(json) else { return };
    let encoded = event.encode();
    assert_eq!(Event::decode(&encoded), Ok(event.clone()), "{encoded} of {json:?}");
    // What shared code asks of every event.
    let _ = (event.is_consequence(), event.awaits_person(), event.is_progress(), event.remark(), event.unread());
    // Where it begins a session, that is read and goes on, or is refused.
    let first = Record { seq: Seq(1), at: Timestamp(1), event };
    if let Ok(conversation) = Conversation::replay([&first]) {
        assert_eq!(conversation.stage().head(), Seq(1));
        if conversation.stage().setup().check().is_ok() {
            let _ = conversation.next();
        }
    }
}
