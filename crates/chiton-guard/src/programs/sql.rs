//! Statements for a database: what they drop, whom they let in, and how they reach out of the database.
//!
//! 1. [`tokens`] takes the text apart as a database would: comments go, strings and quoted names stay whole.
//! 2. [`statements`] judges each statement by the words it begins with; lines that are commands of the client run.
//! 3. What counts as lost follows from the [`Database`]: a file of the project is the project's own.

mod tokens;

use std::rc::Rc;

use self::tokens::{Dialect, Token, split};
use crate::effect::{Certainty, Effect, Kind, Writing};
use crate::machine::state::World;
use crate::machine::{Machine, Place};
use crate::value::{Arg, Flow, Text};

/// The database that statements are for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Database {
    /// The client.
    pub(crate) program: String,
    /// Where it is, in words with a blank before them: " on `db.example.com`".
    pub(crate) place: String,
    /// Whose it is.
    pub(crate) owner: Owner,
    /// Whose files its statements name: those of a server may be anywhere.
    pub(crate) files: Place,
}

/// Whose data a database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Others may use it.
    #[default]
    Others,
    /// It is on this machine, where databases that are named like tests come and go.
    ThisMachine,
    /// It is a file of the project.
    Project,
}

impl Database {
    /// The database behind a tool of which nothing else is known.
    pub(crate) fn named(program: &str, place: &str) -> Self {
        Self { program: program.to_owned(), place: place.to_owned(), owner: Owner::Others, files: Place::Elsewhere }
    }
}

/// Whether a database of this name is made for tests.
pub(crate) fn is_test(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = || name.split(['_', '-', '.']);
    parts().any(|part| matches!(part, "test" | "tests" | "testing"))
        && !parts().any(|part| part.starts_with("prod") || part == "live" || part == "staging")
}

/// How deep statements inside statements are looked at.
const DEEPEST: usize = 4;

/// Judges every statement in `arg`.
pub(crate) fn statements(machine: &mut Machine<'_>, arg: &Arg, database: &Database, world: &World) {
    let text = arg.text.display();
    judge_text(machine, &text, arg, database, world, Dialect::of(&database.program), 0);
}

fn judge_text(
    machine: &mut Machine<'_>,
    text: &str,
    arg: &Arg,
    database: &Database,
    world: &World,
    dialect: Dialect,
    depth: usize,
) {
    let (statements, lines) = split(text, dialect);
    for line in &lines {
        client_line(machine, line, arg, database, world);
    }

    for statement in &statements {
        let words: Vec<String> = statement.iter().map(Token::upper).collect();
        for start in starts(&words, dialect) {
            let judged = Statement { words: &words[start..], tokens: &statement[start..] };
            for (kind, reason) in judged.objections(database) {
                machine.state(kind, reason, arg.span, judged.name());
            }
        }
        machine.starting(database.files, |machine| {
            machine.started(|machine| touches_files(machine, statement, &words, arg, database, world));
        });
        if depth < DEEPEST {
            for inner in inner_texts(statement, &words) {
                judge_text(machine, inner, arg, database, world, dialect.loosened(), depth + 1);
            }
        }
    }
}

/// Where statements begin that nothing separates from the one before them: `IF EXISTS (…) DROP TABLE x`.
fn starts(words: &[String], dialect: Dialect) -> Vec<usize> {
    const BEGIN: [&str; 4] = ["BEGIN", "TRANSACTION", "TRAN", "WORK"];
    const LOOSE: [&str; 5] = ["DROP", "TRUNCATE", "SHUTDOWN", "DELETE", "EXEC"];
    let first = words.iter().position(|word| !BEGIN.contains(&word.as_str()) && word != "(").unwrap_or(0);
    let mut all = vec![first];
    if dialect.loose && words.get(first).is_some_and(|word| word != "ALTER" && word != "CREATE" && word != "GRANT") {
        all.extend((first + 1..words.len()).filter(|at| LOOSE.contains(&words[*at].as_str())));
    }
    all
}

