//! Encryption on the way to the server: rustls on `ring`.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Trust};
use crate::OpenError;

pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect, OpenError> {
    let provider = Arc::new(ring::default_provider());
    let wrong = |problem: String| OpenError::Address { problem };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?;
    let config = match &address.trust {
        Trust::Anybody => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        Trust::System => builder.with_root_certificates(of_the_system()),
        Trust::File(file) => builder.with_root_certificates(of_a_file(file).map_err(wrong)?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// A certificate of the system's that cannot be read is as good as not there.
fn of_the_system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn of_a_file(file: &Path) -> Result<RootCertStore, String> {
    let problem = || format!("`sslrootcert` names `{}`, which holds no certificates that can be read", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| problem())? {
        roots.add(certificate.map_err(|_| problem())?).map_err(|_| problem())?;
    }
    if roots.is_empty() { Err(problem()) } else { Ok(roots) }
}

/// Believes every certificate, as PostgreSQL's own client does unless it is told whom to trust. The connection is
/// encrypted all the same.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
