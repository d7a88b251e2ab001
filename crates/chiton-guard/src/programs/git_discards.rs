//! What git throws away that no commit holds. Whether there is any is asked of the surroundings; only what that very
//! command would lose counts. Every finding says which files would have to be put back for nothing to be lost.

use std::path::{Path, PathBuf};

use super::options::{Grammar, Options};
use super::row::{PROGRAM, Program, allows, asks};
use crate::context::Uncommitted;
use crate::effect::Kind::Discard;
use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::{Machine, Ran};
use crate::needs::{Loss, Needs};
use crate::value::path;
use crate::value::{Arg, Text};

/// The verbs of git that throw work away.
pub(super) const VERBS: &[Program] = &[
    Program {
        names: &["git reset"],
        custom: Some(reset),
        examples: examples![allows("git reset --hard"), allows("git reset HEAD~1"), allows("git reset --soft HEAD~1")],
        ..PROGRAM
    },
    Program {
        names: &["git checkout"],
        custom: Some(checkout),
        examples: examples![allows("git checkout -- ."), allows("git checkout main"), allows("git checkout -b topic")],
        ..PROGRAM
    },
    Program {
        names: &["git switch"],
        custom: Some(switch),
        examples: examples![allows("git switch main"), allows("git switch --discard-changes main")],
        ..PROGRAM
    },
    Program {
        names: &["git restore"],
        custom: Some(restore),
        examples: examples![allows("git restore src/main.rs"), allows("git restore --staged .")],
        ..PROGRAM
    },
    Program {
        names: &["git clean"],
        custom: Some(clean),
        examples: examples![
            asks("git clean -fdx", "git-discard"),
            allows("git clean -fd"),
            allows("git clean -fdX"),
            allows("git clean -ndx"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["git stash"],
        custom: Some(stash),
        examples: examples![asks("git stash clear", "git-discard"), allows("git stash pop"), allows("git stash drop")],
        ..PROGRAM
    },
    Program {
        names: &["git rm"],
        custom: Some(remove),
        examples: examples![allows("git rm -f old.rs"), allows("git rm -r --cached .")],
        ..PROGRAM
    },
    Program {
        names: &["git read-tree", "git checkout-index"],
        custom: Some(read_tree),
        examples: examples![allows("git read-tree -u --reset HEAD"), allows("git checkout-index -f -a")],
        ..PROGRAM
    },
    Program {
        names: &["git worktree"],
        custom: Some(worktree),
        examples: examples![allows("git worktree remove --force ../topic"), allows("git worktree list")],
        ..PROGRAM
    },
];

/// Which work a command would lose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Every change to a file that git knows.
    Changed,
    /// Changes that the index does not hold.
    Unstaged,
    /// Files that git does not know.
    Untracked,
    /// All of these.
    All,
}

impl Lost {
    fn of(self, work: &Uncommitted) -> Vec<&str> {
        let changed = || work.changed.iter().map(String::as_str);
        let untracked = || work.untracked.iter().map(String::as_str);
        match self {
            Self::Changed => changed().collect(),
            Self::Unstaged => changed().filter(|file| !work.staged.iter().any(|staged| staged == file)).collect(),
            Self::Untracked => untracked().collect(),
            Self::All => changed().chain(untracked()).collect(),
        }
    }

    /// One of them, and several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Changed | Self::Unstaged => ("changed file", "changed files"),
            Self::Untracked => ("file that git does not know", "files that git does not know"),
            Self::All => ("file that no commit holds", "files that no commit holds"),
        }
    }

    fn instead(self) -> &'static str {
        match self {
            Self::Changed | Self::Unstaged => "Commit them or run `git stash` first, or name the files.",
            Self::Untracked => "Run `git stash -u` instead, or delete the files by name.",
            Self::All => "Commit them or run `git stash -u` there first.",
        }
    }
}

/// Where work would be lost: below these paths, or everywhere.
enum Where {
    Everywhere,
    Below(Vec<Arg>),
}

const CHECKOUT: Grammar = Grammar {
    short: "bB",
    long: &["conflict", "pathspec-from-file", "orphan"],
    flags: &["force", "patch", "ours", "theirs", "merge", "detach", "track", "quiet"],
    ..Grammar::PLAIN
};
const RESTORE: Grammar = Grammar {
    short: "sU",
    long: &["source", "conflict", "pathspec-from-file"],
    flags: &["staged", "worktree", "patch", "ours", "theirs", "merge", "quiet"],
    ..Grammar::PLAIN
};
const CLEAN: Grammar =
    Grammar { short: "e", long: &["exclude"], flags: &["force", "dry-run", "interactive", "quiet"], ..Grammar::PLAIN };
