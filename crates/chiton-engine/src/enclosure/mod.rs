//! The sandbox of a session: prepared once, joined by every shell.
//!
//! 1. [`prepare`] makes namespaces and rules once per session, in a process of its own; an [`Enclosure`] holds them.
//! 2. Every shell of the session is put into them as it starts (`sys/enclosed.rs`), behind a filter on system calls
//!    ([`filter`]) and with [`limits`]. Shells that wait, wait inside.
//! 3. The keeper is asked about calls that change files, connect or signal, and can say what was refused
//!    (`keeper/boundary.rs`).
//!
//! What is allowed is said by a [`SandboxPolicy`]; which layers hold, by a [`SandboxReport`].

mod coverage;
pub(crate) mod filter;
pub(crate) mod hand_back;
pub(crate) mod limits;
pub(crate) mod made;
pub(crate) mod network;
pub(crate) mod prepare;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chiton_guard::Boundary;

use crate::lock::Lock;
use crate::protocol::{EnclosedPlan, InternetSockets, NamespaceKind};
use crate::sandbox::Without;
use crate::sandbox::keeping::KeepPlan;
use crate::sandbox::policy::{MadePlace, MissingLayer, NetworkPolicy, SandboxPolicy};
use crate::sandbox::report::{RefusedAccess, RefusedAction, SandboxReport};
use coverage::Coverage;
use network::events::{EventReader, Refusal, Refused};
use prepare::{Layer, PrepareOrder, Prepared, PreviewView};

/// Namespaces and rules that shells are put into.
#[derive(Debug)]
pub(crate) struct Enclosure {
    policy: SandboxPolicy,
    /// The same with paths without links, for whoever compares them.
    settled: SandboxPolicy,
    prepared: Prepared,
    /// One for each namespace, then the rules.
    files: Vec<OwnedFd>,
    /// Leads allowed names out of its network.
    broker: Option<Arc<Broker>>,
    /// A folder of its own, where its shells hand their state back if they cannot do that through their keepers. There is
    /// none where it confines nothing.
    hand_back: Option<PathBuf>,
    /// Held for as long as shells may come that hand their state back there.
    in_use: Option<OwnedFd>,
    /// What cannot be reached inside, where every layer holds.
    boundary: Option<Arc<Boundary>>,
    /// Where what commands change is kept, if it is.
    keep: Option<KeepPlan>,
    /// Folders that are not what they are outside.
    previewed: Vec<PathBuf>,
    /// What it should cover, once somebody has asked.
    coverage: Lock<Option<Coverage>>,
}

/// How a shell reaches what it shares with its keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandBack {
    /// It looks into its keeper: nothing keeps it from that.
    LooksIn,
    /// The keeper, which is asked about what is opened, gives it to its shell and to nobody else.
    Given,
    /// By files in a folder.
    Folder(PathBuf),
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Unenclosed {
    /// The kernel lacks layers that the policy insists on.
    Missing(Vec<String>),
    /// There are no mounts of its own, without which nothing can be previewed; this is why.
    NoPreview(String),
    /// Something else went wrong.
    Failed(io::Error),
}

