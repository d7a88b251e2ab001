//! What holds for every pod of `deploy/kubernetes`. Each rule gives what is wrong, in words.

use serde_json::Value;

/// All that is wrong with a pod.
pub fn broken(spec: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut rule = |holds: bool, what: &str| {
        if !holds {
            problems.push(what.to_owned());
        }
    };
    let whole = &spec["securityContext"];
    rule(spec["automountServiceAccountToken"] == false, "commands get the token of the cluster");
    rule(whole["runAsNonRoot"] == true, "it may run as root");
    rule(whole["runAsUser"].as_i64() > Some(0), "it names no user");
    rule(whole["fsGroup"] == whole["runAsGroup"], "its volumes belong to another group");
    rule(whole["seccompProfile"]["type"] == "RuntimeDefault", "it has no seccomp profile");

    let volumes: Vec<&str> = list(&spec["volumes"]).filter_map(|volume| volume["name"].as_str()).collect();
    let containers = || list(&spec["initContainers"]).chain(list(&spec["containers"]));
    rule(list(&spec["containers"]).count() == 1, "it has several containers, or none");
    for volume in &volumes {
        let is_used = containers().flat_map(|one| list(&one["volumeMounts"])).any(|mount| mount["name"] == *volume);
        rule(is_used, &format!("nothing mounts the volume {volume}"));
    }
    for container in containers() {
        problems.extend(broken_container(container, &volumes));
    }
    problems
}

fn broken_container(container: &Value, volumes: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    let name = container["name"].as_str().unwrap_or("without a name");
    let mut rule = |holds: bool, what: String| {
        if !holds {
            problems.push(format!("container {name}: {what}"));
        }
    };
    let own = &container["securityContext"];
    rule(own["allowPrivilegeEscalation"] == false, "it may gain rights".to_owned());
    rule(own["readOnlyRootFilesystem"] == true, "its root can be written to".to_owned());
    rule(own["capabilities"]["drop"] == serde_json::json!(["ALL"]), "it keeps capabilities".to_owned());
    rule(container["resources"]["limits"]["memory"].is_string(), "its memory has no limit".to_owned());
    rule(container["resources"]["requests"]["cpu"].is_string(), "it asks for no processor time".to_owned());
    let image = container["image"].as_str().unwrap_or_default();
    let tag = image.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    rule(tag != "latest" && !tag.contains('/'), format!("its image {image} has no version"));
    rule(container["imagePullPolicy"] == "IfNotPresent", "an image with a version is pulled again".to_owned());

    let mounts: Vec<&str> = list(&container["volumeMounts"]).filter_map(|mount| mount["mountPath"].as_str()).collect();
    for mount in list(&container["volumeMounts"]) {
        let volume = mount["name"].as_str().unwrap_or_default();
        rule(volumes.contains(&volume), format!("it mounts {volume}, which is no volume"));
    }
    // The root is read-only, and the program is in no image but ours: what is named has to lie in a volume.
    let is_mounted = |path: &str| mounts.iter().any(|mount| path == *mount || path.starts_with(&format!("{mount}/")));
    let program = container["command"][0].as_str().filter(|word| word.starts_with('/'));
    let directory = container["workingDir"].as_str();
    // Of PATH, the first folder is ours.
    let variables = list(&container["env"]).filter_map(|variable| variable["value"].as_str()?.split(':').next());
    for path in directory.into_iter().chain(program).chain(variables) {
        rule(is_mounted(path), format!("{path} lies in no volume"));
    }
    problems
}

/// The items of a list; none where there is no list.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Fields of `given` that `read` has not, or has otherwise: with their paths.
pub fn not_understood(given: &Value, read: &Value, path: &str) -> Vec<String> {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => given
            .iter()
            .flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match read.get(key) {
                    Some(read) => not_understood(value, read, &path),
                    None => vec![path],
                }
            })
            .collect(),
        (Value::Array(given), Value::Array(read)) if given.len() == read.len() => {
            let pairs = given.iter().zip(read).enumerate();
            pairs.flat_map(|(place, (given, read))| not_understood(given, read, &format!("{path}[{place}]"))).collect()
        }
        _ if given == read => Vec::new(),
        _ => vec![format!("{path}: {given} was read as {read}")],
    }
}
