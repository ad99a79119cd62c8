//! Opening a store by its address, whatever it is kept in.

use std::{path::Path, sync::Arc};

use polylogue_runtime::port::Store;

use crate::{OpenError, PostgresJournal, SqliteJournal};

/// Opens `sqlite:FILE` or `postgres://…`, and makes it when it is not there. The password is for an address that has
/// none.
pub async fn open(url: &str, password: Option<&str>) -> Result<Arc<dyn Store>, OpenError> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(PostgresJournal::open(url, password).await?));
    }
    match url.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(Arc::new(SqliteJournal::open(Path::new(path))?)),
        _ => Err(OpenError::Unknown { store: without_password(url) }),
    }
}

/// An address as it may be shown.
pub fn without_password(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        // Nobody knows where in it a password would be.
        let scheme = url.split_inclusive(':').next().unwrap_or_default();
        return if scheme.len() < url.len() { format!("{scheme}…") } else { url.to_owned() };
    };
    let (place, query) = rest.split_once('?').map_or((rest, String::new()), |(place, query)| {
        let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("password=")).collect();
        (place, if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) })
    });
    let place = match place.rsplit_once('@') {
        Some((who, host)) => format!("{}@{host}", who.split(':').next().unwrap_or_default()),
        None => place.to_owned(),
    };
    format!("{scheme}://{place}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, shown) in [
            ("sqlite:data/a@b:c.db", "sqlite:data/a@b:c.db"),
            ("postgres://me:se@cret@db:5432/team?schema=a", "postgres://me@db:5432/team?schema=a"),
            ("postgres://me@db/team", "postgres://me@db/team"),
            ("mysql://x", "mysql://x"),
            ("postgres:me:secret@db", "postgres:…"),
            ("store.db", "store.db"),
            ("postgres://db/team?user=me&password=secret", "postgres://db/team?user=me"),
            ("postgres://db/team?password=secret", "postgres://db/team"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
