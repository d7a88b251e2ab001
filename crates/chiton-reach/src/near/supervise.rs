//! Keeps a link alive: moves its frames while there is a connection, and makes another one when it breaks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::dial::{Dialled, dial};
use super::transport::Manner;
use super::{Change, ConnectError, Gone, Shared, lock};
use crate::line::SILENCE;

/// The first pause before another attempt, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Runs until the link is closed, or cannot go on.
pub(super) async fn supervise(shared: Arc<Shared>, first: Dialled) {
    let mut dialled = first;
    let gone = loop {
        let Dialled { transport, reader, mut writer, frames, .. } = dialled;
        let broken = tokio::select! {
            error = shared.line.pump(frames, reader, &mut writer, |message| shared.take(message), |beat| shared.hear(&beat)) => Some(error),
            () = shared.closing.notified() => None,
        };
        let Some(error) = broken else {
            last_words(&shared, &mut writer).await;
            drop(writer);
            transport.finish().await;
            break Gone::Closed;
        };
        let lost = Instant::now();
        transport.kill().await;
        (shared.options.tell)(&Change::Lost(in_words(&error)));
        let back = tokio::select! {
            back = again(&shared, lost) => back,
            () = shared.closing.notified() => Err(Gone::Closed),
        };
        match back {
            Ok(there) => dialled = there,
            Err(gone) => break gone,
        }
        let lasted = lost.elapsed();
        (shared.options.tell)(&Change::Back(lasted));
        let mut loss = lock(&shared.loss);
        loss.times += 1;
        loss.lasted += lasted;
    };
    shared.over.send_replace(Some(gone.clone()));
    shared.lose_channels(&gone);
    shared.closed.send_replace(true);
}

fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it was closed".to_owned(),
        std::io::ErrorKind::InvalidData => format!("{error}, for {} s", SILENCE.as_secs()),
        _ => error.to_string(),
    }
}

/// Another connection for the link, however many attempts it takes.
async fn again(shared: &Shared, lost: Instant) -> Result<Dialled, Gone> {
    let target = shared.target.name.clone();
    let mut pause = PAUSES.0;
    loop {
        sleep(jittered(pause)).await;
        pause = (pause * 2).min(PAUSES.1);
        let error = match dial(&shared.target, &shared.options, &shared.hello(true), Manner::Unattended).await {
            Ok(dialled) => match resume(shared, &dialled) {
                Ok(()) => return Ok(dialled),
                Err(why) => ConnectError::Broken { target: target.clone(), why },
            },
            Err(error) => error,
        };
        if error.is_lasting() {
            return Err(Gone::Lost { target, why: error.to_string() });
        }
        if lost.elapsed() >= shared.target.lease {
            let minutes = shared.target.lease.as_secs().div_ceil(60);
            return Err(Gone::GaveUp { target, minutes, why: error.to_string() });
        }
    }
}

/// Goes on over a new connection.
fn resume(shared: &Shared, dialled: &Dialled) -> Result<(), String> {
    if dialled.welcome.resumes {
        let resumed = shared.line.with(|ledger| ledger.resume(dialled.welcome.received));
        return resumed.map_err(|error| error.to_string());
    }
    // Another host than before: it knows nothing of what was open.
    shared.line.with(|ledger| *ledger = crate::ledger::Ledger::default());
    shared.lose_channels(&Gone::HostEnded { target: shared.target.name.clone() });
    lock(&shared.facts).clone_from(&dialled.welcome.facts);
    Ok(())
}

/// A pause that two who lost the same connection do not share: between half of it and all of it.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 4];
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let share = f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + share / 2.0)
}

/// Writes what is still to be written.
async fn last_words(shared: &Shared, writer: &mut (impl tokio::io::AsyncWrite + Unpin)) {
    let _ = tokio::time::timeout(Duration::from_secs(1), shared.line.flush(writer)).await;
}
