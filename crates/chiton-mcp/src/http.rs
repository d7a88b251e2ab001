//! Streamable HTTP, for clients on this machine that cannot start a program.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chiton_operator::Operator;
use http::header::{CONNECTION, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::client::ServedClient;
use crate::gate::{Gate, MOST_BYTES, PATH};
use crate::server::{Maker, Server};

/// How long a client may take for the head of a request, and for its body.
const HEAD: Duration = Duration::from_secs(10);
const BODY: Duration = Duration::from_mins(1);
/// The largest head.
const HEAD_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
/// Clients at a time.
const MOST_CONNECTIONS: usize = 256;
/// How long a session waits for a silent client. Long, since a client says nothing while its command runs for an hour.
const SESSION: Duration = Duration::from_hours(24);

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of this machine.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where to listen.
    pub address: Address,
    /// Whether other machines may reach it.
    pub remote: bool,
    /// What every request has to show.
    pub token: String,
    /// Names under which it is reached, besides those of this machine.
    pub hosts: Vec<String>,
    /// Web pages that may talk to it.
    pub origins: Vec<String>,
}

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not of this machine alone.
    #[error(
        "{0} can be reached from other machines, and whoever has the token can run any command here. If you want that, give \
         --http-allow-remote, name the host that clients use with --http-host, and put TLS in front"
    )]
    Remote(SocketAddr),
    /// Other machines can reach it, and no flag says by what name.
    #[error("with --http-allow-remote, --http-host has to name the host (and port) that clients use")]
    NoHost,
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(String, io::Error),
    /// The folder of a socket is open to others.
    #[error("the folder of the socket, {0}, is open to others: make it yours alone (chmod 700)")]
    OpenFolder(PathBuf),
    /// Something else has the path of the socket.
    #[error("{0} exists, and it is not a socket that a server left behind; remove it, or choose another path")]
    Taken(PathBuf),
}

/// Serves clients over HTTP until `over` is done. `make` makes the operator of a client with this name; `ready` receives
/// the address.
///
/// # Errors
/// When the address may not or cannot be used.
pub async fn serve_http(
    options: HttpOptions,
    make: impl Fn(&str) -> Result<Operator, String> + Send + Sync + 'static,
    ready: impl FnOnce(&str),
    over: impl Future<Output = ()>,
) -> Result<(), HttpError> {
    let (listener, place, mut hosts) = HttpListener::open(&options).await?;
    hosts.extend(options.hosts);
    let gate = Arc::new(Gate { hosts, origins: options.origins, token: options.token });
    let service = service(make).map_err(|problem| HttpError::Listen(place.clone(), io::Error::other(problem)))?;
    ready(&place);
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    tokio::pin!(over);
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        tokio::select! {
            () = &mut over => break,
            accepted = listener.accept() => match accepted {
                Ok(Some(connection)) => connection.serve(Arc::clone(&gate), service.clone(), permit),
                // Not the same user, or gone again.
                Ok(None) => {}
                // Usually there are no descriptors left, and connections have to end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    if let Address::Unix(path) = &options.address {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Sessions of the older revisions have an operator each; requests of the newest, which knows none, share one: the
/// token says whose they are.
fn service(make: impl Fn(&str) -> Result<Operator, String> + Send + Sync + 'static) -> Result<Service, String> {
    let shared = Arc::new(ServedClient::new(make("http")?));
    let make = Arc::new(make);
    let maker: Maker = Arc::new(move || make(&format!("http-{}", random())));
    let factory = move || Ok(Server::new(Arc::clone(&shared), Some(Arc::clone(&maker)), watch::Sender::new(false)));
    let mut sessions = SessionConfig::default();
    sessions.keep_alive = Some(SESSION);
    let mut manager = LocalSessionManager::default();
    manager.session_config = sessions;
    // The gate has checked Host and Origin before.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .enforce_origin_validation()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MOST_BYTES);
    Ok(StreamableHttpService::new(factory, Arc::new(manager), config))
}

/// Sixteen hexadecimal digits that nobody can guess.
fn random() -> String {
    let mut bytes = [0; 8];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    format!("{:016x}", u64::from_ne_bytes(bytes))
}

enum HttpListener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl HttpListener {
    /// A listener, where it listens, and by what names.
    async fn open(options: &HttpOptions) -> Result<(Self, String, Vec<String>), HttpError> {
        match &options.address {
            Address::Tcp(address) => {
                if !address.ip().is_loopback() && !options.remote {
                    return Err(HttpError::Remote(*address));
                }
                if !address.ip().is_loopback() && options.hosts.is_empty() {
                    return Err(HttpError::NoHost);
                }
                let refused = |error| HttpError::Listen(address.to_string(), error);
                let listener = TcpListener::bind(address).await.map_err(refused)?;
                let bound = listener.local_addr().map_err(refused)?;
                let mut hosts = vec![bound.to_string()];
                if bound.ip().is_loopback() {
                    hosts.push(format!("localhost:{}", bound.port()));
                }
                Ok((Self::Tcp(listener), format!("http://{bound}{PATH}"), hosts))
            }
            Address::Unix(path) => {
                let listener = open_socket(path)?;
                Ok((Self::Unix(listener), format!("unix:{}", path.display()), vec!["localhost".to_owned()]))
            }
        }
    }

    async fn accept(&self) -> io::Result<Option<Connection>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Without this, an answer waits 40 ms for a packet that does not come.
                stream.set_nodelay(true)?;
                Ok(Some(Connection(Box::new(stream))))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let same = stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw();
                Ok(same.then(|| Connection(Box::new(stream))))
            }
        }
    }
}

