//! Programs that talk to other machines.

use super::row::Program;
use crate::effect::{Kind, Writing};
use std::rc::Rc;

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::path;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Text};
use crate::programs::options::{Grammar, Options};
use crate::programs::shells::SHELLS;

const CURL: Grammar = Grammar {
    short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    attached: "",
    long: &[
        "data",
        "data-raw",
        "data-binary",
        "data-ascii",
        "data-urlencode",
        "form",
        "form-string",
        "upload-file",
        "output",
        "output-dir",
        "header",
        "request",
        "user",
        "user-agent",
        "cookie",
        "cookie-jar",
        "config",
        "url",
        "json",
        "referer",
        "proxy",
        "cacert",
        "cert",
        "key",
        "max-time",
        "connect-timeout",
        "retry",
        "retry-delay",
        "retry-max-time",
        "write-out",
        "range",
        "resolve",
        "connect-to",
        "interface",
        "limit-rate",
        "dump-header",
        "stderr",
        "trace",
        "trace-ascii",
        "unix-socket",
        "aws-sigv4",
        "netrc-file",
        "oauth2-bearer",
        "variable",
        "expand-data",
        "max-filesize",
        "max-redirs",
        "noproxy",
        "proto",
        "proto-redir",
        "quote",
        "telnet-option",
        "tls-max",
        "ciphers",
    ],
    flags: &[
        "silent",
        "show-error",
        "location",
        "fail",
        "insecure",
        "remote-name",
        "remote-name-all",
        "include",
        "head",
        "get",
        "compressed",
        "verbose",
    ],
    stops: false,
    single_dash: false,
};

const WGET: Grammar = Grammar {
    short: "oaeiBtOTwQPUlADRIX",
    attached: "",
    long: &[
        "output-file",
        "append-output",
        "execute",
        "input-file",
        "base",
        "tries",
        "output-document",
        "timeout",
        "wait",
        "quota",
        "directory-prefix",
        "user-agent",
        "header",
        "post-data",
        "post-file",
        "body-data",
        "body-file",
        "method",
        "user",
        "password",
        "level",
        "accept",
        "reject",
        "domains",
        "use-askpass",
        "ca-certificate",
        "certificate",
    ],
    flags: &["quiet", "no-check-certificate", "continue", "recursive", "no-verbose", "show-progress"],
    stops: false,
    single_dash: false,
};

/// Whether a host is this machine.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
pub(crate) fn is_local(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or_default();
    let name = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    matches!(name, "localhost" | "0.0.0.0" | "host.docker.internal" | "::1")
        || name.starts_with("127.")
        || host.starts_with("[::1]")
        || name.ends_with(".localhost")
        || name.ends_with(".local") && name != ".local"
}

