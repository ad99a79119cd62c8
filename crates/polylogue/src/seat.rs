//! The person at the terminal where a session runs that they take part in: what they type goes into it, and the session
//! goes on without them when their time is up or nothing can be typed any more.

use std::time::Duration;

use polylogue_core::{
    Awaited, Conversation, Record, Rejected,
    event::Awaits,
    id::{PersonId, Seq, SessionId},
};
use polylogue_runtime::{
    Hub, HubError,
    port::{Clock, SystemClock},
};
use tokio::time::sleep;

use crate::{
    engine::Engine,
    failure::Failure,
    follow::Shown,
    format,
    keyboard::{Keyboard, Pressed},
    output,
    view::Typed,
};

/// How often what is shown of the time that is left is brought up to date.
const TICK: Duration = Duration::from_secs(1);

/// What is sent for an empty line.
const PASS: &str = "/pass";

pub(crate) struct Seat {
    hub: Hub,
    pub(crate) keyboard: Keyboard,
    /// Whether nothing will be typed any more.
    is_empty: bool,
    /// As of which record somebody was last passed over: what follows from that has to be seen first.
    passed_at: Option<Seq>,
    /// What has been said: until all that follows from it is seen, it only seems that somebody is waited for.
    said: Said,
}

/// What has become of the words that were said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    OnDisk,
    Seen,
}

/// Why the one at the terminal has to do something, or has done it.
pub(crate) enum Called {
    Pressed(PersonId, Pressed),
    /// Another second is gone.
    Tick,
    /// This one is waited for no more.
    Over(Awaited),
}

impl Seat {
    /// A seat in this session, where people who take part in it speak at its terminal.
    pub(crate) fn taken_in(engine: &Engine, conversation: &Conversation) -> Option<Seat> {
        let format = format::named(conversation.stage().setup().format.name())?;
        format.hears(conversation).then(|| Seat {
            hub: engine.hub.clone(),
            keyboard: Keyboard::of_stdin(engine.shows_keys),
            is_empty: false,
            passed_at: None,
            said: Said::Nothing,
        })
    }

    /// Takes note of a record that is shown.
    pub(crate) fn saw(&mut self, record: &Record) {
        self.said = match (self.said, record.event.awaits_person()) {
            (Said::Nothing, _) => Said::Nothing,
            (_, Some(Awaits::Nobody)) => Said::Seen,
            // What they came to is told together with them, and now it is another's turn.
            (Said::Seen, Some(Awaits::People { .. })) => Said::Nothing,
            (Said::Seen, None) if !record.event.is_consequence() => Said::Nothing,
            (said, _) => said,
        };
    }

    /// Waits until the person has done something or nothing more is to be waited for. Without a seat, or while nobody
    /// is waited for, that is never.
    pub(crate) async fn called(seat: Option<&mut Seat>, conversation: &Conversation) -> Called {
        let (Some(seat), Some(awaited)) = (seat, conversation.awaited().into_iter().next()) else {
            return std::future::pending().await;
        };
        let is_over = seat.is_empty && conversation.stage().is_waiting();
        let left = awaited.until.map(|until| Duration::from_millis(until.since(SystemClock.now())));
        let is_passed = seat.passed_at == Some(conversation.stage().head());
        match left {
            _ if is_passed || seat.said != Said::Nothing => std::future::pending().await,
            _ if is_over => Called::Over(awaited),
            Some(Duration::ZERO) => Called::Over(awaited),
            left => {
                let who = awaited.who;
                let tick = left.map_or(TICK, |left| left.min(TICK));
                if seat.is_empty {
                    sleep(tick).await;
                    return Called::Tick;
                }
                tokio::select! {
                    pressed = seat.keyboard.next() => Called::Pressed(who, pressed),
                    () = sleep(tick) => Called::Tick,
                }
            }
        }
    }

    /// Does what follows. Tells whether the session may have gone on because of it.
    pub(crate) async fn act(&mut self, called: Called, id: SessionId, shown: &mut Shown<'_>) -> Result<bool, Failure> {
        let has_acted = match called {
            Called::Tick | Called::Pressed(_, Pressed::Draft) => false,
            Called::Pressed(_, Pressed::Whole(Typed::End)) => {
                self.is_empty = true;
                false
            }
            Called::Pressed(who, Pressed::Whole(Typed::Line(line))) => {
                self.say(id, who, &line).await?;
                true
            }
            Called::Over(awaited) => {
                self.passed_at = Some(shown.conversation.stage().head());
                self.hub.pass_over(id, awaited).await?;
                true
            }
        };
        shown.view.typed(self.keyboard.draft(), &shown.conversation);
        Ok(has_acted)
    }

    async fn say(&mut self, id: SessionId, who: PersonId, line: &str) -> Result<(), Failure> {
        let words = match line.trim() {
            "" => PASS,
            words => words,
        };
        match self.hub.say(id, who, words.into()).await {
            Ok(()) => {
                self.said = Said::OnDisk;
                Ok(())
            }
            // Their time was up in this moment, or they have spoken elsewhere.
            Err(HubError::Rejected(rejected @ (Rejected::NotYourTurn(_) | Rejected::TooLong(..)))) => {
                output::notice(rejected);
                Ok(())
            }
            Err(HubError::Rejected(Rejected::Ended(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
