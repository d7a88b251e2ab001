//! Calls that matter in code, as rows: by which name, in which language, how they are written, and what they do.

use super::Language::{self, Braces, JavaScript, Julia, Lisp, Lua, Octave, Perl, Php, Python, R, Ruby};

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
    /// Every argument is deleted; with everything in it where an argument says so.
    DeleteEntry,
    /// The first argument is written.
    Write,
    /// The second argument is written.
    Copy,
    /// The second argument is written, and the first is gone.
    Move,
    /// A file is opened, perhaps for writing; or a pipe to a program.
    Open,
    /// Permissions or owners change.
    ChangeRights,
    /// A program starts. The first form that the arguments have counts.
    Run(&'static [Form]),
    /// Processes end.
    Kill,
    /// The first argument is code in the same language.
    Evaluate,
    /// The last argument is code in the same language.
    EvaluateLast,
    /// The working directory becomes the first argument.
    Enter,
    /// The first argument names a function, which gets the others.
    CallNamed,
    /// What goes to a program that was started.
    Feed,
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
    /// A word each.
    Words,
    /// A word each, and the second is the name that the program sees.
    ArgumentsWithName,
    /// A word each, behind one that says how to wait.
    ArgumentsBehindMode,
    /// The same, and the list begins with the name that the program sees.
    ListBehindMode,
    /// A program and a text with its arguments.
    ProgramAndText,
    /// A map that names the program and its arguments.
    Map,
    /// Everything behind the arguments that say where input and output go.
    Behind(usize),
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
            "emptyDir", "remove_dir_all", "RemoveAll", "removeDirectoryRecursive", "removePathForcibly", "del_dir_r",
            "delete-tree", "delete-directory", "delete-directory/files", "delete-directory-tree", "cleanDirectory",
            "removeItem", "deleteDir", "rm_rf!", "del", "deleteSync", "forceDelete", "removeDirectory",
        ],
        on_receiver: true,
        does: CallDoes::DeleteTree,
        ..ROW
    },
    CallRow { names: &["rmtree", "deleteRecursively"], on_receiver: true, does: CallDoes::DeleteTree, ..ROW },
    CallRow { names: &["rm"], written: WrittenBy::Qualified, does: CallDoes::DeleteTree, ..ROW },
    CallRow { names: &["rm"], languages: Languages::Only(&[Julia]), does: CallDoes::DeleteTree, ..ROW },
    CallRow { names: &["rmdir"], languages: Languages::Only(&[Octave, JavaScript]), does: CallDoes::DeleteTree, ..ROW },
    CallRow {
        names: &["sync", "rimraf", "native", "manual"],
        written: WrittenBy::Starting(&["rimraf."]),
        does: CallDoes::DeleteTree,
        ..ROW
    },
    CallRow {
        names: &["remove"],
        written: WrittenBy::Ending(&["fs-extra.remove", "fsExtra.remove", "fse.remove"]),
        does: CallDoes::DeleteTree,
        ..ROW
    },
    CallRow {
        names: &["unlinkSync", "deleteIfExists", "delete-file", "removeFile"],
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow { names: &["unlink"], on_receiver: true, does: CallDoes::DeleteEntry, ..ROW },
    CallRow { names: &["remove"], languages: Languages::Only(&[Lua, R]), does: CallDoes::DeleteEntry, ..ROW },
    CallRow {
        names: &["remove", "removeSync"],
        languages: Languages::Not(&[Lua]),
        written: WrittenBy::Ending(&[
            "os.remove", "Deno.remove", "Deno.removeSync", "fs.remove", "Sys.remove", "fs::remove",
        ]),
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow {
        names: &["delete"],
        written: WrittenBy::Starting(&["File", ".", "Dir", "Files", "file", "Pathname"]),
        on_receiver: true,
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow {
        names: &[
            "writeFileSync", "writeFile", "appendFileSync", "appendFile", "file_put_contents", "createWriteStream",
            "truncate", "truncateSync", "binwrite", "writeTextFileSync", "writeTextFile", "WriteFile", "writeLines",
        ],
        does: CallDoes::Write,
        ..ROW
    },
    CallRow { names: &["write_text", "write_bytes"], on_receiver: true, does: CallDoes::Write, ..ROW },
    CallRow {
        names: &["write"],
        written: WrittenBy::Ending(&["File.write", "IO.write", "Files.write", "Bun.write", "fs.write"]),
        does: CallDoes::Write,
        ..ROW
    },
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
    CallRow {
        names: &["system", "spawn", "capture", "capturex", "systemx", "popen2", "popen2e", "popen3", "pipeline"],
        languages: Languages::Not(&[Julia, Lisp]),
        does: CallDoes::Run(&[Form::Map, Form::List, Form::Arguments, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["exec"],
        languages: Languages::Not(&[Python]),
        does: CallDoes::Run(&[Form::List, Form::Arguments, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["run"],
        written: WrittenBy::Qualified,
        does: CallDoes::Run(&[Form::Map, Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["run"],
        languages: Languages::Only(&[Python, Julia, Perl, Ruby]),
        does: CallDoes::Run(&[Form::List, Form::Arguments, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["call", "check_call", "check_output", "Popen"],
        languages: Languages::Only(&[Python]),
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &[
            "spawnSync", "execFile", "execFileSync", "posix_spawn", "posix_spawnp", "execa", "execaSync", "fork",
            "Command", "pcntl_exec",
        ],
        languages: Languages::Only(&[JavaScript, Python, Php]),
        does: CallDoes::Run(&[Form::Map, Form::List, Form::TextOfSubprocess]),
        ..ROW
    },
    CallRow {
        names: &[
            "create_subprocess_exec", "system*", "sh", "shell", "process", "run-program", "ProcessBuilder", "Command",
        ],
        languages: Languages::Only(&[Python, Lisp, Braces]),
        does: CallDoes::Run(&[Form::List, Form::Words]),
        ..ROW
    },
    CallRow {
        names: &["rm"],
        written: WrittenBy::Ending(&["shelljs.rm", "shell.rm"]),
        does: CallDoes::DeleteEntry,
        ..ROW
    },
    CallRow {
        names: &["execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp"],
        does: CallDoes::Run(&[Form::ListWithName, Form::ArgumentsWithName]),
        ..ROW
    },
    CallRow {
        names: &["spawnv", "spawnvp", "spawnve", "spawnvpe"],
        does: CallDoes::Run(&[Form::ListBehindMode, Form::ListWithName]),
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
            "capture2", "capture3", "capture2e", "qx", "pcntl_exec", "spawn_command_line_sync", "command",
            "commandSync", "execaCommand", "readpipe", "create_subprocess_shell", "doShellScript", "os.cmd",
            "shell_cmd", "unix", "dos", "callCommand", "spawnCommand", "readCreateProcess", "command_output",
            "shell-command", "shell-command-to-string", "async-shell-command", "call-process-shell-command", "script",
            "exec_command", "cmd", "Popen", "shell-command-on-region", "start-process-shell-command", "shellout",
            "open_process_in", "open_process", "open_process_out", "p.popen", "system_text",
        ],
        languages: Languages::Not(&[Python]),
        on_receiver: true,
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["popen", "getoutput", "getstatusoutput", "create_subprocess_shell", "popen2", "popen3", "popen4"],
        languages: Languages::Only(&[Python]),
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["system", "run", "exec"],
        languages: Languages::Only(&[Lisp]),
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["shell"],
        languages: Languages::Not(&[Lisp, Braces, Python]),
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &[
            "system2", "callProcess", "rawSystem", "readProcess", "readProcessWithExitCode", "spawnProcess", "cmd",
            "Sys.command",
        ],
        does: CallDoes::Run(&[Form::List, Form::Text]),
        ..ROW
    },
    CallRow {
        names: &["Start"],
        written: WrittenBy::Ending(&["Process.Start"]),
        does: CallDoes::Run(&[Form::List, Form::ProgramAndText]),
        ..ROW
    },
    CallRow { names: &["call-process"], does: CallDoes::Run(&[Form::Behind(4)]), ..ROW },
    CallRow { names: &["start-process"], does: CallDoes::Run(&[Form::Behind(3)]), ..ROW },
    CallRow {
        names: &["status", "spawn", "output", "exec"],
        languages: Languages::Only(&[Braces]),
        written: WrittenBy::Starting(&["."]),
        on_receiver: true,
        does: CallDoes::Run(&[Form::List]),
    },
    CallRow { names: &["kill", "killpg"], does: CallDoes::Kill, ..ROW },
    CallRow {
        names: &["exec", "eval", "compile"],
        languages: Languages::Only(&[Python]),
        does: CallDoes::Evaluate,
        ..ROW
    },
    CallRow {
        names: &[
            "eval", "instance_eval", "class_eval", "module_eval", "runInThisContext", "runInNewContext", "assert",
            "runInContext", "setTimeout", "evalfile",
        ],
        languages: Languages::Only(&[JavaScript, Php, Ruby, Perl]),
        does: CallDoes::Evaluate,
        ..ROW
    },
    CallRow {
        names: &["Function", "constructor"],
        languages: Languages::Only(&[JavaScript]),
        does: CallDoes::EvaluateLast,
        ..ROW
    },
    CallRow {
        names: &[
            "load", "loadstring", "dostring", "eval", "parse", "evalin", "evalc", "repl-eval", "read-from-string",
            "eval_string",
        ],
        languages: Languages::Only(&[Lua, R, Octave, Julia]),
        does: CallDoes::Evaluate,
        ..ROW
    },
    CallRow { names: &["chdir", "setwd", "set-working-directory", "Chdir"], does: CallDoes::Enter, ..ROW },
    CallRow {
        names: &[
            "send", "public_send", "__send__", "call_user_func", "call_user_func_array", "array_map", "array_walk",
            "register_shutdown_function", "usort", "call", "apply", "partial", "Thread", "Process", "register",
            "submit", "map", "imap", "starmap", "run_in_executor", "to_thread", "forEach", "each", "Timer", "bind",
            "apply_async", "then", "filter", "for_each", "start_new_thread", "call_soon", "foreach", "do", "pcall",
            "xpcall", "lapply", "sapply", "tap", "call_later", "setTimeout", "setInterval", "nextTick", "setImmediate",
        ],
        on_receiver: true,
        does: CallDoes::CallNamed,
        ..ROW
    },
    CallRow {
        names: &[
            "communicate", "write", "puts", "print", "fwrite", "fputs", "printf", "end", "syswrite", "send",
            "sendline", "say",
        ],
        does: CallDoes::Feed,
        ..ROW
    },
];

/// The rows about a call of `name`.
pub(super) fn rows_of(name: &str, language: Language) -> impl Iterator<Item = &'static CallRow> {
    ROWS.iter().filter(move |row| row.is_about(name, language))
}

/// Whether a row is about this name.
pub(super) fn is_named(name: &str) -> bool {
    ROWS.iter().any(|row| row.names.contains(&name))
}

/// The last part of a name: `rmtree` of `shutil.rmtree`.
pub(super) fn last_part(name: &str) -> &str {
    match name.rsplit(['.', ':', '>']).next() {
        // `fs/delete-tree` of Clojure, but not `delete-directory/files` of Racket.
        Some(last) if !name.starts_with("delete-directory") => last.rsplit('/').next().unwrap_or_default(),
        other => other.unwrap_or_default(),
    }
}

impl CallRow {
    fn is_about(&self, name: &str, language: Language) -> bool {
        let last = last_part(name);
        let is_named = self.names.contains(&last);
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

/// Whether a call of `name` runs its text for certain. Methods of that name run other things, too: `cursor.execute(…)`,
/// `pattern.exec(…)`.
pub(super) fn is_sure(name: &str, language: Language) -> bool {
    const BARE: [&str; 24] = [
        "system", "exec", "spawn", "eval", "qx", "readpipe", "shell_exec", "passthru", "proc_open", "popen",
        "pcntl_exec", "system2", "shell", "unix", "dos", "instance_eval", "shell-command", "shell-command-to-string",
        "system*", "callCommand", "load", "loadstring", "sh", "systemx",
    ];
    const MODULES: [&str; 30] = [
        "os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "subprocess.", "commands.", "pty.spawn",
        "popen2.", "asyncio.create_subprocess", "libc", "posix.system", "child_process.", "Deno.Command", "Deno.run",
        "Bun.spawn", "execa", "shelljs.exec", "vm.run", "spawn_sync.", "os.execute", "io.popen", "Process.spawn",
        "Process.exec", "Open3.", "IO.popen", "PTY.spawn", "POSIX.exec", "IPC.", "System.shell",
    ];
    let is_bare = !name.contains(['.', ':', '>']);
    // It starts the same interpreter again.
    if name == "child_process.fork" {
        return false;
    }
    let needs_module = matches!(language, Python | JavaScript | Braces);
    let is_builtin = matches!(name, "eval" | "Function") || language == Python && name == "exec";
    if is_bare {
        return if needs_module { is_builtin || language == Braces && name == "system" } else { BARE.contains(&name) };
    }
    MODULES.iter().any(|module| name.starts_with(module)) || matches!(name, "os.cmd" | "Sys.command" | "Unix.system")
}
