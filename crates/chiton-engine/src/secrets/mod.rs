//! Stage 3: references to secrets become values at the last moment, and values become tokens in all that comes back.
//!
//! 1. [`reference`] finds `{{secret:NAME}}` and `{{decrypt:ID}}` in the command, its input and its variables.
//! 2. [`source`] looks each up. A command that names one nobody knows is refused, or says so ([`UnknownReference`]).
//! 3. [`insert`] puts each value in as data, by the place where its reference stands; where that cannot be done, the
//!    command is refused.
//! 4. [`known`] remembers the value; the keeper masks it from then on, where bytes enter it.
//!
//! Guard, records, listings and replies see the text with its tokens. Only [`resolve`] makes a [`ResolvedCommand`],
//! and only that can be spawned.

pub mod config;
pub(crate) mod known;
pub mod source;
pub mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chiton_guard::WaitingCommand;
use chiton_redact::Mask;
use chiton_redact::insert::{self, Known, Quotes};
pub use chiton_redact::{Masker, Masking, Reference, Secret, SecretValue, reference, value};
use zeroize::Zeroizing;

use crate::bytes::ByteString;
use crate::request::{CommandInput, CommandParse, CommandRequest, EnvironmentChange, ParsedCommand};
use crate::review::{ApprovedCommand, Grounds, Refusal};
use crate::session::Session;
pub use config::SecretsConfig;
use known::KnownSecrets;
pub use source::{SecretSource, SecretStore};
pub use sources::given::{GivenSecret, GivenSecrets};
pub use sources::memory::MemorySource;

/// Makes this process unreadable for others of the same user: no core dump, no `ptrace`, no `/proc/PID/mem`.
///
/// For a program that holds secrets for longer than a moment. Keepers are not touched: the shell hands its state back
/// through them.
pub fn forbid_looking_in() -> std::io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// What becomes of a command that names a secret nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownReference {
    /// It is refused. Its text would look like that of a masked value.
    #[default]
    Refuse,
    /// The reference stays the text it is, and a notice says so: for tool surfaces that promise it.
    Keep,
}

/// A command whose references are resolved. Only [`resolve`] makes one.
pub(crate) struct ResolvedCommand {
    /// What was asked, with its tokens.
    request: CommandRequest,
    /// What that text says.
    parse: CommandParse,
    /// The command with values, where it has any.
    script: Option<Zeroizing<Vec<u8>>>,
    /// The variables with values, where they have any.
    environment: Option<EnvironmentChange>,
    /// The values that its output is searched for.
    masks: Arc<[Mask]>,
    /// The references in it that a source knew.
    used: BTreeSet<Reference>,
    notices: Vec<String>,
    /// Programs in it that would wait for a person.
    waits: Vec<WaitingCommand>,
    /// What was judged.
    grounds: Grounds,
}

/// Shows what was asked: values are not for printing.
impl std::fmt::Debug for ResolvedCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("ResolvedCommand").field(&self.request.command).finish()
    }
}

impl ResolvedCommand {
    /// What was asked; its text is for people.
    pub(crate) fn request(&self) -> &CommandRequest {
        &self.request
    }

    /// What the shell reads.
    pub(crate) fn script(&self) -> &[u8] {
        self.script.as_deref().map_or(&self.request.command, Vec::as_slice)
    }

    /// Whether its text holds a value.
    pub(crate) fn holds_values(&self) -> bool {
        self.script.is_some()
    }

    /// What the text of the request says, with its tokens.
    pub(crate) fn parsed(&self) -> &ParsedCommand {
        self.parse.of(&self.request.command)
    }

    /// Whether the value of a secret is in a variable of this call.
    pub(crate) fn has_resolved_variables(&self) -> bool {
        self.environment.is_some()
    }

    /// The variables of this call.
    pub(crate) fn environment(&self) -> &EnvironmentChange {
        self.environment.as_ref().unwrap_or(&self.request.environment)
    }

    pub(crate) fn masks(&self) -> &Arc<[Mask]> {
        &self.masks
    }

    pub(crate) fn used(&self) -> &BTreeSet<Reference> {
        &self.used
    }

    pub(crate) fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Programs in it that would wait for a person.
    pub(crate) fn take_waits(&mut self) -> Vec<WaitingCommand> {
        std::mem::take(&mut self.waits)
    }

    /// Its input is the command's now; were it open here too, whoever writes to it would never see it closed.
    pub(crate) fn give_input_away(&mut self) {
        self.request.input = CommandInput::Nothing;
    }
}

/// Where values come from, and what becomes of references without one.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    pub(crate) store: &'a SecretStore,
    pub(crate) known: &'a KnownSecrets,
    pub(crate) unknown: UnknownReference,
}

