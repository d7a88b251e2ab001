//! The sandbox of each session: prepared with its first command, and again where something has appeared that it must cover.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;

use chiton_guard::Boundary;

use super::Engine;
use crate::changes;
use crate::enclosure::network::broker::BrokerPlan;
use crate::enclosure::network::resolver::Resolution;
use crate::enclosure::prepare::PreviewView;
use crate::enclosure::{Enclosure, Unenclosed};
use crate::error::StartError;
use crate::preview::{NoPreview, OpenPreview};
use crate::process::sandbox_process;
use crate::review::Protection;
use crate::sandbox::KeepLimits;
use crate::sandbox::keeping::KeepPlan;
use crate::sandbox::policy::{NetworkPolicy, SandboxPolicy, Widening};
use crate::secrets::ResolvedCommand;
use crate::session::{ProxyVariables, Session, StartingPoint};

/// The folder, in the state directory, in which sandboxed shells hand their state back.
const FOLDER: &str = "sandbox";

impl Engine {
    /// What stands between the commands of a session and the machine.
    pub(super) fn protection(&self, session: &Session) -> Protection {
        let sandbox = session.enclosure().lock().as_ref().map(|enclosure| enclosure.report());
        Protection { sandbox, ..self.inner.config.guard.protection() }
    }

    /// What the commands of a session are held in; `None` where nothing is to hold them.
    pub(super) fn enclosure(&self, session: &Session) -> Result<Option<Arc<Enclosure>>, StartError> {
        let Some(policy) = &self.inner.config.sandbox else { return Ok(None) };
        let mut held = session.enclosure().lock();
        held.take_if(|enclosure| enclosure.is_cut_off());
        if let Some(enclosure) = &*held {
            return Ok(Some(Arc::clone(enclosure)));
        }
        let former = session.former_enclosure().lock().take();
        let widened = session.widened();
        let is_usual = former.is_none() && widened.is_empty();
        let ready = if is_usual { self.inner.nursery.take_enclosure() } else { None };
        let made = if let Some(made) = ready {
            made
        } else {
            // Whoever needs a new one needs a keeper next, which starts meanwhile.
            self.start_keeper_ahead();
            self.make_enclosure(&policy.widened(widened), former.as_deref(), None)?
        };
        session.set_proxies(match (made.proxy(), &policy.network, &self.inner.config.sandbox_upstream) {
            (Some(port), ..) => ProxyVariables::Ours(port),
            (None, NetworkPolicy::Named(_), Some(upstream)) => ProxyVariables::Without(upstream.clone()),
            (None, ..) => ProxyVariables::AsTheyAre,
        });
        Ok(Some(Arc::clone(held.insert(made))))
    }

    /// The same for a command that may do a little more than the others; it is held in one of its own then.
    pub(super) fn enclosure_for(
        &self,
        session: &Session,
        widened: &[Widening],
    ) -> Result<Option<Arc<Enclosure>>, StartError> {
        match &self.inner.config.sandbox {
            Some(policy) if !widened.is_empty() => {
                let all = session.widened().into_iter().chain(widened.iter().cloned());
                let usual = self.enclosure(session)?;
                Ok(Some(self.make_enclosure(&policy.widened(all), usual.as_deref(), None)?))
            }
            _ => self.enclosure(session),
        }
    }

    /// What a command is held in that is only tried, and what becomes of what it writes there.
    pub(super) fn preview_for(
        &self,
        session: &Session,
        command: &ResolvedCommand,
        start: &StartingPoint,
    ) -> Result<(OpenPreview, Arc<Enclosure>), StartError> {
        let config = &self.inner.config;
        let why_not = "a preview takes a sandbox, which shows the command a workspace of its own, and there is none; \
                       --sandbox work is one";
        let policy = config.sandbox.as_ref().filter(|policy| !policy.is_limits_alone());
        let policy = policy.ok_or_else(|| StartError::Preview(why_not.to_owned()))?;
        let all = session.widened().into_iter().chain(command.grounds().widened.iter().cloned());
        let usual = self.enclosure(session)?;

        let text = self.inner.known.masked(&command.request().command);
        let directory = (start.state.cwd.clone(), start.directory_id);
        let opened = OpenPreview::new(&policy.widened(all), &config.state_directory, text, directory);
        let (preview, policy, view) = opened.map_err(|why| match why {
            NoPreview::Because(why) => StartError::Preview(why),
            NoPreview::Failed(error) => StartError::Preview(error.to_string()),
        })?;
        let enclosure = self.make_enclosure(&policy, usual.as_deref(), Some(view))?;
        Ok((preview, enclosure))
    }