fn host_of(text: &Text) -> String {
    let start = text.known_start();
    let rest = start.split_once("://").map_or(start.as_str(), |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// Files that are sent to another machine.
pub(crate) fn sends(machine: &mut Machine<'_>, files: &[Arg], world: &World, call: &Call) {
    for file in files {
        // The program may know what a tilde means, even where the shell does not look at it.
        let home = file.text.known_start().strip_prefix("~/").map(|rest| format!("{}/{rest}", machine.places().home));
        let file = &home.map_or_else(|| file.clone(), |path| Arg::known(path, file.span));
        let flow = machine.read(&file.text, world);
        if flow.labels.has(Labels::SECRET)
            || file.text.labels().has(Labels::SECRET)
            || holds_secrets(machine, &file.text, world)
        {
            machine.exfiltrates(file.span);
        }
    }
    if call.input.labels.has(Labels::SECRET) {
        machine.exfiltrates(call.span);
    }
}

/// Whether a directory is one that holds credentials, such as home itmachine.
fn holds_secrets(machine: &Machine<'_>, text: &Text, world: &World) -> bool {
    path::targets(text, world.cwd.as_deref()).iter().any(|target| match target {
        path::Target::At { path, doubtful: false, .. } => {
            *path == machine.places().home
                || crate::protected::is_home(path)
                || matches!(path.as_str(), "/" | "/etc" | "/home")
        }
        _ => false,
    })
}

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn network_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        match call.name.as_str() {
            "curl" => Some(self.curl(call, world)),
            "wget" | "wget2" => Some(self.wget(call, world)),
            "http" | "https" | "xh" | "xhs" | "httpie" => {
                let local = call
                    .args
                    .iter()
                    .any(|arg| is_local(&host_of(&arg.text)) || arg.text.known_start().starts_with(':'));
                let files: Vec<Arg> = call
                    .args
                    .iter()
                    .filter_map(|arg| {
                        arg.text.known_start().find('@').map(|at| Arg::new(arg.text.skip(at + 1), arg.span))
                    })
                    .collect();
                if !local {
                    sends(self, &files, world, call);
                    self.sends_text(&call.args);
                }
                Some(Flow::labelled(if local { Labels::UNKNOWN } else { Labels::DOWNLOADED }))
            }
            "aria2c" | "axel" | "lynx" | "w3m" | "links" | "fetch" | "GET" | "lwp-request" => {
                Some(Flow::labelled(Labels::DOWNLOADED))
            }
            "nc" | "ncat" | "netcat" | "nc.openbsd" | "nc.traditional" | "socat" | "telnet" | "pwncat" => {
                Some(self.netcat(call, world))
            }
            "scp" | "sftp" | "ftp" | "lftp" | "ncftpput" | "tftp" | "smbclient" | "croc" | "wormhole" | "rcp"
            | "magic-wormhole" | "transfer" => {
                let options = Options::read(&call.args, &Grammar { short: "cFiJloPSXDB", ..Grammar::default() });
                for option in options.values(&["o"]).cloned().collect::<Vec<_>>() {
                    self.ssh_option(&option, world);
                }
                if let Some(program) = options.value(&["S"]).cloned() {
                    crate::programs::run_helper(self, &program, world);
                }
                let remote = |arg: &Arg| arg.text.display().contains(':');
                let upload = options.operands.last().is_some_and(remote) || call.name != "scp";
                let local: Vec<Arg> = options.operands.iter().filter(|arg| !remote(arg)).cloned().collect();
                if upload {
                    sends(self, &local, world, call);
                } else if let Some(target) = local.last() {
                    self.writes("This would write to", &target.text, Writing::Replaces, world, target.span);
                }
                Some(Flow::empty())
            }
            "dig" | "nslookup" | "host" | "ping" | "ping6" | "traceroute" | "whois" | "drill" => {
                self.sends_text(&call.args);
                Some(Flow::labelled(Labels::PLAIN.with(Labels::DOWNLOADED)))
            }
            "mail" | "mailx" | "sendmail" | "mutt" | "msmtp" | "swaks" => {
                sends(self, &call.args, world, call);
                self.sends_text(&call.args);
                Some(Flow::empty())
            }
            "chisel" | "ngrok" | "frpc" | "bore" | "cloudflared" | "lt" | "localtunnel" => {
                self.state(Kind::OpenMachine, "This opens the machine to others.".to_owned(), call.span, None);
                Some(Flow::unknown())
            }
            _ => None,
        }
    }

    /// Arguments that hold credentials and leave the machine.
    fn sends_text(&mut self, args: &[Arg]) {
        for arg in args {
            if arg.text.labels().has(Labels::SECRET) {
                self.exfiltrates(arg.span);
            }
        }
    }

    fn curl(&mut self, call: &Call, world: &World) -> Flow {
        let options = Options::read(&call.args, &CURL);
        let mut urls: Vec<Arg> = options.operands.clone();
        urls.extend(options.values(&["url"]).cloned());
        let local =
            !urls.is_empty() && urls.iter().all(|url| is_local(&host_of(&url.text))) || options.has(&["unix-socket"]);
        if !local {
            let mut files: Vec<Arg> = options.values(&["T", "upload-file"]).cloned().collect();
            for data in options.values(&[
                "d",
                "data",
                "data-binary",
                "data-ascii",
                "data-urlencode",
                "json",
                "F",
                "form",
                "H",
                "header",
            ]) {
                let start = data.text.known_start();
                let at = if start.starts_with('@') {
                    Some(0)
                } else {
                    start.find("=@").or_else(|| start.find("=<")).map(|at| at + 1).or_else(|| {
                        start
                            .find('@')
                            .filter(|at| !start[..*at].contains([' ', ':', '=']) && options.has(&["data-urlencode"]))
                    })
                };
                if let Some(at) = at {
                    let rest = data.text.skip(at + 1);
                    let name = rest.known_start();
                    let file =
                        if rest.is_decided() { Text::known(name.split(';').next().unwrap_or_default()) } else { rest };
                    if file.is("-") || file.is("/dev/stdin") {
                        if call.input.labels.has(Labels::SECRET) {
                            self.exfiltrates(data.span);
                        }
                    } else {
                        files.push(Arg::new(file, data.span));
                    }
                }
            }
            let reads_input = options.values(&["T", "upload-file"]).any(|file| file.text.is("-") || file.text.is("."));
            let quiet = Call {
                input: if reads_input { Rc::clone(&call.input) } else { Rc::new(Flow::empty()) },
                ..call.clone()
            };
            sends(self, &files, world, &quiet);
            self.sends_text(&call.args);
        }
        if let Some(config) = options.value(&["K", "config"]).cloned() {
            let flow = self.read(&config.text, world);
            if flow.labels.has(Labels::DOWNLOADED) {
                self.state(
                    Kind::RunHidden,
                    "The settings of curl come from the network.".to_owned(),
                    config.span,
                    None,
                );
            }
        }
        for file in options.values(&["D", "dump-header", "c", "cookie-jar"]).cloned().collect::<Vec<_>>() {
            self.writes("This would write to", &file.text, Writing::Replaces, world, file.span);
        }
        let fetched = if local { Flow::labelled(Labels::UNKNOWN) } else { Flow::labelled(Labels::DOWNLOADED) };
        self.fetched(
            &options,
            &["o", "output"],
            options.has(&["O", "remote-name", "remote-name-all"]),
            &urls,
            fetched,
            world,
        )
    }

    /// Puts what was fetched into its file, or hands it on.
    fn fetched(
        &mut self,
        options: &Options,
        names: &[&str],
        by_url: bool,
        urls: &[Arg],
        fetched: Flow,
        world: &World,
    ) -> Flow {
        if let Some(file) = options.value(names).cloned() {
            if file.text.is("-") || file.text.is("/dev/stdout") {
                return fetched;
            }
            self.writes("This would write to", &file.text, Writing::Replaces, world, file.span);
            self.remember(&file.text, fetched, false, world);
            return Flow::empty();
        }
        if by_url {
            for url in urls {
                let end = url.text.known_end();
                let name = end.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned();
                if !name.is_empty() {
                    self.remember(&Text::known(name), fetched.clone(), false, world);
                }
            }
            return Flow::empty();
        }
        fetched
    }

    fn wget(&mut self, call: &Call, world: &World) -> Flow {
        let options = Options::read(&call.args, &WGET);
        let urls = options.operands.clone();
        let local = !urls.is_empty() && urls.iter().all(|url| is_local(&host_of(&url.text)));
        if let Some(program) = options.value(&["use-askpass"]).cloned() {
            self.state(
                Kind::RunHidden,
                "This option of wget runs another program.".to_owned(),
                program.span,
                Some(program.text.display()),
            );
        }
        if !local {
            let files: Vec<Arg> = options.values(&["post-file", "body-file"]).cloned().collect();
            sends(self, &files, world, &Call { input: Rc::new(Flow::empty()), ..call.clone() });
            self.sends_text(&call.args);
        }
        for directory in options.values(&["P", "directory-prefix"]).cloned().collect::<Vec<_>>() {
            self.writes("This would write to", &directory.text, Writing::Replaces, world, directory.span);
        }
        let fetched = if local { Flow::labelled(Labels::UNKNOWN) } else { Flow::labelled(Labels::DOWNLOADED) };
        // `-qO-` and `-O -`.
        self.fetched(&options, &["O", "output-document"], true, &urls, fetched, world)
    }

    fn netcat(&mut self, call: &Call, world: &World) -> Flow {
        let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
        let text = words.join(" ");
        let options = Options::read(
            &call.args,
            &Grammar { short: "ecpsqwiXxTIO", long: &["exec", "sh-exec", "lua-exec"], ..Grammar::default() },
        );
        let program =
            options.value(&["e", "c", "exec", "sh-exec"]).filter(|_| call.name != "socat" && call.name != "telnet");
        if let Some(program) = program {
            let shown = program.text.display();
            let name =
                shown.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned();
            if SHELLS.contains(&name.as_str()) || name == "cmd.exe" {
                self.remote_shell(program.span);
            } else {
                let reason = "This option gives a program to whoever is connected.".to_owned();
                self.state(Kind::RunHidden, reason, program.span, Some(shown));
            }
        }
        let lower = text.to_ascii_lowercase();
        if call.name == "socat" && (lower.contains("exec:") || lower.contains("system:")) {
            if SHELLS.iter().any(|shell| {
                lower.contains(&format!("/{shell}"))
                    || lower.contains(&format!(":{shell}"))
                    || lower.contains(&format!("'{shell}"))
            }) {
                self.remote_shell(call.span);
            } else {
                self.state(Kind::RunHidden, "socat would run a program.".to_owned(), call.span, None);
            }
        }
        let local = words.iter().any(|word| is_local(word)) || options.has(&["z", "l"]);
        if call.input.labels.has(Labels::SHELL) {
            self.remote_shell(call.span);
        }
        if !local {
            sends(self, &[], world, call);
            self.sends_text(&call.args);
        }
        Flow::labelled(if options.has(&["z"]) { Labels::PLAIN } else { Labels::DOWNLOADED })
    }
}

/// Why a program that another one shall run is not an everyday one.
pub(crate) fn suspicious_helper(command: &str) -> Option<String> {
    let first = command.split_whitespace().find(|word| !word.contains('=') || word.starts_with('/'))?;
    let usual = ["/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/sbin/", "/opt/homebrew/bin/", "/usr/lib/"];
    let placed = first.contains('/') && !usual.iter().any(|place| first.starts_with(place));
    let name = first.rsplit('/').next().unwrap_or_default();
    if placed {
        return Some(format!("{first} is no program of the system, and another program would run it."));
    }
    let interpreter = SHELLS.contains(&name)
        || matches!(
            name,
            "python" | "python3" | "perl" | "ruby" | "node" | "php" | "nc" | "ncat" | "socat" | "curl" | "wget"
        );
    interpreter.then(|| format!("`{name}` can do anything, and another program would run it."))
}
