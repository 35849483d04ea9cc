//! What is to be done, as it is sealed and stored.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who is told when a job is over.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    pub(crate) secret: Option<String>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Webhook")
    }
}

/// What is to be done.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Input {
    Http(HttpSpec),
    Handler { name: String, payload: Value },
}

/// A request shows its method only: the rest may carry a credential.
impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(http) => write!(f, "Http({})", http.method),
            Self::Handler { name, .. } => write!(f, "Handler({name})"),
        }
    }
}

/// A request.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct HttpSpec {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) headers: Vec<(String, String)>,
    #[serde(default, with = "base64_bytes")]
    pub(crate) body: Option<Vec<u8>>,
    /// Whose credential it carries, by name.
    #[serde(default)]
    pub(crate) credential: Option<String>,
    /// May be sent again, whatever became of it.
    #[serde(default)]
    pub(crate) idempotent: Option<String>,
    /// May be sent again after a refusal, though it writes.
    #[serde(default)]
    pub(crate) repeat_refused: bool,
    /// Changes nothing, whatever its method.
    #[serde(default)]
    pub(crate) reads: bool,
}

/// A job's input as it is sealed and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) input: Input,
    #[serde(default)]
    pub(crate) webhook: Option<Webhook>,
}

/// Bytes in JSON.
mod base64_bytes {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(b: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        match b {
            Some(b) => to.serialize_some(&BASE64_STANDARD.encode(b)),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let bytes = text.map(|t| BASE64_STANDARD.decode(t));
        bytes.transpose().map_err(D::Error::custom)
    }
}
