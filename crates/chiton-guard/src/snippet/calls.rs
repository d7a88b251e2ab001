//! Calls that matter in code, as rows: by which name, in which language, how they are written, and what they do.

use super::Language::{self, JavaScript, Lua, Perl, Php, Python, Ruby};

/// Calls that do the same.
#[derive(Clone, Copy)]
pub(super) struct CallRow {
    /// The last part of their names: `rmtree` of `shutil.rmtree`.
    names: &'static [&'static str],
    /// The languages in which they do it.
    languages: Languages,
    /// How they have to be written.
    written: WrittenBy,
    /// Whether what they are called on is their first argument: `Path("x").unlink()`.
    pub(super) on_receiver: bool,
    /// What they do.
    pub(super) does: CallDoes,
}

#[derive(Clone, Copy)]
enum Languages {
    All,
    Only(&'static [Language]),
    Not(&'static [Language]),
}

/// How a call is written, where its last name alone says too little.
#[derive(Clone, Copy)]
enum WrittenBy {
    Anyhow,
    /// Behind a module, a class or an object.
    Qualified,
    /// With a name that ends like this.
    Ending(&'static [&'static str]),
    /// With a name that starts like this.
    Starting(&'static [&'static str]),
}

/// What a call does.
#[derive(Clone, Copy)]
pub(super) enum CallDoes {
    /// The first argument is deleted with everything in it.
    DeleteTree,
    /// Every argument is deleted.
    DeleteEntry,
    /// The first argument is written.
    Write,
    /// The second argument is written.
    Copy,
    /// The second argument is written, and the first is gone.
    Move,
    /// A file is opened, perhaps for writing.
    Open,
    /// Permissions or owners change.
    ChangeRights,
    /// A program starts. The first form that the arguments have counts.
    Run(&'static [Form]),
    /// Processes end.
    Kill,
    /// The first argument is code in the same language.
    Evaluate,
}

/// How the arguments of a call say which program to run.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// A list of words, or a program and a list of its arguments.
    List,
    /// The same, but that list begins with the name that the program sees.
    ListWithName,
    /// A word each, in languages where that is usual.
    Arguments,
    /// A word each, and the second is the name that the program sees.
    ArgumentsWithName,
    /// A word each, behind one that says how to wait.
    ArgumentsBehindMode,
    /// Text for a shell.
    Text,
    /// Text for a shell, where the call belongs to something named after a subprocess.
    TextOfSubprocess,
}

const ROW: CallRow = CallRow {
    names: &[],
    languages: Languages::All,
    written: WrittenBy::Anyhow,
    on_receiver: false,
    does: CallDoes::Open,
};

