//! What there is in the cluster, in the words of the API.

use serde_json::{Value, json};

use super::http::Request;
use super::{Cluster, Pod};

/// The answer to a question, with its code.
pub(super) fn answer(cluster: &Cluster, path: &[&str], request: &Request) -> (u16, Value) {
    let body = match path {
        ["version"] => Ok(json!({"major": "1", "minor": "32", "gitVersion": "v1.32.0"})),
        ["api"] => Ok(json!({"kind": "APIVersions", "versions": ["v1"]})),
        ["apis"] => Ok(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})),
        ["api", "v1"] => Ok(kinds()),
        ["api", "v1", "namespaces", namespace, "pods", name] => {
            let missing = || (404, format!("pods \"{name}\" not found"));
            cluster.find(namespace, name).map(described).ok_or_else(missing)
        }
        ["api", "v1", "pods"] => listed(cluster, None, request),
        ["api", "v1", "namespaces", namespace, "pods"] => listed(cluster, Some(namespace), request),
        _ => Err((404, "the server could not find the requested resource".to_owned())),
    };
    match body {
        _ if request.method != "GET" => (405, failure(405, "this server only tells what there is")),
        Ok(body) => (200, body),
        Err((code, reason)) => (code, failure(code, &reason)),
    }
}

/// How the API says no.
pub(super) fn failure(code: u16, message: &str) -> Value {
    let reason = match code {
        400 => "BadRequest",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        _ => "InternalError",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": message, "reason": reason, "code": code,
    })
}

fn kinds() -> Value {
    json!({
        "kind": "APIResourceList", "groupVersion": "v1",
        "resources": [
            {
                "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
                "verbs": ["get", "list"], "shortNames": ["po"],
            },
            {
                "name": "pods/exec", "singularName": "", "namespaced": true, "kind": "PodExecOptions",
                "verbs": ["create", "get"],
            },
        ],
    })
}

fn described(pod: &Pod) -> Value {
    let options = &pod.options;
    let containers: Vec<Value> =
        options.containers.iter().map(|name| json!({"name": name, "image": "none", "resources": {}})).collect();
    let is_running = options.phase == "Running";
    let statuses: Vec<Value> = options
        .containers
        .iter()
        .map(|name| {
            let state = if is_running { json!({"running": {}}) } else { json!({"waiting": {}}) };
            json!({"name": name, "ready": is_running, "restartCount": 0, "image": "none", "imageID": "", "state": state})
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": options.name, "namespace": options.namespace, "labels": options.labels,
            "uid": format!("{}-{}", options.namespace, options.name), "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"containers": containers, "nodeName": "node"},
        "status": {"phase": options.phase, "containerStatuses": statuses},
    })
}

fn listed(cluster: &Cluster, namespace: Option<&str>, request: &Request) -> Result<Value, (u16, String)> {
    let mut pods = Vec::new();
    for pod in cluster.pods.iter().filter(|pod| namespace.is_none_or(|wanted| pod.options.namespace == wanted)) {
        let body = described(pod);
        let by_label = |key: &str| pod.options.labels.get(key).map(String::as_str);
        let by_field = |key: &str| body.pointer(&format!("/{}", key.replace('.', "/"))).and_then(Value::as_str);
        let labels = is_selected(request.parameter("labelSelector").unwrap_or_default(), by_label)?;
        let fields = is_selected(request.parameter("fieldSelector").unwrap_or_default(), by_field)?;
        if labels && fields {
            pods.push(body);
        }
    }
    Ok(json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": pods}))
}

/// Whether all conditions of a selector hold: `a=b`, `a==b`, `a!=b`, `a` and `!a`. The forms with sets are not known here.
fn is_selected<'a>(selector: &str, value: impl Fn(&str) -> Option<&'a str>) -> Result<bool, (u16, String)> {
    for condition in selector.split(',').filter(|condition| !condition.is_empty()) {
        if condition.contains(['(', ')', ' ']) {
            return Err((400, format!("this server does not know selectors like '{selector}'")));
        }
        let holds = match (condition.split_once("!="), condition.split_once('=')) {
            (Some((key, other)), _) => value(key) != Some(other),
            (None, Some((key, wanted))) => value(key) == Some(wanted.trim_start_matches('=')),
            (None, None) => match condition.strip_prefix('!') {
                Some(key) => value(key).is_none(),
                None => value(condition).is_some(),
            },
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::is_selected;

    #[test]
    fn selectors_select() {
        let value = |key: &str| (key == "app").then_some("web");
        for (selector, selects) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app=db", false),
            ("app!=db", true),
            ("app!=web", false),
            ("app", true),
            ("!app", false),
            ("tier!=front", true),
            ("app=web,tier", false),
            ("app=web,!tier", true),
        ] {
            assert_eq!(is_selected(selector, value), Ok(selects), "{selector}");
        }
        assert!(is_selected("app in (web)", value).is_err());
    }
}
