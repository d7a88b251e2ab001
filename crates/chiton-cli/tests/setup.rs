//! `chiton setup`: what is in the settings of clients before and after, byte for byte. The texts are in
//! `cases/setup.cases`. Each promise is a test for each client: `cargo test -p chiton-cli --test setup '[zed]'`.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

mod place;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output, Stdio};

use chiton_testkit::trials::{self, Threads, Trial, passes};
use chiton_testkit::{cases, named};
use place::{Place, text};

/// A client: its name, the settings of the user below the home directory, the settings of a project.
type Client = (&'static str, &'static str, Option<&'static str>);

const CLIENTS: [Client; 13] = [
    ("claude-code", ".claude.json", Some(".mcp.json")),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", None),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json")),
    ("codex", ".codex/config.toml", Some(".codex/config.toml")),
    ("gemini", ".gemini/settings.json", Some(".gemini/settings.json")),
    ("opencode", ".config/opencode/opencode.json", Some("opencode.json")),
    ("copilot", ".copilot/mcp-config.json", Some(".github/mcp.json")),
    ("qwen", ".qwen/settings.json", Some(".qwen/settings.json")),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", None),
    ("vscode", ".config/Code/User/mcp.json", Some(".vscode/mcp.json")),
    ("zed", ".config/zed/settings.json", Some(".zed/settings.json")),
    ("goose", ".config/goose/config.yaml", None),
];

/// What can be switched.
const SWITCHES: [&str; 3] = ["approve", "replace", "http"];
/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:1/mcp";
const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const CHITON: &str = env!("CARGO_BIN_EXE_chiton");

fn main() -> ExitCode {
    let each = named![fn(Client);
        without_a_file_one_is_made_and_removed_again,
        an_empty_file_is_filled_and_emptied_again,
        other_servers_comments_and_layout_stay_and_undo_gives_back_every_byte,
        undo_takes_out_our_entry_alone_when_the_file_has_changed_since,
        an_entry_that_is_ours_is_kept_or_brought_up_to_date_and_its_other_fields_stay,
        a_change_of_arguments_can_still_be_undone_to_the_byte,
        a_malformed_file_is_never_written_and_the_place_of_the_mistake_is_named,
        a_link_stays_a_link_and_its_target_is_written,
        a_folder_that_cannot_be_written_is_an_error_and_nothing_is_left_in_it,
        a_project_has_settings_of_its_own_where_the_client_knows_such,
        a_server_of_somebody_else_is_not_taken_for_ours,
        many_calls_at_the_same_time_all_leave_their_entry,
        what_was_set_by_switches_in_any_order_is_undone_to_the_byte,
        a_client_without_its_own_shell_may_call_ours,
    ];
    let switched = named![fn(Client, &'static str);
        a_switch_makes_a_file_where_there_is_none_and_undo_removes_it,
        a_switch_joins_what_is_there_and_undo_gives_back_every_byte,
        a_switch_alone_is_taken_back_when_the_file_has_changed_since,
        what_somebody_switched_before_us_stays,
        a_switch_of_a_project_goes_into_its_files,
    ];
    let once = named![fn();
        variables_that_move_the_settings_are_followed,
        mistakes_on_the_command_line_are_told_before_anything_is_written,
        the_list_says_what_is_found_and_what_is_set_up,
        what_was_written_is_what_the_client_starts,
        a_server_that_does_not_start_is_told_and_the_entry_stays,
        a_server_over_http_is_asked_with_the_token,
        the_token_is_not_written_where_others_read_it,
        a_switch_that_cannot_be_edited_leaves_all_files_alone,
        other_files_of_a_client_are_used_where_they_are_there,
    ];
    let mut trials = Vec::new();
    for (name, check) in each {
        trials.extend(CLIENTS.map(|client| Trial::test(name, move || passes(|| check(client))).with_kind(client.0)));
    }
    for (name, check) in switched {
        for switch in SWITCHES {
            trials.extend(CLIENTS.map(|client| {
                let promise = format!("{switch}: {name}");
                Trial::test(promise, move || passes(|| check(client, switch))).with_kind(client.0)
            }));
        }
    }
    trials.extend(once.map(|(name, check)| Trial::test(name, move || passes(check))));
    trials::run(Threads::Processors, trials, Vec::new())
}

/// The text of a case, and what follows its name.
fn case(client: &str, kind: &str) -> (String, String) {
    let wanted = format!("{client} {kind}");
    find(&wanted).unwrap_or_else(|| panic!("no case {wanted}"))
}

fn find(wanted: &str) -> Option<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/setup.cases");
    let is_it = |name: &str| name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let found = cases::read(&path).into_iter().find(|case| is_it(&case.name))?;
    let dialect = match wanted.split(' ').next().unwrap() {
        "opencode" => "opencode-cli",
        "qwen" => "gemini",
        other => other,
    };
    // A dialect that this version does not have is not asked for.
    let has = chiton_dialects::find(dialect).is_some();
    let dialect = if has { format!(", \"--dialect\", \"{dialect}\"") } else { String::new() };
    let around = chiton_dialects::Surroundings::new("/");
    let tools = chiton_dialects::find("native").unwrap().tools(&around);
    let listed: Vec<String> = tools.iter().map(|tool| format!("\"{}\"", tool.name)).collect();
    let zed: Vec<String> = tools
        .iter()
        .map(|tool| format!("        \"mcp:chiton:{}\": {{\n          \"default\": \"allow\"\n        }}", tool.name))
        .collect();
    let text = text(&found.command)
        .replace("{CHITON}", CHITON)
        .replace("{DIALECT}", &dialect)
        .replace("{TOOLS}", &listed.join(", "))
        .replace("{ZED}", &zed.join(",\n"))
        .replace("{TOKEN}", TOKEN);
    Some((text, found.name[wanted.len()..].trim().to_owned()))
}