/// The calls. Every row that is about a call counts.
const ROWS: &[CallRow] = &[
    CallRow {
        names: &[
            "remove_tree", "rm_rf", "rm_r", "remove_dir", "remove_entry", "remove_entry_secure", "rmSync", "rimraf",
            "rimrafSync", "rmdirSync", "removeSync", "emptyDirSync", "removedirs", "deleteTree", "deleteDirectory",
            "emptyDir", "remove_dir_all", "deleteRecursively",
        ],
        does: CallDoes::DeleteTree,
        ..ROW
    },
    CallRow { names: &["rmtree"], on_receiver: true, does: CallDoes::DeleteTree, ..ROW },
    CallRow { names: &["rm"], written: WrittenBy::Qualified, does: CallDoes::DeleteTree, ..ROW },
    CallRow { names: &["unlinkSync"], does: CallDoes::DeleteEntry, ..ROW },
    CallRow { names: &["unlink"], on_receiver: true, does: CallDoes::DeleteEntry, ..ROW },
    CallRow { names: &["remove"], languages: Languages::Only(&[Lua]), does: CallDoes::DeleteEntry, ..ROW },
    CallRow {
        names: &["remove"],
        languages: Languages::Not(&[Lua]),
        written: WrittenBy::Ending(&["os.remove", "Deno.remove", "fs.remove", "fsExtra.remove"]),
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow {
        names: &["delete"],
        written: WrittenBy::Starting(&["File", "."]),
        on_receiver: true,
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow {
        names: &[
            "writeFileSync", "writeFile", "appendFileSync", "appendFile", "file_put_contents", "createWriteStream",
            "truncate", "truncateSync", "binwrite", "writeTextFileSync", "writeTextFile",
        ],
        does: CallDoes::Write,
        ..ROW
    },
    CallRow { names: &["write_text", "write_bytes"], on_receiver: true, does: CallDoes::Write, ..ROW },
    CallRow { names: &["write"], written: WrittenBy::Qualified, does: CallDoes::Write, ..ROW },
    CallRow {
        names: &["copy", "copyfile", "copy2", "copytree", "copyFileSync", "cpSync", "cp", "replace"],
        written: WrittenBy::Qualified,
        does: CallDoes::Copy,
        ..ROW
    },
    CallRow {
        names: &["rename", "renameSync", "move", "mv"],
        written: WrittenBy::Qualified,
        does: CallDoes::Move,
        ..ROW
    },
    CallRow { names: &["open", "fopen", "openSync", "new", "sysopen", "File"], does: CallDoes::Open, ..ROW },
    CallRow { names: &["chmodSync", "chown", "chownSync", "lchown"], does: CallDoes::ChangeRights, ..ROW },
    CallRow { names: &["chmod"], on_receiver: true, does: CallDoes::ChangeRights, ..ROW },
    CallRow { names: &["system", "spawn"], does: CallDoes::Run(&[Form::List, Form::Arguments, Form::Text]), ..ROW },
    CallRow {
        names: &["exec"],
        languages: Languages::Not(&[Python]),
        does: CallDoes::Run(&[Form::List, Form::Arguments, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["run", "call", "check_call", "check_output", "Popen"],
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["spawnSync", "execFile", "execFileSync", "posix_spawn", "create_subprocess_exec"],
        does: CallDoes::Run(&[Form::List, Form::TextOfSubprocess]),
        ..ROW
    },
    CallRow {
        names: &["execv", "execve", "execvp", "execvpe", "spawnv", "spawnvp"],
        does: CallDoes::Run(&[Form::ListWithName, Form::TextOfSubprocess]),
        ..ROW
    },
    CallRow {
        names: &["execl", "execlp", "execle", "execlpe"],
        does: CallDoes::Run(&[Form::List, Form::ArgumentsWithName]),
        ..ROW
    },
    CallRow {
        names: &["spawnl", "spawnlp", "spawnle", "spawnlpe"],
        does: CallDoes::Run(&[Form::List, Form::ArgumentsBehindMode]),
        ..ROW
    },
    CallRow {
        names: &[
            "popen", "getoutput", "getstatusoutput", "execSync", "shell_exec", "passthru", "proc_open", "execute",
            "capture2", "capture3", "capture2e", "qx", "shell", "pcntl_exec", "spawn_command_line_sync",
        ],
        does: CallDoes::Run(&[Form::Text]),
        ..ROW
    },
    CallRow { names: &["kill", "killpg"], does: CallDoes::Kill, ..ROW },
    CallRow {
        names: &["exec", "eval", "compile"],
        languages: Languages::Only(&[Python, JavaScript, Php, Ruby, Perl]),
        does: CallDoes::Evaluate,
        ..ROW
    },
];

/// The rows about a call of `name`.
pub(super) fn rows_of(name: &str, language: Language) -> impl Iterator<Item = &'static CallRow> {
    ROWS.iter().filter(move |row| row.is_about(name, language))
}

/// The last part of a name: `rmtree` of `shutil.rmtree`.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '>']).next().unwrap_or_default()
}

impl CallRow {
    fn is_about(&self, name: &str, language: Language) -> bool {
        let is_named = self.names.contains(&last_part(name));
        let in_language = match self.languages {
            Languages::All => true,
            Languages::Only(only) => only.contains(&language),
            Languages::Not(others) => !others.contains(&language),
        };

        is_named
            && in_language
            && match self.written {
                WrittenBy::Anyhow => true,
                WrittenBy::Qualified => name.contains(['.', ':', '>']),
                WrittenBy::Ending(ends) => ends.iter().any(|end| name.ends_with(end)),
                WrittenBy::Starting(starts) => starts.iter().any(|start| name.starts_with(start)),
            }
    }
}

/// What a call gives back, where that can be told.
#[derive(Clone, Copy)]
pub(super) enum Gives {
    /// The first argument, with the home directory for `~` and `$HOME`.
    ExpandedPath,
    /// The home directory.
    Home,
    /// The home directory, where the variable that is asked for is `HOME`.
    Variable,
    /// The working directory.
    WorkingDirectory,
    /// A path in a temporary directory.
    Temporary,
    /// The first argument.
    FirstArgument,
    /// All arguments, joined to a path.
    JoinedPath,
    /// The characters with these numbers.
    Characters,
    /// The first argument, decoded.
    Base64,
    /// The first argument, decoded.
    Hexadecimal,
}

const GIVES: &[(&[&str], Gives)] = &[
    (&["expanduser", "expandvars", "expand_path", "expand_home"], Gives::ExpandedPath),
    (&["home", "homedir"], Gives::Home),
    (&["environ", "getenv", "ENV", "$ENV", "get", "env"], Gives::Variable),
    (&["getcwd", "cwd", "pwd"], Gives::WorkingDirectory),
    (
        &["mkdtemp", "mktemp", "mkdtempSync", "gettempdir", "TemporaryDirectory", "NamedTemporaryFile", "tmpdir"],
        Gives::Temporary,
    ),
    (
        &[
            "Path", "PosixPath", "str", "String", "abspath", "realpath", "resolve", "normpath", "encode", "decode",
            "Pathname", "fspath",
        ],
        Gives::FirstArgument,
    ),
    (&["join"], Gives::JoinedPath),
    (&["chr", "fromCharCode"], Gives::Characters),
    (&["b64decode", "atob", "base64_decode", "decode64"], Gives::Base64),
    (&["fromhex", "unhexlify"], Gives::Hexadecimal),
];

/// What a call of `name` gives back.
pub(super) fn given_by(name: &str) -> Option<Gives> {
    let last = last_part(name);
    GIVES.iter().find(|(names, _)| names.contains(&last)).map(|(_, gives)| *gives)
}
