//! Programs that run another one by an option, by a line of their input or by a file of the project: a second table, beside
//! what their rows say.
//!
//! What stands inside is judged as if it stood alone; so `sort --compress-program=gzip` is as good as `gzip`.

use std::rc::Rc;
use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

use super::row::{Example, allows, asks, denies};
use crate::effect::{Kind, Writing};
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::snippet::lexer::{Token, tokens};
use crate::snippet::{Language, run_code};
use crate::value::{Arg, Flow, Labels, Text};

/// Programs that run others in the same way.
pub(super) struct Hidden {
    /// Their names; a trailing `*` stands for any rest.
    pub(super) names: &'static [&'static str],
    /// Options and what their values are. One that ends with `=` or `:` has its value behind that.
    options: &'static [(&'static [&'static str], Value)],
    /// What begins a line of the input that a shell runs.
    lines: &'static [&'static str],
    /// Files of the project that it runs, where this command has written them.
    files: &'static [(&'static str, Value)],
    /// What none of this can say.
    custom: Option<fn(&mut Machine<'_>, &Call, &World)>,
    pub(super) examples: &'static [Example],
}

/// What a value is.
#[derive(Clone, Copy)]
enum Value {
    /// Text for a shell.
    Text,
    /// A program.
    Helper,
    /// A file with code or settings that is loaded.
    Loaded,
    /// Code.
    Code(Language),
    /// Commands of the program itself; those that begin like this are for a shell.
    Commands(&'static [&'static str]),
    /// Everything behind the option is a command.
    Words,
    /// A program and its arguments, between commas.
    Commas,
    /// Recipes, a line each behind a tab.
    Recipes,
    /// Lines in which a command follows this.
    LinesWith(&'static [&'static str]),
    /// JSON with the commands of a project in `scripts`.
    Scripts,
}

const HIDDEN: Hidden = Hidden { names: &[], options: &[], lines: &[], files: &[], custom: None, examples: &[] };