fn body(client: &str, kind: &str) -> String {
    case(client, kind).0
}

/// One client with its settings file in a home directory of its own.
struct Scene {
    place: Place,
    client: &'static str,
    file: PathBuf,
}

impl Scene {
    fn new((client, file, _): Client, before: Option<&str>) -> Self {
        let place = Place::new();
        let file = place.folder.path().join(file);
        let scene = Self { place, client, file };
        if let Some(before) = before {
            fs::create_dir_all(scene.file.parent().unwrap()).unwrap();
            fs::write(&scene.file, before).unwrap();
        }
        scene
    }

    /// Runs setup, which must go well; gives what it said.
    fn setup(&self, more: &[&str]) -> String {
        let output = self.place.call(&[&["setup", self.client], more].concat());
        assert_eq!(output.status.code(), Some(0), "{} {more:?}: {}", self.client, text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs setup, which must refuse; gives why.
    fn refusal(&self, more: &[&str]) -> String {
        refused(&self.place.call(&[&["setup", self.client], more].concat()))
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(&self.file).ok()
    }

    fn backup(&self) -> PathBuf {
        PathBuf::from(format!("{}.before-chiton", self.file.display()))
    }

    /// All files there are, so that nothing is left behind unseen.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.place.folder.path().to_owned()];
        // The server that setup tries has its state here.
        let state = self.place.folder.path().join("state");
        while let Some(folder) = folders.pop() {
            if folder == state {
                continue;
            }
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() { folders.push(entry.path()) } else { found.push(entry.path()) }
            }
        }
        found.sort();
        found
    }
}

fn refused(output: &Output) -> String {
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{why}{}", text(&output.stdout));
    assert!(why.starts_with("chiton: ") && !why.contains("panicked"), "{why}");
    why
}

fn without_a_file_one_is_made_and_removed_again(client: Client) {
    let scene = Scene::new(client, None);
    let shown = scene.setup(&["--dry-run"]);
    assert!(scene.files().is_empty(), "a dry run makes nothing");
    assert!(shown.contains("dry run"), "{shown}");
    for line in body(scene.client, "fresh").lines() {
        assert!(shown.contains(&format!("\n+{line}\n")), "{line} is not in {shown}");
    }
    let said = scene.setup(&[]);
    assert_eq!(scene.text().unwrap(), body(scene.client, "fresh"), "{}", scene.client);
    assert!(said.contains(scene.file.to_str().unwrap()) && said.contains("next: "), "{said}");
    assert!(said.contains(&format!("undo: chiton setup {} --undo", scene.client)), "{said}");
    assert_eq!(fs::metadata(&scene.file).unwrap().mode() & 0o777, 0o600, "it may hold secrets one day");
    scene.setup(&["--undo", "--dry-run"]);
    assert_eq!(scene.text().unwrap(), body(scene.client, "fresh"), "a dry run changes nothing");
    scene.setup(&["--undo"]);
    assert!(scene.files().is_empty(), "{}: {:?}", scene.client, scene.files());
    assert!(scene.setup(&["--undo"]).contains("nothing was changed"));
}

fn an_empty_file_is_filled_and_emptied_again(client: Client) {
    let scene = Scene::new(client, Some(""));
    scene.setup(&["--dry-run"]);
    assert_eq!(scene.text().unwrap(), "");
    scene.setup(&[]);
    assert_eq!(scene.text().unwrap(), body(scene.client, "fresh"), "{}", scene.client);
    scene.setup(&["--undo"]);
    assert_eq!((scene.text().unwrap().as_str(), scene.files()), ("", vec![scene.file.clone()]));
}

fn other_servers_comments_and_layout_stay_and_undo_gives_back_every_byte(client: Client) {
    let (before, after) = (body(client.0, "others"), body(client.0, "added"));
    let scene = Scene::new(client, Some(&before));
    fs::set_permissions(&scene.file, fs::Permissions::from_mode(0o640)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&scene.file, Some(65534), Some(65534)).unwrap();
    }
    let owner = fs::metadata(&scene.file).unwrap().uid();
    scene.setup(&["--dry-run"]);
    assert_eq!((scene.text().unwrap(), scene.files()), (before.clone(), vec![scene.file.clone()]));
    scene.setup(&[]);
    assert_eq!(scene.text().unwrap(), after, "{}", client.0);
    assert_eq!(fs::read_to_string(scene.backup()).unwrap(), before);
    for file in [&scene.file, &scene.backup()] {
        let data = fs::metadata(file).unwrap();
        assert_eq!((data.mode() & 0o777, data.uid()), (0o640, owner), "{}", file.display());
    }
    let again = scene.setup(&[]);
    assert!(again.contains("already set up"), "{again}");
    assert_eq!((scene.text().unwrap(), scene.files().len()), (after, 2));
    scene.setup(&["--undo", "--dry-run"]);
    scene.setup(&["--undo"]);
    assert_eq!((scene.text().unwrap(), scene.files()), (before, vec![scene.file.clone()]), "{}", client.0);
}

