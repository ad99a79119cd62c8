//! Who a session belongs to, where several use the same server and none is to see what is another's.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several who use a server, by name. A session without one belongs to the operator.
///
/// Names that tenants give themselves, such as those of rooms, are kept with the tenant's own before them: so the same
/// name of two tenants is two names.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Tenant(Arc<str>);

/// What stands between a tenant and a name of theirs. No tenant and no room has it in their own.
const BETWEEN: char = '~';

impl Tenant {
    pub const MAX_CHARS: usize = 32;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name of theirs, as it is kept.
    pub fn own(&self, name: &str) -> String {
        format!("{self}{BETWEEN}{name}")
    }

    /// The tenant of a name that is kept, if it has one, and the name as they gave it.
    pub fn split(kept: &str) -> (Option<Tenant>, &str) {
        let own = kept.split_once(BETWEEN).and_then(|(tenant, name)| Some((tenant.parse().ok()?, name)));
        own.map_or((None, kept), |(tenant, name)| (Some(tenant), name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a tenant: it has 1 to {max} letters, digits, `-` and `_`", max = Tenant::MAX_CHARS)]
pub struct BadTenant(String);

impl FromStr for Tenant {
    type Err = BadTenant;
    fn from_str(name: &str) -> Result<Self, BadTenant> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let fits = (1..=Self::MAX_CHARS).contains(&name.len()) && name.bytes().all(is_good);
        if fits { Ok(Tenant(name.into())) } else { Err(BadTenant(name.to_owned())) }
    }
}

impl TryFrom<String> for Tenant {
    type Error = BadTenant;
    fn try_from(name: String) -> Result<Self, BadTenant> {
        name.parse()
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::RoomId;

    #[test]
    fn the_same_name_of_two_tenants_is_two_names() {
        let tenant = |name: &str| name.parse::<Tenant>().unwrap();
        let (one, other) = (tenant("app").own("lobby"), tenant("app-2").own("lobby"));
        assert_ne!(one, other);
        assert_eq!(Tenant::split(&one), (Some(tenant("app")), "lobby"));
        assert_eq!(Tenant::split("lobby"), (None, "lobby"));
        for name in ["", "a~b", "a b", "ä", &"x".repeat(33)] {
            assert!(name.parse::<Tenant>().is_err(), "{name}");
        }
        for (room, is_one) in
            [("app~lobby", true), ("lobby", true), ("~lobby", false), ("app~", false), ("a~b~c", false)]
        {
            assert_eq!(room.parse::<RoomId>().is_ok(), is_one, "{room}");
        }
    }
}
