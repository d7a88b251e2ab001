//! Streamable HTTP, for clients on this machine that cannot start a program.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::peer::{Peer, Place, Places};
use chiton_operator::Operator;
use http::header::{CONNECTION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::client::ServedClient;
use crate::gate::{Gate, MOST_BYTES, PATH, Turned};
use crate::http_answer::{HttpAnswer, empty, object};
use crate::http_batch::{self, BatchSessions};
use crate::message::{self, Found, Objection};
use crate::roots::{ClientPlace, StartDirectory};
use crate::server::{Clientele, Maker, Server};

/// How long a client may take for the head of a request, and for its body.
const HEAD: Duration = Duration::from_secs(10);
/// How long somebody of another user or another machine may take for a head.
const STRANGERS_HEAD: Duration = Duration::from_secs(3);
const BODY: Duration = Duration::from_mins(1);
/// The largest head.
const HEAD_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
/// The header that names the revision of a request.
const REVISION: &str = "mcp-protocol-version";
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
    /// Where the commands of a client start. Roots of other machines are not looked at.
    pub start: StartDirectory,
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

/// Serves clients over HTTP until `over` is done. `make` makes the operator of a client with this name, which starts in
/// a directory, or where the server was started; `ready` receives the address.
///
/// # Errors
/// When the address may not or cannot be used.
pub async fn serve_http(
    options: HttpOptions,
    make: impl Fn(&str, Option<&ClientPlace>) -> Result<Operator, String> + Send + Sync + 'static,
    ready: impl FnOnce(&str),
    over: impl Future<Output = ()>,
) -> Result<(), HttpError> {
    let (listener, place, mut hosts) = HttpListener::open(&options).await?;
    hosts.extend(options.hosts);
    let gate = Arc::new(Gate { hosts, origins: options.origins, token: options.token });
    let start = if options.remote { StartDirectory::Chosen } else { options.start };
    let endpoint =
        endpoint(make, start).map_err(|problem| HttpError::Listen(place.clone(), io::Error::other(problem)))?;
    let endpoint = Arc::new(endpoint);
    ready(&place);
    let places = Places::default();
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => break,
            accepted = listener.accept() => match accepted {
                // One for whom there is no place is hung up on.
                Ok(Some(connection)) => {
                    if let Some(place) = places.enter(connection.peer) {
                        connection.serve(Arc::clone(&gate), Arc::clone(&endpoint), place);
                    }
                }
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

pub(crate) type Service = StreamableHttpService<Server, LocalSessionManager>;

/// What requests are given to once the gate has let them in.
struct Endpoint {
    service: Service,
    batches: BatchSessions,
}

/// Sessions of the older revisions have an operator each; requests of the newest, which knows none, share one: the
/// token says whose they are.
fn endpoint(
    make: impl Fn(&str, Option<&ClientPlace>) -> Result<Operator, String> + Send + Sync + 'static,
    start: StartDirectory,
) -> Result<Endpoint, String> {
    let shared = Arc::new(ServedClient::new(make("http", None)?));
    let maker: Maker = Arc::new(move |directory| make(&format!("http-{}", random()), directory));
    let factory = move || {
        let (shared, maker, gone) = (Arc::clone(&shared), Arc::clone(&maker), watch::Sender::new(false));
        Ok(Server::new(Clientele::Sessions, shared, Some(maker), start.clone(), gone))
    };
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
    let manager = Arc::new(manager);
    let batches = BatchSessions::new(Arc::clone(&manager));
    Ok(Endpoint { service: StreamableHttpService::new(factory, manager, config), batches })
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
                let (stream, theirs) = listener.accept().await?;
                // Without this, an answer waits 40 ms for a packet that does not come.
                stream.set_nodelay(true)?;
                let peer = Peer::of_tcp(theirs, stream.local_addr()?);
                Ok(Some(Connection { stream: Box::new(stream), peer }))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let credentials = stream.peer_cred()?;
                let same = credentials.uid() == rustix::process::geteuid().as_raw();
                let peer = Peer::of_process(credentials.pid());
                Ok(same.then(|| Connection { stream: Box::new(stream), peer }))
            }
        }
    }
}

