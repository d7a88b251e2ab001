//! What tools are called by people. Clients show this where they show a tool; models do not see it.

/// A title for each name that a tool of any dialect has.
const TITLES: &[(&str, &str)] = &[
    ("Bash", "Run a shell command"),
    ("BashOutput", "Read a command's output"),
    ("BashInput", "Type into a running command"),
    ("KillShell", "Stop a running command"),
    ("KillBash", "Stop a running command"),
    ("ListShells", "List commands"),
    ("bash", "Run a shell command"),
    ("exec", "Run a shell command"),
    ("exec_bg", "Start a command in the background"),
    ("exec_status", "Read a background command's output"),
    ("exec_stop", "Stop a background command"),
    ("task_output", "Read a background task's output"),
    ("TaskStop", "Stop a background task"),
    ("Monitor", "Watch a background task"),
    ("exec_command", "Run a shell command"),
    ("write_stdin", "Type into a running command"),
    ("run_shell_command", "Run a shell command"),
    ("list_background_processes", "List background processes"),
    ("read_background_output", "Read a background process's output"),
];

/// The title of the tool of this name.
pub fn of(name: &str) -> Option<&'static str> {
    TITLES.iter().find(|(known, _)| *known == name).map(|(_, title)| *title)
}