impl From<io::Error> for Unenclosed {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// What makes a sandbox of an order, in these namespaces if there are any: a process of its own.
pub(crate) type Preparing<'a> = &'a dyn Fn(&PrepareOrder, &[BorrowedFd<'_>]) -> io::Result<Made>;

/// What was prepared, its descriptors, and what leads names out.
pub(crate) type Made = (Prepared, Vec<OwnedFd>, Option<Broker>);

/// The process that leads allowed names out of a sandbox's network.
#[derive(Debug)]
pub(crate) struct Broker {
    /// It ends when nobody holds this any more.
    pub(crate) life: OwnedFd,
    /// What it refused.
    pub(crate) events: Lock<(File, EventReader)>,
    /// The port at which it is a proxy, where the session has no network of its own.
    pub(crate) proxy: Option<u16>,
    /// Ports that it could not expose, and why.
    pub(crate) not_exposed: Vec<(u16, String)>,
    /// Whether it has ended, as far as anybody has noticed.
    pub(crate) is_gone: AtomicBool,
}

impl Broker {
    /// What it refused since it was asked before.
    fn refusals(&self) -> Vec<Refusal> {
        let (file, reader) = &mut *self.events.lock();
        let (mut bytes, mut refusals) = ([0; 8192], Vec::new());
        // The end of a pipe that does not block: what has come is there.
        loop {
            match file.read(&mut bytes) {
                Ok(0) => {
                    self.is_gone.store(true, Ordering::Relaxed);
                    return refusals;
                }
                Ok(count) => refusals.extend(reader.read(&bytes[..count]).unwrap_or_default()),
                Err(_) => return refusals,
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

impl Enclosure {
    /// Has one prepared. `folder` is where shells hand their state back; a new one below it is made. `keep` is where what
    /// commands change is kept. Of the one `before` it,
    /// everything but the mounts goes on: what an earlier command has left running can be reached and signaled.
    pub(crate) fn new(
        policy: &SandboxPolicy,
        (folder, keep): (&Path, Option<KeepPlan>),
        without: Without,
        before: Option<&Self>,
        preview: Option<PreviewView>,
        preparing: Preparing<'_>,
    ) -> Result<Self, Unenclosed> {
        if policy.is_limits_alone() {
            return Ok(Self {
                policy: policy.clone(),
                settled: policy.clone(),
                prepared: Prepared::default(),
                files: Vec::new(),
                broker: None,
                hand_back: None,
                in_use: None,
                boundary: None,
                keep: None,
                previewed: Vec::new(),
                coverage: Lock::default(),
            });
        }
        hand_back::leave_those_of_the_killed(folder);
        let mut name = [0; 8];
        rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty()).map_err(io::Error::from)?;
        let hand_back = folder.join(format!("{:016x}", u64::from_ne_bytes(name)));
        let in_use = hand_back::make(&hand_back)?;
        // Places are covered by what they really are, and so this one has to be found again by that.
        let hand_back = fs::canonicalize(hand_back)?;
        made::make(&policy.made, &hand_back);
        let order = PrepareOrder { policy: policy.clone(), hand_back, without, preview };
        let before = before.filter(|before| before.can_go_on(policy));
        let goes_on = before.map(Self::namespaces_of_session).filter(|namespaces| !namespaces.is_empty());
        let joined = goes_on.and_then(|namespaces| preparing(&order, &namespaces).ok());
        let (prepared, files, broker) = if let Some((prepared, files, _)) = joined {
            (prepared, files, before.and_then(|before| before.broker.clone()))
        } else {
            let fresh = preparing(&order, &[]).inspect_err(|_| made::leave(&order.hand_back));
            let (prepared, files, broker) = fresh?;
            (prepared, files, broker.map(Arc::new))
        };
        let mut enclosure = Self {
            settled: settled(&order.policy),
            policy: order.policy,
            prepared,
            files,
            broker,
            hand_back: Some(order.hand_back),
            in_use: Some(in_use),
            boundary: None,
            keep,
            previewed: order.preview.iter().flat_map(PreviewView::places).collect(),
            coverage: Lock::default(),
        };
        if let (Some(_), Layer::Missing(why)) = (&order.preview, &enclosure.prepared.namespaces) {
            return Err(Unenclosed::NoPreview(why.clone()));
        }
        if enclosure.weaker().is_empty() {
            enclosure.boundary = Some(Arc::new(enclosure.boundary_of(&enclosure.policy)));
        }
        let missing = enclosure.missing();
        if policy.missing == MissingLayer::Refuse && !missing.is_empty() {
            return Err(Unenclosed::Missing(missing));
        }
        Ok(enclosure)
    }

    /// Whether a sandbox with this policy can be in the same network.
    fn can_go_on(&self, policy: &SandboxPolicy) -> bool {
        self.policy.network == policy.network && self.policy.expose == policy.expose && !self.is_cut_off()
    }

    /// Those that stay what they are when the mounts are made anew: users, messages, the network.
    fn namespaces_of_session(&self) -> Vec<BorrowedFd<'_>> {
        let kinds = self.plan().namespaces;
        let held = kinds.iter().zip(&self.files).filter(|(kind, _)| **kind != NamespaceKind::Mounts);
        held.map(|(_, file)| file.as_fd()).collect()
    }

    /// Layers that the policy wants and the kernel does not give.
    fn missing(&self) -> Vec<String> {
        let layers = [
            ("namespaces", &self.prepared.namespaces),
            ("network of its own", &self.prepared.network),
            ("Landlock", &self.prepared.landlock),
            ("watch on system calls", &self.prepared.watch),
        ];
        let missing = layers.into_iter().filter_map(|(name, layer)| match layer {
            Layer::Missing(why) => Some(format!("no {name} ({why})")),
            _ => None,
        });
        missing.collect()
    }

    /// What the guard need not ask about. There is none where a layer is weaker than the policy says.
    pub(crate) fn boundary(&self) -> Option<&Arc<Boundary>> {
        self.boundary.as_ref()
    }

    /// What a policy puts out of reach, and what can be undone. Where a place is on another file system than what is kept,
    /// everything would have to be copied, and too much may be lost: what destroys it is asked about.
    pub(crate) fn boundary_of(&self, policy: &SandboxPolicy) -> Boundary {
        let device = |path: &Path| Some(fs::metadata(path.ancestors().find(|path| path.exists())?).ok()?.dev());
        let kept = self.keep.as_ref().and_then(|keep| device(&keep.kept));
        let mut boundary = policy.boundary();
        boundary.undo.retain(|root| kept.is_some() && device(Path::new(root)) == kept);
        boundary
    }

    /// What a shell needs to be put into it.
    pub(crate) fn plan(&self) -> EnclosedPlan {
        let mut namespaces = Vec::new();
        if self.prepared.namespaces.holds() {
            namespaces.extend([NamespaceKind::Users, NamespaceKind::Mounts, NamespaceKind::Messages]);
        }
        if self.prepared.network.holds() {
            namespaces.push(NamespaceKind::Network);
        }
        EnclosedPlan {
            policy: self.settled.clone(),
            namespaces,
            has_rules: self.prepared.landlock.holds(),
            has_broker: self.broker.is_some(),
            confines: self.hand_back.is_some(),
            watched: self.prepared.watch.holds(),
            internet: match (&self.policy.network, self.proxy()) {
                (_, Some(proxy)) => InternetSockets::Kept { proxy },
                (NetworkPolicy::Open, None) => InternetSockets::Free,
                (_, None) if self.prepared.network.holds() => InternetSockets::Free,
                (_, None) => InternetSockets::Refused,
            },
            keep: self.keep.clone().filter(|_| self.prepared.watch.holds()),
            directory_id: self.prepared.directory,
            previewed: self.previewed.clone(),
        }
    }

    /// The descriptors that come with the plan.
    pub(crate) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.files.iter().chain(self.broker.iter().map(|broker| &broker.life)).map(AsFd::as_fd)
    }

    /// The port of the proxy that is the only way out, where the session has no network of its own.
    pub(crate) fn proxy(&self) -> Option<u16> {
        self.broker.as_ref()?.proxy
    }

    /// How the shells of a keeper hand their state back.
    pub(crate) fn hand_back(&self, keeper: i32, mark: u64) -> HandBack {
        match &self.hand_back {
            None => HandBack::LooksIn,
            Some(_) if self.prepared.watch.holds() => HandBack::Given,
            Some(folder) => HandBack::Folder(folder.join(format!("{keeper}-{mark:016x}"))),
        }
    }

    /// What was refused at the border of its network since this was asked before; `by` is who went there.
    pub(crate) fn refused_names(&self, by: Option<&str>) -> Vec<RefusedAccess> {
        let Some(broker) = &self.broker else { return Vec::new() };
        let mut refused: Vec<RefusedAccess> = Vec::new();
        for refusal in broker.refusals() {
            let access = access(&refusal, by);
            match refused.iter().position(|known| known.path == access.path) {
                Some(place) => refused[place].times += 1,
                None if refused.len() < MOST_NAMES => refused.push(access),
                None => refused[MOST_NAMES - 1].times += 1,
            }
        }
        refused
    }

    /// Whether what leads names out has ended, as a reply has said.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.broker.as_ref().is_some_and(|broker| broker.is_gone())
    }

    /// Whether something has appeared that it should cover, and does not: it was not there when it was made. Or something
    /// is gone that programs make by themselves.
    pub(crate) fn is_outdated(&self) -> bool {
        let coverage = || Coverage::new(&self.prepared.absent, self.policy.made.iter().map(MadePlace::path));
        self.coverage.lock().get_or_insert_with(coverage).has_changed()
    }

    /// Which layers hold.
    pub(crate) fn report(&self) -> SandboxReport {
        let prepared = &self.prepared;
        let mounts = prepared.namespaces.holds().then(|| "mounts".to_owned());
        let rules = prepared.landlock.holds().then(|| format!("landlock {}", prepared.landlock_version));
        let files: Vec<String> = mounts.into_iter().chain(rules).collect();
        let scoped = prepared.landlock_version >= crate::sys::landlock::FIRST_WITH_SCOPES;
        let limits = self.policy.limits;
        let limited = [
            ("memory", limits.memory.is_some()),
            ("processes", limits.processes.is_some()),
            ("cpu", limits.cpu_seconds.is_some()),
            ("file", limits.file.is_some()),
            ("open files", limits.open_files.is_some()),
            ("free disk", limits.free.is_some()),
        ];
        let limited: Vec<&str> = limited.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
        SandboxReport {
            profile: self.policy.profile.clone(),
            files: if files.is_empty() { "nothing".to_owned() } else { files.join(", ") },
            network: match self.policy.network {
                NetworkPolicy::Open => "open",
                NetworkPolicy::Named(_) if prepared.network.holds() => "names",
                NetworkPolicy::Named(_) if self.proxy().is_some() => "names by a proxy",
                NetworkPolicy::Named(_) | NetworkPolicy::Off => "off",
            }
            .to_owned(),
            signals: match (scoped, prepared.namespaces.holds() && prepared.watch.holds()) {
                (false, _) => "not held",
                (true, true) => "session",
                (true, false) => "command",
            }
            .to_owned(),
            limits: if limited.is_empty() { "none".to_owned() } else { limited.join(", ") },
            watch: if prepared.watch.holds() { "seccomp" } else { "none" }.to_owned(),
            weaker: self.weaker(),
        }
    }

    fn weaker(&self) -> Vec<String> {
        let mut weaker: Vec<String> = self.missing();
        weaker.extend(self.prepared.weaker.iter().cloned());
        if matches!(self.prepared.namespaces, Layer::Missing(_)) {
            if !self.policy.keep.is_empty() {
                weaker.push("keep: watched only".to_owned());
            }
            weaker.push("attributes of files outside: watched only".to_owned());
        }
        weaker.extend(self.weaker_network());
        if self.keep.is_some() && !self.prepared.watch.holds() {
            weaker.push("undo: off, since nobody sees what commands change".to_owned());
        }
        weaker
    }
}

/// What of its network holds less than the policy says.
impl Enclosure {
    fn weaker_network(&self) -> Vec<String> {
        let mut weaker = Vec::new();
        let is_named = matches!(self.policy.network, NetworkPolicy::Named(_));
        match (self.broker.as_deref(), &self.prepared.network) {
            (Some(broker), _) if broker.is_gone() => {
                weaker.push("network: the process that leads names out has ended, so nothing is reached".to_owned());
            }
            (Some(Broker { proxy: Some(_), .. }), _) => {
                weaker.push("names by a proxy: programs that ignore http_proxy reach nothing".to_owned());
                weaker
                    .push("loopback: servers of the session use the ports of this machine, over TCP alone".to_owned());
                if !self.prepared.namespaces.holds() {
                    weaker.push("loopback: a server is reached by the command that started it alone".to_owned());
                }
            }
            (None, Layer::Missing(_)) if is_named => {
                weaker.push("names: nobody could lead them out, so the network is off".to_owned());
            }
            _ => {}
        }
        let exposed = self.broker.iter().flat_map(|broker| &broker.not_exposed);
        weaker.extend(exposed.map(|(port, why)| format!("expose: port {port} is not reachable from outside ({why})")));
        weaker
    }
}

/// How many names one reply lists. Who looks up names without end, to carry something out, gets no longer reply for it.
const MOST_NAMES: usize = 64;

/// A refusal of the broker as a reply has it.
fn access(refusal: &Refusal, by: Option<&str>) -> RefusedAccess {
    // A question to the resolver has no port.
    let path = if refusal.port == 0 { refusal.name.clone() } else { format!("{}:{}", refusal.name, refusal.port) };
    let can_be_allowed = matches!(refusal.what, Refused::Name | Refused::Port);
    let ask = can_be_allowed.then(|| format!("chiton sandbox allow network {path}"));
    RefusedAccess {
        what: RefusedAction::Network,
        path,
        by: by.unwrap_or("a program that is gone").to_owned(),
        times: 1,
        rule: "network".to_owned(),
        ask,
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        // Keepers that still run have folders in it; the last one takes it along. One that has just ended has left it to us, as
        // long as we held it.
        drop(self.in_use.take());
        self.hand_back.iter().for_each(|folder| made::leave(folder));
    }
}

/// A policy whose paths are without links as far as they exist.
pub(crate) fn settled(policy: &SandboxPolicy) -> SandboxPolicy {
    fn real(path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => real(parent).join(name),
            _ => path.to_owned(),
        })
    }
    let mut settled = policy.clone();
    let places = [&mut settled.write, &mut settled.workspace, &mut settled.temporary, &mut settled.caches];
    for paths in places.into_iter().chain([&mut settled.keep, &mut settled.sockets]) {
        for path in paths {
            *path = real(path);
        }
    }
    settled
}
