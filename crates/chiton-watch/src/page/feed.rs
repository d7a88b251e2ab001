//! The overview, as it changes.
//!
//! One task refreshes it as long as anybody looks, and nobody's looking costs nothing. A viewer is sent all of it at first,
//! and then what has changed since.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chiton_engine::clock::now_ms;
use chiton_engine::consent::Answer as Decision;
use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::{Mutex, Notify, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::answer::{Answer, event, events, pulse};
use crate::approvals::{Approvals, DeskError, Waiting, Watch};
use crate::overview::{Overview, SeenRun};

/// The pause between two looks at everything.
const PAUSE: Duration = Duration::from_millis(800);
/// The pause after which a viewer is sent a sign of life.
const QUIET: Duration = Duration::from_secs(15);
/// How many runs a viewer is told of: a browser stays quick with so many.
const MOST_LISTED: usize = 2_000;

pub(super) struct Feed {
    overview: Mutex<Overview>,
    approvals: Approvals,
    viewers: AtomicUsize,
    /// Somebody has begun to look, or has done something.
    wake: Notify,
    /// Counts the refreshes.
    refreshed: watch::Sender<u64>,
}

/// What a viewer is sent.
#[derive(Serialize)]
struct News<'a> {
    /// The time of this machine, so that a browser with another clock shows the right ages.
    now_ms: u64,
    /// Whether this is all there is, and not only what has changed.
    whole: bool,
    runs: Vec<&'a SeenRun>,
    gone: Vec<&'a str>,
    /// Older runs that are not listed.
    unlisted: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<&'a [Waiting]>,
}

/// Counts somebody who looks. One who can act can also be asked.
struct Viewer {
    feed: Arc<Feed>,
    _watch: Option<Watch>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.feed.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Feed {
    pub(super) fn start(state_directory: &Path) -> Arc<Self> {
        let feed = Arc::new(Self {
            overview: Mutex::new(Overview::new(state_directory)),
            approvals: Approvals::new(state_directory),
            viewers: AtomicUsize::new(0),
            wake: Notify::new(),
            refreshed: watch::Sender::new(0),
        });
        tokio::spawn(Arc::clone(&feed).refresh());
        feed
    }

    async fn refresh(self: Arc<Self>) {
        loop {
            if self.viewers.load(Ordering::Relaxed) == 0 {
                self.wake.notified().await;
            }
            self.overview.lock().await.refresh().await;
            self.refreshed.send_modify(|count| *count += 1);
            tokio::select! {
                () = sleep(PAUSE) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// Somebody has done something, which is to be seen at once.
    pub(super) fn look_soon(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn decide(&self, id: &str, decision: Decision) -> Result<(), DeskError> {
        let decided = self.approvals.answer(id, decision).await;
        self.look_soon();
        decided
    }

    /// The stream of a new viewer, who can answer questions or only sees them.
    pub(super) fn view(self: &Arc<Self>, can_answer: bool) -> Answer {
        let (sender, receiver) = mpsc::channel(2);
        let mut refreshed = self.refreshed.subscribe();
        self.viewers.fetch_add(1, Ordering::Relaxed);
        let watch = if can_answer { self.approvals.watch() } else { None };
        let viewer = Viewer { feed: Arc::clone(self), _watch: watch };
        self.look_soon();
        tokio::spawn(async move {
            let mut told = Told::default();
            loop {
                let message = match timeout(QUIET, refreshed.changed()).await {
                    Ok(Ok(())) => told.news(&*viewer.feed.overview.lock().await),
                    Ok(Err(_)) => return,
                    Err(_) => Some(pulse()),
                };
                if let Some(message) = message
                    && sender.send(message).await.is_err()
                {
                    return;
                }
            }
        });
        events(receiver)
    }
}

/// What a viewer knows.
#[derive(Default)]
struct Told {
    /// The revision it has; `None` before the first.
    revision: Option<u64>,
    approvals: Option<Vec<Waiting>>,
}

impl Told {
    /// What is new; `None` where nothing is.
    fn news(&mut self, overview: &Overview) -> Option<Bytes> {
        let since = self.revision.filter(|revision| overview.gone_since(*revision).is_some());
        let gone = since.and_then(|since| overview.gone_since(since)).unwrap_or_default();
        let listed = overview.runs().take(MOST_LISTED);
        let runs: Vec<&SeenRun> = listed.filter(|run| since.is_none_or(|since| run.revision > since)).collect();
        let approvals = overview.approvals();
        let is_news = self.approvals.as_deref() != Some(approvals);
        if since.is_some() && runs.is_empty() && gone.is_empty() && !is_news {
            return None;
        }
        let news = News {
            now_ms: now_ms(),
            whole: since.is_none(),
            runs,
            gone,
            unlisted: overview.runs().count().saturating_sub(MOST_LISTED),
            approvals: is_news.then_some(approvals),
        };
        let message = event("news", &news);
        self.revision = Some(overview.revision());
        self.approvals = Some(approvals.to_vec());
        Some(message)
    }
}
