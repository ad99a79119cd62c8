//! Addresses of NATS servers, as people write them.

use async_nats::ServerAddr;

/// Longest name that subjects begin with.
const MAX_NAME: usize = 64;

/// Why signals cannot go through NATS as it was set. No variant carries a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("there is no address of a NATS server: write nats://host:4222, and several with commas between them")]
    Missing,
    #[error("address {0} is not one of a NATS server: write nats://host:4222, or tls://host:4222")]
    Unreadable(usize),
    #[error("the name `{0}` cannot be a subject of NATS: use up to {MAX_NAME} letters, digits, - and _")]
    Name(String),
    #[error("NATS cannot be used: {0}")]
    Refused(String),
}

pub(crate) fn parse(servers: &str) -> Result<Vec<ServerAddr>, BadAddress> {
    let written: Vec<&str> = servers.split(',').map(str::trim).filter(|address| !address.is_empty()).collect();
    if written.is_empty() {
        return Err(BadAddress::Missing);
    }
    let read = |(n, address): (usize, &&str)| {
        let read: ServerAddr = address.parse().map_err(|_| BadAddress::Unreadable(n + 1))?;
        let is_known = matches!(read.scheme(), "nats" | "tls") && !read.host().is_empty();
        if is_known { Ok(read) } else { Err(BadAddress::Unreadable(n + 1)) }
    };
    written.iter().enumerate().map(read).collect()
}

pub(crate) fn check_name(name: &str) -> Result<(), BadAddress> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let is_fine = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_word);
    if is_fine { Ok(()) } else { Err(BadAddress::Name(name.to_owned())) }
}

/// The user and the password that the first address with a user has, or that were given besides.
pub(crate) fn user(servers: &[ServerAddr], password: Option<&str>) -> Option<(String, String)> {
    let server = servers.iter().find(|server| server.has_user_pass())?;
    let password = server.password().or(password).unwrap_or_default();
    Some((server.username().unwrap_or_default().to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{BadAddress, check_name, parse, user};

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let servers = parse("nats://ada:secret@one:4222, tls://two").expect("two addresses");
        let read: Vec<_> = servers.iter().map(|server| (server.scheme(), server.host(), server.port())).collect();
        assert_eq!(read, [("nats", "one", 4222), ("tls", "two", 4222)]);
        assert_eq!(user(&servers, Some("other")), Some(("ada".into(), "secret".into())));
        let without = parse("nats://ada@one").expect("an address");
        assert_eq!(user(&without, Some("other")), Some(("ada".into(), "other".into())));
        assert_eq!(user(&parse("nats://one").expect("an address"), Some("other")), None);
    }

    #[test]
    fn what_is_no_address_is_named_without_its_password() {
        for (servers, problem) in [
            ("", BadAddress::Missing),
            (" , ", BadAddress::Missing),
            ("nats://one,http://ada:secret@two", BadAddress::Unreadable(2)),
            ("ws://one", BadAddress::Unreadable(1)),
            ("nats://one:port", BadAddress::Unreadable(1)),
        ] {
            let refused = parse(servers).expect_err(servers);
            assert_eq!(refused, problem, "{servers}");
            assert!(!refused.to_string().contains("secret"));
        }
        for (name, is_fine) in [("polylogue", true), ("a-b_1", true), ("", false), ("a.b", false), ("a b", false)] {
            assert_eq!(check_name(name).is_ok(), is_fine, "{name}");
        }
    }
}
