//! `chiton session move`: a session goes on on another machine, or here again.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use chiton_engine::session::store::CarriedSession;
use chiton_operator::NamedSessions;
use chiton_reach::Target;
use chiton_reach::target::HERE;
use serde_json::Value;

use super::{connect, forward, tell_loss};
use crate::messages::{remark, say};
use crate::person;
use crate::session::values;
use crate::settings::Settings;

pub(crate) async fn relocate(name: &str, on: &str, settings: &Settings, state: &Path) -> Result<ExitCode> {
    person::required("moves a session")?;
    let named = &NamedSessions::new(state);
    let home = named.home(name)?;
    match (home.as_deref(), on) {
        (None, HERE) => {
            named.store().check_is_here(name)?;
            remark(&format!("session {name} is here already"));
        }
        (Some(there), on) if there == on => remark(&format!("session {name} lives on {there} already")),
        (Some(there), HERE) => bring_back(name, there, settings, named).await?,
        (None, on) => send(name, on, settings, named).await?,
        (Some(there), on) => {
            bring_back(name, there, settings, named).await?;
            send(name, on, settings, named).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn send(name: &str, on: &str, settings: &Settings, named: &NamedSessions) -> Result<()> {
    let carried = named.store().carry_to_move(name, &values::home_directory()?)?;
    let (near, facts) = connect(Target::named(on, &settings.target)?, settings).await?;
    let words = ["session", "import", "--moved", "--json", "-"];
    let answered = forward::ask(&near, &facts, &words, &serde_json::to_vec(&carried)?).await;
    tell_loss(&near);
    near.close().await;
    let answered = answered?;
    ensure!(answered.succeeded, "session {name} stays here; {on} says: {}", answered.complaint());
    named.set_home(name, on)?;
    let report: Value = serde_json::from_slice(&answered.output).unwrap_or_default();
    let directory = report["directory"].as_str().unwrap_or("its home");
    say!("session {name} lives on {on} now, in {directory}; `chiton run --session {name} COMMAND` goes on there");
    if report["found"] == "start" {
        let was = report["was"].as_str().unwrap_or_default();
        remark(&format!("its directory {was} is not there, so it starts where new ones do"));
    }
    for left in report["left_behind"].as_array().into_iter().flatten() {
        let what = if left["kept"] == true { "came along" } else { "stayed behind" };
        let text = |field: &str| left[field].as_str().unwrap_or_default().to_owned();
        remark(&format!("{} {what}: it {}", text("name"), text("why")));
    }
    Ok(())
}

async fn bring_back(name: &str, there: &str, settings: &Settings, named: &NamedSessions) -> Result<()> {
    let (near, facts) = connect(Target::named(there, &settings.target)?, settings).await?;
    let answered = forward::ask(&near, &facts, &["session", "export", "--to-move", name], b"").await?;
    ensure!(answered.succeeded, "session {name} stays on {there}, which says: {}", answered.complaint());
    let carried: CarriedSession =
        serde_json::from_slice(&answered.output).with_context(|| format!("{there} has sent what is not a session"))?;
    // What is here is what it was before it left.
    named.clear_home(name)?;
    named.store().remove(name)?;
    if let Err(error) = values::take_in_moved(named.store(), carried, Some(name), false) {
        named.set_home(name, there)?;
        return Err(error);
    }
    // It is here now; what is left over there would only be mistaken for it.
    let removed = forward::ask(&near, &facts, &["session", "rm", name], b"").await;
    near.close().await;
    if !removed.is_ok_and(|removed| removed.succeeded) {
        remark(&format!("a copy of it is left on {there}"));
    }
    Ok(())
}