fn open_socket(path: &Path) -> Result<UnixListener, HttpError> {
    let refused = |error| HttpError::Listen(path.display().to_string(), error);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mode = std::fs::metadata(folder).map_err(refused)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(HttpError::OpenFolder(folder.to_owned()));
    }
    if let Ok(found) = std::fs::symlink_metadata(path) {
        // A server that was killed leaves its socket behind.
        let abandoned = found.file_type().is_socket() && std::os::unix::net::UnixStream::connect(path).is_err();
        if !abandoned {
            return Err(HttpError::Taken(path.to_owned()));
        }
        std::fs::remove_file(path).map_err(refused)?;
    }
    UnixListener::bind(path).map_err(refused)
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

struct Connection(Box<dyn Duplex>);

impl Connection {
    fn serve(self, gate: Arc<Gate>, service: Service, permit: OwnedSemaphorePermit) {
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(Arc::clone(&gate), service.clone(), request));
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BYTES)
                .max_headers(MOST_HEADERS);
            let _ = server.serve_connection(TokioIo::new(self.0), answer).await;
            drop(permit);
        });
    }
}

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

async fn answer(gate: Arc<Gate>, service: Service, request: Request<Incoming>) -> Result<HttpAnswer, Infallible> {
    let (head, body) = request.into_parts();
    if let Err((status, why)) = gate.check(&head) {
        return Ok(turn_away(status, why));
    }
    let body = match timeout(BODY, Limited::new(body, MOST_BYTES).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Ok(turn_away(StatusCode::PAYLOAD_TOO_LARGE, "the body may have 32 MiB at most"));
        }
        Ok(Err(_)) => return Ok(turn_away(StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => return Ok(turn_away(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    };
    let ends = head.method == Method::DELETE;
    let mut answer = service.handle(Request::from_parts(head, Full::new(body))).await;
    if ends && answer.status() == StatusCode::ACCEPTED {
        // The session has ended by now, and some clients take "accepted" for a failure.
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(answer)
}

/// Refuses and closes the connection, so that nobody has to read the rest of the request.
fn turn_away(status: StatusCode, why: &'static str) -> HttpAnswer {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
