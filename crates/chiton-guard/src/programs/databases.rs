//! Databases that speak SQL: their clients, and the programs that make and drop databases.

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Always, Any, Bare, Called, Fed, Given, Has, Not, Operands, Says, Starts};
use super::row::{DRY, DRY_LONG, On, PROGRAM, Program, TOOL, allows, asks, denies};
use super::sql::{self, Database, Owner};
use crate::effect::Kind::{Accounts, DropRemote, EraseLog};
use crate::machine::address::is_local;
use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::{Machine, Place, Ran};
use crate::value::path;
use crate::value::{Arg, Text};

/// Options with which a client does not wait for statements.
const GIVEN: &[&str] = &["-c", "-e", "--command", "--execute", "-f", "-l", "--list", "--version", "-V", "--help", "-?"];
pub(super) const WAITS: &str = "without a statement it waits for some; give one with an option";

/// A client: where its statements stand and which database they are for.
struct Client {
    grammar: Grammar,
    /// Options whose values are statements.
    statements: &'static [&'static str],
    /// Options whose values are files with statements.
    files: &'static [&'static str],
    /// How many operands stand before statements; none of them is one where this is `None`.
    operands: Option<usize>,
    /// Where its data is.
    data: Data,
}

/// Where the data of a client is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// On a server, which these options name; without them it is this machine.
    Server,
    /// In a file, which the first operand is.
    File,
    /// In a cloud or a cluster that others use.
    Cluster,
}

const CLIENT: Client = Client {
    grammar: Grammar::PLAIN,
    statements: &["c", "command", "e", "execute", "q", "query", "Q", "sql"],
    files: &["f", "file", "i", "input-file", "init"],
    operands: None,
    data: Data::Server,
};

const POSTGRES: Client = Client {
    grammar: Grammar {
        short: "cdfhpUvFRTLoPst",
        long: &[
            "command", "dbname", "file", "host", "port", "username", "set", "variable", "output", "log-file",
            "field-separator", "record-separator", "pset", "table-attr",
        ],
        ..Grammar::PLAIN
    },
    statements: &["c", "command"],
    ..CLIENT
};

const MYSQL: Client = Client {
    grammar: Grammar {
        short: "eDhPuS",
        attached: "p",
        long: &[
            "execute", "database", "host", "port", "user", "socket", "protocol", "delimiter", "default-character-set",
            "ssl-ca", "ssl-cert", "ssl-key", "defaults-file", "defaults-extra-file", "init-command", "schema", "uri",
        ],
        flags: &["password", "sql", "batch", "force"],
        ..Grammar::PLAIN
    },
    statements: &["e", "execute", "init-command"],
    ..CLIENT
};

const SQLITE: Client = Client {
    grammar: Grammar {
        short: "csfe",
        long: &["cmd", "init", "separator", "newline", "nullvalue", "vfs", "maxsize", "mmap", "lookaside", "execute"],
        single_dash: true,
        ..Grammar::PLAIN
    },
    statements: &["cmd", "c", "s", "e", "execute"],
    files: &["init", "f"],
    operands: Some(1),
    data: Data::File,
};

const MSSQL: Client = Client {
    grammar: Grammar {
        short: "SUPdQqioHlstvwachmrAbhC",
        long: &["query", "server", "database-name"],
        ..Grammar::PLAIN
    },
    statements: &["Q", "q", "query"],
    files: &["i"],
    ..CLIENT
};

/// Clients whose operands are statements, or take them from options of many names.
const ANY: Client = Client {
    grammar: Grammar {
        short: "ceqfihupd",
        long: &[
            "command", "execute", "query", "sql", "file", "host", "hostname", "port", "user", "username", "password",
            "database", "db", "dbname", "server", "catalog", "schema", "url", "uri", "address", "namespace", "ns",
            "conn", "token", "format",
        ],
        ..Grammar::PLAIN
    },
    operands: Some(0),
    ..CLIENT
};

/// Those of clusters that others use.
const SHARED: Client = Client { data: Data::Cluster, ..ANY };

