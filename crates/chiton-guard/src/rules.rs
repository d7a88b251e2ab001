//! The rules: what each is about, and what would be allowed instead.
//!
//! A rule has no code of its own. Programs are reduced to effects, effects to a target, and the place that judges the
//! target names the rule. `docs/guard.md` has the same table for people; a test keeps them equal.

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name, stable.
    pub id: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What to do instead.
    pub instead: &'static str,
}

macro_rules! rules {
    ($($name:ident $id:literal $about:literal $instead:literal)*) => {
        $(pub(crate) const $name: Rule = Rule { id: $id, about: $about, instead: $instead };)*
        /// All rules.
        pub const ALL: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    SYNTAX "syntax" "text that cannot be parsed, or that exceeds the limits" "Check its quotes and brackets, or give it in simpler parts."
    DELETE_ROOT "delete-root" "deleting the root directory or everything in it" "Name the directories below your work that should go."
    DELETE_HOME "delete-home" "deleting a home directory, everything in it, or a folder that people keep things in" "Delete what should go inside it by name, or move it away with `mv` or `trash`."
    DELETE_SYSTEM "delete-system" "deleting parts of the system" "Remove packages with the package manager; files of your own belong into the project or /tmp."
    DELETE_MOUNT "delete-mount" "deleting everything on a mounted file system" "Name a directory inside it."
    DELETE_PARENT "delete-parent" "deleting a directory that contains the workspace" "Name what should go by its own path."
    DELETE_WORKSPACE "delete-workspace" "deleting the whole workspace" "Name the files and directories in it that should go."
    DELETE_REPOSITORY "delete-repository" "deleting a git repository outside the workspace, or a directory that holds some" "Delete what a build made in it, or move it away instead."
    DELETE_UNKNOWN "delete-unknown" "recursively deleting something that the text does not determine" "Write the path out, or end it with a name of its own: \"${DIR:?}/build\"."
    DISK "disk" "writing to disks and partitions, or making file systems on them" "Work on an image file instead of a device."
    FORK_BOMB "fork-bomb" "processes that multiply without end" "Start a fixed number of processes, such as `xargs -P 4`."
    POWER "power" "stopping or restarting the machine" "Restart only the service that needs it."
    KILL_ALL "kill-all" "ending all processes, or process 1" "End processes by their own id or by a precise name."
    KILL_SELF "kill-self" "ending the server that runs this command, or its ancestors" "End the processes you started by their own id."
    PERMISSIONS "permissions" "permissions and owners of the system or of home, or setting set-user-id" "Change the files of the project only."
    SYSTEM_WRITE "system-write" "writing to files of the system" "Write a copy inside the project or /tmp, and let a person put it there."
    ACCOUNTS "accounts" "users, groups, passwords and their rights" "Look users and groups up with `id` or `getent`, and let a person change them."
    PERSISTENCE "persistence" "making code run later: start files, timers, services, keys, hooks" "Run it now instead, or let a person set it up."
    LOGS "logs" "emptying or deleting logs and histories" "Read it with `tail` or `journalctl`, or write to a log of your own."
    KERNEL "kernel" "kernel modules, settings and boot files" "Read it instead: `sysctl NAME`, `lsmod`, `cat`."
    FIREWALL "firewall" "firewall and network configuration" "List it instead: `ip addr`, `ss -l`, `iptables -L`."
    SECURITY_OFF "security-off" "switching off what protects the machine" "Make an exception for the one file or program that needs it."
    CREDENTIALS "credentials" "reading private keys and password files" "Let the program that needs it read it, or give it by reference; public keys can be read."
    EXFILTRATION "exfiltration" "sending credentials over the network" "Send files that hold no credentials, named one by one."
    REMOTE_SHELL "remote-shell" "handing a shell to another machine" "Reach the other machine with `ssh`."
    DOWNLOAD_RUN "download-run" "running what was just downloaded" "Download it to a file, read it, then run it in a command of its own."
    DECODED_RUN "decoded-run" "running text that was decoded or put together" "Run the plain command."
    UNKNOWN_RUN "unknown-run" "running a command that the text does not determine" "Write the command out, or set the variable in the same command."
    HIDDEN_RUN "hidden-run" "options that make a harmless program run another one" "Run that program directly, as a command of its own."
    CODE "code" "code for an interpreter that deletes, forks, or runs something unknown" "Use a plain command, or write the code to a script file and run that."
    ENVIRONMENT "environment" "variables that make programs run code" "Use a directory of the project, or an option of the program itself."
    REMOTE_DATA "remote-data" "deleting data on servers, in clusters and databases" "Look first with a command that only reads, and try it on a test copy."
    PUBLISH "publish" "publishing or rewriting what others use" "Prepare it with a dry run or as a draft, and let a person publish it."
    GIT_DISCARD "git-discard" "throwing away files that git does not keep" "Commit the work or run `git stash` first."
    CONTAINER_ESCAPE "container-escape" "containers that get the whole machine" "Mount only the directories that are needed, without rights of the machine."
    CHITON "chiton" "switching Chiton off, weakening it, or touching what it keeps" "Run the command itself; what Chiton keeps is changed by a person."
    STRICT "strict" "not known to be harmless, in strict mode" "Use a command that only reads, such as `ls`, `cat` or `git status`."
    HUMAN "settings" "a rule in the settings" ""
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn the_page_for_people_lists_the_same_rules() {
        let page = include_str!("../../../docs/guard.md");
        let table: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "<!-- rules -->")
            .skip(3)
            .take_while(|line| line.starts_with('|'))
            .collect();
        let expected: Vec<String> = ALL.iter().map(|rule| format!("| `{}` | {} |", rule.id, rule.about)).collect();
        assert_eq!(table, expected);
    }
}
