//! The beginning of every HTTP client here: rustls on `ring`, with the certificates of the system.

/// A client to be set up further.
pub(crate) fn client() -> reqwest::ClientBuilder {
    // The first caller has installed the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}