const PLAIN: Grammar = Grammar {
    flags: &["hard", "force", "cached", "reset", "dry-run", "all", "discard-changes", "quiet", "patch"],
    ..Grammar::PLAIN
};

fn reset(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if Options::read(&call.args, &PLAIN).has(&["hard"]) {
        loses(machine, call, world, Lost::Changed, &Where::Everywhere);
    }
    None
}

/// `git checkout` of files; of a branch only with force, because git looks itself otherwise.
fn checkout(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &CHECKOUT);
    if options.has(&["b", "B", "orphan", "p", "patch"]) {
        return None;
    }
    if options.has(&["f", "force"]) {
        loses(machine, call, world, Lost::Changed, &Where::Everywhere);
    } else if options.has(&["pathspec-from-file"]) {
        loses(machine, call, world, Lost::Unstaged, &Where::Everywhere);
    } else {
        // `checkout HEAD -- x` takes x from a commit, over what the index holds; `checkout -- x` from the index.
        let marks = call.args.iter().position(|arg| arg.text.is("--"));
        let from_commit = match marks {
            Some(at) => call.args[..at].iter().any(|arg| !arg.text.known_start().starts_with('-')),
            None => options.operands.len() > 1,
        };
        let lost = if from_commit { Lost::Changed } else { Lost::Unstaged };
        // Without the marks, what the text does not determine is taken for a branch.
        let mut operands = options.operands;
        operands.retain(|operand| marks.is_some() || operand.text.is_decided());
        loses(machine, call, world, lost, &Where::Below(operands));
    }
    None
}

fn switch(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if Options::read(&call.args, &PLAIN).has(&["f", "force", "discard-changes"]) {
        loses(machine, call, world, Lost::Changed, &Where::Everywhere);
    }
    None
}

fn restore(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &RESTORE);
    let index_alone = options.has(&["S", "staged"]) && !options.has(&["W", "worktree"]);
    if index_alone || options.has(&["p", "patch"]) {
        return None;
    }
    let from_commit = options.has(&["s", "source", "S", "staged"]);
    let lost = if from_commit { Lost::Changed } else { Lost::Unstaged };
    loses(machine, call, world, lost, &Where::Below(options.operands));
    None
}

fn clean(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &CLEAN);
    if !options.has(&["f", "force"]) || options.has(&["n", "dry-run", "i", "interactive"]) {
        return None;
    }
    if options.has(&["x"]) {
        let reason = "This deletes every file that git does not know, ignored ones such as local settings too.";
        discards(
            machine,
            call,
            Discarded { reason: reason.to_owned(), target: None, needs: cleaned(machine, &options.operands, world) },
            "Run `git stash -a` instead, or `git clean -fdX` for what builds made.",
        );
    }
    if !options.has(&["X"]) {
        let places = if options.operands.is_empty() { Where::Everywhere } else { Where::Below(options.operands) };
        loses(machine, call, world, Lost::Untracked, &places);
    }
    None
}

fn stash(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let is_verb = |verb: &str| call.args.first().is_some_and(|arg| arg.text.is(verb));
    let (clears, drops) = (is_verb("clear"), is_verb("drop"));
    if !clears && !drops {
        return None;
    }
    let work = || machine.context.surroundings.as_ref()?.uncommitted(&directory(machine, world)?);
    let work = work().unwrap_or_default();
    let reason = match clears {
        true => "This throws all stashed work away.",
        false if work.has_stash => "This throws stashed work away, which no commit holds.",
        false => return None,
    };
    // The commits of the stash stay where they are; that they are one is what goes.
    let needs = lost(machine, world, &work, of_git(&work));
    let instead = "Keep it as a branch first: `git stash branch NAME`.";
    discards(machine, call, Discarded { reason: reason.to_owned(), target: None, needs }, instead);
    None
}

fn remove(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &PLAIN);
    if options.has(&["f", "force"]) && !options.has(&["cached", "n", "dry-run"]) {
        loses(machine, call, world, Lost::Changed, &Where::Below(options.operands));
    }
    None
}

