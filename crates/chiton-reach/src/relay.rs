//! The relay: joins a pipe to the host, starts the host where there is none, and may die at any moment.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::{Arrival, VERSION, encode, put};
use crate::logind::{Habit, habit};
use crate::program::hash_of;
use crate::socket;

/// How long a host may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether this program is the one of that hash.
pub fn verify(hash: &str) -> io::Result<bool> {
    Ok(hash_of(&mut File::open("/proc/self/exe")?)? == hash)
}

/// What a relay needs to know.
#[derive(Debug)]
pub struct Relay<'a> {
    /// The word by which the near side recognises what we say.
    pub nonce: &'a str,
    /// Where the state is.
    pub state: &'a Path,
}

/// Where the host comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundHost {
    /// It was there.
    There,
    /// The relay started it.
    Started,
}

impl Relay<'_> {
    /// Joins standard input and output to the host, until one of them ends. `facts` is what the near side wants to know about
    /// this machine.
    pub fn run(self, facts: impl FnOnce(FoundHost) -> Vec<u8>) -> io::Result<()> {
        let (mut host, found) = match self.host() {
            Ok(host) => host,
            Err(error) => {
                let error = error.to_string().replace('\n', " ");
                println!("chiton-boot {} failed {error}", self.nonce);
                return Ok(());
            }
        };
        let environment = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())).collect();
        let arrival = Arrival {
            version: VERSION,
            program: own_program()?.into_os_string().into_vec(),
            directory: env::current_dir().map(|path| path.into_os_string().into_vec()).unwrap_or_default(),
            environment,
            facts: facts(found),
        };
        let mut first = Vec::new();
        put(&mut first, 0, 0, &encode(&arrival));
        host.write_all(&first)?;

        let mut stdout = io::stdout().lock();
        writeln!(stdout, "chiton-link {VERSION} {}", self.nonce)?;
        stdout.flush()?;
        drop(stdout);

        let mut from_host = host.try_clone()?;
        thread::spawn(move || {
            if let Ok(mut stdout) = as_file(&io::stdout()) {
                let _ = pass_on(&mut from_host, &mut stdout);
            }
            // The host has closed the connection, or nobody listens to us; whoever writes to us need not go on.
            std::process::exit(0)
        });
        pass_on(&mut as_file(&io::stdin())?, &mut host)?;
        host.shutdown(Shutdown::Write)
    }

    /// The host, started where there is none.
    fn host(&self) -> io::Result<(UnixStream, FoundHost)> {
        let folder = socket::folder(self.state)?;
        let job = env::var("SLURM_JOB_ID").ok();
        let name = socket::name(job.as_deref());
        if let Ok(host) = socket::connect(&folder, &name) {
            return Ok((host, FoundHost::There));
        }
        let began = Instant::now();
        loop {
            start(self.state)?;
            match socket::connect(&folder, &name) {
                Ok(host) => return Ok((host, FoundHost::Started)),
                // Another one was just ending, or is just beginning.
                Err(_) if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Starts a host that outlives us, and waits until it listens or says why not.
#[expect(clippy::disallowed_methods, reason = "the host is not a command of a user; it is this program")]
fn start(state: &Path) -> io::Result<()> {
    let program = own_program()?;
    let mut command = match habit() {
        Habit::SparesScopes | Habit::EndsAll => {
            let mut command = Command::new("systemd-run");
            command.args(["--user", "--scope", "--quiet", "--collect", "--"]).arg(&program);
            command
        }
        Habit::None | Habit::LeavesAlone => Command::new(&program),
    };
    command.arg("--state-dir").arg(state).args(["host", "--behind"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut host = command.spawn()?;
    let mut said = String::new();
    if let Some(mut stdout) = host.stdout.take() {
        // It closes its output when it listens, or ends.
        stdout.read_to_string(&mut said)?;
    }
    if said.trim() == "ready" {
        return Ok(());
    }
    let mut complaint = String::new();
    if let Some(mut stderr) = host.stderr.take() {
        stderr.read_to_string(&mut complaint)?;
    }
    host.wait()?;
    let complaint = complaint.trim();
    Err(io::Error::other(format!("the host on the far side does not start: {complaint}")))
}

/// Where this program is. Somebody may have put the very same one in its place meanwhile: what it is called says what is in it.
fn own_program() -> io::Result<PathBuf> {
    let path = env::current_exe()?.into_os_string().into_vec();
    let path = path.strip_suffix(b" (deleted)").map(<[u8]>::to_vec).unwrap_or(path);
    Ok(OsString::from_vec(path).into())
}

/// Passes bytes on as they come. Not with `io::copy`: that has the kernel move them, and some kernels do not wake whoever waits
/// at the other end of a socket then.
fn pass_on(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A stream of ours without the buffer that the library puts before it.
fn as_file(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Stops the host of this state directory; gives whether there was one.
pub fn stop(state: &Path) -> io::Result<bool> {
    let folder = socket::folder(state)?;
    let job = env::var("SLURM_JOB_ID").ok();
    let Ok(mut host) = socket::connect(&folder, &socket::name(job.as_deref())) else { return Ok(false) };
    let arrival = Arrival {
        version: VERSION,
        program: Vec::new(),
        directory: state.as_os_str().as_bytes().to_vec(),
        environment: Vec::new(),
        facts: Vec::new(),
    };
    let mut first = Vec::new();
    // An arrival without a program is the word to end.
    put(&mut first, 0, 0, &encode(&arrival));
    host.write_all(&first)?;
    // It closes the connection when it has let go of its socket.
    host.read_to_end(&mut Vec::new())?;
    Ok(true)
}
