//! The overview as a web page on this machine.
//!
//! 1. [`kept`] holds what a restart must not change: the port, the key of the cookies, links that were not used.
//! 2. [`gate`] decides by the head of a request whether it is answered at all.
//! 3. [`routes`] names what there is; [`feed`], [`transcript`] and [`terminal`] are streams of events, [`journal`] answers
//!    searches, [`control`] does what a person asks for.
//! 4. [`assets`] is the page itself, which is part of the program.
//!
//! Each viewer is sent so many bytes a second at most. What a run prints beyond that is passed over and counted.

mod answer;
mod assets;
mod control;
mod feed;
mod gate;
mod journal;
mod kept;
mod pace;
mod routes;
mod terminal;
mod transcript;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::peer::{Peer, Places};
use chiton_engine::{Engine, Session};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use gate::{Gate, HEAD_BYTES, MOST_HEADERS};
pub use kept::KeptError;
use kept::{Kept, Served};
use routes::Page;

/// How long a browser may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long somebody of another user may take for it.
const STRANGERS_HEAD: Duration = Duration::from_secs(3);

/// How the page is served.
pub struct PageOptions {
    /// The state directory that it shows.
    pub state_directory: PathBuf,
    /// The port; the one of the last time where none is given.
    pub port: Option<u16>,
    /// With what a person may act; `None` for a page that only shows.
    pub control: Option<PageControl>,
}

/// What acts for the person at the page: the engine judges what is sent to a run, and writes down what was done.
#[derive(Clone, Debug)]
pub struct PageControl {
    /// The engine.
    pub engine: Engine,
    /// The session whose name stands in the journal.
    pub session: Session,
}

/// What became of the wish to serve the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is served from here on; the link opens it, once.
    Serving(String),
    /// Somebody else serves it already; this is one more link to that.
    AlreadyServed(String),
}

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The port cannot be listened on.
    #[error("cannot listen on port {port}: {error}; give another one with --port, or --port 0 for any")]
    Listen {
        /// The port.
        port: u16,
        /// What the system says.
        error: io::Error,
    },
    /// What has to survive a restart cannot be kept.
    #[error(transparent)]
    Kept(#[from] KeptError),
}

/// Serves the page until `over` is done. `ready` receives the link that opens it. Where another process serves the page
/// of this state directory, `ready` receives a link to that one, and this returns.
///
/// # Errors
/// When the port cannot be used, or nothing can be kept in the state directory.
pub async fn serve_page(
    options: PageOptions,
    ready: impl FnOnce(&Link),
    over: impl Future<Output = ()>,
) -> Result<(), PageError> {
    let kept = match Kept::open(&options.state_directory)? {
        Served::Here(kept) => kept,
        Served::Elsewhere(kept) => {
            ready(&Link::AlreadyServed(kept.link()?));
            return Ok(());
        }
    };
    let (listener, address) = listen(options.port, &kept).await?;
    kept.note_port(address.port())?;
    ready(&Link::Serving(kept.link()?));

    let page = Arc::new(Page::new(&options.state_directory, Gate::new(address, kept), options.control));
    let places = Places::default();
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => return Ok(()),
            accepted = listener.accept() => match accepted {
                // One for whom there is no place is hung up on.
                Ok((stream, theirs)) => serve(stream, theirs, &page, &places),
                // Usually there are no descriptors left, and connections have to end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// Listens on the port that was asked for. Without one, on that of the last time, so that an open page finds us again; on
/// any where that is taken.
async fn listen(wanted: Option<u16>, kept: &Kept) -> Result<(TcpListener, SocketAddr), PageError> {
    let bind = |port: u16| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let port = wanted.or_else(|| kept.port()).unwrap_or(0);
    let bound = match bind(port).await {
        Err(_) if wanted.is_none() => bind(0).await,
        bound => bound,
    };
    let listener = bound.map_err(|error| PageError::Listen { port, error })?;
    let address = listener.local_addr().map_err(|error| PageError::Listen { port, error })?;
    Ok((listener, address))
}

fn serve(stream: TcpStream, theirs: SocketAddr, page: &Arc<Page>, places: &Places) {
    // Without this, an event waits 40 ms for a packet that does not come.
    let _ = stream.set_nodelay(true);
    let Ok(ours) = stream.local_addr() else { return };
    let peer = Peer::of_tcp(theirs, ours);
    let Some(place) = places.enter(peer) else { return };
    let page = Arc::clone(page);
    tokio::spawn(async move {
        // Before anything is read: whoever sends a request and hangs up could not be found afterwards.
        let is_of_a_command = tokio::task::spawn_blocking(move || peer.is_of_a_command()).await.unwrap_or(true);
        let place = Arc::new(place);
        let answer = service_fn(move |request| {
            let (page, place) = (Arc::clone(&page), Arc::clone(&place));
            async move { page.answer(request, is_of_a_command, &place).await }
        });
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(if peer.is_stranger() { STRANGERS_HEAD } else { HEAD })
            .max_buf_size(HEAD_BYTES)
            .max_headers(MOST_HEADERS);
        let _ = server.serve_connection(TokioIo::new(stream), answer).await;
    });
}