/// Texts in a statement that the database runs: `EXECUTE '…'`, `DO $$ … $$`.
fn inner_texts<'t>(statement: &'t [Token], words: &[String]) -> Vec<&'t str> {
    const RUNS: [&str; 9] = [
        "EXECUTE", "EXEC", "PREPARE", "DO", "DBLINK", "DBLINK_EXEC", "SP_MSFOREACHTABLE", "SP_EXECUTESQL",
        "SP_MSFOREACHDB",
    ];
    if !words.iter().any(|word| RUNS.contains(&word.as_str())) {
        return Vec::new();
    }
    statement.iter().filter_map(Token::string).collect()
}

/// One statement: its words in capitals, and as they stand.
struct Statement<'t> {
    words: &'t [String],
    tokens: &'t [Token],
}

impl Statement<'_> {
    fn at(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// The thing that the statement is about: the first word that is not part of its grammar.
    fn name(&self) -> Option<String> {
        const GRAMMAR: [&str; 30] = [
            "DROP", "TRUNCATE", "DELETE", "UPDATE", "ALTER", "FROM", "ONLY", "IF", "EXISTS", "TABLE", "DATABASE",
            "SCHEMA", "VIEW", "INDEX", "USER", "ROLE", "CONCURRENTLY", "MATERIALIZED", "FOREIGN", "EXTERNAL",
            "SEQUENCE", "FUNCTION", "TRIGGER", "TYPE", "KEYSPACE", "COLLECTION", "MEASUREMENT", "WAREHOUSE", "IGNORE",
            "LOW_PRIORITY",
        ];
        let at = self.words.iter().position(|word| !GRAMMAR.contains(&word.as_str()))?;
        self.tokens.get(at).map(Token::text).filter(|name| name.chars().any(char::is_alphanumeric))
    }

    fn quoted_name(&self) -> String {
        self.name().map(|name| format!(" `{name}`")).unwrap_or_default()
    }

    /// What speaks against it.
    fn objections(&self, database: &Database) -> Vec<(Kind, String)> {
        let mut all = Vec::new();
        if self.at(0) == "EXPLAIN" && !self.words.iter().take(5).any(|word| word.starts_with("ANALY")) {
            return all;
        }
        if let Some(lost) = self.loses(database) {
            all.push((Kind::DropRemote, format!("This would {lost}{}.", database.place)));
        }
        if let Some(let_in) = self.lets_in(database) {
            all.push((Kind::Accounts, format!("This would {let_in}{}.", database.place)));
        }
        if let Some(reason) = self.reaches_out() {
            all.push((Kind::RunHidden, reason));
        }
        all
    }

    /// What goes with it, in words.
    fn loses(&self, database: &Database) -> Option<String> {
        let is_own = database.owner == Owner::Project;
        match self.at(0) {
            "DROP" => self.drops(database),
            "TRUNCATE" if !is_own => Some(format!("empty the table{}", self.quoted_name())),
            "DELETE" if !is_own && self.is_unbounded() => {
                Some(format!("delete every row of the table{}", self.quoted_name()))
            }
            "UPDATE" if !is_own && self.has(&["SET"]) && self.is_unbounded() => {
                Some(format!("change every row of the table{}", self.quoted_name()))
            }
            "WITH" | "EXPLAIN" if !is_own && self.has(&["DELETE"]) && self.is_unbounded() => {
                Some("delete every row of a table".to_owned())
            }
            "ALTER" if !is_own => self.alters(),
            "SHUTDOWN" => Some("stop the database server".to_owned()),
            "PURGE" if self.has(&["LOGS", "RECYCLEBIN", "DBA_RECYCLEBIN", "TABLE"]) => {
                Some("delete what the database keeps for recovery".to_owned())
            }
            "RESET" if matches!(self.at(1), "MASTER" | "BINARY" | "SLAVE" | "REPLICA") => {
                Some("reset the replication of the database and delete its logs".to_owned())
            }
            "RESTORE" | "FLASHBACK" if matches!(self.at(1), "DATABASE" | "TABLE") => {
                Some("replace the data of the database with an older state".to_owned())
            }
            "REMOVE" if matches!(self.at(1), "TABLE" | "NAMESPACE" | "DATABASE" | "INDEX") => {
                Some(format!("remove the {}", self.at(1).to_ascii_lowercase()))
            }
            _ if self.has(&["DROP_CHUNKS", "PG_DROP_REPLICATION_SLOT", "DROP_HYPERTABLE"]) => {
                Some("drop data of the database".to_owned())
            }
            _ => None,
        }
    }

    /// `DROP TABLE x`: what it drops, unless it is the project's own or made for tests.
    fn drops(&self, database: &Database) -> Option<String> {
        const KINDS: [&str; 12] = [
            "TABLE", "VIEW", "INDEX", "TRIGGER", "FUNCTION", "SEQUENCE", "TYPE", "MACRO", "SCHEMA", "MATERIALIZED",
            "AGGREGATE", "PROCEDURE",
        ];
        let kind = self.at(1);
        if kind.is_empty() || matches!(kind, "TEMPORARY" | "TEMP" | "PREPARE" | "STATEMENT") {
            return None;
        }
        if database.owner == Owner::Project && KINDS.contains(&kind) {
            return None;
        }

        let tests = database.owner == Owner::ThisMachine && self.name().is_some_and(|name| is_test(&name));
        if tests && matches!(kind, "DATABASE" | "SCHEMA") {
            return None;
        }
        if kind == "OWNED" {
            let owner = self.tokens.get(3).map(Token::text).unwrap_or_default();
            return Some(format!("drop everything that `{owner}` owns"));
        }
        Some(format!("drop the {}{}", kind.to_ascii_lowercase(), self.quoted_name()))
    }

    /// `ALTER TABLE x DROP COLUMN y`.
    fn alters(&self) -> Option<String> {
        const KEPT: [&str; 12] = [
            "NOT", "DEFAULT", "CONSTRAINT", "IDENTITY", "EXPRESSION", "INDEX", "KEY", "FOREIGN", "PRIMARY", "CHECK",
            "UNIQUE", "STORED",
        ];
        let drops = self.words.windows(2).any(|pair| pair[0] == "DROP" && !KEPT.contains(&pair[1].as_str()));
        if drops && self.at(1) == "TABLE" {
            return Some(format!("drop a column or a partition of the table{}", self.quoted_name()));
        }
        let deletes = self.has(&["DELETE", "UPDATE"]) && !self.has(&["REFERENCES"]) && self.is_unbounded();
        (self.at(1) == "TABLE" && deletes).then(|| format!("delete every row of the table{}", self.quoted_name()))
    }

    /// Whether nothing says which rows it is about: no `WHERE`, or one that always holds.
    fn is_unbounded(&self) -> bool {
        let Some(at) = self.words.iter().rposition(|word| word == "WHERE") else {
            return !self.has(&["JOIN", "USING"]);
        };
        let condition: Vec<&str> = self.words[at + 1..]
            .iter()
            .map(String::as_str)
            .filter(|word| !matches!(*word, "(" | ")"))
            .take_while(|word| *word != "RETURNING" && *word != "LIMIT")
            .collect();
        condition.split(|word| *word == "OR").any(always_holds)
    }

    /// Whom it lets in, in words.
    fn lets_in(&self, database: &Database) -> Option<String> {
        const POWERS: [&str; 13] = [
            "ALL", "SUPER", "SUPERUSER", "DBA", "SYSDBA", "FILE", "RDS_SUPERUSER", "ADMIN", "CONTROL", "SYSADMIN",
            "PG_EXECUTE_SERVER_PROGRAM", "PG_READ_SERVER_FILES", "ACCOUNTADMIN",
        ];
        let is_test_here = database.owner != Owner::Others
            && self.tokens.iter().skip_while(|token| token.upper() != "ON").any(|token| is_test(&token.text()));
        match (self.at(0), self.at(1)) {
            ("GRANT", _) if self.has(&POWERS) && !is_test_here => {
                Some("give somebody all rights over data of the database".to_owned())
            }
            ("CREATE" | "ALTER", "USER" | "ROLE" | "LOGIN") if self.has(&["SUPERUSER", "BYPASSRLS", "SYSADMIN"]) => {
                Some("make somebody an administrator of the database".to_owned())
            }
            ("ALTER", "USER" | "ROLE" | "LOGIN") if self.has(&["PASSWORD", "IDENTIFIED"]) => {
                Some("change a password of the database".to_owned())
            }
            ("SET", "PASSWORD") => Some("change a password of the database".to_owned()),
            ("EXEC" | "EXECUTE", "SP_ADDSRVROLEMEMBER" | "SP_ADDROLEMEMBER" | "SP_PASSWORD") => {
                Some("give somebody rights over the database".to_owned())
            }
            _ => None,
        }
    }

    /// How it gets out of the database and runs or reads something on its server.
    fn reaches_out(&self) -> Option<String> {
        const FUNCTIONS: [&str; 25] = [
            "XP_CMDSHELL", "SP_OACREATE", "XP_REGWRITE", "SYS_EXEC", "SYS_EVAL", "PG_READ_FILE", "PG_READ_BINARY_FILE",
            "PG_LS_DIR", "LO_EXPORT", "LO_IMPORT", "LOAD_FILE", "LOAD_EXTENSION", "OUTFILE", "DUMPFILE",
            "DBMS_SCHEDULER", "DBMS_JAVA", "UTL_FILE", "UTL_HTTP", "DBLINK", "DBLINK_CONNECT", "DBLINK_EXEC",
            "EXECUTABLE", "SONAME", "ARCHIVE_COMMAND", "RESTORE_COMMAND",
        ];
        const LANGUAGES: [&str; 7] = ["PLPYTHONU", "PLPYTHON2U", "PLPYTHON3U", "PLPERLU", "PLTCLU", "PLSH", "C"];
        if self.at(0) == "COPY" && self.has(&["PROGRAM"]) {
            return Some("COPY … PROGRAM runs a command on the database server.".to_owned());
        }
        let is_described = matches!(self.at(0), "EXPLAIN" | "COMMENT");
        if let Some(function) = self.words.iter().find(|word| {
            let last = word.rsplit('.').next().unwrap_or_default();
            FUNCTIONS.contains(&last) && !is_described
        }) {
            let function = function.to_ascii_lowercase();
            return Some(format!("`{function}` reaches files or programs of the database server."));
        }
        let untrusted =
            self.words.windows(2).any(|pair| pair[0] == "LANGUAGE" && LANGUAGES.contains(&pair[1].as_str()));
        if self.at(0) == "CREATE" && (untrusted || self.at(1) == "ASSEMBLY") {
            return Some("This would put code into the database that can do anything on its server.".to_owned());
        }
        let loads = matches!((self.at(0), self.at(1)), ("INSTALL", "PLUGIN" | "COMPONENT" | "SONAME"));
        let library = self.at(0) == "LOAD" && self.at(1).starts_with('\'') && self.at(1).contains('/');
        (loads || library).then(|| "This would load a library into the database server.".to_owned())
    }
}

