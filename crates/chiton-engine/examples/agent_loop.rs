//! An agent's loop: a model asks for commands, sees what came of them, and is done. The model is played by a script; put
//! yours in its place.

use std::time::Duration;

use chiton_engine::{Engine, EngineConfig, Event, Outcome, Response};
use tokio_util::sync::CancellationToken;

/// What a model does next.
enum Move {
    Run(&'static str),
    Done(&'static str),
}

/// Takes what the last command came to, and says what to do next.
struct Model {
    turn: usize,
}

impl Model {
    fn next(&mut self, seen: &str) -> Move {
        self.turn += 1;
        match self.turn {
            1 => Move::Run("mkdir -p demo && cd demo && printf '1\\n2\\n3\\n' > numbers"),
            2 => Move::Run("wc -l < numbers"),
            3 if seen.contains('3') => Move::Run("sleep 600"),
            4 if seen.contains("timed out") => Move::Run("for n in 1 2 3; do echo step $n; done; exit 7"),
            5 if seen.contains("exit code 7") => Move::Done("all as expected"),
            _ => Move::Done("something else happened"),
        }
    }
}

/// What a model is told.
fn in_words(response: &Response) -> String {
    let output = response.text();
    let ending = match response.outcome() {
        Some(Outcome::Exited(0)) | None => String::new(),
        Some(Outcome::Exited(code)) => format!("[exit code {code}]"),
        Some(other) => format!("[{other}]"),
    };
    let notices = response.notices().join("\n");
    [output, ending, notices].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let (state, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let engine = Engine::new(EngineConfig::new(state.path())?)?;
    let session = engine.session_here()?;
    engine.command(&session, format!("cd {}", project.path().display())).run().await?;

    // Whoever presses stop cancels this, and the command ends with everything it started.
    let stop = CancellationToken::new();
    let (mut model, mut seen) = (Model { turn: 0 }, String::new());
    loop {
        match model.next(&seen) {
            Move::Done(words) => {
                println!("model: {words}");
                return Ok(());
            }
            Move::Run(command) => {
                println!("$ {command}");
                let limited = engine.command(&session, command).timeout(Duration::from_secs(1));
                let mut events = limited.cancelled_by(stop.clone()).events();
                while let Some(event) = events.next().await {
                    match event {
                        // Shown to a person while it runs.
                        Event::Output { bytes, .. } => print!("{}", String::from_utf8_lossy(&bytes)),
                        Event::Ended(response) => seen = in_words(&(*response)?),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    chiton_engine::serve_if_asked();
    run()
}
