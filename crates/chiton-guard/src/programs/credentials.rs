//! Programs that nobody knows, and files that prove who somebody is.

use crate::effect::{Effect, Writing};
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::value::path::{self, Target};
use crate::value::{Arg, Text};

/// Programs that use such files without showing what is in them, or that only look at the file itself.
const SILENT: &[&str] = &[
    "ansible", "ansible-playbook", "argocd", "cd", "chattr", "chgrp", "chiton", "chmod", "chown", "cmp", "docker",
    "doctl", "du", "eksctl", "exiftool", "file", "flyctl", "gcloud", "getfacl", "gh", "git-credential-store", "glab",
    "helm", "hcloud", "istioctl", "k9s", "keychain", "kubectl", "kubectx", "ls", "lsattr", "md5sum", "minikube",
    "mkdir", "mongosh", "mount", "oc", "packer", "podman", "pulumi", "restorecon", "rm", "rmdir", "setfacl", "sha1sum",
    "sha256sum", "sha512sum", "shred", "skopeo", "ssh", "ssh-add", "ssh-agent", "ssh-copy-id", "ssh-keygen",
    "ssh-keyscan", "sshfs", "sshpass", "sshuttle", "stat", "stern", "terraform", "test", "tofu", "touch", "unlink",
    "vagrant", "wc", "[", "[[",
];

/// Whether a program uses credentials without showing them.
pub(super) fn uses_silently(program: &str) -> bool {
    SILENT.contains(&program)
}

/// A program that nobody knows shows the files that it is given, as far as anybody can tell. A file that follows an
/// option is one that it uses: `tool --key ~/.ssh/id_rsa`.
pub(super) fn may_show(machine: &mut Machine<'_>, call: &Call, world: &World) {
    if uses_silently(&call.name) {
        return;
    }
    let mut follows_option = false;
    for arg in &call.args {
        let start = arg.text.known_start();
        let is_option = start.starts_with('-');
        if !is_option && !follows_option && may_name_credential(&arg.text, world) {
            shows(machine, arg, call, world);
        }
        follows_option = is_option && !start.contains('=');
    }
}

/// Notes that a program shows a file.
pub(super) fn shows(machine: &mut Machine<'_>, file: &Arg, call: &Call, world: &World) {
    machine.does(Effect::Print { what: &file.text, program: &call.name }, world, file.span);
}

/// Notes that somebody opens a file to look at it or to change it. What of it changes nobody knows, so only the places
/// of Chiton itself count as written.
pub(super) fn edits(machine: &mut Machine<'_>, file: &Arg, call: &Call, world: &World) {
    shows(machine, file, call, world);
    let is_own = |path: &str| machine.places().is_of_chiton(path);
    if path::targets(&file.text, world.cwd.as_deref())
        .iter()
        .any(|target| matches!(target, Target::At { path, .. } if is_own(path)))
    {
        machine.writes("This would change", &file.text, Writing::Adds, world, file.span);
    }
}

/// Notes that a file gets another name, by which it could be shown or changed unseen.
pub(super) fn links(machine: &mut Machine<'_>, file: &Arg, call: &Call, world: &World) {
    edits(machine, file, call, world);
}

/// Whether a word is worth comparing with the files that prove who somebody is: most words are not.
fn may_name_credential(text: &Text, world: &World) -> bool {
    let (start, end) = (text.known_start(), text.known_end());
    let hidden = start.starts_with('.') || start.contains("/.") || end.contains("/.");
    let placed = start.starts_with('/') || hidden || world.cwd.as_deref().is_some_and(|cwd| cwd.contains("/."));
    placed && !start.contains([' ', '\n', '$', '`'])
}
