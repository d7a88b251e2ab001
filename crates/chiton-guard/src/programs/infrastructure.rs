//! Infrastructure as code and tools that work on many machines: what they take down, or change unseen.

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Any, Called, Has, Not, Says};
use super::row::{On, PROGRAM, Program, TOOL, allows, asks, denies};
use crate::effect::Kind::{Accounts, DropRemote, Publish};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};

const DOWN: &str = "This would take down what is deployed{where}:{names}.";
const UNSEEN: &str = "This would change what is deployed without showing it first{where}.";
const STATE: &str = "This would change what the tool knows of what is deployed, which is then lost to it:{names}.";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["terraform", "tofu", "terragrunt", "tf", "opentofu"],
        grammar: Grammar {
            long: &[
                "chdir", "var", "var-file", "target", "state", "out", "backend-config", "terragrunt-working-dir",
                "working-dir", "lock-timeout", "parallelism",
            ],
            single_dash: true,
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "destroy", "run-all destroy", "run --all destroy", "destroy-all", "run destroy",
                        "stack run destroy", "all destroy",
                    ]),
                    All(&[Says(&["apply", "run-all apply"]), Has(&["-destroy", "--destroy"])]),
                ]),
                Is(DropRemote, DOWN),
            ),
            On(
                All(&[
                    Says(&["apply", "run-all apply", "apply-all", "run apply", "refresh"]),
                    Not(&Has(&["-destroy", "--destroy"])),
                    Has(&[
                        "-auto-approve", "--auto-approve", "-auto-approve=true", "--auto-approve=true",
                        "--terragrunt-non-interactive", "--non-interactive",
                    ]),
                ]),
                Is(DropRemote, UNSEEN),
            ),
            On(
                Says(&["state rm|push|mv|replace-provider", "taint", "force-unlock", "workspace delete", "untaint"]),
                Is(DropRemote, STATE),
            ),
        ],
        spares: &["--help", "-help", "-h", "-dry-run", "--dry-run"],
        examples: examples![
            asks("terraform destroy", "remote-data"),
            asks("terraform -chdir=infra destroy -auto-approve", "remote-data"),
            asks("terraform apply -auto-approve", "remote-data"),
            asks("terraform apply -destroy", "remote-data"),
            asks("tofu apply --auto-approve -var-file=prod.tfvars", "remote-data"),
            asks("tofu state rm module.x", "remote-data"),
            asks("terraform state push x.tfstate", "remote-data"),
            asks("terraform taint aws_instance.web", "remote-data"),
            asks("terraform force-unlock -force x", "remote-data"),
            asks("terraform workspace delete prod", "remote-data"),
            asks("terragrunt run-all destroy --terragrunt-non-interactive", "remote-data"),
            asks("yes yes | terraform destroy", "remote-data"),
            allows("terraform plan"),
            allows("terraform plan -destroy"),
            allows("terraform apply"),
            allows("terraform -help destroy"),
            allows("terraform destroy -help"),
            allows("terraform state list"),
            allows("terraform state show module.destroy"),
            allows("terraform plan -target destroy"),
            allows("terraform fmt -check && terraform validate"),
            allows("tofu init"),
            allows("terraform workspace select prod"),
        ],
        ..TOOL
    },
    Program {
        names: &["pulumi"],
        grammar: Grammar {
            short: "sCc",
            long: &["stack", "cwd", "config", "target", "message", "color"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(Says(&["destroy|down|dn", "stack rm|remove", "org *", "logout --all"]), Is(DropRemote, DOWN)),
            On(
                All(&[
                    Says(&["up|update|refresh|import|watch"]),
                    Has(&["--yes", "-y", "--skip-preview", "-f", "--yes=true"]),
                ]),
                Is(DropRemote, UNSEEN),
            ),
            On(
                Says(&["state delete|unprotect|rename|edit", "cancel", "stack import", "config rm|rm-all"]),
                Is(DropRemote, STATE),
            ),
        ],
        spares: &["--help", "-h", "--preview-only", "--dry-run"],
        examples: examples![
            asks("pulumi destroy -y", "remote-data"),
            asks("pulumi -s prod -C infra down", "remote-data"),
            asks("pulumi stack rm -f x", "remote-data"),
            asks("pulumi up -y", "remote-data"),
            asks("pulumi up --skip-preview", "remote-data"),
            asks("pulumi state delete urn:x", "remote-data"),
            allows("pulumi preview"),
            allows("pulumi up"),
            allows("pulumi stack ls"),
            allows("pulumi config set x y"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "cdk", "cdktf", "sst", "sam", "copilot", "amplify", "chalice", "zappa", "serverless", "sls", "ampx",
            "nitric", "shuttle", "claudia",
        ],
        grammar: Grammar {
            short: "cas",
            long: &[
                "context", "app", "stage", "profile", "region", "stack-name", "output", "config", "aws-profile",
                "name", "require-approval", "template-file",
            ],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Says(&[
                    "destroy",
                    "remove",
                    "delete",
                    "app|env|svc|job|pipeline|secret delete",
                    "env|storage|hosting remove",
                    "undeploy",
                    "rollback",
                    "sandbox delete",
                    "stack down",
                    "project delete",
                    "down",
                    "unschedule",
                ]),
                Is(DropRemote, DOWN),
            ),
            On(
                Says(&[
                    "deploy", "svc|job|env|pipeline deploy", "sync", "push", "publish", "update", "pipeline-deploy",
                    "deploy *", "bootstrap", "project deploy",
                ]),
                Is(Publish, "This would change what is deployed in a cloud{where}."),
            ),
        ],
        spares: &[
            "--help", "-h", "--dry-run", "--dryrun", "--noDeploy", "--no-execute", "--no-execute-changeset", "--local",
        ],
        examples: examples![
            asks("cdk destroy --force", "remote-data"),
            asks("cdk deploy --require-approval never", "publish"),
            asks("npx cdk deploy --all", "publish"),
            asks("sls remove --stage prod", "remote-data"),
            asks("serverless deploy", "publish"),
            asks("sam delete --no-prompts", "remote-data"),
            asks("sam deploy --guided", "publish"),
            asks("copilot app delete --yes", "remote-data"),
            asks("amplify delete --force", "remote-data"),
            asks("npx sst remove --stage prod", "remote-data"),
            asks("cdktf destroy --auto-approve", "remote-data"),
            allows("cdk diff"),
            allows("cdk synth"),
            allows("cdk deploy --no-execute"),
            allows("sam build"),
            allows("sam local invoke"),
            allows("sls offline"),
            allows("sls info"),
            allows("npx cdk list"),
        ],
        ..TOOL
    },
    Program {
        names: &["vagrant"],
        custom: Some(in_virtual_machine),
        effects: &[On(
            Says(&[
                "destroy", "box remove|prune", "snapshot delete|restore|pop", "cloud box delete",
                "cloud version delete",
            ]),
            Is(DropRemote, "This would delete a virtual machine{names} with everything in it."),
        )],
        spares: &["--help", "-h"],
        examples: examples![
            asks("vagrant destroy -f", "remote-data"),
            asks("vagrant snapshot delete base", "remote-data"),
            asks("vagrant ssh -c 'dropdb shop'", "remote-data"),
            allows("vagrant up"),
            allows("vagrant halt"),
            allows("vagrant status"),
            allows("vagrant ssh -c 'ls'"),
            allows("vagrant box list"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ansible"],
        custom: Some(on_hosts),
        examples: examples![
            denies("ansible all -m shell -a 'rm -rf /'", "delete-root"),
            denies("ansible all -a 'rm -rf /'", "delete-root"),
            denies("ansible -i hosts web -b -m ansible.builtin.command -a 'rm -rf /etc'", "delete-system"),
            asks("ansible db -m postgresql_db -a 'name=shop state=absent'", "remote-data"),
            asks("ansible all -m reboot", "remote-data"),
            asks("ansible all -m user -a 'name=evil groups=sudo'", "accounts"),
            allows("ansible all -m ping"),
            allows("ansible all -m setup"),
            allows("ansible all -m shell -a uptime"),
            allows("ansible all --list-hosts"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "salt", "salt-call", "salt-ssh", "salt-run", "mco", "bolt", "pdsh", "clush", "pssh", "parallel-ssh", "dsh",
            "fab", "pyinfra", "knife", "capistrano", "cap", "mina", "kamal",
        ],
        grammar: Grammar {
            short: "lwgHuitnCc",
            long: &["targets", "hosts", "user", "host", "limit", "hosts-file", "inline"],
            ..Grammar::PLAIN
        },
        custom: Some(on_many),
        effects: &[
            On(
                Any(&[
                    All(&[
                        Called(&["knife"]),
                        Says(&[
                            "node|client|cookbook|environment|role|data delete|bulk",
                            "* server delete",
                            "data bag delete",
                        ]),
                    ]),
                    All(&[Called(&["knife"]), Says(&["* delete", "* * delete", "* bulk delete"])]),
                    All(&[Called(&["kamal"]), Says(&["remove", "app remove|stop", "accessory remove", "prune *"])]),
                    All(&[
                        Called(&["salt", "salt-ssh", "salt-call"]),
                        Has(&[
                            "file.remove", "system.reboot", "system.poweroff", "pkg.remove", "pkg.purge",
                            "mysql.db_remove", "postgres.db_remove", "user.delete",
                        ]),
                    ]),
                ]),
                Is(DropRemote, "This would delete something on other machines:{names}."),
            ),
            On(
                Any(&[
                    All(&[Called(&["kamal"]), Says(&["deploy|redeploy|rollback|setup"])]),
                    All(&[
                        Called(&["cap", "mina", "capistrano"]),
                        Any(&[Says(&["* deploy*", "deploy*"]), Has(&["deploy", "deploy:rollback"])]),
                    ]),
                ]),
                Is(Publish, "This would change what is deployed on other machines."),
            ),
        ],
        spares: &["--help", "-h", "--dry-run", "--noop", "test=True", "-n"],
        examples: examples![
            denies("salt '*' cmd.run 'rm -rf /'", "delete-root"),
            denies("pdsh -w web[1-3] rm -rf /", "delete-root"),
            denies("clush -w web1 'rm -rf /etc'", "delete-system"),
            denies("bolt command run 'rm -rf /' -t web", "delete-root"),
            denies("fab -- rm -rf /", "delete-root"),
            denies("pssh -H web1 -i 'rm -rf /'", "delete-root"),
            asks("salt '*' system.reboot", "remote-data"),
            asks("knife node delete web -y", "remote-data"),
            asks("knife ec2 server delete i-1", "remote-data"),
            asks("kamal remove -y", "remote-data"),
            asks("kamal deploy", "publish"),
            asks("cap production deploy", "publish"),
            allows("salt '*' test.ping"),
            allows("salt '*' cmd.run uptime"),
            allows("pdsh -w web[1-3] uptime"),
            allows("knife node list"),
            allows("kamal app logs"),
            allows("fab test"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "ansible-galaxy", "ansible-vault", "packer", "puppet", "chef-client", "chef", "nixops", "colmena", "morph",
            "deploy-rs", "waypoint", "boundary", "spacectl", "infracost", "env0", "cloud-nuke", "aws-nuke", "awsnuke",
            "leapp",
        ],
        effects: &[
            On(
                Any(&[
                    Called(&["cloud-nuke", "aws-nuke", "awsnuke"]),
                    Says(&[
                        "node|cert clean|purge|deactivate",
                        "destroy|delete",
                        "cert|certificate revoke|destroy",
                        "delete-*|destroy",
                    ]),
                    All(&[Called(&["waypoint"]), Says(&["destroy"])]),
                ]),
                Is(DropRemote, DOWN),
            ),
            On(
                All(&[Called(&["ansible-galaxy"]), Says(&["collection publish", "role import|delete"])]),
                Is(Publish, "This would publish to a registry."),
            ),
            On(
                All(&[Called(&["boundary"]), Says(&["roles|users|accounts *"])]),
                Is(Accounts, "This would change who may use machines."),
            ),
        ],
        spares: &["--help", "-h", "--noop", "--dry-run", "--list-resource-types", "--no-op"],
        examples: examples![
            asks("cloud-nuke aws --region us-east-1 --force", "remote-data"),
            asks("aws-nuke run -c nuke.yml --no-dry-run", "remote-data"),
            asks("nixops destroy -d shop", "remote-data"),
            asks("puppet node purge web", "remote-data"),
            asks("ansible-galaxy collection publish x.tar.gz", "publish"),
            allows("packer build image.pkr.hcl"),
            allows("packer validate ."),
            allows("puppet apply --noop site.pp"),
            allows("ansible-galaxy install geerlingguy.docker"),
            allows("cloud-nuke aws --dry-run"),
        ],
        ..TOOL
    },
];

/// `vagrant ssh -c command`: it cannot hurt more than a virtual machine, so it is asked about at most.
fn in_virtual_machine(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &Grammar { short: "c", long: &["command"], ..Grammar::PLAIN });
    let text = options.value(&["c", "command"])?;
    machine.asking_at_most(|machine| drop(machine.run_text(text, world.clone(), &call.input)));
    None
}

/// `ansible -m shell -a text`; without a module it is a command, too.
fn on_hosts(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const ANSIBLE: Grammar = Grammar {
        short: "mailcfuetM",
        long: &["args", "module-name", "inventory", "module-args", "limit", "user", "extra-vars", "forks", "tree"],
        ..Grammar::PLAIN
    };
    let options = Options::read(&call.args, &ANSIBLE);
    let module = options.value(&["m", "module-name"]).map(|module| module.text.display()).unwrap_or_default();
    let module = module.rsplit('.').next().unwrap_or_default();
    if options.has(&["check", "C", "list-hosts", "help", "syntax-check"]) {
        return None;
    }
    let text = options.value(&["a", "args", "module-args"]);
    if let Some(text) = text
        && ["", "shell", "command", "raw", "win_shell", "script"].contains(&module)
    {
        machine.run_text(text, world.clone(), &call.input);
    }

    let is_gone = text.is_some_and(|text| {
        let words = text.text.display();
        words.contains("state=absent") || words.contains("state: absent") || words.contains("state=dropped")
    });
    if is_gone && module != "file" || ["reboot", "shutdown", "parted", "lvg", "lvol", "filesystem"].contains(&module) {
        let reason = format!("This would delete or stop something on other machines (`{module}`).");
        machine.state(DropRemote, reason, call.span, None);
    } else if ["user", "authorized_key", "group", "sudoers"].contains(&module) {
        let reason = format!("This would change who may use other machines (`{module}`).");
        machine.state(Accounts, reason, call.span, None);
    }
    None
}

/// Tools that run a command on many machines: it is one of their words, or all behind the machines.
fn on_many(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const GRAMMAR: Grammar = Grammar {
        short: "wgHulxtofnpIeh",
        long: &["hosts", "user", "host", "targets", "timeout", "fanout", "inventory"],
        stops: true,
        ..Grammar::PLAIN
    };
    let behind = call.args.iter().position(|arg| arg.text.is("--")).map(|at| &call.args[at + 1..]);
    let is = |arg: &crate::value::Arg, words: &[&str]| words.iter().any(|word| arg.text.is(word));
    match call.name.as_str() {
        "salt" | "salt-ssh" | "salt-call" => {
            let at = call
                .args
                .iter()
                .position(|arg| is(arg, &["cmd.run", "cmd.shell", "cmd.run_all", "cmd.script", "cmd.run_stdout"]))?;
            machine.run_text(call.args.get(at + 1)?, world.clone(), &call.input);
        }
        "bolt" => {
            let at = call.args.iter().position(|arg| is(arg, &["run"]))?;
            machine.run_text(call.args.get(at + 1)?, world.clone(), &call.input);
        }
        "pdsh" | "clush" | "pssh" | "parallel-ssh" | "dsh" => {
            let words = match behind {
                Some(words) => words.to_vec(),
                None => Options::read(&call.args, &GRAMMAR).operands,
            };
            super::shells::run_joined(machine, &words, call, world.clone());
        }
        "fab" => {
            super::shells::run_joined(machine, behind?, call, world.clone());
        }
        _ => {}
    }
    None
}
