// The agents that are run. One row each: what is installed, how `chiton setup` calls it, and how it is pointed at another
// model. All of that goes into variables and arguments, so that its settings are those which `chiton setup` wrote.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const node = process.execPath;
const machine = `${process.platform}-${process.arch}`;

export const clients = [
  {
    name: "claude-code",
    package: "@anthropic-ai/claude-code",
    start: (modules) => [join(modules, `@anthropic-ai/claude-code-${machine}/claude`)],
    arguments: (prompt) => ["-p", prompt],
    environment: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
  },
  {
    name: "codex",
    package: "@openai/codex",
    start: (modules) => [node, join(modules, "@openai/codex/bin/codex.js")],
    arguments: (prompt, { url }) => {
      const provider = `{ name = "fake", base_url = "${url}/v1", wire_api = "responses", env_key = "FAKE_KEY" }`;
      const settings = ["model=fake", "model_provider=fake", `model_providers.fake=${provider}`, "check_for_update_on_startup=false"];
      return ["exec", "--skip-git-repo-check", ...settings.flatMap((one) => ["-c", one]), prompt];
    },
    environment: () => ({ FAKE_KEY: "none" }),
  },
  {
    name: "gemini",
    package: "@google/gemini-cli",
    start: (modules) => [node, join(modules, "@google/gemini-cli/bundle/gemini.js")],
    arguments: (prompt) => ["-p", prompt, "-m", "gemini-2.5-pro", "--approval-mode=yolo"],
    // A person chooses the kind of key in a dialog, and trusts the folder in another one.
    prepare: ({ home }) => amend(join(home, ".gemini/settings.json"), { security: { auth: { selectedType: "gemini-api-key" } } }),
    environment: ({ url }) => ({ GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  },
  {
    name: "opencode",
    package: "opencode-ai",
    start: (modules) => [join(modules, `opencode-${machine}/bin/opencode`)],
    arguments: (prompt) => ["run", prompt],
    environment: ({ url }) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: "fake/fake",
        autoupdate: false,
        share: "disabled",
        provider: {
          fake: { npm: "@ai-sdk/openai-compatible", name: "fake", options: { baseURL: `${url}/v1`, apiKey: "none" }, models: { fake: { name: "fake" } } },
        },
      }),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    }),
  },
];

function amend(file, more) {
  const before = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...before, ...more }, null, 2));
}
