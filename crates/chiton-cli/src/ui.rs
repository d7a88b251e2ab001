//! `chiton ui`: everything that runs, as a web page on this machine.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Result;
use chiton_engine::Session;
use chiton_engine::machine;
use chiton_watch::page::{Link, PageControl, PageOptions, serve_page};
use clap::Args;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::messages::{remark, say};
use crate::settings::Settings;
use crate::{runtime, send, surroundings};

/// Watch everything that runs on a web page, and act on it
#[derive(Args)]
#[command(after_help = "\
The page lists all commands, those that wait for you first, and shows their output and terminals as they change, the
questions that wait for an answer, the journal, and charts of it. It is served on this machine alone.

The link that is printed opens the page once. After that a cookie does, so the page stays open when `chiton ui` is
restarted, and the link of a second `chiton ui` leads to the same page. Without --control the page can change nothing.
What you do there is judged and written down as if you had done it here. Commands that Chiton runs cannot use the page.

Examples:
  chiton ui                      look
  chiton ui --control --open     look and act: stop, type, send, answer; in the browser at once
  chiton ui --port 8700          on this port from now on")]
pub(crate) struct UiArguments {
    /// Also act on the page: stop and release commands, type into their terminals, send text, answer questions
    #[arg(long)]
    control: bool,
    /// The port; 0 for any that is free [default: that of the last time]
    #[arg(long)]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

pub(crate) fn ui(arguments: &UiArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let control = if arguments.control { Some(control(settings, state)?) } else { None };
    let options = PageOptions { state_directory: state.to_owned(), port: arguments.port, control };
    let runtime = runtime::build(Builder::new_multi_thread().worker_threads(2))?;
    runtime.block_on(async {
        let (mut interrupted, mut ended) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let over = async {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = ended.recv() => {}
            }
        };
        let ready = |link: &Link| announce(link, arguments);
        serve_page(options, ready, over).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// What acts for the person at the page.
fn control(settings: &Settings, state: &Path) -> Result<PageControl> {
    let engine = send::engine(settings, state, "ui")?;
    let directory = surroundings::working_directory()?;
    let session = Session::new(engine.fresh_state(directory, surroundings::environment(), machine::umask()));
    Ok(PageControl { engine, session })
}

fn announce(link: &Link, arguments: &UiArguments) {
    let address = match link {
        Link::Serving(address) => {
            say!("{address}");
            let acts =
                if arguments.control { "it can act on commands" } else { "it only shows; --control lets it act" };
            remark(&format!("the link opens the page once; {acts}. Ctrl-C ends it"));
            address
        }
        Link::AlreadyServed(address) => {
            say!("{address}");
            remark("another `chiton ui` serves the page, with its own options; this is one more link to it");
            address
        }
    };
    if arguments.open {
        open(address);
    }
}

fn open(address: &str) {
    #[expect(clippy::disallowed_methods, reason = "the person's own browser, which is not a command of ours")]
    let mut browser = Command::new("xdg-open");
    let started = browser.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // Nobody waits for a browser. Its zombie goes with this process.
        Ok(_) => {}
        Err(error) => remark(&format!("the page cannot be opened by itself, xdg-open says: {error}; open the link")),
    }
}
