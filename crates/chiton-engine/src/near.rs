//! What a call from another machine brings along: there its command was judged, its secrets were looked up, and the id of
//! its run was made.

use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;
use crate::request::CommandRequest;
use crate::run::RunId;
use crate::secrets::GivenSecret;

/// What the machine that a call comes from has decided about it. It travels with the call, over a connection that nobody
/// else can write to, and is stored nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FromNear {
    /// The id of the run. Where there is one already, the call was sent before, and is answered with that run.
    pub run_id: Option<RunId>,
    /// Whether a person has agreed to the command there, or a rule of theirs allows it. What the guard here asks about
    /// counts as agreed then; what it denies stays denied.
    pub agreed: bool,
    /// The secrets that the call names.
    pub secrets: Vec<GivenSecret>,
    /// Who asks: the owner of what is started.
    pub caller: Option<String>,
    /// The command, where it does not stand in the call itself: in the arguments of a program everybody can read it.
    pub command: Option<ByteString>,
    /// What this machine is called there.
    pub target: Option<String>,
}

impl FromNear {
    /// Puts into a request what was decided about it. The secrets go to the engine ([`crate::Engine::give_secrets`]).
    pub fn apply_to(&self, request: &mut CommandRequest) {
        request.run_id.clone_from(&self.run_id);
        request.agreed = self.agreed;
        if let Some(command) = &self.command {
            request.command.clone_from(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_is_not_so_and_what_is_not_an_id_is_refused() {
        assert_eq!(serde_json::from_str::<FromNear>("{}").unwrap(), FromNear::default());
        assert!(serde_json::from_str::<FromNear>(r#"{"run_id":"../x"}"#).is_err());
        let text = r#"{"run_id":"shell_0123abcd","agreed":true,"secrets":[{"kind":"secret","name":"a","value":"12345678"}],"caller":"me"}"#;
        let near: FromNear = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_str::<FromNear>(&serde_json::to_string(&near).unwrap()).unwrap(), near);
        assert_eq!(postcard::from_bytes::<FromNear>(&postcard::to_stdvec(&near).unwrap()).unwrap(), near);
    }
}
