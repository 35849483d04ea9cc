//! The one place where a TLS provider is chosen.
//!
//! ring, with the platform's own roots: it needs nothing but a C compiler and builds in a third of
//! the time of the alternative. A machine without any roots still speaks plain HTTP; HTTPS then
//! fails at the certificate, saying so.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// A client configuration with the platform's roots and these in addition.
///
/// # Errors
/// When the TLS library refuses its own defaults.
pub fn config(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut own = RootCertStore::empty();
    own.add_parsable_certificates(extra.iter().cloned());
    let mut config = match Verifier::new_with_extra_roots(extra, provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(e) => {
            tracing::warn!(error = %e, "this machine has no root certificates; HTTPS will fail");
            builder.with_root_certificates(own).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
