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
    SYNTAX "syntax" "text that cannot be parsed, or that exceeds the limits" "Give the command in a simpler form."
    DELETE_ROOT "delete-root" "deleting the root directory or everything in it" "Name the directories below your work that should go."
    DELETE_HOME "delete-home" "deleting a home directory, everything in it, or a folder that people keep things in" "Name a directory inside the project."
    DELETE_SYSTEM "delete-system" "deleting parts of the system" "Use the package manager, or work inside the project or /tmp."
    DELETE_MOUNT "delete-mount" "deleting everything on a mounted file system" "Name a directory inside it."
    DELETE_PARENT "delete-parent" "deleting a directory that contains the workspace" "Name what should go by its own path."
    DELETE_WORKSPACE "delete-workspace" "deleting the whole workspace" "Name the directories in it that should go."
    DELETE_UNKNOWN "delete-unknown" "recursively deleting something that the text does not determine" "Write the path out, or guard it: \"${DIR:?}/sub\"."
    DISK "disk" "writing to disks and partitions, or making file systems on them" "Work on an image file instead of a device."
    FORK_BOMB "fork-bomb" "processes that multiply without end" "Bound the number of processes."
    POWER "power" "stopping or restarting the machine" ""
    KILL_ALL "kill-all" "ending all processes, or process 1" "End processes by their own id or by a precise name."
    KILL_SELF "kill-self" "ending the server that runs this command, or its ancestors" "End the processes you started by their own id."
    PERMISSIONS "permissions" "permissions and owners of the system or of home, or setting set-user-id" "Change the files of the project only."
    SYSTEM_WRITE "system-write" "writing to files of the system" "Write inside the project or /tmp."
    ACCOUNTS "accounts" "users, groups, passwords and their rights" ""
    PERSISTENCE "persistence" "making code run later: start files, timers, services, keys, hooks" "Run it now instead, or let a person set it up."
    LOGS "logs" "emptying or deleting logs and histories" "Logs can be read freely."
    KERNEL "kernel" "kernel modules, settings and boot files" "Settings can be read freely."
    FIREWALL "firewall" "firewall and network configuration" "It can be listed freely."
    SECURITY_OFF "security-off" "switching off what protects the machine" ""
    CREDENTIALS "credentials" "reading private keys and password files" "Public keys and settings can be read."
    EXFILTRATION "exfiltration" "sending credentials over the network" "Send files that hold no credentials."
    REMOTE_SHELL "remote-shell" "handing a shell to another machine" ""
    DOWNLOAD_RUN "download-run" "running what was just downloaded" "Download it to a file, read it, then run it."
    DECODED_RUN "decoded-run" "running text that was decoded or put together" "Run the plain command."
    UNKNOWN_RUN "unknown-run" "running a command that the text does not determine" "Write the command out."
    HIDDEN_RUN "hidden-run" "options that make a harmless program run another one" "Run the program directly."
    CODE "code" "code for an interpreter that deletes, forks, or runs something unknown" "Use a plain command, or a script file."
    ENVIRONMENT "environment" "variables that make programs run code" "Leave the variable unset."
    REMOTE_DATA "remote-data" "deleting data on servers, in clusters and databases" ""
    PUBLISH "publish" "publishing or rewriting what others use" "A dry run is allowed."
    GIT_DISCARD "git-discard" "throwing away files that git does not keep" "Name the files, or use `git stash -u`."
    CONTAINER_ESCAPE "container-escape" "containers that get the whole machine" "Mount only the directories that are needed."
    CHITON "chiton" "switching Chiton off, weakening it, or touching what it keeps" "Run the command itself; what Chiton keeps is changed by a person."
    STRICT "strict" "not known to be harmless, in strict mode" ""
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
