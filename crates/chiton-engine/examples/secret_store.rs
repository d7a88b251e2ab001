//! A secret store of one's own: commands name a secret, programs get its value, and nobody else sees it.

use chiton_engine::secrets::source::SourceError;
use chiton_engine::secrets::{Reference, Secret, SecretSource, SecretStore};
use chiton_engine::{Engine, EngineConfig};

/// Whatever keeps secrets where you work.
#[derive(Debug)]
struct Vault;

impl SecretSource for Vault {
    fn title(&self) -> String {
        "the company's vault".to_owned()
    }

    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError> {
        match reference.to_string().as_str() {
            "{{secret:api-token}}" => Ok(Some(Secret::masked("tok-3f9a1c77e2"))),
            "{{secret:sealed}}" => Err(SourceError("the vault is sealed".to_owned())),
            _ => Ok(None),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let mut config = EngineConfig::new(state.path())?;
    config.secrets = SecretStore::empty().and(Vault);
    let engine = Engine::new(config)?;
    let session = engine.session_here()?;

    let show = "printf %s {{secret:api-token}} | wc -c; echo \"Authorization: Bearer {{secret:api-token}}\"";
    let response = engine.command(&session, show).run().await?;
    print!("{}", response.text());

    for missing in ["echo {{secret:sealed}}", "echo {{secret:api-tokn}}"] {
        let response = engine.command(&session, missing).run().await?;
        println!("{}: {}", response.word(), response.outcome().map(|outcome| outcome.to_string()).unwrap_or_default());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    chiton_engine::serve_if_asked();
    run()
}
