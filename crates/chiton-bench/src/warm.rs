//! What the engine can do ahead of a command, in one place: without the feature `warm`, an engine that starts a shell
//! for each command and answers when that has handed its state back.

use chiton_engine::{CommandRequest, Engine, EngineConfig, Session};

/// Asks for the answer as soon as the command has ended; its shell hands the state back after that.
#[cfg(feature = "warm")]
pub(crate) fn answer_first(request: &mut CommandRequest) {
    request.answer_first = true;
}

/// Nothing is started ahead.
#[cfg(feature = "warm")]
pub(crate) fn cold(config: &mut EngineConfig) {
    config.limits.warm = chiton_engine::WarmLimits::none();
}

/// Starts what the next command of `session` will need.
#[cfg(feature = "warm")]
pub(crate) fn warm(engine: &Engine, session: &Session) {
    engine.warm(session);
}

/// Waits until the session's state is that of its last command.
#[cfg(feature = "warm")]
pub(crate) async fn settled(session: &Session) {
    session.settled().await;
}

/// Asks for the answer as soon as the command has ended: this engine cannot.
#[cfg(not(feature = "warm"))]
pub(crate) fn answer_first(_request: &mut CommandRequest) {}

/// Nothing is started ahead: this engine never does.
#[cfg(not(feature = "warm"))]
pub(crate) fn cold(_config: &mut EngineConfig) {}

/// Starts what the next command of a session will need: this engine cannot.
#[cfg(not(feature = "warm"))]
pub(crate) fn warm(_engine: &Engine, _session: &Session) {}

/// Waits until a session's state is that of its last command: here it is when that is answered.
#[cfg(not(feature = "warm"))]
#[expect(clippy::unused_async, reason = "an engine that answers first has to be waited for")]
pub(crate) async fn settled(_session: &Session) {}

/// Whether this engine can do any of that.
pub(crate) const KNOWN: bool = cfg!(feature = "warm");