/// Whether a condition without `OR` holds for every row: `1 = 1`, `TRUE`, `id = id`.
fn always_holds(condition: &[&str]) -> bool {
    match condition {
        [] => true,
        [one] => matches!(*one, "TRUE" | "1" | "'1'" | "'T'"),
        ["NOT", no] => matches!(*no, "FALSE" | "0"),
        [left, "=" | "LIKE", right] => left == right || *right == "'%'",
        [left, "!" | "<", "=" | ">", right] => is_literal(left) && is_literal(right) && left != right,
        [left, "<", right] => is_literal(left) && is_literal(right) && left < right,
        _ => false,
    }
}

fn is_literal(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || first == '\'')
}

/// Files that a statement names: `COPY … TO 'file'`, `ATTACH 'file'`, `VACUUM INTO 'file'`, `read_text('file')`.
fn touches_files(
    machine: &mut Machine<'_>,
    statement: &[Token],
    words: &[String],
    arg: &Arg,
    database: &Database,
    world: &World,
) {
    let first = words.first().map_or("", String::as_str);
    for (at, token) in statement.iter().enumerate() {
        let Some(file) = token.string().filter(|file| file.contains('/') || file.starts_with('~')) else { continue };
        let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map_or("", String::as_str);
        let called = if before(1) == "(" { before(2) } else { before(1) };
        let what = Text::known(file);
        match (first, called) {
            ("COPY", "TO") | ("ATTACH", _) | ("VACUUM", "INTO") | (_, "WRITEFILE") => {
                let (writing, doing) = (Writing::Replaces, "This would write to");
                machine.does(
                    Effect::Write { what: &what, writing, certainty: Certainty::Would, doing },
                    world,
                    arg.span,
                );
            }
            ("COPY", "FROM") | ("LOAD", "INFILE") | (_, "READFILE" | "READ_TEXT" | "READ_BLOB" | "READ_CSV") => {
                machine.does(Effect::Print { what: &what, program: &database.program }, world, arg.span);
            }
            _ => {}
        }
    }
}

