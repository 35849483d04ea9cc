//! Where callers come in: a port, or a socket file; over TLS where it has certificates.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use super::place::{Faces, Place};
use crate::settings::BadSetting;

/// Where callers come in.
#[derive(Debug)]
pub struct Listener {
    pub(crate) door: Door,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) faces: Faces,
}

#[derive(Debug)]
pub(crate) enum Door {
    Tcp(std::net::TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens at `address`: an address and port, or `unix:/PATH`. A socket file that nobody listens
    /// on any more is replaced.
    ///
    /// # Errors
    /// When the address is none, or is taken.
    pub fn bind(address: &str) -> Result<Self, BadSetting> {
        let wrong = |what: String| BadSetting::new("listen", format!("{address}: {what}"));
        let taken = |e: &io::Error| {
            let help = match e.kind() {
                io::ErrorKind::AddrInUse => {
                    "; somebody listens there already: stop it, or choose another by --listen or \
                     gateway.listen"
                }
                io::ErrorKind::PermissionDenied => {
                    "; choose a port above 1023, or a folder that can be written"
                }
                io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
                _ => "",
            };
            wrong(format!("{e}{help}")).because_of_outside()
        };
        let door = match address.strip_prefix("unix:") {
            #[cfg(unix)]
            Some(path) => unix(Path::new(path)).map_err(|e| taken(&e))?,
            #[cfg(not(unix))]
            Some(_) => return Err(wrong("there are no socket files here".to_owned())),
            None => {
                let at: SocketAddr = address
                    .parse()
                    .map_err(|_| wrong("no address and port as 127.0.0.1:4180".to_owned()))?;
                let door = std::net::TcpListener::bind(at).map_err(|e| taken(&e))?;
                door.set_nonblocking(true).map_err(|e| taken(&e))?;
                Door::Tcp(door)
            }
        };
        Ok(Self {
            door,
            tls: None,
            faces: Faces::All,
        })
    }

    /// Speaks TLS, with the certificates and the key of these files.
    ///
    /// # Errors
    /// When a file cannot be read, or the key is not that of the certificate.
    pub fn with_tls(mut self, cert: &str, key: &str) -> Result<Self, BadSetting> {
        let certs = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| {
                BadSetting::new("tls_cert", format!("{cert}: {e}")).because_of_outside()
            })?;
        let own = PrivateKeyDer::from_pem_file(key)
            .map_err(|e| BadSetting::new("tls_key", format!("{key}: {e}")).because_of_outside())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|config| config.with_no_client_auth())
            .and_then(|config| config.with_single_cert(certs, own))
            .map_err(|e| BadSetting::new("tls_key", format!("{key}: {e}")).because_of_outside())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        self.tls = Some(Arc::new(config));
        Ok(self)
    }

    /// `/-/` is answered elsewhere: here only whether the gateway lives and is ready.
    #[must_use]
    pub const fn without_admin(mut self) -> Self {
        self.faces = Faces::Data;
        self
    }

    /// Only `/-/` is answered here.
    #[must_use]
    pub const fn only_admin(mut self) -> Self {
        self.faces = Faces::Admin;
        self
    }

    /// Where it is, and what is answered there.
    pub(crate) fn place(&self) -> Place {
        let ip = match &self.door {
            // One whose address nobody knows is taken to be open to all.
            Door::Tcp(door) => {
                let at = door.local_addr().map(|at| at.ip());
                Some(at.unwrap_or_else(|_| Ipv4Addr::UNSPECIFIED.into()))
            }
            #[cfg(unix)]
            Door::Unix(..) => None,
        };
        let faces = self.faces;
        Place { faces, ip }
    }

    /// Whether others than this machine's own programs can come in.
    pub fn is_off_loopback(&self) -> bool {
        match &self.door {
            Door::Tcp(door) => !door
                .local_addr()
                .is_ok_and(|at| at.ip().to_canonical().is_loopback()),
            #[cfg(unix)]
            Door::Unix(..) => false,
        }
    }

    /// Where it is, as a client writes it.
    pub fn url(&self) -> String {
        let scheme = self.scheme();
        match &self.door {
            Door::Tcp(door) => match door.local_addr() {
                Ok(at) => format!("{scheme}://{at}"),
                Err(_) => scheme.to_owned(),
            },
            #[cfg(unix)]
            Door::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    pub(crate) const fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            door: match &self.door {
                Door::Tcp(door) => Door::Tcp(door.try_clone()?),
                #[cfg(unix)]
                Door::Unix(door, path) => Door::Unix(door.try_clone()?, path.clone()),
            },
            tls: self.tls.clone(),
            faces: self.faces,
        })
    }
}

#[cfg(unix)]
fn unix(path: &Path) -> io::Result<Door> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    let is_socket = fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let door = UnixListener::bind(path)?;
    door.set_nonblocking(true)?;
    Ok(Door::Unix(door, path.to_owned()))
}

/// How a caller that went away without a word is missed: asked after a minute of silence, given up
/// after three minutes more.
fn alive() -> TcpKeepalive {
    let minute = Duration::from_secs(60);
    TcpKeepalive::new()
        .with_time(minute)
        .with_interval(minute)
        .with_retries(3)
}

/// A door of one worker's runtime.
pub(crate) enum Open {
    Tcp(tokio::net::TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

/// A connection, before anything was read of it.
pub(crate) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Socket {
    /// The address at which it came in.
    pub(crate) fn door(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr().ok(),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }
}

impl Door {
    pub(crate) fn open(self) -> io::Result<Open> {
        Ok(match self {
            Self::Tcp(door) => Open::Tcp(tokio::net::TcpListener::from_std(door)?),
            #[cfg(unix)]
            Self::Unix(door, _) => Open::Unix(tokio::net::UnixListener::from_std(door)?),
        })
    }
}

impl Open {
    pub(crate) async fn accept(&self) -> io::Result<(Socket, Option<IpAddr>)> {
        match self {
            Self::Tcp(door) => {
                let (socket, peer) = door.accept().await?;
                // Without the one answers wait for acknowledgements, without the other a caller whose
                // machine went away is never missed; where they cannot be set that is so, no more.
                let _ = socket.set_nodelay(true);
                let _ = SockRef::from(&socket).set_tcp_keepalive(&alive());
                Ok((Socket::Tcp(socket), Some(peer.ip().to_canonical())))
            }
            #[cfg(unix)]
            Self::Unix(door) => Ok((Socket::Unix(door.accept().await?.0), None)),
        }
    }
}
