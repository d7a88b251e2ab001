//! Sees to it that `cargo xtask test` comes to its end, whatever hangs, and that nothing of it stays behind.
//!
//! 1. [`Watch::expect`] says what is done now, and how long that may take without a sign of life; [`Watch::heard`] is one.
//! 2. What takes longer is shown with its processes, which are killed then: whoever waits for them goes on, and says what
//!    failed. A run of tests that waits for ever would say nothing at all.
//! 3. [`Watch::end`] shows and kills what still runs. It might hold the output of this chore open, and keep those waiting
//!    who read that to its end.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use chiton_testkit::processes::{self, Marked};

/// What is done now.
#[derive(Debug, Default)]
struct Stage {
    name: String,
    /// How long it may say nothing.
    patience: Duration,
    /// When that is over; nobody looks after what has no end.
    until: Option<Instant>,
    /// The process that starts those which may hang, and goes on without them.
    spared: Option<u32>,
    /// How often something of it was killed.
    hung: usize,
}

#[derive(Debug, Default)]
struct Shared {
    stage: Mutex<Stage>,
    changed: Condvar,
}

/// Looks after the stages of a test run.
#[derive(Clone, Debug)]
pub(crate) struct Watch(Arc<Shared>);

impl Watch {
    pub(crate) fn begin() -> Self {
        let watch = Self(Arc::default());
        let shared = Arc::clone(&watch.0);
        thread::spawn(move || look_after(&shared));
        watch
    }

    /// From now on this is done, and nothing else.
    pub(crate) fn expect(&self, name: &str, patience: Duration) {
        let until = Instant::now().checked_add(patience);
        *self.stage() = Stage { name: name.to_owned(), patience, until, ..Stage::default() };
        self.0.changed.notify_all();
    }

    /// What is done is done by processes that `pid` starts.
    pub(crate) fn spare(&self, pid: u32) {
        self.stage().spared = Some(pid);
    }

    /// It goes on.
    pub(crate) fn heard(&self) {
        let mut stage = self.stage();
        // What nobody looks after, nobody looks after from now on either.
        if stage.until.is_some() {
            stage.until = Instant::now().checked_add(stage.patience);
        }
    }

    /// How often something of it was killed.
    pub(crate) fn hung(&self) -> usize {
        self.stage().hung
    }

    /// Shows and kills what still runs.
    pub(crate) fn end(&self) {
        self.stage().until = None;
        for process in processes::descendants() {
            println!("Left behind, and killed: {process}");
            process.kill();
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn look_after(shared: &Shared) {
    let mut stage = shared.stage.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = stage.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            kill_what_hangs(&mut stage);
            continue;
        }
        stage = shared.changed.wait_timeout(stage, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn kill_what_hangs(stage: &mut Stage) {
    let spared = stage.spared.map(u32::cast_signed);
    let hanging: Vec<Marked> = processes::descendants().into_iter().filter(|it| Some(it.pid) != spared).collect();
    let seconds = stage.patience.as_secs();
    println!("{} gave no sign of life for {seconds} s, so this is killed:", stage.name);
    for process in &hanging {
        println!("  {process}");
    }
    hanging.iter().for_each(Marked::kill);
    stage.hung += 1;
    stage.until = Instant::now().checked_add(stage.patience);
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::Watch;

    /// A shell that has another program do what would take for ever.
    fn sleeper() -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000; echo ended"]).stdout(Stdio::piped());
        shell
    }

    #[test]
    fn what_hangs_is_killed_and_who_waits_for_it_goes_on() {
        // Those who expect nothing let everybody live.
        Watch::begin().heard();
        let watch = Watch::begin();
        let shell = sleeper().spawn().unwrap();
        watch.expect("a test", Duration::from_millis(200));
        watch.spare(shell.id());
        let output = shell.wait_with_output().unwrap();
        assert_eq!((output.stdout.as_slice(), watch.hung()), (&b"ended\n"[..], 1));
    }
}
