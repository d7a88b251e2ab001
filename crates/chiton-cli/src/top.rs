//! `chiton top`: everything that runs or ran, live, in a terminal.

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use chiton_engine::Tasks;
use chiton_engine::clock::now_ms;
use chiton_engine::consent::Answer;
use chiton_engine::tasks::link::Killed;
use chiton_watch::overview::Overview;
use chiton_watch::top::{Deed, Key, Terminal, Top};
use clap::Args;
use crossterm::event::{Event, EventStream};
use futures_core::Stream;
use tokio::signal::unix::{SignalKind, signal};

use crate::settings::Settings;
use crate::{audit, person};

/// How often everything is looked at anew.
const REFRESH: Duration = Duration::from_millis(500);

/// Watch everything that runs or ran, and step in
#[derive(Args)]
#[command(after_help = "\
Everything under the state directory is shown, whichever server or terminal started it: first what needs a person (a question
of the guard, a program that waits for input), then what runs, then what has ended. `?` lists the keys.

As long as it is open, what the guard asks about comes here, too: also from clients that cannot ask themselves, whose commands
would be refused otherwise. Whoever answers first decides.")]
pub(crate) struct TopArguments {}

pub(crate) async fn top(settings: &Settings, state: &Path) -> Result<ExitCode> {
    ensure!(
        io::stdin().is_terminal() && io::stdout().is_terminal(),
        "chiton top needs a terminal; `chiton ps --all` lists the same, `--json` for programs"
    );
    ensure!(
        std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb"),
        "this terminal cannot be drawn on (TERM says so); `chiton ps --all` lists the same"
    );
    let mut overview = Overview::new(state);
    // A command that opens this sees what there is. It is nobody who could be asked.
    let watch = if person::required("answers").is_ok() { overview.desk().watch() } else { None };
    let terminal = Terminal::open().context("the terminal cannot be used")?;
    let done = watch_on(terminal, &mut overview, settings, state).await;
    drop(watch);
    done.map(|()| ExitCode::SUCCESS)
}

async fn watch_on(mut terminal: Terminal, overview: &mut Overview, settings: &Settings, state: &Path) -> Result<()> {
    let tasks = Tasks::new(state);
    let mut top = Top::new(std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()));
    let mut events = EventStream::new();
    let (mut terminated, mut hung_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    let mut ticks = tokio::time::interval(REFRESH);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let deed = tokio::select! {
            _ = ticks.tick() => {
                overview.refresh().await;
                top.update(overview, now_ms());
                None
            }
            event = poll_fn(|context| Pin::new(&mut events).poll_next(context)) => match event {
                Some(Ok(event)) => pressed(&mut top, &event),
                // The terminal is gone.
                Some(Err(_)) | None => return Ok(()),
            },
            _ = terminated.recv() => return Ok(()),
            _ = hung_up.recv() => return Ok(()),
        };
        match deed {
            Some(Deed::Quit) => return Ok(()),
            Some(Deed::Attach(id)) => {
                // Nobody else may read keys meanwhile.
                drop((events, terminal));
                let attached = attach(state, &id).await;
                terminal = Terminal::open()?;
                events = EventStream::new();
                top.say(attached.map_or_else(|error| format!("{error:#}"), |()| format!("detached from {id}")));
            }
            Some(deed) => {
                let said = carry_out(&deed, &tasks, overview, settings, state).await;
                top.say(said.unwrap_or_else(|error| format!("{error:#}")));
                overview.refresh().await;
                top.update(overview, now_ms());
            }
            None => {}
        }
        if let Some(run) = top.wanted().cloned()
            && let Some(near) = chiton_watch::near(&tasks, &run).await
        {
            top.show(near);
        }
        terminal.draw(|canvas| top.draw(canvas))?;
    }
}

fn pressed(top: &mut Top, event: &Event) -> Option<Deed> {
    top.press(Key::of(event)?)
}

/// Does what somebody wants, and says what came of it.
async fn carry_out(
    deed: &Deed,
    tasks: &Tasks,
    overview: &Overview,
    settings: &Settings,
    state: &Path,
) -> Result<String> {
    Ok(match deed {
        Deed::Kill(id) => {
            audit::note_task(settings, state, "kill", "kill", id);
            match tasks.kill(id, None).await? {
                Killed::Stopped(task) => format!("{} has ended, with everything it started", task.id),
                Killed::AlreadyStopped(task) => format!("{} had ended already ({})", task.id, task.status),
                Killed::Survived(task) => format!("{} was asked to end and is still there", task.id),
            }
        }
        Deed::Release(id) => {
            tasks.release(id).await?;
            audit::note_task(settings, state, "release", "release", id);
            format!("{id} goes on; the call that waited for it returns")
        }
        Deed::Answer(id, answer) => {
            overview.desk().answer(id, *answer).await?;
            match answer {
                Answer::Once => "it may run, this once".to_owned(),
                Answer::Session => "it may run, also when it comes again in this session".to_owned(),
                Answer::No | Answer::Undecided => "it does not run".to_owned(),
            }
        }
        Deed::Quit | Deed::Attach(_) => String::new(),
    })
}

/// Hands the terminal over to `chiton attach`. A process of its own: whoever reads keys there stops with it.
#[expect(clippy::disallowed_methods, reason = "it is this very program, for the person at the terminal")]
async fn attach(state: &Path, id: &str) -> Result<()> {
    let program = std::env::current_exe()?;
    let mut command = std::process::Command::new(program);
    command.arg("--state-dir").arg(state).args(["attach", id]);
    let status = tokio::task::spawn_blocking(move || command.status()).await??;
    if !status.success() {
        bail!("chiton attach {id} came back with {status}");
    }
    Ok(())
}