pub(super) const ROWS: &[Hidden] = &[
    Hidden {
        names: &["cpio"],
        options: &[(&["--rsh-command"], Value::Helper)],
        examples: examples![denies("cpio -o --rsh-command='rm -rf /' -F host:x", "delete-root"), allows("cpio -id")],
        ..HIDDEN
    },
    Hidden {
        names: &["7z", "7za", "7zz", "rar", "bsdcpio", "cpio"],
        custom: Some(packs),
        examples: examples![
            denies("7z a -sdel x.7z /etc", "delete-system"),
            asks("cpio -idmv -D / < x", "system-write"),
            allows("7z a x.7z src"),
            allows("cpio -id -D out < x"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["xargs", "parallel", "rush"],
        custom: Some(many),
        examples: examples![
            asks("seq 100000 | xargs -P0 -I{} sleep 1000", "fork-bomb"),
            allows("seq 10 | xargs -P0 -I{} sleep {}"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["nvim", "vim"],
        options: &[(&["-l"], Value::Code(Language::Lua))],
        examples: examples![
            denies("nvim -l <(echo 'os.execute(\"rm -rf /\")')", "delete-root"),
            allows("nvim -l script.lua")
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["zip"],
        options: &[(&["-TT", "--unzip-command"], Value::Text)],
        examples: examples![denies("zip x.zip a -T -TT 'rm -rf / #'", "delete-root")],
        ..HIDDEN
    },
    Hidden {
        names: &["ssh", "scp", "sftp", "autossh"],
        options: &[(&["-F", "-I"], Value::Loaded)],
        lines: &["!"],
        examples: examples![
            asks("ssh -F /tmp/config host", "hidden-run"),
            denies("sftp host <<< '!rm -rf /'", "delete-root"),
            allows("ssh -F ~/.ssh/config host uptime"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["sftp"],
        options: &[(&["-D"], Value::Helper)],
        examples: examples![asks("sftp -D /tmp/x", "hidden-run")],
        ..HIDDEN
    },
    Hidden {
        names: &["ssh-keygen", "ssh-add", "ssh-pkcs11-helper"],
        options: &[(&["-D", "-w", "-s", "-S"], Value::Loaded)],
        examples: examples![
            asks("ssh-keygen -D /tmp/x.so", "hidden-run"),
            allows("ssh-keygen -s ca_key -I id key.pub")
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["ssh-agent", "mise", "rtx"],
        custom: Some(|machine, call, world| {
            let starts = |arg: &Arg| {
                let name = crate::machine::command::program_name(&arg.text).unwrap_or_default();
                matches!(name.as_str(), "sh" | "bash" | "rm" | "zsh" | "dd" | "env" | "sudo")
            };
            if let Some(at) = call.args.iter().position(starts) {
                machine.run_words(call, &call.args[at..], world.clone());
            }
        }),
        examples: examples![denies("ssh-agent bash -c 'rm -rf /'", "delete-root"), allows("eval \"$(ssh-agent -s)\"")],
        ..HIDDEN
    },
    Hidden {
        names: &["ftp", "tftp", "telnet", "smbclient", "ncftp", "cadaver"],
        lines: &["!", "shell "],
        options: &[(&["-c"], Value::Commands(&["!"]))],
        examples: examples![denies("echo '!rm -rf /' | ftp host", "delete-root"), allows("echo quit | ftp host")],
        ..HIDDEN
    },
    Hidden {
        names: &["lftp"],
        options: &[(&["-e", "-c"], Value::Commands(&["!", "shell "]))],
        lines: &["!", "shell "],
        examples: examples![
            denies("lftp -e '!rm -rf /; quit' host", "delete-root"),
            allows("lftp -e 'mirror dist; quit' host"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["ag", "ack", "bat", "batcat", "gh", "glab", "delta", "jj", "hg"],
        options: &[(&["--pager", "--diff-cmd"], Value::Helper)],
        examples: examples![
            denies("bat --pager 'rm -rf /' x", "delete-root"),
            allows("bat --pager less x"),
            allows("bat --pager=never x"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["git"],
        options: &[
            (
                &["--upload-pack", "--receive-pack", "--smtp-server", "--sendmail-cmd", "--to-cmd", "--cc-cmd"],
                Value::Helper,
            ),
            (&["--template"], Value::Loaded),
        ],
        examples: examples![
            denies("git fetch-pack --upload-pack='rm -rf /' host:x", "delete-root"),
            asks("git init --template=/tmp/t .", "hidden-run"),
            allows("git init --template=.templates ."),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["go"],
        options: &[(&["-toolexec", "-exec", "-vettool", "--toolexec", "--exec"], Value::Helper)],
        custom: Some(go),
        files: &[("main.go", Value::Code(Language::Braces))],
        examples: examples![
            denies("go build -toolexec 'rm -rf /' ./...", "delete-root"),
            denies("echo 'func main() { os.RemoveAll(\"/\") }' > x.go; go run x.go", "delete-root"),
            denies("echo '//go:generate rm -rf /' > g.go; go generate ./...", "delete-root"),
            allows("go test ./..."),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &[
            "gcc*", "g++*", "cc", "c++", "clang*", "tcc", "ld", "ld.*", "rustc", "ghc", "swiftc", "javac", "zig",
            "nasm",
        ],
        options: &[
            (&["-wrapper"], Value::Commas),
            (&["-fplugin=", "-specs=", "--specs=", "-fuse-ld=", "-B", "-plugin", "-fpass-plugin="], Value::Loaded),
            (&["-load", "--load"], Value::Loaded),
        ],
        custom: Some(compile),
        examples: examples![
            denies("gcc -wrapper rm,-rf,/ a.c", "delete-root"),
            asks("gcc -B/tmp/x a.c", "hidden-run"),
            denies("echo 'int main() { system(\"rm -rf /\"); }' > x.c; gcc x.c -o x; ./x", "delete-root"),
            allows("gcc -Wall -O2 -o x x.c"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &[
            "pdflatex", "latex", "xelatex", "lualatex", "luatex", "tex", "pdftex", "xetex", "etex", "luahbtex",
            "context",
        ],
        custom: Some(tex),
        examples: examples![
            denies("pdflatex -shell-escape '\\write18{rm -rf /}'", "delete-root"),
            denies("lualatex '\\directlua{os.execute(\"rm -rf /\")}'", "delete-root"),
            allows("pdflatex -shell-escape report.tex"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["latexmk"],
        options: &[
            (&["-pdflatex=", "-latex=", "-xelatex=", "-lualatex="], Value::Text),
            (&["-e"], Value::Code(Language::Perl)),
            (&["-r"], Value::Loaded),
        ],
        examples: examples![denies("latexmk -pdflatex='rm -rf /' x.tex", "delete-root"), allows("latexmk -pdf x.tex")],
        ..HIDDEN
    },
    Hidden {
        names: &["dpkg", "dpkg-deb"],
        options: &[(&["--pre-invoke", "--post-invoke"], Value::Text), (&["--admindir", "--instdir"], Value::Loaded)],
        examples: examples![denies("dpkg --pre-invoke='rm -rf /' -i x.deb", "delete-root"), allows("dpkg -l")],
        ..HIDDEN
    },
    Hidden {
        names: &["apt", "apt-get", "aptitude"],
        options: &[(&["-o", "--option"], Value::Commands(&[]))],
        custom: Some(apt),
        examples: examples![
            denies("apt-get -o APT::Update::Pre-Invoke::='rm -rf /' update", "delete-root"),
            asks("apt-get -o Dir::Bin::dpkg=/tmp/x install jq", "hidden-run"),
            allows("apt-get -o Acquire::Retries=3 update"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["rpm", "rpmbuild", "rpmspec", "rpm2cpio", "dnf", "yum"],
        options: &[
            (&["--pipe"], Value::Text),
            (&["--setopt=pluginpath="], Value::Loaded),
            (&["--root", "--dbpath"], Value::Loaded),
        ],
        custom: Some(rpm),
        examples: examples![
            denies("rpm --eval '%(rm -rf /)'", "delete-root"),
            denies("rpm --pipe 'rm -rf /' -qa", "delete-root"),
            asks("dnf --setopt=pluginpath=/tmp/x install jq", "hidden-run"),
            allows("rpm --eval '%{_libdir}'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["openvpn", "openfortivpn", "pppd", "wg-quick", "strongswan"],
        options: &[
            (
                &[
                    "--up", "--down", "--route-up", "--route-pre-down", "--ipchange", "--client-connect",
                    "--client-disconnect", "--learn-address", "--tls-verify", "--auth-user-pass-verify", "connect",
                    "pty",
                ],
                Value::Helper,
            ),
            (&["--plugin", "--config"], Value::Loaded),
        ],
        examples: examples![
            denies("openvpn --script-security 2 --up 'rm -rf /' --config x", "delete-root"),
            asks("openvpn --script-security 2 --up /tmp/x --config y", "hidden-run"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["nmap"],
        options: &[(&["--script"], Value::Code(Language::Lua)), (&["--datadir", "--servicedb"], Value::Loaded)],
        examples: examples![
            denies("echo 'os.execute(\"rm -rf /\")' > x.nse; nmap --script=./x.nse localhost", "delete-root"),
            asks("nmap --script /tmp/x.nse localhost", "hidden-run"),
            allows("nmap -sV --script=default localhost"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["wget", "wget2", "curl"],
        options: &[
            (&["--use-askpass"], Value::Helper),
            (&["--engine"], Value::Loaded),
            (&["use_askpass="], Value::Helper),
        ],
        examples: examples![
            denies("wget --use-askpass='rm -rf /' https://x.io", "delete-root"),
            allows("curl https://x.io")
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["openssl"],
        options: &[
            (&["-engine", "-provider-path", "-provider", "-config"], Value::Loaded),
            (&["SO_PATH:"], Value::Loaded),
        ],
        examples: examples![asks("openssl req -engine /tmp/x.so", "hidden-run"), allows("openssl dgst -sha256 x")],
        ..HIDDEN
    },
    Hidden {
        names: &["qemu*", "kvm"],
        custom: Some(qemu),
        examples: examples![
            denies("qemu-system-x86_64 -net tap,script='rm -rf /'", "delete-root"),
            asks("qemu-system-x86_64 -netdev tap,id=n,script=/tmp/x", "hidden-run"),
            allows("qemu-system-x86_64 -netdev user,id=n"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &[
            "rsyslogd", "nginx", "apache2", "httpd", "haproxy", "snmpd", "cupsd", "vsftpd", "unbound", "named",
            "logrotate",
        ],
        options: &[(&["-c", "-f", "-C"], Value::Loaded)],
        examples: examples![asks("nginx -c /tmp/x.conf", "hidden-run"), allows("nginx -t -c conf/nginx.conf")],
        ..HIDDEN
    },
    Hidden {
        names: &["dnsmasq", "dhclient", "dhcpcd", "udhcpc", "keepalived", "monit", "fail2ban-client"],
        options: &[
            (&["--dhcp-script", "-sf", "--script", "-s"], Value::Helper),
            (&["--conf-file", "-cf", "-c"], Value::Loaded),
        ],
        examples: examples![
            denies("dnsmasq --dhcp-script='rm -rf /'", "delete-root"),
            asks("dhclient -sf /tmp/x eth0", "hidden-run"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["run-parts"],
        custom: Some(run_parts),
        examples: examples![asks("run-parts /tmp/x", "hidden-run"), allows("run-parts --test /etc/cron.daily")],
        ..HIDDEN
    },
    Hidden {
        names: &["pm2", "forever", "air", "bazel", "bazelisk", "reflex", "chokidar", "onchange", "cargo-watch"],
        options: &[
            (&["-c", "--command", "--exec", "--build.cmd", "--build.bin", "--run_under", "-s", "--shell"], Value::Text),
            (&["--shell_executable", "--interpreter"], Value::Helper),
        ],
        custom: Some(text_to_start),
        examples: examples![
            denies("pm2 start 'rm -rf /'", "delete-root"),
            denies("bazel run --run_under='rm -rf /' //x", "delete-root"),
            allows("pm2 start app.js"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["cargo"],
        options: &[(&["-s", "--shell"], Value::Text)],
        custom: Some(cargo_watch),
        files: &[("build.rs", Value::Code(Language::Braces))],
        examples: examples![
            denies("cargo watch -s 'rm -rf /'", "delete-root"),
            denies("echo 'fn main() { fs::remove_dir_all(\"/\"); }' > build.rs; cargo build", "delete-root"),
            allows("cargo watch -x test"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["less", "more", "most", "zless", "most"],
        custom: Some(pager),
        examples: examples![denies("less '+!rm -rf /' x", "delete-root"), allows("less +F x.log")],
        ..HIDDEN
    },
    Hidden {
        names: &["nano", "pico", "rnano", "joe", "aspell"],
        options: &[(&["-s", "--speller"], Value::Helper), (&["-f", "--rcfile"], Value::Loaded)],
        examples: examples![denies("nano --speller='rm -rf /' x", "delete-root")],
        ..HIDDEN
    },
    Hidden {
        names: &["mail", "mailx", "s-nail", "mutt", "neomutt", "bsd-mailx"],
        options: &[
            (&["--exec", "-E"], Value::Commands(&["!", "shell "])),
            (&["-e"], Value::Commands(&["`", "set editor=", "set sendmail="])),
            (&["-F"], Value::Loaded),
        ],
        lines: &["~!", "~|", "!", "~:!"],
        examples: examples![
            denies("mail -s x a@b <<< '~!rm -rf /'", "delete-root"),
            denies("mail --exec='!rm -rf /'", "delete-root"),
            allows("mail -s done a@b <<< 'all well'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["sendmail", "exim", "exim4", "msmtp", "fetchmail", "getmail", "postfix", "mpop"],
        options: &[(&["--passwordeval", "--mda", "--proxy-command"], Value::Text), (&["-C"], Value::Loaded)],
        custom: Some(exim),
        examples: examples![
            denies("exim -be '${run{/bin/rm -rf /}}'", "delete-root"),
            denies("msmtp --passwordeval='rm -rf /' a@b", "delete-root"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["rails", "spring", "hanami", "rake"],
        custom: Some(|machine, call, world| framework(machine, call, world, Language::Ruby)),
        options: &[(&["-e", "--execute"], Value::Code(Language::Ruby))],
        files: &[("Rakefile", Value::Code(Language::Ruby))],
        examples: examples![
            denies("rails runner 'system(\"rm -rf /\")'", "delete-root"),
            denies("rake -e 'system(\"rm -rf /\")'", "delete-root"),
            allows("rails runner 'puts User.count'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["django-admin", "manage.py", "flask", "scrapy", "superset", "airflow", "odoo"],
        custom: Some(|machine, call, world| framework(machine, call, world, Language::Python)),
        examples: examples![
            denies("./manage.py shell -c 'import os; os.system(\"rm -rf /\")'", "delete-root"),
            allows("./manage.py migrate"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["wp", "drush", "artisan", "psysh", "n98-magerun"],
        custom: Some(|machine, call, world| framework(machine, call, world, Language::Php)),
        examples: examples![denies("wp eval 'system(\"rm -rf /\");'", "delete-root"), allows("wp option get siteurl")],
        ..HIDDEN
    },
    Hidden {
        names: &["mix"],
        custom: Some(|machine, call, world| framework(machine, call, world, Language::Elixir)),
        examples: examples![
            denies("mix run -e 'System.cmd(\"rm\", [\"-rf\", \"/\"])'", "delete-root"),
            allows("mix test")
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["jrunscript", "jjs", "gjs", "mongosh"],
        options: &[(&["-e", "-c", "--eval", "--command"], Value::Code(Language::JavaScript))],
        custom: Some(|machine, call, world| code_on_input(machine, call, world, Language::JavaScript)),
        examples: examples![denies("jrunscript -e 'exec(\"rm -rf /\")'", "delete-root")],
        ..HIDDEN
    },
    Hidden {
        names: &["i3-msg", "swaymsg", "hyprctl", "bspc", "herbstclient", "qtile", "awesome-client"],
        custom: Some(window_manager),
        examples: examples![denies("swaymsg exec 'rm -rf /'", "delete-root"), allows("swaymsg reload")],
        ..HIDDEN
    },
    Hidden {
        names: &["busctl", "dbus-send", "gdbus", "qdbus"],
        custom: Some(bus),
        examples: examples![
            denies(
                "dbus-send --system --dest=org.freedesktop.login1 /x org.freedesktop.login1.Manager.PowerOff boolean:true",
                "power",
            ),
            asks(
                "busctl call org.freedesktop.systemd1 /x org.freedesktop.systemd1.Manager StartTransientUnit ssa x",
                "hidden-run",
            ),
            allows("busctl list"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &[
            "make", "gmake", "bmake", "remake", "configure", "cmake", "meson", "autoreconf", "mvn", "gradle",
            "gradlew", "ant", "sbt",
        ],
        options: &[
            (
                &[
                    "CC=", "CXX=", "LD=", "AR=", "SHELL=", "PYTHON=", "CPP=", "RM=", "MAKE=", "INSTALL=", "NODE=",
                    "-DCMAKE_C_COMPILER=", "-DCMAKE_CXX_COMPILER=", "-DCMAKE_C_COMPILER_LAUNCHER=",
                    "-DCMAKE_CXX_COMPILER_LAUNCHER=", "-DCMAKE_LINKER=", "-DCMAKE_MAKE_PROGRAM=", "-Dexec.executable=",
                ],
                Value::Helper,
            ),
            (&["-I", "--init-script", "-b", "-lib", "-P"], Value::Loaded),
        ],
        custom: Some(build),
        examples: examples![
            denies("make CC='rm -rf /'", "delete-root"),
            asks("cmake -DCMAKE_C_COMPILER=/tmp/x .", "hidden-run"),
            denies("cmake -E rm -rf /", "delete-root"),
            denies("cmake -E chdir / rm -rf etc", "delete-system"),
            denies("mvn exec:exec -Dexec.executable=rm -Dexec.args='-rf /'", "delete-root"),
            allows("make CC=clang"),
            allows("cmake -E rm -rf build"),
            allows("./configure CC=clang"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["gradle", "gradlew"],
        files: &[("build.gradle", Value::Code(Language::Braces)), ("build.gradle.kts", Value::Code(Language::Braces))],
        examples: examples![
            denies("echo '\"rm -rf /\".execute()' > build.gradle; gradle build", "delete-root"),
            allows("gradle build"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["ninja"],
        files: &[("build.ninja", Value::LinesWith(&["command = "]))],
        examples: examples![
            denies("printf 'rule x\\n  command = rm -rf /\\n' > build.ninja; ninja", "delete-root"),
            allows("ninja -C build"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["just"],
        options: &[
            (&["-f", "--justfile"], Value::Recipes),
            (&["-c", "--command"], Value::Words),
            (&["--shell"], Value::Helper),
        ],
        files: &[("justfile", Value::Recipes), ("Justfile", Value::Recipes), (".justfile", Value::Recipes)],
        examples: examples![
            denies("printf 'x:\\n\\trm -rf /\\n' > justfile; just x", "delete-root"),
            denies("just -c rm -rf /", "delete-root"),
            allows("just test"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["task", "go-task"],
        files: &[
            ("Taskfile.yml", Value::LinesWith(&["- ", "cmd: "])),
            ("Taskfile.yaml", Value::LinesWith(&["- ", "cmd: "])),
        ],
        examples: examples![
            denies("printf 'tasks:\\n  x:\\n    cmds:\\n      - rm -rf /\\n' > Taskfile.yml; task x", "delete-root"),
            allows("task build"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["npm", "yarn", "pnpm", "bun", "npx"],
        options: &[(&["--script-shell"], Value::Helper)],
        custom: Some(node_scripts),
        files: &[("package.json", Value::Scripts)],
        examples: examples![
            denies("echo '{\"scripts\":{\"x\":\"rm -rf /\"}}' > package.json; npm run x", "delete-root"),
            denies("npm pkg set scripts.x='rm -rf /'", "delete-root"),
            denies("npm exec -c 'rm -rf /'", "delete-root"),
            denies("pnpm dlx rimraf /", "delete-root"),
            allows("echo '{\"scripts\":{\"x\":\"vitest\"}}' > package.json; npm run x"),
            allows("npm pkg set scripts.test=vitest"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["pip", "pip3", "pipx", "uv", "poetry", "pytest", "tox", "nox"],
        files: &[
            ("setup.py", Value::Code(Language::Python)),
            ("conftest.py", Value::Code(Language::Python)),
            ("noxfile.py", Value::Code(Language::Python)),
        ],
        examples: examples![
            denies("echo 'import shutil; shutil.rmtree(\"/\")' > setup.py; pip install -e .", "delete-root"),
            denies("echo 'import shutil; shutil.rmtree(\"/\")' > conftest.py; pytest", "delete-root"),
            allows("pip install -e ."),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["bundle", "bundler", "gem", "rspec"],
        files: &[("Gemfile", Value::Code(Language::Ruby)), ("spec/spec_helper.rb", Value::Code(Language::Ruby))],
        examples: examples![denies("echo 'system(\"rm -rf /\")' > Gemfile; bundle install", "delete-root")],
        ..HIDDEN
    },
    Hidden {
        names: &["fish"],
        options: &[(&["-C", "--init-command", "--command"], Value::Text)],
        examples: examples![denies("fish -C 'rm -rf /'", "delete-root"), allows("fish -c 'echo hi'")],
        ..HIDDEN
    },
    Hidden {
        names: &["m4", "gm4"],
        custom: Some(m4),
        examples: examples![denies("m4 <<< 'esyscmd(rm -rf /)'", "delete-root"), allows("m4 config.m4")],
        ..HIDDEN
    },
    Hidden {
        names: &["gnuplot"],
        options: &[
            (&["-e"], Value::Code(Language::Ruby)),
            (&["-e"], Value::Commands(&["!", "set output \"|", "plot \"<", "load \"<"])),
        ],
        lines: &["!", "plot \"<", "set output \"|"],
        custom: Some(|machine, call, world| code_on_input(machine, call, world, Language::Ruby)),
        examples: examples![
            denies("gnuplot -e 'system(\"rm -rf /\")'", "delete-root"),
            allows("gnuplot -e 'set term png; plot sin(x)'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["dc"],
        options: &[(&["-e", "--expression"], Value::Commands(&["!"]))],
        lines: &["!"],
        examples: examples![denies("dc -e '!rm -rf /'", "delete-root"), allows("dc -e '2 2 + p'")],
        ..HIDDEN
    },
    Hidden {
        names: &["sqlite3", "sqlite", "duckdb", "litecli"],
        custom: Some(sqlite),
        examples: examples![
            denies("sqlite3 x.db '.once |rm -rf /' 'select 1'", "delete-root"),
            asks("sqlite3 x.db '.load /tmp/x.so'", "hidden-run"),
            allows("sqlite3 x.db .tables"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["mysql", "mariadb", "psql", "mycli", "pgcli", "cqlsh"],
        options: &[(&["--pager"], Value::Helper)],
        custom: Some(sql_pipe),
        examples: examples![
            denies("mysql --pager='rm -rf /' -e 'select 1'", "delete-root"),
            asks("psql -c 'select 1 \\g |sh'", "unknown-run"),
            allows("psql -c 'select 1'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["nix", "nix-instantiate", "nix-build"],
        custom: Some(nix),
        examples: examples![
            denies("nix eval --impure --expr 'builtins.exec [\"rm\" \"-rf\" \"/\"]'", "delete-root"),
            allows("nix eval --expr '1+1'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["ansible"],
        custom: Some(ansible),
        examples: examples![
            denies("ansible all -m file -a 'path=/ state=absent'", "delete-root"),
            denies("ansible all -m ansible.builtin.shell -a 'rm -rf /'", "delete-root"),
            allows("ansible all -m file -a 'path=/tmp/x state=absent'"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["dc3dd", "dcfldd", "pv", "xxd", "cp", "install", "fallocate", "mount", "date", "qemu-img"],
        custom: Some(devices),
        examples: examples![
            denies("dc3dd wipe=/dev/sda", "disk"),
            denies("pv x -o /dev/sda", "disk"),
            asks("cp /dev/zero fill", "disk"),
            asks("fallocate -l 10T fill", "disk"),
            asks("mount --bind /dev/null /etc/passwd", "disk"),
            asks("date -s 2000-01-01", "system-write"),
            denies("qemu-img convert -O raw x.qcow2 /dev/sda", "disk"),
            allows("date -u"),
            allows("fallocate -l 1G disk.img"),
            allows("qemu-img convert -O qcow2 x.raw x.qcow2"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["strace"],
        options: &[(&["-o"], Value::Commands(&["|", "!"]))],
        examples: examples![denies("strace -o '|rm -rf /' ls", "delete-root"), allows("strace -o log ls")],
        ..HIDDEN
    },
    Hidden {
        names: &[
            "xterm", "urxvt", "rxvt", "st", "konsole", "gnome-terminal", "mate-terminal", "xfce4-terminal",
            "alacritty", "terminator", "tilix", "x-terminal-emulator", "lxterminal", "kgx", "ptyxis",
        ],
        options: &[(&["-e", "--command", "-x", "--execute", "--"], Value::Words)],
        examples: examples![
            denies("xterm -e 'rm -rf /'", "delete-root"),
            denies("gnome-terminal -- rm -rf /", "delete-root"),
            allows("xterm -e htop"),
        ],
        ..HIDDEN
    },
    Hidden {
        names: &["doppler", "flatpak", "snap", "sops", "sg", "capsh"],
        options: &[(&["--command"], Value::Text), (&["-c"], Value::Text)],
        custom: Some(second_is_text),
        examples: examples![
            denies("doppler run --command 'rm -rf /'", "delete-root"),
            denies("sg docker 'rm -rf /'", "delete-root"),
            denies("sops exec-env x 'rm -rf /'", "delete-root"),
            allows("sg docker 'docker ps'"),
        ],
        ..HIDDEN
    },
];

/// Rows by the name of a program.
static BY_NAME: LazyLock<NameIndex<Hidden>> =
    LazyLock::new(|| NameIndex::new(ROWS.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row)))));

/// Judges what `call` runs besides what its row says.
pub(super) fn look_at(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for row in BY_NAME.rows(&call.name) {
        row.look_at(machine, call, world);
    }
}

impl Hidden {
    fn look_at(&self, machine: &mut Machine<'_>, call: &Call, world: &World) {
        for (names, value) in self.options {
            for (at, arg) in given(call, names) {
                judge(machine, *value, &arg, at, call, world);
            }
        }
        if !self.lines.is_empty() {
            run_commands(machine, call.input.text.as_deref().unwrap_or_default(), self.lines, call, world);
        }
        let files = if machine.may_know_files() { self.files } else { &[] };
        for (file, value) in files {
            let flow = machine.read(&Text::known(*file), world);
            if let Some(text) = flow.text {
                judge_text(machine, *value, &Arg::known(text, call.span), call, world);
            }
        }
        if let Some(custom) = self.custom {
            custom(machine, call, world);
        }
    }
}

/// The values of an option, and where the option stands.
fn given(call: &Call, names: &[&str]) -> Vec<(usize, Arg)> {
    let mut found = Vec::new();
    for (at, arg) in call.args.iter().enumerate() {
        let start = arg.text.known_start();
        for name in names {
            let is_short = name.len() == 2 && name.starts_with('-') && *name != "--";
            if name.ends_with(['=', ':']) {
                if start.starts_with(name) {
                    found.push((at, Arg::new(arg.text.skip(name.len()), arg.span)));
                }
            } else if arg.text.is(name) {
                found.extend(call.args.get(at + 1).map(|next| (at, next.clone())));
            } else if start.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) {
                found.push((at, Arg::new(arg.text.skip(name.len() + 1), arg.span)));
            } else if is_short && start.starts_with(name) {
                found.push((at, Arg::new(arg.text.skip(2), arg.span)));
            } else if let Some((cut, _)) =
                start.split_once('=').filter(|(cut, _)| cut.len() > 5 && name.starts_with(cut))
            {
                found.push((at, Arg::new(arg.text.skip(cut.len() + 1), arg.span)));
            }
        }
    }
    found
}

fn judge(machine: &mut Machine<'_>, value: Value, arg: &Arg, at: usize, call: &Call, world: &World) {
    match value {
        Value::Words => {
            let words = call.args.get(at + 1..).unwrap_or_default();
            match words {
                [only] if only.text.known_start().contains(' ') => {
                    drop(machine.run_text(only, world.clone(), &call.input));
                }
                words => drop(machine.run_words(call, words, world.clone())),
            }
        }
        Value::Loaded => load(machine, arg, None, call, world),
        Value::Code(Language::Lua) if matches!(call.name.as_str(), "nmap" | "nvim" | "vim") => {
            load(machine, arg, Some(Value::Code(Language::Lua)), call, world);
        }
        Value::Recipes => load(machine, arg, Some(Value::Recipes), call, world),
        Value::Commands(starts) => {
            if let Some(text) = arg.text.as_literal() {
                run_commands(machine, &text, starts, call, world);
            }
        }
        other => judge_text(machine, other, arg, call, world),
    }
}

fn judge_text(machine: &mut Machine<'_>, value: Value, arg: &Arg, call: &Call, world: &World) {
    match value {
        Value::Text => drop(machine.run_text(arg, world.clone(), &call.input)),
        Value::Helper => super::run_helper(machine, arg, world),
        Value::Code(language) => run_code(machine, arg, language, world, &call.input),
        Value::Commas => {
            if let Some(known) = arg.text.as_known() {
                let words: Vec<Arg> = known.split(',').map(|word| Arg::known(word, arg.span)).collect();
                super::run_helper(machine, &words[0], world);
                machine.run_words(call, &words, world.clone());
            }
        }
        Value::Recipes => {
            let lines = arg.text.as_known().unwrap_or_default();
            let recipes = lines.lines().filter(|line| line.starts_with(['\t', ' ']));
            for recipe in recipes {
                run_line(machine, recipe.trim().trim_start_matches(['@', '-']), arg, call, world);
            }
        }
        Value::LinesWith(marks) => {
            let text = arg.text.as_known().unwrap_or_default();
            for line in text.lines() {
                if let Some(command) = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)) {
                    run_line(machine, command.trim_start_matches("cmd: "), arg, call, world);
                }
            }
        }
        Value::Scripts => {
            for script in scripts(&arg.text.as_known().unwrap_or_default()) {
                run_line(machine, &script, arg, call, world);
            }
        }
        Value::Loaded | Value::Words | Value::Commands(_) => {}
    }
}

/// A command in a file, where it is one: not every line is for a shell.
fn run_line(machine: &mut Machine<'_>, line: &str, from: &Arg, call: &Call, world: &World) {
    if chiton_shell::parse(line.as_bytes()).is_ok() {
        machine.script(line, world.clone(), &call.input, from.span);
    }
}

/// Commands of a program; what follows one of `starts` is for a shell.
fn run_commands(machine: &mut Machine<'_>, text: &str, starts: &[&str], call: &Call, world: &World) {
    for command in text.split(['\n', ';']).take(200) {
        let command = command.trim();
        let Some(inner) = starts.iter().find_map(|start| command.strip_prefix(start)) else { continue };
        let inner = inner.trim_end_matches(['"', '`']).trim_matches('"');
        machine.run_text(&Arg::known(inner, call.span), world.clone(), &Rc::new(Flow::empty()));
    }
}

/// A file that a program loads: known if this command wrote it, suspicious if anybody may have.
fn load(machine: &mut Machine<'_>, file: &Arg, as_value: Option<Value>, call: &Call, world: &World) {
    let flow = machine.read(&file.text, world);
    if let (Some(text), Some(value)) = (&flow.text, as_value) {
        return judge_text(machine, value, &Arg::known(text.clone(), file.span), call, world);
    }
    let shown = file.text.display();
    let is_open = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|place| shown.starts_with(place));
    if is_open && flow.text.is_none() {
        let reason = format!("{shown} would be loaded into {}, and anybody could have put it there.", call.name);
        machine.state(Kind::RunHidden, reason, file.span, Some(shown));
    } else if flow.labels.has(Labels::DOWNLOADED) {
        machine.object_to_flow(&Flow::labelled(Labels::DOWNLOADED), file);
    }
}

/// The commands in the `scripts` of a `package.json`.
fn scripts(json: &str) -> Vec<String> {
    let tokens = tokens(json, Language::JavaScript);
    let is_scripts = |token: &Token| matches!(token, Token::Text(text) if text.is("scripts"));
    let Some(start) = tokens.iter().position(is_scripts) else { return Vec::new() };
    let mut found = Vec::new();
    let mut open = 0_i32;
    for at in start + 1..tokens.len() {
        match &tokens[at] {
            Token::Sign('{') => open += 1,
            Token::Sign('}') => {
                open -= 1;
                if open == 0 {
                    break;
                }
            }
            Token::Text(text) if matches!(tokens[at - 1], Token::Sign(':')) => found.extend(text.as_known()),
            _ => {}
        }
    }
    found
}

/// The first argument that is not an option, and those behind it.
fn operands(call: &Call) -> Vec<&Arg> {
    call.args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).collect()
}

fn code_on_input(machine: &mut Machine<'_>, call: &Call, world: &World, language: Language) {
    if let Some(text) = call.input.text.clone().filter(|text| !text.is_empty()) {
        run_code(machine, &Arg::known(text, call.span), language, world, &Rc::new(Flow::empty()));
    }
}

/// Archives that delete what they pack, or unpack over the system.
fn packs(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    if call.args.iter().any(|arg| arg.text.is("-sdel") || arg.text.is("-df") || arg.text.is("-dr")) {
        for file in words.iter().skip(2) {
            machine.deletes(
                "This would delete after packing",
                &file.text,
                crate::effect::Depth::Tree,
                world,
                file.span,
            );
        }
    }
    let unpacks = call.args.iter().any(|arg| arg.text.known_start().starts_with("-i") || arg.text.is("--extract"));
    if call.name.ends_with("cpio") && unpacks {
        for (_, folder) in given(call, &["-D", "--directory"]) {
            let below = super::files::below(&folder.text);
            machine.writes("This would unpack into", &below, Writing::Replaces, world, folder.span);
        }
    }
}

/// As many processes at once as there are lines.
fn many(machine: &mut Machine<'_>, call: &Call, _: &World) {
    let is_free = given(call, &["-P", "--max-procs", "-j", "--jobs"]).iter().any(|(_, count)| {
        count
            .text
            .as_known()
            .and_then(|count| count.parse::<usize>().ok())
            .is_some_and(|count| count == 0 || count > 2000)
    });
    let lines = call.input.text.as_deref().map_or(0, |text| text.lines().count());
    let is_large = lines > 2000 || call.input.text.is_none() && call.input.labels.has(Labels::PLAIN);
    if is_free && is_large {
        machine.state(
            Kind::MayFork,
            "This would start a process for each of very many lines at once.",
            call.span,
            None,
        );
    }
}

/// Devices that are written by an option, files that never end, and the clock.
fn devices(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    let last = words.last().filter(|_| words.len() > 1);
    let written: Vec<Arg> = match call.name.as_str() {
        "dc3dd" | "dcfldd" => given(call, &["wipe=", "hof=", "hofs=", "of:"]).into_iter().map(|(_, arg)| arg).collect(),
        "pv" => given(call, &["-o", "--output"]).into_iter().map(|(_, arg)| arg).collect(),
        "xxd" if call.args.iter().any(|arg| arg.text.known_start().starts_with("-r")) => {
            last.into_iter().map(|arg| (*arg).clone()).collect()
        }
        "qemu-img" => {
            let by_name = given(call, &["of="]).into_iter().map(|(_, arg)| arg);
            let converts = words.first().is_some_and(|verb| {
                ["convert", "create", "resize", "rebase", "commit"].iter().any(|own| verb.text.is(own))
            });
            by_name.chain(last.filter(|_| converts).map(|arg| (*arg).clone())).collect()
        }
        _ => Vec::new(),
    };
    for file in written {
        machine.writes("This would overwrite", &file.text, Writing::Replaces, world, file.span);
    }

    let fills = match call.name.as_str() {
        "cp" | "install" => {
            let is_endless =
                |arg: &&&Arg| ["/dev/zero", "/dev/urandom", "/dev/random"].iter().any(|path| arg.text.is(path));
            let target = last.is_some_and(|target| !target.text.known_start().starts_with("/dev/"));
            target
                && words.iter().filter(is_endless).count() > 0
                && !call.args.iter().any(|arg| arg.text.is("-a") || arg.text.is("-R"))
        }
        "fallocate" => given(call, &["-l", "--length"])
            .iter()
            .any(|(_, size)| size.text.known_end().to_ascii_uppercase().contains(['T', 'P', 'E'])),
        _ => false,
    };
    if fills {
        machine.state(Kind::FillDisk, "This would fill the disk.", call.span, None);
    }
    let over_system = last.is_some_and(|target| {
        ["/etc", "/usr", "/bin", "/lib", "/boot"].iter().any(|place| target.text.known_start().starts_with(place))
    });
    if call.name == "mount" && over_system {
        machine.state(Kind::Volumes, "This hides a file of the system behind another one.", call.span, None);
    }
    if call.name == "date"
        && call.args.iter().any(|arg| arg.text.is("-s") || arg.text.known_start().starts_with("--set"))
    {
        machine.state(Kind::ChangeSystem, "This sets the clock of the machine.", call.span, None);
    }
}

/// `go run file.go` runs what this command has written; `go generate` what comments say.
fn go(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    let Some(verb) = words.first().and_then(|verb| verb.text.as_known()) else { return };
    if verb == "generate" {
        let written: Vec<String> = machine
            .files
            .iter()
            .filter(|(path, _)| path.rsplit('.').next() == Some("go"))
            .filter_map(|(_, flow)| flow.text.clone())
            .collect();
        for text in written {
            let commands: Vec<String> =
                text.lines().filter_map(|line| line.strip_prefix("//go:generate ")).map(str::to_owned).collect();
            for command in commands {
                run_line(machine, &command, &Arg::known("generate", call.span), call, world);
            }
        }
    }
    if matches!(verb.as_str(), "run" | "test" | "build") {
        for file in words.iter().skip(1).filter(|file| file.text.known_end().rsplit('.').next() == Some("go")) {
            let flow = machine.read(&file.text, world);
            match flow.text {
                Some(text) => run_code(machine, &Arg::known(text, file.span), Language::Braces, world, &call.input),
                None => machine.object_to_flow(&Flow::labelled(flow.labels.without(Labels::UNKNOWN)), file),
            }
        }
    }
    if verb == "env" {
        for setting in words.iter().skip(1) {
            let start = setting.text.known_start();
            if let Some((name, _)) =
                start.split_once('=').filter(|(name, _)| matches!(*name, "CC" | "CXX" | "AR" | "GOFLAGS"))
            {
                super::run_helper(machine, &Arg::new(setting.text.skip(name.len() + 1), setting.span), world);
            }
        }
    }
}

/// A compiler makes a program of code; where this command has written that, the program is known, too.
fn compile(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let mut source = String::new();
    let words = operands(call);
    for file in &words {
        let is_code = file.text.known_end().rsplit('/').next().and_then(Language::of_file) == Some(Language::Braces);
        if is_code && let Some(text) = machine.read(&file.text, world).text {
            source.push_str(&text);
        }
    }
    let reads_input = call.args.iter().any(|arg| arg.text.is("-"));
    if reads_input && let Some(text) = &call.input.text {
        source.push_str(text);
    }
    let is_fetched = words.iter().any(|file| machine.read(&file.text, world).labels.has(Labels::DOWNLOADED));
    if source.is_empty() && !is_fetched {
        return;
    }

    let named = given(call, &["-o"]).into_iter().next().map(|(_, arg)| arg.text);
    let by_source = || {
        let first = words.iter().find_map(|file| file.text.as_known().filter(|name| name.contains('.')));
        match (call.name.as_str(), first) {
            ("rustc" | "ghc" | "swiftc", Some(name)) => {
                Text::known(name.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or("a.out"))
            }
            _ => Text::known("a.out"),
        }
    };
    if is_fetched {
        machine.remember(&named.unwrap_or_else(by_source), Flow::labelled(Labels::DOWNLOADED), false, world);
        return;
    }
    let program = format!("#!/usr/bin/env rust-script\n{source}");
    machine.remember(&named.unwrap_or_else(by_source), Flow::known(program), false, world);
}

/// TeX runs `\write18{…}`, `\directlua{…}` and `\input|"…"`.
fn tex(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let Some(text) = arg.text.as_known().filter(|text| text.contains('\\')) else { continue };
        for (mark, is_code) in
            [("\\write18{", false), ("\\ShellEscape{", false), ("\\directlua{", true), ("\\input|\"", false)]
        {
            for part in text.split(mark).skip(1) {
                let end = part.rfind(['}', '"']).unwrap_or(part.len());
                let inner = Arg::known(&part[..end], arg.span);
                if is_code {
                    run_code(machine, &inner, Language::Lua, world, &call.input);
                } else {
                    machine.run_text(&inner, world.clone(), &call.input);
                }
            }
        }
    }
}

/// Options of apt that name commands and programs.
fn apt(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for (_, option) in given(call, &["-o", "--option"]) {
        let start = option.text.known_start();
        let Some((name, _)) = start.split_once('=') else { continue };
        let value = Arg::new(option.text.skip(name.len() + 1), option.span);
        let name = name.to_ascii_lowercase();
        if name.contains("invoke") || name.contains("pre-install-pkgs") || name.contains("proxy-auto-detect") {
            machine.run_text(&value, world.clone(), &call.input);
        } else if name.contains("dir::bin") || name.contains("dir::etc") || name.contains("plugin") {
            super::run_helper(machine, &value, world);
            load(machine, &value, None, call, world);
        }
    }
}

/// `%(command)` and `%{lua:code}` in macros of rpm.
fn rpm(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let Some(text) = arg.text.as_known().filter(|text| text.contains('%')) else { continue };
        for part in text.split("%(").skip(1) {
            let inner = Arg::known(&part[..part.rfind(')').unwrap_or(part.len())], arg.span);
            machine.run_text(&inner, world.clone(), &call.input);
        }
        for part in text.split("%{lua:").skip(1) {
            let inner = Arg::known(&part[..part.rfind('}').unwrap_or(part.len())], arg.span);
            run_code(machine, &inner, Language::Lua, world, &call.input);
        }
    }
}

/// `-netdev tap,script=program`, `-drive`, `exec:command`.
fn qemu(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let Some(text) = arg.text.as_known() else { continue };
        for part in text.split(',') {
            let program = ["script=", "downscript=", "helper="].iter().find_map(|mark| part.strip_prefix(mark));
            if let Some(program) = program.filter(|program| !matches!(*program, "no" | "")) {
                super::run_helper(machine, &Arg::known(program, arg.span), world);
            }
        }
        if let Some(command) = text.strip_prefix("exec:") {
            machine.run_text(&Arg::known(command, arg.span), world.clone(), &call.input);
        }
    }
}

fn run_parts(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let only_lists = call.args.iter().any(|arg| ["--test", "--list"].iter().any(|word| arg.text.is(word)));
    if !only_lists {
        for directory in operands(call) {
            load(machine, &Arg::new(directory.text.clone(), directory.span), None, call, world);
        }
    }
}

/// `pm2 start 'npm start'`: a text with blanks behind the verb is a command.
fn text_to_start(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    if let Some(text) = words.get(1).filter(|text| words[0].text.is("start") && text.text.known_start().contains(' ')) {
        machine.run_text(text, world.clone(), &call.input);
    }
}

fn cargo_watch(machine: &mut Machine<'_>, call: &Call, world: &World) {
    if call.args.first().is_some_and(|verb| verb.text.is("watch"))
        && let Some(at) = call.args.iter().position(|arg| arg.text.is("--"))
    {
        machine.run_words(call, &call.args[at + 1..], world.clone());
    }
}

/// `less +!command`, `less '+|$command'`.
fn pager(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let start = arg.text.known_start();
        let command = start
            .strip_prefix("+!")
            .or_else(|| start.strip_prefix("++!"))
            .or_else(|| start.strip_prefix("+|").and_then(|rest| rest.get(1..)));
        if let Some(command) = command {
            machine.run_text(&Arg::known(command, arg.span), world.clone(), &call.input);
        }
    }
}

/// `${run{command}}` of exim.
fn exim(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let Some(text) = arg.text.as_known() else { continue };
        for part in text.split("${run{").skip(1) {
            let inner = Arg::known(part.split('}').next().unwrap_or_default(), arg.span);
            machine.run_text(&inner, world.clone(), &call.input);
        }
    }
}

/// `rails runner code`, `manage.py shell -c code`, `wp eval code`, `mix run -e code`.
fn framework(machine: &mut Machine<'_>, call: &Call, world: &World, language: Language) {
    const VERBS: [&str; 13] = [
        "runner", "r", "shell", "shell_plus", "eval", "ev", "php-eval", "php:eval", "tinker", "run", "console", "c",
        "do",
    ];
    let words = operands(call);
    let Some(verb) = words.first().filter(|verb| VERBS.iter().any(|own| verb.text.is(own))) else { return };
    let by_option = given(call, &["-c", "--command", "-e", "--execute", "--eval"]);
    let is_code = |arg: &&&Arg| arg.text.known_start().contains(['(', ' ', '"', '.']);
    let behind = words.iter().skip(1).find(is_code).map(|arg| (*arg).clone());
    let is_by_place = !verb.text.is("run") && !verb.text.is("tinker");
    for code in by_option.into_iter().map(|(_, arg)| arg).chain(behind.filter(|_| is_by_place)) {
        run_code(machine, &code, language, world, &call.input);
    }
    code_on_input(machine, call, world, language);
}

/// `swaymsg exec 'command'`.
fn window_manager(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let Some(at) = call.args.iter().position(|arg| arg.text.known_start().starts_with("exec")) else { return };
    let words = call.args.get(at + 1..).unwrap_or_default();
    if words.is_empty() {
        let inner = call.args[at].text.known_start();
        machine.run_text(&Arg::known(inner.trim_start_matches("exec").trim(), call.span), world.clone(), &call.input);
    } else {
        super::shells::run_joined(machine, words, call, world.clone());
    }
}

/// Calls over the bus that start programs or stop the machine.
fn bus(machine: &mut Machine<'_>, call: &Call, _: &World) {
    const STARTS: [&str; 7] = [
        "StartTransientUnit", "StartUnit", "EnableUnitFiles", "LinkUnitFiles", "OpenMachineShell", "SpawnCommand",
        "HostCommand",
    ];
    const STOPS: [&str; 6] = ["PowerOff", "Reboot", "Halt", "Suspend", "Hibernate", "KExec"];
    let says = |names: &[&str]| {
        call.args.iter().any(|arg| {
            let text = arg.text.display();
            let last = text.rsplit('.').next().unwrap_or_default();
            names.contains(&last)
        })
    };
    if says(&STARTS) {
        machine.state(Kind::RunHidden, "This makes a service start a program.", call.span, None);
    }
    if says(&STOPS) {
        machine.asking_at_most(|machine| {
            machine.state(Kind::Power, "This would stop or restart the machine.", call.span, None);
        });
    }
}

/// `cmake -E command`, `cmake -P script`, `-Dexec.args` of Maven and files of Ant.
fn build(machine: &mut Machine<'_>, call: &Call, world: &World) {
    if call.name == "cmake" {
        return cmake(machine, call, world);
    }
    if call.name == "mvn" {
        let value = |name: &'static str| given(call, &[name]).into_iter().next().map(|(_, arg)| arg.text);
        if let (Some(program), Some(arguments)) = (value("-Dexec.executable="), value("-Dexec.args=")) {
            let mut text = program;
            text.push(crate::value::Piece::Known(" ".to_owned()));
            text.append(&arguments);
            machine.run_text(&Arg::new(text, call.span), world.clone(), &call.input);
        }
    }
}

fn cmake(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let scripts: Vec<Arg> = given(call, &["-P"]).into_iter().map(|(_, arg)| arg).collect();
    for script in scripts {
        let Some(text) = machine.read(&script.text, world).text else { continue };
        for (mark, program) in [("COMMAND ", ""), ("REMOVE_RECURSE ", "rm -rf "), ("file(REMOVE ", "rm ")] {
            for part in text.split(mark).skip(1) {
                let command = part.split(')').next().unwrap_or_default();
                run_line(machine, &format!("{program}{command}"), &script, call, world);
            }
        }
    }
    let Some(at) = call.args.iter().position(|arg| arg.text.is("-E")) else { return };
    let words = call.args.get(at + 1..).unwrap_or_default();
    let Some((verb, rest)) = words.split_first() else { return };
    match &*verb.text.known_start() {
        "env" | "time" | "rm" | "copy" | "rename" | "tar" | "cat" => {
            let program = match &*verb.text.known_start() {
                "copy" => "cp",
                "rename" => "mv",
                "tar" => "tar",
                "env" => "env",
                "rm" => "rm",
                "cat" => "cat",
                _ => "command",
            };
            let words: Vec<Arg> = std::iter::once(Arg::known(program, verb.span)).chain(rest.iter().cloned()).collect();
            machine.run_words(call, &words, world.clone());
        }
        "remove_directory" | "remove" => {
            let words = [Arg::known("rm", verb.span), Arg::known("-rf", verb.span)];
            let words: Vec<Arg> = words.into_iter().chain(rest.iter().cloned()).collect();
            machine.run_words(call, &words, world.clone());
        }
        "chdir" => {
            let mut there = world.clone();
            let entered = rest.first().and_then(|path| path.text.as_known());
            there.enter(entered.and_then(|path| crate::value::path::absolute(&path, world.cwd.as_deref())));
            machine.run_words(call, rest.get(1..).unwrap_or_default(), there);
        }
        _ => {}
    }
}

/// `npm pkg set scripts.x=command`, `npm exec -c command`, `pnpm dlx program`.
fn node_scripts(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    let Some(verb) = words.first().and_then(|verb| verb.text.as_known()) else { return };
    match verb.as_str() {
        "pkg" | "set-script" => {
            for setting in words.iter().skip(1) {
                let start = setting.text.known_start();
                let value = match start.split_once('=').filter(|_| start.starts_with("scripts.")) {
                    Some((name, _)) => setting.text.skip(name.len() + 1),
                    None if verb == "set-script" => setting.text.clone(),
                    None => continue,
                };
                if let Some(text) = value.as_known() {
                    run_line(machine, &text, setting, call, world);
                }
            }
        }
        "exec" | "x" => {
            for (_, text) in given(call, &["-c", "--call"]) {
                machine.run_text(&text, world.clone(), &call.input);
            }
        }
        "dlx" | "explore" => {
            let skip = if verb == "explore" { 2 } else { 1 };
            let at = call.args.iter().position(|arg| arg.text.is(&verb)).unwrap_or_default() + skip;
            let rest: Vec<Arg> =
                call.args.get(at..).unwrap_or_default().iter().filter(|arg| !arg.text.is("--")).cloned().collect();
            machine.run_words(call, &rest, world.clone());
        }
        "config" => {
            if let [_, set, name, value, ..] = words.as_slice()
                && set.text.is("set")
                && name.text.is("script-shell")
            {
                super::run_helper(machine, value, world);
            }
        }
        _ => {}
    }
}

/// `syscmd(…)` and `esyscmd(…)` of m4.
fn m4(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let Some(text) = call.input.text.clone() else { return };
    for part in text.split("syscmd(").skip(1) {
        let inner = part.split(')').next().unwrap_or_default().trim_matches(['`', '\'']);
        run_line(machine, inner, &Arg::known("syscmd", call.span), call, world);
    }
}

/// `.load`, `.output |command`, `load_extension(…)` and `edit(…)` of `SQLite`.
fn sqlite(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let input = call.input.text.clone().unwrap_or_default();
    let lines: Vec<String> =
        call.args.iter().filter_map(|arg| arg.text.as_known()).chain(input.lines().map(str::to_owned)).collect();
    for line in lines.iter().map(|line| line.trim()) {
        let piped = [".output |", ".once |", ".import |", ".o |", ".out |", ".import \"|"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        if let Some(command) = piped {
            machine.run_text(&Arg::known(command.trim_matches('"'), call.span), world.clone(), &call.input);
            if command.trim() == "sh" || command.trim() == "bash" {
                machine.state(Kind::RunHidden, "What the database prints would be run by a shell.", call.span, None);
            }
        }
        if let Some(library) = line.strip_prefix(".load ") {
            load(machine, &Arg::known(library.trim(), call.span), None, call, world);
        }
        if line.contains("load_extension(")
            && ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|place| line.contains(place))
        {
            machine.state(
                Kind::RunHidden,
                "This loads code into the database that anybody could have put there.",
                call.span,
                None,
            );
        }
        if line.contains("edit(") && line.contains("select") {
            machine.state(Kind::RunHidden, "`edit` of SQLite runs a program.", call.span, None);
        }
    }
}

/// `\g |command` of psql.
fn sql_pipe(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let input = call.input.text.clone().unwrap_or_default();
    let texts: Vec<String> =
        call.args.iter().filter_map(|arg| arg.text.as_known()).chain(std::iter::once(input)).collect();
    for text in texts {
        for mark in ["\\g |", "\\gx |", "\\o |", "\\out |"] {
            for part in text.split(mark).skip(1) {
                let command = part.lines().next().unwrap_or_default();
                let fed = Rc::new(Flow::unknown());
                machine.run_text(&Arg::known(command, call.span), world.clone(), &fed);
            }
        }
    }
}

/// `builtins.exec ["rm" "-rf" "/"]`.
fn nix(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let Some(text) = arg.text.as_known() else { continue };
        for part in text.split("exec [").skip(1) {
            let words: Vec<Arg> = tokens(part.split(']').next().unwrap_or_default(), Language::Haskell)
                .into_iter()
                .filter_map(|token| if let Token::Text(text) = token { Some(Arg::new(text, arg.span)) } else { None })
                .collect();
            machine.run_words(call, &words, world.clone());
        }
    }
}

/// Modules of Ansible beyond the plain ones: names with dots, `cmd=`, and files that go.
fn ansible(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let first = |names: &[&str]| given(call, names).into_iter().next().map(|(_, arg)| arg);
    let module = first(&["-m", "--module-name"]).and_then(|arg| arg.text.as_known()).unwrap_or_default();
    let Some(arguments) = first(&["-a", "--args"]) else { return };
    let name = module.rsplit('.').next().unwrap_or_default();
    let text = arguments.text.as_known().unwrap_or_default();
    match name {
        "shell" | "command" | "raw" | "win_shell" | "win_command" | "script" | "expect" => {
            let inner = text.split_once("cmd=").map_or(text.as_str(), |(_, inner)| inner.trim_matches(['"', '\'']));
            run_line(machine, inner, &arguments, call, world);
        }
        "file" if text.contains("state=absent") => {
            let path = text
                .split_whitespace()
                .find_map(|word| ["path=", "dest=", "name="].iter().find_map(|mark| word.strip_prefix(mark)));
            if let Some(path) = path {
                let what = Text::known(path);
                machine.deletes(
                    "This would recursively delete",
                    &what,
                    crate::effect::Depth::Tree,
                    world,
                    arguments.span,
                );
            }
        }
        _ => {}
    }
}

/// `sg group 'command'`, `sops exec-env file 'command'`, `flatpak run --command=program app arguments`.
fn second_is_text(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let words = operands(call);
    match call.name.as_str() {
        "sg" => {
            if let Some(text) = words.get(1) {
                machine.run_text(text, world.clone(), &call.input);
            }
        }
        "sops" => {
            if let Some(text) = words.get(2).filter(|_| words[0].text.known_start().starts_with("exec-")) {
                machine.run_text(text, world.clone(), &call.input);
            }
        }
        "flatpak" => {
            if let Some((at, program)) = given(call, &["--command"]).into_iter().next() {
                let rest = call
                    .args
                    .get(at + 1..)
                    .unwrap_or_default()
                    .iter()
                    .skip_while(|arg| arg.text.known_start().starts_with("--"))
                    .skip(1);
                let words: Vec<Arg> = std::iter::once(program).chain(rest.cloned()).collect();
                machine.run_words(call, &words, world.clone());
            }
        }
        _ => {}
    }
}
