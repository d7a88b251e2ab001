//! `[audit]` of the settings file, as it is written there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The journal of every call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuditSettings {
    pub(crate) off: bool,
    /// Whether a command that cannot be written down is not run.
    pub(crate) required: bool,
    /// Who gets it: the address of a receiver of OTLP over HTTP.
    pub(crate) otlp: Option<String>,
    pub(crate) otlp_headers: BTreeMap<String, String>,
}
