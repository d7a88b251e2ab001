//! Ten branches of one session: prepare once, try ten ways at once, keep the best, write it down for another process.

use std::sync::Arc;

use chiton_engine::session::store::SessionStore;
use chiton_engine::{Engine, EngineConfig};

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let engine = Engine::new(EngineConfig::new(state.path())?)?;
    let session = engine.session_here()?;
    let base = session.state();
    engine.command(&session, "cd /tmp; score() { echo $(( (7 - $1) * (7 - $1) )); }; export TRIED=none").run().await?;

    let mut attempts = Vec::new();
    for number in 1..=10 {
        let (engine, branch) = (engine.clone(), session.fork());
        attempts.push(tokio::spawn(async move {
            let response = engine.command(&branch, format!("TRIED={number}; score {number}")).run().await?;
            let score: u32 = response.text().trim().parse().unwrap_or(u32::MAX);
            Ok::<_, chiton_engine::EngineError>((score, branch))
        }));
    }
    let mut best = None;
    for attempt in attempts {
        let (score, branch) = attempt.await??;
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, branch));
        }
    }
    let (score, branch) = best.ok_or("nothing was tried")?;

    // The session itself has seen nothing of it; it goes on from the best one.
    session.restore(Arc::clone(&branch.state()));
    let told = engine.command(&session, "echo best: $TRIED").run().await?;
    print!("score {score}, {}", told.text());

    // What it is can be taken back, and written down.
    engine.command(&session, "TRIED=spoilt; cd /").run().await?;
    session.undo();
    let store = SessionStore::new(state.path().join("sessions"));
    store.save("best", &base, &session.state())?;
    let again = store.load("best", &base)?;
    println!("written down in {}, with {} function", again.cwd.display(), again.functions.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    chiton_engine::serve_if_asked();
    run()
}
