//! What a command uses is limited: others are answered meanwhile, the limit is named, and nothing of it is left.
//!
//! Nothing here multiplies without end: what is called a bomb starts two thousand processes at most.
#![cfg(test)]

mod harness;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chiton_engine::sandbox::policy::{SandboxLimits, SandboxPolicy};
use chiton_engine::{
    CommandRequest, Outcome, RunControl, RunReport, Session, Silent, StartedTask, TaskLifetime, WarmLimits,
};
use chiton_testkit::processes::marked;
use harness::{Harness, enclosed, mark, marked_request, runtime};

/// Each of these tests uses all processors for a while, so they wait for one another.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts two processes, each of which starts two more, eleven times.
const BOMB: &str = "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & wait; else sleep 30; fi; }; f 10";
/// Takes forty megabytes in each of fifty processes.
const HOG: &str = "for i in {1..50}; do python3 -c 'x = bytearray(40 << 20); import time; time.sleep(30)' & done; wait";

struct Place {
    /// Where much is used. No shell waits for its next command, so that what is left is left by that.
    harness: Harness,
    /// Where others work meanwhile.
    others: Harness,
    session: Session,
    folder: tempfile::TempDir,
}

fn place(limits: SandboxLimits) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root: PathBuf = folder.path().canonicalize().unwrap();
    let policy = SandboxPolicy { limits, ..enclosed(&root) };
    let others = Harness::with(|config| config.sandbox = Some(policy.clone()));
    let harness = Harness::with(|config| {
        config.sandbox = Some(policy);
        config.limits.warm = WarmLimits::none();
    });
    let session = harness.session_in(&root);
    Place { harness, others, session, folder }
}

impl Place {
    /// Runs a command that uses much, and answers others all the while; gives the longest of these answers.
    async fn run_beside_others(&self, command: &str, mark: &str) -> (RunReport, Duration) {
        let mut longest = Duration::ZERO;
        let other = self.others.session_in(self.folder.path());
        // Its sandbox is made before there is a crowd.
        self.others.run(&other, "true").await;
        let running = self.harness.request(&self.session, marked_request(command, mark));
        tokio::pin!(running);
        loop {
            let begun = Instant::now();
            let answer = async {
                let report = self.others.run(&other, "echo here").await;
                assert_eq!(report.stdout.to_text(), "here\n");
                begun.elapsed()
            };
            tokio::select! {
                report = &mut running => return (report, longest),
                took = answer => longest = longest.max(took),
            }
        }
    }
}

/// Waits until nothing with this mark is left; gives how long that took.
fn until_gone(mark: &str) -> Duration {
    let begun = Instant::now();
    while !marked(mark).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "still there: {:?}", marked(mark));
        std::thread::sleep(Duration::from_millis(20));
    }
    begun.elapsed()
}

#[test]
fn a_bomb_ends_at_its_limit_and_others_are_answered() {
    let _alone = alone();
    let (place, mark) = (place(SandboxLimits { processes: Some(200), ..SandboxLimits::default() }), mark());
    let (report, longest) = runtime().block_on(place.run_beside_others(BOMB, &mark));
    assert_eq!(report.limit_word(), Some("processes"), "{:?} {:?}", report.outcome, report.notices);
    let named = report.notices.iter().any(|notice| notice.contains("process limit: 200, by bash"));
    assert!(named, "{:?}", report.notices);
    assert!(longest < Duration::from_secs(1), "an answer took {longest:?}");
    assert!(until_gone(&mark) < Duration::from_secs(5));
}

#[test]
fn a_tree_that_takes_too_much_memory_ends_at_its_limit_and_others_are_answered() {
    let _alone = alone();
    let (place, mark) = (place(SandboxLimits { memory: Some(400 << 20), ..SandboxLimits::default() }), mark());
    let (report, longest) = runtime().block_on(place.run_beside_others(HOG, &mark));
    assert_eq!(report.limit_word(), Some("memory"), "{:?} {:?}", report.outcome, report.notices);
    let named = report.notices.iter().any(|notice| notice.contains("memory limit: 400 MiB, by python3"));
    assert!(named, "{:?}", report.notices);
    assert!(longest < Duration::from_secs(1), "an answer took {longest:?}");
    assert!(until_gone(&mark) < Duration::from_secs(5));
}

