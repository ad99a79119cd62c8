//! How a bucket is named and reached, and what is refused before anybody tries to.

use std::fmt;

use polylogue_runtime::port::ArtifactPath;

/// The region where nobody names one. Servers other than Amazon's rarely have more.
const REGION: &str = "us-east-1";

/// A bucket, how it is reached, and what opens it.
#[derive(Clone, Debug)]
pub struct S3Settings {
    /// `s3://bucket` or `s3://bucket/prefix`.
    pub url: String,
    /// The server, where it is not Amazon's own.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Whether the bucket is named in the path and not in the host. Unless said otherwise it is, on any server but
    /// Amazon's.
    pub path_style: Option<bool>,
    pub keys: Keys,
}

/// What requests are signed with. It is never printed.
#[derive(Clone)]
pub struct Keys {
    pub access_key: String,
    pub secret_key: String,
    /// Of keys that are lent for a while.
    pub session_token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadS3 {
    #[error("[artifacts] url is written s3://bucket or s3://bucket/prefix")]
    Url,
    #[error("[artifacts] endpoint is the address of a server, for example https://storage.example:9000")]
    Endpoint,
    #[error("[artifacts] cannot be used as it is written: {0}")]
    Client(String),
}

/// The same, read.
pub(super) struct Address {
    pub(super) bucket: String,
    pub(super) prefix: Option<ArtifactPath>,
    pub(super) endpoint: Option<String>,
    pub(super) region: String,
    pub(super) is_path_style: bool,
}

impl Address {
    pub(super) fn of(settings: &S3Settings) -> Result<Address, BadS3> {
        let rest = settings.url.strip_prefix("s3://").ok_or(BadS3::Url)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // What else an address could hold (a key, for one) does not belong into it.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if bucket.is_empty() || !bucket.chars().all(is_plain) || prefix.contains(['?', '#']) {
            return Err(BadS3::Url);
        }
        let prefix = match prefix.trim_end_matches('/') {
            "" => None,
            prefix => Some(ArtifactPath::parse(prefix).ok_or(BadS3::Url)?),
        };
        let endpoint = settings.endpoint.as_deref().map(|endpoint| endpoint.trim_end_matches('/').to_owned());
        let is_server = |endpoint: &str| {
            let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && !host.contains(['@', '?', '#', ' ']))
        };
        if endpoint.as_deref().is_some_and(|endpoint| !is_server(endpoint)) {
            return Err(BadS3::Endpoint);
        }
        Ok(Address {
            bucket: bucket.to_owned(),
            prefix,
            is_path_style: settings.path_style.unwrap_or(endpoint.is_some()),
            endpoint,
            region: settings.region.clone().unwrap_or_else(|| REGION.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str, endpoint: Option<&str>) -> Result<Address, BadS3> {
        let keys = Keys { access_key: "a".into(), secret_key: "hidden".into(), session_token: None };
        let endpoint = endpoint.map(str::to_owned);
        let settings = S3Settings { url: url.into(), endpoint, region: None, path_style: None, keys };
        assert!(!format!("{settings:?}").contains("hidden"));
        Address::of(&settings)
    }

    #[test]
    fn addresses_are_read_or_refused() {
        for (url, bucket, prefix) in [
            ("s3://team", "team", None),
            ("s3://team/", "team", None),
            ("s3://team-1.x/shows/2026/", "team-1.x", Some("shows/2026")),
        ] {
            let address = address(url, None).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.bucket, bucket);
            assert_eq!(address.prefix.as_ref().map(ArtifactPath::as_str), prefix);
            assert!(!address.is_path_style);
        }
        for url in ["", "team", "s3://", "s3:///x", "s3://key:secret@team", "s3://team/../x", "s3://team/x?key=1"] {
            assert_eq!(address(url, None).err(), Some(BadS3::Url), "{url}");
        }
        assert!(address("s3://team", Some("http://127.0.0.1:9000/")).is_ok_and(|address| address.is_path_style));
        for endpoint in ["127.0.0.1:9000", "http://", "https://key:secret@host", "ftp://host"] {
            assert_eq!(address("s3://team", Some(endpoint)).err(), Some(BadS3::Endpoint), "{endpoint}");
        }
    }
}
