//! The projects: where each comes from, and how it is built and tested.

/// A project of the world outside.
pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) source: Source,
    /// What builds and tests it, in its folder.
    pub(super) commands: &'static str,
}

/// Where the source comes from: a name and a version.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Crate(&'static str, &'static str),
    Npm(&'static str, &'static str),
    Python(&'static str, &'static str),
}

impl Project {
    /// What does the work.
    pub(super) fn tool(&self) -> &'static str {
        let made_by = |word: &str| self.commands.contains(word);
        match self.source {
            _ if made_by("make ") => "make, gcc",
            _ if made_by("gcc ") => "gcc",
            _ if made_by("java ") => "java",
            Source::Crate(..) => "cargo",
            Source::Npm(..) => "npm",
            Source::Python(..) => "pip, pytest",
        }
    }
}

const fn krate(name: &'static str, version: &'static str) -> Project {
    Project { name, source: Source::Crate(name, version), commands: "cargo test" }
}

const fn tape(name: &'static str, version: &'static str, commands: &'static str) -> Project {
    Project { name, source: Source::Npm(name, version), commands }
}

const fn python(name: &'static str, version: &'static str, commands: &'static str) -> Project {
    Project { name, source: Source::Python(name, version), commands }
}

pub(super) const PROJECTS: &[Project] = &[
    krate("fnv", "1.0.7"),
    krate("heck", "0.5.0"),
    krate("itoa", "1.0.11"),
    krate("semver", "1.0.23"),
    krate("shlex", "1.3.0"),
    krate("strsim", "0.11.1"),
    krate("arrayvec", "0.7.6"),
    krate("scopeguard", "1.2.0"),
    krate("either", "1.13.0"),
    tape("minimist", "1.2.8", TAPE),
    tape("function-bind", "1.1.2", TAPE),
    tape("has-symbols", "1.0.3", TAPE),
    tape("concat-map", "0.0.2", TAPE),
    tape("shell-quote", "1.8.1", TAPE),
    tape(
        "esbuild",
        "0.21.5",
        "npm init -y > /dev/null; npm install --no-audit --no-fund esbuild@0.21.5 lodash@4.17.21 && echo 'import _ from \"lodash\"; console.log(_.chunk([1, 2, 3], 2).length);' > in.js && npx esbuild in.js --bundle --outfile=out.js && node out.js",
    ),
    python("six", "1.16.0", PYTEST),
    python("idna", "3.7", PYTEST),
    python("pyflakes", "3.2.0", PYTEST),
    python("toolz", "0.12.1", PYTEST),
    python("pluggy", "1.5.0", PYTEST),
    python("markupsafe", "2.1.5", PYTEST),
    python("more-itertools", "10.3.0", PYTEST),
    Project {
        name: "zlib",
        source: Source::Crate("libz-sys", "1.1.20"),
        commands: "cd src/zlib && gcc -O2 -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -fPIC -shared -o libz.so *.c && nm -D libz.so | grep -c ' T deflate$'",
    },
    Project {
        name: "bzip2",
        source: Source::Crate("bzip2-sys", "0.1.11"),
        commands: "cd bzip2-1.0.8 && make -j2 && make test",
    },
    Project {
        name: "closure-compiler",
        source: Source::Npm("google-closure-compiler-java", "20240317.0.0"),
        commands: "echo 'function f(x) { return x + 1 } console.log(f(41));' > in.js && java -jar compiler.jar --js in.js --js_output_file out.js && node out.js",
    },
];

const TAPE: &str = "npm pkg delete devDependencies && npm install --ignore-scripts --no-audit --no-fund tape@5 && npx tape 'test/*.js'";
const PYTEST: &str =
    "python3 -m venv .env && .env/bin/pip install -q pytest . && .env/bin/python -m pytest -q -p no:cacheprovider";
