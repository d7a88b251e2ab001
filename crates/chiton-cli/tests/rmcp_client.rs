//! A session by rmcp's own client: start, background, output, kill. Over stdio and HTTP.

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{Peer, RoleClient, ServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, UnixSocketHttpClient};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use crate::place::Place;

async fn call(client: &Peer<RoleClient>, tool: &'static str, arguments: Value) -> CallToolResult {
    let params = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    client.call_tool(params).await.unwrap()
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

async fn session(client: &Peer<RoleClient>) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["Bash", "BashOutput", "BashInput", "KillShell", "ListShells"]);
    call(client, "Bash", json!({"command": "cd /usr; export COLOUR=green"})).await;
    let result = call(client, "Bash", json!({"command": "echo $PWD $COLOUR"})).await;
    assert_eq!(result.structured_content.unwrap()["output"], "/usr green\n");
    let result =
        call(client, "Bash", json!({"command": "echo ready; exec sleep 600", "run_in_background": true})).await;
    let task = result.structured_content.unwrap()["bash_id"].as_str().unwrap().to_owned();
    let result = call(client, "BashOutput", json!({"bash_id": task, "wait_for": "ready", "wait": 10_000})).await;
    assert!(text(&result).contains("ready"), "{result:?}");
    let result = call(client, "KillShell", json!({"bash_id": task})).await;
    assert!(text(&result).contains("terminated"), "{result:?}");
    let result = call(client, "BashOutput", json!({"bash_id": task})).await;
    assert_eq!(result.structured_content.unwrap()["status"], "killed");
}

#[tokio::test]
async fn a_session_over_stdio() {
    let place = Place::new();
    let mut command = place.command();
    command.arg("mcp");
    let client = ().serve(TokioChildProcess::new(tokio::process::Command::from(command)).unwrap()).await.unwrap();
    session(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_session_over_http() {
    let place = Place::new();
    std::fs::set_permissions(place.folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = place.folder.path().join("mcp.sock");
    let mut command = place.command();
    command.arg("mcp").arg("--http").arg(format!("unix:{}", path.display())).stderr(Stdio::piped());
    let mut server = Served(command.spawn().unwrap());
    let mut line = String::new();
    let mut stderr = BufReader::new(server.0.stderr.take().unwrap());
    while !line.contains("serving at") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it has not started");
    }
    let file = line.trim().split_once("; the token is in ").unwrap_or_else(|| panic!("{line}")).1;
    let token = std::fs::read_to_string(file).unwrap();
    let uri = "http://localhost/mcp";
    let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header(token);
    let http = UnixSocketHttpClient::new(path.to_str().unwrap(), uri);
    let client = ().serve(StreamableHttpClientTransport::with_client(http, config)).await.unwrap();
    session(&client).await;
    client.cancel().await.unwrap();
}

/// Ends with the test, also with one that fails.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
