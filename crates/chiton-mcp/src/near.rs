//! What the machine that a call comes from has decided about it.

use chiton_engine::FromNear;
use chiton_operator::NEAR;
use rmcp::ErrorData;
use rmcp::model::RequestMetaObject;
use serde::Deserialize;

/// Whether a server believes what calls say about themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NearCalls {
    /// It does not: whoever talks to it may be anybody.
    #[default]
    Ignored,
    /// It does: only the other end of a link of ours can talk to it.
    Believed,
}

impl NearCalls {
    /// What a call brings along.
    pub(crate) fn brought(self, meta: &RequestMetaObject) -> Result<Option<Box<FromNear>>, ErrorData> {
        if self == Self::Ignored {
            return Ok(None);
        }
        // The words of the error are not passed on: they may repeat what is secret.
        let wrong = |_: serde_json::Error| {
            ErrorData::invalid_params(format!("_meta[\"{NEAR}\"] is not what a link of ours sends"), None)
        };
        meta.get(NEAR).map(FromNear::deserialize).transpose().map(|near| near.map(Box::new)).map_err(wrong)
    }
}
