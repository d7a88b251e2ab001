//! What programs bring from other machines besides `curl` and `wget`: into files, into folders, or onto their output.

use super::options::{Grammar, Options};
use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::address::is_local;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::value::path;
use crate::value::{Arg, Flow, Labels, Text};

/// Marks a folder that holds what came over the network. No file has this name.
const MARK: &str = "\u{1}fetched";

/// Notes what a call brings along, and objects where it runs what was just brought.
pub(super) fn look_at(machine: &mut Machine<'_>, call: &Call, world: &World) {
    match call.name.as_str() {
        "scp" | "rsync" | "sftp" | "rcp" => from_host(machine, call, world),
        "aria2c" | "axel" | "lwp-download" | "http" | "https" | "xh" | "httpie" | "fetch" | "wget2" => {
            from_address(machine, call, world);
        }
        "aws" | "gsutil" | "gcloud" | "s3cmd" | "s5cmd" | "mc" | "rclone" | "az" => from_bucket(machine, call, world),
        "tar" | "bsdtar" | "gtar" | "unzip" | "7z" | "cpio" => unpacked(machine, call, world),
        "pip" | "pip3" | "npm" | "yarn" | "pnpm" | "npx" | "gem" | "cargo" | "go" | "uv" | "bunx" => {
            by_number(machine, call);
        }
        "deno" | "bun" => by_address(machine, call),
        _ => {}
    }
    runs_fetched(machine, call, world);
}

/// Whether a program prints what it got from another machine.
pub(super) fn prints_fetched(call: &Call) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| call.args.iter().any(|arg| arg.text.is(word)));
    match call.name.as_str() {
        "gh" | "glab" => has(&["api"]) || has(&["gist", "view"]) || has(&["release", "download", "-O", "-"]),
        "ftp" => has(&["-o", "-"]),
        _ => false,
    }
}

fn is_remote(arg: &Arg) -> bool {
    let start = arg.text.known_start();
    start.contains("://") || start.split('/').next().is_some_and(|host| host.contains(':'))
}

/// Remembers that `name` in `target`, or `target` itself, came over the network.
fn remember(machine: &mut Machine<'_>, target: &Text, name: &str, world: &World) {
    let flow = Flow::labelled(Labels::DOWNLOADED);
    let shown = target.display();
    let is_folder =
        matches!(shown.as_str(), "." | "..") || shown.ends_with('/') || !shown.contains('.') && !shown.is_empty();
    if is_folder && !name.is_empty() {
        machine.remember(&Text::known(format!("{}/{name}", shown.trim_end_matches('/'))), flow.clone(), false, world);
    }
    if !matches!(shown.as_str(), "." | ".." | "") {
        machine.remember(target, flow, false, world);
    }
}

fn last_name(text: &Text) -> String {
    let end = text.known_end();
    let path = end.split(['?', '#']).next().unwrap_or_default();
    path.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
}

/// `scp host:file target`.
fn from_host(machine: &mut Machine<'_>, call: &Call, world: &World) {
    const COPY: Grammar = Grammar { short: "cFiJloPSXDBeT", long: &["rsh", "port"], ..Grammar::PLAIN };
    let operands = Options::read(&call.args, &COPY).operands;
    let Some((target, sources)) = operands.split_last() else { return };
    if is_remote(target) {
        return;
    }
    for source in sources.iter().filter(|source| is_remote(source)) {
        remember(machine, &target.text, &last_name(&source.text), world);
    }
}

