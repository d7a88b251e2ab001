//! Tools that publish: packages, images, releases, extensions. A dry run is allowed.

use super::frameworks::EF;
use super::options::Grammar;
use super::row::Does::Is;
use super::row::When::{All, Any, AnyOperand, Bare, Called, Has, Not, Says, Starts};
use super::row::{DRY, On, PROGRAM, Prints, Program, Runs, TOOL, allows, asks, denies};
use crate::effect::Kind::{DropRemote, Publish};

pub(super) const REGISTRY: &str = "This would publish to a registry or take back from it:{names}.";
const RELEASE: &str = "This would make a release and publish it ({program}).";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["twine", "flit", "maturin", "anaconda", "binstar"],
        grammar: Grammar {
            short: "rupcmf",
            long: &[
                "repository", "repository-url", "username", "password", "config-file", "token", "interpreter",
                "target", "features", "manifest-path", "user", "label",
            ],
            ..Grammar::PLAIN
        },
        effects: &[On(Says(&["upload|publish|push", "register", "move|copy|remove"]), Is(Publish, REGISTRY))],
        runs: Runs::Perhaps,
        spares: &["--help", "-h", "--dry-run"],
        examples: examples![
            asks("twine upload dist/*", "publish"),
            asks("python -m twine upload --repository testpypi dist/*", "publish"),
            asks("maturin upload dist/x.whl", "publish"),
            asks("maturin publish", "publish"),
            asks("flit publish", "publish"),
            asks("anaconda upload x.tar.bz2", "publish"),
            allows("twine check dist/*"),
            allows("maturin build --release"),
            allows("flit build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["setup.py"],
        effects: &[On(
            AnyOperand(&["upload", "register", "upload_docs"]),
            Is(Publish, "This would publish the package to a registry."),
        )],
        spares: DRY,
        examples: examples![
            asks("python setup.py sdist upload", "publish"),
            asks("python3 setup.py register -r pypi sdist upload", "publish"),
            allows("python setup.py sdist bdist_wheel"),
            allows("./setup.py install --user"),
            allows("python setup.py upload --help"),
        ],
        ..TOOL
    },
    Program {
        names: &["gem"],
        grammar: Grammar { short: "khv", long: &["key", "host", "version", "platform"], ..Grammar::PLAIN },
        effects: &[On(
            Any(&[
                Says(&["push|yank|inabox|nexus"]),
                All(&[Says(&["owner"]), Has(&["-a", "-r", "--add", "--remove"])]),
            ]),
            Is(Publish, REGISTRY),
        )],
        runs: Runs::Perhaps,
        spares: &["--help"],
        examples: examples![
            asks("gem push x-1.0.gem", "publish"),
            asks("gem yank x -v 1.0", "publish"),
            asks("gem owner x -a evil@x.io", "publish"),
            allows("gem install rake"),
            allows("gem build x.gemspec"),
            allows("gem owner x"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "changeset", "np", "semantic-release", "release-it", "auto", "shipjs", "beachball", "release-please",
            "fullrelease", "cargo-release", "cargo-smart-release", "release-plz", "goreleaser", "jreleaser",
            "python-semantic-release",
        ],
        grammar: Grammar {
            short: "fc",
            long: &["config", "skip", "parallelism", "timeout", "branches", "plugins"],
            ..Grammar::PLAIN
        },
        effects: &[On(
            Any(&[
                All(&[Called(&["changeset", "beachball"]), Says(&["publish"])]),
                All(&[Called(&["semantic-release", "release-it", "np", "fullrelease"]), Not(&Says(&["init", "help"]))]),
                All(&[Called(&["python-semantic-release"]), Says(&["publish|version"])]),
                All(&[
                    Called(&["goreleaser"]),
                    Any(&[
                        Bare,
                        Says(&["release|publish|r|announce"]),
                        All(&[Not(&Says(&["*"])), Has(&["--rm-dist", "--clean"])]),
                    ]),
                    Not(&Has(&["--snapshot", "--skip=publish", "--skip-publish", "--auto-snapshot"])),
                ]),
                All(&[Called(&["jreleaser"]), Says(&["full-release|release|publish|deploy|upload|announce"])]),
                All(&[Called(&["auto", "shipjs"]), Says(&["shipit|release|trigger|publish|latest"])]),
                All(&[
                    Called(&["release-plz", "cargo-release", "cargo-smart-release"]),
                    Any(&[Says(&["release"]), Has(&["--execute", "-x"])]),
                    Not(&Says(&["update"])),
                ]),
                All(&[Called(&["release-please"]), Says(&["github-release"])]),
            ]),
            Is(Publish, RELEASE),
        )],
        spares: &[
            "--help", "-h", "--dry-run", "-d", "--dryRun", "--preview", "--print", "--noop", "--no-publish",
            "--release-version", "--changelog",
        ],
        examples: examples![
            asks("semantic-release", "publish"),
            asks("npx semantic-release --ci", "publish"),
            asks("npx changeset publish", "publish"),
            asks("np patch", "publish"),
            asks("npx release-it --ci", "publish"),
            asks("goreleaser release --clean", "publish"),
            asks("goreleaser", "publish"),
            asks("release-plz release", "publish"),
            allows("semantic-release --dry-run"),
            allows("npx changeset version"),
            allows("npx changeset status"),
            allows("goreleaser build --snapshot"),
            allows("goreleaser release --snapshot --clean"),
            allows("goreleaser check"),
            allows("release-it --dry-run"),
        ],
        ..TOOL
    },
    Program {
        names: &["mvn", "mvnw", "mvnd"],
        grammar: Grammar {
            short: "fsPT",
            long: &["file", "settings", "projects", "threads", "pl", "rf", "gs"],
            single_dash: true,
            ..Grammar::PLAIN
        },
        runs: Runs::Perhaps,
        effects: &[
            On(
                All(&[
                    Any(&[
                        AnyOperand(&[
                            "deploy", "release:perform", "release:prepare", "site-deploy", "site:deploy",
                            "deploy:deploy", "deploy:deploy-file", "nexus-staging:release", "nexus-staging:deploy",
                            "jreleaser:full-release", "central-publishing:publish", "gpg:sign-and-deploy-file",
                            "wagon:upload", "docker:push", "jib:build", "versions:deploy",
                        ]),
                        Starts(&[
                            "org.apache.maven.plugins:maven-deploy-plugin",
                            "org.sonatype.central:central-publishing",
                        ]),
                    ]),
                    Not(&Has(&["-DdryRun=true", "-DdryRun", "-Dmaven.deploy.skip=true", "-Dmaven.deploy.skip"])),
                ]),
                Is(Publish, "This would publish the project's artifacts to a repository."),
            ),
            On(
                Has(&["flyway:clean", "liquibase:dropAll", "liquibase:rollback", "hibernate:drop"]),
                Is(DropRemote, "This would drop the database that the project names."),
            ),
        ],
        spares: &["--help", "-h", "--version"],
        examples: examples![
            asks("mvn deploy", "publish"),
            asks("mvn -B -DskipTests clean deploy", "publish"),
            asks("./mvnw release:perform", "publish"),
            asks("mvn deploy:deploy-file -Dfile=x.jar", "publish"),
            asks("mvn flyway:clean", "remote-data"),
            allows("mvn -q test"),
            allows("mvn clean install"),
            allows("mvn -pl deploy test"),
            allows("mvn release:perform -DdryRun=true"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["gradle", "gradlew", "sbt", "mill", "ant", "bazel", "bazelisk", "pants", "buck2"],
        grammar: Grammar {
            short: "pbxPD",
            long: &["project-dir", "init-script", "exclude-task", "settings-file", "console"],
            ..Grammar::PLAIN
        },
        runs: Runs::Perhaps,
        effects: &[
            On(
                All(&[
                    Any(&[
                        All(&[
                            Called(&["gradle", "gradlew"]),
                            Starts(&[
                                "publish", ":publish", "upload", "closeAndRelease", "bintrayUpload", "jreleaser",
                                "dockerPush", "jib",
                            ]),
                        ]),
                        All(&[
                            Called(&["sbt"]),
                            Has(&[
                                "publish", "publishSigned", "sonatypeRelease", "sonatypeBundleRelease", "ci-release",
                                "release", "+publish", "+publishSigned", "sonatypeCentralRelease", "docker:publish",
                                "Docker/publish",
                            ]),
                        ]),
                        All(&[
                            Called(&["mill"]),
                            Has(&["publishAll", "publishArtifacts", "mill.scalalib.PublishModule/"]),
                        ]),
                        All(&[Called(&["pants"]), Says(&["publish"])]),
                    ]),
                    Not(&Has(&[
                        "publishToMavenLocal", "publishLocal", "publishM2", "pTML", "jibDockerBuild", "jibBuildTar",
                    ])),
                ]),
                Is(Publish, "This would publish the project's artifacts to a repository."),
            ),
            On(
                All(&[Called(&["gradle", "gradlew"]), Has(&["flywayClean", "dropAll", "liquibaseDropAll"])]),
                Is(DropRemote, "This would drop the database that the project names."),
            ),
        ],
        spares: &["--help", "-h", "--dry-run", "-m"],
        examples: examples![
            asks("gradle publish", "publish"),
            asks("./gradlew :lib:publish publishToSonatype", "publish"),
            asks("./gradlew publishPlugins", "publish"),
            asks("sbt publishSigned", "publish"),
            asks("./gradlew flywayClean", "remote-data"),
            allows("gradle publish --dry-run"),
            allows("./gradlew build"),
            allows("./gradlew publishToMavenLocal"),
            allows("sbt test"),
            allows("sbt publishLocal"),
            allows("bazel build //..."),
        ],
        ..PROGRAM
    },
    Program {
        names: &["dotnet", "nuget"],
        grammar: Grammar {
            short: "skcor",
            long: &[
                "source", "api-key", "configuration", "output", "project", "startup-project", "framework", "runtime",
            ],
            ..Grammar::PLAIN
        },
        effects: &[
            On(Says(&["nuget push|delete", "push|delete"]), Is(Publish, REGISTRY)),
            On(Says(&["ef database drop"]), EF_DROP),
            On(Says(&["ef database update 0"]), EF_BACK),
        ],
        spares: &["--help", "-h", "--dry-run"],
        runs: Runs::Perhaps,
        examples: examples![
            asks("dotnet nuget push x.nupkg -k key -s https://api.nuget.org/v3/index.json", "publish"),
            asks("dotnet nuget delete X 1.0 --non-interactive", "publish"),
            asks("nuget push x.nupkg", "publish"),
            asks("dotnet ef database drop -f", "remote-data"),
            asks("dotnet ef --project src database drop --force", "remote-data"),
            asks("dotnet ef database update 0", "remote-data"),
            allows("dotnet ef database drop --dry-run"),
            allows("dotnet ef migrations remove"),
            allows("dotnet publish -c Release"),
            allows("dotnet pack"),
            allows("dotnet test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "cabal", "stack", "opam-publish", "pod", "dart", "flutter", "vsce", "ovsx", "wasm-pack", "jsr", "spago",
            "pulp", "elm", "choco", "snapcraft", "charmcraft", "conan", "cpan-upload", "dzil", "luarocks-admin",
            "rebar3", "gleam", "buf", "xcrun", "notarytool", "web-ext", "chrome-webstore-upload", "tfx", "pulsar",
            "apm",
        ],
        grammar: Grammar {
            short: "pirtuk",
            long: &[
                "pat", "packagePath", "target", "token", "source", "api-key", "release", "username", "password",
                "remote",
            ],
            ..Grammar::PLAIN
        },
        effects: &[On(
            Any(&[
                All(&[Called(&["cabal", "stack"]), Says(&["upload"])]),
                All(&[Called(&["pod"]), Says(&["trunk push|deprecate|delete|add-owner|remove-owner", "repo push"])]),
                All(&[Called(&["dart", "flutter"]), Says(&["pub publish|lish|uploader"])]),
                All(&[
                    Called(&["vsce", "ovsx", "pulsar", "apm"]),
                    Says(&["publish|unpublish|delete-publisher|deprecate"]),
                ]),
                All(&[
                    Called(&["wasm-pack", "jsr", "elm", "spago", "pulp", "gleam"]),
                    Says(&["publish", "hex publish|retire"]),
                ]),
                All(&[Called(&["choco"]), Says(&["push"])]),
                All(&[
                    Called(&["snapcraft", "charmcraft"]),
                    Says(&["upload|release|push|close|promote|publish|unregister|register"]),
                ]),
                All(&[Called(&["conan"]), Says(&["upload", "remote remove"])]),
                All(&[Called(&["cpan-upload"])]),
                All(&[Called(&["dzil"]), Says(&["release"])]),
                All(&[Called(&["rebar3"]), Says(&["hex publish|retire|revert", "hex owner"])]),
                All(&[Called(&["buf"]), Says(&["push", "registry *"])]),
                All(&[Called(&["notarytool"]), Says(&["submit"])]),
                All(&[
                    Called(&["xcrun"]),
                    Says(&["altool|notarytool"]),
                    Has(&["--upload-app", "--upload-package", "submit"]),
                ]),
                All(&[Called(&["web-ext"]), Says(&["sign|submit"])]),
                All(&[Called(&["chrome-webstore-upload"]), Says(&["upload|publish"])]),
                All(&[Called(&["tfx"]), Says(&["extension publish|unpublish|share"])]),
                All(&[Called(&["opam-publish", "luarocks-admin"])]),
            ]),
            Is(Publish, REGISTRY),
        )],
        runs: Runs::Perhaps,
        spares: &["--help", "-h", "--dry-run", "-n", "--pre-release-check"],
        examples: examples![
            asks("cabal upload --publish dist/x.tar.gz", "publish"),
            asks("stack upload .", "publish"),
            asks("pod trunk push X.podspec", "publish"),
            asks("dart pub publish --force", "publish"),
            asks("flutter pub publish", "publish"),
            asks("npx vsce publish", "publish"),
            asks("ovsx publish x.vsix -p token", "publish"),
            asks("wasm-pack publish", "publish"),
            asks("npx jsr publish", "publish"),
            asks("choco push x.nupkg", "publish"),
            asks("snapcraft upload x.snap --release=stable", "publish"),
            asks("conan upload x/1.0 -r remote", "publish"),
            asks("buf push", "publish"),
            asks("rebar3 hex publish", "publish"),
            allows("dart pub publish --dry-run"),
            allows("flutter pub get"),
            allows("vsce package"),
            allows("wasm-pack build"),
            allows("npx jsr publish --dry-run"),
            allows("cabal build"),
            allows("stack test"),
            allows("pod install"),
            allows("snapcraft pack"),
            allows("buf lint"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["lerna", "nx"],
        effects: &[On(
            Any(&[
                All(&[Called(&["lerna"]), Says(&["publish"])]),
                All(&[Called(&["nx"]), Says(&["release", "run *:publish", "run *:deploy"])]),
            ]),
            Is(Publish, RELEASE),
        )],
        runs: Runs::If(Says(&["exec"]), &Runs::Operands(1)),
        spares: DRY,
        examples: examples![
            asks("npx lerna publish from-package --yes", "publish"),
            asks("npx nx release publish", "publish"),
            denies("lerna exec -- rm -rf /", "delete-root"),
            allows("npx lerna run build"),
            allows("npx lerna version --no-push"),
            allows("npx nx release --dry-run"),
            allows("npx nx run-many -t test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["opam", "luarocks", "ng"],
        effects: &[On(
            Any(&[
                All(&[Called(&["opam"]), Says(&["publish"])]),
                All(&[Called(&["luarocks"]), Says(&["upload"])]),
                All(&[Called(&["ng"]), Says(&["deploy"])]),
            ]),
            Is(Publish, REGISTRY),
        )],
        prints: Prints::Settings,
        spares: DRY,
        examples: examples![
            asks("opam publish", "publish"),
            asks("luarocks upload x.rockspec", "publish"),
            asks("ng deploy", "publish"),
            allows("eval \"$(opam env)\""),
            allows("luarocks install busted"),
            allows("ng build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["oras", "skopeo", "crane", "cosign", "regctl", "ko", "kaniko", "jib", "img", "notation", "imgpkg"],
        grammar: Grammar {
            long: &[
                "creds", "authfile", "dest-creds", "src-creds", "key", "config", "username", "password",
                "artifact-type",
            ],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    All(&[
                        Called(&["oras", "crane", "regctl", "img", "imgpkg", "jib"]),
                        Says(&[
                            "push|attach|copy|cp|tag|append|mutate",
                            "image copy|mod",
                            "artifact put",
                            "blob push",
                            "manifest push",
                        ]),
                    ]),
                    All(&[Called(&["skopeo"]), Says(&["sync"])]),
                    All(&[Called(&["cosign", "notation"]), Says(&["sign|attach|attest|upload|copy"])]),
                    All(&[
                        Called(&["ko"]),
                        Says(&["build|publish|apply|resolve"]),
                        Not(&Has(&["--local", "-L", "--push=false"])),
                    ]),
                    Says(&["put"]),
                ]),
                Is(Publish, "This would publish an image or a signature:{names}."),
            ),
            On(
                All(&[Called(&["skopeo"]), Says(&["copy * docker://*", "copy * atomic:*"])]),
                Is(Publish, "This would publish an image:{names}."),
            ),
            On(
                Any(&[Says(&["delete|rm", "manifest|blob|tag|image|repo delete|rm", "registry *delete", "clean"])]),
                Is(DropRemote, "This would delete images of a registry:{names}."),
            ),
        ],
        spares: DRY,
        examples: examples![
            asks("oras push registry.example.com/x:1 x.tgz", "publish"),
            asks("skopeo copy docker-archive:x.tar docker://registry.example.com/x", "publish"),
            asks("skopeo delete docker://registry.example.com/x:1", "remote-data"),
            asks("crane push x.tar registry.example.com/x", "publish"),
            asks("crane delete registry.example.com/x@sha256:1", "remote-data"),
            asks("cosign sign registry.example.com/x", "publish"),
            asks("ko build ./cmd/x", "publish"),
            allows("skopeo inspect docker://alpine"),
            allows("skopeo copy docker://alpine dir:alpine"),
            allows("crane manifest alpine"),
            allows("cosign verify registry.example.com/x"),
            allows("ko build --local ./cmd/x"),
        ],
        ..TOOL
    },
    Program {
        names: &[
            "electron-builder", "electron-forge", "jfrog", "jf", "jfrog-cli", "cloudsmith-cli", "packagecloud",
            "package_cloud", "aptly", "reprepro", "dput", "copr-cli", "osc", "ghr", "github-release", "gothub",
            "butler", "modal", "huggingface-cli", "hf", "kaggle", "cog", "mkdocs", "mike", "docusaurus", "quarto",
            "angular-cli-ghpages", "rdme",
        ],
        grammar: Grammar {
            short: "puc",
            long: &["publish", "url", "server-id", "config", "user", "password", "repo-type", "revision"],
            ..Grammar::PLAIN
        },
        effects: &[
            On(
                Any(&[
                    All(&[
                        Called(&["electron-builder"]),
                        Any(&[
                            Has(&["always", "onTag", "onTagOrDraft", "--publish=always", "-palways"]),
                            Says(&["publish"]),
                        ]),
                    ]),
                    All(&[Called(&["electron-forge"]), Says(&["publish"])]),
                    All(&[
                        Called(&["jfrog", "jf", "jfrog-cli"]),
                        Says(&[
                            "rt u|upload|cp|mv|bp|bpr|sp|dp|docker-push|npm-publish|build-publish|build-promote",
                            "npm publish",
                            "docker push",
                            "mvn deploy",
                            "ds rbdist|rbc",
                        ]),
                    ]),
                    All(&[Called(&["cloudsmith-cli", "packagecloud", "package_cloud"]), Says(&["push|promote|yank"])]),
                    All(&[Called(&["aptly"]), Says(&["publish *"])]),
                    All(&[Called(&["dput", "ghr", "butler"]), Not(&Says(&["status|login|fetch"]))]),
                    All(&[Called(&["github-release", "gothub"]), Says(&["release|upload|edit|delete"])]),
                    All(&[Called(&["copr-cli", "osc"]), Says(&["build|commit|ci|submitrequest|sr"])]),
                    All(&[Called(&["modal"]), Says(&["deploy"])]),
                    All(&[Called(&["huggingface-cli", "hf"]), Says(&["upload|upload-large-folder", "repo create"])]),
                    All(&[
                        Called(&["kaggle"]),
                        Says(&["datasets|kernels|models create|version|push", "competitions submit"]),
                    ]),
                    All(&[Called(&["cog"]), Says(&["push"])]),
                    All(&[Called(&["mkdocs"]), Says(&["gh-deploy"])]),
                    All(&[Called(&["mike"]), Says(&["deploy|delete|alias|set-default"]), Has(&["--push", "-p"])]),
                    All(&[Called(&["docusaurus"]), Says(&["deploy"])]),
                    All(&[Called(&["quarto"]), Says(&["publish"])]),
                    All(&[Called(&["angular-cli-ghpages", "rdme"])]),
                ]),
                Is(Publish, "This would publish what the project makes ({program})."),
            ),
            On(
                Any(&[
                    All(&[
                        Called(&["jfrog", "jf", "jfrog-cli"]),
                        Says(&["rt del|delete|build-discard|bdi|repo-delete|user-delete|users-delete", "rt rdel"]),
                    ]),
                    All(&[Called(&["aptly"]), Says(&["repo|mirror|snapshot drop|remove", "publish drop"])]),
                    All(&[
                        Called(&["huggingface-cli", "hf"]),
                        Says(&["repo delete", "repo-files delete", "repo-files * delete"]),
                    ]),
                    All(&[
                        Called(&["modal"]),
                        Says(&["app stop", "volume delete|rm", "secret delete", "environment delete"]),
                    ]),
                ]),
                Is(DropRemote, "This would delete what others use:{names}."),
            ),
        ],
        runs: Runs::Perhaps,
        prints: Prints::Unknown,
        spares: &["--help", "-h", "--dry-run", "-n"],
        examples: examples![
            asks("electron-builder --publish always", "publish"),
            asks("npx electron-forge publish", "publish"),
            asks("jfrog rt u dist/ repo/", "publish"),
            asks("jf rt del repo/x --quiet", "remote-data"),
            asks("aptly publish repo stable", "publish"),
            asks("ghr v1 dist/", "publish"),
            asks("huggingface-cli upload a/b model.bin", "publish"),
            asks("mkdocs gh-deploy --force", "publish"),
            asks("modal deploy app.py", "publish"),
            asks("dput ppa:a/b x.changes", "publish"),
            allows("electron-builder --linux"),
            allows("electron-builder -p never"),
            allows("mkdocs serve"),
            allows("mkdocs build"),
            allows("jf rt s repo/x"),
            allows("huggingface-cli download a/b"),
            allows("hf download a/b"),
            allows("modal run app.py"),
            allows("quarto render"),
        ],
        ..PROGRAM
    },
];

const EF_DROP: super::row::Does = EF[0].1;
const EF_BACK: super::row::Does = EF[1].1;
