//! Forges, and requests to services: what others see of a project.

use super::options::{Grammar, Options};
use super::row::Does::{Is, OneOf, Send};
use super::row::When::{All, Always, Any, Called, Given, Has, Not, Says};
use super::row::{DRY_LONG, On, PROGRAM, Prints, Program, Which, allows, asks};
use crate::effect::Kind::{self, Accounts, DropRemote, Escape, Publish};
use crate::machine::address::is_local;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Text};

const FORGE: Grammar = Grammar {
    short: "RXfFHtbqnBrse",
    long: &[
        "repo", "method", "field", "raw-field", "header", "input", "hostname", "jq", "template", "title", "body",
        "notes", "notes-file", "target", "visibility", "default-branch", "env", "org", "app", "body-file", "json",
        "branch", "ref", "group", "reason", "limit", "state", "label", "assignee", "subject", "login", "preview",
    ],
    flags: &["yes", "admin", "public", "private", "delete-branch", "squash", "merge", "rebase", "draft", "paginate"],
    ..Grammar::PLAIN
};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["gh"],
        grammar: FORGE,
        custom: Some(api),
        effects: &[
            On(Says(&["gist|release create|new|upload|edit"]), Send(Which::Arguments)),
            On(
                Any(&[
                    Says(&[
                        "repo delete|archive|rename|transfer|unarchive",
                        "release delete|delete-asset",
                        "issue delete|transfer",
                        "gist delete",
                        "secret|variable delete|remove",
                        "label delete",
                        "codespace|cs delete",
                        "project delete|item-delete|field-delete|close",
                        "workflow disable",
                        "pr delete",
                        "repo deploy-key delete",
                        "org delete",
                        "ruleset delete",
                        "discussion delete",
                    ]),
                    All(&[
                        Says(&["repo edit"]),
                        Given(&["visibility", "default-branch", "private", "public", "delete-branch-on-merge"]),
                    ]),
                    All(&[Says(&["repo sync"]), Given(&["force"])]),
                    All(&[Says(&["label clone"]), Has(&["--force"])]),
                ]),
                Is(DropRemote, "This would delete or change what others use{where}:{names}."),
            ),
            On(
                Says(&[
                    "ssh-key|gpg-key add|delete", "repo deploy-key add", "secret|variable set",
                    "codespace|cs ports visibility", "auth refresh",
                ]),
                OneOf(&[
                    On(Says(&["auth *"]), Is(Accounts, "This would widen what the login to the forge may do.")),
                    On(Always, Is(Accounts, "This would change keys or secrets of the forge{where}:{names}.")),
                ]),
            ),
            On(
                Any(&[
                    All(&[Says(&["release create|new"]), Not(&Given(&["draft"]))]),
                    Says(&["release edit|upload", "pr merge", "workflow run"]),
                ]),
                Is(Publish, "This would change what others get of the project{where}:{names}."),
            ),
        ],
        prints: Prints::Settings,
        prompts: &[(All(&[Has(&["login"]), Not(&Has(&["--with-token"]))]), "it asks for a login; use --with-token")],
        spares: DRY_LONG,
        examples: examples![
            asks("gh repo delete owner/name", "remote-data"),
            asks("gh repo delete owner/repo --yes", "remote-data"),
            asks("gh -R owner/name repo archive -y", "remote-data"),
            asks("gh repo edit --visibility public --accept-visibility-change-consequences", "remote-data"),
            asks("gh repo rename other --yes", "remote-data"),
            asks("gh release delete v1 -y", "remote-data"),
            asks("gh release delete-asset v1 x -y", "remote-data"),
            asks("gh issue delete 3 --yes", "remote-data"),
            asks("gh secret delete TOKEN", "remote-data"),
            asks("gh secret set TOKEN -b x", "accounts"),
            asks("gh variable delete X", "remote-data"),
            asks("gh ssh-key add key.pub", "accounts"),
            asks("gh gpg-key delete x", "accounts"),
            asks("gh workflow disable ci.yml", "remote-data"),
            asks("gh workflow run deploy.yml", "publish"),
            asks("gh release create v1 dist/app.tar.gz", "publish"),
            asks("gh release upload v1 dist/app.tar.gz --clobber", "publish"),
            asks("gh pr merge 3 --squash", "publish"),
            asks("gh pr merge --admin -d 3", "publish"),
            asks("gh gist create ~/.ssh/id_rsa", "exfiltration"),
            asks("gh api -X DELETE repos/a/b", "remote-data"),
            asks("gh api -XDELETE /repos/a/b", "remote-data"),
            asks("gh api --method DELETE /repos/x/y", "remote-data"),
            asks("gh api --method=delete repos/x/y/branches/main/protection", "remote-data"),
            asks("gh api -X PATCH repos/a/b -f archived=true", "remote-data"),
            asks("gh api repos/a/b -X PUT -f x=y", "remote-data"),
            asks("gh api -X PUT repos/a/b/pulls/1/merge", "publish"),
            asks("gh api repos/a/b/keys -f title=x -f key=y", "accounts"),
            asks("gh api repos/a/b/hooks --input hook.json", "accounts"),
            asks(
                "gh api graphql -f query='mutation { deleteRef(input: {refId: \"x\"}) { clientMutationId } }'",
                "remote-data",
            ),
            asks("gh alias set x '!rm -rf ~'", "hidden-run"),
            allows("gh api repos/a/b/pulls --jq '.[].number'"),
            allows("gh api user"),
            allows("gh api repos/a/b/issues -f title=x"),
            allows("gh api -X PATCH repos/a/b/issues/1 -f state=closed"),
            allows("gh api -X POST repos/a/b/issues/1/comments -f body=delete"),
            allows("gh api graphql -f query='query { viewer { login } }'"),
            allows("gh pr list"),
            allows("gh pr create --title 'gh repo delete' --body x"),
            allows("gh pr close 3"),
            allows("gh pr checkout 3"),
            allows("gh run cancel 1"),
            allows("gh run delete 1"),
            allows("gh release create v1 --draft --notes x"),
            allows("gh release list"),
            allows("gh repo clone a/b"),
            allows("gh repo delete --help"),
            allows("gh search repos delete"),
            allows("gh issue close 3"),
            allows("gh secret list"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["glab", "tea", "hub", "gitea", "forgejo", "berg"],
        grammar: FORGE,
        custom: Some(api),
        effects: &[
            On(
                Any(&[
                    Says(&[
                        "repo|project|projects|repos|r delete|archive|transfer|rm",
                        "release|releases delete",
                        "issue|issues|mr|mrs|incident delete",
                        "variable|schedule|label|milestone|milestones|snippet delete",
                        "ci delete",
                        "delete",
                        "token revoke",
                        "admin user delete",
                        "admin repo *",
                    ]),
                    All(&[
                        Called(&["gitea", "forgejo"]),
                        Says(&["admin user delete|change-password", "doctor *", "restore-repo"]),
                    ]),
                ]),
                Is(DropRemote, "This would delete or change what others use{where}:{names}."),
            ),
            On(
                Says(&[
                    "ssh-key|deploy-key add|delete",
                    "variable set|update",
                    "token create",
                    "admin user create|generate-access-token",
                ]),
                Is(Accounts, "This would change keys or secrets of the forge{where}:{names}."),
            ),
            On(
                Says(&[
                    "release|releases create|upload|edit",
                    "mr merge|accept",
                    "pr|pulls merge",
                    "repo|project publish *",
                ]),
                Is(Publish, "This would change what others get of the project{where}:{names}."),
            ),
            On(Says(&["snippet|release|gist create|upload|edit"]), Send(Which::Arguments)),
        ],
        prints: Prints::Settings,
        spares: DRY_LONG,
        examples: examples![
            asks("glab repo delete owner/name", "remote-data"),
            asks("glab -R owner/name mr merge 3 -y", "publish"),
            asks("glab api -X DELETE projects/1", "remote-data"),
            asks("glab variable delete X", "remote-data"),
            asks("glab release create v1", "publish"),
            asks("glab ssh-key add key.pub -t x", "accounts"),
            asks("tea releases delete v1 --confirm", "remote-data"),
            asks("tea pulls merge 3", "publish"),
            asks("hub delete -y a/b", "remote-data"),
            asks("hub api -X DELETE repos/a/b", "remote-data"),
            allows("glab mr list"),
            allows("glab mr create --fill"),
            allows("glab ci status"),
            allows("glab api projects/1"),
            allows("tea issues ls"),
            allows("hub pull-request -m x"),
        ],
        ..PROGRAM
    },
];

