//! Clusters that run containers: what is taken out of them, whom they let in, what runs in them.

use super::containers::{describes_escape, run_confined};
use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Any, Called, Contains, Given, Has, Not, Says, Starts, Value};
use super::row::{DRY, On, PROGRAM, Prints, Program, allows, asks};
use crate::effect::Kind::{Accounts, DropRemote, Escape, OpenMachine, Publish};
use crate::effect::Writing;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};

/// Options of tools for clusters that take a value.
const CLUSTER: Grammar = Grammar {
    short: "nslofckpmiv",
    long: &[
        "namespace", "context", "cluster", "kubeconfig", "user", "server", "token", "as", "as-group", "as-uid",
        "selector", "output", "filename", "field-selector", "request-timeout", "container", "kustomize", "replicas",
        "grace-period", "timeout", "type", "patch", "image", "cache-dir", "certificate-authority", "client-key",
        "client-certificate", "kube-context", "kube-apiserver", "kube-token", "values", "set", "set-string", "version",
        "repo", "name", "overrides", "clusterrole", "serviceaccount", "group", "target", "address", "subresource",
        "state", "region", "profile", "auth-token", "grpc-web-root-path", "config",
    ],
    flags: &["all", "all-namespaces", "force", "prune", "privileged", "recursive", "yes", "wait", "purge"],
    ..Grammar::PLAIN
};

