//! A permission check of one's own, beside the guard: asked before every command, with what the guard says about it.

use std::sync::Arc;

use chiton_engine::consent::Question;
use chiton_engine::guard::{Context, GuardPolicy};
use chiton_engine::review::{Guard, Permission, PermissionManager, Permitting};
use chiton_engine::{Engine, EngineConfig};

/// Nothing is deployed on a Friday.
#[derive(Debug)]
struct NoDeployments;

impl PermissionManager for NoDeployments {
    fn check<'a>(&'a self, question: &'a Question) -> Permitting<'a> {
        let deploys = question.command.split_whitespace().any(|word| word.ends_with("deploy"));
        Box::pin(async move {
            Ok(if deploys { Permission::Deny("it is Friday".to_owned()) } else { Permission::NoObjection })
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let mut config = EngineConfig::new(state.path())?;
    let around = Context::new("/home/me", "me", "/home/me/project");
    config.guard = Guard::new(GuardPolicy::default().check(&around)?, around);
    config.guard.manager = Some(Arc::new(NoDeployments));
    let engine = Engine::new(config)?;
    let session = engine.session_here()?;

    for command in ["echo build", "./deploy production", "echo deploy"] {
        let response = engine.command(&session, command).run().await?;
        println!("{command}: {}", response.outcome().map(|outcome| outcome.to_string()).unwrap_or_default());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    chiton_engine::serve_if_asked();
    run()
}
