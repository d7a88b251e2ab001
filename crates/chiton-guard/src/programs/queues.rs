//! Queues, brokers and schedulers: messages and topics that would be lost.

use super::options::Grammar;
use super::row::Does::{Is, Send, SendText};
use super::row::When::{All, Always, Any, Given, Has, Not, Operand, Says};
use super::row::{DRY, On, Program, TOOL, Which, allows, asks};
use crate::effect::Kind::{Accounts, DropRemote};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &[
            "kafka-topics", "kafka-topics.sh", "kafka-consumer-groups", "kafka-consumer-groups.sh", "kafka-acls",
            "kafka-acls.sh",
        ],
        grammar: Grammar {
            long: &["bootstrap-server", "topic", "group", "zookeeper", "command-config"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[Given(&["delete", "delete-offsets"]), All(&[Given(&["reset-offsets"]), Given(&["execute"])])]),
                Is(DropRemote, "This would delete a topic, a group or where its readers are{where}."),
            ),
            On(Given(&["remove"]), Is(Accounts, "This would change who may use the broker{where}.")),
        ],
        spares: DRY,
        examples: examples![
            asks("kafka-topics --bootstrap-server kafka:9092 --delete --topic orders", "remote-data"),
            asks("kafka-topics.sh --delete --topic '.*' --bootstrap-server kafka:9092", "remote-data"),
            asks(
                "kafka-consumer-groups.sh --bootstrap-server k --group g --reset-offsets --to-latest --execute --all-topics",
                "remote-data",
            ),
            allows("kafka-topics.sh --list --bootstrap-server localhost:9092"),
            allows("kafka-topics --create --topic x --bootstrap-server localhost:9092"),
            allows("kafka-consumer-groups.sh --bootstrap-server k --group g --reset-offsets --to-latest --dry-run"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "kafka-delete-records",
            "kafka-delete-records.sh",
            "kafka-storage",
            "kafka-storage.sh",
            "kafka-streams-application-reset",
        ],
        effects: &[On(
            Not(&Any(&[Operand(0, &["random-uuid", "info"])])),
            Is(DropRemote, "This would delete messages of the broker."),
        )],
        spares: DRY,
        examples: examples![
            asks("kafka-delete-records.sh --bootstrap-server k --offset-json-file x.json", "remote-data"),
            allows("kafka-storage.sh random-uuid"),
        ],
        ..TOOL
    },
    Program {
        names: &["rpk", "kaf", "kafkactl", "pulsar-admin"],
        grammar: Grammar { short: "Xb", long: &["brokers", "admin-url"], ..Grammar::PLAIN },
        effects: &[On(
            Says(&[
                "topic delete|trim-prefix",
                "group delete",
                "cluster decommission",
                "topics delete|delete-partitioned-topic|truncate",
                "namespaces|tenants|subscriptions delete",
                "delete topic|consumer-group",
                "redpanda decommission",
                "acl delete",
                "topics|namespaces clear-backlog",
            ]),
            Is(DropRemote, "This would delete{what} of the broker{where}, with the messages in it."),
        )],
        spares: DRY,
        examples: examples![
            asks("rpk topic delete orders", "remote-data"),
            asks("pulsar-admin topics delete persistent://a/b/c", "remote-data"),
            asks("kafkactl delete topic orders", "remote-data"),
            allows("rpk topic list"),
        ],
        ..TOOL
    },
    Program {
        names: &["rabbitmqctl", "rabbitmqadmin", "rabbitmq-queues"],
        grammar: Grammar {
            short: "npHPuV",
            long: &["node", "vhost", "host", "port", "username", "password"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Says(&[
                    "reset|force_reset|purge_queue|delete_queue|delete_vhost|delete_user|forget_cluster_node|clear_policy|stop_app",
                    "delete|purge queue|exchange|vhost|user|binding|policy",
                    "purge|delete *",
                    "clear_permissions",
                    "delete_shovel",
                ]),
                Is(DropRemote, "This would delete queues, messages or users of the broker{where}."),
            ),
            On(
                Says(&["set_permissions|set_user_tags|change_password"]),
                Is(Accounts, "This would change who may use the broker{where}."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("rabbitmqctl reset", "remote-data"),
            asks("rabbitmqctl -n rabbit@mq purge_queue orders", "remote-data"),
            asks("rabbitmqctl delete_vhost /", "remote-data"),
            asks("rabbitmqadmin delete queue name=orders", "remote-data"),
            asks("rabbitmqadmin -H mq purge queue name=orders", "remote-data"),
            asks("rabbitmqctl set_user_tags guest administrator", "accounts"),
            allows("rabbitmqctl list_queues"),
            allows("rabbitmqctl status"),
            allows("rabbitmqadmin get queue=orders"),
        ],
        ..TOOL
    },
    Program {
        names: &["nats"],
        grammar: Grammar { short: "s", long: &["server", "context", "creds", "user", "password"], ..Grammar::PLAIN },
        effects: &[
            On(Always, Send(Which::Arguments)),
            On(Always, SendText(Which::Arguments)),
            On(
                Says(&[
                    "stream|str|s rm|purge|rmm|delete|del|restore",
                    "consumer|con|c rm|delete|del",
                    "kv del|purge|rm|delete",
                    "object|obj del|rm|delete",
                    "account purge|restore",
                    "server cluster peer-remove",
                ]),
                Is(DropRemote, "This would delete{what} of the broker{where}, with the messages in it."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("nats stream rm ORDERS -f", "remote-data"),
            asks("nats -s nats://mq stream purge ORDERS --force", "remote-data"),
            asks("nats kv del config", "remote-data"),
            allows("nats stream ls"),
            allows("nats pub x hello"),
        ],
        ..TOOL
    },
    Program {
        names: &["celery"],
        grammar: Grammar { short: "Ab", long: &["app", "broker", "workdir"], ..Grammar::PLAIN },
        effects: &[On(
            Any(&[Says(&["purge", "amqp queue.purge|queue.delete"]), Has(&["--purge"])]),
            Is(DropRemote, "This would throw away all waiting tasks{where}."),
        )],
        spares: DRY,
        examples: examples![
            asks("celery -A app purge -f", "remote-data"),
            asks("celery -A app worker --purge", "remote-data"),
            allows("celery -A app worker -l info"),
            allows("celery -A app inspect active"),
        ],
        ..TOOL
    },
    Program {
        names: &["rq", "sidekiqctl", "beanstool", "mosquitto_ctrl", "activemq", "artemis", "emqx_ctl"],
        effects: &[On(
            Says(&[
                "empty", "purge", "kick", "queue purge|delete", "dynsec deleteClient|deleteRole", "delete",
                "cluster leave|force-leave", "data import",
            ]),
            Is(DropRemote, "This would throw away waiting messages{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("rq empty default", "remote-data"),
            asks("rq empty --all", "remote-data"),
            asks("artemis queue purge --name orders", "remote-data"),
            allows("rq info"),
            allows("rq worker default"),
        ],
        ..TOOL
    },
    Program {
        names: &["postsuper", "exim4"],
        effects: &[
            On(Has(&["-d", "-r", "-h"]), Is(DropRemote, "This would delete or hold mail that waits to be sent.")),
            On(Has(&["-Mrm", "-Mf", "-Mg"]), Is(DropRemote, "This would delete mail that waits to be sent.")),
        ],
        examples: examples![
            asks("postsuper -d ALL", "remote-data"),
            asks("exim4 -Mrm 1abc", "remote-data"),
            allows("exim4 -bp"),
            allows("postsuper -s"),
        ],
        ..TOOL
    },
    Program {
        names: &["nsupdate"],
        effects: &[On(Always, Is(DropRemote, "This would change records of the name service."))],
        spares: &["-V", "--help"],
        examples: examples![asks("nsupdate -k key update.txt", "remote-data"), allows("nsupdate -V")],
        ..TOOL
    },
    Program {
        names: &["octodns-sync", "dnscontrol", "flarectl", "cli53", "pdnsutil", "lexicon", "godaddy"],
        effects: &[On(
            Any(&[
                Has(&["--doit"]),
                Says(&[
                    "push",
                    "dns delete|d|update|create-or-update",
                    "zone delete|purge",
                    "rrdelete|rrpurge|delete",
                    "delete-zone|delete-rrset|replace-rrset|clear-zone",
                    "* delete|update",
                    "rrcreate|create-zone",
                ]),
            ]),
            Is(DropRemote, "This would change records of the name service{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("dnscontrol push", "remote-data"),
            asks("octodns-sync --config-file c.yml --doit", "remote-data"),
            asks("cli53 delete --purge example.com", "remote-data"),
            asks("flarectl dns delete --zone example.com --id x", "remote-data"),
            asks("pdnsutil delete-zone example.com", "remote-data"),
            allows("dnscontrol preview"),
            allows("octodns-sync --config-file c.yml"),
            allows("pdnsutil list-all-zones"),
        ],
        ..TOOL
    },
];
