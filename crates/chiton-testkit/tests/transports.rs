//! Each way to another machine, with a plain `sh` at its other end: bytes arrive as they were sent, endings are told, and
//! nothing is left behind.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the clients are real ones, without the engine")]

#[path = "transports/carried.rs"]
mod carried;
#[path = "transports/containers.rs"]
mod containers;
#[path = "transports/hygiene.rs"]
mod hygiene;
#[path = "transports/kube.rs"]
mod kube;
#[path = "transports/network.rs"]
mod network;
#[path = "transports/slurm.rs"]
mod slurm;
#[path = "transports/ssh.rs"]
mod ssh;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use chiton_testkit::dice::Dice;
use chiton_testkit::processes::{eventually, mentioning};

/// How long anything may take before a test says that it does not come.
const LIMIT: Duration = Duration::from_mins(1);

/// The client with what it is to do over there.
fn client(words: &[String], rest: &[&str]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(rest);
    command
}

/// Gives the client this input to its end; gives what it did.
fn fed(mut client: Command, input: &[u8]) -> Output {
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = client.spawn().expect("the client starts");
    let mut stdin = running.stdin.take().expect("it was asked for");
    thread::scope(|scope| {
        // A client that ends early does not read the rest, which is not this side's concern.
        scope.spawn(move || stdin.write_all(input));
        running.wait_with_output().expect("the client ends")
    })
}

/// Five megabytes of anything.
fn any_bytes() -> Vec<u8> {
    let mut dice = Dice::new(5);
    (0..5_000_000).map(|_| u8::try_from(dice.roll(256)).expect("it is below 256")).collect()
}

/// What holds for each of them: `cat` gives back what it got, byte by byte, and a script read from standard input ends
/// as it says.
fn works(words: &[String], shell: &[&str]) {
    let bytes = any_bytes();
    let copied = fed(client(words, &["cat"]), &bytes);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert!(copied.stdout == bytes, "{} of {} bytes came back, or others", copied.stdout.len(), bytes.len());

    let told = fed(client(words, shell), b"echo out; echo err >&2; exit 7\n");
    assert_eq!(told.status.code(), Some(7), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(told.stdout, b"out\n");
    assert!(String::from_utf8_lossy(&told.stderr).contains("err\n"));
}

/// Starts a client whose command says `begun`; gives it when that has come.
fn begun(words: &[String], command: &[&str]) -> Child {
    let mut command = client(words, command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = command.spawn().expect("the client starts");
    let mut said = [0; 6];
    let output = running.stdout.as_mut().expect("it was asked for");
    output.read_exact(&mut said).expect("the command says that it runs");
    assert_eq!(&said, b"begun\n");
    running
}

fn kill(client: &mut Child) {
    client.kill().expect("it is our child");
    client.wait().expect("it is our child");
}

/// Nothing of a fixture is left: no process that names its folder, no mount below it, and not the folder.
fn is_gone(folder: &Path) {
    let text = folder.to_str().expect("temporary folders have plain names");
    assert!(eventually(LIMIT, || mentioning(text).is_empty()), "still there: {:?}", mentioning(text));
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the system says what is mounted");
    assert!(!mounts.contains(text), "still mounted: {mounts}");
    assert!(!folder.exists(), "{text} is left");
}
