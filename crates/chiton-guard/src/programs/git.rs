//! Git: what it runs, what it throws away, what it publishes.
//!
//! Each verb is a row of its own ([`VERBS`]), which reads what stands behind the verb.

use super::options::{Grammar, Options};
use super::row::Does::{Is, Run, RunHelper, RunText};
use super::row::When::{All, Always, Any, Called, Contains, First, Has, Not, Starts};
use super::row::{On, PROGRAM, Prints, Program, Which, allows, asks, denies};
use super::{git_discards, git_settings, run_helper};
use crate::effect::Kind::{Discard, Publish, RunHidden};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::path;
use crate::value::{Arg, Flow, Labels};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["git", "yadm", "dotfiles"],
        custom: Some(git),
        prompts: &[
            (
                All(&[Called(&["git"]), Has(&["rebase"]), Has(&["-i", "--interactive"])]),
                "it opens an editor; set GIT_SEQUENCE_EDITOR, or use `git rebase --onto`",
            ),
            (
                All(&[
                    Called(&["git"]),
                    Has(&["add", "checkout", "reset", "stash", "commit"]),
                    Has(&["-p", "--patch", "-i", "--interactive"]),
                ]),
                "it asks about each change; name the files instead",
            ),
            (All(&[Called(&["git"]), First(&["commit"]), Not(&Starts(MESSAGES))]), "without -m it opens an editor"),
        ],
        examples: examples![
            asks("git -c core.pager=/tmp/x log", "hidden-run"),
            asks("git --exec-path=/tmp/x log", "hidden-run"),
            denies("git -c alias.x='!rm -rf /' x", "delete-root"),
            allows("git -C ../other status"),
            allows("git commit -m 'Add a test'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["hg", "svn"],
        effects: &[On(
            Any(&[Starts(&["alias.", "extensions."]), Contains(&["config-option=config:tunnels"])]),
            Is(RunHidden, "This setting makes it run another program."),
        )],
        examples: examples![
            asks("hg --config alias.x='!ls' x", "hidden-run"),
            asks("svn --config-option=config:tunnels:x=/tmp/x up", "hidden-run"),
            allows("hg pull"),
        ],
        ..PROGRAM
    },
];

/// Options with which `git commit` has its message.
const MESSAGES: &[&str] = &[
    "-m", "-am", "-F", "-C", "--message", "--file", "--no-edit", "--fixup", "--reuse-message", "--dry-run", "-qm",
    "-sm",
];

