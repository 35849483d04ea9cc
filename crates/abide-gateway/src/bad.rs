//! Why a gateway cannot be made.

use crate::route::BadBase;

/// Why a gateway cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The address of a provider is none.
    #[error("the address of {provider}: {what}")]
    Base {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        what: BadBase,
    },
    /// A chain asks somebody who cannot be asked.
    #[error("chain {chain}: {provider} is no provider that can be asked: it needs an `upstream`")]
    Chain {
        /// The chain.
        chain: String,
        /// Its member.
        provider: String,
    },
    /// Its name is none.
    #[error("{0:?} is no name for a gateway: letters, digits, - and . may be in it")]
    Name(String),
    /// Anybody could use it.
    #[error(
        "{0} can be reached from other machines: say who may use it by gateway.client_token or \
         gateway.allow_from"
    )]
    Open(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}
