//! Questions that wait for a person who looks at them from another process: `chiton top`, or the page of `chiton ui`.
//!
//! 1. Whoever asks lays the question into a folder of the state directory, and listens there for its answer. The folder
//!    lasts as long as the question. One whose asker is gone is known by its lock, and removed.
//! 2. Whoever looks at the desk holds a lock, too, so that the one who asks knows whether somebody is there.
//! 3. The answer comes over a socket. A command that Chiton runs is not a person: who is at the other end is told by the
//!    tree of processes.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize, Serializer};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{Answer, Approver, Question};
use crate::ancestry::Family;
use crate::bytes::encode_hex;
use crate::clock;
use crate::folder::{make_own, through_descriptor};

/// The folder of the questions, in the state directory.
const FOLDER: &str = "asking";
/// Held by those who look.
const WATCHED: &str = "watched";
const QUESTION: &str = "question.json";
/// How long somebody who looks may take to decide.
const LONGEST: Duration = Duration::from_mins(10);
/// How often one who asks makes sure that somebody still looks.
const LOOK: Duration = Duration::from_secs(1);
/// How long one who connects may take to say what the answer is, and one who asks to confirm it.
const EXCHANGE: Duration = Duration::from_secs(5);
const MOST_BYTES: u64 = 64;
const TAKEN: &str = "taken";

/// The questions under a state directory that wait for a person.
#[derive(Clone, Debug)]
pub struct Desk {
    folder: PathBuf,
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its name.
    pub id: String,
    /// When it was asked, in milliseconds since 1970.
    pub asked_ms: u64,
    /// The question in one sentence.
    pub heading: String,
    /// All of it, with everything visible that could deceive.
    pub text: String,
    /// What the answers mean.
    pub answers: String,
    /// The command, whole.
    pub command: String,
    /// Where it would run; what of it is not text is replaced.
    #[serde(serialize_with = "as_text")]
    pub directory: PathBuf,
    /// The session it belongs to, where that has a name.
    pub session: Option<String>,
    /// The client that wants to run it, by the name that it gives itself.
    pub owner: Option<String>,
}

fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Why an answer did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// There is no such question any more.
    #[error("the question {0} is not open any more: it was answered, or whoever asked is gone")]
    Gone(String),
    /// The one who asked does not take it.
    #[error("the answer was not taken: {0}")]
    Refused(String),
    /// It is not one that decides.
    #[error("this is not an answer: once, session or no")]
    Undecided,
    /// It could not be said.
    #[error("the question cannot be answered: {0}")]
    Failed(#[from] io::Error),
}

/// Somebody looks at the desk, for as long as this lasts.
#[derive(Debug)]
pub struct Watch(#[expect(dead_code, reason = "the lock goes with the file")] File);

/// On whose behalf a question is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Whose<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) owner: Option<&'a str>,
}

impl Desk {
    /// The questions under `state_directory`.
    pub fn new(state_directory: &Path) -> Self {
        Self { folder: state_directory.join(FOLDER) }
    }

    /// From now on somebody looks at the desk, and can be asked.
    pub fn watch(&self) -> io::Result<Watch> {
        make_own(&self.folder)?;
        let file = self.watched()?;
        file.lock_shared()?;
        Ok(Watch(file))
    }

    fn watched(&self) -> io::Result<File> {
        File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(self.folder.join(WATCHED))
    }

    /// Whether somebody looks.
    pub fn is_watched(&self) -> bool {
        self.watched().is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// The questions that wait, the oldest first.
    pub fn waiting(&self) -> Vec<Waiting> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<Waiting> = entries.filter_map(|entry| waiting(&entry.path())).collect();
        found.sort_by(|one, other| (one.asked_ms, &one.id).cmp(&(other.asked_ms, &other.id)));
        found
    }