/// What the verbs do. A verb without a row does nothing that matters.
pub(super) const VERBS: &[Program] = &[
    Program {
        names: &["git config"],
        custom: Some(config),
        examples: examples![
            asks("git config core.sshCommand /tmp/x", "hidden-run"),
            asks("git config set --global alias.x '!/tmp/x'", "hidden-run"),
            allows("git config user.name Dev"),
            allows("git config --get core.sshCommand"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git clone"],
        custom: Some(clone),
        examples: examples![
            asks("git clone -u /tmp/x web-1:repository", "hidden-run"),
            asks("git clone --config core.sshCommand=/tmp/x web-1:repository", "hidden-run"),
            asks("git clone --template=/tmp/x https://x.io/repository", "hidden-run"),
            denies("git clone 'ext::rm -rf /'", "delete-root"),
            allows("git clone --depth 1 https://x.io/repository"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git fetch", "git pull", "git ls-remote", "git archive", "git remote"],
        custom: Some(talk),
        examples: examples![
            asks("git fetch --upload-pack=/tmp/x origin", "hidden-run"),
            asks("git ls-remote ext::/tmp/x", "hidden-run"),
            allows("git fetch --all"),
            allows("git pull --rebase"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git push"],
        custom: Some(push),
        examples: examples![
            asks("git push --force", "publish"),
            asks("git push origin +main", "publish"),
            asks("git push origin --delete topic", "publish"),
            asks("git push --receive-pack=/tmp/x origin", "hidden-run"),
            allows("git push --force-with-lease"),
            allows("git push -u origin topic"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git submodule"],
        custom: Some(submodule),
        examples: examples![
            denies("git submodule foreach 'rm -rf /'", "delete-root"),
            denies("git submodule foreach --recursive rm -rf /", "delete-root"),
            allows("git submodule foreach git pull"),
            allows("git submodule update --init"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git bisect"],
        effects: &[On(Has(&["run"]), Run(Which::Behind(&["run"])))],
        examples: examples![denies("git bisect run rm -rf /", "delete-root"), allows("git bisect run make test")],
        ..PROGRAM
    },
    Program {
        names: &["git rebase"],
        grammar: RUNS,
        effects: &[On(Always, RunText(Which::Values(&["x", "exec"])))],
        examples: examples![
            denies("git rebase -x 'rm -rf /' main", "delete-root"),
            allows("git rebase --exec 'make test' main"),
            allows("git rebase main"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git filter-branch", "git filter-repo"],
        custom: Some(filters),
        examples: examples![
            asks("git filter-branch --tree-filter 'rm -rf secrets' HEAD", "publish"),
            denies("git filter-branch --tree-filter 'rm -rf /' HEAD", "delete-root"),
            allows("git filter-repo --help"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git difftool"],
        grammar: RUNS,
        effects: &[On(Always, RunHelper(Which::Values(&["x", "extcmd"])))],
        examples: examples![asks("git difftool -x /tmp/x", "hidden-run"), allows("git difftool -x diff")],
        ..PROGRAM
    },
    Program {
        names: &["git grep"],
        custom: Some(grep),
        examples: examples![asks("git grep -O/tmp/x word", "hidden-run"), allows("git grep -n word")],
        ..PROGRAM
    },
    Program {
        names: &["git reflog"],
        effects: &[On(
            Has(&["expire", "delete"]),
            Is(Discard, "Without the reflog lost commits cannot be found again."),
        )],
        examples: examples![asks("git reflog expire --expire=now --all", "git-discard"), allows("git reflog")],
        ..PROGRAM
    },
    Program {
        names: &["git update-ref"],
        effects: &[On(Has(&["-d"]), Is(Discard, "This deletes a reference directly."))],
        examples: examples![
            asks("git update-ref -d refs/heads/main", "git-discard"),
            allows("git update-ref refs/heads/topic HEAD"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git ls-files", "git ls-tree", "git check-ignore"],
        prints: Prints::By(|_, _, world| files_below(world)),
        examples: examples![allows("git ls-files | xargs rm"), allows("rm $(git ls-files -o)")],
        ..PROGRAM
    },
    Program {
        names: &["git diff", "git status", "git show"],
        prints: Prints::By(files_where_asked),
        examples: examples![allows("git diff --name-only | xargs rm"), allows("git status --short")],
        ..PROGRAM
    },
    Program {
        names: &[
            "git rev-parse", "git describe", "git merge-base", "git symbolic-ref", "git branch", "git rev-list",
            "git hash-object", "git tag",
        ],
        prints: Prints::By(names),
        examples: examples![
            allows("rm -r build-$(git rev-parse HEAD)"),
            asks("rm -rf $(git rev-parse --show-toplevel)", "delete-unknown"),
            allows("git branch -d topic"),
        ],
        ..PROGRAM
    },
];

/// Options of verbs whose values are commands.
const RUNS: Grammar = Grammar {
    short: "xO",
    long: &[
        "exec", "upload-pack", "receive-pack", "tree-filter", "index-filter", "msg-filter", "env-filter",
        "commit-filter", "parent-filter", "tag-name-filter", "extcmd", "config",
    ],
    ..Grammar::PLAIN
};

const CLONE: Grammar = Grammar { short: "cuxO", ..RUNS };

/// Finds the verb and goes through it; settings and directories may stand before it.
fn git(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let mut inside = world.clone();
    let (verb, args) = verb_of(machine, call, &mut inside);
    let asks_for_help = args.iter().any(|arg| arg.text.is("--help") || arg.text.is("-h"));
    let Some(verb) = verb.filter(|_| !asks_for_help) else {
        return Some(Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)));
    };

    let is_verb = |name: &&str| name.strip_prefix("git ") == Some(verb.as_str());
    let row = VERBS.iter().chain(git_discards::VERBS).find(|row| row.names.iter().any(is_verb))?;
    let behind = Call { args, ..call.clone() };
    let flow = row.run(machine, &behind, inside).flow;
    Some(Ran::same(world.clone(), flow))
}

/// The verb, if the text decides it, and what stands behind it. Judges what stands before it.
fn verb_of(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> (Option<String>, Vec<Arg>) {
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let start = arg.text.known_start();
        match &*start {
            "-c" | "--config-env" => {
                if let Some(setting) = rest.next() {
                    git_settings::assign(machine, setting, world);
                }
            }
            "-C" => {
                let directory = rest.next().and_then(|arg| arg.text.as_known());
                let directory = directory.and_then(|path| path::absolute(&path, world.cwd.as_deref()));
                world.enter(directory);
            }
            "--work-tree" => {
                if let Some(tree) = rest.next() {
                    world.set_text("GIT_WORK_TREE", tree.text.clone());
                }
            }
            "--git-dir" => {
                if let Some(place) = rest.next() {
                    world.set_text("GIT_DIR", place.text.clone());
                }
            }
            "--namespace" => {
                rest.next();
            }
            _ if start.starts_with("--git-dir=") => {
                world.set_text("GIT_DIR", arg.text.skip("--git-dir=".len()));
            }
            _ if start.starts_with("--work-tree=") => {
                world.set_text("GIT_WORK_TREE", arg.text.skip("--work-tree=".len()));
            }
            _ if start.starts_with("--exec-path=") => {
                let reason = "git would take its own programs from another place.";
                machine.state(RunHidden, reason, arg.span, Some(start.into_owned()));
            }
            _ if start.starts_with("-c") && start.len() > 2 => {
                git_settings::assign(machine, &Arg::new(arg.text.skip(2), arg.span), world);
            }
            _ if start.starts_with('-') => {}
            _ => return (arg.text.as_known(), rest.cloned().collect()),
        }
    }
    (None, Vec::new())
}

fn has(call: &Call, words: &[&str]) -> bool {
    call.args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)))
}

fn starting_with<'c>(call: &'c Call, starts: &[&str]) -> Option<&'c Arg> {
    call.args.iter().find(|arg| starts.iter().any(|start| arg.text.known_start().starts_with(start)))
}

/// `git config key value`.
fn config(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const CONFIG: Grammar =
        Grammar { short: "f", long: &["file", "blob", "type", "default", "comment", "value"], ..Grammar::PLAIN };
    const READS: [&str; 11] = [
        "--get", "--get-all", "--list", "-l", "--unset", "--unset-all", "--get-regexp", "--show-origin", "get", "list",
        "unset",
    ];
    if has(call, &READS) {
        return None;
    }

    let mut operands = Options::read(&call.args, &CONFIG).operands;
    operands.retain(|arg| !arg.text.is("set"));
    if let [key, value, ..] = operands.as_slice()
        && let Some(key) = key.text.as_known()
    {
        git_settings::set(machine, &key, value, world);
    }
    None
}

/// Verbs that talk to another repository.
fn talk(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    talk_with(machine, call, world, &RUNS);
    None
}

/// Options and addresses with which git runs another program.
fn talk_with(machine: &mut Machine<'_>, call: &Call, world: &World, grammar: &Grammar) {
    let options = Options::read(&call.args, grammar);
    let programs = options.values(&["upload-pack", "receive-pack", "exec", "u"]);
    for program in programs.chain(starting_with(call, &["-u="])) {
        let reason = "This option makes git run another program.";
        machine.state(RunHidden, reason, program.span, Some(program.text.display()));
        run_helper(machine, program, world);
    }

    for setting in options.values(&["config", "c"]) {
        git_settings::assign(machine, setting, world);
    }

    if let Some(address) = starting_with(call, &["ext::", "fd::"]) {
        let reason = "Such an address makes git run a command.";
        machine.state(RunHidden, reason, address.span, Some(address.text.display()));
        machine.run_text(&Arg::new(address.text.skip(5), address.span), world.clone(), &call.input);
    }
}

fn clone(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    talk_with(machine, call, world, &CLONE);
    if let Some(template) = starting_with(call, &["--template="]) {
        let directory = Arg::new(template.text.skip("--template=".len()), template.span);
        git_settings::set(machine, "init.templateDir", &directory, world);
    }
    None
}

/// `git submodule foreach`: one word is a command line, several are a command.
fn submodule(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    talk_with(machine, call, world, &RUNS);
    let at = call.args.iter().position(|arg| arg.text.is("foreach"))?;
    let mut words = call.args[at + 1..].to_vec();
    words.retain(|arg| !arg.text.is("--recursive") && !arg.text.is("--quiet"));

    match words.as_slice() {
        [line] => machine.run_text(line, world.clone(), &call.input),
        _ => machine.run_words(call, &words, world.clone()),
    };
    None
}

fn push(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    talk_with(machine, call, world, &RUNS);
    if has(call, &["-n", "--dry-run"]) {
        return None;
    }

    let starts: Vec<_> = call.args.iter().map(|arg| arg.text.known_start()).collect();
    let any = |test: &dyn Fn(&str) -> bool| starts.iter().any(|start| test(start));
    let is_short = |start: &str| start.starts_with('-') && !start.starts_with("--");
    let forces = any(&|start| ["--force", "--mirror", "--prune"].contains(&start) || start.starts_with('+'))
        || any(&|start| is_short(start) && start.contains('f'));
    let has_lease = any(&|start| start.starts_with("--force-with-lease"));
    let deletes = has(call, &["--delete", "-d"]) || any(&|start| start.starts_with(':') && start.len() > 1);

    if forces && !has_lease {
        let instead = "Use `git push --force-with-lease`, which checks first.";
        machine.state_with(Publish, "This may overwrite what others have pushed.", call.span, instead);
    } else if deletes {
        let instead = "Delete only the local branch: `git branch -d NAME`.";
        machine.state_with(Publish, "This deletes a branch or tag that others may use.", call.span, instead);
    }
    None
}

/// The filters of `git filter-branch` run in a scratch directory of their own.
fn filters(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const FILTERS: [&str; 7] = [
        "tree-filter", "index-filter", "msg-filter", "env-filter", "commit-filter", "parent-filter", "tag-name-filter",
    ];
    for text in Options::read(&call.args, &RUNS).values(&FILTERS) {
        let mut scratch = world.clone();
        scratch.enter(Some("/tmp/\u{1}".to_owned()));
        machine.run_text(text, scratch, &call.input);
    }
    let instead = "Do it in a fresh clone: `git clone . ../rewritten`.";
    machine.state_with(Publish, "This rewrites all of history.", call.span, instead);
    None
}

/// `git grep -Opager`.
fn grep(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const PAGERS: [&str; 2] = ["-O", "--open-files-in-pager="];
    let option = starting_with(call, &PAGERS)?;
    let name = PAGERS.iter().find(|name| option.text.known_start().starts_with(**name))?;
    let program = Arg::new(option.text.skip(name.len()), option.span);
    if !program.text.is_empty() {
        run_helper(machine, &program, world);
    }
    None
}

/// Paths below the current directory.
fn files_below(world: &World) -> Flow {
    match world.cwd.clone() {
        Some(root) => Flow { roots: vec![crate::value::FoundBelow::Some(root)], ..Flow::default() },
        None => Flow::unknown(),
    }
}

fn files_where_asked(_: &mut Machine<'_>, call: &Call, world: &World) -> Flow {
    let is_asked = has(call, &["--name-only", "--name-status", "--porcelain", "-s", "--short"]);
    if is_asked { files_below(world) } else { Flow::unknown() }
}

/// Names of commits and branches; some options make a path of them.
fn names(_: &mut Machine<'_>, call: &Call, _: &World) -> Flow {
    let is_path = has(call, &["--show-toplevel", "--git-dir", "--show-cdup", "--git-path"]);
    Flow::labelled(if is_path { Labels::UNKNOWN } else { Labels::PLAIN })
}
