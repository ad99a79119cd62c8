//! Tokens: which of them opens the door, what it may do, and how often.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use polylogue_core::Tenant;
use subtle::ConstantTimeEq;

use crate::settings::Settings;

/// A token with a name.
#[derive(Clone)]
pub struct Token {
    secret: Arc<str>,
    /// Whose sessions it sees and begins.
    pub(crate) tenant: Tenant,
    pub(crate) scope: Scope,
    pace: Option<Arc<Pace>>,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// See what belongs to its tenant.
    Read,
    /// Begin sessions, and do everything with what belongs to its tenant.
    Run,
    /// Everything, with everybody's.
    Admin,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("tenant", &self.tenant).field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Token {
    pub fn new(secret: &str, tenant: Tenant, scope: Scope, requests_per_minute: Option<u32>) -> Token {
        let pace = requests_per_minute.map(|requests| Arc::new(Pace::new(requests)));
        Token { secret: secret.into(), tenant, scope, pace }
    }

    /// Whether one more request is within its bound; else how long it has to wait.
    pub(crate) fn request(&self) -> Result<(), Duration> {
        self.pace.as_ref().map_or(Ok(()), |pace| pace.take(Instant::now()))
    }
}

/// So many requests in a minute. All of them may come at once; then one at a time, as the minute goes on.
struct Pace {
    per_minute: f64,
    /// How many may come now, as of when.
    left: Mutex<(f64, Instant)>,
}

impl Pace {
    fn new(per_minute: u32) -> Pace {
        let per_minute = f64::from(per_minute.max(1));
        Pace { per_minute, left: Mutex::new((per_minute, Instant::now())) }
    }

    fn take(&self, now: Instant) -> Result<(), Duration> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, since) = *left;
        let gained = now.saturating_duration_since(since).as_secs_f64() * self.per_minute / 60.0;
        let free = (before + gained).min(self.per_minute);
        *left = (if free >= 1.0 { free - 1.0 } else { free }, now.max(since));
        if free >= 1.0 { Ok(()) } else { Err(Duration::from_secs_f64((1.0 - free) * 60.0 / self.per_minute)) }
    }
}

/// Whoever a secret lets in: somebody with a name, or with `None` the operator.
pub(crate) type LetIn = Option<Arc<Token>>;

/// A secret as it can stand in a cookie: its bytes in hexadecimal.
pub(crate) fn as_cookie(secret: &str) -> String {
    secret.bytes().map(|byte| format!("{byte:02x}")).collect()
}

impl Settings {
    /// Whether a token is needed at all.
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty() || !self.named_tokens.is_empty()
    }

    /// Who the secret lets in.
    pub(crate) fn let_in(&self, secret: &str) -> Option<LetIn> {
        self.first(|known| known.as_bytes().ct_eq(secret.as_bytes()).into())
    }

    /// The same for a secret as a cookie has it.
    pub(crate) fn let_in_by_cookie(&self, cookie: &str) -> Option<LetIn> {
        self.first(|known| as_cookie(known).as_bytes().ct_eq(cookie.as_bytes()).into())
    }

    /// All of them are compared, so that the time taken does not tell which it was.
    fn first(&self, is_it: impl Fn(&str) -> bool) -> Option<LetIn> {
        let operators = self.tokens.iter().map(|secret| (&**secret, None));
        let named = self.named_tokens.iter().map(|token| (&*token.secret, Some(token)));
        operators.chain(named).fold(None, |found: Option<LetIn>, (secret, token)| match is_it(secret) {
            true => found.or_else(|| Some(token.cloned())),
            false => found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_minute() {
        let (pace, now) = (Pace::new(3), Instant::now());
        for _ in 0..3 {
            assert_eq!(pace.take(now), Ok(()));
        }
        let wait = pace.take(now).unwrap_err();
        assert!(wait > Duration::from_secs(19) && wait <= Duration::from_secs(20), "{wait:?}");
        assert_eq!(pace.take(now + Duration::from_secs(21)), Ok(()));
        assert!(pace.take(now + Duration::from_secs(22)).is_err());
        let later = now + Duration::from_secs(3_600);
        assert_eq!((0..9).filter(|_| pace.take(later).is_ok()).count(), 3, "what was not used is not saved up");
    }

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new("very-secret", "app".parse().unwrap(), Scope::Run, None);
        let settings = Settings {
            tokens: ["also-secret".to_owned()].into(),
            named_tokens: vec![Arc::new(token)],
            ..Settings::default()
        };
        assert!(!format!("{settings:?}").contains("secret"), "{settings:?}");
        assert!(matches!(settings.let_in("very-secret"), Some(Some(_))));
        assert!(matches!(settings.let_in("also-secret"), Some(None)));
        assert!(settings.let_in("secret").is_none() && settings.let_in("").is_none());
    }
}