const PODS: &[&str] = &["delete pod|pods|po|pod/*|pods/*|po/*|job|jobs|job/*|jobs/*|event|events"];

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["kubectl", "oc", "k", "kubecolor", "microk8s.kubectl", "k3s-kubectl"],
        grammar: CLUSTER,
        custom: Some(in_cluster),
        effects: &[
            On(
                All(&[Says(&["delete"]), Not(&All(&[Says(PODS), Not(&Given(&["all", "A", "all-namespaces"]))]))]),
                Is(DropRemote, "This would delete{what} from a cluster{where}."),
            ),
            On(
                Says(&["drain|cordon", "adm drain|cordon", "taint *"]),
                Is(DropRemote, "This would take the machine{names} out of a cluster{where}."),
            ),
            On(
                All(&[Says(&["scale|autoscale"]), Value(&["replicas"], &["0"])]),
                Is(DropRemote, "This would stop{what} in a cluster{where}."),
            ),
            On(
                Any(&[
                    All(&[Says(&["replace"]), Given(&["force"])]),
                    All(&[Says(&["apply"]), Given(&["prune"])]),
                    All(&[Says(&["patch"]), Contains(&["finalizers"])]),
                ]),
                Is(DropRemote, "This would delete or replace what runs in a cluster{where}."),
            ),
            On(
                Any(&[
                    Says(&[
                        "create clusterrolebinding",
                        "adm policy add-cluster-role-to-*",
                        "adm policy add-scc-to-*",
                        "adm policy remove-*",
                        "certificate approve|deny",
                        "auth reconcile",
                        "policy add-*",
                    ]),
                    All(&[Says(&["create rolebinding", "adm policy add-role-to-*"]), Contains(&["admin"])]),
                ]),
                Is(Accounts, "This would change who may do what in a cluster{where}."),
            ),
            On(
                Says(&["debug node/*", "debug nodes/*", "debug no/*"]),
                Is(Escape, "This would start a container with the whole machine{names}."),
            ),
            On(
                All(&[
                    Says(&["proxy"]),
                    Any(&[Starts(&["--accept-hosts", "--disable-filter"]), Value(&["address"], &["0.0.0.0"])]),
                ]),
                Is(OpenMachine, "This would open the cluster to others."),
            ),
        ],
        prompts: &[(Says(&["edit"]), "it opens an editor; use patch or apply")],
        spares: DRY,
        examples: examples![
            asks("kubectl delete ns staging", "remote-data"),
            asks("kubectl -n shop --context prod delete deployment web", "remote-data"),
            asks("kubectl --context=prod -n shop delete deploy/web svc/web", "remote-data"),
            asks("kubectl delete -f k8s/", "remote-data"),
            asks("kubectl delete -k overlays/prod", "remote-data"),
            asks("kubectl delete all --all -n shop", "remote-data"),
            asks("kubectl delete pods --all", "remote-data"),
            asks("kubectl delete pod -A --all", "remote-data"),
            asks("kubectl delete pvc data-db-0", "remote-data"),
            asks("kubectl delete crd x", "remote-data"),
            asks("kubectl delete node worker-1", "remote-data"),
            asks("kubectl delete secret tls", "remote-data"),
            asks("kubectl delete pod,svc web", "remote-data"),
            asks("k delete sts db", "remote-data"),
            asks("oc delete project shop", "remote-data"),
            asks("kubectl drain node-1 --ignore-daemonsets", "remote-data"),
            asks("kubectl cordon node-1", "remote-data"),
            asks("kubectl scale deploy web --replicas=0", "remote-data"),
            asks("kubectl scale --replicas 0 sts/db", "remote-data"),
            asks("kubectl replace --force -f x.yaml", "remote-data"),
            asks("kubectl apply -f k8s/ --prune --all", "remote-data"),
            asks("kubectl patch pvc x -p '{\"metadata\":{\"finalizers\":null}}'", "remote-data"),
            asks("kubectl create clusterrolebinding x --clusterrole=cluster-admin --user=evil", "accounts"),
            asks("oc adm policy add-cluster-role-to-user cluster-admin evil", "accounts"),
            asks("kubectl run x --image=alpine --privileged", "container-escape"),
            asks("kubectl run x --image=alpine --overrides='{\"spec\":{\"hostPID\":true}}'", "container-escape"),
            asks("kubectl debug node/worker-1 -it --image=alpine", "container-escape"),
            asks("kubectl apply -f - <<'E'\nspec:\n  volumes:\n  - hostPath:\n      path: /etc\nE", "container-escape"),
            asks("kubectl exec db-0 -- psql -c 'DROP TABLE users'", "remote-data"),
            asks("kubectl exec -n x -it db-0 -c db -- rm -rf /var/lib/mysql", "delete-system"),
            asks("kubectl exec deploy/web -- bash -c 'python manage.py flush --no-input'", "remote-data"),
            asks("kubectl cp web-0:/x /etc/hosts", "system-write"),
            asks("kubectl proxy --address=0.0.0.0", "remote-shell"),
            allows("kubectl delete pod web-1"),
            allows("kubectl delete pod/web-1 -n shop"),
            allows("kubectl delete pods -l app=web"),
            allows("kubectl delete job migrate"),
            allows("kubectl delete ns staging --dry-run=client"),
            allows("kubectl delete --help"),
            allows("kubectl get pods -A"),
            allows("kubectl get pods -l delete"),
            allows("kubectl -n delete get pods"),
            allows("kubectl apply -f k8s/"),
            allows("kubectl scale deploy web --replicas=3"),
            allows("kubectl rollout restart deploy/web"),
            allows("kubectl describe clusterrolebinding x"),
            allows("kubectl run x --rm -it --image=alpine -- sh"),
            allows("kubectl exec web -- ls /app"),
            allows("kubectl explain deployment"),
            asks("kubectl delete ns x --dry-run=none", "remote-data"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["helm", "helmfile", "helm3"],
        grammar: CLUSTER,
        effects: &[
            On(
                Any(&[Says(&["uninstall|delete|un|del|rollback"]), All(&[Called(&["helmfile"]), Says(&["destroy"])])]),
                Is(DropRemote, "This would remove or replace the release{names} of a cluster{where}."),
            ),
            On(
                Says(&["push", "cm-push", "s3 push|delete", "gcs push|rm"]),
                Is(Publish, "This would publish the chart{names}."),
            ),
        ],
        prints: Prints::Settings,
        spares: DRY,
        examples: examples![
            asks("helm uninstall web", "remote-data"),
            asks("helm -n shop --kube-context prod delete web", "remote-data"),
            asks("helm rollback web 3", "remote-data"),
            asks("helmfile -f x.yaml destroy", "remote-data"),
            asks("helm push web-1.tgz oci://registry.example.com/charts", "publish"),
            allows("helm uninstall web --dry-run"),
            allows("helm upgrade --install web ./chart"),
            allows("helm list -A"),
            allows("helm template uninstall ./chart"),
            allows("helm history web"),
            allows("helmfile diff"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["argocd", "argo", "flux", "tkn", "kn"],
        grammar: CLUSTER,
        effects: &[On(
            Any(&[
                Says(&[
                    "app delete|rollback|delete-resource|terminate-op",
                    "appset|proj|repo|repocreds|cert|account delete",
                    "cluster|repo|cert rm|remove",
                    "delete",
                    "uninstall",
                    "terminate|stop",
                    "pipeline|task|pipelinerun|taskrun|service|source|trigger|broker delete",
                ]),
                All(&[Called(&["argocd"]), Says(&["app sync"]), Given(&["prune", "force"])]),
            ]),
            Is(DropRemote, "This would take{what} out of a cluster{where}."),
        )],
        prints: Prints::Settings,
        spares: DRY,
        examples: examples![
            asks("argocd app delete web --yes", "remote-data"),
            asks("argocd app sync web --prune", "remote-data"),
            asks("argocd cluster rm prod", "remote-data"),
            asks("flux delete kustomization apps", "remote-data"),
            asks("flux uninstall -s", "remote-data"),
            asks("argo delete --all", "remote-data"),
            allows("argocd app list"),
            allows("argocd app sync web"),
            allows("flux reconcile kustomization apps"),
            allows("flux get all"),
            allows("eval \"$(flux completion bash)\""),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "istioctl", "linkerd", "cilium", "velero", "ark", "clusterctl", "vcluster", "skaffold", "tilt", "devspace",
            "okteto", "garden", "kapp", "k0sctl", "rke",
        ],
        grammar: CLUSTER,
        effects: &[On(
            Any(&[
                Says(&[
                    "uninstall",
                    "x uninstall",
                    "experimental uninstall",
                    "backup|restore|schedule delete",
                    "delete",
                    "remove|reset",
                    "backup-location|snapshot-location delete",
                ]),
                All(&[Called(&["skaffold", "devspace"]), Says(&["delete", "purge"])]),
                All(&[Called(&["tilt"]), Says(&["down"]), Has(&["--delete-namespaces"])]),
                All(&[Called(&["okteto"]), Says(&["destroy", "namespace delete"])]),
            ]),
            Is(DropRemote, "This would take{what} out of a cluster{where}, or delete its backup."),
        )],
        spares: DRY,
        examples: examples![
            asks("istioctl uninstall --purge -y", "remote-data"),
            asks("velero backup delete nightly --confirm", "remote-data"),
            asks("vcluster delete dev", "remote-data"),
            asks("kapp delete -a web -y", "remote-data"),
            asks("okteto destroy", "remote-data"),
            allows("istioctl analyze"),
            allows("velero backup get"),
            allows("skaffold dev"),
            allows("tilt up"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "kubeadm", "kops", "eksctl", "k3s-uninstall.sh", "talosctl", "k3s-agent-uninstall.sh", "rosa", "gardenctl",
            "kubeone",
        ],
        grammar: CLUSTER,
        effects: &[On(
            Any(&[
                Says(&["reset", "delete", "drain", "cluster|machinepool|idp|admin delete", "delete *"]),
                Called(&["k3s-uninstall.sh", "k3s-agent-uninstall.sh"]),
                All(&[Called(&["kops"]), Says(&["rolling-update|update"]), Has(&["--yes", "-y"])]),
                All(&[Called(&["eksctl"]), Says(&["scale nodegroup"]), Has(&["--nodes=0", "-N0"])]),
                Says(&["create iamidentitymapping"]),
            ]),
            Is(DropRemote, "This would delete a cluster or a part of it{where}:{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("kubeadm reset -f", "remote-data"),
            asks("kops delete cluster --name shop --yes", "remote-data"),
            asks("eksctl delete cluster --name shop", "remote-data"),
            asks("eksctl delete nodegroup --cluster shop ng-1", "remote-data"),
            asks("talosctl reset -n 10.0.0.1", "remote-data"),
            asks("k3s-uninstall.sh", "remote-data"),
            allows("kubeadm token list"),
            allows("eksctl get clusters"),
            allows("kops validate cluster"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["nomad"],
        grammar: Grammar { long: &["address", "namespace", "region", "token"], single_dash: true, ..Grammar::PLAIN },
        effects: &[On(
            Any(&[
                Says(&[
                    "job stop|revert|scale * 0",
                    "stop",
                    "system gc",
                    "namespace delete",
                    "node drain|purge",
                    "volume delete|deregister|detach",
                    "alloc stop",
                    "server force-leave",
                    "operator raft remove-peer",
                    "var purge",
                    "acl token|policy|role delete",
                    "quota delete",
                    "deployment fail",
                ]),
                All(&[Says(&["job stop"])]),
            ]),
            Is(DropRemote, "This would stop or delete{what} in a cluster{where}."),
        )],
        spares: DRY,
        examples: examples![
            asks("nomad job stop -purge web", "remote-data"),
            asks("nomad -address=https://x stop web", "remote-data"),
            asks("nomad system gc", "remote-data"),
            asks("nomad node drain -enable x", "remote-data"),
            allows("nomad job status web"),
            allows("nomad job plan web.nomad"),
            allows("nomad job run web.nomad"),
        ],
        ..PROGRAM
    },
];

/// What runs in a container of the cluster, what it gets, and what is copied out of it.
fn in_cluster(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &CLUSTER);
    let verb = options.operands.first()?.text.display();
    match verb.as_str() {
        "exec" | "run" | "debug" | "rsh" => {
            if let Some(at) = call.args.iter().position(|arg| arg.text.is("--")) {
                run_confined(machine, call, &call.args[at + 1..], world);
            } else if verb == "exec" || verb == "rsh" {
                run_confined(machine, call, options.operands.get(2..).unwrap_or_default(), world);
            }
            let described = options.values(&["overrides"]).any(|text| describes_escape(&text.text.display()));
            if described || options.has(&["privileged"]) {
                machine.state(Escape, "This container would get the machine it runs on.", call.span, None);
            }
        }
        "apply" | "create" | "replace" => {
            let mut texts: Vec<String> = call.input.text.iter().cloned().collect();
            for file in options.values(&["f", "filename"]) {
                texts.extend(machine.read(&file.text, world).text);
            }
            let is_dry = call.args.iter().any(|arg| arg.text.known_start().starts_with("--dry-run"));
            if !is_dry && texts.iter().any(|text| describes_escape(text)) {
                let reason = "A container of this description would get the machine it runs on.";
                machine.state(Escape, reason, call.span, None);
            }
        }
        "cp" => {
            if let [_, from, to] = options.operands.as_slice()
                && from.text.display().contains(':')
                && !to.text.display().contains(':')
            {
                machine.writes("This would write to", &to.text, Writing::Replaces, world, to.span);
            }
        }
        _ => {}
    }
    None
}