/// What is left when our entry alone is taken out. Gemini's case has no servers: nobody knows any more who put the empty
/// place for them there.
fn without_ours(client: &str) -> String {
    let others = body(client, "others");
    if client == "gemini" { others.replace("} }\n}", "} },\n  \"mcpServers\": {}\n}") } else { others }
}

fn undo_takes_out_our_entry_alone_when_the_file_has_changed_since(client: Client) {
    let scene = Scene::new(client, Some(&body(client.0, "others")));
    scene.setup(&[]);
    // What a user or the client itself did after setup.
    let (old, new) = match client.0 {
        "codex" => ("trusted", "untrusted"),
        "goose" => ("anthropic", "openai"),
        "claude-code" => ("17", "18"),
        "claude-desktop" => ("npx", "bunx"),
        "cursor" => ("localhost", "127.0.0.1"),
        "gemini" => ("Dracula", "Light"),
        "opencode" | "copilot" | "qwen" | "windsurf" | "cline" => ("example.com", "example.org"),
        "vscode" => ("promptString", "pickString"),
        _ => ("system", "dark"),
    };
    let changed = scene.text().unwrap().replacen(old, new, 1);
    fs::write(&scene.file, &changed).unwrap();
    scene.setup(&["--undo"]);
    assert_eq!(scene.text().unwrap(), without_ours(client.0).replacen(old, new, 1), "{}", client.0);
}

fn an_entry_that_is_ours_is_kept_or_brought_up_to_date_and_its_other_fields_stay(client: Client) {
    let added = body(client.0, "added");
    let scene = Scene::new(client, Some(&added));
    for more in [&[][..], &["--dry-run"]] {
        assert!(scene.setup(more).contains("already set up"));
        assert_eq!((scene.text().unwrap(), scene.files()), (added.clone(), vec![scene.file.clone()]));
    }
    scene.setup(&["--undo"]);
    let left = scene.text().unwrap();
    assert!(!left.contains(CHITON) && !left.contains("chiton"), "{left}");

    let (old, changed) = (body(client.0, "old"), body(client.0, "changed"));
    let scene = Scene::new(client, Some(&old));
    scene.setup(&["--dry-run"]);
    assert_eq!(scene.text().unwrap(), old);
    scene.setup(&[]);
    assert_eq!(scene.text().unwrap(), changed, "{}", client.0);
    assert_eq!(fs::read_to_string(scene.backup()).unwrap(), old);
    scene.setup(&["--undo"]);
    let left = scene.text().unwrap();
    assert!(!left.contains("chiton"), "{}: {left}", client.0);
}

fn a_change_of_arguments_can_still_be_undone_to_the_byte(client: Client) {
    let before = body(client.0, "others");
    let scene = Scene::new(client, Some(&before));
    scene.setup(&[]);
    scene.setup(&["--", "--dialect", "exec", "--timeout", "5"]);
    assert_eq!(fs::read_to_string(scene.backup()).unwrap(), before, "the copy stays that of the time before us");
    scene.setup(&["--undo"]);
    assert_eq!((scene.text().unwrap(), scene.files()), (before, vec![scene.file.clone()]), "{}", client.0);
}

fn a_malformed_file_is_never_written_and_the_place_of_the_mistake_is_named(client: Client) {
    let (before, place) = case(client.0, "malformed");
    let (line, column) = place.split_once(':').unwrap();
    let scene = Scene::new(client, Some(&before));
    for more in [&[][..], &["--dry-run"], &["--undo"], &["--undo", "--dry-run"]] {
        let why = scene.refusal(more);
        let wanted = format!("line {line}, column {column}:");
        assert!(why.contains(&wanted), "{}: {wanted} is not in {why}", client.0);
        assert!(why.contains(scene.file.to_str().unwrap()) && why.contains("nothing was changed"), "{why}");
        assert_eq!((scene.text().unwrap(), scene.files()), (before.clone(), vec![scene.file.clone()]));
    }
    fs::write(&scene.file, b"ok\n\xff\xfe").unwrap();
    let why = scene.refusal(&[]);
    assert!(why.contains("not UTF-8 text: line 2, column 1"), "{why}");
    assert_eq!(fs::read(&scene.file).unwrap(), b"ok\n\xff\xfe");
}

