//! What happens to a client's tasks while it calls nothing, sent to where it can hear that.
//!
//! 1. A channel is what Claude Code calls a server that speaks to its model unasked. A client that declares the experimental
//!    capability `claude/channel` gets it declared in return, and a notification for each change. What was sent there counts
//!    as told. While the client waits for a call, the reply to that tells.
//! 2. Claude Code itself declares nothing: it looks at what the server declares, and its user chooses the servers whose
//!    notifications are shown. A server cannot see whether it was chosen. So where a person turns the channel on
//!    ([`ChannelOffer::Always`]), the notifications do not count as told, and the next reply tells as well.
//! 3. Whoever asked for log messages gets one for each change. No model reads those, so they do not count as told.
//!
//! Nothing is polled: the keepers of the tasks report ([`chiton_operator::Attention`]).

use std::sync::Arc;

use chiton_dialects::Change;
use chiton_engine::Lock;
use chiton_operator::Attention;
use rmcp::model::{
    ClientCapabilities, CustomNotification, InitializeResult, JsonObject, LoggingLevel, ServerNotification,
};
use rmcp::service::{Peer, RoleServer, ServiceError};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::client::ServedClient;
use crate::log::Log;

/// The capability of a client that takes such notifications, and of a server that sends them.
const CAPABILITY: &str = "claude/channel";
const METHOD: &str = "notifications/claude/channel";
/// The level of log messages about tasks.
pub(crate) const LEVEL: LoggingLevel = LoggingLevel::Notice;
/// What becomes an attribute of a notification, of what is known.
const ATTRIBUTES: [&str; 6] = ["bash_id", "what", "outcome", "exit_code", "signal", "matches"];

/// To whom the server declares its channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelOffer {
    /// To a client that declares one itself. No client is sent what it does not know.
    #[default]
    WhereDeclared,
    /// To every client, because a person says so. Such a server does not speak 2026-07-28: that revision has no way for a
    /// notification that nobody asked for, and Claude Code hears none in it.
    Always,
}

/// Whether the client has a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// It says so.
    Open,
    /// Perhaps: nobody knows whether it shows its model what is sent.
    Offered,
    None,
}

impl Channel {
    /// That of a client with these capabilities.
    pub(crate) fn of(capabilities: &ClientCapabilities, offer: ChannelOffer) -> Self {
        let is_declared = capabilities.experimental.as_ref().is_some_and(|declared| declared.contains_key(CAPABILITY));
        match offer {
            _ if is_declared => Self::Open,
            ChannelOffer::Always => Self::Offered,
            ChannelOffer::WhereDeclared => Self::None,
        }
    }
}

/// Says that this server sends them.
pub(crate) fn declare_channel(hello: &mut InitializeResult) {
    hello.capabilities.experimental.get_or_insert_default().insert(CAPABILITY.to_owned(), JsonObject::new());
    let instructions = hello.instructions.get_or_insert_default();
    *instructions += "\nA <channel source=\"chiton\"> message says that a background command ended, waits for input, or printed \
                      a line that is watched for; bash_id names the command.";
}

/// The task that tells one client, while there is one.
#[derive(Default)]
pub(crate) struct Push {
    running: Lock<Option<Running>>,
}

struct Running {
    client: Arc<ServedClient>,
    channel: Channel,
    task: AbortHandle,
}

impl Push {
    /// Tells `client`, from now on, unless that is being done.
    pub(crate) fn start(&self, client: &Arc<ServedClient>, peer: &Peer<RoleServer>, channel: Channel, log: &Arc<Log>) {
        let mut running = self.running.lock();
        let is_same = |one: &Running| Arc::ptr_eq(&one.client, client) && one.channel == channel;
        if running.as_ref().is_some_and(is_same) {
            return;
        }
        let telling = tell(Arc::clone(client), peer.clone(), channel, Arc::clone(log));
        let task = tokio::spawn(telling).abort_handle();
        if let Some(before) = running.replace(Running { client: Arc::clone(client), channel, task }) {
            before.task.abort();
        }
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut() {
            running.task.abort();
        }
    }
}

async fn tell(client: Arc<ServedClient>, peer: Peer<RoleServer>, channel: Channel, log: Arc<Log>) {
    let operator = &client.operator;
    operator.look_back();
    let mut attention = Attention::default();
    loop {
        let happened = attention.next(operator).await;
        for change in &happened {
            log.send_unasked(&peer, LEVEL, change.facts()).await;
        }
        match channel {
            Channel::Open => {
                client.idle().await;
                let changes = operator.news().await;
                for (place, change) in changes.iter().enumerate() {
                    if notify(&peer, change).await.is_err() {
                        // The client is gone; the next server of it tells the rest.
                        return operator.give_back(&changes[place..]);
                    }
                }
            }
            Channel::Offered => {
                client.idle().await;
                for change in happened.iter().filter(|change| operator.is_untold(change)) {
                    let _ = notify(&peer, change).await;
                }
            }
            Channel::None => {}
        }
    }
}

/// Sends one change to the client's model.
async fn notify(peer: &Peer<RoleServer>, change: &Change) -> Result<(), ServiceError> {
    // The client puts the text between tags; what a program printed must not close them.
    let content = change.to_string().replace('<', "\u{2039}").replace('>', "\u{203a}");
    let params = json!({"content": content, "meta": attributes(change)});
    let notification = CustomNotification::new(METHOD, Some(params));
    peer.send_notification(ServerNotification::CustomNotification(notification)).await
}

/// What is known of a change, as texts.
fn attributes(change: &Change) -> JsonObject {
    let facts = change.facts();
    let known = ATTRIBUTES.iter().filter_map(|name| Some((*name, facts.get(name)?)));
    let texts = known.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.to_owned(), Value::String(text))
    });
    texts.collect()
}
