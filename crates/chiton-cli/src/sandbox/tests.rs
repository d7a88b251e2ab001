//! What a person writes, and the policy or the error that comes of it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxPolicy, UndoPolicy};
use tempfile::TempDir;

use super::arguments::{Choice, ChosenBy};
use super::change::{Direction, edited};
use super::entry::Key;
use super::limits::Capacity;
use super::paths::real;
use super::profiles::{self, BUILT_IN};
use super::settle::{Around, Settled, settle};
use super::workspace::Workspace;
use crate::settings::{Settings, parse};

/// A machine with a home, a project in it, and nothing else.
struct Machine {
    _folder: TempDir,
    root: PathBuf,
    home: PathBuf,
    project: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = real(folder.path()).join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        let root = real(folder.path()).join("root");
        fs::create_dir_all(root.join("tmp")).unwrap();
        Self { _folder: folder, root, home, project, variables: Vec::new() }
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn repository(&self, path: &str, config: &str) {
        for folder in ["objects", "refs", "hooks"] {
            fs::create_dir_all(self.home.join(path).join(folder)).unwrap();
        }
        self.file(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
        self.file(&format!("{path}/config"), config);
    }

    fn settle(&self, settings: &str, profile: &str) -> anyhow::Result<Settled> {
        parse(settings, super::check)?;
        let settings: Settings = toml_edit::de::from_str(settings)?;
        let variable = |name: &str| {
            let found = self.variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let around = Around {
            root: self.root.clone(),
            home: Some(self.home.clone()),
            variable: &variable,
            user: 1000,
            capacity: Capacity { memory: Some(100 << 30), disk: Some(10 << 30) },
            own: vec![self.home.join(".config/chiton"), self.home.join(".local/state/chiton")],
        };
        let workspace = Workspace::find(&self.project, &[], &[], Some(&self.home))?;
        let composed = profiles::compose(&settings.sandbox, profile)?.expect("not off");
        let choice = Choice { name: profile.to_owned(), by: ChosenBy::Person };
        settle(&composed, choice.missing(&composed), &workspace, &around)
    }

    fn policy(&self, settings: &str, profile: &str) -> SandboxPolicy {
        self.settle(settings, profile).unwrap_or_else(|error| panic!("{settings}: {error:#}")).policy
    }

    /// Paths below home as `~/…`, others as if this machine were the only one.
    fn shown(&self, paths: &[PathBuf]) -> Vec<String> {
        let shown = |path: &PathBuf| match path.strip_prefix(&self.root) {
            Ok(rest) => format!("/{}", rest.display()),
            Err(_) => super::paths::shown(path, Some(&self.home)),
        };
        paths.iter().map(shown).collect()
    }
}

fn of_key(policy: &SandboxPolicy, key: Key) -> Vec<PathBuf> {
    match key {
        Key::Write => policy.write.clone(),
        Key::Hide => policy.hide.clone(),
        Key::Keep => policy.keep.clone(),
        Key::Sockets => policy.sockets.clone(),
        Key::Network | Key::Expose => unreachable!("these are no paths"),
    }
}

#[test]
fn a_list_adds_to_what_is_extended_and_an_empty_one_means_nothing() {
    use Key::{Hide, Keep, Sockets, Write};
    let machine = Machine::new();
    // The settings of the profile, the list, what is in it, what is not.
    let cases: &[(&str, Key, &[&str], &[&str])] = &[
        (
            "",
            Write,
            &["~/project", "/tmp", "/var/tmp", "~/.cache", "~/.npm", "~/.cargo/registry"],
            &["~", "~/.cargo", "~/.cargo/bin", "~/.rustup"],
        ),
        ("write = ['~/data']", Write, &["~/project", "~/data", "/tmp"], &[]),
        ("write = ['/srv/data', '!@caches']", Write, &["~/project", "/srv/data"], &["~/.cache", "~/.npm"]),
        ("write = ['!~/.npm']", Write, &["~/.cache"], &["~/.npm"]),
        ("write = ['!~/.cargo']", Write, &["~/.cache"], &["~/.cargo/registry", "~/.cargo/git"]),
        ("write = ['!*', '@workspace/build']", Write, &["~/project/build"], &["~/project", "/tmp"]),
        ("write = []", Write, &[], &["~/project", "/tmp"]),
        ("hide = []", Hide, &["~/.config/chiton", "~/.local/state/chiton"], &["~/.aws"]),
        ("hide = ['~/private']", Hide, &["~/private", "~/.aws", "~/.ssh/id_ed25519", "~/.config/chiton"], &["~/.ssh"]),
        ("hide = ['!~/.aws', '!~/.config']", Hide, &["~/.netrc", "~/.config/chiton"], &["~/.aws", "~/.config/gh"]),
        ("hide = ['@workspace/.env']", Hide, &["~/project/.env"], &[]),
        ("keep = ['@workspace/vendor', '!@hooks']", Keep, &["~/project/vendor"], &["~/project/.idea"]),
        ("extends = 'read-only'", Write, &["/tmp"], &["~/project", "~/.cache"]),
        ("extends = 'read-only'\nwrite = ['@workspace']", Write, &["/tmp", "~/project"], &["~/.cache"]),
        ("sockets = ['/run/docker.sock']", Sockets, &["/run/docker.sock"], &[]),
        ("sockets = ['!@agents']", Sockets, &["/var/lib/sss/pipes/nss"], &["/run/user/1000/gnupg/S.gpg-agent"]),
    ];
    for (text, key, there, gone) in cases {
        let policy = machine.policy(&format!("[sandbox.profiles.own]\n{text}"), "own");
        let found = machine.shown(&of_key(&policy, *key));
        let has = |path: &&&str| found.iter().any(|one| one == *path);
        let missing: Vec<_> = there.iter().filter(|path| !has(path)).collect();
        let extra: Vec<_> = gone.iter().filter(has).collect();
        assert!(
            missing.is_empty() && extra.is_empty(),
            "{text}: {missing:?} are missing, {extra:?} should not be in {found:?}"
        );
    }
}

#[test]
fn the_network_is_open_by_name_or_off() {
    let machine = Machine::new();
    machine.repository("project/.git", "[remote \"origin\"]\n\turl = git@git.example.org:o/r.git\n");
    // The profile with its settings, whether the network is open, off or by name, and names that are in it or not.
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("extends = 'work'", "open", &[], &[]),
        ("extends = 'offline'", "off", &[], &[]),
        (
            "extends = 'named'",
            "named",
            &["crates.io", "pypi.org", "git.example.org:22", "github.com:22"],
            &["example.org"],
        ),
        (
            "extends = 'named'\nnetwork = ['db.example.org:5432', '!@registries']",
            "named",
            &["db.example.org:5432", "git.example.org:22"],
            &["crates.io"],
        ),
        ("extends = 'named'\nnetwork = ['!crates.io']", "named", &["pypi.org"], &["crates.io"]),
        ("extends = 'named'\nnetwork = []", "off", &[], &[]),
        ("extends = 'named'\nnetwork = ['*']", "open", &[], &[]),
        // Who names a host wants that one, and not everything besides.
        ("extends = 'work'\nnetwork = ['example.org']", "named", &["example.org"], &["crates.io"]),
        ("extends = 'work'\nnetwork = ['!*']", "off", &[], &[]),
        ("extends = 'offline'\nnetwork = ['*.example.org']", "named", &["*.example.org"], &[]),
    ];
    for (text, kind, there, gone) in cases {
        let policy = machine.policy(&format!("[sandbox.profiles.own]\n{text}"), "own");
        let (found, names) = match &policy.network {
            NetworkPolicy::Open => ("open", Vec::new()),
            NetworkPolicy::Off => ("off", Vec::new()),
            NetworkPolicy::Named(rules) => ("named", rules.iter().map(super::hosts::shown).collect()),
        };
        let has = |name: &&str| names.iter().any(|one| one == *name);
        assert!(found == *kind && there.iter().all(has) && !gone.iter().any(has), "{text}: {found} {names:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_was_probably_meant() {
    let machine = Machine::new();
    let cases: &[(&str, &[&str])] = &[
        ("[sandbox]\nprofil = 'work'", &["no setting sandbox.profil", "did you mean sandbox.profile"]),
        (
            "[sandbox]\nprofile = 'wrok'",
            &["sandbox.profile", "no sandbox profile 'wrok'", "did you mean work?", "read-only"],
        ),
        (
            "[sandbox.profiles.own]\nwrites = []",
            &["no setting sandbox.profiles.own.writes", "did you mean sandbox.profiles.own.write?"],
        ),
        (
            "[sandbox.profiles.own]\nwrite = ['@cache']",
            &["profiles.own.write", "no group @cache", "did you mean @caches?"],
        ),
        ("[sandbox.profiles.own]\nwrite = ['@registries']", &["@registries is for network", "@workspace"]),
        ("[sandbox.profiles.own]\nwrite = ['data']", &["'data' is relative", "@workspace/data"]),
        ("[sandbox.profiles.own]\nwrite = ['~/a/../b']", &["'..'"]),
        ("[sandbox.profiles.own]\nwrite = ['/srv/*']", &["is a pattern"]),
        ("[sandbox.profiles.own]\nwrite = ['@tmp/x']", &["only @workspace has folders"]),
        ("[sandbox.profiles.own]\nwrite = 'x'", &["line 2"]),
        (
            "[sandbox.profiles.own]\nextends = 'read-only'\nwrite = ['!@caches']",
            &["!@caches takes away", "does not have"],
        ),
        ("[sandbox.profiles.own]\nextends = 'readonly'", &["no sandbox profile 'readonly'", "did you mean read-only?"]),
        ("[sandbox.profiles.own]\nextends = 'off'", &["nothing can extend it"]),
        ("[sandbox.profiles.off]\nwrite = []", &["cannot be changed"]),
        ("[sandbox.profiles.a]\nextends = 'b'\n[sandbox.profiles.b]\nextends = 'a'", &["in a circle"]),
        ("[sandbox.profiles.own]\nextends = 'own'", &["in a circle"]),
        ("[sandbox.profiles.own]\nnetwork = ['https://example.org']", &["write the host alone, example.org"]),
        ("[sandbox.profiles.own]\nexpose = [70000]", &["not a port"]),
        ("[sandbox.profiles.own]\nlimits = { memory = '8X' }", &["limits.memory", "'8X'", "512M"]),
        ("[sandbox.profiles.own]\nlimits = { memroy = '8G' }", &["did you mean sandbox.profiles.own.limits.memory?"]),
        ("[sandbox.profiles.own]\nlimits = { cpu = 10 }", &["limits.cpu", "30s or 10m"]),
        ("[sandbox.profiles.own]\nmissing = 'ignore'", &["line 2", "refuse"]),
        ("[sandbox.profiles.own]\nundo = 'kept'", &["profiles.own.undo", "'kept' is not known", "did you mean keep?"]),
        ("[sandbox.profiles.own]\nundo = 'no'", &["'no' is not known; there are: keep, ask, off"]),
        ("[sandbox.profiles.own]\nundo = true", &["profiles.own.undo", "write \"keep\"", "\"ask\""]),
        ("[sandbox.profiles.own]\nundo = false", &["profiles.own.undo", "write \"off\""]),
        ("[sandbox.profiles.own]\nundo = 1", &["line 2", "write \"keep\", \"ask\" or \"off\""]),
        ("[sandbox.profiles.own]\nundos = 'keep'", &["did you mean sandbox.profiles.own.undo?"]),
        ("[sandbox.profiles.'a b']\n", &["letters, digits"]),
    ];
    for (text, words) in cases {
        let said = format!("{:#}", machine.settle(text, "work").unwrap_err());
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        assert!(!said.contains("Some(") && !said.contains("Error {"), "{said}");
    }
}

#[test]
fn limits_ports_and_missing_are_what_the_last_profile_says() {
    let machine = Machine::new();
    let work = machine.policy("", "work");
    assert_eq!((work.limits.memory, work.limits.processes), (Some((100u64 << 30) / 100 * 80), Some(4096)));
    assert_eq!(work.limits.free, Some((10u64 << 30) / 100 * 5), "the lesser of 1G and 5%");
    assert_eq!((work.limits.cpu_seconds, work.missing), (None, MissingLayer::Refuse), "a person named it");

    let settings = "[sandbox.profiles.base]\nlimits = { memory = '8G', cpu = '10m', open_files = 4096, file = '10G' }\n\
                    expose = [8080, 3000]\nmissing = 'say'\n\
                    [sandbox.profiles.own]\nextends = 'base'\nlimits = { memory = 'none', processes = 20, free = '1G' }\nexpose = ['!3000', 9000]";
    let own = machine.policy(settings, "own");
    let limits = own.limits;
    assert_eq!((limits.memory, limits.processes, limits.cpu_seconds), (None, Some(20), Some(600)));
    assert_eq!((limits.file, limits.open_files, limits.free), (Some(10 << 30), Some(4096), Some(1 << 30)));
    assert_eq!((own.expose.as_slice(), own.missing), (&[8080, 9000][..], MissingLayer::Say));

    let composed = profiles::compose(&Settings::default().sandbox, "work").unwrap().unwrap();
    let nobody = Choice { name: "work".to_owned(), by: ChosenBy::Default };
    assert_eq!(nobody.missing(&composed), MissingLayer::Say, "nobody relies on a default");
}

#[test]
fn undo_is_what_the_last_profile_says_and_the_guard_knows_where() {
    let machine = Machine::new();
    let project = vec![machine.project.clone()];
    // The settings of the profile, what becomes of them, where things are kept, and whether the guard need not ask there.
    let cases: [(&str, UndoPolicy, &[PathBuf], bool); 6] = [
        ("", UndoPolicy::Keep, &project, true),
        ("undo = 'keep'", UndoPolicy::Keep, &project, true),
        ("undo = 'ask'", UndoPolicy::KeepAndAsk, &project, false),
        ("undo = 'off'", UndoPolicy::Off, &[], false),
        ("extends = 'read-only'", UndoPolicy::Keep, &[], false),
        ("write = ['!@workspace']", UndoPolicy::Keep, &[], false),
    ];
    for (settings, undo, kept, is_left_to_undo) in cases {
        let policy = machine.policy(&format!("[sandbox.profiles.own]\n{settings}"), "own");
        assert_eq!((policy.undo, policy.kept_roots().as_slice()), (undo, kept), "{settings}");
        let texts: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(policy.boundary().undo, if is_left_to_undo { texts } else { Vec::new() }, "{settings}");
    }
    for built_in in BUILT_IN {
        assert_eq!(machine.policy("", built_in.name).undo, UndoPolicy::Keep, "{}", built_in.name);
    }
    let settings = "[sandbox.profiles.base]\nundo = 'ask'\n[sandbox.profiles.own]\nextends = 'base'";
    assert_eq!(machine.policy(settings, "own").undo, UndoPolicy::KeepAndAsk);
}

#[test]
fn a_profile_of_a_built_in_name_changes_that_one() {
    let machine = Machine::new();
    let settings =
        "[sandbox.profiles.work]\nwrite = ['/srv/data']\n[sandbox.profiles.offline]\nextends = 'work'\nnetwork = []";
    let data = machine.root.join("srv/data");
    for profile in ["work", "offline"] {
        let policy = machine.policy(settings, profile);
        assert!(policy.write.contains(&data) && policy.write.contains(&machine.project), "{profile}");
        assert_eq!(policy.profile, profile);
    }
    assert!(!machine.policy(settings, "named").write.contains(&data));
}

#[test]
fn keys_are_hidden_and_git_can_still_push() {
    let mut machine = Machine::new();
    for (path, text) in [
        (".ssh/id_work", "key"),
        (".ssh/id_work.pub", "key"),
        (".ssh/known_hosts", "host"),
        (".ssh/deploy.pem", "key"),
        (".ssh/config", "Host x\n  IdentityFile ~/keys/x\n  identityfile=\"/srv/k\"\n  IdentityFile %d/y\n"),
        (".gnupg/pubring.kbx", "keys"),
        (".npmrc", "registry=https://r.example.org\n"),
        (".m2/settings.xml", "<password>x</password>"),
        (".cargo/credentials.toml", "token"),
    ] {
        machine.file(path, text);
    }
    machine.variables = vec![("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh".to_owned())];
    let policy = machine.policy("", "work");
    let hidden = machine.shown(&policy.hide);
    let is_hidden = |path: &str| policy.hide.iter().any(|hide| machine.home.join(path).starts_with(hide));
    for path in [
        ".ssh/id_work", ".ssh/deploy.pem", ".ssh/id_ed25519", "keys/x", ".gnupg/private-keys-v1.d", ".m2/settings.xml",
        ".cargo/credentials.toml", ".aws/credentials", ".config/gh/hosts.yml", ".claude/.credentials.json",
        ".local/state/chiton/runs",
    ] {
        assert!(is_hidden(path), "{path} should be in {hidden:?}");
    }
    for path in [
        ".ssh/known_hosts", ".ssh/config", ".ssh/id_work.pub", ".gnupg/pubring.kbx", ".npmrc", ".gitconfig",
        ".m2/repository",
    ] {
        assert!(!is_hidden(path), "{path} should not be in {hidden:?}");
    }
    assert!(hidden.contains(&"/srv/k".to_owned()));
    assert!(policy.sockets.contains(&"/run/user/1000/keyring/ssh".into()));

    machine.file(".npmrc", "//r.example.org/:_authToken=x\n");
    assert!(machine.shown(&machine.policy("", "work").hide).contains(&"~/.npmrc".to_owned()), "a login is in it now");
}

#[test]
fn variables_say_where_caches_are_and_never_open_more_than_a_cache() {
    let mut machine = Machine::new();
    let home = machine.home.display().to_string();
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("CARGO_HOME", "/srv/cargo", &["/srv/cargo/registry", "/srv/cargo/git"], &["/srv/cargo", "~/.cargo/registry"]),
        ("GOPATH", "/srv/go:/srv/other", &["/srv/go/pkg"], &["~/go/pkg", "/srv/go"]),
        ("GOPATH", &home, &["~/pkg"], &["~"]),
        ("PIP_CACHE_DIR", "/srv/pip", &["/srv/pip"], &[]),
        ("PIP_CACHE_DIR", "/", &[], &["/"]),
        ("PIP_CACHE_DIR", &home, &[], &["~"]),
        ("XDG_CACHE_HOME", "/srv/cache", &["/srv/cache"], &["~/.cache"]),
        ("XDG_CACHE_HOME", "relative", &["~/.cache"], &["relative"]),
        ("TMPDIR", "/srv/tmp", &["/srv/tmp", "/tmp"], &[]),
        ("TMPDIR", "/srv/../etc", &["/tmp"], &["/etc", "/srv/../etc"]),
        ("HF_HOME", "/dev/null", &[], &["/dev/null"]),
        ("npm_config_cache", "/srv/npm", &["/srv/npm"], &["~/.npm"]),
    ];
    for (name, value, there, gone) in cases {
        machine.variables = vec![(name, (*value).to_owned())];
        let found = machine.shown(&machine.policy("", "work").write);
        let has = |path: &&str| found.iter().any(|one| one == *path);
        assert!(there.iter().all(has) && !gone.iter().any(has), "{name}={value}: {found:?}");
    }
}

#[test]
fn a_link_that_a_command_made_opens_nothing() {
    let machine = Machine::new();
    fs::create_dir_all(machine.home.join(".cache")).unwrap();
    fs::create_dir_all(machine.home.join("other")).unwrap();
    for link in [".cache/pip", "project/build", ".npm"] {
        symlink(&machine.home, machine.home.join(link)).unwrap();
    }
    symlink(machine.home.join("other"), machine.project.join("out")).unwrap();
    let other = machine.home.join("other");
    for settings in [
        "write = []",
        "write = ['@workspace/build', '@workspace/out']",
        "write = ['!*', '@workspace/build', '@workspace/out']",
    ] {
        let mut here = Machine {
            variables: vec![("PIP_CACHE_DIR", machine.home.join(".cache/pip").display().to_string())],
            ..Machine::new()
        };
        (here.root, here.home, here.project) = (machine.root.clone(), machine.home.clone(), machine.project.clone());
        let settled = here.settle(&format!("[sandbox.profiles.own]\n{settings}"), "own").unwrap();
        let opens = |path: &Path| settled.policy.write.iter().any(|write| path.starts_with(write));
        assert!(!opens(&machine.home) && !opens(&other), "{settings}: {:?}", settled.policy.write);
    }
}

#[test]
fn hooks_are_kept_where_there_is_a_repository_and_git_init_still_works() {
    let machine = Machine::new();
    let kept = |machine: &Machine| machine.shown(&machine.policy("", "work").keep);
    let before = kept(&machine);
    assert!(
        before.contains(&"~/project/.mcp.json".to_owned())
            && before.contains(&"~/project/.vscode/tasks.json".to_owned())
    );
    assert!(!before.iter().any(|path| path.contains(".git/")), "{before:?}");
    machine.repository("project/.git", "");
    let after = kept(&machine);
    assert!(after.contains(&"~/project/.git/hooks".to_owned()));
    assert!(!after.iter().any(|path| path.ends_with(".git/config")), "remotes and branches are ordinary work");
    assert!(!after.contains(&"~/project/.vscode".to_owned()), "the folder itself can be made");

    // What is kept by a link is kept at both ends.
    fs::create_dir(machine.project.join("settings")).unwrap();
    symlink(machine.project.join("settings"), machine.project.join(".idea")).unwrap();
    let linked = kept(&machine);
    assert!(
        linked.contains(&"~/project/.idea".to_owned()) && linked.contains(&"~/project/settings".to_owned()),
        "{linked:?}"
    );
}

#[test]
fn a_workspace_that_is_hidden_is_an_error_and_a_removal_of_nothing_a_note() {
    let mut machine = Machine::new();
    machine.project = machine.home.join(".aws/x");
    fs::create_dir_all(&machine.project).unwrap();
    let said = machine.settle("", "work").unwrap_err().to_string();
    assert!(said.contains("lies in what the sandbox hides") && said.contains("@secrets"), "{said}");

    let machine = Machine::new();
    let settled = machine.settle("[sandbox.profiles.work]\nwrite = ['!/srv/none']", "work").unwrap();
    assert!(settled.notes.iter().any(|note| note.contains("!/srv/none")), "{:?}", settled.notes);
}

#[test]
fn every_built_in_profile_settles() {
    let machine = Machine::new();
    for row in BUILT_IN {
        let settled = machine.settle("", row.name).unwrap();
        assert_eq!((settled.policy.profile.as_str(), settled.notes.len()), (row.name, 0));
        assert!(settled.policy.write.contains(&machine.root.join("tmp")) && !settled.policy.hide.is_empty());
        assert!(
            settled.entries.iter().all(|entry| !entry.entry.is_empty() && !entry.why.is_empty() || entry.entry == "*")
        );
    }
}

#[test]
fn an_entry_of_the_settings_comes_and_goes_and_the_rest_of_the_file_stays() {
    let commented = "# mine\n[mcp]\ndialect = 'native' # why\n";
    let lines = "[sandbox.profiles.work]\nwrite = [\n  '/a', # first\n  '/b',\n]\n";
    // Before, key, entry, after `allow`; `deny` gives the first back where there is one to give.
    let cases = [
        ("", Key::Write, "/a", "[sandbox.profiles.work]\nwrite = [\"/a\"]\n"),
        (
            commented,
            Key::Write,
            "/a",
            "# mine\n[mcp]\ndialect = 'native' # why\n\n[sandbox.profiles.work]\nwrite = [\"/a\"]\n",
        ),
        (
            "[sandbox]\nprofile = 'work'\n",
            Key::Hide,
            "!~/.aws",
            "[sandbox]\nprofile = 'work'\n\n[sandbox.profiles.work]\nhide = [\"!~/.aws\"]\n",
        ),
        (lines, Key::Write, "/c", "[sandbox.profiles.work]\nwrite = [\n  '/a', # first\n  '/b',\n  \"/c\",\n]\n"),
        (
            "[sandbox.profiles.work]\nmissing = 'say'\n",
            Key::Network,
            "x.org:22",
            "[sandbox.profiles.work]\nmissing = 'say'\nnetwork = [\"x.org:22\"]\n",
        ),
    ];
    for (before, key, entry, after) in cases {
        let allowed = edited(before, "work", key, entry, Direction::Allow).unwrap().unwrap();
        assert_eq!(allowed, after);
        parse(&allowed, super::check).unwrap();
        assert_eq!(edited(&allowed, "work", key, entry, Direction::Allow).unwrap(), None, "it is there already");
        let denied = edited(&allowed, "work", key, entry, Direction::Deny).unwrap().unwrap();
        assert_eq!(denied.trim_end(), before.trim_end());
        assert_eq!(edited(&denied, "work", key, entry, Direction::Deny).unwrap(), None, "it is not there any more");
    }
    // An empty list means nothing, and one more entry is one entry.
    let nothing = "[sandbox.profiles.work]\nwrite = []\n";
    let one = edited(nothing, "work", Key::Write, "/a", Direction::Allow).unwrap().unwrap();
    assert_eq!(one, "[sandbox.profiles.work]\nwrite = [\"!*\", \"/a\"]\n");
    let none = edited(&one, "work", Key::Write, "/a", Direction::Deny).unwrap().unwrap();
    assert_eq!(none, "[sandbox.profiles.work]\nwrite = [\"!*\"]\n");
    // What was taken away comes back.
    let less = "[sandbox.profiles.own]\nwrite = ['!~/.npm']\n";
    let more = edited(less, "own", Key::Write, "~/.npm", Direction::Allow).unwrap().unwrap();
    assert_eq!(more, "[sandbox.profiles.own]\n");
    let inline = "sandbox = { profiles = {} }\n";
    assert!(edited(inline, "own", Key::Write, "/a", Direction::Allow).unwrap_err().to_string().contains("in one line"));
}

#[test]
fn a_cache_is_made_where_its_program_is_here_and_nowhere_else() {
    let mut machine = Machine::new();
    let made = |machine: &Machine, settings: &str| -> Vec<String> {
        let policy = machine.policy(settings, "work");
        let paths: Vec<PathBuf> = policy.made.iter().map(|place| place.path().to_owned()).collect();
        assert!(paths.iter().all(|path| policy.write.contains(path)), "{paths:?}");
        machine.shown(&paths)
    };
    assert_eq!(made(&machine, ""), Vec::<String>::new(), "nothing is on the PATH");

    for program in ["sh", "npm", "cargo"] {
        machine.file(&format!("bin/{program}"), "");
    }
    machine.variables.push(("PATH", machine.home.join("bin").display().to_string()));
    let found = made(&machine, "");
    for there in ["~/.cache", "~/.npm", "~/.cargo/registry", "~/.cargo/.package-cache"] {
        assert!(found.contains(&there.to_owned()), "{there}: {found:?}");
    }
    assert!(!found.iter().any(|path| path.contains("gradle") || path.contains(".m2")), "{found:?}");

    machine.file("project/gradlew", "");
    assert!(made(&machine, "").contains(&"~/.gradle/caches".to_owned()), "it comes with the project");
    let less = made(&machine, "[sandbox.profiles.work]\nwrite = ['!~/.npm']");
    assert!(!less.contains(&"~/.npm".to_owned()), "what may not be written is not made: {less:?}");
}