fn a_link_stays_a_link_and_its_target_is_written(client: Client) {
    let before = body(client.0, "others");
    let scene = Scene::new(client, None);
    let target = scene.place.folder.path().join("dotfiles/settings");
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::create_dir_all(scene.file.parent().unwrap()).unwrap();
    symlink(&target, &scene.file).unwrap();
    let why = scene.refusal(&[]);
    assert!(why.contains("dotfiles/settings, which cannot be reached"), "{why}");
    fs::write(&target, &before).unwrap();
    scene.setup(&["--dry-run"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), before);
    scene.setup(&[]);
    assert_eq!(fs::read_link(&scene.file).unwrap(), target);
    assert_eq!(fs::read_to_string(&target).unwrap(), body(client.0, "added"), "{}", client.0);
    scene.setup(&["--undo"]);
    assert_eq!(fs::read_link(&scene.file).unwrap(), target);
    assert_eq!(fs::read_to_string(&target).unwrap(), before);
    assert_eq!(scene.files().len(), 2, "{:?}", scene.files());
}

/// The super-user may write everywhere, so the program is somebody else where the test is run by that one.
fn as_a_plain_user(scene: &Scene, more: &[&str]) -> Output {
    let mut command = scene.place.command();
    command.arg("setup").arg(scene.client).args(more);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    command.output().unwrap()
}

fn a_folder_that_cannot_be_written_is_an_error_and_nothing_is_left_in_it(client: Client) {
    let before = body(client.0, "others");
    let added = body(client.0, "added");
    for (start, more) in [(&before, &[][..]), (&added, &["--undo"])] {
        let scene = Scene::new(client, Some(start));
        let folder = scene.file.parent().unwrap();
        let others = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scene.place.folder.path(), others).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
        let output = as_a_plain_user(&scene, more);
        let dry = as_a_plain_user(&scene, &[more, &["--dry-run"]].concat());
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let why = refused(&output);
        assert!(why.contains("Permission denied"), "{why}");
        assert_eq!(dry.status.code(), Some(0), "looking is allowed: {}", text(&dry.stderr));
        assert_eq!((&scene.text().unwrap(), scene.files()), (start, vec![scene.file.clone()]));
    }
}

