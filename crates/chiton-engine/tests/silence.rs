//! A limit for silence: a command may take as long as it wants, as long as it says something now and then.

use std::time::Duration;

use chiton_engine::tasks::WaitFor;
use chiton_engine::{CommandRequest, Outcome, RunControl, RunEvent, RunReport, StartedTask, TaskStatus, TimeLimit};

use crate::harness::{Harness, runtime, seconds};

fn request(command: &str, silence: Duration) -> CommandRequest {
    let mut request = CommandRequest::new(command);
    request.silence = Some(silence);
    request
}

fn run(request: CommandRequest) -> RunReport {
    let harness = Harness::new();
    runtime().block_on(harness.request(&harness.session(), request))
}

#[test]
fn a_command_that_prints_every_so_often_outlives_the_limit_in_total() {
    for stream in ["1", "2"] {
        let command = format!("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; printf . >&{stream}; done");
        let response = run(request(&command, seconds(2)));
        assert_eq!(response.outcome, Outcome::Exited(0));
        assert_eq!(response.output.to_text(), "..........");
        assert!(response.duration > seconds(2), "{:?}", response.duration);
        assert_eq!(response.limit, None);
    }
}

#[test]
fn a_silent_command_is_stopped_with_everything_it_started_and_the_limit_is_named() {
    let response = run(request("echo up; sleep 1000 & sleep 1000", Duration::from_millis(400)));
    assert_eq!((&response.outcome, response.limit), (&Outcome::TimedOut, Some(TimeLimit::Silence)));
    assert_eq!(response.stdout.to_text(), "up\n");
    assert!(response.leftovers.is_empty() && response.survivors.is_empty());
    assert!(response.duration >= Duration::from_millis(400));
}

#[test]
fn of_two_limits_the_one_that_was_reached_is_named() {
    let mut both = request("while :; do echo .; sleep 0.1; done", seconds(30));
    both.timeout = Some(Duration::from_millis(700));
    let response = run(both);
    assert_eq!((&response.outcome, response.limit), (&Outcome::TimedOut, Some(TimeLimit::Timeout)));
    let mut both = request("sleep 1000", Duration::from_millis(300));
    both.timeout = Some(seconds(30));
    assert_eq!(run(both).limit, Some(TimeLimit::Silence));
}

#[test]
fn a_task_keeps_its_limit_and_its_record_names_it() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let mut handed_back = request("echo up; sleep 1000", Duration::from_millis(800));
        handed_back.wait = Some(Duration::from_millis(50));
        let response = harness.request(&session, handed_back).await;
        assert_eq!(response.outcome, Outcome::Running);
        let StartedTask::Started(task) =
            harness.engine.start(&session, request("sleep 1000", Duration::from_millis(300))).await.unwrap()
        else {
            panic!("it was not started");
        };
        for id in [response.run_id, task.id] {
            let ended = harness.engine.tasks().wait(&id, WaitFor::default()).await.unwrap().task;
            assert_eq!((ended.status, ended.limit), (TaskStatus::TimedOut, Some(TimeLimit::Silence)));
        }
    });
}

#[test]
fn a_command_that_waits_for_a_slow_reader_is_not_silent() {
    let harness = Harness::new();
    let mut slow = true;
    let mut listener = |event: RunEvent<'_>| {
        // Far longer than the limit, with far more output than is ever queued.
        if matches!(event, RunEvent::Output { .. }) && std::mem::take(&mut slow) {
            std::thread::sleep(seconds(2));
        }
    };
    let request = request("head -c 8000000 /dev/zero; echo end >&2", Duration::from_millis(700));
    let session = harness.session();
    let response = runtime()
        .block_on(harness.engine.run(&session, request, &mut listener, &RunControl::new()))
        .unwrap()
        .into_ran()
        .unwrap();
    assert_eq!(response.outcome, Outcome::Exited(0));
    assert_eq!(response.stderr.to_text(), "end\n");
}

#[test]
fn no_timer_ticks_while_a_command_is_silent() {
    // The keeper is the parent of the shell; how often it gave up the processor is how often it woke up.
    let command = "woken() { while read -r name count; do
            [[ $name != voluntary_ctxt_switches: ]] || woken=$count; done < /proc/$PPID/status; }
        for try in 1 2 3 4 5; do
            woken; before=$woken; sleep 1.5; woken; ((woken == before)) && break
        done; echo $((woken - before))";
    let response = run(request(command, seconds(60)));
    // What it does once it does not do in every second and a half; a timer would.
    assert_eq!(response.stdout.to_text(), "0\n", "the keeper wakes up all the time");
}

#[test]
fn a_limit_of_zero_is_refused_before_anything_starts() {
    let harness = Harness::new();
    let session = harness.session();
    let request = request("true", Duration::ZERO);
    let error =
        runtime().block_on(harness.engine.run(&session, request, &mut chiton_engine::Silent, &RunControl::new()));
    assert!(error.unwrap_err().to_string().contains("silence"));
}