    pub(super) fn make_enclosure(
        &self,
        policy: &SandboxPolicy,
        before: Option<&Enclosure>,
        preview: Option<PreviewView>,
    ) -> Result<Arc<Enclosure>, StartError> {
        let config = &self.inner.config;
        let folder = config.state_directory.join(FOLDER);
        let names = || BrokerPlan {
            rules: policy.rules().to_vec(),
            expose: policy.expose.clone(),
            resolution: match &config.sandbox_hosts {
                Some(table) => Resolution::Table(table.clone()),
                None => Resolution::System,
            },
            upstream: config.sandbox_upstream.clone(),
            search: Vec::new(),
        };
        // What a preview changes, it changes nowhere yet.
        let keep = if preview.is_none() { self.keep_plan(policy) } else { None };
        // What is kept outside of the state directory is nobody's business either.
        let mut policy = policy.clone();
        policy.hide.extend(
            keep.iter().map(|keep| keep.kept.clone()).filter(|kept| !kept.starts_with(&config.state_directory)),
        );
        let policy = &policy;
        let preparing =
            |order: &_, joined: &[BorrowedFd<'_>]| sandbox_process::prepare(&config.keeper, order, joined, names);
        let made = Enclosure::new(policy, (&folder, keep), config.sandbox_without, before, preview, &preparing);
        let made = made.map_err(|why| match why {
            Unenclosed::Missing(layers) => {
                StartError::SandboxMissing { profile: policy.profile.clone(), layers: layers.join(", ") }
            }
            Unenclosed::NoPreview(why) => StartError::Preview(why),
            Unenclosed::Failed(error) => StartError::Sandbox(error),
        })?;
        Ok(Arc::new(made))
    }

    /// Where what commands change in their workspace is kept, if it is.
    fn keep_plan(&self, policy: &SandboxPolicy) -> Option<KeepPlan> {
        let state_directory = &self.inner.config.state_directory;
        let roots: Vec<PathBuf> = policy.kept_roots().iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
        let first = roots.first()?;
        let logs = state_directory.join(changes::FOLDER);
        let kept = changes::beside(first, state_directory).unwrap_or_else(|| logs.clone());
        Some(KeepPlan { roots, logs, kept, limits: KeepLimits::default() })
    }

    /// What the guard need not ask about, because it is out of reach in this session. A sandbox that cannot be made is said
    /// when the command is to start.
    pub(super) fn boundary(&self, session: &Session, widened: &[Widening]) -> Option<Arc<Boundary>> {
        let enclosure = self.enclosure(session).ok()??;
        let usual = enclosure.boundary().cloned()?;
        if widened.is_empty() {
            return Some(usual);
        }
        let policy = self.inner.config.sandbox.as_ref()?;
        let wider = policy.widened(session.widened().into_iter().chain(widened.iter().cloned()));
        Some(Arc::new(enclosure.boundary_of(&wider)))
    }

    /// The same, made anew where it does not cover everything any more. Behind an answer: it looks at many paths.
    pub(super) fn renewed_enclosure(&self, session: &Session) -> Result<Option<Arc<Enclosure>>, StartError> {
        let outdated = session.enclosure().lock().take_if(|enclosure| enclosure.is_outdated());
        if outdated.is_some() {
            *session.former_enclosure().lock() = outdated;
        }
        self.enclosure(session)
    }
}
