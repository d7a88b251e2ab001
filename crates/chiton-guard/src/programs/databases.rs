//! Databases: statements that drop data, and clients that run commands.

use super::row::Does::Is;
use super::row::When::{All, Always, Any, Bare, Called, Contains, Fed, Has, Not, Operands};
use super::row::{On, PROGRAM, Program, Runs, allows, asks};
use crate::effect::Kind::{self, DropRemote};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::Arg;

/// Options with which a client does not wait for statements.
const GIVEN: &[&str] = &["-c", "-e", "--command", "--execute", "-f", "-l", "--list"];
const WAITS: &str = "without a statement it waits for some; give one with an option";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &[
            "psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo", "clickhouse-client", "cockroach", "duckdb",
            "sqlcmd", "cqlsh",
        ],
        custom: Some(statements),
        prompts: &[(
            All(&[Called(&["psql", "mysql", "mongosh", "sqlite3"]), Not(&Any(&[Fed, Operands(2), Has(GIVEN)]))]),
            WAITS,
        )],
        examples: &[
            asks("psql -c 'DROP DATABASE shop'", "remote-data"),
            asks("mysql -e 'DELETE FROM users'", "remote-data"),
            asks("sqlite3 app.db '.shell ls'", "hidden-run"),
            allows("psql -c 'SELECT 1'"),
            allows("mysql -e 'DELETE FROM users WHERE id = 3'"),
            allows("sqlite3 app.db 'DROP TABLE cache'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["redis-cli"],
        custom: Some(statements),
        effects: &[On(
            Has(&["FLUSHALL", "FLUSHDB", "SHUTDOWN", "flushall", "flushdb", "shutdown", "FlushAll", "FlushDB"]),
            Is(DropRemote, "This empties or stops a database."),
        )],
        prompts: &[(All(&[Bare, Not(&Fed)]), WAITS)],
        examples: &[asks("redis-cli FLUSHALL", "remote-data"), allows("redis-cli get key")],
        ..PROGRAM
    },
    Program {
        names: &["dropdb", "dropuser"],
        effects: &[On(Always, Is(DropRemote, "This deletes a database or a user of one."))],
        examples: &[asks("dropdb shop", "remote-data"), allows("dropdb --help")],
        ..PROGRAM
    },
    Program {
        names: &["mysqladmin"],
        runs: Runs::Perhaps,
        effects: &[On(Has(&["drop"]), Is(DropRemote, "This deletes a database or a user of one."))],
        examples: &[asks("mysqladmin drop shop", "remote-data"), allows("mysqladmin status")],
        ..PROGRAM
    },
    Program {
        names: &["pg_dropcluster"],
        effects: &[On(Always, Is(DropRemote, "This deletes a database."))],
        examples: &[asks("pg_dropcluster 15 main", "remote-data"), allows("pg_dropcluster --help")],
        ..PROGRAM
    },
    Program {
        names: &["rails", "artisan", "mix"],
        runs: Runs::Perhaps,
        effects: DROPS_IN_PRODUCTION,
        examples: &[
            asks("rails db:drop RAILS_ENV=production", "remote-data"),
            asks("mix ecto.drop --env production", "remote-data"),
            allows("rails db:drop"),
            allows("rails test"),
        ],
        ..PROGRAM
    },
];

/// Tasks that drop the database of an application, where they name production.
pub(super) const DROPS_IN_PRODUCTION: &[On] = &[On(
    All(&[Has(&["db:drop", "db:reset", "ecto.drop", "migrate:fresh"]), Contains(&["production"])]),
    Is(DropRemote, "This drops a database in production."),
)];

/// Every statement that the text shows, in arguments and in what comes in.
fn statements(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let arguments = call.args.iter().map(|arg| (arg.text.display(), arg.clone()));
    let input = call.input.text.iter().map(|text| (text.clone(), Arg::known(text.clone(), call.span)));
    let is_local = matches!(call.name.as_str(), "sqlite3" | "duckdb");

    for (text, arg) in arguments.chain(input) {
        let upper = text.to_ascii_uppercase();
        if drops(&upper, is_local) {
            machine.state(DropRemote, "This deletes tables or databases.", arg.span, None);
        }
        for line in text.lines() {
            runs(machine, line.trim(), &upper, &arg, call, world);
        }
    }
    None
}

fn drops(upper: &str, is_local: bool) -> bool {
    let databases = ["DROP DATABASE", "DROP SCHEMA", "DROPDATABASE("].iter().any(|word| upper.contains(word));
    // A local file is the project's own.
    let tables = upper.contains("DROP TABLE") || upper.contains("TRUNCATE ");
    let all_rows = upper.contains("DELETE FROM ") && !upper.contains("WHERE");
    databases || (tables || all_rows) && !is_local
}

/// A line with which a client runs a command.
fn runs(machine: &mut Machine<'_>, line: &str, upper: &str, arg: &Arg, call: &Call, world: &World) {
    const MARKS: [&str; 5] = [".shell ", ".system ", "\\! ", "system ", ".sh "];
    if let Some(command) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
        let reason = "This lets the database client run a command.";
        machine.state(Kind::RunHidden, reason, arg.span, Some(command.to_owned()));
        machine.script(command, world.clone(), &call.input, arg.span);
    } else if upper.contains("COPY ") && upper.contains("PROGRAM ") {
        let reason = "COPY … PROGRAM runs a command on the database server.";
        machine.state(Kind::RunHidden, reason, arg.span, None);
    }
}