/// Resolves the references of a command.
pub(crate) async fn resolve(
    command: ApprovedCommand,
    resolver: Resolver<'_>,
    session: &Session,
    quotes: Quotes,
) -> Result<ResolvedCommand, Refusal> {
    let Resolver { store, known, unknown } = resolver;
    let ApprovedCommand { mut request, parse, waits, grounds, .. } = command;

    let asked = references_in(&request);
    let earlier: BTreeSet<Reference> =
        session.secrets().into_iter().filter(|reference| !known.has(reference) && !asked.contains(reference)).collect();
    let LookedUp { found, missing, mut notices } = look_up(store, known, &asked, &earlier).await?;
    match unknown {
        UnknownReference::Refuse if !missing.is_empty() => return Err(Refusal::new(refusal_of(&missing))),
        UnknownReference::Refuse => {}
        UnknownReference::Keep => {
            notices.extend(missing.iter().map(|(reference, why)| format!("{reference} is left as it is: {why}")));
        }
    }
    let values: BTreeMap<&Reference, &[u8]> =
        found.iter().filter(|(name, _)| asked.contains(*name)).map(|(name, it)| (name, it.value.expose())).collect();

    let refuse = |error: insert::InsertError| Refusal::new(error.to_string());
    let script = in_command(&request.command, &parse, &values, quotes).map_err(refuse)?;
    let environment = in_environment(&request.environment, &values);
    if let CommandInput::Text(text) = &request.input
        && let Some(resolved) = in_text(text, &values)
    {
        request.input = CommandInput::Text(resolved);
    }

    let used: BTreeSet<Reference> = values.keys().map(|reference| (*reference).clone()).collect();
    let masked = found.into_iter().filter(|(_, secret)| secret.masking == Masking::Masked);
    known.learn(masked.map(|(reference, secret)| (reference, secret.value)));
    session.uses(&used);
    Ok(ResolvedCommand { request, parse, script, environment, masks: known.masks(), used, notices, waits, grounds })
}

fn refusal_of(missing: &BTreeMap<Reference, String>) -> String {
    let reasons: Vec<String> =
        missing.iter().map(|(reference, why)| format!("{reference} has no value: {why}")).collect();
    let reasons = reasons.join(". ");
    let end = if reasons.ends_with('?') { "" } else { "." };
    format!(
        "{reasons}{end} Nothing was started. `chiton secret list` shows the names. To write such a text itself, break it \
         up, as in '{{''{{secret:x}}}}'"
    )
}

/// What came of a text that is typed.
pub(crate) enum ResolvedTyping {
    /// It names nothing.
    Plain,
    /// With its values, and everything to mask from then on.
    Resolved(ByteString, Vec<Mask>),
    /// It names something that nobody knows: why not.
    Unknown(String),
}

/// A text that is typed, with the values of its references.
pub(crate) async fn resolve_typed(
    text: &[u8],
    resolver: Resolver<'_>,
    session: &Session,
) -> Result<ResolvedTyping, Refusal> {
    let Resolver { store, known, .. } = resolver;
    let asked: BTreeSet<Reference> = reference::find(text).into_iter().map(|(_, reference)| reference).collect();
    let LookedUp { found, missing, .. } = look_up(store, known, &asked, &BTreeSet::new()).await?;
    if !missing.is_empty() {
        return Ok(ResolvedTyping::Unknown(refusal_of(&missing)));
    }

    let values: BTreeMap<&Reference, &[u8]> = found.iter().map(|(name, it)| (name, it.value.expose())).collect();
    let Some(resolved) = in_text(text, &values) else { return Ok(ResolvedTyping::Plain) };

    let used: BTreeSet<Reference> = values.keys().map(|reference| (*reference).clone()).collect();
    session.uses(&used);
    let masked = found.into_iter().filter(|(_, secret)| secret.masking == Masking::Masked);
    known.learn(masked.map(|(reference, secret)| (reference, secret.value)));
    Ok(ResolvedTyping::Resolved(resolved, known.masks().to_vec()))
}

/// The secrets that a call names, with their values, for a command that runs elsewhere. Others that the session has named
/// before are not given: they may have been meant for another machine.
pub(crate) async fn give(
    named: BTreeSet<Reference>,
    resolver: Resolver<'_>,
    session: &Session,
) -> Result<Vec<GivenSecret>, Refusal> {
    let Resolver { store, known, unknown } = resolver;
    let LookedUp { found, missing, .. } = look_up(store, known, &named, &BTreeSet::new()).await?;
    if unknown == UnknownReference::Refuse && !missing.is_empty() {
        return Err(Refusal::new(refusal_of(&missing)));
    }
    session.uses(found.keys());
    let masked = found.iter().filter(|(_, secret)| secret.masking == Masking::Masked);
    known.learn(masked.map(|(reference, secret)| (reference.clone(), secret.value.clone())));
    Ok(found.into_iter().map(|(reference, secret)| GivenSecret { reference, secret }).collect())
}

