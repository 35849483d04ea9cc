//! The one place where a TLS provider is chosen.
//!
//! ring, with the platform's own roots: it needs nothing but a C compiler and builds in a third of
//! the time of the alternative. A machine without any roots still speaks plain HTTP; HTTPS then
//! fails at the certificate, saying so.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// Certificates by which a client is known, and their key.
pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// A client configuration with the platform's roots and these in addition.
///
/// # Errors
/// When the TLS library refuses its own defaults.
pub fn config(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    config_as(extra, None)
}

/// As [`config`], for a client that is known by certificates.
///
/// # Errors
/// When the TLS library refuses its own defaults, or the key is not that of the certificates.
pub fn config_as(
    extra: Vec<CertificateDer<'static>>,
    identity: Option<Identity>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut own = RootCertStore::empty();
    own.add_parsable_certificates(extra.iter().cloned());
    let builder = match Verifier::new_with_extra_roots(extra, provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier)),
        Err(e) => {
            tracing::warn!(error = %e, "this machine has no root certificates; HTTPS will fail");
            builder.with_root_certificates(own)
        }
    };
    let mut config = match identity {
        Some((certs, key)) => builder.with_client_auth_cert(certs, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
