//! The least that it takes: run a command, look at what came of it, go on where it left off.

use chiton_engine::{Engine, EngineConfig};

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let engine = Engine::new(EngineConfig::new(state.path())?)?;
    let session = engine.session_here()?;

    let response = engine.command(&session, "cd /usr; export GREETING=hello; echo $GREETING; exit 3").run().await?;
    println!("exit code {:?}, printed {:?}", response.exit_code(), response.text());

    // `exit 3` ended that shell, not the session.
    let response = engine.command(&session, "echo $GREETING from $PWD").run().await?;
    print!("{}", response.text());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // First thing: this program is also the keeper of the commands it runs.
    chiton_engine::serve_if_asked();
    run()
}