fn open_socket(path: &Path) -> Result<UnixListener, HttpError> {
    let refused = |error| HttpError::Listen(path.display().to_string(), error);
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !folder.exists() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(refused)?;
    }
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

struct Connection {
    stream: Box<dyn Duplex>,
    peer: Peer,
}

impl Connection {
    fn serve(self, gate: Arc<Gate>, endpoint: Arc<Endpoint>, place: Place) {
        let Self { stream, peer } = self;
        tokio::spawn(async move {
            // Before anything is read: whoever sends a request and hangs up could not be found afterwards.
            let is_of_a_command = tokio::task::spawn_blocking(move || peer.is_of_a_command()).await.unwrap_or(true);
            let caller = Arc::new(HttpCaller { gate, is_of_a_command, place });
            let answer = service_fn(move |request| answer(Arc::clone(&caller), Arc::clone(&endpoint), request));
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(if peer.is_stranger() { STRANGERS_HEAD } else { HEAD })
                // It may take somewhat more than that at once; the exact limit is the gate's.
                .max_buf_size(HEAD_BYTES)
                .max_headers(MOST_HEADERS);
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

/// Who sends the requests of one connection, and what they have to show.
struct HttpCaller {
    gate: Arc<Gate>,
    is_of_a_command: bool,
    place: Place,
}

impl HttpCaller {
    fn check(&self, head: &Parts) -> Result<(), Turned> {
        if head_bytes(head) > HEAD_BYTES {
            return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the head may have 64 KiB at most"));
        }
        self.gate.check(head)?;
        self.place.is_known();
        if self.is_of_a_command {
            let why = "a command that Chiton runs cannot be a client of Chiton: it could answer the questions that are \
                       asked about it";
            return Err((StatusCode::FORBIDDEN, why));
        }
        Ok(())
    }
}

/// How long the head of a request is: its first line, its headers and the line that ends them.
fn head_bytes(head: &Parts) -> usize {
    let uri = head.uri.to_string().len();
    let first = head.method.as_str().len() + uri + "  HTTP/1.1\r\n".len();
    let headers: usize =
        head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    first + headers + "\r\n".len()
}

async fn answer(
    caller: Arc<HttpCaller>,
    endpoint: Arc<Endpoint>,
    request: Request<Incoming>,
) -> Result<HttpAnswer, Infallible> {
    let (head, body) = request.into_parts();
    if let Err((status, why)) = caller.check(&head) {
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
    Ok(match head.method {
        Method::POST => endpoint.receive(head, &body).await,
        _ => endpoint.pass_on(head, body).await,
    })
}

impl Endpoint {
    /// Answers what a client has sent.
    async fn receive(&self, head: Parts, body: &[u8]) -> HttpAnswer {
        let text = message::text_of(body);
        if text.is_empty() {
            return object(&Objection::new(Value::Null, ErrorCode::PARSE_ERROR, "there is no message in the body"));
        }
        let declared = head.headers.get(REVISION).and_then(|revision| revision.to_str().ok());
        match message::read(&text, declared) {
            Err(objection) => object(&objection),
            Ok(Found::Nothing) => empty(StatusCode::ACCEPTED),
            Ok(Found::Batch(elements)) => http_batch::answer(&self.service, &self.batches, &head, &elements).await,
            Ok(Found::Message(message)) => {
                self.batches.withdraw(&head, &message);
                let answer = self.pass_on(head, Bytes::from(text.into_owned())).await;
                self.batches.note(&message, &answer).await;
                answer
            }
        }
    }

    async fn pass_on(&self, head: Parts, body: Bytes) -> HttpAnswer {
        let ends = head.method == Method::DELETE;
        if ends {
            self.batches.forget(&head);
        }
        let mut answer = self.service.handle(Request::from_parts(head, Full::new(body))).await;
        if ends && answer.status() == StatusCode::ACCEPTED {
            // The session has ended by now, and some clients take "accepted" for a failure.
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        answer
    }
}

/// Refuses and closes the connection, so that nobody has to read the rest of the request.
fn turn_away(status: StatusCode, why: &'static str) -> HttpAnswer {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if status == StatusCode::UNAUTHORIZED {
        // It names no OAuth metadata: there is no server to get a token from.
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
