//! `deploy/devcontainer`: the feature for dev containers.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use chiton_testkit::carried::{self, carried_program};
use chiton_testkit::transports::{Podman, PodmanOptions, Root, usable};
use serde_json::{Value, json};

use super::{file, text_of};

const FOLDER: &str = "devcontainer/chiton";

/// The fields that the schema of features knows, with what they hold.
const FIELDS: [(&str, &str); 25] = [
    ("id", "string"),
    ("version", "string"),
    ("name", "string"),
    ("description", "string"),
    ("documentationURL", "string"),
    ("licenseURL", "string"),
    ("keywords", "array"),
    ("options", "object"),
    ("containerEnv", "object"),
    ("privileged", "boolean"),
    ("init", "boolean"),
    ("capAdd", "array"),
    ("securityOpt", "array"),
    ("entrypoint", "string"),
    ("customizations", "object"),
    ("dependsOn", "object"),
    ("installsAfter", "array"),
    ("legacyIds", "array"),
    ("deprecated", "boolean"),
    ("mounts", "array"),
    ("onCreateCommand", "any"),
    ("updateContentCommand", "any"),
    ("postCreateCommand", "any"),
    ("postStartCommand", "any"),
    ("postAttachCommand", "any"),
];

/// What is wrong with the description of a feature in a folder of this name.
fn wrong(feature: &Value, folder: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let fields = feature.as_object().expect("a feature is an object");
    for (key, value) in fields {
        match FIELDS.iter().find(|(known, _)| known == key) {
            None => problems.push(format!("no feature has {key}")),
            Some((_, kind)) if *kind != "any" && *kind != kind_of(value) => {
                problems.push(format!("{key} is of the kind {}", kind_of(value)));
            }
            Some(_) => {}
        }
    }
    // The schema has the first two, the specification all three.
    for required in ["id", "version", "name"] {
        if !fields.contains_key(required) {
            problems.push(format!("{required} is missing"));
        }
    }
    if feature["id"] != folder {
        problems.push(format!("id is {}, its folder {folder}", feature["id"]));
    }
    for (name, option) in feature["options"].as_object().into_iter().flatten() {
        let kind = option["type"].as_str().unwrap_or_default();
        let known: &[&str] = match kind {
            "boolean" => &["type", "default", "description"],
            "string" => &["type", "default", "description", "enum", "proposals"],
            _ => &[],
        };
        let keys: Vec<&String> = option.as_object().into_iter().flatten().map(|(key, _)| key).collect();
        let is_known = keys.iter().all(|key| known.contains(&key.as_str()));
        if !is_known
            || kind_of(&option["default"]) != kind
            || (keys.iter().any(|key| *key == "enum" || *key == "proposals") && kind != "string")
        {
            problems.push(format!("option {name}: {option}"));
        }
    }
    problems
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn the_feature_is_as_the_specification_wants_it() {
    let feature: Value = serde_json::from_str(&text_of(&format!("{FOLDER}/devcontainer-feature.json"))).unwrap();
    assert_eq!(wrong(&feature, "chiton"), [""; 0]);
    assert_eq!(feature["version"], env!("CARGO_PKG_VERSION"));

    // The script reads every option, by the name that tools give it.
    let script = text_of(&format!("{FOLDER}/install.sh"));
    for option in feature["options"].as_object().unwrap().keys() {
        assert!(script.contains(&format!("${{{}:-}}", option.to_uppercase())), "install.sh does not read {option}");
    }

    for (path, value) in [
        ("/id", json!("other")),
        ("/version", json!(1)),
        ("/keywords", json!("one")),
        ("/options/url/default", json!(false)),
        ("/options/url/type", json!("text")),
    ] {
        let mut bad = feature.clone();
        *bad.pointer_mut(path).unwrap() = value;
        assert_ne!(wrong(&bad, "chiton"), [""; 0], "{path}");
    }
    let mut bad = feature.clone();
    bad["postInstall"] = json!("x");
    assert_eq!(wrong(&bad, "chiton").len(), 1);
}

/// An image in the making: busybox, the folder of the feature, and somebody who installs it.
struct Image {
    podman: Podman,
}

impl Image {
    fn new() -> Self {
        Self::of(Root::Busybox)
    }

    fn of(root: Root) -> Self {
        let podman = Podman::start(&PodmanOptions { root, ..PodmanOptions::default() });
        let folder = podman.root().join("feature");
        fs::create_dir(&folder).unwrap();
        for name in ["install.sh", "devcontainer-feature.json"] {
            fs::copy(file(&format!("{FOLDER}/{name}")), folder.join(name)).unwrap();
        }
        Self { podman }
    }

    /// Puts a file into the folder of the feature.
    fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.podman.root().join("feature").join(name), content).unwrap();
    }

    /// Runs a script in it.
    fn sh(&self, script: &str) -> Output {
        let words = self.podman.client();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        running.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        running.wait_with_output().unwrap()
    }

    /// Installs with these options, as tools do: as variables, from the folder.
    fn install(&self, options: &str) -> Output {
        self.sh(&format!("cd /feature && export {options} && ./install.sh"))
    }

    fn says(&self, options: &str) -> String {
        let output = self.install(options);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(!self.podman.root().join("usr/local/bin/chiton").exists(), "it was installed all the same");
        let left = self.sh("ls -A /tmp; ls -A /usr/local/bin | grep '^.chiton'");
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "something is left");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Whether the program is there and works.
    fn has_it(&self) {
        let said = self.sh("chiton=/usr/local/bin/chiton; $chiton --version; $chiton run 'echo works'; ls -A /tmp");
        let expected = format!("chiton {}\nworks\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected, "{}", String::from_utf8_lossy(&said.stderr));
    }
}

