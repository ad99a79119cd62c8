//! What is still to be printed of a scene, in its order.
//!
//! A line that can still be cut off is printed when it is settled, and what comes after it waits behind it: what is
//! printed is never taken back.

use std::collections::VecDeque;

use polylogue_core::id::LineId;

#[derive(Default)]
pub(super) struct Script {
    pieces: VecDeque<Piece>,
}

pub(super) enum Piece {
    Line(LineId),
    /// What stands between the lines, ready to be printed.
    Remark(String),
}

impl Script {
    pub(super) fn line(&mut self, id: LineId) {
        self.pieces.push_back(Piece::Line(id));
    }

    pub(super) fn remark(&mut self, text: String) {
        self.pieces.push_back(Piece::Remark(text));
    }

    /// Takes out what stands before the first of these lines.
    pub(super) fn before(&mut self, open: &[LineId]) -> Vec<Piece> {
        let is_open = |piece: &Piece| matches!(piece, Piece::Line(id) if open.contains(id));
        let settled = self.pieces.iter().position(is_open).unwrap_or(self.pieces.len());
        self.pieces.drain(..settled).collect()
    }

    /// The lines that are still to be printed.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = LineId> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Line(id) => Some(*id),
            Piece::Remark(_) => None,
        })
    }
}