fn read_tree(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &PLAIN);
    let has_word = |word: &str| call.args.iter().any(|arg| arg.text.is(word));
    let updates = has_word("-u") && options.has(&["reset"]);
    let checks_out = options.has(&["f", "force"]) && options.has(&["a", "all"]);
    if updates || checks_out {
        let lost = if updates { Lost::Changed } else { Lost::Unstaged };
        loses(machine, call, world, lost, &Where::Everywhere);
    }
    None
}

fn worktree(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &PLAIN);
    let [verb, place] = options.operands.as_slice() else { return None };
    if !verb.text.is("remove") || !options.has(&["f", "force"]) {
        return None;
    }
    let place = path::absolute(&place.text.as_known()?, world.cwd.as_deref())?;
    let work = machine.context.surroundings.as_ref()?.uncommitted(Path::new(&place))?;
    let all = [&work.root].into_iter().chain(&work.git_directories);
    let all = all.map(|part| Loss::removed(part.to_string_lossy().into_owned(), true)).collect();
    let needs = lost(machine, world, &work, all);
    report(machine, call, Lost::All, &Lost::All.of(&work), needs, work.is_unknown);
    None
}

/// Reports the work that `call` would lose, as far as there is any.
fn loses(machine: &mut Machine<'_>, call: &Call, world: &World, lost: Lost, places: &Where) {
    let Some(around) = machine.context.surroundings.clone() else { return };
    let Some(directory) = directory(machine, world) else { return };
    if is_kept_before(machine, lost) {
        return;
    }
    let Some(work) = around.uncommitted(&directory) else { return };
    let mut files = lost.of(&work);
    let mut is_unknown = work.is_unknown;
    if let Where::Below(args) = places {
        let below: Vec<String> = args.iter().filter_map(|arg| pathspec(&arg.text, &directory, &work.root)).collect();
        files.retain(|file| below.iter().any(|place| is_below(file, place)));
        is_unknown &= !args.is_empty();
    }
    let needs = lost_files(machine, world, &work, lost, if is_unknown { &[] } else { &files });
    report(machine, call, lost, &files, needs, is_unknown);
}

fn report(machine: &mut Machine<'_>, call: &Call, lost: Lost, files: &[&str], needs: Option<Needs>, is_unknown: bool) {
    const SHOWN: usize = 3;
    if is_unknown {
        let reason = "This discards uncommitted work; whether there is any could not be checked.".to_owned();
        discards(machine, call, Discarded { reason, target: None, needs }, lost.instead());
        return;
    }
    let (one, several) = lost.words();
    let shown = files.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    let reason = match files.len() {
        0 => return,
        1 => format!("This would lose 1 {one}: {shown}."),
        count if count <= SHOWN => format!("This would lose {count} {several}: {shown}."),
        count => format!("This would lose {count} {several}: {shown} and {} more.", count - SHOWN),
    };
    let target = files.first().map(|file| (*file).to_owned());
    discards(machine, call, Discarded { reason, target, needs }, lost.instead());
}

/// What a call would throw away.
struct Discarded {
    /// In one sentence.
    reason: String,
    target: Option<String>,
    /// The files that it is in.
    needs: Option<Needs>,
}

fn discards(machine: &mut Machine<'_>, call: &Call, what: Discarded, instead: &str) {
    let Discarded { reason, target, needs } = what;
    machine.instead(instead, |machine| machine.state_where(needs, Discard, reason, call.span, target));
}

/// These files of a worktree, or any of it where none are given, with what git notes about them.
fn lost_files(machine: &Machine<'_>, world: &World, work: &Uncommitted, how: Lost, files: &[&str]) -> Option<Needs> {
    let root = work.root.to_string_lossy();
    let in_root = |file: &&str| Loss::removed(format!("{root}/{}", file.trim_end_matches('/')), file.ends_with('/'));
    let mut losses: Vec<Loss> = match files {
        [] => vec![Loss::removed(root.clone().into_owned(), true)],
        files => files.iter().map(in_root).collect(),
    };
    // Git has no note about files that it does not know.
    if how != Lost::Untracked {
        losses.extend(of_git(work));
    }
    lost(machine, world, work, losses)
}

/// What git keeps about a worktree, and changes with it.
fn of_git(work: &Uncommitted) -> Vec<Loss> {
    const NOTES: [(&str, bool); 5] =
        [("HEAD", false), ("index", false), ("packed-refs", false), ("refs", true), ("logs", true)];
    let in_one = |directory: &PathBuf| {
        let directory = directory.to_string_lossy().into_owned();
        NOTES.map(|(name, below)| Loss::removed(format!("{directory}/{name}"), below))
    };
    work.git_directories.iter().flat_map(in_one).collect()
}

