//! The three turns, and how they are counted through a session of several messages.

use crate::{id::Purpose, line::LineKind};

/// One of the three turns that follow a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    Respond,
    Comment,
    Reply,
}

impl Turn {
    pub const ALL: [Turn; 3] = [Turn::Respond, Turn::Comment, Turn::Reply];

    /// Which of the three a turn is, counted from 1 through all messages.
    pub fn at(turn: u32) -> Turn {
        Turn::ALL[(turn.saturating_sub(1) % 3) as usize]
    }

    /// Which message a turn belongs to, counted from 1.
    pub fn message_of(turn: u32) -> u32 {
        turn.saturating_sub(1) / 3 + 1
    }

    /// The first turn of the message after this turn's.
    pub(super) fn first_after(turn: u32) -> u32 {
        Turn::message_of(turn) * 3 + 1
    }

    /// 1, 2 or 3.
    pub fn index(self) -> u32 {
        self as u32 + 1
    }

    pub fn kind(self) -> LineKind {
        match self {
            Turn::Respond => LineKind::Response,
            Turn::Comment => LineKind::Comment,
            Turn::Reply => LineKind::Reply,
        }
    }

    pub(super) fn purpose(self) -> Purpose {
        match self {
            Turn::Respond => Purpose::Respond,
            Turn::Comment => Purpose::Comment,
            Turn::Reply => Purpose::Reply,
        }
    }

    pub(super) fn template(self) -> &'static str {
        match self {
            Turn::Respond => "turn1_response.j2",
            Turn::Comment => "turn2_comment_select.j2",
            Turn::Reply => "turn3_reply.j2",
        }
    }
}
