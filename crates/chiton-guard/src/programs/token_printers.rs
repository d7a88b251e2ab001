//! Programs that print credentials: what comes out is as good as the key itself, so nobody shows it without asking.
//!
//! These are not the rows of these programs, which say what else they do. What they print may be used all the same: as
//! the input of a login, or in a header for the service that it belongs to.

use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

use super::row::When::{self, All, Always, Any, Bare, Contains, Has, Not, Operands, Starts, Verb};
use super::row::{self, Example, allows, asks};
use crate::machine::command::Call;
use crate::value::{Flow, Labels};

/// A program that prints credentials, and when.
pub(super) struct TokenPrinter {
    /// Its names; a trailing `*` stands for any rest.
    pub(super) names: &'static [&'static str],
    when: When,
    /// Calls of it and their verdicts.
    pub(super) examples: &'static [Example],
}

const RULE: &str = "credentials";

/// Names of settings and outputs that are secrets.
const SECRET_WORDS: &[&str] = &[
    "password", "Password", "PASSWORD", "passwd", "secret", "Secret", "SECRET", "token", "Token", "TOKEN", "api_key",
    "apiKey", "API_KEY", "private_key", "privateKey", "access_key", "accessKey", "credential", "connection_string",
];

pub(super) const ROWS: &[TokenPrinter] = &[
    // Forges.
    TokenPrinter {
        names: &["gh", "glab"],
        when: Any(&[
            All(&[Has(&["auth"]), Has(&["token"])]),
            All(&[Has(&["auth"]), Has(&["status"]), Has(&["-t", "--show-token"])]),
            All(&[Has(&["config"]), Has(&["get"]), Has(&["token", "oauth_token"])]),
        ]),
        examples: examples![
            asks("gh auth token", RULE),
            asks("gh auth status --show-token", RULE),
            asks("T=$(gh auth token); echo $T", RULE),
            asks("gh auth token | base64", RULE),
            asks("gh auth token > token.txt", RULE),
            asks("glab config get token", RULE),
            allows("gh auth status"),
            allows("gh auth token | docker login ghcr.io -u dev --password-stdin"),
            allows("curl -H \"Authorization: Bearer $(gh auth token)\" https://api.github.com/user"),
        ],
    },
    TokenPrinter {
        names: &["git"],
        when: Any(&[All(&[Has(&["credential"]), Has(&["fill"])]), All(&[Starts(&["credential-"]), Has(&["get"])])]),
        examples: examples![
            asks("git credential fill <<< host=github.com", RULE),
            asks("git credential-store get", RULE),
            allows("git credential approve < answer"),
        ],
    },
    TokenPrinter {
        names: &["git-credential-*", "docker-credential-*"],
        when: Has(&["get"]),
        examples: examples![
            asks("docker-credential-desktop get <<< https://index.docker.io/v1/", RULE),
            allows("docker-credential-desktop version"),
        ],
    },
    TokenPrinter {
        names: &["npm", "yarn", "pnpm"],
        when: Any(&[
            All(&[Verb(&["token"]), Not(&Has(&["revoke"]))]),
            All(&[Verb(&["config", "c", "get"]), Contains(&["_auth", "_password", "AuthToken", "authToken"])]),
        ]),
        examples: examples![
            asks("npm token list", RULE),
            asks("npm config get //registry.npmjs.org/:_authToken", RULE),
            asks("yarn config get npmAuthToken", RULE),
            allows("npm config get registry"),
        ],
    },
    // Clouds.
    TokenPrinter {
        names: &["aws", "awslocal"],
        when: Any(&[
            All(&[Has(&["configure"]), Has(&["get"]), Contains(&["secret", "token"])]),
            Has(&[
                "export-credentials",
                "get-session-token",
                "assume-role",
                "assume-role-with-saml",
                "assume-role-with-web-identity",
                "get-federation-token",
                "get-secret-value",
                "batch-get-secret-value",
                "get-login-password",
                "get-login",
                "get-authorization-token",
                "create-access-key",
                "get-token",
                "get-role-credentials",
                "get-password-data",
                "generate-db-auth-token",
                "get-cluster-credentials",
                "get-credentials-for-identity",
                "--with-decryption",
                "create-login-profile",
                "create-service-specific-credential",
                "get-random-password",
                "create-key-pair",
            ]),
            All(&[Has(&["kms"]), Has(&["decrypt"])]),
        ]),
        examples: examples![
            asks("aws configure get aws_secret_access_key", RULE),
            asks("aws configure export-credentials", RULE),
            asks("aws sts get-session-token", RULE),
            asks("aws secretsmanager get-secret-value --secret-id db", RULE),
            asks("aws ssm get-parameter --name db --with-decryption", RULE),
            asks("aws kms decrypt --ciphertext-blob fileb://x", RULE),
            allows("aws configure get region"),
            allows("aws sts get-caller-identity"),
            allows("aws ssm get-parameter --name db"),
            allows(
                "aws ecr get-login-password | docker login -u AWS --password-stdin 1.dkr.ecr.eu-west-1.amazonaws.com",
            ),
        ],
    },
    TokenPrinter {
        names: &["gcloud"],
        when: Any(&[
            Has(&["print-access-token", "print-identity-token", "print-refresh-token", "config-helper"]),
            All(&[Has(&["secrets"]), Has(&["access"])]),
            All(&[Has(&["service-accounts"]), Has(&["keys"]), Has(&["create"])]),
            All(&[Has(&["kms"]), Has(&["decrypt"])]),
        ]),
        examples: examples![
            asks("gcloud auth print-access-token", RULE),
            asks("gcloud auth application-default print-access-token", RULE),
            asks("gcloud secrets versions access latest --secret=db", RULE),
            allows("gcloud secrets list"),
            allows("gcloud auth list"),
            allows("curl -H \"Authorization: Bearer $(gcloud auth print-access-token)\" https://run.googleapis.com/v1"),
        ],
    },
    TokenPrinter {
        names: &["az"],
        when: Any(&[
            Has(&["get-access-token", "--expose-token", "show-connection-string", "create-for-rbac", "list-keys"]),
            All(&[Has(&["keyvault"]), Has(&["secret", "key", "certificate"]), Has(&["show", "download", "backup"])]),
            All(&[Has(&["keys", "key", "credential", "credentials"]), Has(&["list", "show", "renew", "reset"])]),
        ]),
        examples: examples![
            asks("az account get-access-token", RULE),
            asks("az keyvault secret show --name db --vault-name v", RULE),
            asks("az storage account keys list -n x", RULE),
            asks("az acr credential show -n x", RULE),
            allows("az account show"),
            allows("az keyvault secret list --vault-name v"),
        ],
    },
    TokenPrinter {
        names: &["kubectl", "oc", "k", "kubecolor"],
        when: Any(&[
            All(&[
                Has(&["get"]),
                Starts(&["secret"]),
                Starts(&["-o", "--output", "--template"]),
                Not(&Any(&[
                    Has(&["wide", "name"]),
                    Starts(&["-owide", "-oname", "-o=", "--output=wide", "--output=name"]),
                ])),
            ]),
            All(&[Has(&["get"]), Starts(&["secret"]), Starts(&["-o=json", "-o=yaml", "-o=go", "-o=custom"])]),
            All(&[Has(&["config"]), Has(&["view"]), Has(&["--raw"])]),
            All(&[Has(&["create"]), Has(&["token"])]),
            All(&[Has(&["whoami"]), Has(&["-t", "--show-token"])]),
            All(&[Has(&["extract"]), Starts(&["secret"]), Has(&["--to=-"])]),
            Has(&["view-secret", "get-secret"]),
        ]),
        examples: examples![
            asks("kubectl get secrets -o yaml", RULE),
            asks("kubectl -n prod get secret/db -ojsonpath='{.data}'", RULE),
            asks("kubectl get secret db -o jsonpath='{.data.password}' | base64 -d", RULE),
            asks("kubectl config view --raw", RULE),
            asks("kubectl create token default", RULE),
            asks("oc whoami -t", RULE),
            allows("kubectl get secrets"),
            allows("kubectl get secrets -o wide"),
            allows("kubectl get pods -o yaml"),
            allows("kubectl config view"),
        ],
    },
    TokenPrinter {
        names: &["terraform", "tofu", "terragrunt"],
        when: Any(&[
            All(&[Verb(&["output"]), Contains(SECRET_WORDS)]),
            All(&[Verb(&["output"]), Has(&["-json", "--json"]), Not(&Operands(2))]),
            All(&[Verb(&["state"]), Has(&["pull"])]),
        ]),
        examples: examples![
            asks("terraform output -raw db_password", RULE),
            asks("terraform output -json", RULE),
            asks("tofu state pull", RULE),
            allows("terraform output"),
            allows("terraform output -raw vpc_id"),
            allows("terraform output -json subnets"),
        ],
    },
    TokenPrinter {
        names: &["pulumi"],
        when: Any(&[Has(&["--show-secrets"]), All(&[Has(&["config"]), Has(&["get"]), Contains(SECRET_WORDS)])]),
        examples: examples![
            asks("pulumi stack output --show-secrets", RULE),
            asks("pulumi config get dbPassword", RULE),
            allows("pulumi config get aws:region"),
        ],
    },
    TokenPrinter {
        names: &["heroku"],
        when: Any(&[
            Has(&["auth:token", "config", "config:get", "pg:credentials:url"]),
            Has(&["authorizations:create"]),
        ]),
        examples: examples![
            asks("heroku auth:token", RULE),
            asks("heroku config -a web", RULE),
            asks("heroku config:get DATABASE_URL -a web", RULE),
            allows("heroku logs -a web"),
            allows("heroku config:set COLOUR=blue -a web"),
        ],
    },
    TokenPrinter {
        names: &[
            "fly", "flyctl", "databricks", "doctl", "argocd", "firebase", "stripe", "netlify", "vercel", "railway",
        ],
        when: Any(&[
            All(&[Has(&["auth"]), Has(&["token"])]),
            All(&[Has(&["tokens"]), Has(&["create"])]),
            All(&[Has(&["kubeconfig"]), Has(&["show"])]),
            Has(&["generate-token", "initial-password", "login:ci", "env:get", "env:list", "variables"]),
            All(&[Has(&["config"]), Has(&["--list"])]),
            All(&[Has(&["env"]), Has(&["pull"])]),
        ]),
        examples: examples![
            asks("fly auth token", RULE),
            asks("vercel env pull", RULE),
            asks("netlify env:list", RULE),
            asks("railway variables", RULE),
            asks("argocd admin initial-password", RULE),
            allows("fly status"),
            allows("vercel ls"),
        ],
    },
    // Stores of secrets.
    TokenPrinter {
        names: &["pass"],
        when: Not(&Any(&[
            Bare,
            Verb(&[
                "ls", "list", "find", "search", "insert", "add", "generate", "rm", "remove", "delete", "mv", "cp",
                "rename", "copy", "git", "init", "help", "version", "edit",
            ]),
        ])),
        examples: examples![
            asks("pass show web/github", RULE),
            asks("pass web/github", RULE),
            allows("pass ls"),
            allows("pass generate web/new"),
        ],
    },
    TokenPrinter {
        names: &["gopass", "rbw", "lpass", "credstash", "keyring"],
        when: Has(&["show", "cat", "get", "code", "otp", "export", "fscopy", "getall"]),
        examples: examples![
            asks("gopass show web/github", RULE),
            asks("rbw get github", RULE),
            asks("keyring get system dev", RULE),
            allows("gopass ls"),
        ],
    },
    TokenPrinter {
        names: &["op"],
        when: Any(&[
            Verb(&["read"]),
            All(&[Has(&["item", "document"]), Has(&["get"])]),
            All(&[Has(&["signin"]), Has(&["--raw"])]),
            Has(&["--reveal"]),
        ]),
        examples: examples![
            asks("op read op://team/db/password", RULE),
            asks("op item get db --fields password", RULE),
            allows("op item list"),
            allows("op run -- npm start"),
        ],
    },
    TokenPrinter {
        names: &["bw"],
        when: Any(&[
            Verb(&["get", "export"]),
            All(&[Verb(&["list"]), Has(&["items"])]),
            All(&[Verb(&["unlock", "login"]), Has(&["--raw"])]),
        ]),
        examples: examples![asks("bw get password db", RULE), asks("bw unlock --raw", RULE), allows("bw status")],
    },
    TokenPrinter {
        names: &["keepassxc-cli", "kpcli"],
        when: Verb(&["show", "clip", "export", "extract", "attachment-export"]),
        examples: examples![asks("keepassxc-cli show -s db.kdbx web", RULE), allows("keepassxc-cli ls db.kdbx")],
    },
    TokenPrinter {
        names: &["vault", "bao"],
        when: Any(&[
            Verb(&["read", "print", "unwrap"]),
            All(&[Verb(&["kv"]), Has(&["get"])]),
            All(&[Verb(&["token"]), Has(&["create", "lookup"])]),
            Has(&["-token-only"]),
            All(&[Verb(&["operator"]), Has(&["init", "generate-root"])]),
        ]),
        examples: examples![
            asks("vault kv get -field=password secret/db", RULE),
            asks("vault read secret/db", RULE),
            asks("vault print token", RULE),
            allows("vault status"),
            allows("vault kv list secret/"),
        ],
    },
    TokenPrinter {
        names: &["security"],
        when: Any(&[
            All(&[Verb(&["find-generic-password", "find-internet-password"]), Starts(&["-w", "-g"])]),
            Verb(&["dump-keychain", "export"]),
        ]),
        examples: examples![
            asks("security find-generic-password -w -s web", RULE),
            asks("security dump-keychain", RULE),
            allows("security list-keychains"),
        ],
    },
    TokenPrinter {
        names: &["secret-tool", "kwallet-query"],
        when: Any(&[Verb(&["lookup", "search"]), Has(&["-r", "--read-password"])]),
        examples: examples![
            asks("secret-tool lookup service web", RULE),
            allows("secret-tool store --label=x service web")
        ],
    },
    TokenPrinter {
        names: &["doppler", "infisical", "chamber", "aws-vault", "berglas", "teller", "envchain"],
        when: Any(&[
            All(&[Verb(&["secrets"]), Not(&Has(&["set", "delete", "upload"]))]),
            Verb(&["export", "read", "env", "access", "show"]),
        ]),
        examples: examples![
            asks("doppler secrets", RULE),
            asks("doppler secrets get DB --plain", RULE),
            asks("chamber read web db", RULE),
            asks("aws-vault export prod", RULE),
            allows("doppler run -- npm start"),
        ],
    },
    // Files that are encrypted for a reason.
    TokenPrinter {
        names: &["sops"],
        when: Any(&[Has(&["-d", "--decrypt", "--extract"]), Verb(&["decrypt"])]),
        examples: examples![
            asks("sops -d secrets.enc.yaml", RULE),
            asks("sops decrypt secrets.enc.yaml", RULE),
            allows("sops -e secrets.yaml"),
        ],
    },
    TokenPrinter {
        names: &["ansible-vault"],
        when: Verb(&["view", "decrypt"]),
        examples: examples![asks("ansible-vault view secrets.yml", RULE), allows("ansible-vault encrypt secrets.yml")],
    },
    TokenPrinter {
        names: &["age", "rage"],
        when: Has(&["-d", "--decrypt"]),
        examples: examples![asks("age -d -i key.txt secret.age", RULE), allows("age -r age1x -o notes.age notes.txt")],
    },
    TokenPrinter {
        names: &["gpg", "gpg2"],
        when: Starts(&["--export-secret"]),
        examples: examples![
            asks("gpg --export-secret-keys", RULE),
            asks("gpg -a --export-secret-keys dev > key.asc", RULE),
            allows("gpg --list-secret-keys"),
        ],
    },
    TokenPrinter {
        names: &["rails", "rake"],
        when: Has(&["credentials:show", "credentials:edit", "encrypted:show", "secrets:show"]),
        examples: examples![asks("rails credentials:show", RULE), allows("rails routes")],
    },
    // The machine.
    TokenPrinter {
        // Without a dash, `e` shows the environment of every process.
        names: &["ps"],
        when: Any(&[
            Has(&["e", "ew", "axe", "auxe", "auxef", "xe"]),
            Starts(&["eww", "auxew", "axew", "auxwwe", "axwwe"]),
        ]),
        examples: examples![asks("ps auxe", RULE), asks("ps eww", RULE), allows("ps -ef"), allows("ps aux")],
    },
    TokenPrinter {
        names: &["getent"],
        when: Verb(&["shadow", "gshadow"]),
        examples: examples![asks("getent shadow", RULE), allows("getent passwd dev")],
    },
    TokenPrinter {
        names: &["nmcli"],
        when: Has(&["-s", "--show-secrets"]),
        examples: examples![asks("nmcli -s connection show home", RULE), allows("nmcli connection show home")],
    },
    TokenPrinter {
        names: &["kubeseal"],
        when: Has(&["--recovery-unseal"]),
        examples: examples![asks("kubeseal --recovery-unseal < sealed.json", RULE), allows("kubeseal < secret.json")],
    },
    TokenPrinter {
        names: &["mimipenguin", "lazagne", "laZagne", "firefox_decrypt", "hashdump", "unshadow"],
        when: Always,
        examples: examples![asks("firefox_decrypt", RULE), allows("unshadow --help")],
    },
];

/// Rows by name.
static BY_NAME: LazyLock<NameIndex<TokenPrinter>> =
    LazyLock::new(|| NameIndex::new(ROWS.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row)))));

/// Whether this call prints credentials.
pub(super) fn prints_token(call: &Call) -> bool {
    let row = BY_NAME.rows(&call.name).next();
    row.is_some_and(|row| row::holds(call, &row.when))
}

/// What is printed, as credentials.
pub(super) fn as_token(flow: &Flow) -> Flow {
    Flow::labelled(flow.labels.without(Labels::PLAIN).with(Labels::UNKNOWN).with(Labels::KEPT).with(Labels::TOLD))
}
