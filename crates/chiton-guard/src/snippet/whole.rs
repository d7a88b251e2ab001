//! What only the whole of a code shows: loops that fork, shells for others, hidden text that is run.

use chiton_shell::tree::Span;

use super::calls::last_part;
use super::lexer::Token;
use crate::effect::{Certainty, Depth, Effect, Kind};
use crate::machine::Machine;
use crate::machine::expand::patterned;
use crate::machine::state::World;
use crate::protected::{Places, credentials};
use crate::value::{Labels, Text};

/// Loops, as far as they may end.
const LOOPS: &[&str] = &["while", "for", "loop", "times", "until", "range"];
/// Loops that never end, without blanks.
const ENDLESS_LOOPS: &[&str] = &[
    "whileTrue", "while1", "while(1)", "while(true)", "whiletrue", "loop{", "loopdo", "for(;;)", "forkwhile",
    "whilefork", "while(fork", "for;;", "until0",
];
/// Waits for something, so that a loop does not multiply processes.
const WAITS: &[&str] = &["wait", "sleep", "waitpid", "join", "accept", "communicate"];
/// Connects to another machine.
const CONNECTS: &[&str] =
    &["socket", "TCPSocket", "fsockopen", "connect", "create_connection", "Socket", "createConnection"];
/// Starts a program.
const STARTS: &[&str] = &["dup2", "spawn", "subprocess", "exec", "system", "popen", "proc_open", "Popen", "shell_exec"];
/// Reads what another machine says.
const HEARS: &[&str] = &["recv", "gets", "makefile", "recvfrom"];
/// Shells, as code names them.
const SHELLS: &[&str] = &["/bin/sh", "/bin/bash", "\"sh\"", "'sh'", "cmd.exe"];
/// Sends something over the network.
const TALKS: &[&str] = &[
    "urlopen", "requests", "fetch", "axios", "socket", "http", "https", "urllib", "httpx", "Net", "LWP", "curl_exec",
    "file_get_contents",
];
/// All variables of the environment, without blanks.
const ENVIRONMENTS: &[&str] = &[
    "dict(os.environ)", "(os.environ)", "=os.environ)", "=os.environ,", "os.environ.items", "os.environ.copy",
    "dict(environ)", "stringify(process.env)", "(process.env)", "...process.env", "ENV.to_h", "ENV.to_a",
    "ENV.inspect", "%ENV", "getenv())", "json_encode($_ENV", "json_encode($_SERVER", "os.Environ()",
    "System.getenv())",
];
/// Services of clouds that hand out credentials.
const METADATA: &[&str] = &["169.254.169.254", "169.254.170.2", "metadata.google.internal", "100.100.100.200"];
/// Lists files.
const LISTS: &[&str] =
    &["glob", "listdir", "walk", "scandir", "iterdir", "readdirSync", "rglob", "readdir", "each_child"];
/// Deletes files.
const DELETES: &[&str] = &["remove", "unlink", "rmtree", "rmSync", "unlinkSync", "rm_rf", "rmdir", "delete"];
/// Gives text back that was hidden or fetched.
const REVEALS: &[&str] = &[
    "b64decode", "decodestring", "fromhex", "unhexlify", "decompress", "atob", "base64_decode", "decode64", "unpack",
    "rot13", "str_rot13", "urlopen", "urlretrieve", "fetch", "gzinflate",
];
/// Runs text.
const EVALUATES: &[&str] =
    &["exec", "eval", "system", "popen", "Function", "execSync", "Popen", "loads", "compile", "marshal"];

/// Code as its text, its tokens and the names in it.
struct Whole<'w> {
    text: &'w str,
    tokens: &'w [Token],
    names: Vec<&'w str>,
}

/// Reports what the whole of a code shows.
pub(super) fn look_at(machine: &mut Machine<'_>, text: &str, tokens: &[Token], world: &World, span: Span) {
    let whole = Whole { text, tokens, names: tokens.iter().filter_map(Token::as_name).collect() };

    if let Some(kind) = whole.multiplies() {
        machine.state(kind, "This code starts processes in a loop.", span, None);
    }
    if whole.gives_a_shell_away() {
        machine.remote_shell(span);
    }
    if whole.talks() && whole.names_credential(&machine.places()) {
        machine.exfiltrates(Labels::TOLD, span);
    }
    if whole.talks() && whole.takes_environment() {
        machine.exfiltrates(Labels::TOLD, span);
    }
    if whole.says(METADATA) {
        let reason = "This code would ask the cloud for the credentials of this machine.";
        machine.state(Kind::Reveal, reason, span, None);
    }
    print_named(machine, tokens, world, span);
    if whole.has(LISTS) && whole.has(DELETES) {
        delete_listed(machine, tokens, world, span);
    }
    if whole.starts_without_waiting() {
        machine.state(Kind::MayFork, "This code starts processes in a loop.", span, None);
    }
    if whole.reveals() && whole.has(EVALUATES) {
        let reason = "This code runs text that is hidden or fetched; what it says cannot be seen here.";
        machine.state(Kind::Code, reason, span, None);
    }
}