/// Every reference in the fields in which they are resolved.
pub(crate) fn references_in(request: &CommandRequest) -> BTreeSet<Reference> {
    let input = if let CommandInput::Text(text) = &request.input { &text[..] } else { b"" };
    let variables = request.environment.variables().values().map(|value| &value[..]);
    let texts = [&request.command[..], input].into_iter().chain(variables);
    texts.flat_map(reference::find).map(|(_, reference)| reference).collect()
}

/// What the store says.
#[derive(Default)]
struct LookedUp {
    found: BTreeMap<Reference, Secret>,
    /// What was asked for and nobody knows, and why.
    missing: BTreeMap<Reference, String>,
    notices: Vec<String>,
}

/// Asks the store, off this thread: a source may have to talk to another program. It is also asked for what only an
/// earlier command named, so that this is masked; where that fails, a notice says so and the command runs. The passwords
/// of proxies are known without a store.
async fn look_up(
    store: &SecretStore,
    known: &KnownSecrets,
    asked: &BTreeSet<Reference>,
    earlier: &BTreeSet<Reference>,
) -> Result<LookedUp, Refusal> {
    if asked.is_empty() && (store.is_empty() || earlier.is_empty()) {
        return Ok(LookedUp::default());
    }

    let mut looked_up = LookedUp::default();
    let is_proxy = |reference: &&Reference| reference.name.ends_with(".password");
    let of_proxy = asked.iter().filter(is_proxy).filter_map(|reference| Some((reference, known.current(reference)?)));
    let of_proxy = of_proxy.map(|(reference, value)| (reference.clone(), Secret { value, masking: Masking::Masked }));
    looked_up.found.extend(of_proxy);

    let (store, asked, earlier) = (store.clone(), asked.clone(), earlier.clone());
    let work = move || {
        let LookedUp { found, missing, notices } = &mut looked_up;
        for reference in asked {
            match store.look_up(&reference) {
                Ok(Some(secret)) => drop(found.insert(reference, secret)),
                Ok(None) if found.contains_key(&reference) => {}
                Ok(None) => {
                    let why = store.explain_unknown(&reference);
                    missing.insert(reference, why);
                }
                Err(error) => return Err(Refusal::new(format!("{error}. Nothing was started"))),
            }
        }

        for reference in earlier {
            match store.look_up(&reference) {
                Ok(Some(secret)) => drop(found.insert(reference, secret)),
                Ok(None) => {}
                Err(error) => {
                    notices.push(format!("an earlier command used {reference}; it is not masked now: {error}"));
                }
            }
        }

        Ok(looked_up)
    };

    let stopped = |_| Refusal::new("the secrets could not be looked up: this process is ending");
    tokio::task::spawn_blocking(work).await.map_err(stopped)?
}

fn known_in<'a>(
    found: &'a [(std::ops::Range<usize>, Reference)],
    values: &BTreeMap<&Reference, &'a [u8]>,
) -> Vec<Known<'a>> {
    let known = |(range, reference): &'a (std::ops::Range<usize>, Reference)| {
        Some(Known { range: range.clone(), reference, value: values.get(reference)? })
    };
    found.iter().filter_map(known).collect()
}

fn in_command(
    command: &[u8],
    parse: &CommandParse,
    values: &BTreeMap<&Reference, &[u8]>,
    quotes: Quotes,
) -> Result<Option<Zeroizing<Vec<u8>>>, insert::InsertError> {
    let found = reference::find(command);
    let known = known_in(&found, values);
    if known.is_empty() {
        return Ok(None);
    }

    let parsed = (**parse.of(command)).as_ref();
    insert::into_command(command, parsed, &known, quotes).map(Some)
}

fn in_text(text: &[u8], values: &BTreeMap<&Reference, &[u8]>) -> Option<ByteString> {
    let found = reference::find(text);
    let known = known_in(&found, values);
    (!known.is_empty()).then(|| insert::into_text(text, &known).to_vec().into())
}

fn in_environment(change: &EnvironmentChange, values: &BTreeMap<&Reference, &[u8]>) -> Option<EnvironmentChange> {
    let resolved = change.variables().iter().map(|(name, value)| (name.clone(), in_text(value, values)));
    let resolved: BTreeMap<String, Option<ByteString>> = resolved.collect();
    if resolved.values().all(Option::is_none) {
        return None;
    }
    let all = change.variables().iter().map(|(name, value)| {
        let new = resolved.get(name).cloned().flatten();
        (name.clone(), new.unwrap_or_else(|| value.clone()))
    });
    let all: BTreeMap<String, ByteString> = all.collect();
    Some(match change {
        EnvironmentChange::Merge(_) => EnvironmentChange::Merge(all),
        EnvironmentChange::Replace(_) => EnvironmentChange::Replace(all),
    })
}
