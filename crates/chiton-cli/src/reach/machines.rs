//! The parameter `on` of `native`: calls that name another machine.
//!
//! Each machine gets a server over there when the first call names it; that one serves this client until it goes away. Only
//! machines that a person named in the settings can be named.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chiton_dialects::Reply;
use chiton_engine::{Elsewhere, Limits};
use chiton_operator::{Called, Caller, Calling, NEAR, Operator};
use chiton_reach::near::{ChannelInput, ChannelOutput};
use chiton_reach::{Channel, Gone, Near, Target};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex as AsyncMutex, oneshot};

use super::connect;
use super::facts::Facts;
use super::forward::{Streams, verb_with};
use super::lines::{Heard, Lines};
use crate::settings::Settings;

/// The folder that says on which machine a run is.
const HOMES: &str = "elsewhere";

/// The machines of the settings.
#[derive(Debug)]
pub(crate) struct Machines {
    settings: Settings,
    homes: PathBuf,
    /// By machine and by client: each client has sessions of its own there.
    servers: AsyncMutex<HashMap<(String, String), Arc<Server>>>,
}

impl Machines {
    /// Those that the settings name, where they do.
    pub(crate) fn of(settings: &Settings, state: &Path) -> Option<Arc<Self>> {
        let machines = Self { settings: settings.clone(), homes: state.join(HOMES), servers: AsyncMutex::default() };
        machines.sweep();
        (!settings.target.is_empty()).then(|| Arc::new(machines))
    }

    /// Forgets where runs are that are kept nowhere any more.
    fn sweep(&self) {
        let mut limits = Limits::default();
        self.settings.retention.apply(&mut limits);
        for entry in fs::read_dir(&self.homes).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > limits.retention.age) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The server on a machine, reached where it was not yet, or is not any more.
    async fn server(&self, target: &str, operator: &Operator) -> Result<Arc<Server>, String> {
        let client = operator.client_name().unwrap_or("chiton").to_owned();
        let key = (target.to_owned(), client.clone());
        let mut servers = self.servers.lock().await;
        if let Some(server) = servers.get(&key).filter(|server| server.near.gone().is_none()) {
            return Ok(Arc::clone(server));
        }
        let reached = Target::named(target, &self.settings.target).map_err(|error| error.to_string())?;
        let (near, facts) = connect(reached, &self.settings).await.map_err(|error| format!("{error:#}"))?;
        let server = Server::start(near, facts, &client).await;
        servers.insert(key, Arc::clone(&server));
        Ok(server)
    }

    fn note_home(&self, run: &str, target: &str) {
        // Without it, a later call has to name the machine itself.
        let _ = fs::create_dir_all(&self.homes).and_then(|()| fs::write(self.homes.join(run), target));
    }
}

impl chiton_operator::Machines for Machines {
    fn names(&self) -> Vec<String> {
        self.settings.target.keys().cloned().collect()
    }

    fn home_of(&self, run: &str) -> Option<String> {
        let is_id = run.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        is_id.then(|| fs::read_to_string(self.homes.join(run)).ok()).flatten()
    }

    fn call<'a>(
        &'a self,
        operator: &'a Operator,
        target: &'a str,
        tool: &'a str,
        arguments: Map<String, Value>,
        caller: &'a Caller,
    ) -> Calling<'a> {
        Box::pin(async move {
            let failed = |why: String| Box::new(Called::failed(&why));
            let server = tokio::select! {
                server = self.server(target, operator) => server.map_err(failed)?,
                () = caller.control.stopped() => return Err(failed("the call was withdrawn".to_owned())),
            };
            let place = server.place();
            let near = operator.send_elsewhere(tool, &arguments, caller, &place).await?;
            let (run, repeatable) = (near.run_id.clone(), operator.is_repeatable(tool, &arguments));
            if let Some(run) = &run {
                self.note_home(&run.to_string(), target);
            }
            let params = json!({"name": tool, "arguments": arguments, "_meta": {NEAR: near}});
            let answer = server.call(params, repeatable, caller).await.map_err(|why| {
                let rest = run.as_ref().map_or_else(String::new, |run| {
                    format!(". The command may still run there: `chiton logs --on {target} {run}` shows its output")
                });
                failed(format!("{why}{rest}"))
            })?;
            if let Some(run) = &run {
                operator.answered_elsewhere(target, run, &answer["structuredContent"]);
            }
            Ok(server.reply(&answer))
        })
    }
}

/// A request that is not answered yet.
#[derive(Debug)]
struct Pending {
    line: Vec<u8>,
    repeatable: bool,
    answer: oneshot::Sender<Result<Value, String>>,
}