/// `gh api`: what a request changes.
fn api(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &FORGE);
    let first = options.operands.first()?;
    if first.text.is("alias") {
        hidden_alias(machine, &options.operands, call, world);
        return None;
    }
    if !first.text.is("api") || call.args.iter().any(|arg| arg.text.is("--help")) {
        return None;
    }

    let path = options.operands.get(1).map(|path| path.text.display()).unwrap_or_default();
    let fields: Vec<String> = options
        .values(&["f", "F", "field", "raw-field", "input"])
        .map(|field| field.text.display())
        .chain(call.input.text.iter().cloned())
        .collect();
    let method = options.value(&["X", "method"]).map(|method| method.text.display().to_ascii_uppercase());
    let has_body = options.has(&["f", "F", "field", "raw-field", "input"]);
    let method = method.unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned());
    if let Some((kind, reason)) = forge_request(&method, &path, &fields.join("\n")) {
        machine.state(kind, reason, call.span, Some(path));
    }
    None
}

/// `gh alias set x '!command'`.
fn hidden_alias(machine: &mut Machine<'_>, operands: &[Arg], call: &Call, world: &World) {
    let Some(text) = operands.get(3) else { return };
    let shown = text.text.display();
    let is_shell = shown.starts_with('!') || call.args.iter().any(|arg| arg.text.is("--shell") || arg.text.is("-s"));
    if is_shell {
        let reason = format!("This alias would run `{}` whenever it is used.", shown.trim_start_matches('!'));
        machine.state(Kind::RunHidden, reason, text.span, Some(shown.clone()));
        machine.asking_at_most(|machine| {
            machine.script(shown.trim_start_matches('!'), world.clone(), &call.input, text.span);
        });
    }
}

