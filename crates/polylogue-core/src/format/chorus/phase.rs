//! The three turns, and how they are counted through a session of several messages.

use super::vocabulary::{kind, purpose};
use crate::{id::Purpose, line::LineKind};

/// One of the three turns that follow a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Respond,
    Comment,
    Reply,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Respond, Phase::Comment, Phase::Reply];

    /// Which of the three a turn is, counted from 1 through all messages.
    pub fn at(turn: u32) -> Phase {
        Phase::ALL[(turn.saturating_sub(1) % 3) as usize]
    }

    /// Which message a turn belongs to, counted from 1.
    pub fn message_of(turn: u32) -> u32 {
        turn.saturating_sub(1) / 3 + 1
    }

    /// The first turn of the message after this turn's.
    pub(super) fn first_after(turn: u32) -> u32 {
        Phase::message_of(turn) * 3 + 1
    }

    /// 1, 2 or 3.
    pub fn index(self) -> u32 {
        self as u32 + 1
    }

    pub fn kind(self) -> LineKind {
        match self {
            Phase::Respond => kind::RESPONSE,
            Phase::Comment => kind::COMMENT,
            Phase::Reply => kind::REPLY,
        }
    }

    pub(super) fn purpose(self) -> Purpose {
        match self {
            Phase::Respond => purpose::RESPOND,
            Phase::Comment => purpose::COMMENT,
            Phase::Reply => purpose::REPLY,
        }
    }

    pub(super) fn template(self) -> &'static str {
        match self {
            Phase::Respond => "turn1_response.j2",
            Phase::Comment => "turn2_comment_select.j2",
            Phase::Reply => "turn3_reply.j2",
        }
    }
}
