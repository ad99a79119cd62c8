//! The one HTTP client: requests with their limits, bodies that arrive piece by piece and are bounded.
//!
//! It never retries, never follows a redirect (a key would go along) and shows no more of an address in an error than
//! the server.

use std::{net::IpAddr, time::Duration};

use polylogue_runtime::port::CallError;
use reqwest::{
    Client, NoProxy, Proxy, Url,
    header::{CONTENT_TYPE, HeaderMap},
    redirect::Policy,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

use crate::{fault::Fault, secret::Secret, settings::Limits};

/// Bytes of an error's body that are read.
const MAX_FAULT_BYTES: usize = 64 * 1024;

/// Connections to a server that are kept open for the next call.
const MAX_IDLE: usize = 64;

/// How long a server may take from the end of its answer to the end of its stream: the bill comes in between.
const AFTER_THE_END: Duration = Duration::from_secs(2);

/// The client that all connectors share.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client,
    limits: Limits,
}

/// Where a provider is and how one speaks to it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Without a slash at its end.
    pub(crate) base: String,
    /// Goes with every request; the values of keys are marked as sensitive.
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<Secret>,
}

impl Endpoint {
    /// Whether somebody takes a connection there within this time.
    pub(crate) async fn is_listened_on(&self, within: Duration) -> bool {
        let Ok(url) = Url::parse(&self.base) else { return false };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
        let connecting = TcpStream::connect((host.trim_matches(['[', ']']), port));
        matches!(timeout(within, connecting).await, Ok(Ok(_)))
    }
}

/// Why a request brought no answer.
pub(crate) enum Failure {
    /// The server answered with an error.
    Fault(Fault),
    /// There was no answer to speak of.
    Call(CallError),
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> CallError {
        match failure {
            Failure::Fault(fault) => fault.into(),
            Failure::Call(error) => error,
        }
    }
}

impl Http {
    /// `env` names the proxy, as it does for every other program.
    pub(crate) fn new(limits: Limits, env: &dyn Fn(&str) -> Option<String>) -> Result<Http, reqwest::Error> {
        let get = |name: &str| env(name).or_else(|| env(&name.to_lowercase())).filter(|value| !value.is_empty());
        let except = get("NO_PROXY").and_then(|list| NoProxy::from_string(&list));
        let mut builder = crate::tls::client()
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(MAX_IDLE)
            .user_agent(concat!("polylogue/", env!("CARGO_PKG_VERSION")));
        if let Some(url) = get("HTTPS_PROXY").or_else(|| get("ALL_PROXY")) {
            builder = builder.proxy(Proxy::https(url)?.no_proxy(except.clone()));
        }
        if let Some(url) = get("HTTP_PROXY").or_else(|| get("ALL_PROXY")) {
            builder = builder.proxy(Proxy::http(url)?.no_proxy(except));
        }
        Ok(Http { client: builder.build()?, limits })
    }

    /// What is said there, if it is said well.
    pub(crate) async fn get<T: DeserializeOwned>(&self, endpoint: &Endpoint, path: &str) -> Option<T> {
        let asked = self.client.get(format!("{}{path}", endpoint.base)).headers(endpoint.headers.clone()).send();
        let response = asked.await.ok().filter(|response| response.status().is_success())?;
        let left = self.limits.max_response_bytes;
        let mut body = Body { response, is_json: true, left, is_nearly_over: false };
        serde_json::from_slice(&body.whole().await.ok()?).ok()
    }

    /// Sends a request and waits for the head of its answer. Dropping the future, or the body that it gives,
    /// closes the connection.
    pub(crate) async fn post(&self, endpoint: &Endpoint, path: &str, body: &Value) -> Result<Body, Failure> {
        let url = format!("{}{path}", endpoint.base);
        let sending = self.client.post(url).headers(endpoint.headers.clone()).json(body).send();
        let response = sending.await.map_err(|error| Failure::Call(network(error)))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let is_json = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim_start().starts_with("application/json"));
        let mut body = Body { response, is_json, left: self.limits.max_response_bytes, is_nearly_over: false };
        if (200..300).contains(&status) {
            return Ok(body);
        }
        body.left = MAX_FAULT_BYTES;
        // An error without a readable body is still that error.
        let text = body.whole().await.unwrap_or_default();
        Err(Failure::Fault(Fault::from_response(status, &headers, &text, endpoint.key.as_ref())))
    }
}

/// A body as it arrives.
pub(crate) struct Body {
    response: reqwest::Response,
    pub(crate) is_json: bool,
    left: usize,
    is_nearly_over: bool,
}

impl Body {
    /// The next piece; `None` at the end.
    pub(crate) async fn piece(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, CallError> {
        let piece = match self.is_nearly_over {
            true => timeout(AFTER_THE_END, self.response.chunk()).await.unwrap_or(Ok(None)),
            // How long is waited in between is the caller's business.
            false => self.response.chunk().await,
        };
        let piece = piece.map_err(network)?;
        if let Some(piece) = &piece {
            self.left = self
                .left
                .checked_sub(piece.len())
                .ok_or_else(|| CallError::BadResponse("the answer is larger than is read".to_owned()))?;
        }
        Ok(piece)
    }

    /// From here on a pause is not worth waiting for.
    pub(crate) fn is_nearly_over(&mut self) {
        self.is_nearly_over = true;
    }

    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, CallError> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await? {
            all.extend_from_slice(piece.as_ref());
        }
        Ok(all)
    }
}

/// A fault of the connection. Of the address only the server is told: the rest may carry a password.
fn network(error: reqwest::Error) -> CallError {
    let cause = std::iter::successors(std::error::Error::source(&error), |cause| cause.source()).last();
    let caused = |what: &str| cause.map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}"));
    if error.is_connect() {
        let server = error.url().map(|url| format!(" to {}", url.origin().ascii_serialization()));
        return CallError::Unreachable(caused(&format!("cannot connect{}", server.unwrap_or_default())));
    }
    let what =
        if error.is_body() || error.is_decode() { "the answer broke off in the middle" } else { "there was no answer" };
    CallError::Network(caused(what))
}

/// Whether an address is on this machine or in a private network, as far as its host tells. A name without a dot is
/// one that only a private network knows.
pub(crate) fn is_private(base: &str) -> bool {
    let Ok(url) = Url::parse(base) else { return false };
    let Some(host) = url.host_str() else { return false };
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified(),
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified()
        }
        Err(_) => {
            let name = host.trim_end_matches('.');
            !name.contains('.') || [".localhost", ".local"].iter().any(|end| name.ends_with(end))
        }
    }
}

/// A base address that can be used: http or https, and no slash at its end.
pub(crate) fn base_url(text: &str) -> Option<String> {
    let text = text.trim();
    let url = Url::parse(text).ok()?;
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    fits.then(|| text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_private_address_is_told_by_its_host() {
        for (base, expected) in [
            ("http://127.0.0.1:8000/v1", true),
            ("http://localhost:11434", true),
            ("http://10.1.2.3/v1", true),
            ("http://172.16.0.9", true),
            ("http://192.168.1.20:8080", true),
            ("http://[::1]:8000", true),
            ("http://[fd00::1]", true),
            ("http://box:1234", true),
            ("http://studio.local:1234/v1", true),
            ("https://api.openai.com/v1", false),
            ("https://8.8.8.8", false),
            ("https://172.32.0.1", false),
            ("https://localhost.example.com", false),
            ("https://[2606:4700::1111]", false),
            ("no address", false),
        ] {
            assert_eq!(is_private(base), expected, "{base}");
        }
    }
}