/// What a request to a forge changes that others would miss.
fn forge_request(method: &str, path: &str, body: &str) -> Option<(Kind, String)> {
    const KEYS: [&str; 9] = [
        "/keys", "/hooks", "/secrets", "/collaborators", "/members", "/invitations", "/runners", "/deploy_keys",
        "/variables",
    ];
    const OWN: [&str; 7] =
        ["/issues/", "/pulls/", "/comments/", "/merge_requests/", "/notes/", "/notifications", "/starred"];
    let is_about = |parts: &[&str]| parts.iter().any(|part| path.contains(part));
    let request = || format!("`{method} {path}`");
    match method {
        "GET" | "HEAD" | "OPTIONS" => None,
        "DELETE" => Some((DropRemote, format!("This would delete something that others may use: {}.", request()))),
        "PUT" if is_about(&["/merge"]) => {
            Some((Publish, format!("This would change what others get of the project: {}.", request())))
        }
        _ if is_about(&KEYS) => Some((Accounts, format!("This would change who may use the project: {}.", request()))),
        "PUT" | "PATCH" if !is_about(&OWN) => {
            Some((DropRemote, format!("This would change something that others may use: {}.", request())))
        }
        _ if is_about(&["/transfer", "/merges"]) => {
            Some((Publish, format!("This would change what others get of the project: {}.", request())))
        }
        _ if path.ends_with("graphql") && changes_by_graph(body) => {
            Some((DropRemote, "This would delete or change something that others may use, by a mutation.".to_owned()))
        }
        _ => None,
    }
}

/// Whether a query in the language of graphs takes something away.
fn changes_by_graph(body: &str) -> bool {
    const VERBS: [&str; 12] = [
        "delete", "remove", "archive", "transfer", "mergePullRequest", "mergeBranch", "updateRef",
        "updateBranchProtection", "updateRepository", "disable", "unlink", "revoke",
    ];
    body.contains("mutation") && VERBS.iter().any(|verb| body.contains(verb))
}

/// A request that a program for addresses makes.
pub(super) struct Request<'r> {
    pub(super) method: String,
    pub(super) url: &'r Text,
    pub(super) body: String,
    /// The socket on this machine that it goes to.
    pub(super) socket: Option<String>,
}

/// Judges a request by what it changes on the other side.
pub(super) fn request(machine: &mut Machine<'_>, request: &Request<'_>, call: &Call) {
    let method = request.method.to_ascii_uppercase();
    let url = request.url.display();
    let changes = !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "");
    if let Some(socket) = &request.socket {
        if changes && (socket.contains("docker") || socket.contains("containerd") || socket.contains("podman")) {
            let reason = "This asks the container engine of the machine to change something, which is as good as root.";
            machine.state(Escape, reason, call.span, Some(socket.clone()));
        }
        return;
    }
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_unknown = request.url.known_start().is_empty();
    if !changes || is_unknown || is_local(host) || host.starts_with(':') {
        return;
    }

    let path = format!("/{path}");
    let is_forge = host.starts_with("api.github.com")
        || path.contains("/api/v4/")
        || host.contains("api.bitbucket.org")
        || path.starts_with("/api/v3/")
        || path.contains("/api/v1/repos")
        || host.starts_with("uploads.github.com");
    let found = if is_forge {
        forge_request(&method, &path, &request.body)
    } else if method == "DELETE" {
        Some((DropRemote, format!("This would delete something on `{host}`: `DELETE {path}`.")))
    } else {
        takes_away(&path, &request.body)
            .then(|| (DropRemote, format!("This would delete something on `{host}`: `{method} {path}`.")))
    };
    if let Some((kind, reason)) = found {
        machine.state(kind, reason, call.span, Some(url));
    }
}

/// Whether the name of what is asked for says that something goes.
fn takes_away(path: &str, body: &str) -> bool {
    const VERBS: [&str; 9] =
        ["delete", "destroy", "purge", "drop", "flush", "terminate", "shutdown", "truncate", "wipe"];
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&str> = last.split(['_', '-', '.', ':']).collect();
    VERBS.iter().any(|verb| words.contains(verb)) || path.ends_with("graphql") && changes_by_graph(body)
}
