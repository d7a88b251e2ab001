//! The clients that can be set up. One row each; a new client is a new row, and nothing else changes.

use super::client::{
    Base, Client, ClientSetting, ClientSettingValue, EntryField, EntryFieldRows, FilePlace, HttpEntry, SettingPlace,
    Switch, Trust,
};
use super::format::FileFormat;

/// Clients that give a tool call one minute would cut long commands off; this is what the longest dialect allows.
const LONGEST_CALL: EntryField = EntryField::Number(600);
/// The same for those that count milliseconds.
const LONGEST_CALL_MILLISECONDS: EntryField = EntryField::Number(600_000);
const PLAIN: EntryFieldRows = &[("command", EntryField::Command), ("args", EntryField::Arguments)];
const URL_AND_HEADERS: EntryFieldRows = &[("url", EntryField::Url), ("headers", EntryField::Headers)];
const TYPED_URL: EntryFieldRows =
    &[("type", EntryField::Text("http")), ("url", EntryField::Url), ("headers", EntryField::Headers)];

/// A file that nothing moves.
const fn home(user: &'static str, project: Option<&'static str>) -> FilePlace {
    FilePlace { moved_by: &[], user: (Base::Home, user), user_instead: &[], project, project_instead: &[] }
}

const fn config(user: &'static str, project: Option<&'static str>) -> FilePlace {
    FilePlace { moved_by: &[], user: (Base::Config, user), user_instead: &[], project, project_instead: &[] }
}

/// The same, moved by variables.
const fn moved(place: FilePlace, moved_by: &'static [(&'static str, &'static str)]) -> FilePlace {
    FilePlace { moved_by, ..place }
}

/// The permissions of Claude Code.
const CLAUDE_SETTINGS: FilePlace =
    moved(home(".claude/settings.json", Some(".claude/settings.json")), &[("CLAUDE_CONFIG_DIR", "settings.json")]);

const fn zed_setting(path: &'static [&'static str], value: &'static str) -> ClientSetting {
    // A project must not say what may run without asking, so Zed reads this from the user's settings alone.
    let place = moved(config("zed/settings.json", None), &[("FLATPAK_XDG_CONFIG_HOME", "zed/settings.json")]);
    ClientSetting { place: SettingPlace::Own(place), path, value: ClientSettingValue::Text(value) }
}

const fn beside(path: &'static [&'static str], value: ClientSettingValue) -> ClientSetting {
    ClientSetting { place: SettingPlace::Beside, path, value }
}

