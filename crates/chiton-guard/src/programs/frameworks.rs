//! Databases behind a framework: migrations and tasks that drop them. A test environment may go.

use super::options::Grammar;
use super::row::Does::{Is, Query};
use super::row::When::{All, Any, Called, Contains, Given, Has, Says, Starts};
use super::row::{DRY, On, PROGRAM, Program, Runs, TOOL, Which, allows, asks};
use super::sql;
use crate::effect::Kind::{Accounts, DropRemote};
use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Flow};

const LOST: &str = "This would drop the data of the application's database ({program}).";
const BACK: &str = "This would take back migrations down to the first, and drop the data with them ({program}).";

/// Options that several of these tools take a value with.
const MIGRATIONS: Grammar = Grammar {
    short: "cxndfe",
    long: &[
        "config", "schema", "env", "environment", "name", "url", "database-url", "database", "dir", "path", "source",
        "migrations", "connection", "settings", "pythonpath", "datasource", "cwd", "profile", "target", "vars",
        "select",
    ],
    ..Grammar::PLAIN
};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["prisma"],
        grammar: MIGRATIONS,
        custom: Some(in_tests),
        effects: &[On(
            Any(&[Says(&["migrate reset"]), All(&[Says(&["db push"]), Given(&["force-reset", "accept-data-loss"])])]),
            Is(DropRemote, LOST),
        )],
        spares: DRY,
        examples: examples![
            asks("npx prisma migrate reset --force", "remote-data"),
            asks("prisma db push --force-reset", "remote-data"),
            asks("pnpm prisma db push --accept-data-loss", "remote-data"),
            asks("yarn dlx prisma@5 migrate reset -f", "remote-data"),
            asks("bunx prisma migrate reset", "remote-data"),
            asks("npx --yes prisma@latest migrate reset", "remote-data"),
            asks("npm exec prisma -- migrate reset", "remote-data"),
            asks("docker compose exec web npx prisma migrate reset --force", "remote-data"),
            asks("kubectl exec deploy/web -- npx prisma migrate reset -f", "remote-data"),
            asks("dotenv -e .env -- npx prisma migrate reset", "remote-data"),
            asks("echo 'DROP TABLE x' | prisma db execute --stdin", "remote-data"),
            allows("npx prisma migrate dev --name init"),
            allows("npx prisma migrate deploy"),
            allows("prisma db push"),
            allows("NODE_ENV=test npx prisma migrate reset --force"),
            allows("npx prisma migrate reset --help"),
            allows("npx prisma studio"),
            allows("npx prisma generate"),
        ],
        ..TOOL
    },
    Program {
        names: &["rails", "spring", "hanami"],
        custom: Some(in_tests),
        effects: RUBY_TASKS,
        spares: DRY,
        runs: Runs::Perhaps,
        examples: examples![
            asks("rails db:drop RAILS_ENV=production", "remote-data"),
            asks("rails db:drop", "remote-data"),
            asks("bin/rails db:reset", "remote-data"),
            asks("bundle exec rails db:drop db:create", "remote-data"),
            asks("RAILS_ENV=production DISABLE_DATABASE_ENVIRONMENT_CHECK=1 bin/rails db:purge", "remote-data"),
            asks("ruby bin/rails db:schema:load", "remote-data"),
            asks("heroku run rails db:reset -a shop", "remote-data"),
            asks("fly ssh console -C 'bin/rails db:drop'", "remote-data"),
            asks("rails runner 'User.delete_all'", "remote-data"),
            asks("rails db:migrate VERSION=0", "remote-data"),
            allows("RAILS_ENV=test rails db:drop db:create"),
            allows("rails db:reset RAILS_ENV=test"),
            allows("rails test"),
            allows("rails db:migrate"),
            allows("rails db:rollback"),
            allows("bin/rails db:test:prepare"),
            allows("rails runner 'puts User.count'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["manage.py", "django-admin", "django", "django-admin.py"],
        grammar: Grammar { long: &["settings", "pythonpath", "database", "verbosity"], short: "v", ..Grammar::PLAIN },
        custom: Some(in_tests),
        effects: &[
            On(Says(&["flush|reset_db|reset_schema|drop_db"]), Is(DropRemote, LOST)),
            On(Any(&[Says(&["migrate * zero"]), Says(&["migrate zero"])]), Is(DropRemote, BACK)),
            On(
                All(&[Says(&["shell|shell_plus"]), Contains(&["all().delete()", "objects.delete(", "flush"])]),
                Is(DropRemote, "This would delete every row of a model."),
            ),
            On(All(&[Says(&["dbshell"])]), Query(Which::Operands)),
        ],
        spares: &["--help", "--dry-run", "--plan"],
        examples: examples![
            asks("./manage.py flush --no-input", "remote-data"),
            asks("python manage.py flush --noinput", "remote-data"),
            asks("python3 ./manage.py reset_db -c", "remote-data"),
            asks("poetry run python manage.py migrate shop zero", "remote-data"),
            asks("uv run manage.py flush", "remote-data"),
            asks("docker compose exec -T web python manage.py flush --no-input", "remote-data"),
            asks("python -m django flush --settings app.settings", "remote-data"),
            asks("django-admin flush", "remote-data"),
            asks("python manage.py shell -c 'User.objects.all().delete()'", "remote-data"),
            asks("python manage.py dbshell -- -c 'DROP TABLE users'", "remote-data"),
            allows("python manage.py migrate"),
            allows("python manage.py sqlflush"),
            allows("python manage.py test"),
            allows("./manage.py migrate shop 0004"),
            allows("python manage.py migrate shop zero --plan"),
            allows("./manage.py flush --help"),
        ],
        ..TOOL
    },
    Program {
        names: &["artisan"],
        custom: Some(in_tests),
        effects: &[
            On(Says(&["migrate:fresh|migrate:refresh|migrate:reset|db:wipe"]), Is(DropRemote, LOST)),
            On(
                Says(&["queue:clear|queue:flush|horizon:clear|horizon:purge"]),
                Is(DropRemote, "This would throw away waiting or failed jobs."),
            ),
            On(
                All(&[Says(&["tinker"]), Contains(&["truncate(", "delete()", "drop"])]),
                Is(DropRemote, "This would delete rows of the application's database."),
            ),
        ],
        spares: &["--help", "-h", "--pretend"],
        examples: examples![
            asks("php artisan migrate:fresh --seed", "remote-data"),
            asks("php artisan db:wipe --force", "remote-data"),
            asks("./artisan migrate:reset", "remote-data"),
            asks("php -d memory_limit=-1 artisan migrate:refresh", "remote-data"),
            asks("./vendor/bin/sail artisan migrate:fresh", "remote-data"),
            asks("docker exec app php artisan migrate:fresh --force", "remote-data"),
            asks("php artisan tinker --execute='User::truncate()'", "remote-data"),
            allows("php artisan migrate"),
            allows("php artisan migrate:fresh --env=testing"),
            allows("APP_ENV=testing php artisan migrate:fresh"),
            allows("php artisan migrate:fresh --pretend"),
            allows("php artisan migrate:rollback"),
            allows("php artisan cache:clear"),
        ],
        ..TOOL
    },
    Program {
        names: &["sail", "ddev", "lando", "warden"],
        grammar: Grammar { stops: true, ..Grammar::PLAIN },
        effects: &[On(
            Any(&[
                All(&[Says(&["down"]), Has(&["-v", "--volumes"])]),
                All(&[Called(&["ddev"]), Says(&["delete|clean"])]),
                All(&[Called(&["lando"]), Says(&["destroy"])]),
            ]),
            Is(DropRemote, "This would delete the project's containers with their databases."),
        )],
        spares: DRY,
        runs: Runs::FirstOf(&[
            Runs::If(Says(&["exec|run"]), &Runs::Operands(1)),
            Runs::If(
                Says(&["artisan|php|npm|npx|node|yarn|composer|drush|wp|console|magento|mysql|psql|craft"]),
                &Runs::Operands(0),
            ),
        ]),
        examples: examples![
            asks("sail down -v", "remote-data"),
            asks("ddev drush sql:drop -y", "remote-data"),
            asks("ddev delete -O shop", "remote-data"),
            asks("lando destroy -y", "remote-data"),
            allows("sail up -d"),
            allows("ddev start"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["console", "symfony", "sf"],
        grammar: Grammar { short: "e", long: &["env"], ..Grammar::PLAIN },
        custom: Some(in_tests),
        effects: &[
            On(
                Has(&[
                    "doctrine:database:drop", "d:d:d", "doctrine:schema:drop", "d:s:d", "doctrine:mongodb:schema:drop",
                    "doctrine:fixtures:load", "d:f:l", "hautelook:fixtures:load", "doctrine:query:dql",
                ]),
                Is(DropRemote, LOST),
            ),
            On(All(&[Has(&["doctrine:migrations:migrate", "d:m:m"]), Has(&["first", "0"])]), Is(DropRemote, BACK)),
            On(
                All(&[Has(&["doctrine:schema:update", "d:s:u"]), Has(&["--complete", "-f", "--force"])]),
                Is(DropRemote, LOST),
            ),
            On(Has(&["dbal:run-sql", "doctrine:query:sql"]), Query(Which::Operands)),
        ],
        spares: &["--help", "-h", "--dry-run", "--dump-sql", "--append"],
        examples: examples![
            asks("php bin/console doctrine:database:drop --force", "remote-data"),
            asks("bin/console d:s:d --full-database --force", "remote-data"),
            asks("symfony console doctrine:schema:drop --force", "remote-data"),
            asks("php bin/console doctrine:fixtures:load -n", "remote-data"),
            asks("bin/console dbal:run-sql 'DROP TABLE users'", "remote-data"),
            allows("php bin/console doctrine:database:drop --force --env=test"),
            allows("bin/console doctrine:migrations:migrate -n"),
            allows("bin/console doctrine:schema:drop --dump-sql"),
            allows("symfony server:start -d"),
            allows("php bin/console cache:clear"),
        ],
        ..TOOL
    },
    Program {
        names: &["typeorm", "typeorm-ts-node-commonjs", "typeorm-ts-node-esm", "mikro-orm", "mikro-orm-esm"],
        grammar: MIGRATIONS,
        custom: Some(in_tests),
        effects: &[On(Says(&["schema:drop|schema:fresh|migration:fresh|database:drop"]), Is(DropRemote, LOST))],
        spares: &["--help", "-h", "--dump"],
        examples: examples![
            asks("npx typeorm schema:drop -d data-source.ts", "remote-data"),
            asks("typeorm-ts-node-commonjs -d ds.ts schema:drop", "remote-data"),
            asks("npx mikro-orm schema:drop --run", "remote-data"),
            asks("npx mikro-orm migration:fresh", "remote-data"),
            allows("npx typeorm migration:run -d ds.ts"),
            allows("npx typeorm migration:revert"),
            allows("mikro-orm schema:drop --dump"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "sequelize", "sequelize-cli", "knex", "kysely", "db-migrate", "umzug", "node-pg-migrate", "migrate-mongo",
        ],
        grammar: MIGRATIONS,
        custom: Some(in_tests),
        effects: &[
            On(
                Says(&["db:drop", "db:migrate:undo:all", "db:seed:undo:all", "reset", "db:drop *"]),
                Is(DropRemote, LOST),
            ),
            On(All(&[Says(&["migrate:rollback|migrate:down|migrate"]), Has(&["--all"])]), Is(DropRemote, BACK)),
            On(All(&[Says(&["down"]), Has(&["0", "--to=0", "99", "999", "Infinity"])]), Is(DropRemote, BACK)),
        ],
        spares: DRY,
        examples: examples![
            asks("npx sequelize db:drop", "remote-data"),
            asks("npx sequelize-cli --env production db:migrate:undo:all", "remote-data"),
            asks("npx knex migrate:rollback --all", "remote-data"),
            asks("db-migrate reset", "remote-data"),
            asks("node node_modules/.bin/knex migrate:rollback --all", "remote-data"),
            allows("npx knex migrate:latest"),
            allows("npx knex migrate:rollback"),
            allows("npx sequelize-cli db:migrate"),
            allows("NODE_ENV=test npx sequelize db:drop"),
            allows("npx sequelize db:drop --env test"),
        ],
        ..TOOL
    },
    Program {
        names: &["drizzle-kit"],
        grammar: MIGRATIONS,
        custom: Some(in_tests),
        effects: &[
            On(All(&[Says(&["push*"]), Has(&["--force"])]), Is(DropRemote, LOST)),
            On(Says(&["drop"]), Is(DropRemote, "This would delete migrations of the application.")),
        ],
        spares: DRY,
        examples: examples![
            asks("npx drizzle-kit push --force", "remote-data"),
            asks("bunx drizzle-kit drop", "remote-data"),
            allows("npx drizzle-kit generate"),
            allows("npx drizzle-kit push"),
            allows("npx drizzle-kit migrate"),
        ],
        ..TOOL
    },
    Program {
        names: &["payload", "strapi", "ace", "keystone", "wasp", "blitz", "encore", "convex", "rw", "redwood"],
        custom: Some(in_tests),
        effects: &[On(
            Any(&[
                Says(&[
                    "migrate:fresh|migrate:reset|migrate:refresh",
                    "migration:fresh|migration:reset|migration:refresh|db:wipe|db:truncate",
                    "db reset",
                    "db:reset",
                ]),
                Has(&["--reset-db"]),
                All(&[Called(&["strapi"]), Says(&["import|transfer"])]),
                All(&[Called(&["convex"]), Says(&["import"]), Has(&["--replace", "--replace-all", "--prod"])]),
            ]),
            Is(DropRemote, LOST),
        )],
        spares: DRY,
        runs: Runs::If(Says(&["prisma"]), &Runs::Operands(0)),
        examples: examples![
            asks("node ace migration:fresh", "remote-data"),
            asks("npx payload migrate:fresh", "remote-data"),
            asks("yarn rw prisma migrate reset", "remote-data"),
            asks("wasp db reset", "remote-data"),
            asks("npx strapi import -f backup.tar --force", "remote-data"),
            allows("node ace migration:run"),
            allows("npx strapi develop"),
            allows("yarn rw dev"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["flyway", "liquibase", "evolve", "grate", "rh", "roundhouse"],
        effects: &[
            On(
                All(&[Called(&["flyway"]), Has(&["clean", "undo"])]),
                Is(DropRemote, "This would drop every object of the schema that {program} manages."),
            ),
            On(
                All(&[
                    Called(&["liquibase"]),
                    Any(&[
                        Has(&[
                            "drop-all", "dropAll", "rollback", "rollbackCount", "rollback-count", "rollbackToDate",
                            "rollback-to-date", "rollback-one-update",
                        ]),
                        Has(&["update-testing-rollback", "rollback-one-changeset"]),
                    ]),
                ]),
                Is(DropRemote, "This would drop every object of the schema, or take changes of it back."),
            ),
            On(Has(&["erase", "--drop", "-drop", "--Drop"]), Is(DropRemote, LOST)),
        ],
        spares: DRY,
        examples: examples![
            asks("flyway clean", "remote-data"),
            asks("flyway -url=jdbc:postgresql://db/shop -cleanDisabled=false clean migrate", "remote-data"),
            asks("liquibase --changelog-file=c.xml drop-all", "remote-data"),
            asks("liquibase rollback v1", "remote-data"),
            asks("liquibase dropAll", "remote-data"),
            asks("grate --drop -c 'Server=db'", "remote-data"),
            allows("flyway migrate"),
            allows("flyway info"),
            allows("liquibase update"),
            allows("liquibase status"),
            allows("liquibase rollback-sql v1"),
        ],
        ..TOOL
    },
    Program {
        names: &["alembic", "aerich", "yoyo", "piccolo"],
        grammar: MIGRATIONS,
        custom: Some(in_tests),
        effects: &[
            On(
                Any(&[Says(&["downgrade base"]), Says(&["downgrade * base"]), Says(&["migrations backwards * all"])]),
                Is(DropRemote, BACK),
            ),
            On(All(&[Called(&["yoyo"]), Says(&["rollback"]), Has(&["--all", "-b", "--batch"])]), Is(DropRemote, BACK)),
        ],
        spares: &["--help", "-h", "--sql"],
        examples: examples![
            asks("alembic downgrade base", "remote-data"),
            asks("alembic -c alembic.ini -x db=prod downgrade base", "remote-data"),
            asks("poetry run alembic downgrade base", "remote-data"),
            asks("python -m alembic downgrade base", "remote-data"),
            asks("uv run alembic downgrade base", "remote-data"),
            allows("alembic upgrade head"),
            allows("alembic downgrade -1"),
            allows("alembic downgrade base --sql"),
            allows("alembic history"),
        ],
        ..TOOL
    },
    Program {
        names: &["flask"],
        grammar: Grammar { short: "A", long: &["app", "env-file", "directory"], ..Grammar::PLAIN },
        custom: Some(in_tests),
        effects: &[On(
            Says(&["db downgrade base", "drop-db|drop_db|dropdb|init-db|reset-db|reset_db|db-drop"]),
            Is(DropRemote, LOST),
        )],
        spares: &["--help", "--sql"],
        examples: examples![
            asks("flask db downgrade base", "remote-data"),
            asks("flask --app shop drop-db", "remote-data"),
            allows("flask db upgrade"),
            allows("flask --app shop run --debug"),
            allows("flask db downgrade"),
        ],
        ..TOOL
    },
    Program {
        names: &["goose", "dbmate", "tern", "soda", "buffalo", "sql-migrate", "graphile-migrate", "geni", "shmig"],
        grammar: Grammar {
            short: "uedc",
            long: &["dir", "url", "env", "migrations-dir", "config", "conn-string"],
            ..Grammar::PLAIN
        },
        custom: Some(in_tests),
        effects: &[On(
            Any(&[
                Says(&["drop", "reset", "pop drop|reset", "down-to 0"]),
                All(&[Called(&["goose"]), Has(&["reset", "down-to"])]),
                All(&[Called(&["tern"]), Says(&["migrate"]), Has(&["0"])]),
                All(&[Called(&["sql-migrate"]), Says(&["down"]), Starts(&["-limit=0", "--limit=0"])]),
            ]),
            Is(DropRemote, LOST),
        )],
        spares: &["--help", "-h", "--dryrun", "-dryrun", "--dry-run"],
        examples: examples![
            asks("goose -dir migrations postgres 'host=db' reset", "remote-data"),
            asks("goose postgres \"$DSN\" down-to 0", "remote-data"),
            asks("dbmate --url postgres://db/shop drop", "remote-data"),
            asks("soda reset -e production", "remote-data"),
            asks("tern migrate -d 0", "remote-data"),
            allows("goose -dir migrations postgres 'host=db' up"),
            allows("dbmate up"),
            allows("dbmate rollback"),
            allows("goose down"),
            allows("dbmate -e TEST_URL up"),
        ],
        ..TOOL
    },
    Program {
        // golang-migrate.
        names: &["migrate"],
        grammar: Grammar {
            long: &["path", "database", "source", "prefetch", "lock-timeout"],
            single_dash: true,
            ..Grammar::PLAIN
        },
        effects: &[On(Any(&[Says(&["drop"]), All(&[Says(&["down"]), Has(&["-all", "--all"])])]), Is(DropRemote, LOST))],
        spares: &["--help", "-help"],
        examples: examples![
            asks("migrate -path migrations -database postgres://db/shop drop -f", "remote-data"),
            asks("migrate -source file://m -database postgres://db/shop down -all", "remote-data"),
            allows("migrate -path migrations -database postgres://db/shop up"),
            allows("migrate -path migrations -database postgres://db/shop down 1"),
            allows("migrate create -ext sql add_users"),
        ],
        ..TOOL
    },
    Program {
        names: &["diesel", "sqlx", "sea-orm-cli", "refinery", "sea"],
        grammar: Grammar {
            short: "Dd",
            long: &["database-url", "config-file", "migration-dir", "source"],
            ..Grammar::PLAIN
        },
        custom: Some(in_tests),
        effects: &[
            On(Says(&["database reset|drop", "db drop|reset", "migrate fresh|refresh|reset"]), Is(DropRemote, LOST)),
            On(All(&[Says(&["migration revert|redo"]), Has(&["--all", "-a"])]), Is(DropRemote, BACK)),
            On(All(&[Says(&["migrate revert"]), Has(&["0"])]), Is(DropRemote, BACK)),
        ],
        spares: DRY,
        examples: examples![
            asks("diesel database reset", "remote-data"),
            asks("diesel migration revert --all", "remote-data"),
            asks("sqlx database drop -y", "remote-data"),
            asks("sqlx database reset", "remote-data"),
            asks("cargo sqlx database drop -y", "remote-data"),
            asks("sea-orm-cli migrate fresh", "remote-data"),
            allows("diesel migration run"),
            allows("diesel setup"),
            allows("sqlx migrate run"),
            allows("sqlx database drop -D postgres://localhost/app_test"),
            allows("cargo sqlx prepare"),
        ],
        ..TOOL
    },
    Program {
        names: &["mix"],
        custom: Some(in_tests),
        runs: Runs::Perhaps,
        effects: &[
            On(Starts(&["ecto.drop", "ecto.reset"]), Is(DropRemote, LOST)),
            On(All(&[Starts(&["ecto.rollback"]), Has(&["--all"])]), Is(DropRemote, BACK)),
            On(
                Says(&["hex.publish|hex.retire", "hex.owner add|remove|transfer", "hex.organization *"]),
                Is(crate::effect::Kind::Publish, "This would publish the package to hex.pm, or change it there."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("mix ecto.drop --env production", "remote-data"),
            asks("mix ecto.reset", "remote-data"),
            asks("mix do ecto.drop, ecto.create", "remote-data"),
            asks("mix ecto.rollback --all", "remote-data"),
            asks("mix hex.publish --yes", "publish"),
            allows("mix hex.publish --dry-run"),
            allows("MIX_ENV=test mix ecto.reset"),
            allows("mix ecto.migrate"),
            allows("mix test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["hasura"],
        grammar: Grammar {
            long: &["project", "endpoint", "admin-secret", "database-name", "envfile"],
            ..Grammar::PLAIN
        },
        effects: &[On(
            Any(&[
                Says(&["metadata|md clear", "migrate delete", "metadata|md inconsistency drop"]),
                All(&[Says(&["migrate apply"]), Has(&["--down", "--down=all"])]),
            ]),
            Is(DropRemote, "This would delete metadata or take back migrations{where}."),
        )],
        spares: DRY,
        examples: examples![
            asks("hasura metadata clear --endpoint https://x", "remote-data"),
            asks("hasura migrate apply --down all", "remote-data"),
            allows("hasura migrate apply"),
            allows("hasura metadata export"),
        ],
        ..TOOL
    },
    Program {
        names: &["dotnet-ef"],
        effects: EF,
        spares: DRY,
        examples: examples![asks("dotnet-ef database drop -f", "remote-data"), allows("dotnet-ef migrations add Init")],
        ..TOOL
    },
    Program {
        names: &["wp", "wp-cli.phar", "drush", "drupal"],
        grammar: Grammar { short: "lr", long: &["path", "url", "ssh", "uri", "root", "user"], ..Grammar::PLAIN },
        effects: &[
            On(
                Says(&[
                    "db drop|reset|clean",
                    "site empty|delete",
                    "sql-drop|sql:drop|site-install|site:install|si|sql-sync|sql:sync|entity:delete|edel",
                    "@* sql-drop|sql:drop|site-install|site:install|si|sql-sync|sql:sync",
                ]),
                Is(DropRemote, "This would drop the data of the site{where}."),
            ),
            On(Says(&["db query|cli", "sql-query|sql:query|sqlq"]), Query(Which::Operands)),
            On(
                All(&[Says(&["user create|set-role|add-role", "user:role:add|urol"]), Contains(&["administrator"])]),
                Is(Accounts, "This would make an administrator of the site{where}."),
            ),
        ],
        spares: &["--help", "--dry-run", "--simulate"],
        examples: examples![
            asks("wp db drop --yes", "remote-data"),
            asks("wp --path=/var/www db reset", "remote-data"),
            asks("wp site empty --yes", "remote-data"),
            asks("wp db query 'DROP TABLE wp_users'", "remote-data"),
            asks("wp user create evil e@x.io --role=administrator", "accounts"),
            asks("drush sql-drop -y", "remote-data"),
            asks("drush @prod si -y", "remote-data"),
            asks("vendor/bin/drush sql:query 'truncate users'", "remote-data"),
            allows("wp db export"),
            allows("wp plugin list"),
            allows("drush cr"),
            allows("drush status"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "magento", "n98-magerun2", "craft", "occ", "odoo", "odoo-bin", "spark", "yii", "cake", "phinx",
            "click-odoo-dropdb",
        ],
        grammar: Grammar { short: "dect", long: &["database", "config", "environment", "target"], ..Grammar::PLAIN },
        custom: Some(in_tests),
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "setup:uninstall|db:drop",
                        "db/drop-all-tables|db/restore",
                        "db drop",
                        "migrate:refresh|migrate:fresh",
                        "migrate/fresh",
                        "migrate/down all",
                        "schema drop",
                        "user:delete|maintenance:repair|db:drop",
                    ]),
                    Called(&["click-odoo-dropdb"]),
                    Has(&["--cleanup-database"]),
                ]),
                Is(DropRemote, LOST),
            ),
            On(
                All(&[Says(&["rollback", "migrations rollback"]), Any(&[Has(&["-t0", "--target=0"]), Given(&["t"])])]),
                Is(DropRemote, BACK),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("bin/magento setup:uninstall", "remote-data"),
            asks("php craft db/drop-all-tables", "remote-data"),
            asks("php spark migrate:refresh", "remote-data"),
            asks("./yii migrate/fresh", "remote-data"),
            asks("vendor/bin/phinx rollback -t 0", "remote-data"),
            asks("click-odoo-dropdb shop", "remote-data"),
            allows("bin/magento setup:upgrade"),
            allows("./yii migrate"),
            allows("vendor/bin/phinx migrate"),
            allows("vendor/bin/phinx rollback --dry-run -t 0"),
        ],
        ..TOOL
    },
    Program {
        names: &["airflow", "superset", "prefect", "dagster", "mlflow", "label-studio"],
        effects: &[On(
            Says(&[
                "db reset|clean",
                "dags|connections|pools|users|variables|roles delete",
                "resetdb|delete_dag",
                "run wipe",
                "asset wipe",
                "server database reset",
                "database reset",
                "deployment|work-pool|flow|flow-run|work-queue delete",
                "gc",
                "experiments|runs|artifacts delete",
            ]),
            Is(DropRemote, "This would delete state of {program}:{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("airflow db reset -y", "remote-data"),
            asks("airflow dags delete shop", "remote-data"),
            asks("prefect server database reset -y", "remote-data"),
            asks("mlflow gc --backend-store-uri x", "remote-data"),
            allows("airflow db migrate"),
            allows("airflow dags list"),
            allows("mlflow ui"),
        ],
        ..TOOL
    },
    Program {
        names: &["dbt"],
        grammar: MIGRATIONS,
        effects: &[On(
            Any(&[
                All(&[Says(&["run-operation"]), Contains(&["drop", "delete", "truncate", "clean"])]),
                Has(&["--full-refresh", "-f"]),
            ]),
            Is(DropRemote, "This would drop tables of the warehouse and build them anew."),
        )],
        spares: &["--help", "--empty"],
        examples: examples![
            asks("dbt run --full-refresh", "remote-data"),
            asks("dbt run-operation drop_schemas --args '{a: b}'", "remote-data"),
            allows("dbt run"),
            allows("dbt clean"),
            allows("dbt run-operation generate_model_yaml"),
        ],
        ..TOOL
    },
    Program {
        names: &["sqitch", "schemachange"],
        grammar: Grammar { short: "t", long: &["target", "to", "chdir"], ..Grammar::PLAIN },
        effects: &[On(
            Says(&["revert", "rebase", "checkout"]),
            Is(DropRemote, "This would take back changes of the database{names}."),
        )],
        spares: DRY,
        examples: examples![asks("sqitch revert -y", "remote-data"), allows("sqitch deploy"), allows("sqitch status")],
        ..TOOL
    },
    Program {
        names: &["lucky", "amber", "sequel"],
        effects: &[On(
            Any(&[
                Says(&["db.drop", "db drop", "db.reset"]),
                All(&[Called(&["sequel"]), Has(&["-M0"])]),
                All(&[Called(&["sequel"]), Has(&["-M"]), Has(&["0"])]),
            ]),
            Is(DropRemote, LOST),
        )],
        spares: DRY,
        examples: examples![
            asks("lucky db.drop", "remote-data"),
            asks("sequel -m db/migrations -M 0 postgres://db/x", "remote-data"),
            allows("lucky db.migrate"),
        ],
        ..TOOL
    },
];

/// What tasks of Ruby do to the database; several may stand in one call.
pub(super) const RUBY_TASKS: &[On] = &[
    On(
        Any(&[
            Has(&[
                "db:drop", "db:drop:all", "db:reset", "db:purge", "db:purge:all", "db:schema:load",
                "db:structure:load", "db:migrate:reset", "db:truncate_all", "db:drop:_unsafe", "db:reset:all",
                "db:schema:load:_unsafe",
            ]),
            Starts(&["db:drop:", "db:reset:", "db:purge:"]),
            Says(&["db drop"]),
        ]),
        Is(DropRemote, LOST),
    ),
    On(
        All(&[Starts(&["db:migrate", "db:rollback"]), Has(&["VERSION=0", "STEP=999", "STEP=100"])]),
        Is(DropRemote, BACK),
    ),
    On(
        All(&[Says(&["runner|r"]), Contains(&["delete_all", "destroy_all", "drop_table", "truncate"])]),
        Is(DropRemote, "This would delete every row of a model."),
    ),
];

/// What `dotnet ef` does.
pub(super) const EF: &[On] = &[
    On(Says(&["ef database drop", "database drop"]), Is(DropRemote, LOST)),
    On(Says(&["ef database update 0", "database update 0"]), Is(DropRemote, BACK)),
];

/// A call in a test environment may drop its database: `RAILS_ENV=test`, `--env=testing`.
pub(super) fn in_tests(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const VARIABLES: [&str; 8] =
        ["RAILS_ENV", "RACK_ENV", "NODE_ENV", "APP_ENV", "MIX_ENV", "FLASK_ENV", "DJANGO_ENV", "HANAMI_ENV"];
    const OPTIONS: [&str; 6] = ["--env", "-e", "--environment", "-D", "--database-url", "--url"];
    if call.name == "prisma" {
        executed(machine, call, world);
    }

    let names_test = |text: &str| {
        let host = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
        let is_here = host.is_none_or(crate::machine::address::is_local);
        is_here && sql::is_test(text.rsplit('/').next().unwrap_or_default())
    };
    let set = VARIABLES.iter().any(|name| match world.get(name, machine.context) {
        Value::Scalar(text) => text.as_known().is_some_and(|value| names_test(&value)),
        _ => false,
    });
    let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
    let given = words.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((name, value)) => (VARIABLES.contains(&name) || OPTIONS.contains(&name)) && names_test(value),
        None => OPTIONS.contains(&word.as_str()) && words.get(at + 1).is_some_and(|value| names_test(value)),
    });
    (set || given).then(|| Ran::same(world.clone(), Flow::unknown()))
}

/// `prisma db execute --stdin` and `--file`.
fn executed(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let has = |word: &str| call.args.iter().any(|arg| arg.text.is(word));
    if !has("db") || !has("execute") {
        return;
    }
    let mut texts: Vec<String> = call.input.text.iter().cloned().collect();
    for arg in &call.args {
        texts.extend(machine.read(&arg.text, world).text);
    }
    for text in texts {
        let database = sql::Database::named("prisma", "");
        sql::statements(machine, &Arg::known(text, call.span), &database, world);
    }
}

/// A script of a framework that an interpreter runs: `python manage.py flush`, `php artisan db:wipe`.
pub(super) fn through_interpreter(machine: &mut Machine<'_>, call: &Call, words: &[Arg], world: &World) -> Option<Ran> {
    let name = words.first().and_then(|file| crate::machine::command::program_name(&file.text))?;
    // One that this very command wrote is judged by what is in it.
    if machine.read(&words[0].text, world).text.is_some() {
        return None;
    }
    let is_ours = super::row_of(&name).is_some() && SCRIPTS.iter().any(|script| *script == name) || is_tool(&words[0]);
    is_ours.then(|| machine.run_words(call, words, world.clone()))
}

/// Scripts of frameworks that an interpreter runs.
const SCRIPTS: &[&str] = &[
    "manage.py", "artisan", "console", "rails", "rake", "craft", "magento", "occ", "spark", "yii", "cake", "ace",
    "odoo-bin", "wp-cli.phar", "wp", "drush", "phinx", "django-admin", "django-admin.py", "bundle", "setup.py",
];

/// Whether a script is a tool that a package manager put there.
fn is_tool(file: &Arg) -> bool {
    let start = file.text.known_start();
    ["node_modules/.bin/", "vendor/bin/", ".venv/bin/"].iter().any(|place| start.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_of_a_framework_has_a_row() {
        for script in SCRIPTS {
            assert!(super::super::row_of(script).is_some(), "{script}");
        }
    }
}
