//! What the revisions of the protocol differ in, as far as it matters here.

use rmcp::model::{Implementation, InitializeResult, ProtocolVersion, Resource, Tool};
use rmcp::service::{RequestContext, RoleServer};

/// A revision of the protocol, by its date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision(String);

/// Methods that the newest revision no longer has.
const REMOVED: [&str; 5] = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl Revision {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// That of a request. One that does not say is of the oldest.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version().unwrap_or(ProtocolVersion::V_2024_11_05);
        Self::new(version.as_str())
    }

    fn since(&self, name: &str) -> bool {
        // Dates as they are written compare like the days they name.
        self.0.as_str() >= name
    }

    /// Each request says by itself what it is; there are no sessions.
    pub(crate) fn is_modern(&self) -> bool {
        self.since("2026-07-28")
    }

    /// Several messages may come in one array.
    pub(crate) fn has_batches(&self) -> bool {
        !self.since("2025-06-18")
    }

    /// Tools have annotations.
    fn has_annotations(&self) -> bool {
        self.since("2025-03-26")
    }

    /// Things have titles beside their names.
    fn has_titles(&self) -> bool {
        self.since("2025-06-18")
    }

    /// Replies have a structured form, and tools its schema.
    pub(crate) fn has_structured(&self) -> bool {
        self.since("2025-06-18")
    }

    /// Things have icons, and a server a description.
    fn has_icons(&self) -> bool {
        self.since("2025-11-25")
    }

    /// Whether this method was there before and is not any more.
    pub(crate) fn has_removed(&self, method: &str) -> bool {
        self.is_modern() && REMOVED.contains(&method)
    }

    /// What the server says of itself, without what this revision does not know. A client that declares extensions knows
    /// them, whatever its revision.
    pub(crate) fn trim(&self, hello: &mut InitializeResult, knows_extensions: bool) {
        if !self.is_modern() && !knows_extensions {
            hello.capabilities.extensions = None;
        }
        self.trim_server(&mut hello.server_info);
    }

    /// A tool without what this revision does not know.
    pub(crate) fn trim_tool(&self, tool: &mut Tool) {
        if !self.has_titles() {
            tool.meta = None;
            // Before tools had titles, their annotations did.
            let title = tool.title.take();
            tool.annotations = tool.annotations.take().map(|mut annotations| {
                annotations.title = title;
                annotations
            });
        }
        if !self.has_annotations() {
            tool.annotations = None;
        }
    }

    /// A resource likewise.
    pub(crate) fn trim_resource(&self, resource: &mut Resource) {
        if !self.has_titles() {
            resource.title = None;
        }
    }

    fn trim_server(&self, server: &mut Implementation) {
        if !self.has_titles() {
            server.title = None;
        }
        if !self.has_icons() {
            server.description = None;
            server.icons = None;
            server.website_url = None;
        }
    }
}
