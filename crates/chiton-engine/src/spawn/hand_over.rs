//! Gives a command to whoever runs it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::{Attendance, LaunchSettings, Launched, OpenRun, Runner};
use crate::audit::Journal;
use crate::enclosure::Enclosure;
use crate::error::StartError;
use crate::process::ShellKind;
use crate::process::delivery::{self, Delivery};
use crate::process::keeper_process::Keeper;
use crate::process::order::{give_order, memory_file};
use crate::protocol::{Input, Order, RunPlan, ShellPlan};
use crate::request::{AnswerMode, CommandInput, OnTimeout};
use crate::secrets::ResolvedCommand;
use crate::session::StartingPoint;
use crate::state::bash::load::{self, LoadOptions};
use crate::state::posix;
use crate::warm::spare::{Afterwards, Begun};

/// Hands the command over. `announce` says that it is started now, before it is; where that fails, it is not started.
pub(super) fn hand_over(
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    run: &OpenRun,
    runner: Runner,
    settings: &LaunchSettings<'_>,
    announce: impl FnOnce() -> Result<(), StartError>,
) -> Result<Launched, StartError> {
    let program = settings.keeper.to_owned();
    let mut plan = run_plan(command, delivery, start, run, settings);
    plan.in_branch &= matches!(&runner, Runner::Spare(spare) if spare.branches());
    let handed_over = match runner {
        // Its keeper looks after the folder from now on, also where nothing is run in it.
        Runner::Spare(spare) => {
            let tells = plan.in_branch && !plan.changes_nothing;
            let tells = tells.then(|| tell(command, start)).flatten();
            let afterwards = Afterwards { tells, stays: delivery.expected().can_stay };
            // Its keeper wakes up while this is written down, unless that decides whether anything is run.
            let mut announce = Some(announce);
            let mut announce_once = || announce.take().map_or(Ok(()), |announce| announce());
            if settings.journal.is_some_and(Journal::is_required) {
                announce_once()?;
            }
            let expecting = spare.expect(&plan);
            announce_once()?;
            expecting.and_then(|spare| spare.begin(command.script(), &afterwards, &plan)).inspect(|_| run.keep())
        }
        Runner::Keeper(mut keeper, lock) => {
            announce()?;
            let ordered = order_run((&keeper, &lock), command, delivery, start, plan, settings);
            // One that was gone before it was given anything may have said why. Nobody else's words are taken here: a
            // command may have ended by now, and its keeper with it.
            if ordered.is_err()
                && let Some(reason) = keeper.last_words()
            {
                return Err(StartError::Shell(reason));
            }
            ordered.map(|()| Begun { keeper, pid: None, held: None })
        }
    };
    match handed_over {
        Ok(Begun { keeper, pid, held }) => Ok(Launched { keeper, program, pid, held, place: None }),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StartError::KeeperVanished(program)),
        Err(error) => Err(StartError::HandOver(error)),
    }
}

/// What a branch evaluates after the command, to tell what that changed.
fn tell(command: &ResolvedCommand, start: &StartingPoint) -> Option<String> {
    let script = command.parsed().as_ref().ok()?;
    let footprint = delivery::footprint(script, &start.state)?;
    Some(delivery::hand_back_part(&footprint, &start.state))
}

fn order_run(
    (keeper, lock): (&Keeper, &File),
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    plan: RunPlan,
    settings: &LaunchSettings<'_>,
) -> io::Result<()> {
    let (request, enclosure) = (command.request(), settings.enclosure.map(Arc::as_ref));
    let shell = request.shell.as_ref().unwrap_or(settings.usual_shell);
    let called_as = request.called_as.as_deref().unwrap_or(shell.usual_name());
    let (shared, shared_folder) = keeper.shared(enclosure);
    let options = LoadOptions { shared, exit_trap: delivery.exit_trap() };
    let (loader, script) = match shell.kind() {
        ShellKind::Bash => (load::loader(&start.state, called_as, &options), command.script().to_vec()),
        ShellKind::Posix => (posix::loader(&start.state, &options), delivery::posix_script(command.script())),
    };
    let (loader, script) = (Zeroizing::new(loader), Zeroizing::new(script));

    let text_input;
    let input: Option<BorrowedFd<'_>> = match &request.input {
        CommandInput::Nothing | CommandInput::Open => None,
        CommandInput::Descriptor(descriptor) => Some(descriptor.as_fd()),
        CommandInput::Text(text) => {
            text_input = memory_file(text)?;
            Some(text_input.as_fd())
        }
    };

    let shell = ShellPlan {
        folder: plan.folder.clone(),
        program: shell.path().as_os_str().as_encoded_bytes().into(),
        forms: delivery::forms(shell, called_as, &request.command, delivery, &options.shared),
        environment: load::environment(&start.state).into_iter().map(Into::into).collect(),
        directory: OsStr::as_encoded_bytes(start.state.cwd.as_os_str()).into(),
        directory_id: start.directory_id,
        input: match request.input {
            CommandInput::Nothing => Input::Nothing,
            CommandInput::Text(_) | CommandInput::Descriptor(_) => Input::Given,
            CommandInput::Open => Input::Open,
        },
        streams: request.streams,
        stem: false,
        terminal: request.terminal,
        shared: shared_folder.map(|folder| folder.as_os_str().as_encoded_bytes().into()),
        enclosed: enclosure.map(|enclosure| Box::new(enclosure.plan())),
        masks: command.masks().iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect(),
    };

    let (loader, script) = (memory_file(&loader)?, memory_file(&script)?);
    let order = Order::Run(Box::new(shell), Box::new(plan));
    let files = [loader.as_fd(), script.as_fd(), lock.as_fd()];
    let enclosing = enclosure.into_iter().flat_map(Enclosure::files);
    give_order(keeper, order, &files.into_iter().chain(input).chain(enclosing).collect::<Vec<_>>())
}

fn run_plan(
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    run: &OpenRun,
    settings: &LaunchSettings<'_>,
) -> RunPlan {
    let (request, folder) = (command.request(), run.folder.path());
    let mut stop = settings.limits.stop;
    stop.grace = request.grace.unwrap_or(stop.grace);
    let mut spool = settings.limits.spool;
    spool.per_run = run.allowance.bytes;
    RunPlan {
        folder: folder.to_owned(),
        directory: OsStr::as_encoded_bytes(start.state.cwd.as_os_str()).into(),
        tells_waiting: request.until_input && request.terminal.is_some(),
        timeout: request.timeout.filter(|_| request.on_timeout == OnTimeout::Stop),
        silence: request.silence,
        lifetime: request.lifetime,
        session: settings.session.name().map(str::to_owned),
        client: settings.session.client().map(str::to_owned),
        owner: settings.owner.cloned(),
        transcript: request.transcript.then(|| folder.join("output.log").as_os_str().as_encoded_bytes().into()),
        // A value that the command knows may be in what it leaves, and its own answer has to say so.
        answer_first: request.answer == AnswerMode::BeforeState && !command.holds_values(),
        changes_nothing: delivery.expected().changes_nothing,
        // A task may go on for days, and a stem would wait as long; and what a branch uses is not known.
        in_branch: delivery.expected().in_branch
            && request.answer == AnswerMode::BeforeState
            && settings.attendance == Attendance::Foreground,
        shown_whole: request.shown_whole.unwrap_or_else(|| request.view.unwrap_or(settings.limits.view).whole()),
        request: run.request.clone(),
        background: settings.attendance == Attendance::Background,
        journal: settings.journal.map(Journal::plan),
        notify: settings.notify.cloned(),
        stop,
        spool,
    }
}
