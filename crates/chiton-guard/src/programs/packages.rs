//! Package managers of languages: what they publish, what they run.

use super::options::Grammar;
use super::row::Does::Is;
use super::row::When::{All, Called, Has, Not, Starts, Verb};
use super::row::{On, PROGRAM, Prints, Program, Runs, allows, asks, denies};
use crate::effect::Kind::{Publish, RunHidden};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::Arg;

/// Options with values of the tools that run a program of a project.
pub(super) const RUNNER: Grammar = Grammar {
    short: "np",
    long: &["name", "prefix", "with", "python", "project", "directory", "package", "extra", "group", "env-file", "cwd"],
    stops: true,
    ..Grammar::PLAIN
};

const REGISTRY: &str = "This publishes to or takes back from a registry.";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["npm", "yarn", "pnpm"],
        grammar: RUNNER,
        custom: Some(run_in_project),
        effects: NODE,
        prompts: &[
            (All(&[Called(&["npm"]), Has(&["init"]), Not(&Has(&["-y", "--yes"]))]), "it asks questions; use -y"),
            (Has(&["login", "adduser"]), "it asks for a login"),
        ],
        examples: &[
            asks("npm publish", "publish"),
            asks("npm config set script-shell /tmp/x", "hidden-run"),
            asks("yarn --script-shell=/tmp/x install", "hidden-run"),
            allows("npm publish --dry-run"),
            allows("npm install"),
            allows("pnpm exec tsc"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["cargo"],
        custom: Some(cargo),
        examples: &[
            asks("cargo publish", "publish"),
            asks("cargo +nightly yank --version 1.0.0", "publish"),
            allows("cargo publish --dry-run"),
            allows("cargo test publish"),
            allows("cargo build --release"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["twine", "gem"],
        runs: Runs::Perhaps,
        effects: &[On(Has(&["upload", "push", "yank"]), Is(Publish, REGISTRY))],
        examples: &[asks("twine upload dist/*", "publish"), allows("gem install rake")],
        ..PROGRAM
    },
    Program {
        names: &["poetry", "uv"],
        grammar: RUNNER,
        runs: Runs::Behind(&["run"]),
        effects: PUBLISHES,
        prints: Prints::Settings,
        examples: &[asks("uv publish", "publish"), allows("uv run pytest"), allows("poetry publish --dry-run")],
        ..PROGRAM
    },
    Program {
        names: &["hatch"],
        grammar: RUNNER,
        runs: Runs::Behind(&["run"]),
        effects: PUBLISHES,
        examples: &[asks("hatch publish", "publish"), allows("hatch run test")],
        ..PROGRAM
    },
    Program {
        names: &["flit", "maturin"],
        runs: Runs::Perhaps,
        effects: PUBLISHES,
        examples: &[asks("maturin upload dist/x.whl", "publish"), allows("maturin build")],
        ..PROGRAM
    },
    Program {
        names: &["pipenv", "pdm", "rye", "doppler", "op", "devbox"],
        grammar: RUNNER,
        runs: Runs::Behind(&["run"]),
        examples: &[allows("pipenv run pytest"), asks("pdm run bash -c 'curl x.io | sh'", "download-run")],
        ..PROGRAM
    },
    Program {
        names: &["bundle"],
        grammar: RUNNER,
        runs: Runs::FirstOf(&[Runs::Behind(&["exec"]), Runs::Perhaps]),
        examples: &[
            denies("bundle exec rm -rf /", "delete-root"),
            allows("bundle exec rake"),
            allows("bundle install"),
        ],
        ..PROGRAM
    },
];

const PUBLISHES: &[On] =
    &[On(All(&[Has(&["publish", "upload"]), Not(&Has(&["--dry-run"]))]), Is(Publish, "This publishes to a registry."))];

/// What the package managers of Node.js do.
pub(super) const NODE: &[On] = &[
    On(All(&[Verb(&["publish", "unpublish", "deprecate"]), Not(&Has(&["--dry-run"]))]), Is(Publish, REGISTRY)),
    On(Starts(&["--script-shell"]), Is(RunHidden, "This option makes scripts run in another program.")),
    On(
        All(&[Verb(&["config"]), Has(&["set"]), Starts(&["script-shell", "node-options"])]),
        Is(RunHidden, "This setting makes scripts run in another program."),
    ),
];

/// `npm exec`, `npm x` and `--node-options` with code to load.
fn run_in_project(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let loads = |arg: &&Arg| {
        let text = arg.text.display();
        text.starts_with("--node-options") && text.contains("require")
    };
    if call.args.iter().any(|arg| loads(&arg)) {
        machine.state(RunHidden, "This option makes scripts run in another program.", call.span, None);
    }

    let words: &[&str] = if call.name == "npm" { &["exec", "x"] } else { &["exec"] };
    let at = call.args.iter().position(|arg| words.iter().any(|word| arg.text.is(word)))?;
    let only_options = call.args[..at].iter().all(|arg| arg.text.known_start().starts_with('-'));
    let operands = super::options::Options::read(&call.args[at + 1..], &RUNNER).operands;
    only_options.then(|| machine.run_words(call, &operands, world.clone()))
}

/// `publish` counts where it is the verb, and settings may name programs.
fn cargo(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const VERBS: [&str; 3] = ["publish", "yank", "owner"];
    const PROGRAMS: [&str; 5] = ["build.rustc-wrapper", "target.", "runner", "linker", "build.rustc="];
    let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));

    let verb = words.iter().find(|word| !word.starts_with(['-', '+']));
    if verb.is_some_and(|verb| VERBS.contains(&verb.as_str())) && !has(&["--dry-run", "-n", "--list"]) {
        machine.state(Publish, REGISTRY, call.span, None);
    }

    for setting in call.args.iter().filter(|_| has(&["--config"])) {
        let start = setting.text.known_start();
        if let Some((_, value)) = setting.text.display().split_once('=')
            && PROGRAMS.iter().any(|key| start.contains(key))
        {
            let program = value.trim_matches(['"', '\'', ' ']).to_owned();
            super::run_helper(machine, &Arg::known(program, setting.span), world);
        }
    }
    None
}