/// `influx -execute …`.
const SINGLE_DASH: Client = Client {
    grammar: Grammar {
        short: "",
        long: &["execute", "host", "port", "database", "username", "password", "u", "i", "e"],
        single_dash: true,
        ..Grammar::PLAIN
    },
    operands: Some(0),
    ..CLIENT
};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["psql", "pgcli", "vsql", "ysqlsh", "nzsql", "gsql"],
        grammar: POSTGRES.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &POSTGRES)),
        prompts: &[(All(&[Called(&["psql"]), Not(&Any(&[Fed, Operands(2), Has(GIVEN)]))]), WAITS)],
        examples: examples![
            asks("psql -c 'DROP DATABASE shop'", "remote-data"),
            asks("psql -h db.example.com -d shop -c 'drop table users'", "remote-data"),
            asks("psql -d app --command='DROP TABLE IF EXISTS tmp_x'", "remote-data"),
            asks("psql postgres://u@db.example.com/app -c 'TRUNCATE users CASCADE'", "remote-data"),
            asks("psql -c 'DELETE FROM users WHERE 1=1'", "remote-data"),
            asks("psql -c 'UPDATE users SET admin = true'", "remote-data"),
            asks("psql -c 'ALTER TABLE users DROP COLUMN email'", "remote-data"),
            asks("psql -c 'alter table users drop email'", "remote-data"),
            asks("psql -c '/* x */ dRoP\n  TaBlE users'", "remote-data"),
            asks("psql -c 'select 1; drop schema public cascade'", "remote-data"),
            asks("psql -qAt -U postgres -c 'drop view v'", "remote-data"),
            asks("psql -c 'DROP INDEX users_email'", "remote-data"),
            asks("psql -c 'DROP ROLE app'", "remote-data"),
            asks("psql -c 'WITH x AS (DELETE FROM users RETURNING id) SELECT 1'", "remote-data"),
            asks("psql -c 'DO $$ BEGIN DROP TABLE users; END $$'", "remote-data"),
            asks("psql <<'E'\nDROP TABLE users;\nE", "remote-data"),
            asks("echo 'truncate table users' | psql app", "remote-data"),
            asks("echo 'DROP TABLE users;' > x.sql; psql -f x.sql", "remote-data"),
            asks("echo 'DROP TABLE users;' > x.sql; psql -c '\\i x.sql'", "remote-data"),
            asks("psql \"$DATABASE_URL\" -c \"DROP TABLE $T\"", "remote-data"),
            asks("psql -c 'DROP DATABASE app_test' -h db.example.com", "remote-data"),
            asks("psql -c 'GRANT ALL PRIVILEGES ON DATABASE app TO evil'", "accounts"),
            asks("psql -c 'ALTER USER evil WITH SUPERUSER'", "accounts"),
            asks("psql -c \"ALTER ROLE app PASSWORD 'x'\"", "accounts"),
            asks("psql -c \"COPY x FROM PROGRAM 'id'\"", "hidden-run"),
            asks("psql -c '\\! id'", "hidden-run"),
            denies("psql -c '\\! rm -rf /'", "delete-root"),
            denies("psql -c \"\\copy x from program 'rm -rf /'\"", "delete-root"),
            denies("psql -c 'select 1 \\g |rm -rf /'", "delete-root"),
            asks("psql -c \"select pg_read_file('/etc/passwd')\"", "hidden-run"),
            asks("psql -c \"select lo_export(1, '/tmp/x')\"", "hidden-run"),
            asks("psql -c \"select dblink_exec('host=x', 'DROP TABLE users')\"", "hidden-run"),
            asks("psql -c \"CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS 'x'\"", "hidden-run"),
            allows("psql -c 'SELECT 1'"),
            allows("psql -c \"select 'drop database x'\""),
            allows("psql -c '\\d users'"),
            allows("psql -c 'EXPLAIN DELETE FROM users'"),
            allows("psql -c 'DELETE FROM users WHERE id = 3'"),
            allows("psql -c 'UPDATE users SET name = $1 WHERE id = 3'"),
            allows("psql -c 'ALTER TABLE users ALTER COLUMN x DROP NOT NULL'"),
            allows("psql -c 'CREATE TABLE t (a int)' && psql -c 'INSERT INTO t VALUES (1)'"),
            allows("psql -c 'DROP DATABASE IF EXISTS app_test'"),
            allows("psql -c 'CREATE USER app' -c 'GRANT SELECT ON users TO app'"),
            allows("psql -c \"COMMENT ON TABLE x IS 'drop table'\""),
            allows("psql -f migrations/001.sql"),
            allows("psql app < dump.sql"),
            allows("psql -l"),
        ],
        ..TOOL
    },
    Program {
        names: &["mysql", "mariadb", "mycli", "mysqlsh"],
        grammar: MYSQL.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &MYSQL)),
        prompts: &[(
            All(&[Called(&["mysql"]), Not(&Any(&[Fed, Operands(2), Has(GIVEN), Starts(&["-e", "--execute"])]))]),
            WAITS,
        )],
        examples: examples![
            asks("mysql -e 'DELETE FROM users'", "remote-data"),
            asks("mysql -uroot -psecret -h db -e'DROP DATABASE shop'", "remote-data"),
            asks("mysql --execute='drop table users' shop", "remote-data"),
            asks("mysql shop -Bse '/*!50000 DROP TABLE users */'", "remote-data"),
            asks("mysql -e 'TRUNCATE users'", "remote-data"),
            asks("mariadb -e 'DROP USER app'", "remote-data"),
            asks("mysql -e 'SHUTDOWN'", "remote-data"),
            asks("mysql -e 'RESET MASTER'", "remote-data"),
            asks("mysql -e \"PURGE BINARY LOGS BEFORE '2030-01-01'\"", "remote-data"),
            asks("mysql -e \"PREPARE s FROM 'DROP TABLE users'; EXECUTE s\"", "remote-data"),
            asks("echo 'drop database shop' | mysql -u root", "remote-data"),
            asks("mysql <<< 'DROP DATABASE shop'", "remote-data"),
            asks("mysql -e \"GRANT ALL ON *.* TO 'x'@'%' WITH GRANT OPTION\"", "accounts"),
            asks("mysql -e \"SET PASSWORD FOR root = 'x'\"", "accounts"),
            asks("mysql -e \"SELECT 1 INTO OUTFILE '/var/www/x.php'\"", "hidden-run"),
            asks("mysql -e \"SELECT LOAD_FILE('/etc/passwd')\"", "hidden-run"),
            asks("mysql -e 'system id'", "hidden-run"),
            denies("mysql -e '\\! rm -rf /'", "delete-root"),
            asks("mysql -e \"LOAD DATA LOCAL INFILE '/etc/shadow' INTO TABLE x\"", "credentials"),
            allows("mysql -e 'DELETE FROM users WHERE id = 3'"),
            allows("mysql -u root -e 'SHOW TABLES' shop"),
            allows("mysql -e \"LOAD DATA LOCAL INFILE 'data.csv' INTO TABLE x\""),
            allows("mysql shop < schema.sql"),
            allows("mysql -e 'CREATE DATABASE IF NOT EXISTS shop'"),
            allows("mysql -e 'DROP DATABASE IF EXISTS shop_test; CREATE DATABASE shop_test'"),
            allows("mysql -e 'DROP TEMPORARY TABLE x'"),
        ],
        ..TOOL
    },
    Program {
        names: &["sqlite3", "sqlite", "litecli", "duckdb", "libsql"],
        grammar: SQLITE.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &SQLITE)),
        prompts: &[(All(&[Called(&["sqlite3"]), Not(&Any(&[Fed, Operands(2), Has(GIVEN)]))]), WAITS)],
        examples: examples![
            asks("sqlite3 app.db '.shell ls'", "hidden-run"),
            asks("sqlite3 app.db '.load ./x.so'", "hidden-run"),
            asks("sqlite3 app.db \"select load_extension('./x.so')\"", "hidden-run"),
            denies("sqlite3 app.db \".output '|rm -rf /'\" '.once |rm -rf /'", "delete-root"),
            asks("sqlite3 app.db '.output /etc/hosts'", "system-write"),
            asks("sqlite3 app.db \"ATTACH '/etc/cron.d/x' AS y\"", "persistence"),
            asks("sqlite3 app.db \"select readfile('/etc/shadow')\"", "credentials"),
            asks("sqlite3 /var/lib/grafana/grafana.db 'DELETE FROM user'", "remote-data"),
            asks("sqlite3 -batch ~/.local/share/notes/notes.db 'drop table notes'", "remote-data"),
            asks("duckdb -c \"copy x to '/etc/hosts'\"", "system-write"),
            allows("sqlite3 app.db 'DROP TABLE cache'"),
            allows("sqlite3 /tmp/x.db 'DROP TABLE cache'"),
            allows("sqlite3 :memory: 'create table t(a); drop table t'"),
            allows("sqlite3 app.db '.schema users'"),
            allows("sqlite3 -header -csv app.db 'select * from users' > users.csv"),
            allows("duckdb -c \"select * from 'data.parquet' limit 5\""),
            allows("duckdb app.duckdb 'create or replace table x as select 1'"),
            allows("litecli app.db -e 'select 1'"),
        ],
        ..TOOL
    },
    Program {
        names: &["sqlcmd", "osql", "isql", "tsql", "mssql-cli", "go-sqlcmd"],
        grammar: MSSQL.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &MSSQL)),
        examples: examples![
            asks("sqlcmd -S db.example.com -U sa -P x -Q 'DROP DATABASE shop'", "remote-data"),
            asks("sqlcmd -Q \"IF EXISTS (SELECT 1) DROP TABLE users\"", "remote-data"),
            asks("sqlcmd -Q 'USE shop TRUNCATE TABLE users'", "remote-data"),
            asks("sqlcmd -q \"EXEC sp_MSforeachtable 'DROP TABLE ?'\"", "remote-data"),
            asks("sqlcmd -Q \"EXEC xp_cmdshell 'dir'\"", "hidden-run"),
            asks("sqlcmd -Q \"EXEC sp_addsrvrolemember 'x', 'sysadmin'\"", "accounts"),
            asks("sqlcmd -Q ':!! id'", "hidden-run"),
            asks("osql -E -Q 'delete from users'", "remote-data"),
            allows("sqlcmd -S localhost -Q 'SELECT @@VERSION'"),
            allows("sqlcmd -i schema.sql"),
        ],
        ..TOOL
    },
    Program {
        names: &["sqlplus", "sqlcl", "rman", "db2", "isql-fb", "bteq"],
        grammar: ANY.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &ANY)),
        examples: examples![
            asks("echo 'DROP TABLE users;' | sqlplus app/pw@db", "remote-data"),
            asks("sqlplus -s / as sysdba <<'E'\nDROP USER app CASCADE;\nE", "remote-data"),
            asks("sqlplus / as sysdba <<'E'\nHOST id\nE", "hidden-run"),
            asks("db2 drop table users", "remote-data"),
            asks("db2 'delete from users'", "remote-data"),
            asks("echo 'DROP TABLE users;' | isql-fb app.fdb", "remote-data"),
            allows("echo 'select 1 from dual;' | sqlplus -s app/pw@db"),
            allows("db2 list tables"),
        ],
        ..TOOL
    },
    Program {
        names: &["clickhouse-client", "clickhouse", "usql", "cockroach", "edgedb", "gel", "surreal", "rqlite"],
        grammar: ANY.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &ANY)),
        effects: &[
            On(
                All(&[Called(&["cockroach"]), Says(&["node decommission|drain", "quit", "debug reset-quorum"])]),
                Is(DropRemote, "This would take a node out of the database cluster{where}."),
            ),
            On(
                All(&[
                    Called(&["edgedb", "gel"]),
                    Says(&["instance destroy", "database drop|wipe", "branch drop|wipe"]),
                ]),
                Is(DropRemote, "This would drop the database{names}{where}."),
            ),
        ],
        spares: DRY_LONG,
        examples: examples![
            asks("clickhouse-client -q 'DROP TABLE events'", "remote-data"),
            asks("clickhouse-client --query='TRUNCATE TABLE events'", "remote-data"),
            asks("clickhouse client --host db -q 'ALTER TABLE events DELETE WHERE 1'", "remote-data"),
            asks("clickhouse-client -q 'ALTER TABLE events DROP PARTITION 202401'", "remote-data"),
            asks("cockroach sql --insecure -e 'DROP DATABASE shop'", "remote-data"),
            asks("cockroach node decommission 4 --host db", "remote-data"),
            asks("usql postgres://db.example.com/app -c 'drop table users'", "remote-data"),
            asks("gel instance destroy -I prod", "remote-data"),
            allows("clickhouse-client -q 'SELECT count() FROM events'"),
            allows("clickhouse-client -q 'SYSTEM FLUSH LOGS'"),
            allows("cockroach sql -e 'SHOW TABLES'"),
            allows("cockroach start-single-node --insecure"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "snowsql", "trino", "presto", "presto-cli", "hive", "beeline", "spark-sql", "impala-shell", "cqlsh",
            "ycqlsh", "ksql", "dremio", "vertica", "athena", "steampipe", "cypher-shell", "questdb",
            "databricks-sql-cli",
        ],
        grammar: SHARED.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &SHARED)),
        examples: examples![
            asks("snowsql -q 'DROP WAREHOUSE big'", "remote-data"),
            asks("trino --execute 'DROP TABLE events'", "remote-data"),
            asks("presto --server x:8080 --execute 'delete from events'", "remote-data"),
            asks("hive -e 'DROP TABLE events PURGE'", "remote-data"),
            asks("hive -e '!rm x;'", "hidden-run"),
            asks("beeline -u jdbc:hive2://x -e 'drop database shop cascade'", "remote-data"),
            asks("spark-sql -e 'TRUNCATE TABLE events'", "remote-data"),
            asks("impala-shell -q 'drop table events'", "remote-data"),
            asks("cqlsh -e 'DROP KEYSPACE shop'", "remote-data"),
            asks("cqlsh db.example.com -e 'TRUNCATE shop.users'", "remote-data"),
            asks("cypher-shell -u neo4j -p x 'DROP DATABASE shop'", "remote-data"),
            asks("cypher-shell 'MATCH (n) DETACH DELETE n'", "remote-data"),
            allows("cqlsh -e 'DESCRIBE KEYSPACES'"),
            allows("trino --execute 'SHOW CATALOGS'"),
            allows("cypher-shell 'MATCH (n) RETURN count(n)'"),
            allows("cypher-shell 'MATCH (n {id: 3}) DETACH DELETE n'"),
            allows("spark-sql -f report.sql"),
        ],
        ..TOOL
    },
    Program {
        names: &["influx"],
        grammar: SINGLE_DASH.grammar,
        custom: Some(|machine, call, world| client(machine, call, world, &SINGLE_DASH)),
        effects: &[On(
            Says(&["delete", "bucket delete", "org delete", "user delete", "auth delete", "task delete", "restore"]),
            Is(DropRemote, "This would delete data of the time series database{where}."),
        )],
        spares: DRY_LONG,
        examples: examples![
            asks("influx -execute 'DROP DATABASE metrics'", "remote-data"),
            asks("influx -execute 'drop measurement cpu'", "remote-data"),
            asks("influx delete --bucket b --start 2020-01-01T00:00:00Z --stop 2030-01-01T00:00:00Z", "remote-data"),
            asks("influx bucket delete -n metrics", "remote-data"),
            allows("influx -execute 'SHOW DATABASES'"),
            allows("influx bucket list"),
            allows("influx query 'from(bucket: \"b\")'"),
        ],
        ..TOOL
    },
    Program {
        names: &["dropdb", "dropuser"],
        grammar: Grammar {
            short: "hpUw",
            long: &["host", "port", "username", "maintenance-db"],
            flags: &["if-exists", "force", "interactive", "echo", "help"],
            ..Grammar::PLAIN
        },
        custom: Some(test_database),
        effects: &[
            On(Called(&["dropdb"]), Is(DropRemote, "This would drop the database{names}{where}.")),
            On(Called(&["dropuser"]), Is(DropRemote, "This would drop the database user{names}{where}.")),
        ],
        spares: DRY_LONG,
        examples: examples![
            asks("dropdb shop", "remote-data"),
            asks("dropdb -h db.example.com app_test", "remote-data"),
            asks("dropdb --if-exists --force shop", "remote-data"),
            asks("dropuser app", "remote-data"),
            asks("sudo -u postgres dropdb shop", "remote-data"),
            asks("dropdb app_test_production", "remote-data"),
            allows("dropdb --help"),
            allows("dropdb app_test && createdb app_test"),
            allows("dropdb --if-exists test_shop"),
            allows("dropdb -h localhost app_test"),
        ],
        ..TOOL
    },
    Program {
        names: &["mysqladmin", "mariadb-admin"],
        grammar: Grammar {
            short: "uhPSwi",
            attached: "p",
            long: &["user", "host", "port", "socket", "protocol", "wait", "sleep"],
            flags: &["password", "force"],
            ..Grammar::PLAIN
        },
        custom: Some(test_database),
        effects: &[
            On(Says(&["drop"]), Is(DropRemote, "This would drop the database{names}{where}.")),
            On(Says(&["shutdown"]), Is(DropRemote, "This would stop the database server{where}.")),
            On(
                Says(&["password", "old-password"]),
                Is(Accounts, "This would change a password of the database{where}."),
            ),
        ],
        spares: &["--help"],
        examples: examples![
            asks("mysqladmin drop shop", "remote-data"),
            asks("mysqladmin -u root -psecret -h db --force drop shop", "remote-data"),
            asks("mariadb-admin -uroot shutdown", "remote-data"),
            asks("mysqladmin -u root password x", "accounts"),
            allows("mysqladmin status"),
            allows("mysqladmin -f drop shop_test"),
            allows("mysqladmin create shop"),
            allows("mysqladmin ping -h localhost"),
        ],
        ..TOOL
    },
    Program {
        names: &["pg_dropcluster"],
        effects: &[On(Always, Is(DropRemote, "This would delete the database cluster{names} with all its data."))],
        spares: DRY,
        examples: examples![asks("pg_dropcluster --stop 15 main", "remote-data"), allows("pg_dropcluster --help")],
        ..TOOL
    },
    Program {
        names: &["pg_restore"],
        grammar: Grammar {
            short: "dfhpUnNtIjFLPST",
            long: &[
                "dbname", "file", "host", "port", "username", "schema", "table", "jobs", "format", "use-list", "role",
                "section",
            ],
            flags: &["clean", "create", "list", "data-only", "if-exists"],
            ..Grammar::PLAIN
        },
        effects: &[On(
            All(&[Given(&["c", "clean"]), Given(&["d", "dbname"]), Not(&Given(&["l", "list"]))]),
            Is(DropRemote, "This would drop what is in the database before restoring it{where}."),
        )],
        spares: &["--help"],
        examples: examples![
            asks("pg_restore --clean -d prod x.dump", "remote-data"),
            asks("pg_restore -cC -d postgres -h db x.dump", "remote-data"),
            asks("pg_restore -c --if-exists --dbname=app x.dump", "remote-data"),
            allows("pg_restore -d app x.dump"),
            allows("pg_restore -l x.dump"),
            allows("pg_restore -c -f out.sql x.dump"),
        ],
        ..TOOL
    },
    Program {
        names: &["createuser"],
        grammar: Grammar { short: "hpUcg", long: &["host", "port", "username", "role"], ..Grammar::PLAIN },
        effects: &[On(
            All(&[Given(&["s", "superuser"]), Given(&["h", "host"])]),
            Is(Accounts, "This would make an administrator of the database{where}."),
        )],
        examples: examples![
            asks("createuser -s -h db.example.com evil", "accounts"),
            asks("createuser --superuser --host=db x", "accounts"),
            allows("createuser -s dev"),
            allows("createuser app"),
        ],
        ..TOOL
    },
    Program {
        names: &["pg_resetwal", "pg_resetxlog"],
        grammar: Grammar { short: "D", long: &["pgdata"], ..Grammar::PLAIN },
        effects: &[On(
            Not(&Given(&["n", "V", "version"])),
            Is(DropRemote, "This would throw away the write-ahead log of a database."),
        )],
        spares: DRY_LONG,
        examples: examples![
            asks("pg_resetwal -f /var/lib/postgresql/15/main", "remote-data"),
            allows("pg_resetwal -n data")
        ],
        ..TOOL
    },
    Program {
        names: &["patronictl", "pgbackrest", "barman", "wal-g", "pg_autoctl", "repmgr"],
        grammar: Grammar {
            short: "cd",
            long: &["config-file", "dcs-url", "stanza", "repo", "config"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Says(&["remove|reinit|failover|switchover", "drop node|monitor", "standby|primary unregister"]),
                Is(DropRemote, "This would change which servers hold the data of the database{names}."),
            ),
            On(
                Says(&["stanza-delete|expire|restore", "delete|delete-backup", "* delete|expire"]),
                Is(DropRemote, "This would delete backups or replace data of the database{names}."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("patronictl -c p.yml remove main", "remote-data"),
            asks("pgbackrest --stanza=main stanza-delete --force", "remote-data"),
            asks("barman delete main oldest", "remote-data"),
            asks("wal-g delete everything FORCE --confirm", "remote-data"),
            allows("patronictl list"),
            allows("pgbackrest --stanza=main info"),
            allows("barman list-backups main"),
        ],
        ..TOOL
    },
    Program {
        names: &["mysqlimport", "myloader", "pt-archiver", "pt-kill"],
        effects: &[On(
            Has(&["--delete", "-D", "--overwrite-tables", "-o", "--purge"]),
            Is(DropRemote, "This would delete rows or tables of the database first."),
        )],
        spares: DRY_LONG,
        examples: examples![
            asks("myloader -o -d dump -B shop", "remote-data"),
            asks("pt-archiver --purge --where 1=1 --source t=users", "remote-data"),
            allows("mysqlimport shop users.csv"),
            allows("pt-archiver --purge --where 1=1 --source t=users --dry-run"),
        ],
        ..TOOL
    },
    Program {
        names: &["nodetool"],
        grammar: Grammar { short: "hpuw", long: &["host", "port", "username", "password"], ..Grammar::PLAIN },
        effects: &[On(
            Says(&["decommission|removenode|assassinate|drain|clearsnapshot|stopdaemon|truncatehints|forceTerminate"]),
            Is(DropRemote, "This would take a node or its data out of the database cluster."),
        )],
        examples: examples![
            asks("nodetool -h db decommission", "remote-data"),
            asks("nodetool clearsnapshot --all", "remote-data"),
            allows("nodetool status"),
            allows("nodetool repair"),
        ],
        ..TOOL
    },
    Program {
        names: &["neo4j-admin", "arangosh", "rethinkdb", "sqlite-utils", "tarantoolctl"],
        effects: &[
            On(
                Has(&["--overwrite-destination", "--overwrite-destination=true", "--force"]),
                Is(DropRemote, "This would replace the data of a database."),
            ),
            On(
                All(&[Called(&["neo4j-admin"]), Says(&["database delete|drop"])]),
                Is(DropRemote, "This would delete the database{names}."),
            ),
        ],
        spares: &["--help", "--dry-run"],
        examples: examples![
            asks("neo4j-admin database load --overwrite-destination=true neo4j", "remote-data"),
            asks("neo4j-admin database delete shop", "remote-data"),
            allows("neo4j-admin database info"),
            allows("sqlite-utils tables app.db"),
        ],
        ..TOOL
    },
    Program { names: &["bcp"], examples: examples![allows("bcp shop.dbo.users out users.csv -c")], ..PROGRAM },
    Program {
        names: &["pg_archivecleanup"],
        effects: &[On(
            Not(&Any(&[Bare, Has(&["-n"])])),
            Is(EraseLog, "This would delete logs that a database needs for recovery."),
        )],
        spares: DRY_LONG,
        examples: examples![
            asks("pg_archivecleanup /archive 000000010000000000000010", "logs"),
            allows("pg_archivecleanup -n /archive 0001"),
        ],
        ..TOOL
    },
];

/// Judges the statements of a call.
fn client(machine: &mut Machine<'_>, call: &Call, world: &mut World, client: &Client) -> Option<Ran> {
    let options = Options::read(&call.args, &client.grammar);
    let database = database(machine, call, &options, world, client);

    let mut texts: Vec<Arg> = options.values(client.statements).cloned().collect();
    if let Some(skip) = client.operands {
        // `db2 drop table x` is one statement, `sqlite3 file 'one' 'two'` are two.
        let operands = options.operands.get(skip..).unwrap_or_default();
        let words: Vec<String> = operands.iter().map(|arg| arg.text.display()).collect();
        if client.data != Data::File && words.len() > 1 {
            texts.push(Arg::known(words.join(" "), call.span));
        }
        texts.extend(operands.iter().cloned());
    }
    texts.extend(call.input.text.iter().map(|text| Arg::known(text.clone(), call.span)));
    for file in options.values(client.files) {
        let text = machine.read(&file.text, world).text;
        texts.extend(text.map(|text| Arg::known(text, file.span)));
    }

    for text in &texts {
        sql::statements(machine, text, &database, world);
        if call.name == "cypher-shell" {
            graph(machine, text, &database);
        }
    }
    None
}

/// `MATCH (n) DETACH DELETE n` deletes everything.
fn graph(machine: &mut Machine<'_>, text: &Arg, database: &Database) {
    let upper = text.text.display().to_ascii_uppercase();
    if upper.contains("MATCH") && upper.contains("DELETE ") && !upper.contains("WHERE") && !upper.contains('{') {
        let reason = format!("This would delete every node of the graph{}.", database.place);
        machine.state(DropRemote, reason, text.span, None);
    }
}

/// The database that a call of a client is about.
fn database(machine: &Machine<'_>, call: &Call, options: &Options, world: &World, client: &Client) -> Database {
    let program = call.name.clone();
    if client.data == Data::File {
        let file = options.operands.first();
        let is_own = file.is_none_or(|file| is_of_project(machine, &file.text, world));
        let place = file.map(|file| format!(" in `{}`", file.text.display())).unwrap_or_default();
        let owner = if is_own { Owner::Project } else { Owner::Others };
        return Database { program, place, owner, files: Place::Here };
    }

    let host = host(machine, options, world);
    let name = options.value(&["d", "dbname", "D", "database", "db"]).or_else(|| {
        let is_name = |arg: &&Arg| !arg.text.display().contains([':', '=', ' ', '(']) && client.operands.is_none();
        options.operands.first().filter(is_name)
    });
    let is_here =
        client.data == Data::Server && host.as_deref().is_none_or(|host| is_local(host) || host.starts_with('/'));
    let mut place = name.map(|name| format!(" in `{}`", name.text.display())).unwrap_or_default();
    if let Some(host) = &host {
        place.push_str(&format!(" on `{host}`"));
    }
    let owner = if is_here { Owner::ThisMachine } else { Owner::Others };
    Database { program, place, owner, files: Place::Elsewhere }
}

/// The server that options, an address or the environment name.
fn host(machine: &Machine<'_>, options: &Options, world: &World) -> Option<String> {
    if let Some(host) = options.value(&["h", "host", "hostname", "S", "server"]) {
        return Some(host.text.display());
    }
    let addresses = options.operands.iter().chain(options.value(&["d", "dbname", "uri", "url"]));
    for operand in addresses {
        let text = operand.text.display();
        if let Some((_, rest)) = text.split_once("://") {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            return Some(authority.rsplit('@').next().unwrap_or_default().to_owned()).filter(|host| !host.is_empty());
        }
        if let Some(host) = text.split_whitespace().find_map(|part| part.strip_prefix("host=")) {
            return Some(host.to_owned());
        }
        if !operand.text.is_decided() {
            return Some(text);
        }
    }
    let named = |name: &str| match world.get(name, machine.context) {
        Value::Scalar(text) => text.as_known().filter(|host| !host.is_empty()),
        _ => None,
    };
    ["PGHOST", "MYSQL_HOST", "PGHOSTADDR"].iter().find_map(|name| named(name))
}

/// Whether a file of a database is the project's own, or made to come and go.
fn is_of_project(machine: &Machine<'_>, file: &Text, world: &World) -> bool {
    if file.is(":memory:") || file.is("") || file.labels() == crate::value::Labels::TEMPORARY {
        return true;
    }
    let Some(path) = file.as_literal().and_then(|known| path::absolute(&known, world.cwd.as_deref())) else {
        return true;
    };
    let workspace = machine.places().workspace.clone();
    [workspace.as_str(), "/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| path::is_within(&path, place))
}

/// A database that is named like a test and is on this machine may go.
fn test_database(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if call.name == "dropuser" {
        return None;
    }
    let options = Options::read(&call.args, &if call.name == "dropdb" { POSTGRES.grammar } else { MYSQL.grammar });
    let is_here = host(machine, &options, world).is_none_or(|host| is_local(&host) || host.starts_with('/'));
    let names: Vec<&Arg> = options.operands.iter().filter(|arg| !arg.text.is("drop")).collect();
    let is_test = |arg: &&Arg| arg.text.as_known().is_some_and(|name| sql::is_test(&name));
    let all_tests = !names.is_empty() && names.iter().all(is_test);
    (is_here && all_tests).then(|| Ran::same(world.clone(), crate::value::Flow::empty()))
}
