//! What the far side says of itself when it is reached.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chiton_engine::{Elsewhere, FarFacts};
use chiton_reach::Near;
use chiton_reach::logind::{Habit, habit};
use chiton_reach::relay::FoundHost;
use serde::{Deserialize, Serialize};

/// Facts of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Its kind, as `uname -sm` has it.
    pub(crate) machine: String,
    /// Where its state is.
    pub(crate) state: PathBuf,
    /// The login shell of the user.
    pub(crate) shell: Option<String>,
    /// What its login manager does with those who are gone.
    pub(crate) leaves: Leaves,
    /// What a guard has to know to judge commands for it.
    pub(crate) judged: FarFacts,
    /// Whether its host ends with the connection, in words.
    pub(crate) warning: Option<String>,
}

/// What becomes of processes whose user is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Leaves {
    /// There is no login manager, or it is not asked.
    #[default]
    Unmanaged,
    /// They are left alone.
    Alone,
    /// They are ended, but the host is in a scope of its own, and the user lingers.
    Scope,
    /// They are ended with the last login.
    Nothing,
}

impl Facts {
    /// Those of this machine.
    pub(crate) fn here(state: &Path, judged: FarFacts, host: FoundHost) -> Self {
        let leaves = match habit() {
            Habit::None => Leaves::Unmanaged,
            Habit::LeavesAlone => Leaves::Alone,
            Habit::SparesScopes => Leaves::Scope,
            Habit::EndsAll => Leaves::Nothing,
        };
        Self {
            machine: format!("Linux {}", env::consts::ARCH),
            state: state.to_owned(),
            shell: env::var("SHELL").ok(),
            leaves,
            judged,
            warning: warning(leaves, host),
        }
    }

    /// The machine of these facts, for whoever judges what is to run there.
    pub(crate) fn place(&self, target: &str) -> Elsewhere {
        Elsewhere::new(target, self.judged.clone())
    }

    /// The same for `chiton run`, whose commands are in no sandbox unless somebody says so.
    pub(crate) fn place_of_run(&self, target: &str) -> Elsewhere {
        Elsewhere::new(target, FarFacts { boundary: None, ..self.judged.clone() })
    }

    /// Those that the far side has sent.
    pub(crate) fn read(near: &Near) -> Result<Self> {
        serde_json::from_slice(&near.facts())
            .with_context(|| format!("{} says of itself what nobody understands", near.target().name))
    }
}

/// Why tasks would not outlive the connection.
fn warning(leaves: Leaves, host: FoundHost) -> Option<String> {
    let is_step = env::var_os("SLURM_JOB_ID").is_some() && env::var_os("SLURM_STEP_ID").is_some();
    if is_step && host == FoundHost::Started {
        return Some(
            "no host runs in the batch step of this job, so tasks end with the connection: start `chiton host &` in the \
             script of the job"
                .to_owned(),
        );
    }
    (leaves == Leaves::Nothing).then(|| {
        "the login manager there ends tasks with your last login: `loginctl enable-linger` keeps them".to_owned()
    })
}
