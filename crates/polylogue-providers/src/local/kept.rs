//! Which of the kept seats a request goes on from. An agent's requests grow at their end only, so what was
//! computed for the last one is the beginning of the next.

/// A seat is taken over when at most this many of its tokens are lost by it, or a quarter of what is shared:
/// the end of a reply may be cut into other tokens when it is read again.
const FEW: usize = 8;

/// Where a request is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this context, whose first so many tokens are the request's.
    Kept { at: usize, shared: usize },
    /// In a context of its own.
    New,
}

/// What is kept of a context: its tokens, and when it was last used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<'a, T> {
    pub(super) tokens: &'a [T],
    pub(super) used: u64,
}

/// The place for a request: the context that it continues, else a new one while there is room, else the one that
/// was not used for the longest time.
pub(super) fn place<T: PartialEq>(kept: &[Kept<'_, T>], request: &[T], room: usize) -> Place {
    // The last token is always computed: what follows it is what is asked for.
    let most = request.len().saturating_sub(1);
    let shared = |kept: &Kept<'_, T>| common(kept.tokens, request).min(most);
    let continued = kept
        .iter()
        .enumerate()
        .map(|(at, kept)| (at, shared(kept), kept.tokens.len()))
        .filter(|(_, shared, length)| *shared > 0 && (*shared == most || length - shared <= FEW.max(shared / 4)))
        .max_by_key(|(_, shared, _)| *shared);
    if let Some((at, shared, _)) = continued {
        return Place::Kept { at, shared };
    }
    if kept.len() < room {
        return Place::New;
    }
    let oldest = kept.iter().enumerate().min_by_key(|(_, kept)| kept.used);
    oldest.map_or(Place::New, |(at, kept)| Place::Kept { at, shared: shared(kept) })
}

/// How many tokens two have in common from their beginning.
pub(super) fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_on_where_its_thread_was() {
        let long = |head: u32, length: u32| -> Vec<u32> { (0..length).map(|n| head + n).collect() };
        let (one, two) = (long(0, 300), long(1_000, 300));
        let kept = [Kept { tokens: &one, used: 2 }, Kept { tokens: &two, used: 1 }];
        let grown = long(1_000, 400);
        assert_eq!(place(&kept, &grown, 4), Place::Kept { at: 1, shared: 300 });
        // The very same request again, with or without its reply: its last token is computed anew.
        assert_eq!(place(&kept, &one, 4), Place::Kept { at: 0, shared: 299 });
        assert_eq!(place(&kept, &one[..150], 4), Place::Kept { at: 0, shared: 149 });
        // A common head is not worth another agent's thread, while there is room.
        let cousin: Vec<u32> = one[..100].iter().copied().chain(5_000..5_200).collect();
        assert_eq!(place(&kept, &cousin, 4), Place::New);
        assert_eq!(place(&kept, &cousin, 2), Place::Kept { at: 1, shared: 0 });
        // Nor is a reply that is read in other tokens worth a new context.
        let reread: Vec<u32> = one[..290].iter().copied().chain(9_000..9_020).collect();
        assert_eq!(place(&kept, &reread, 4), Place::Kept { at: 0, shared: 290 });
        assert_eq!(place(&[], &grown, 4), Place::New);
    }
}