/// The server on one machine, and we its client.
#[derive(Debug)]
struct Server {
    near: Near,
    facts: Facts,
    client: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    input: ChannelInput,
    next: u64,
    pending: HashMap<u64, Pending>,
}

impl Server {
    async fn start(near: Near, facts: Facts, client: &str) -> Arc<Self> {
        let Channel { input, output } = open(&near, &facts);
        let inner = Mutex::new(Inner { input: input.clone(), next: 1, pending: HashMap::new() });
        let server = Arc::new(Self { near, facts, client: client.to_owned(), inner });
        server.greet(&input).await;
        tokio::spawn(Arc::clone(&server).read(output));
        server
    }

    fn place(&self) -> Elsewhere {
        self.facts.place(&self.near.target().name)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn greet(&self, input: &ChannelInput) {
        let client = json!({"name": self.client, "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        input.write(format!("{hello}\n{ready}\n").as_bytes()).await;
    }

    /// Has the server call one of its tools.
    async fn call(&self, params: Value, repeatable: bool, caller: &Caller) -> Result<Value, String> {
        let (sender, mut answer) = oneshot::channel();
        let (id, line, input) = {
            let mut inner = self.lock();
            let id = inner.next;
            inner.next += 1;
            let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
            let line = line.into_bytes();
            inner.pending.insert(id, Pending { line: line.clone(), repeatable, answer: sender });
            (id, line, inner.input.clone())
        };
        input.write(&line).await;
        let gone = || "the server over there is gone".to_owned();
        tokio::select! {
            answer = &mut answer => return answer.map_err(|_| gone())?,
            () = caller.control.stopped() => {}
        }
        let params = json!({"requestId": id, "reason": "the call was withdrawn"});
        let withdrawn = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        input.write(format!("{withdrawn}\n").as_bytes()).await;
        self.lock().pending.remove(&id);
        Err("the call was withdrawn".to_owned())
    }

    /// Hands on what the server says.
    async fn read(self: Arc<Self>, output: ChannelOutput) {
        let mut heard = Lines::of(output);
        loop {
            match heard.next().await {
                Heard::Complaint(_) => {}
                Heard::Line(line) => self.take(&line),
                Heard::Gone(Gone::HostEnded { .. }) => {
                    let channel = open(&self.near, &self.facts);
                    heard = Lines::of(channel.output);
                    self.greet(&channel.input).await;
                    for line in self.go_on_with(&channel.input) {
                        channel.input.write(&line).await;
                    }
                }
                Heard::Gone(gone) => return self.give_up(&gone.to_string()),
                Heard::Ended(_) => return self.give_up("the server over there has ended"),
            }
        }
    }

    fn take(&self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let Some(pending) = message["id"].as_u64().and_then(|id| self.lock().pending.remove(&id)) else { return };
        let result = match message.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(message["error"]["message"].as_str().unwrap_or("it failed").to_owned()),
        };
        let _ = pending.answer.send(result);
    }

    /// Another server has taken the place of the one before: gives what is to be sent again.
    fn go_on_with(&self, input: &ChannelInput) -> Vec<Vec<u8>> {
        let mut inner = self.lock();
        inner.input = input.clone();
        let lost: Vec<u64> = inner.pending.iter().filter(|(_, call)| !call.repeatable).map(|(id, _)| *id).collect();
        for call in lost.into_iter().filter_map(|id| inner.pending.remove(&id)).collect::<Vec<_>>() {
            let why = "the host on the other side ended meanwhile; whether this was done is not known";
            let _ = call.answer.send(Err(why.to_owned()));
        }
        inner.pending.values().map(|call| call.line.clone()).collect()
    }

    fn give_up(&self, why: &str) {
        for (_, call) in std::mem::take(&mut self.lock().pending) {
            let _ = call.answer.send(Err(why.to_owned()));
        }
    }

    /// The answer as a reply of ours.
    fn reply(&self, answer: &Value) -> Reply {
        let blocks = answer["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let mut text = texts.join("\n");
        let name = &self.near.target().name;
        if let Some(loss) = self.near.take_loss() {
            text = format!("{}\n\n[the connection to {name} was {loss}]", text.trim_end());
        }
        let structured = answer["structuredContent"].as_object().cloned().unwrap_or_default();
        Reply { text, structured, is_error: answer["isError"] == json!(true) }
    }
}

fn open(near: &Near, facts: &Facts) -> Channel {
    let state = facts.state.display().to_string();
    let words = ["--far", &state, "mcp", "--dialect", "native", "--structured", "--near"];
    let words = words.map(|word| word.as_bytes().to_vec()).into();
    near.open(verb_with(words, Streams::WithInput, near))
}
