//! Addresses of machines.

/// Whether `host`, with or without a user and a port, is this machine.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
pub(crate) fn is_local(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or_default();
    let name = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };

    matches!(name, "localhost" | "0.0.0.0" | "host.docker.internal" | "::1")
        || name.starts_with("127.")
        || host.starts_with("[::1]")
        || name.ends_with(".localhost")
        || name.ends_with(".local") && name != ".local"
}