/// `aria2c -o file address`.
fn from_address(machine: &mut Machine<'_>, call: &Call, world: &World) {
    const FETCH: Grammar = Grammar { short: "oOdx", long: &["out", "output", "dir"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &FETCH);
    let stays_here = |arg: &Arg| {
        let start = arg.text.known_start();
        is_local(start.split_once("://").map_or(&*start, |(_, rest)| rest).split('/').next().unwrap_or_default())
    };
    let prints = matches!(call.name.as_str(), "http" | "https" | "xh" | "httpie")
        && !options.has(&["d", "download", "o", "output"]);
    if prints || options.operands.iter().any(stays_here) {
        return;
    }
    match options.value(&["o", "O", "out", "output"]) {
        Some(file) if !file.text.is("-") => remember(machine, &file.text, "", world),
        _ => {
            for address in options.operands.iter().filter(|arg| is_remote(arg)) {
                remember(machine, &Text::known("."), &last_name(&address.text), world);
            }
        }
    }
}

/// `aws s3 cp s3://bucket/file target`.
fn from_bucket(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let Some(at) = call.args.iter().position(|arg| arg.text.known_start().contains("://")) else { return };
    let Some(target) =
        call.args.get(at + 1).filter(|target| !is_remote(target) && !target.text.known_start().starts_with('-'))
    else {
        return;
    };
    remember(machine, &target.text, &last_name(&call.args[at].text), world);
}

/// An archive that came over the network makes a folder that did.
fn unpacked(machine: &mut Machine<'_>, call: &Call, world: &World) {
    const UNPACK: Grammar = Grammar { short: "CdfI", attached: "o", long: &["directory", "file"], ..Grammar::PLAIN };
    let mut files: Vec<Arg> =
        call.args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).cloned().collect();
    files.retain(|file| machine.read(&file.text, world).labels.has(Labels::DOWNLOADED));
    if files.is_empty() && !call.input.labels.has(Labels::DOWNLOADED) {
        return;
    }
    let options = Options::read(&call.args, &UNPACK);
    let folder =
        options.value(&["C", "d", "o", "directory"]).map_or_else(|| Text::known("."), |folder| folder.text.clone());
    let Some(folder) = folder.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref())) else { return };
    machine.files.insert(format!("{}/{MARK}", folder.trim_end_matches('/')), Flow::labelled(Labels::DOWNLOADED));
}

/// Objects where a program by its path, or a script for a shell, lies in a folder that was just fetched.
fn runs_fetched(machine: &mut Machine<'_>, call: &Call, world: &World) {
    if machine.files.is_empty() {
        return;
    }
    let marked: Vec<String> = machine
        .files
        .keys()
        .filter_map(|path| path.strip_suffix(MARK))
        .map(|folder| folder.trim_end_matches('/').to_owned())
        .collect();
    if marked.is_empty() {
        return;
    }
    let is_shell = matches!(
        call.name.as_str(),
        "sh" | "bash" | "zsh" | "dash" | "python" | "perl" | "ruby" | "node" | "." | "source"
    );
    let script = call.args.iter().find(|arg| !arg.text.known_start().starts_with('-')).filter(|_| is_shell);
    let program = Some(&call.path).filter(|path| path.known_start().contains('/'));
    for text in program.into_iter().chain(script.map(|arg| &arg.text)) {
        let Some(path) = text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref())) else {
            continue;
        };
        // What lies there already was not fetched; what is in folders that the archive made was.
        let is_fetched =
            marked.iter().any(|folder| path::is_within(&path, folder) && !machine.files.contains_key(&path));
        if is_fetched {
            let from = Arg::new(text.clone(), call.span);
            machine.object_to_flow(&Flow::labelled(Labels::DOWNLOADED), &from);
        }
    }
}

/// Packages by plain HTTP from a machine that has no name.
fn by_number(machine: &mut Machine<'_>, call: &Call) {
    for arg in &call.args {
        let start = arg.text.known_start();
        let Some((_, rest)) = start.split_once("http://") else { continue };
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        let is_number =
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || host.starts_with('[');
        if is_number && !is_local(host) {
            let reason = "A package would be installed from a machine without a name, over an open connection.";
            machine.state(Kind::RunDownloaded, reason, arg.span, Some(arg.text.display()));
        }
    }
}

/// `deno run -A address`.
fn by_address(machine: &mut Machine<'_>, call: &Call) {
    let is_free = call.name == "bun"
        || call.args.iter().any(|arg| ["-A", "--allow-all", "--allow-run"].iter().any(|word| arg.text.is(word)));
    let runs = call.args.first().is_some_and(|verb| verb.text.is("run"));
    for arg in call.args.iter().filter(|_| is_free && runs) {
        let start = arg.text.known_start();
        if start.starts_with("https://") || start.starts_with("http://") {
            machine.object_to_flow(&Flow::labelled(Labels::DOWNLOADED), arg);
        }
    }
}
