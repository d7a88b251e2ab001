//! Says that a variable was kept back where a command fails that may have needed it.
//!
//! A command needs a variable if its text names it, if its output does (`GITHUB_TOKEN is not set`), or if it runs a
//! program that is known to read it.

use super::RemovedVariable;

/// Programs, and the variables that each reads; a trailing `*` stands for any rest.
const READERS: &[(&[&str], &[&str])] = &[
    (&["git", "git-lfs", "hub"], &["SSH_AUTH_SOCK", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GIT_*"]),
    (
        &["ssh", "scp", "sftp", "rsync", "ssh-add", "sshpass", "autossh", "mosh"],
        &["SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSHPASS", "RSYNC_PASSWORD"],
    ),
    (&["gh"], &["GH_*", "GITHUB_TOKEN", "GITHUB_PAT"]),
    (&["glab"], &["GITLAB_*"]),
    (&["aws", "sam", "cdk", "eksctl", "copilot", "chalice", "s3cmd", "serverless", "sls", "aws-vault"], &["AWS_*"]),
    (
        &["terraform", "tofu", "terragrunt", "pulumi"],
        &["TF_*", "AWS_*", "ARM_*", "AZURE_*", "GOOGLE_*", "PULUMI_*", "CLOUDFLARE_*", "DIGITALOCEAN_*", "HCLOUD_*"],
    ),
    (&["gcloud", "gsutil", "bq", "firebase"], &["GOOGLE_*", "CLOUDSDK_*", "FIREBASE_*"]),
    (&["az", "azd", "func"], &["AZURE_*", "ARM_*"]),
    (
        &["npm", "npx", "yarn", "pnpm", "bun", "lerna", "changeset"],
        &["NPM_*", "npm_*", "NODE_AUTH_TOKEN", "YARN_*", "BUN_*"],
    ),
    (
        &["docker", "podman", "buildah", "skopeo", "docker-compose", "nerdctl"],
        &["DOCKER_*", "REGISTRY_*", "CI_REGISTRY_*"],
    ),
    (&["kubectl", "helm", "k9s", "kustomize", "flux", "argocd", "oc"], &["KUBE*", "HELM_*", "ARGOCD_*"]),
    (
        &["pip", "pip3", "uv", "poetry", "pipenv", "twine", "flit", "hatch", "pdm"],
        &["PIP_*", "UV_*", "POETRY_*", "TWINE_*", "PYPI_*", "FLIT_*", "HATCH_*", "PDM_*"],
    ),
    (&["cargo"], &["CARGO_*"]),
    (
        &["gem", "bundle", "bundler", "rails", "rake"],
        &["GEM_*", "BUNDLE_*", "RAILS_*", "SECRET_KEY_BASE", "DATABASE_URL"],
    ),
    (&["composer", "artisan"], &["COMPOSER_*", "APP_KEY", "DB_*"]),
    (&["mvn", "gradle", "gradlew", "mvnw", "sbt"], &["MAVEN_*", "OSSRH_*", "SONATYPE_*", "ORG_GRADLE_*", "SIGNING_*"]),
    (&["psql", "pg_dump", "pg_restore", "createdb", "dropdb", "pgcli"], &["PG*", "POSTGRES_*", "DATABASE_URL"]),
    (&["mysql", "mysqldump", "mariadb"], &["MYSQL_*"]),
    (&["redis-cli"], &["REDISCLI_AUTH", "REDIS_*"]),
    (&["mongosh", "mongo", "mongodump"], &["MONGO*"]),
    (
        &["prisma", "alembic", "manage.py", "flyway", "liquibase", "sequelize", "knex", "drizzle-kit"],
        &["DATABASE_URL", "DB_*", "DJANGO_*", "FLYWAY_*"],
    ),
    (&["vault"], &["VAULT_*"]),
    (&["op"], &["OP_*"]),
    (&["bw", "bws"], &["BW*"]),
    (&["doppler"], &["DOPPLER_*"]),
    (&["sops", "age"], &["SOPS_*", "AGE_*"]),
    (&["ansible", "ansible-playbook", "ansible-vault"], &["ANSIBLE_*"]),
    (&["restic", "borg", "rclone"], &["RESTIC_*", "BORG_*", "RCLONE_*", "AWS_*", "B2_*"]),
    (&["heroku"], &["HEROKU_*"]),
    (&["netlify", "ntl"], &["NETLIFY_*"]),
    (&["vercel", "vc"], &["VERCEL_*"]),
    (&["fly", "flyctl"], &["FLY_*"]),
    (&["wrangler", "cloudflared", "flarectl"], &["CLOUDFLARE_*", "CF_*"]),
    (&["doctl"], &["DIGITALOCEAN_*"]),
    (&["hcloud"], &["HCLOUD_*"]),
    (&["supabase"], &["SUPABASE_*"]),
    (&["railway"], &["RAILWAY_*"]),
    (&["hf", "huggingface-cli"], &["HF_*", "HUGGING*"]),
    (&["wandb"], &["WANDB_*"]),
    (&["openai", "llm", "aider", "codex"], &["OPENAI_*", "ANTHROPIC_*"]),
    (&["claude"], &["ANTHROPIC_*", "CLAUDE_*"]),
    (&["gemini"], &["GEMINI_*", "GOOGLE_*"]),
    (&["stripe"], &["STRIPE_*"]),
    (&["twilio"], &["TWILIO_*"]),
    (&["sentry-cli"], &["SENTRY_*"]),
    (&["datadog-ci"], &["DATADOG_*", "DD_*"]),
    (&["snyk"], &["SNYK_*"]),
    (&["sonar-scanner"], &["SONAR_*"]),
    (&["codecov"], &["CODECOV_*"]),
    (&["circleci"], &["CIRCLE*"]),
    (&["gpg", "gpg2"], &["GNUPGHOME", "GPG_*"]),
    (&["java", "javac", "kotlin", "scala"], &["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"]),
    (&["module", "ml"], &["BASH_FUNC_*", "LMOD_*", "MODULE*"]),
];

/// How many variables one notice names.
const NAMED: usize = 5;

/// The variables of `removed` that a command needed, as far as its text and its output show.
pub(crate) fn missed<'a>(removed: &'a [RemovedVariable], command: &[u8], output: &[&str]) -> Vec<&'a RemovedVariable> {
    let command = String::from_utf8_lossy(command);
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '_' | '-' | '.');
    let words: Vec<&str> =
        command.split(|character: char| !is_part(character)).filter(|word| !word.is_empty()).collect();
    let read: Vec<&str> = READERS
        .iter()
        .filter(|(programs, _)| programs.iter().any(|program| words.contains(program)))
        .flat_map(|(_, variables)| variables.iter().copied())
        .collect();
    let is_missed = |variable: &&RemovedVariable| {
        names(&command, &variable.name)
            || read.iter().any(|pattern| super::fits(pattern, &variable.name))
            || output.iter().any(|text| names(text, &variable.name))
    };
    removed.iter().filter(is_missed).collect()
}