fn installable() -> Result<(), String> {
    carried::available().and_then(|()| Podman::available())
}

#[test]
fn the_feature_installs_a_file() {
    if !usable(&installable()) {
        return;
    }
    let program = fs::read(carried_program()).unwrap();
    let image = Image::new();
    image.put(&format!("chiton-{}", std::env::consts::ARCH), &program);
    let output = image.install("FILE= URL= SHA256=");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = format!("installed chiton {} in /usr/local/bin\n", env!("CARGO_PKG_VERSION"));
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with(&expected),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    image.has_it();
}

#[test]
fn the_feature_says_what_is_missing() {
    if !usable(&installable()) {
        return;
    }
    let image = Image::new();
    let nothing = image.says("FILE= URL= SHA256=");
    assert!(nothing.contains("nothing says where the program comes from"), "{nothing}");
    let no_file = image.says("FILE=nosuch URL=");
    assert!(no_file.contains("/feature/nosuch, and there is no such file"), "{no_file}");
    let unchecked = image.says("URL=http://127.0.0.1:1/x SHA256=");
    assert!(unchecked.contains("needs the option sha256"), "{unchecked}");
    let both = image.says("URL=http://127.0.0.1:1/x FILE=x");
    assert!(both.contains("both"), "{both}");
    let unreachable = image.says("URL=http://127.0.0.1:1/x SHA256=00");
    assert!(unreachable.contains("http://127.0.0.1:1/x cannot be fetched"), "{unreachable}");

    // A program for another processor, or half of one.
    let mut other = fs::read(carried_program()).unwrap();
    other[18] = 2;
    image.put("other", &other);
    let unfit = image.says("FILE=other URL=");
    assert!(unfit.contains("/feature/other does not run here, on Linux"), "{unfit}");

    // Where nothing can fetch. Busybox can always.
    let image = Image::of(Root::Machine);
    image.sh("mkdir /root/few; for it in sh dirname uname mktemp rm; do ln -s /usr/bin/$it /root/few/$it; done");
    let no_client = image.says("PATH=/root/few URL=http://127.0.0.1:1/x SHA256=00");
    assert!(no_client.contains("needs curl or wget"), "{no_client}");
}

#[test]
fn the_feature_installs_from_an_address_what_it_has_checked() {
    if !usable(&installable()) {
        return;
    }
    let image = Image::new();
    image.put("program", &fs::read(carried_program()).unwrap());
    // As a release has it: an archive with one folder, and its sum; on a server inside the container.
    let arch = std::env::consts::ARCH;
    let made = image.sh(&format!(
        "set -e; mkdir -p /srv/chiton-0-{arch}-linux; cd /srv; mv /feature/program chiton-0-{arch}-linux/chiton
         chmod 755 chiton-0-{arch}-linux/chiton; tar -czf chiton-0-{arch}-linux.tar.gz chiton-0-{arch}-linux
         httpd -p 127.0.0.1:80 -h /srv; sha256sum chiton-0-{arch}-linux.tar.gz | cut -d ' ' -f 1"
    ));
    let sum = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert_eq!(sum.len(), 64, "{}", String::from_utf8_lossy(&made.stderr));

    let address = "http://127.0.0.1/chiton-0-{arch}-linux.tar.gz";
    let zeros = "0".repeat(64);
    let wrong = image.says(&format!("URL='{address}' SHA256={zeros}"));
    assert!(wrong.contains(&format!("has the checksum {sum}, and sha256 says {zeros}")), "{wrong}");
    let output = image.install(&format!("URL='{address}' SHA256='{zeros}, {}'", sum.to_uppercase()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    image.has_it();
}