#[test]
fn a_bomb_below_its_limit_is_gone_soon_after_it_is_stopped() {
    let _alone = alone();
    let (place, mark) = (place(SandboxLimits { processes: Some(5000), ..SandboxLimits::default() }), mark());
    runtime().block_on(async {
        let (control, mut silent) = (RunControl::new(), Silent);
        let mut request = marked_request(BOMB, &mark);
        // What was forked in the very moment has not got the first signal.
        request.grace = Some(Duration::from_secs(1));
        let running = place.harness.engine.run(&place.session, request, &mut silent, &control);
        let stopping = async {
            while tokio::task::block_in_place(|| marked(&mark).len()) < 500 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            control.kill();
            Instant::now()
        };
        let (response, stopped) = tokio::join!(running, stopping);
        let report = response.unwrap().into_ran().unwrap();
        assert!(matches!(report.outcome, Outcome::Killed), "{:?}", report.outcome);
        until_gone(&mark);
        assert!(stopped.elapsed() < Duration::from_secs(5), "it took {:?}", stopped.elapsed());
    });
}

#[test]
fn a_command_that_fills_the_disk_ends_while_some_is_free() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let disk = rustix::fs::statvfs(folder.path()).unwrap();
    let floor = (disk.f_bavail * disk.f_frsize).saturating_sub(200 << 20);
    let place = place(SandboxLimits { free: Some(floor), ..SandboxLimits::default() });
    let fill = "for i in {1..200}; do head -c 20000000 /dev/zero > file$i; sleep 0.02; done";
    let report = runtime().block_on(place.harness.run(&place.session, fill));
    assert_eq!(report.limit_word(), Some("free"), "{:?} {:?}", report.outcome, report.notices);
    assert!(report.notices.iter().any(|notice| notice.contains("disk limit: less than")), "{:?}", report.notices);
    let written = fs::read_dir(place.folder.path()).unwrap().count();
    assert!(written < 150, "{written} files were written");
}

#[test]
fn the_kernel_takes_a_command_before_its_keeper() {
    let _alone = alone();
    let place = place(SandboxLimits::default());
    let command = "cat /proc/self/oom_score_adj; cat /proc/$PPID/oom_score_adj";
    let report = runtime().block_on(place.harness.run(&place.session, command));
    let text = report.stdout.to_text();
    let mut scores = text.lines().map(|line| line.parse::<i32>().unwrap());
    let (command, keeper) = (scores.next().unwrap(), scores.next().unwrap());
    assert!(command > keeper, "{command} and {keeper}");
}

#[test]
fn a_silent_task_with_limits_sleeps() {
    let limits =
        SandboxLimits { memory: Some(8 << 30), processes: Some(4096), free: Some(1 << 20), ..SandboxLimits::default() };
    let place = place(limits);
    runtime().block_on(async {
        let request = CommandRequest { task_lifetime: TaskLifetime::Durable, ..CommandRequest::new("sleep 300") };
        let StartedTask::Started(task) = place.harness.engine.start(&place.session, request).await.unwrap() else {
            panic!("it was not started")
        };
        let start =
            fs::read_to_string(place.harness.folder.path().join("state/runs").join(&task.id).join("start.json"));
        let start: serde_json::Value = serde_json::from_str(&start.unwrap()).unwrap();
        let switches = || {
            let status = fs::read_to_string(format!("/proc/{}/status", start["keeper"])).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        // Whoever looks at its command every second wakes up in each of these; whoever looks ever more rarely does not.
        let mut sleeps = false;
        for _ in 0..4 {
            let before = switches();
            tokio::time::sleep(Duration::from_secs(4)).await;
            sleeps = switches() == before;
            if sleeps {
                break;
            }
        }
        place.harness.engine.tasks().kill(&task.id, None).await.unwrap();
        assert!(sleeps, "the keeper wakes up all the time");
    });
}