/// The losses, where it is known that they are all.
fn lost(machine: &Machine<'_>, world: &World, work: &Uncommitted, losses: Vec<Loss>) -> Option<Needs> {
    let is_known = !work.git_directories.is_empty() && !names_its_places(machine, world);
    is_known.then_some(Needs::Lose(losses))
}

/// What `git clean -x` would delete: it begins where it stands, or at the paths that it is given.
fn cleaned(machine: &Machine<'_>, paths: &[Arg], world: &World) -> Option<Needs> {
    let cwd = world.cwd.as_deref();
    if names_its_places(machine, world) {
        return None;
    }
    let below = |path: &Arg| {
        let literal = path.text.as_literal().filter(|literal| !literal.starts_with(':'))?;
        Some(Loss::removed(path::absolute(&literal, cwd)?, true))
    };
    let losses = match paths {
        [] => vec![Loss::removed(cwd?.to_owned(), true)],
        paths => paths.iter().map(below).collect::<Option<Vec<Loss>>>()?,
    };
    Some(Needs::Lose(losses))
}

/// Whether variables or options say where the worktree, the repository or a part of it is.
fn names_its_places(machine: &Machine<'_>, world: &World) -> bool {
    const NAMING: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];
    let is_given = |name: &str| match world.get(name, machine.context) {
        Value::Scalar(text) => text.as_known().is_some_and(|known| !known.is_empty()),
        _ => false,
    };
    NAMING.iter().any(|name| world.has_set(name) || is_given(name))
}

/// Whether an earlier part of the same command stashes or commits the work.
fn is_kept_before(machine: &Machine<'_>, lost: Lost) -> bool {
    machine.seen.iter().rev().skip(1).any(|seen| {
        let mut words = seen.words.iter().map(String::as_str).skip_while(|word| *word != "git").skip(1);
        let takes_untracked = || {
            let is_flag =
                |word: &String| ["-u", "-a", "--include-untracked", "--all", "-ua", "-au"].contains(&word.as_str());
            lost == Lost::Changed || lost == Lost::Unstaged || seen.words.iter().any(is_flag)
        };
        match (words.next(), words.next()) {
            (Some("stash"), None | Some("push" | "save")) => takes_untracked(),
            (Some("stash"), Some(option)) if option.starts_with('-') => takes_untracked(),
            (Some("commit"), _) => lost == Lost::Changed || lost == Lost::Unstaged,
            _ => false,
        }
    })
}

/// The directory whose worktree git would use.
fn directory(machine: &Machine<'_>, world: &World) -> Option<PathBuf> {
    let variable = |name: &str| match world.get(name, machine.context) {
        Value::Scalar(text) => text.as_known().filter(|known| !known.is_empty()),
        _ => None,
    };
    let absolute = |place: String| path::absolute(&place, world.cwd.as_deref());
    if let Some(tree) = variable("GIT_WORK_TREE") {
        return absolute(tree).map(PathBuf::from);
    }
    world.cwd.clone().map(PathBuf::from)
}

/// `text` as a path below the top of the worktree; empty stands for all of it.
fn pathspec(text: &Text, directory: &Path, root: &Path) -> Option<String> {
    let Some(literal) = text.as_literal() else { return Some(String::new()) };
    let (literal, from) = match literal.strip_prefix(":/") {
        Some(rest) => (rest.to_owned(), root),
        None => (literal, directory),
    };
    let fixed: Vec<&str> = literal.split('/').take_while(|part| !path::is_pattern(part)).collect();
    let whole = path::absolute(&fixed.join("/"), Some(&from.to_string_lossy()))?;
    let root = path::absolute(&root.to_string_lossy(), None)?;
    if path::is_within(&root, &whole) {
        return Some(String::new());
    }
    whole.strip_prefix(&root)?.strip_prefix('/').map(str::to_owned)
}

/// Whether a file, or a directory that stands for its files, lies below `place`, or holds it.
fn is_below(file: &str, place: &str) -> bool {
    let bare = file.trim_end_matches('/');
    place.is_empty() || path::is_within(bare, place) || file.ends_with('/') && path::is_within(place, bare)
}
