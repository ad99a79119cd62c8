//! One of a list, chosen by a model: of the tokens that it would write next, only those count that lead to one of
//! the list. As soon as only one is left it is chosen; the rest of its words need not be computed.

/// What can still be chosen. `T` is a token.
#[derive(Debug)]
pub(super) struct Candidates<T> {
    /// The tokens of each, and its place in the list.
    left: Vec<(Vec<T>, usize)>,
    /// How many tokens are drawn.
    drawn: usize,
}

impl<T: Copy + PartialEq> Candidates<T> {
    pub(super) fn new(options: impl Iterator<Item = Vec<T>>) -> Candidates<T> {
        Candidates { left: options.zip(0..).collect(), drawn: 0 }
    }

    /// The tokens that may come next.
    pub(super) fn next(&self) -> Vec<T> {
        let mut tokens = Vec::new();
        for token in self.left.iter().filter_map(|(tokens, _)| tokens.get(self.drawn)) {
            if !tokens.contains(token) {
                tokens.push(*token);
            }
        }
        tokens
    }

    /// This one comes. Tells which one is chosen, as soon as it is only one.
    pub(super) fn draw(&mut self, token: T) -> Option<usize> {
        self.left.retain(|(tokens, _)| tokens.get(self.drawn) == Some(&token));
        self.drawn += 1;
        self.chosen()
    }

    /// The only one that is left, or the one that is complete while no other goes on.
    pub(super) fn chosen(&self) -> Option<usize> {
        let goes_on = |(tokens, _): &&(Vec<T>, usize)| tokens.len() > self.drawn;
        match (self.left.as_slice(), self.left.iter().any(|one| goes_on(&one))) {
            ([(_, only)], _) => Some(*only),
            (several, false) => several.first().map(|(_, at)| *at),
            (_, true) => None,
        }
    }
}

/// Which of these values is taken: the largest, or one drawn by its weight, with a number from 0 to 1.
pub(super) fn taken(logits: &[f32], temperature: f32, drawn: f64) -> usize {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let at_largest = logits.iter().position(|logit| *logit == largest).unwrap_or_default();
    if temperature <= 0.0 {
        return at_largest;
    }
    let weights: Vec<f64> = logits.iter().map(|logit| f64::from((logit - largest) / temperature).exp()).collect();
    let mut left = drawn * weights.iter().sum::<f64>();
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    at_largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_leads_to_one_of_the_list() {
        let options = ["angry", "afraid", "amused", "cold"].map(|word| word.bytes().collect::<Vec<u8>>());
        let mut candidates = Candidates::new(options.into_iter());
        assert_eq!(candidates.next(), b"ac");
        assert_eq!(candidates.draw(b'a'), None);
        assert_eq!(candidates.next(), b"nfm");
        assert_eq!(candidates.draw(b'f'), Some(1));
    }

    #[test]
    fn one_that_is_the_beginning_of_another_can_be_chosen() {
        let options = [vec![1], vec![1, 2], vec![1, 2]];
        let mut candidates = Candidates::new(options.into_iter());
        assert_eq!(candidates.draw(1), None);
        assert_eq!(candidates.next(), [2]);
        assert_eq!(candidates.draw(2), Some(1));
        assert_eq!(Candidates::<u8>::new([vec![7, 8]].into_iter()).chosen(), Some(0));
        assert_eq!(Candidates::<u8>::new([].into_iter()).chosen(), None);
    }

    #[test]
    fn the_likeliest_is_taken_or_one_by_its_weight() {
        let logits = [0.0, 3.0, 1.0];
        assert_eq!(taken(&logits, 0.0, 0.99), 1);
        assert_eq!((taken(&logits, 1.0, 0.0), taken(&logits, 1.0, 0.5), taken(&logits, 1.0, 0.99)), (0, 1, 2));
    }
}
