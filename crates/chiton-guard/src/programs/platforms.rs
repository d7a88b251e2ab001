//! Platforms that run an application for a project: what is taken down there, and what is put up.

use super::options::{Grammar, Options};
use super::row::Does::{Is, Query, RunText};
use super::row::When::{All, Any, Bare, Called, Contains, Has, Not, Says, Tree};
use super::row::{DRY, On, PROGRAM, Program, Runs, Which, allows, asks};
use crate::effect::Kind::{Accounts, DropRemote, Publish};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};

const GONE: &str = "This would delete{what} of what is deployed{where}.";
const LIVE: &str = "This would change what visitors of the live site see{where}.";

/// Options of platforms that take a value.
const PLATFORM: Grammar = Grammar {
    short: "aCctSR",
    long: &[
        "app", "remote", "config", "org", "region", "token", "scope", "cwd", "team", "site", "project", "env", "name",
        "command", "file", "environment", "service", "project-ref", "branch", "database", "project-id", "account",
        "alias",
    ],
    ..Grammar::PLAIN
};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["heroku"],
        grammar: PLATFORM,
        custom: Some(heroku),
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "apps:destroy|apps:delete|destroy",
                        "pg:reset|pg:kill|pg:killall|pg:credentials:destroy|pg:copy|pg:restore|pg:backups:restore|pg:backups:delete|pg:promote",
                        "addons:destroy|addons:detach",
                        "config:unset",
                        "domains:remove|domains:clear",
                        "pipelines:destroy",
                        "redis:reset|kafka:topics:destroy|kafka:fail",
                        "ps:stop|ps:kill",
                        "releases:rollback|rollback",
                        "certs:remove",
                        "spaces:destroy",
                        "webhooks:remove",
                    ]),
                    All(&[Says(&["ps:scale|scale|dyno:scale"]), Contains(&["=0"])]),
                ]),
                Is(DropRemote, GONE),
            ),
            On(
                Says(&[
                    "access:add|access:remove|access:update|authorizations:create|members:add|keys:add|apps:transfer|apps:join",
                ]),
                Is(Accounts, "This would change who may use the app{where}."),
            ),
            On(Says(&["container:release|container:push|builds:create|pipelines:promote"]), Is(Publish, LIVE)),
            On(Says(&["pg:psql"]), Query(Which::Values(&["c", "command"]))),
        ],
        spares: &["--help", "--dry-run"],
        examples: examples![
            asks("heroku apps:destroy web --confirm web", "remote-data"),
            asks("heroku pg:reset DATABASE_URL -a shop --confirm shop", "remote-data"),
            asks("heroku config:unset SECRET -a shop", "remote-data"),
            asks("heroku ps:scale web=0 -a shop", "remote-data"),
            asks("heroku addons:destroy heroku-postgresql", "remote-data"),
            asks("heroku pg:psql -a shop -c 'DROP TABLE users'", "remote-data"),
            asks("heroku run -a shop python manage.py flush --no-input", "remote-data"),
            asks("heroku run 'rails db:drop' -a shop", "remote-data"),
            asks("heroku access:add x@x.io -a shop", "accounts"),
            asks("heroku pipelines:promote -a shop", "publish"),
            allows("heroku logs --tail"),
            allows("heroku ps -a shop"),
            allows("heroku ps:scale web=2"),
            allows("heroku run rails console -a shop"),
            allows("heroku local:run make test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["fly", "flyctl"],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[
                    Tree(&["destroy", "delete", "remove", "rm", "suspend", "unset", "detach"]),
                    All(&[Says(&["scale count"]), Has(&["0"])]),
                    Says(&["machine|machines stop|kill", "postgres|pg failover|restart", "apps move"]),
                ]),
                Is(DropRemote, GONE),
            ),
            On(
                All(&[Says(&["orgs invite", "tokens create", "ssh issue"])]),
                Is(Accounts, "This would change who may use the app{where}."),
            ),
            On(Says(&["ssh console", "machine|machines exec", "console"]), RunText(Which::Values(&["C", "command"]))),
        ],
        spares: DRY,
        examples: examples![
            asks("fly apps destroy web", "remote-data"),
            asks("flyctl volumes destroy vol_1 -y", "remote-data"),
            asks("fly -a shop postgres detach db", "remote-data"),
            asks("fly scale count 0 -a shop", "remote-data"),
            asks("fly secrets unset KEY -a shop", "remote-data"),
            asks("fly machine destroy 1 --force", "remote-data"),
            asks("fly ssh console -a shop -C 'python manage.py flush --no-input'", "remote-data"),
            allows("fly deploy"),
            allows("fly status -a shop"),
            allows("fly logs"),
            allows("fly ssh console -C 'ls /app'"),
            allows("fly volumes list"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["vercel", "vc"],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[Says(&[
                    "rm|remove", "project|projects rm|remove", "env rm|remove", "domains rm|remove",
                    "dns rm|remove|add", "alias rm|remove", "certs rm|remove", "secrets rm|remove", "teams rm",
                    "rollback", "promote", "blob del|delete-store", "cache purge",
                ])]),
                Is(DropRemote, GONE),
            ),
            On(
                All(&[
                    Any(&[Bare, Says(&["deploy"]), Not(&Says(&["*"]))]),
                    Has(&["--prod", "--production", "--target=production", "--prebuilt"]),
                    Has(&["--prod", "--production", "--target=production"]),
                ]),
                Is(Publish, LIVE),
            ),
            On(Says(&["alias set", "teams invite"]), Is(Publish, LIVE)),
        ],
        spares: DRY,
        examples: examples![
            asks("vercel rm web --yes", "remote-data"),
            asks("vercel --token x project rm web", "remote-data"),
            asks("vercel env rm SECRET production", "remote-data"),
            asks("vercel --prod", "publish"),
            asks("npx vercel deploy --prod --yes", "publish"),
            allows("vercel"),
            allows("vercel deploy"),
            allows("vercel dev"),
            allows("vercel build --prod"),
            allows("vercel ls"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "netlify", "ntl", "surge", "gh-pages", "railway", "northflank", "koyeb", "dokku", "caprover", "deployctl",
            "zeabur", "upsun", "clever", "scalingo", "terminus", "convox", "cf", "eb", "gigalixir", "zerops",
        ],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[
                    Tree(&[
                        "sites:delete", "env:unset", "blobs:delete", "teardown", "delete", "destroy", "remove", "rm",
                        "down", "apps:destroy", "*:destroy", "*:delete", "*:remove", "terminate", "purge", "undeploy",
                    ]),
                    All(&[Called(&["railway"]), Says(&["down|delete|unlink", "volume delete", "environment delete"])]),
                    All(&[Called(&["cf"]), Says(&["stop|d|ds|delete-*"])]),
                ]),
                Is(DropRemote, GONE),
            ),
            On(
                Any(&[
                    All(&[
                        Called(&["netlify", "ntl"]),
                        Says(&["deploy"]),
                        Has(&["--prod", "-p", "--prod-if-unlocked", "-d"]),
                    ]),
                    All(&[Called(&["surge"]), Not(&Says(&["list|whoami|login|logout|token|plan"]))]),
                    All(&[Called(&["gh-pages"])]),
                    All(&[Called(&["deployctl"]), Says(&["deploy"]), Has(&["--prod"])]),
                    All(&[Called(&["eb", "cf"]), Says(&["deploy|push|swap|p"])]),
                    All(&[Called(&["railway"]), Says(&["up|redeploy"])]),
                ]),
                Is(Publish, LIVE),
            ),
        ],
        runs: Runs::If(All(&[Called(&["railway"]), Says(&["run"])]), &Runs::Operands(1)),
        spares: &["--help", "--dry-run", "-h", "--no-push", "-n"],
        examples: examples![
            asks("netlify sites:delete 123 -f", "remote-data"),
            asks("netlify deploy --prod --dir dist", "publish"),
            asks("npx netlify deploy --prod", "publish"),
            asks("surge dist shop.surge.sh", "publish"),
            asks("surge teardown shop.surge.sh", "remote-data"),
            asks("npx gh-pages -d dist", "publish"),
            asks("railway down -y", "remote-data"),
            asks("railway up", "publish"),
            asks("railway run npx prisma migrate reset", "remote-data"),
            asks("eb terminate web --force", "remote-data"),
            asks("eb deploy", "publish"),
            asks("cf delete web -f", "remote-data"),
            asks("dokku apps:destroy web --force", "remote-data"),
            allows("netlify deploy"),
            allows("netlify dev"),
            allows("netlify status"),
            allows("railway logs"),
            allows("railway run npm test"),
            allows("cf apps"),
            allows("npx gh-pages -d dist --no-push"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["wrangler", "wrangler2"],
        grammar: Grammar {
            short: "c",
            long: &["config", "env", "name", "command", "file", "namespace-id", "cwd"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Tree(&[
                    "delete", "key:delete", "bulk:delete", "namespace:delete", "rollback", "object:delete", "purge",
                ]),
                Is(DropRemote, GONE),
            ),
            On(All(&[Says(&["d1 execute"])]), Query(Which::Values(&["command", "c"]))),
            On(All(&[Says(&["d1 time-travel restore"])]), Is(DropRemote, GONE)),
            On(
                All(&[Says(&["deploy|publish", "pages deploy|publish", "versions deploy", "triggers deploy"])]),
                Is(Publish, LIVE),
            ),
        ],
        spares: &["--help", "-h", "--dry-run", "--local"],
        examples: examples![
            asks("wrangler delete", "remote-data"),
            asks("npx wrangler r2 bucket delete x", "remote-data"),
            asks("wrangler kv namespace delete --namespace-id x", "remote-data"),
            asks("wrangler d1 delete shop", "remote-data"),
            asks("wrangler d1 execute shop --remote --command 'DROP TABLE users'", "remote-data"),
            asks("npx wrangler d1 execute shop --command=\"DELETE FROM users\"", "remote-data"),
            asks("wrangler deploy", "publish"),
            asks("wrangler pages deploy dist", "publish"),
            allows("npx wrangler deploy --dry-run"),
            allows("wrangler dev"),
            allows("wrangler d1 execute shop --local --command 'DROP TABLE users'"),
            allows("wrangler tail"),
            allows("wrangler kv key list --namespace-id x"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["firebase"],
        grammar: Grammar {
            short: "P",
            long: &["project", "only", "except", "token", "instance", "database"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "firestore:delete|database:remove|hosting:disable|functions:delete|apps:delete|hosting:sites:delete|hosting:channel:delete|firestore:databases:delete|firestore:databases:restore|auth:import|apphosting:backends:delete|remoteconfig:rollback|functions:secrets:destroy|ext:uninstall|firestore:indexes:delete",
                    ]),
                    Says(&["database:set"]),
                ]),
                Is(DropRemote, GONE),
            ),
            On(
                Says(&["deploy|hosting:clone|apphosting:rollouts:create|appdistribution:distribute"]),
                Is(Publish, LIVE),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("firebase firestore:delete --all-collections -f", "remote-data"),
            asks("firebase --project prod database:remove / -f", "remote-data"),
            asks("firebase hosting:disable -f", "remote-data"),
            asks("firebase deploy --only hosting", "publish"),
            allows("firebase emulators:start"),
            allows("firebase deploy --dry-run"),
            allows("firebase projects:list"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["supabase"],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "db reset",
                        "projects|branches|functions|storage|sso|snippets delete|rm|remove",
                        "secrets unset",
                        "migration down|repair",
                        "network-restrictions update",
                        "storage rm",
                        "domains delete",
                    ]),
                    All(&[Says(&["stop"]), Has(&["--no-backup"])]),
                    All(&[Says(&["db push"]), Has(&["--include-all"])]),
                ]),
                Is(DropRemote, "This would drop data of the project{where}."),
            ),
            On(Says(&["db query|execute"]), Query(Which::OperandsFrom(2))),
            On(Says(&["functions deploy"]), Is(Publish, LIVE)),
        ],
        spares: DRY,
        examples: examples![
            asks("supabase db reset --linked", "remote-data"),
            asks("npx supabase db reset", "remote-data"),
            asks("supabase projects delete x", "remote-data"),
            asks("supabase secrets unset KEY", "remote-data"),
            asks("supabase functions deploy hello", "publish"),
            allows("supabase start"),
            allows("supabase db diff"),
            allows("supabase db push --dry-run"),
            allows("supabase migration new x"),
            allows("supabase status"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "neonctl", "neon", "pscale", "turso", "xata", "tigris", "aiven", "avn", "timescale", "materialize",
            "fauna", "instaclustr", "yba",
        ],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[
                    Tree(&["delete", "destroy", "remove", "rm", "terminate", "drop", "purge", "reset"]),
                    All(&[Called(&["neonctl", "neon"]), Says(&["branches restore|reset"])]),
                    All(&[
                        Called(&["pscale"]),
                        Says(&["backup restore", "deploy-request deploy|revert", "branch demote|promote"]),
                    ]),
                    Says(&["service|services power-off"]),
                ]),
                Is(DropRemote, "This would delete{what} of the database service{where}."),
            ),
            On(All(&[Called(&["turso"]), Says(&["db shell"])]), Query(Which::OperandsFrom(3))),
        ],
        spares: DRY,
        examples: examples![
            asks("neonctl projects delete x", "remote-data"),
            asks("neonctl branches reset main --parent", "remote-data"),
            asks("pscale database delete shop --force", "remote-data"),
            asks("pscale --org o branch delete shop dev", "remote-data"),
            asks("turso db destroy shop --yes", "remote-data"),
            asks("turso db shell shop 'DROP TABLE users'", "remote-data"),
            allows("neonctl branches list"),
            allows("pscale shell shop main"),
            allows("turso db shell shop 'select 1'"),
            allows("turso db create shop"),
        ],
        ..PROGRAM
    },
    Program {
        // Migrations of Atlas, and the tool of MongoDB Atlas.
        names: &["atlas"],
        grammar: Grammar {
            short: "uc",
            long: &["url", "config", "env", "projectId", "profile", "to", "dev-url", "dir", "orgId"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    Says(&["schema clean", "migrate down|rm", "migrate set"]),
                    All(&[Says(&["schema apply"]), Has(&["--auto-approve"])]),
                    Tree(&["delete", "terminate"]),
                    Says(&["clusters pause", "backups restores start"]),
                ]),
                Is(DropRemote, "This would drop or change{what} of a database{where}."),
            ),
            On(Says(&["dbusers|accessLists create"]), Is(Accounts, "This would change who may use a database{where}.")),
        ],
        spares: DRY,
        examples: examples![
            asks("atlas schema clean -u mysql://db/shop --auto-approve", "remote-data"),
            asks("atlas schema apply -u mysql://db/shop --to file://s.sql --auto-approve", "remote-data"),
            asks("atlas clusters delete shop --force", "remote-data"),
            asks("atlas projects delete x", "remote-data"),
            allows("atlas schema inspect -u mysql://db/shop"),
            allows("atlas migrate diff"),
            allows("atlas clusters list"),
            allows("atlas schema apply -u mysql://db/shop --to file://s.sql --dry-run"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["expo", "eas", "fastlane", "appcenter", "shopify", "ionic", "codepush", "code-push", "bitrise"],
        grammar: PLATFORM,
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "submit|publish|upload:*|publish:*",
                        "update|update:*",
                        "release|beta|deploy|supply|pilot|deliver|upload_to_*|snapshot_upload",
                        "ios|android|mac release|beta|deploy|submit|upload|publish|production",
                        "theme push|publish|delete",
                        "app deploy|release",
                        "codepush release*",
                        "distribute release|stores*",
                        "deploy production|*",
                        "release release*",
                        "channel:edit|branch:publish",
                        "build:submit",
                        "hydrogen deploy",
                    ]),
                    All(&[Called(&["eas"]), Says(&["build"]), Has(&["--auto-submit"])]),
                ]),
                Is(Publish, "This would publish the app{names} to people or a store."),
            ),
            On(
                Any(&[
                    Tree(&["delete", "*:delete", "apps:delete"]),
                    All(&[Called(&["fastlane"]), Says(&["match nuke", "nuke"])]),
                ]),
                Is(DropRemote, GONE),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("eas submit -p ios", "publish"),
            asks("npx eas update --branch production", "publish"),
            asks("expo publish", "publish"),
            asks("fastlane release", "publish"),
            asks("bundle exec fastlane ios beta", "publish"),
            asks("fastlane match nuke distribution", "remote-data"),
            asks("shopify theme push --live", "publish"),
            allows("eas build -p ios"),
            allows("expo start"),
            allows("fastlane test"),
            allows("fastlane ios test"),
            allows("shopify theme dev"),
        ],
        ..PROGRAM
    },
];

/// `heroku run command` and `heroku local:run command`.
fn heroku(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &Grammar { stops: true, ..PLATFORM });
    let (verb, rest) = options.operands.split_first()?;
    let is_run = ["run", "run:detached", "run:inside", "local:run"].iter().any(|name| verb.text.is(name));
    if !is_run {
        return None;
    }
    let words = Options::read(rest, &Grammar { stops: true, ..PLATFORM }).operands;
    match words.as_slice() {
        [text, ..] if text.text.display().contains(' ') => drop(machine.run_text(text, world.clone(), &call.input)),
        words if verb.text.is("local:run") => return Some(machine.run_words(call, words, world.clone())),
        words => super::containers::run_confined(machine, call, words, world),
    }
    None
}