impl Whole<'_> {
    /// Whether one of these is a name in the code, or the last part of one.
    fn has(&self, words: &[&str]) -> bool {
        self.names.iter().any(|name| words.contains(name) || words.contains(&last_part(name)))
    }

    fn says(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.text.contains(part))
    }

    fn loops_endlessly(&self) -> bool {
        let compact: String = self.text.split_whitespace().collect();
        ENDLESS_LOOPS.iter().any(|mark| compact.contains(mark))
    }

    /// Whether it forks in a loop, and whether that ends.
    fn multiplies(&self) -> Option<Kind> {
        if !self.has(&["fork", "pcntl_fork"]) {
            return None;
        }
        let forks = self.names.iter().filter(|name| last_part(name) == "fork").count();
        if self.loops_endlessly() || forks > 2 {
            return Some(Kind::ForkBomb);
        }
        self.has(LOOPS).then_some(Kind::MayFork)
    }

    fn starts_without_waiting(&self) -> bool {
        let starts = self.says(&["fork(__filename"]) || self.has(&["spawn", "Popen", "fork"]) && self.loops_endlessly();
        starts && !self.has(WAITS)
    }

    /// Whether it connects to another machine and starts a shell.
    fn gives_a_shell_away(&self) -> bool {
        let names_connection = self.names.iter().any(|name| name.split('.').any(|part| CONNECTS.contains(&part)));
        let connects = names_connection || self.says(&["/dev/tcp/", "/inet/tcp"]);
        let starts_shell = self.has(STARTS) && self.says(SHELLS);
        let redirects = self.has(&["dup2"]) && self.has(&["spawn", "call", "exec", "system"]);
        let obeys = self.has(HEARS) && self.has(STARTS) && !self.has(&["listen", "createServer", "accept"]);
        connects && (starts_shell || redirects || obeys)
    }

    fn talks(&self) -> bool {
        self.names.iter().any(|name| name.split(['.', ':']).any(|part| TALKS.contains(&part)))
    }

    /// Whether it takes all variables along, not one of them.
    fn takes_environment(&self) -> bool {
        let compact: String = self.text.split_whitespace().collect();
        ENVIRONMENTS.iter().any(|all| compact.contains(all))
    }

    fn names_credential(&self, places: &Places) -> bool {
        let known = |token: &Token| if let Token::Text(text) = token { text.as_known() } else { None };
        let is_credential = |text: String| {
            let path = text.strip_prefix("~/").map_or_else(|| text.clone(), |rest| format!("{}/{rest}", places.home));
            credentials::secrecy(&path, places).is_some()
        };
        self.tokens.iter().filter_map(known).any(is_credential)
    }

    /// Whether it decodes or fetches text.
    fn reveals(&self) -> bool {
        let fetches = self.says(&["http"]) && self.has(&["get", "getstore"]);
        fetches || self.says(&["requests.get"]) || self.has(REVEALS)
    }
}

/// Code that names a file which proves who somebody is may show it.
fn print_named(machine: &mut Machine<'_>, tokens: &[Token], world: &World, span: Span) {
    for token in tokens {
        let Token::Text(text) = token else { continue };
        let start = text.known_start();
        if !start.starts_with(['/', '~']) {
            continue;
        }
        let home = start.strip_prefix("~/").map(|rest| format!("{}/{rest}", machine.places().home));
        let what = home.map_or_else(|| text.clone(), Text::known);
        machine.does(Effect::Print { what: &what, program: "this code" }, world, span);
    }
}

/// Code that lists a place that matters may delete what it lists.
fn delete_listed(machine: &mut Machine<'_>, tokens: &[Token], world: &World, span: Span) {
    let home = machine.places().home.clone();
    for token in tokens {
        let Token::Text(text) = token else { continue };
        let Some(known) = text.as_known().filter(|known| known.starts_with(['/', '~'])) else { continue };
        let path = known.strip_prefix('~').map_or_else(|| known.clone(), |rest| format!("{home}{rest}"));

        let mut what = Text::default();
        patterned(&path, &mut what);
        let doing = "This code may delete what it lists in";
        let (depth, certainty) = (Depth::Tree, Certainty::May);
        machine.does(Effect::Delete { what: &what, depth, certainty, doing }, world, span);
    }
}