/// A line that is a command of the client: it may run a program, or name a file.
fn client_line(machine: &mut Machine<'_>, line: &str, arg: &Arg, database: &Database, world: &World) {
    const RUNS: [&str; 12] =
        [".shell ", ".system ", ".sh ", "\\!", "system ", "shell ", "host ", "!sh ", "!system ", ":!!", "!!", "!"];
    const PIPES: [&str; 12] = [
        "\\o ", "\\out ", "\\g ", "\\gx ", "\\w ", ".output ", ".once ", ".read ", ".import ", "pager ", "\\P ", "\\s ",
    ];
    const WRITES: [&str; 8] = ["\\o ", "\\w ", ".output ", ".once ", ".backup ", ".save ", ".log ", "tee "];
    let lower = line.to_ascii_lowercase();
    let behind = |marks: &[&str]| {
        let mark = marks.iter().find(|mark| lower.starts_with(&mark.to_ascii_lowercase()))?;
        Some(line[mark.len()..].trim())
    };

    if let Some(command) = behind(&RUNS) {
        run(machine, command, arg, world);
    } else if lower.starts_with(".load ") || lower.starts_with("\\lo_import") || lower.starts_with("\\lo_export") {
        let reason = "This would load a library into the database client, or move files of the machine.";
        machine.state(Kind::RunHidden, reason, arg.span, Some(line.to_owned()));
    } else if lower.starts_with("\\copy") {
        if let Some((_, command)) = lower.split_once("program") {
            let from = line.len() - command.len();
            run(machine, line[from..].trim().trim_matches('\''), arg, world);
        }
    } else if let Some(target) = behind(&PIPES).filter(|target| target.starts_with('|')) {
        run(machine, target.trim_start_matches('|'), arg, world);
    } else if let Some(command) = behind(&["pager ", "\\P "]) {
        run(machine, command, arg, world);
    } else if let Some(file) = behind(&WRITES) {
        let what = Text::known(file.trim_matches(['\'', '"']));
        machine.writes("This would write to", &what, Writing::Replaces, world, arg.span);
    } else if let Some((_, command)) = line.split_once('`') {
        run(machine, command.split('`').next().unwrap_or_default(), arg, world);
    } else if let Some(file) = behind(&["\\i ", "\\ir ", ".read ", "source ", "\\. ", "@"]) {
        let text = machine.read(&Text::known(file.trim_end_matches(';')), world).text;
        if let Some(text) = text
            && machine.frames.len() < crate::machine::DEEPEST_CALLS / 2
        {
            let frame = machine.frame("statements");
            machine.frames.push(frame);
            statements(machine, &Arg::known(text, arg.span), database, world);
            machine.frames.pop();
        }
    }
}

fn run(machine: &mut Machine<'_>, command: &str, arg: &Arg, world: &World) {
    let reason = "This lets the database client run a command.";
    machine.state(Kind::RunHidden, reason, arg.span, Some(command.to_owned()));
    machine.script(command, world.clone(), &Rc::new(Flow::empty()), arg.span);
}