pub(crate) const CLIENTS: [Client; 13] = [
    Client {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        file: moved(home(".claude.json", Some(".mcp.json")), &[("CLAUDE_CONFIG_DIR", ".claude.json")]),
        format: FileFormat::Json,
        container: "mcpServers",
        fields: &[
            ("type", EntryField::Text("stdio")),
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            // Otherwise the model sees the names of the tools only, and has to search for them.
            ("alwaysLoad", EntryField::Yes),
        ],
        brought: &["alwaysLoad"],
        http: HttpEntry::Supported { referring: Some((CLAUDE_HTTP, "${MCP_CHITON_TOKEN}")), copied: CLAUDE_HTTP },
        dialect: "native",
        next: "restart Claude Code; `/mcp` lists its servers",
        trust: Trust::InProjects("Claude Code asks once whether it may use the servers of a project"),
        asks: "asks before each call, and refuses it where nobody can be asked (`claude -p`)",
        approve: Switch::Settings(
            &[ClientSetting {
                place: SettingPlace::Own(CLAUDE_SETTINGS),
                path: &["permissions", "allow"],
                value: ClientSettingValue::Items(&["mcp__{server}"]),
            }],
            None,
        ),
        // Monitor runs commands too.
        replace: Switch::Settings(
            &[ClientSetting {
                place: SettingPlace::Own(CLAUDE_SETTINGS),
                path: &["permissions", "deny"],
                value: ClientSettingValue::Items(&["Bash", "Monitor"]),
            }],
            None,
        ),
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        program: "claude-desktop",
        file: config("Claude/claude_desktop_config.json", None),
        format: FileFormat::Json,
        container: "mcpServers",
        fields: PLAIN,
        brought: &[],
        http: HttpEntry::Unsupported,
        dialect: "native",
        next: "quit Claude Desktop, not only its window, and start it again",
        trust: Trust::Nothing,
        asks: "asks before each call",
        approve: Switch::ByHand("choose `Always allow` when it asks"),
        replace: Switch::Needless("has no shell of its own"),
    },
    Client {
        name: "cursor",
        title: "Cursor",
        program: "cursor",
        file: home(".cursor/mcp.json", Some(".cursor/mcp.json")),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: PLAIN,
        brought: &[],
        http: HttpEntry::Supported {
            referring: Some((URL_AND_HEADERS, "${env:MCP_CHITON_TOKEN}")),
            copied: URL_AND_HEADERS,
        },
        dialect: "native",
        next: "restart Cursor, and see that the server is switched on in its settings",
        trust: Trust::InProjects("Cursor asks once whether it may use the servers of a project"),
        asks: "asks before each call",
        approve: Switch::Settings(
            &[ClientSetting {
                place: SettingPlace::Own(home(".cursor/permissions.json", Some(".cursor/permissions.json"))),
                path: &["mcpAllowlist"],
                value: ClientSettingValue::Items(&["{server}:*"]),
            }],
            Some("this list replaces the one in Cursor's settings window"),
        ),
        replace: Switch::ByHand(
            "leave terminal commands out of the editor's auto-run list and tell the agent to use Chiton; for the Cursor \
             CLI, add \"Shell(**)\" to permissions.deny in ~/.cursor/cli-config.json",
        ),
    },
    Client {
        name: "codex",
        title: "Codex CLI",
        program: "codex",
        file: moved(home(".codex/config.toml", Some(".codex/config.toml")), &[("CODEX_HOME", "config.toml")]),
        format: FileFormat::Toml,
        container: "mcp_servers",
        fields: &[
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            ("tool_timeout_sec", LONGEST_CALL),
        ],
        brought: &[],
        http: HttpEntry::Supported {
            referring: Some((
                &[
                    ("url", EntryField::Url),
                    ("bearer_token_env_var", EntryField::TokenVariable),
                    ("tool_timeout_sec", LONGEST_CALL),
                ],
                "",
            )),
            copied: &[
                ("url", EntryField::Url),
                ("http_headers", EntryField::Headers),
                ("tool_timeout_sec", LONGEST_CALL),
            ],
        },
        dialect: "codex",
        next: "restart Codex; `/mcp` lists its servers",
        trust: Trust::InProjects("Codex reads the settings of a project only where the project is trusted"),
        asks: "asks before each call, and refuses it where nobody can be asked (`codex exec`)",
        approve: Switch::Field("default_tools_approval_mode", EntryField::Text("approve")),
        replace: Switch::Settings(&[beside(&["features", "shell_tool"], ClientSettingValue::No)], None),
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        file: moved(
            home(".gemini/settings.json", Some(".gemini/settings.json")),
            &[("GEMINI_CLI_HOME", ".gemini/settings.json")],
        ),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: PLAIN,
        brought: &[],
        http: HttpEntry::Supported { referring: Some((GEMINI_HTTP, "${MCP_CHITON_TOKEN}")), copied: GEMINI_HTTP },
        // Not `gemini`: Gemini CLI hides a server's tool too when a tool of its own with that name is off.
        dialect: "native",
        next: "restart Gemini CLI; `/mcp` lists its servers",
        trust: Trust::Always(
            "Gemini CLI starts servers in trusted folders only: say yes when it asks, or see `/permissions`; without a \
             person, set GEMINI_CLI_TRUST_WORKSPACE=true",
        ),
        asks: "asks before each call, and hides Chiton's tools where nobody can be asked (`gemini -p`)",
        approve: Switch::Field("trust", EntryField::Yes),
        replace: Switch::Settings(
            &[beside(&["tools", "exclude"], ClientSettingValue::Items(&["run_shell_command"]))],
            None,
        ),
    },
    Client {
        name: "opencode",
        title: "opencode",
        program: "opencode",
        file: FilePlace {
            user_instead: &[(Base::Config, "opencode/opencode.jsonc")],
            project_instead: &["opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
            ..config("opencode/opencode.json", Some("opencode.json"))
        },
        format: FileFormat::Jsonc,
        container: "mcp",
        fields: &[
            ("type", EntryField::Text("local")),
            ("command", EntryField::CommandLine),
            ("enabled", EntryField::Yes),
            ("timeout", LONGEST_CALL_MILLISECONDS),
        ],
        brought: &[],
        http: HttpEntry::Supported {
            referring: Some((OPENCODE_HTTP, "{env:MCP_CHITON_TOKEN}")),
            copied: OPENCODE_HTTP,
        },
        dialect: "opencode-cli",
        next: "restart opencode; `opencode mcp list` lists its servers",
        trust: Trust::Nothing,
        asks: "calls Chiton's tools without asking, unless its `permission` says otherwise",
        approve: Switch::Settings(&[beside(&["permission", "{server}_*"], ClientSettingValue::Text("allow"))], None),
        replace: Switch::Settings(&[beside(&["permission", "bash"], ClientSettingValue::Text("deny"))], None),
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        program: "copilot",
        file: moved(home(".copilot/mcp-config.json", Some(".github/mcp.json")), &[("COPILOT_HOME", "mcp-config.json")]),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: &[
            ("type", EntryField::Text("local")),
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            ("tools", EntryField::List(&["*"])),
            ("timeout", LONGEST_CALL_MILLISECONDS),
        ],
        brought: &[],
        http: HttpEntry::Supported { referring: Some((COPILOT_HTTP, "${MCP_CHITON_TOKEN}")), copied: COPILOT_HTTP },
        dialect: "native",
        next: "restart Copilot CLI; `copilot mcp list` lists its servers",
        trust: Trust::InProjects("Copilot CLI uses the servers of a project only in a trusted folder"),
        asks: "asks before each call",
        approve: Switch::ByHand("start it with `copilot --allow-tool {server}`"),
        replace: Switch::ByHand("start it with `copilot --excluded-tools bash`"),
    },
    Client {
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        file: moved(home(".qwen/settings.json", Some(".qwen/settings.json")), &[("QWEN_HOME", "settings.json")]),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: &[
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            ("alwaysLoadTools", EntryField::Yes),
        ],
        brought: &["alwaysLoadTools"],
        http: HttpEntry::Supported { referring: Some((QWEN_HTTP, "${MCP_CHITON_TOKEN}")), copied: QWEN_HTTP },
        dialect: "gemini",
        next: "restart Qwen Code; `/mcp` lists its servers",
        trust: Trust::Always("where folder trust is switched on, Qwen Code starts servers in trusted folders only"),
        asks: "asks before each call, and refuses it where nobody can be asked (`qwen -p`)",
        approve: Switch::Field("trust", EntryField::Yes),
        replace: Switch::Settings(
            &[beside(&["tools", "disabled"], ClientSettingValue::Items(&["run_shell_command"]))],
            None,
        ),
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        program: "windsurf",
        file: home(".codeium/windsurf/mcp_config.json", None),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: PLAIN,
        brought: &[],
        http: HttpEntry::Supported {
            referring: Some((WINDSURF_HTTP, "${env:MCP_CHITON_TOKEN}")),
            copied: WINDSURF_HTTP,
        },
        dialect: "native",
        next: "press refresh in the MCP panel of Cascade, or restart Windsurf",
        trust: Trust::Nothing,
        asks: "asks before each call",
        approve: Switch::ByHand("choose to allow it always when Cascade asks"),
        replace: Switch::ByHand(
            "switch auto execution of terminal commands off in Cascade's settings, and tell the \
             agent to use Chiton",
        ),
    },
    Client {
        name: "cline",
        title: "Cline",
        program: "cline",
        file: FilePlace {
            user_instead: &[(
                Base::Config,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            )],
            ..moved(
                home(".cline/data/settings/cline_mcp_settings.json", None),
                &[("CLINE_MCP_SETTINGS_PATH", ""), ("CLINE_DATA_DIR", "settings/cline_mcp_settings.json")],
            )
        },
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: &[
            ("type", EntryField::Text("stdio")),
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            ("timeout", LONGEST_CALL),
        ],
        brought: &[],
        http: HttpEntry::Supported {
            referring: None,
            copied: &[
                ("type", EntryField::Text("streamableHttp")),
                ("url", EntryField::Url),
                ("headers", EntryField::Headers),
                ("timeout", LONGEST_CALL),
            ],
        },
        dialect: "native",
        next: "restart Cline; its MCP panel lists the servers",
        trust: Trust::Nothing,
        asks: "asks before each call in the editor",
        approve: Switch::Field("autoApprove", EntryField::Tools),
        replace: Switch::Settings(
            &[ClientSetting {
                place: SettingPlace::Own(moved(
                    home(".cline/data/settings/global-settings.json", None),
                    &[("CLINE_GLOBAL_SETTINGS_PATH", ""), ("CLINE_DATA_DIR", "settings/global-settings.json")],
                )),
                path: &["disabledTools"],
                value: ClientSettingValue::Items(&["run_commands"]),
            }],
            Some(
                "older versions of the extension do not read this: switch terminal commands off in its settings there",
            ),
        ),
    },
    Client {
        name: "vscode",
        title: "VS Code",
        program: "code",
        file: moved(
            config("Code/User/mcp.json", Some(".vscode/mcp.json")),
            &[("VSCODE_PORTABLE", "user-data/User/mcp.json"), ("VSCODE_APPDATA", "Code/User/mcp.json")],
        ),
        format: FileFormat::Jsonc,
        container: "servers",
        fields: &[
            ("type", EntryField::Text("stdio")),
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
        ],
        brought: &[],
        http: HttpEntry::Supported { referring: Some((TYPED_URL, "${env:MCP_CHITON_TOKEN}")), copied: TYPED_URL },
        dialect: "native",
        next: "run `MCP: List Servers` in VS Code and start it there",
        trust: Trust::Always("VS Code asks whether you trust the server when it starts for the first time"),
        asks: "asks before each call",
        approve: Switch::ByHand("choose `Always Allow` in the dialog of the first call"),
        replace: Switch::ByHand("untick the terminal tools under `Configure Tools` in the chat view"),
    },
    Client {
        name: "zed",
        title: "Zed",
        program: "zed",
        file: moved(
            config("zed/settings.json", Some(".zed/settings.json")),
            &[("FLATPAK_XDG_CONFIG_HOME", "zed/settings.json")],
        ),
        format: FileFormat::Jsonc,
        container: "context_servers",
        fields: &[("command", EntryField::Command), ("args", EntryField::Arguments), ("timeout", LONGEST_CALL)],
        brought: &[],
        http: HttpEntry::Supported {
            referring: None,
            copied: &[("url", EntryField::Url), ("headers", EntryField::Headers), ("timeout", LONGEST_CALL)],
        },
        dialect: "native",
        next: "Zed sees the change by itself; the settings of its agent panel list the server",
        trust: Trust::InProjects("Zed starts the servers of a project only where the project is trusted"),
        asks: "asks before each call",
        approve: Switch::Settings(
            &[zed_setting(&["agent", "tool_permissions", "tools", "mcp:{server}:{tool}", "default"], "allow")],
            None,
        ),
        replace: Switch::Settings(
            &[zed_setting(&["agent", "tool_permissions", "tools", "terminal", "default"], "deny")],
            None,
        ),
    },
    Client {
        name: "goose",
        title: "Goose",
        program: "goose",
        file: moved(config("goose/config.yaml", None), &[("GOOSE_PATH_ROOT", "config/config.yaml")]),
        format: FileFormat::Yaml,
        container: "extensions",
        fields: &[
            ("enabled", EntryField::Yes),
            ("type", EntryField::Text("stdio")),
            ("name", EntryField::Name),
            ("description", EntryField::Text(DESCRIPTION)),
            ("cmd", EntryField::Command),
            ("args", EntryField::Arguments),
            ("timeout", LONGEST_CALL),
        ],
        brought: &[],
        http: HttpEntry::Supported {
            referring: Some((
                &[
                    ("enabled", EntryField::Yes),
                    ("type", EntryField::Text("streamable_http")),
                    ("name", EntryField::Name),
                    ("description", EntryField::Text(DESCRIPTION)),
                    ("uri", EntryField::Url),
                    ("headers", EntryField::Headers),
                    ("env_keys", EntryField::List(&["MCP_CHITON_TOKEN"])),
                    ("timeout", LONGEST_CALL),
                ],
                "${MCP_CHITON_TOKEN}",
            )),
            copied: &[
                ("enabled", EntryField::Yes),
                ("type", EntryField::Text("streamable_http")),
                ("name", EntryField::Name),
                ("description", EntryField::Text(DESCRIPTION)),
                ("uri", EntryField::Url),
                ("headers", EntryField::Headers),
                ("timeout", LONGEST_CALL),
            ],
        },
        dialect: "native",
        next: "start a new Goose session",
        trust: Trust::Nothing,
        asks: "asks in its modes `approve` and `smart_approve`",
        approve: Switch::ByHand("`goose configure` sets the permission of each tool"),
        replace: Switch::ByHand(
            "`goose configure`, `Toggle Extensions`, and switch `developer` off; its tools for files go with it",
        ),
    },
];

const DESCRIPTION: &str = "The shell that AI agents use";
const CLAUDE_HTTP: EntryFieldRows = &[
    ("type", EntryField::Text("http")),
    ("url", EntryField::Url),
    ("headers", EntryField::Headers),
    ("alwaysLoad", EntryField::Yes),
];
const GEMINI_HTTP: EntryFieldRows = &[("httpUrl", EntryField::Url), ("headers", EntryField::Headers)];
const QWEN_HTTP: EntryFieldRows =
    &[("httpUrl", EntryField::Url), ("headers", EntryField::Headers), ("alwaysLoadTools", EntryField::Yes)];
const WINDSURF_HTTP: EntryFieldRows = &[("serverUrl", EntryField::Url), ("headers", EntryField::Headers)];
const OPENCODE_HTTP: EntryFieldRows = &[
    ("type", EntryField::Text("remote")),
    ("url", EntryField::Url),
    ("headers", EntryField::Headers),
    // The server has a token of its own and no such login.
    ("oauth", EntryField::No),
    ("enabled", EntryField::Yes),
    ("timeout", LONGEST_CALL_MILLISECONDS),
];
const COPILOT_HTTP: EntryFieldRows = &[
    ("type", EntryField::Text("http")),
    ("url", EntryField::Url),
    ("headers", EntryField::Headers),
    ("tools", EntryField::List(&["*"])),
    ("timeout", LONGEST_CALL_MILLISECONDS),
];

impl Client {
    pub(crate) fn find(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }
}