fn a_project_has_settings_of_its_own_where_the_client_knows_such(client: Client) {
    let (name, user, project) = client;
    let scene = Scene::new(client, None);
    let Some(project) = project else {
        let why = scene.refusal(&["--project"]);
        assert!(why.contains("no settings file in a project"), "{name}: {why}");
        return;
    };
    let folder = scene.place.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    let call = |more: &[&str]| {
        let mut command = scene.place.command();
        let output = command.current_dir(&folder).args(["setup", name, "--project"]).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = call(&[]);
    assert!(said.contains(&format!("undo: chiton setup {name} --project --undo")), "{said}");
    assert_eq!(fs::read_to_string(folder.join(project)).unwrap(), body(name, "fresh"));
    assert!(!scene.place.folder.path().join(user).exists());
    call(&["--undo"]);
    assert!(!folder.join(project).exists());
}

/// Client, variable, what it is set to below the home directory, the file that is meant.
const MOVED: [(&str, &str, &str, &str); 16] = [
    ("claude-code", "CLAUDE_CONFIG_DIR", "cc", "cc/.claude.json"),
    ("claude-desktop", "XDG_CONFIG_HOME", "xdg", "xdg/Claude/claude_desktop_config.json"),
    ("codex", "CODEX_HOME", "cx", "cx/config.toml"),
    ("gemini", "GEMINI_CLI_HOME", "gm", "gm/.gemini/settings.json"),
    ("vscode", "XDG_CONFIG_HOME", "xdg", "xdg/Code/User/mcp.json"),
    ("vscode", "VSCODE_APPDATA", "data", "data/Code/User/mcp.json"),
    ("vscode", "VSCODE_PORTABLE", "stick", "stick/user-data/User/mcp.json"),
    ("zed", "FLATPAK_XDG_CONFIG_HOME", "flat", "flat/zed/settings.json"),
    ("goose", "XDG_CONFIG_HOME", "xdg", "xdg/goose/config.yaml"),
    ("goose", "GOOSE_PATH_ROOT", "root", "root/config/config.yaml"),
    ("opencode", "XDG_CONFIG_HOME", "xdg", "xdg/opencode/opencode.json"),
    ("copilot", "COPILOT_HOME", "cp", "cp/mcp-config.json"),
    ("qwen", "QWEN_HOME", "qw", "qw/settings.json"),
    ("cline", "CLINE_MCP_SETTINGS_PATH", "cl/mcp.json", "cl/mcp.json"),
    ("cline", "CLINE_DATA_DIR", "cl", "cl/settings/cline_mcp_settings.json"),
    ("vscode", "XDG_CONFIG_HOME", "other", "other/Code/User/mcp.json"),
];

fn variables_that_move_the_settings_are_followed() {
    for (client, variable, value, file) in MOVED {
        let place = Place::new();
        let home = place.folder.path();
        let output = place.command().env(variable, home.join(value)).args(["setup", client]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(fs::read_to_string(home.join(file)).unwrap(), body(client, "fresh"), "{variable}");
    }
    let place = Place::new();
    let relative = place.command().env("CODEX_HOME", "here").args(["setup", "codex"]).output().unwrap();
    assert!(refused(&relative).contains("make it an absolute path"));
    let homeless = place.command().env_remove("HOME").args(["setup", "codex"]).output().unwrap();
    assert!(refused(&homeless).contains("HOME is not set"));
}

/// Arguments, what is refused, and a part of the reason.
const REFUSED: [(&[&str], &str); 17] = [
    (&["nobody"], "claude-code"),
    (&["cursor", "--name", "My Shell"], "small letters"),
    (&["cursor", "--name", ""], "small letters"),
    (&["cursor", "--", "--dialect", "klingon"], "there is no dialect of the name"),
    (&["cursor", "--", "--nonsense"], "--nonsense"),
    (&["cursor", "--", "--help"], "prints help"),
    (&["cursor", "--undo", "--", "--dialect", "exec"], "cannot be used with"),
    (&["--undo"], "CLIENT"),
    (&["--project"], "CLIENT"),
    (&["--replace"], "CLIENT"),
    (&["cursor", "--ask"], "--replace"),
    (&["cursor", "--replace", "--ask", "--approve"], "cannot be used with"),
    (&["cursor", "--copy-token"], "--http"),
    (&["cursor", "--http", "nothing"], "is not a URL"),
    (&["cursor", "--http", "unix:/run/x"], "give --http a URL"),
    (&["cursor", "--http", "--", "--dialect", "exec"], "cannot be used with"),
    (&["zed", "--http"], "--copy-token"),
];

fn mistakes_on_the_command_line_are_told_before_anything_is_written() {
    let place = Place::new();
    for (arguments, why) in REFUSED {
        let output = place.call(&[&["setup"], arguments].concat());
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
    }
}

fn a_server_of_somebody_else_is_not_taken_for_ours(client: Client) {
    let other = body(client.0, "added").replace(CHITON, "/usr/bin/something");
    let scene = Scene::new(client, Some(&other));
    for more in [&[][..], &["--undo"]] {
        let why = scene.refusal(more);
        assert!(why.contains("another server named 'chiton'") && why.contains("--name"), "{why}");
        assert_eq!((scene.text().unwrap(), scene.files()), (other.clone(), vec![scene.file.clone()]));
    }
    scene.setup(&["--name", "shell", "--", "--dialect", "exec"]);
    let both = scene.text().unwrap();
    assert!(both.contains("/usr/bin/something") && both.contains(CHITON), "{both}");
    scene.setup(&["--name", "shell", "--undo"]);
    assert_eq!(scene.text().unwrap(), other);
}

fn many_calls_at_the_same_time_all_leave_their_entry(client: Client) {
    let scene = Scene::new(client, Some(&body(client.0, "others")));
    let names: Vec<String> = (0..8).map(|number| format!("shell-{number}")).collect();
    let calls: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = scene.place.command();
            command.args(["setup", client.0, "--name", name]).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut call in calls {
        assert_eq!(call.wait().unwrap().code(), Some(0));
    }
    let all = scene.text().unwrap();
    for name in &names {
        assert!(all.contains(name.as_str()), "{}: {name} is lost in {all}", client.0);
        scene.setup(&["--name", name, "--undo"]);
    }
    assert_eq!(scene.text().unwrap(), without_ours(client.0), "{}", client.0);
}

fn the_list_says_what_is_found_and_what_is_set_up() {
    let scene = Scene::new(CLIENTS[0], None);
    let row = |client: &str| {
        let list = scene.place.call(&["setup"]);
        assert_eq!(list.status.code(), Some(0));
        let list = text(&list.stdout);
        list.lines().find(|line| line.starts_with(&format!("{client} "))).unwrap().to_owned()
    };
    for (client, file, _) in CLIENTS {
        let path = scene.place.folder.path().join(file);
        assert!(row(client).contains(" no ") && row(client).ends_with(path.to_str().unwrap()), "{}", row(client));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, body(client, "others")).unwrap();
        assert!(row(client).contains(" yes    no "), "{}", row(client));
        fs::write(&path, body(client, "added")).unwrap();
        assert!(row(client).contains(" yes    yes: chiton mcp"), "{}", row(client));
        fs::write(&path, body(client, "old").replace("\"chiton\",", "\"/old/chiton\",")).unwrap();
        assert!(row(client).contains("/old/chiton is not there"), "{}", row(client));
        fs::write(&path, body(client, "malformed")).unwrap();
        assert!(row(client).contains("unknown: malformed, line "), "{}", row(client));
    }
}

fn what_was_written_is_what_the_client_starts() {
    let scene = Scene::new(CLIENTS[2], None);
    let state = scene.place.folder.path().join("own state");
    let output =
        scene.place.call(&["--state-dir", state.to_str().unwrap(), "setup", "cursor", "--", "--dialect", "exec"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let settings: serde_json::Value = serde_json::from_str(&scene.text().unwrap()).unwrap();
    let entry = &settings["mcpServers"]["chiton"];
    let arguments: Vec<&str> =
        entry["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    assert_eq!(arguments, ["mcp", "--state-dir", state.to_str().unwrap(), "--dialect", "exec"]);
    let served = std::process::Command::new(entry["command"].as_str().unwrap())
        .args(arguments)
        .env("HOME", scene.place.folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(served.stdout.is_empty() && !text(&served.stderr).contains("panicked"), "{}", text(&served.stderr));
    assert!(state.is_dir(), "it took the arguments");
}

/// How a switch is given on the command line.
fn flags(client: &str, switch: &str) -> Vec<&'static str> {
    match (switch, client) {
        ("approve", _) => vec!["--approve"],
        ("replace", _) => vec!["--replace", "--ask"],
        // These know no variables there.
        (_, "zed" | "cline") => vec!["--http", NOWHERE, "--copy-token"],
        _ => vec!["--http", NOWHERE],
    }
}

/// Where a switch is: the file of the user, that of a project. Nothing where it is in no file.
fn places(client: &str, switch: &str) -> Option<(String, Option<String>)> {
    let (_, places) = find(&format!("{client} {switch} fresh"))?;
    let (user, project) = places.split_once(' ').unwrap();
    Some((user.to_owned(), (project != "-").then(|| project.to_owned())))
}

/// What is in the file of a switch before.
fn others(client: &str, switch: &str) -> String {
    if switch == "http" { body(client, "others") } else { body(client, &format!("{switch} others")) }
}

impl Scene {
    /// A scene around the file of a switch.
    fn switched(client: Client, file: &str, before: Option<&str>) -> Self {
        let mut scene = Self::new(client, None);
        scene.file = scene.place.folder.path().join(file);
        if let Some(before) = before {
            fs::create_dir_all(scene.file.parent().unwrap()).unwrap();
            fs::write(&scene.file, before).unwrap();
            fs::set_permissions(&scene.file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let state = scene.place.folder.path().join("state/chiton");
        fs::create_dir_all(&state).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(state.join("http-token"), TOKEN).unwrap();
        fs::set_permissions(state.join("http-token"), fs::Permissions::from_mode(0o600)).unwrap();
        scene
    }

    /// Runs setup with a switch. Over HTTP nobody answers, which is told, and the entry stays.
    fn switch(&self, switch: &str, more: &[&str]) -> String {
        let output = self.place.call(&[&["setup", self.client], &*flags(self.client, switch), more].concat());
        let said = text(&output.stderr);
        if switch == "http" && !more.contains(&"--dry-run") {
            assert_eq!(output.status.code(), Some(125), "{} {more:?}: {said}", self.client);
            assert!(said.contains("nothing listens at") && said.contains("chiton mcp --http 127.0.0.1:1"), "{said}");
        } else {
            assert_eq!(output.status.code(), Some(0), "{} {more:?}: {said}", self.client);
        }
        text(&output.stdout)
    }
}

fn a_switch_makes_a_file_where_there_is_none_and_undo_removes_it(client: Client, switch: &'static str) {
    let (name, entry, _) = client;
    let Some((file, _)) = places(name, switch) else {
        let scene = Scene::switched(client, entry, None);
        if let Some((why, _)) = find(&format!("{name} {switch} refused")) {
            assert!(scene.refusal(&flags(name, switch)).contains(&why));
            return assert!(scene.files().is_empty());
        }
        let said = scene.switch(switch, &[]);
        assert!(said.contains(&body(name, &format!("{switch} by-hand"))), "{said}");
        return assert_eq!(scene.text().unwrap(), body(name, "fresh"), "the entry is the usual one");
    };
    let scene = Scene::switched(client, &file, None);
    let shown = scene.switch(switch, &["--dry-run"]);
    assert!(scene.files().is_empty() && shown.contains("dry run"), "a dry run makes nothing");
    let fresh = body(name, &format!("{switch} fresh"));
    for line in fresh.lines() {
        assert!(shown.contains(&format!("\n+{line}\n")), "{line} is not in {shown}");
    }
    scene.switch(switch, &[]);
    assert_eq!(scene.text().unwrap(), fresh, "{name}");
    assert!(scene.place.folder.path().join(entry).exists(), "the entry is there as well");
    scene.setup(&["--undo", "--dry-run"]);
    assert_eq!(scene.text().unwrap(), fresh, "a dry run changes nothing");
    scene.setup(&["--undo"]);
    assert!(scene.files().is_empty(), "{name}: {:?}", scene.files());
}

fn a_switch_joins_what_is_there_and_undo_gives_back_every_byte(client: Client, switch: &'static str) {
    let Some((file, _)) = places(client.0, switch) else { return };
    let (before, after) = (others(client.0, switch), body(client.0, &format!("{switch} added")));
    let scene = Scene::switched(client, &file, Some(&before));
    scene.switch(switch, &["--dry-run"]);
    assert_eq!((scene.text().unwrap(), scene.files()), (before.clone(), vec![scene.file.clone()]));
    scene.switch(switch, &[]);
    assert_eq!(scene.text().unwrap(), after, "{}", client.0);
    assert_eq!(fs::read_to_string(scene.backup()).unwrap(), before);
    assert!(scene.switch(switch, &[]).contains("already set up"));
    assert_eq!(scene.text().unwrap(), after, "{}", client.0);
    scene.setup(&["--undo"]);
    assert_eq!((scene.text().unwrap(), scene.files()), (before, vec![scene.file.clone()]), "{}", client.0);
}

/// What a text says, without layout and without places for servers that hold none.
fn substance(text: &str) -> String {
    let mut text: String = text.chars().filter(|one| !one.is_whitespace() && *one != ',').collect();
    for container in ["mcpServers", "servers", "mcp", "context_servers"] {
        text = text.replace(&format!("\"{container}\":{{}}"), "");
    }
    text
}

fn a_switch_alone_is_taken_back_when_the_file_has_changed_since(client: Client, switch: &'static str) {
    let Some((file, _)) = places(client.0, switch) else { return };
    let before = others(client.0, switch);
    let scene = Scene::switched(client, &file, Some(&before));
    scene.switch(switch, &[]);
    // What a user or the client itself did after setup.
    let changed = |text: &str| match file.rsplit('.').next() {
        Some("toml") => format!("later = 1\n{text}"),
        Some("yaml") => format!("later: 1\n{text}"),
        _ => text.replacen('{', "{\"later\": 1,", 1),
    };
    fs::write(&scene.file, changed(&scene.text().unwrap())).unwrap();
    scene.setup(&["--undo"]);
    let left = scene.text().unwrap();
    assert_eq!(substance(&left), substance(&changed(&before)), "{}: {left}", client.0);
}

fn what_somebody_switched_before_us_stays(client: Client, switch: &'static str) {
    let Some((own, places)) = find(&format!("{} {switch} own", client.0)) else { return };
    let (file, _) = places.split_once(' ').unwrap();
    for more in [&[][..], &["--approve", "--replace"]] {
        let scene = Scene::switched(client, file, Some(&own));
        scene.switch(switch, &[]);
        if !more.is_empty() {
            scene.setup(more);
        }
        scene.setup(&["--undo"]);
        assert_eq!((scene.text().unwrap(), scene.files()), (own.clone(), vec![scene.file.clone()]), "{}", client.0);
    }
    // Undo without setup takes nothing that is not ours.
    let scene = Scene::switched(client, file, Some(&own));
    scene.setup(&["--undo"]);
    assert_eq!(scene.text().unwrap(), own);
}

fn a_switch_of_a_project_goes_into_its_files(client: Client, switch: &'static str) {
    let (name, entry, project_entry) = client;
    let Some((_, project)) = places(name, switch) else { return };
    let scene = Scene::switched(client, entry, None);
    let folder = scene.place.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    let call = |more: &[&str]| {
        let mut command = scene.place.command();
        command.current_dir(&folder).args(["setup", name, "--project"]).args(more).output().unwrap()
    };
    let output = call(&flags(name, switch));
    let Some(project) = project else {
        let why = refused(&output);
        let reasons = ["leave --project out", "shared with everybody"];
        assert!(reasons.iter().any(|reason| why.contains(reason)), "{name}: {why}");
        return assert!(scene.files().is_empty());
    };
    let code = if switch == "http" { 125 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.join(project)).unwrap(), body(name, &format!("{switch} fresh")));
    assert!(folder.join(project_entry.unwrap()).exists() && !scene.place.folder.path().join(entry).exists());
    assert_eq!(call(&["--undo"]).status.code(), Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left of it");
}

fn what_was_set_by_switches_in_any_order_is_undone_to_the_byte(client: Client) {
    let Some((file, _)) = places(client.0, "replace").or_else(|| places(client.0, "approve")) else { return };
    let switch = if places(client.0, "replace").is_some() { "replace" } else { "approve" };
    let before = others(client.0, switch);
    let orders: [&[&[&str]]; 4] = [
        &[&["--approve", "--replace"]],
        &[&["--replace"], &["--approve"]],
        &[&["--approve"], &["--replace"]],
        &[&[], &["--replace", "--ask"], &["--replace"]],
    ];
    for order in orders {
        for start in [None, Some(before.as_str())] {
            let scene = Scene::switched(client, &file, start);
            for more in order {
                scene.setup(more);
            }
            scene.setup(&["--undo"]);
            let left: Vec<PathBuf> = start.map(|_| scene.file.clone()).into_iter().collect();
            assert_eq!((scene.text().as_deref(), scene.files()), (start, left), "{} {order:?}", client.0);
        }
    }
}

fn a_client_without_its_own_shell_may_call_ours(client: Client) {
    let files = |more: &[&str]| {
        let scene = Scene::switched(client, client.1, None);
        scene.setup(more);
        let own = scene.place.folder.path().to_string_lossy().into_owned();
        let texts = scene.files().into_iter().map(|file| fs::read_to_string(&file).unwrap().replace(&own, "HOME"));
        texts.collect::<Vec<String>>()
    };
    assert_eq!(files(&["--replace"]), files(&["--replace", "--approve"]), "{}", client.0);
    let is_in_a_file = places(client.0, "approve").is_some();
    assert_eq!(files(&["--replace"]) != files(&["--replace", "--ask"]), is_in_a_file, "{}", client.0);
}

fn a_server_that_does_not_start_is_told_and_the_entry_stays() {
    let scene = Scene::new(CLIENTS[2], None);
    let blocked = scene.place.folder.path().join("blocked");
    fs::write(&blocked, "not a directory").unwrap();
    let output = scene.place.call(&["--state-dir", blocked.to_str().unwrap(), "setup", "cursor"]);
    let why = refused(&output);
    assert!(
        why.contains("the entry stays in") && why.contains("does not serve") && why.contains("chiton doctor"),
        "{why}"
    );
    assert!(scene.text().unwrap().contains("blocked"));
    let said = scene.setup(&[]);
    assert!(said.contains("checked: starts and offers Bash, "), "{said}");
    assert!(said.contains("--replace` switches it off") || said.contains("keeps its own shell"), "{said}");
}

fn a_server_over_http_is_asked_with_the_token() {
    let scene = Scene::switched(CLIENTS[4], CLIENTS[4].1, None);
    let mut server = scene.place.command();
    server.args(["mcp", "--http", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut line = String::new();
    let mut stderr = std::io::BufReader::new(server.stderr.take().unwrap());
    while !line.contains("serving at") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0, "it has not started");
    }
    let url = line.split(' ').find(|word| word.starts_with("http://")).unwrap().trim_end_matches(';').to_owned();
    let said = scene.setup(&["--http", &url]);
    let wrong = {
        let state = scene.place.folder.path().join("elsewhere");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("http-token"), TOKEN.replace('0', "f")).unwrap();
        scene.place.call(&["--state-dir", state.to_str().unwrap(), "setup", "gemini", "--http", &url])
    };
    rustix::process::kill_process(rustix::process::Pid::from_child(&server), rustix::process::Signal::TERM).unwrap();
    server.wait().unwrap();
    assert!(said.contains(&format!("checked: answers at {url}")), "{said}");
    assert!(said.contains("export MCP_CHITON_TOKEN=\"$(cat ") && said.contains("http-token)\""), "{said}");
    assert!(refused(&wrong).contains("does not take the token"), "{}", text(&wrong.stderr));
    let list = text(&scene.place.call(&["setup"]).stdout);
    assert!(list.contains(&format!("yes: over HTTP, {url}")), "{list}");
    // From HTTP to a program and back to nothing.
    scene.setup(&[]);
    assert_eq!(scene.text().unwrap(), body("gemini", "fresh"));
    scene.setup(&["--undo"]);
    assert!(scene.text().is_none());
}

fn the_token_is_not_written_where_others_read_it() {
    let before = body("zed", "others");
    let scene = Scene::switched(CLIENTS[11], CLIENTS[11].1, Some(&before));
    fs::set_permissions(&scene.file, fs::Permissions::from_mode(0o644)).unwrap();
    let why = scene.refusal(&["--http", NOWHERE, "--copy-token"]);
    assert!(why.contains("others can read") && why.contains("chmod 600"), "{why}");
    let why = scene.refusal(&["--http", NOWHERE, "--copy-token", "--project"]);
    assert!(why.contains("shared with everybody"), "{why}");
    let why = scene.refusal(&["--http", NOWHERE]);
    assert!(why.contains("cannot take the token from a variable"), "{why}");
    assert_eq!((scene.text().unwrap(), scene.files()), (before, vec![scene.file.clone()]));
    fs::remove_file(scene.place.folder.path().join("state/chiton/http-token")).unwrap();
    fs::set_permissions(&scene.file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(scene.refusal(&["--http", NOWHERE, "--copy-token"]).contains("there is no token in"));
}

fn a_switch_that_cannot_be_edited_leaves_all_files_alone() {
    let cases = [
        (0, ".claude/settings.json", "{\"permissions\": {\"deny\": \"Bash\"}}", "is not a list"),
        (0, ".claude/settings.json", "{\"permissions\": ", "is malformed"),
        (5, ".config/opencode/opencode.json", "{\"permission\": \"ask\"}", "is not an object"),
        (3, ".codex/config.toml", "features = 1\n", "is not an object"),
    ];
    for (client, file, before, reason) in cases {
        let scene = Scene::switched(CLIENTS[client], file, Some(before));
        let why = scene.refusal(&["--replace"]);
        assert!(why.contains(reason) && why.contains(file), "{why}");
        assert_eq!((scene.text().unwrap().as_str(), scene.files()), (before, vec![scene.file.clone()]));
    }
}

fn other_files_of_a_client_are_used_where_they_are_there() {
    let extension = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    for (client, file) in [(5, ".config/opencode/opencode.jsonc"), (9, extension)] {
        let before = body(CLIENTS[client].0, "others");
        let scene = Scene::switched(CLIENTS[client], file, Some(&before));
        scene.setup(&[]);
        assert_eq!(scene.text().unwrap(), body(CLIENTS[client].0, "added"));
        scene.setup(&["--undo"]);
        assert_eq!((scene.text().unwrap(), scene.files()), (before, vec![scene.file.clone()]));
    }
}