    /// Answers a question.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<(), DeskError> {
        let word = answer.word().ok_or(DeskError::Undecided)?;
        let gone = || DeskError::Gone(id.to_owned());
        if !is_name(id) {
            return Err(gone());
        }
        let connected = through_descriptor(&self.folder.join(id), |path| UnixStream::connect(path));
        let stream = connected.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => gone(),
            _ => error.into(),
        })?;
        stream.set_nonblocking(true)?;
        let mut stream = tokio::net::UnixStream::from_std(stream)?;
        let said = tokio::time::timeout(EXCHANGE, async {
            stream.write_all(format!("{word}\n").as_bytes()).await?;
            let mut said = String::new();
            stream.take(MOST_BYTES * 16).read_to_string(&mut said).await?;
            Ok::<_, io::Error>(said)
        });
        match said.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?.as_deref() {
            Ok(TAKEN) => Ok(()),
            // Somebody else was faster.
            Ok("") => Err(gone()),
            Ok(why) => Err(DeskError::Refused(why.to_owned())),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string()).into()),
        }
    }

    fn lay(&self, question: &Question, whose: Whose<'_>) -> io::Result<Laid> {
        make_own(&self.folder)?;
        let mut random = [0u8; 8];
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())?;
        let id = encode_hex(&random);
        let path = self.folder.join(&id);
        let waiting = Waiting {
            asked_ms: clock::now_ms(),
            heading: question.kind.heading().to_owned(),
            text: question.text(),
            answers: question.kind.answers().to_owned(),
            command: question.command.clone(),
            directory: question.directory.clone(),
            session: whose.session.map(ToOwned::to_owned),
            owner: whose.owner.map(ToOwned::to_owned),
            id,
        };
        DirBuilder::new().mode(0o700).create(&path)?;
        let made = Made(path);
        let listener = through_descriptor(&made.0, |path| UnixListener::bind(path))?;
        listener.set_nonblocking(true)?;
        // Under another name first: whoever finds it finds it whole and locked.
        let beside = made.0.join(".question");
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.lock()?;
        serde_json::to_writer(&mut file, &waiting)?;
        fs::rename(beside, made.0.join(QUESTION))?;
        Ok(Laid { listener: tokio::net::UnixListener::from_std(listener)?, _lock: file, _made: made })
    }
}

/// The question in a folder, where whoever asked is there.
fn waiting(folder: &Path) -> Option<Waiting> {
    if !is_name(folder.file_name()?.to_str()?) {
        return None;
    }
    let Ok(file) = File::open(folder.join(QUESTION)) else {
        // Whoever made it is about to write the question, or has died before that.
        let made = fs::metadata(folder).and_then(|data| data.modified()).ok()?;
        if SystemTime::now().duration_since(made).is_ok_and(|age| age > LONGEST) {
            let _ = fs::remove_dir_all(folder);
        }
        return None;
    };
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        let _ = fs::remove_dir_all(folder);
        return None;
    }
    serde_json::from_reader(io::BufReader::new(file)).ok()
}

fn is_name(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A question on the desk. It is gone with this.
struct Laid {
    listener: tokio::net::UnixListener,
    _lock: File,
    _made: Made,
}

/// The folder of a question, removed at the end.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Laid {
    /// Waits for an answer. Loses nothing if it is dropped while it waits.
    async fn answered(&self) -> Answer {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Ok(Ok(Some(answer))) = tokio::time::timeout(EXCHANGE, hear(stream)).await {
                        return answer;
                    }
                }
                // Out of descriptors, say: others may soon close some.
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }
}

/// What one who connects has to say.
async fn hear(mut stream: tokio::net::UnixStream) -> io::Result<Option<Answer>> {
    let credentials = stream.peer_cred()?;
    let is_own = credentials.uid() == rustix::process::geteuid().as_raw();
    // The number is 0 where the other one is outside of our view of this machine: no command of ours is.
    let is_command = credentials.pid().is_some_and(|pid| pid > 0 && Family::now().is_of_a_command(pid));
    // Read in any case: whoever is hung up on with words unread does not get ours.
    let mut line = String::new();
    let heard = BufReader::new((&mut stream).take(MOST_BYTES)).read_line(&mut line).await;
    let answer = heard.ok().and_then(|_| Answer::from_word(line.trim_end()));
    let (answer, reply) = match answer {
        _ if !is_own => (None, "it came from another user"),
        _ if is_command => (None, "a command cannot agree to what a command wants"),
        None => (None, "an answer is once, session or no"),
        answer => (answer, TAKEN),
    };
    stream.write_all(reply.as_bytes()).await?;
    Ok(answer)
}

/// Asks everybody who can be asked: the one who came with the request, and whoever looks at the desk. The first who
/// decides counts. `None` where there is nobody.
pub(crate) async fn ask(
    desk: &Desk,
    approver: Option<&Arc<dyn Approver>>,
    question: &Question,
    whose: Whose<'_>,
) -> Option<Result<Answer, String>> {
    if approver.is_none() && !desk.is_watched() {
        return None;
    }
    // Without the desk, say on a full disk, there is still the other one.
    let laid = desk.lay(question, whose).ok();
    let at_the_desk = async {
        match &laid {
            Some(laid) => laid.answered().await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(at_the_desk);
    let first = match approver {
        Some(approver) => tokio::select! {
            answer = approver.ask(question) => Some(answer),
            answer = &mut at_the_desk => return Some(Ok(answer)),
        },
        None => None,
    };
    if matches!(first, Some(Ok(Answer::Once | Answer::Session | Answer::No))) || laid.is_none() {
        return first;
    }
    // A client without a person closes a question by itself. Somebody else may be there.
    tokio::select! {
        answer = at_the_desk => Some(Ok(answer)),
        () = nobody_looks(desk) => first,
        () = tokio::time::sleep(LONGEST) => first.or(Some(Ok(Answer::Undecided))),
    }
}

async fn nobody_looks(desk: &Desk) {
    while desk.is_watched() {
        tokio::time::sleep(LOOK).await;
    }
}
