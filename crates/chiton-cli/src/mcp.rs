//! `chiton mcp`: the server that agents talk to.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal, Read, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use chiton_engine::machine;
use chiton_mcp::{
    Address, ChannelOffer, ClientPlace, HttpOptions, NearCalls, StartDirectory, StdioOptions, serve_http,
    serve_stdio_from,
};
use chiton_operator::{Machines, Operator};
use clap::{Args, FromArgMatches};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;

use crate::audit::otlp::Exporter;
use crate::messages::remark;
use crate::on_arguments::OnArguments;
use crate::runtime;
use crate::session_arguments::{Purpose, SessionArguments, SessionSetup};
use crate::settings::{HttpSettings, Settings};

/// Serve an agent over MCP, on standard input and output or over HTTP
#[derive(Args)]
#[command(after_help = "\
An MCP client starts this by itself; `chiton setup CLIENT` tells it to. By hand the entry is, for most of them:
  {\"mcpServers\": {\"chiton\": {\"command\": \"chiton\", \"args\": [\"mcp\"]}}}
`chiton dialects` lists the tool surfaces.

Closing standard input ends it: commands that a call waits for are stopped, durable tasks go on.

Over HTTP, every request has to carry the token of the token file: Authorization: Bearer TOKEN
  chiton mcp --http 127.0.0.1:8765             http://127.0.0.1:8765/mcp
  chiton mcp --http unix:$XDG_RUNTIME_DIR/chiton/mcp.sock

Settings: $XDG_CONFIG_HOME/chiton/config.toml, or --config FILE. A key is also a variable
(mcp.dialect is CHITON_MCP_DIALECT), and a flag wins over both:
  [mcp]   dialect, timeout, dir, session, max_tasks, structured, list_tool, channel, allow_undo, log_level
  notify  the program that tells you of background commands, with its arguments
  [http]  listen, token_file, hosts, origins, allow_remote
  [secrets] dir, env, command   [environment] keep, strict, login   [guard] mode, rule
  [audit] off, required, otlp, otlp_headers
  [sandbox] profile, profiles: see `chiton sandbox --help`
  [retention] age, finished, bytes, undo_age, undo_bytes")]
pub(crate) struct McpArguments {
    #[command(flatten)]
    session: SessionArguments,
    /// Serve over HTTP at this address, IP:PORT or unix:PATH, instead of standard input and output
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// The file with the token, made with mode 0600 where there is none [default: http-token in the state directory]
    #[arg(long, value_name = "FILE")]
    http_token_file: Option<PathBuf>,
    /// A Host by which clients reach it, besides those of this machine; with the port, where there is one
    #[arg(long, value_name = "HOST")]
    http_host: Vec<String>,
    /// An Origin whose web pages may use it; without it, none
    #[arg(long, value_name = "ORIGIN")]
    http_origin: Vec<String>,
    /// Let other machines reach it: whoever has the token can then run commands here. Put TLS in front
    #[arg(long)]
    http_allow_remote: bool,
    /// Send the structured form of every reply to every client, also to agents, which may show it instead of the text
    #[arg(long)]
    structured: bool,
    /// Add the tool `ListShells` to a tool surface that has none to list tasks; without it, the tools are those of the surface
    #[arg(long)]
    list_tool: bool,
    /// Push what happens to background commands to the model of Claude Code, which has to be started for that:
    /// claude --dangerously-load-development-channels server:chiton
    #[arg(long)]
    channel: bool,
    /// Let calls undo what commands did to files: gives Bash of the tool surface native the parameter `undo`
    #[arg(long)]
    allow_undo: bool,
    /// Calls come from another machine, whose word counts: only for `chiton host`, which is the only one that talks to this
    #[arg(long, hide = true, conflicts_with = "http")]
    near: bool,
    /// What is logged to standard error: off, error, warn, info, debug or trace [default: error]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

pub(crate) fn mcp(
    arguments: &McpArguments,
    settings: &Settings,
    machines: Option<Arc<dyn Machines>>,
    state: &Path,
) -> Result<ExitCode> {
    let extras = &Extras { machines, ..arguments.extras(settings) };
    arguments.log(settings)?;
    machine::use_one_heap();
    // This very thread serves a client on a pipe: handing a message from one thread to another takes longer than what
    // is done with it.
    let mut builder =
        if arguments.is_http(settings) { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    let runtime = runtime::build(builder.worker_threads(2))?;
    let exporter = Exporter::start(settings, state)?;
    let served = runtime.block_on(async {
        if let Some(address) = arguments.http.as_deref().or(settings.http.listen.as_deref()) {
            return over_http(address, arguments, extras, settings, state).await;
        }
        if io::stdin().is_terminal() {
            remark(
                "this speaks MCP, a protocol for programs, on standard input; Ctrl-D ends it. `chiton setup` adds it \
                 to an agent, and `chiton call` tries a tool by hand",
            );
        }
        let setup = arguments.session.resolve(settings, Purpose::Server, state)?;
        // The roots of a client on another machine are directories over there.
        let start = if arguments.near { StartDirectory::Chosen } else { setup.start() };
        let operator = setup.operator(state)?;
        let operator = extras.add_to(operator);
        let make = maker(setup, extras, settings, state);
        let near = if arguments.near { NearCalls::Believed } else { NearCalls::Ignored };
        serve_stdio_from(operator, StdioOptions { start, channel: arguments.channel(settings), near }, make)
            .await
            .map_err(|error| anyhow!("the client does not speak MCP: {error}"))
    });
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

impl McpArguments {
    /// Whether it is served over HTTP.
    pub(crate) fn is_http(&self, settings: &Settings) -> bool {
        self.http.is_some() || settings.http.listen.is_some()
    }

    /// From now on what happens is logged.
    pub(crate) fn log(&self, settings: &Settings) -> Result<()> {
        let level = self.log_level.as_deref().or(settings.mcp.log_level.as_deref());
        log_to_stderr(level.map(|level| if self.near { without_requests(level) } else { level }))
    }

    /// What they are where nobody says anything.
    pub(crate) fn usual() -> Result<Self> {
        let matches = Self::augment_args(clap::Command::new("mcp")).try_get_matches_from(["mcp"])?;
        Ok(Self::from_arg_matches(&matches)?)
    }

    /// An operator for one client.
    pub(crate) fn serve(&self, settings: &Settings, state: &Path) -> Result<Operator> {
        self.session.resolve(settings, Purpose::Server, state)?.operator(state)
    }

    /// An operator that only judges: its tools are carried out elsewhere.
    pub(crate) fn judge(&self, settings: &Settings, state: &Path) -> Result<Operator> {
        let operator = self.session.resolve(settings, Purpose::Judge, state)?.operator(state)?;
        Ok(self.extras(settings).add_to(operator))
    }

    fn channel(&self, settings: &Settings) -> ChannelOffer {
        if self.channel || settings.mcp.channel { ChannelOffer::Always } else { ChannelOffer::WhereDeclared }
    }

    fn extras(&self, settings: &Settings) -> Extras {
        let structured = self.structured || settings.mcp.structured;
        let list_tool = self.list_tool || settings.mcp.list_tool;
        Extras { structured, list_tool, undo: self.allow_undo || settings.mcp.allow_undo, machines: None }
    }
}

/// What a client gets beyond what its tool surface has.
#[derive(Clone)]
struct Extras {
    structured: bool,
    list_tool: bool,
    undo: bool,
    machines: Option<Arc<dyn Machines>>,
}

impl Extras {
    fn add_to(&self, mut operator: Operator) -> Operator {
        if self.structured {
            operator = operator.always_structured();
        }
        if self.list_tool {
            operator = operator.with_list_tool();
        }
        if self.undo {
            operator = operator.with_undo();
        }
        if let Some(machines) = &self.machines {
            operator = operator.with_machines(Arc::clone(machines));
        }
        operator
    }
}

/// Makes operators for clients, where they work or where the server was started.
fn maker(
    setup: SessionSetup,
    extras: &Extras,
    settings: &Settings,
    state: &Path,
) -> impl Fn(Option<&ClientPlace>) -> Result<Operator, String> + Send + Sync + 'static {
    let (extras, settings, state) = (extras.clone(), settings.clone(), state.to_owned());
    move |place| {
        let made = match place {
            Some(place) => setup.operator_in(place, &settings, &state),
            None => setup.operator(&state),
        };
        made.map(|operator| extras.add_to(operator)).map_err(|error| format!("{error:#}"))
    }
}

/// A level at which the requests themselves are not logged: those from another machine hold the values of secrets.
fn without_requests(level: &str) -> &str {
    if matches!(level, "debug" | "trace") { "info" } else { level }
}

/// Standard output is the protocol's alone.
fn log_to_stderr(level: Option<&str>) -> Result<()> {
    let level = level.unwrap_or("error");
    let known = ["off", "error", "warn", "info", "debug", "trace"];
    ensure!(known.contains(&level), "there is no log level '{level}'; there are: {}", known.join(", "));
    let level: LevelFilter = level.parse()?;
    tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
    Ok(())
}

async fn over_http(
    address: &str,
    arguments: &McpArguments,
    extras: &Extras,
    settings: &Settings,
    state: &Path,
) -> Result<()> {
    let HttpSettings { token_file, hosts, origins, allow_remote, .. } = &settings.http;
    let given = |flags: &[String], file: &[String]| if flags.is_empty() { file.to_vec() } else { flags.to_vec() };
    let file = arguments.http_token_file.as_ref().or(token_file.as_ref());
    let file = file.map_or_else(|| state.join("http-token"), Clone::clone);
    let setup = arguments.session.resolve(settings, Purpose::Server, state)?;
    // A mistake in the settings is reported now, and not to the first client.
    drop(setup.operator(state)?);
    let options = HttpOptions {
        address: parse_address(address)?,
        remote: arguments.http_allow_remote || *allow_remote,
        token: token(&file)?,
        hosts: given(&arguments.http_host, hosts),
        origins: given(&arguments.http_origin, origins),
        start: setup.start(),
    };
    let make = maker(setup, extras, settings, state);
    let make = move |client: &str, place: Option<&ClientPlace>| Ok(make(place)?.of_client(client));
    let ready = |place: &str| remark(&format!("serving at {place}; the token is in {}", file.display()));
    let (mut interrupted, mut ended) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let over = async {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = ended.recv() => {}
        }
    };
    Ok(serve_http(options, make, ready, over).await?)
}

fn parse_address(text: &str) -> Result<Address> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(Address::Unix(std::path::absolute(path)?));
    }
    let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let text = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = text.parse().map_err(|_| {
        anyhow!("'{text}' is not an address to listen on: write IP:PORT, as in 127.0.0.1:8765, or unix:PATH")
    })?;
    Ok(Address::Tcp(address))
}

/// The token in `path`; a new one where there is none.
fn token(path: &Path) -> Result<String> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut bytes = [0; 32];
            fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
            let token = bytes.iter().fold(String::new(), |mut token, byte| {
                let _ = write!(token, "{byte:02x}");
                token
            });
            file.write_all(token.as_bytes())?;
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let about = |what: &str| format!("the token file {}: {what}", path.display());
            let found = fs::metadata(path).with_context(|| about("it cannot be examined"))?;
            let mine = found.uid() == rustix::process::geteuid().as_raw();
            let open = found.mode() & 0o077;
            ensure!(mine && open == 0, about("others can read it; make it yours alone (chmod 600)"));
            let token = fs::read_to_string(path).with_context(|| about("it cannot be read"))?.trim().to_owned();
            ensure!(token.len() >= 32, about("a token has at least 32 characters; remove the file for a new one"));
            Ok(token)
        }
        Err(error) => Err(error).with_context(|| format!("the token file {} cannot be made", path.display())),
    }
}