/// Whether `text` has this name as a word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.match_indices(name).any(|(place, _)| {
        let bytes = text.as_bytes();
        let before = place.checked_sub(1).map(|place| bytes[place]);
        let after = bytes.get(place + name.len()).copied();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// What to tell whoever missed them.
pub(crate) fn notice(missed: &[&RemovedVariable]) -> Option<String> {
    let (first, rest) = missed.split_first()?;
    let mut what = format!("{} (it {})", first.name, first.why);
    for variable in rest.iter().take(NAMED - 1) {
        what.push_str(&format!(", {} (it {})", variable.name, variable.why));
    }
    if missed.len() > NAMED {
        what.push_str(&format!(" and {} more", missed.len() - NAMED));
    }
    let name = &first.name;
    Some(format!(
        "kept from this command: {what}. If it needs one, a person lets it pass with --keep-env {name}, or with \
         environment.keep = [\"{name}\"] in the settings"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_missed_by_its_name_its_program_and_the_output() {
        let removed: Vec<RemovedVariable> = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "FOO_KEY"]
            .map(|name| RemovedVariable { name: name.to_owned(), why: "is one".to_owned() })
            .into();
        let of = |command: &str, output: &str| {
            let missed = missed(&removed, command.as_bytes(), &[output]);
            missed.into_iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>().join(" ")
        };
        for (command, output, expected) in [
            ("echo $GITHUB_TOKEN", "", "GITHUB_TOKEN"),
            ("echo $MY_GITHUB_TOKEN", "", ""),
            ("cd x && gh pr list", "", "GITHUB_TOKEN"),
            ("/usr/bin/aws s3 ls", "", "AWS_SECRET_ACCESS_KEY"),
            ("aws s3 ls", "", "AWS_SECRET_ACCESS_KEY"),
            ("./deploy.sh", "error: FOO_KEY is not set", "FOO_KEY"),
            ("make laws", "", ""),
        ] {
            assert_eq!(of(command, output), expected, "{command}");
        }
        let all: Vec<&RemovedVariable> = removed.iter().collect();
        let notice = notice(&all).unwrap();
        assert!(notice.contains("environment.keep = [\"GITHUB_TOKEN\"]") && notice.contains("FOO_KEY"), "{notice}");
    }
}
