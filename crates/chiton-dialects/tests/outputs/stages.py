"""What is recorded: by stage, a script that makes the folder, and the commands, each with the name of its recording."""

from typing import NamedTuple


class Stage(NamedTuple):
    name: str
    setup: str
    recordings: list[tuple[str, str]]
    # Besides those that every stage has; HERE is its folder.
    variables: dict[str, str] = {}


STAGES = [
    Stage(
        "debian",
        "",
        [
            ("apt-install", "apt-get install -y --no-install-recommends cmake rsync tree shellcheck"),
            ("apt-install-servers", "apt-get install -y --no-install-recommends redis-server nginx-light golang-go 2>&1"),
            ("apt-install-unknown", "apt-get install -y no-such-package-of-this-name"),
            ("apt-search", "apt-cache search '^libboost.*dev$'"),
            ("dpkg-list", "dpkg -l 'lib[a-d]*'"),
            ("dpkg-log", "cat /var/log/dpkg.log | tail -n 400"),
        ],
    ),
    Stage(
        "rust",
        """
        cargo new --quiet --vcs none fetcher
        cd fetcher
        cargo add --quiet hexyl@0.16 bytes@1.9 smallvec@1.13 textwrap@0.16 unicode-width@0.1 semver@1.0.23
        cargo fetch --quiet
        cd ..
        for crate in hexyl bytes smallvec textwrap semver; do cp -r home/registry/src/*/$crate-[0-9]* $crate; done
        cp -r hexyl broken
        sed -i '0,/pub fn /s//pub fn unfinished(count: usize) -> String { count }\\n\\npub fn /' broken/src/lib.rs
        sed -i 's/let mut args/let mut arguments/; s/Ok(())/Ok(1)/' broken/src/main.rs
        cp -r semver changed
        sed -i 's/Ordering::Less/Ordering::Greater/' changed/src/impls.rs
        sed -i 's/"unexpected end of input/"unexpected end of text/; s/"expected comma/"wanted comma/' changed/src/display.rs
        cp -r hexyl untidy
        find untidy/src -name '*.rs' -exec sed -i 's/^        /      /; s/ {$/  {/' {} +
        cat > unused.rs <<'R'
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

fn first(a: u32, b: u32) -> u32 { let c = 3; a }
fn second() { let mut x = 1; let y = x; }
fn third(v: Vec<String>) { for i in 0..v.len() { println!("{}", v[i]); } }
struct Unread { name: String, count: u64 }
enum Colour { Red, Green, Blue }
const unnamed: u8 = 3;
fn main() { let Value = 3; third(vec![]); }
R
        cat > wrong.rs <<'R'
use std::thread;

struct Account { owner: String, cents: i64 }

fn pay(from: &mut Account, to: &Account, cents: i64) -> Result<(), String> {
    from.cents -= cents;
    to.cents += cents;
    if from.cents < 0 { return Err(from.owner) }
}

fn main() {
    let account = Account { owner: "Ada", cents: "12" };
    let moved = account;
    thread::spawn(|| println!("{}", account.owner));
    let total: i64 = moved.cents.iter().sum();
    pay(&mut moved, account);
    match total { 0 => {} }
    undefined_function(total);
}
R
        """,
        [
            ("cargo-fetch", "export CARGO_HOME=$PWD/other; cd hexyl && cargo fetch"),
            ("cargo-build", "cd hexyl && cargo build"),
            ("cargo-build-again", "cd hexyl && cargo build"),
            ("cargo-build-errors", "cd broken && cargo build"),
            ("cargo-check-release", "cd textwrap && cargo check --release --all-targets"),
            ("cargo-build-verbose", "cd semver && cargo build -v"),
            ("cargo-install", "cargo install --root tools --locked hexyl@0.14.0"),
            ("cargo-test", "cd semver && cargo test"),
            ("cargo-test-large", "cd textwrap && cargo test 2>&1"),
            ("cargo-test-fails", "cd changed && cargo test --no-fail-fast"),
            ("cargo-clippy", "cd hexyl && cargo clippy -- -W clippy::pedantic"),
            ("cargo-doc", "cd hexyl && cargo doc"),
            ("cargo-fmt-check", "cd untidy && cargo fmt --check"),
            ("cargo-tree", "cd hexyl && cargo tree"),
            ("cargo-metadata", "cd semver && cargo metadata --format-version 1 --no-deps | jq ."),
            ("cargo-update", "cd hexyl && cargo update --dry-run --verbose"),
            ("cargo-add-unknown", "cd semver && cargo add no-such-crate-of-this-name"),
            ("rustc-errors", "rustc --edition 2021 wrong.rs"),
            ("rustc-warnings", "rustc --edition 2021 unused.rs"),
        ],
        {"CARGO_HOME": "HERE/home", "CARGO_BUILD_JOBS": "2"},
    ),
    Stage(
        "c",
        """
        mkdir -p lists/partial
        sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > src.sources
        options="-o Dir::State::lists=$PWD/lists -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::sourcelist=$PWD/src.sources"
        apt-get $options update
        apt-get $options source zlib hello
        mv zlib-1* zlib
        mv hello-2* hello
        cp -r zlib zlib-incomplete
        cp -r zlib zlib-cmake
        mkdir zlib-cmake/win32 && touch zlib-cmake/win32/zlib1.rc
        (cd zlib && ./configure > /dev/null && cp -r . ../zlib-broken)
        sed -i 's/int  *bits;/integer bits;/; s/return 0;/return nothing/' zlib-broken/trees.c
        cat > warn.c <<'C'
#include <stdio.h>
#include <string.h>
int sum(int *values, unsigned count) { int total; for (int i = 0; i < count; i++) total += values[i]; return total; }
static int unused(void) { return 1; }
char *name(void) { char local[8]; strcpy(local, "far too long for it"); return local; }
int main(int argc, char **argv) { int x; if (argc = 2) printf("%s %d\\n", 3, "four"); switch (argc) { case 1: x = 1; case 2: x = 2; } gets(argv); return sum(0, 1); }
C
        cat > broken.cpp <<'C'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
struct Point { int x, y; };
int main() {
    std::vector<Point> points{{1, 2}, {3, 4}};
    std::sort(points.begin(), points.end());
    std::map<Point, std::string> names;
    names[points[0]] = 5.0 + "x";
    std::string s = points;
    undefined(s);
}
C
        """,
        [
            ("configure", "cd hello && ./configure"),
            ("make", "cd zlib && make"),
            ("make-parallel", "cd zlib && make clean && make -j2"),
            ("make-fails", "cd zlib-broken && make -k"),
                        ("make-hello", "cd hello && make"),
            ("cmake-configure", "cmake -S zlib-cmake -B build"),
            ("cmake-configure-fails", "cmake -S zlib-incomplete -B build-incomplete"),
            ("cmake-build", "cmake --build build"),
            ("gcc-warnings", "gcc -Wall -Wextra -O2 -c warn.c -o warn.o"),
            ("gcc-template-errors", "g++ -std=c++17 -c broken.cpp"),
            ("make-missing", "make -C zlib no-such-target"),
            ("nm-symbols", "nm zlib/libz.a 2>&1"),
        ],
    ),
    Stage(
        "rust-large",
        """
        cargo new --quiet --vcs none app
        cd app
        cargo add --quiet axum tokio --features tokio/full
        cargo add --quiet clap --features derive
        cargo add --quiet serde_json tracing-subscriber rayon regex ureq tera
        cargo fetch --quiet
        """,
        [
            ("cargo-build-app", "cd app && cargo build"),
            ("cargo-fetch-app", "export CARGO_HOME=$PWD/other; cd app && cargo fetch 2>&1"),
        ],
        {"CARGO_HOME": "HERE/home", "CARGO_PROFILE_DEV_DEBUG": "0"},
    ),
    Stage(
        "python",
        """
        python3 -m venv venv
        . venv/bin/activate
        python3 -m pip install --quiet pytest ruff mypy pylint coverage django black types-requests
        python3 -m pip download --quiet --no-deps --no-binary :all: more-itertools==10.5.0 click==8.1.7 itsdangerous==2.2.0 packaging==24.1 werkzeug==3.0.4 || true
        for archive in *.tar.gz; do tar xzf $archive; done
        cp -r more_itertools-10.5.0 changed-itertools || cp -r more-itertools-10.5.0 changed-itertools
        sed -i '0,/return list(islice(iterable, n))/s//return list(islice(iterable, n + 1))/' changed-itertools/more_itertools/recipes.py
        sed -i 's/total_seconds/total_second/; s/int(time.time())/time.time()/' itsdangerous-2.2.0/src/itsdangerous/timed.py
        mv more*itertools-10.5.0 itertools
        django-admin startproject shop
        """,
        [
            ("pip-install", "python3 -m venv other && other/bin/pip install --no-cache-dir flask requests rich sqlalchemy"),
            ("pip-install-large", "other/bin/pip install --no-cache-dir jupyterlab"),
            ("pip-install-again", "other/bin/pip install flask requests rich sqlalchemy"),
            ("pip-install-unknown", "other/bin/pip install 'flask==99.1'"),
            ("pip-install-conflict", "other/bin/pip install 'flask==3.0.3' 'werkzeug<2'"),
            ("pip-list", "other/bin/pip list"),
            ("pip-uninstall", "other/bin/pip uninstall -y -v rich"),
            ("pytest-verbose", "cd itertools && python3 -m pytest -v"),
            ("pytest-verbose-fails", "cd changed-itertools && python3 -m pytest -v"),
            ("pytest-quiet", "cd itertools && python3 -m pytest -q"),
            ("pytest-click", "cd click-8.1.7 && PYTHONPATH=src pytest -v tests/test_utils.py tests/test_types.py"),
            ("pytest-traceback-native", "cd changed-itertools && python3 -m pytest -v --tb=native -x"),
            ("pytest-collect-errors", "cd itsdangerous-2.2.0 && PYTHONPATH=src python3 -m pytest -v"),
            ("pytest-no-conftest", "cd werkzeug-3.0.4 && python3 -m pytest tests/middleware tests/test_utils.py"),
            ("unittest-verbose", "cd itertools && python3 -m unittest -v"),
            ("unittest-verbose-fails", "cd changed-itertools && python3 -m unittest -v tests.test_recipes"),
            ("coverage-report", "cd itertools && coverage run -m pytest -q tests/test_recipes.py && coverage report"),
            ("mypy", "mypy --strict click-8.1.7/examples/*/[a-r]*.py"),
            ("ruff", "ruff check --select ALL --output-format concise click-8.1.7/src/click/utils.py"),
            ("ruff-full", "ruff check --select E,F,B,SIM,UP click-8.1.7/examples"),
            ("pylint", "pylint click-8.1.7/examples/*/*.py"),
            ("black-check", "black --check --line-length 60 click-8.1.7/src"),
            ("black-diff", "black --diff -q --line-length 70 itsdangerous-2.2.0/src/itsdangerous"),
            ("django-migrate", "cd shop && python3 manage.py migrate"),
            ("django-test-missing", "cd shop && python3 manage.py test -v 2 django.contrib.auth.tests 2>&1"),
            ("django-check-fails", "cd shop && sed 's/^INSTALLED_APPS = ./&\"no_such_app\",/' shop/settings.py > shop/wrong.py && python3 manage.py check --settings shop.wrong"),
            ("compileall", "python3 -m compileall -f click-8.1.7/src itertools werkzeug-3.0.4/src"),
            ("python-traceback", "python3 -c 'import json; json.loads(\"[1, 2,}\")'"),
        ],
        {"VIRTUAL_ENV": "HERE/venv", "PATH": "HERE/venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
    ),
    Stage(
        "node",
        """
        grep -v nodedir ~/.npmrc > npmrc || true
        mkdir app && cd app
        cat > package.json <<'J'
{"name": "app", "version": "1.0.0", "private": true, "type": "module",
 "scripts": {"build": "tsc -p . && vite build", "test": "vitest run"}}
J
        npm install --silent --no-audit --no-fund typescript@5 vite@5 vitest@1 jest@29 mocha@10 tape@5 eslint@8 webpack@5 webpack-cli@5 lodash@4 react@18 react-dom@18 three@0.160
        mkdir -p src test
        cat > index.html <<'H'
<div id="root"></div><script type="module" src="/src/main.js"></script>
H
        cat > src/main.js <<'J'
import React from "react";
import { createRoot } from "react-dom/client";
import _ from "lodash";
const load = () => Promise.all([import("three"), import("./one.js"), import("./two.js")]);
createRoot(document.getElementById("root")).render(React.createElement("p", null, _.chunk([1, 2, 3], 2).length));
load();
J
        echo 'export const one = 1;' > src/one.js
        echo 'export const two = 2;' > src/two.js
        cat > src/wrong.ts <<'T'
interface Account { owner: string; cents: number; closed?: Date }
function pay(from: Account, to: Account, cents: number): boolean {
  from.cents -= "12";
  to.balance += cents;
  if (from.closed.getTime() > 0) return "no";
}
const accounts: Account[] = [{ owner: 3, cents: "4" }, { cents: 5 }];
accounts.map((account) => account.owner.toFixed(2));
pay(accounts[0], null);
let unused: Map<string> = new Map();
import { missing } from "./nowhere";
export async function load(): number { return await fetch(1); }
class Savings implements Account { owner = 1 }
for (const a of 5) console.log(a);
T
        cat > test/cases.mjs <<'J'
import _ from "lodash";
const strings = ["fooBar", "foo bar", "Foo-Bar", "__FOO_BAR__", "fred, barney & pebbles", "  abc  ", "XMLHttpRequest", "aB1c2"];
const functions = ["camelCase", "kebabCase", "snakeCase", "startCase", "lowerCase", "upperCase", "capitalize", "upperFirst", "lowerFirst", "trim", "deburr", "escape", "toLower", "toUpper"];
export const cases = functions.flatMap((name) => strings.map((text) => ({ name, text, given: _[name](text), wanted: _[name](text) })));
export const wrong = cases.map((one, index) => (index % 41 === 7 ? { ...one, wanted: one.wanted + "?" } : one));
J
        for kind in cases wrong; do
            cat > test/$kind.vitest.js <<J
import { describe, expect, test } from "vitest";
import { $kind as cases } from "./cases.mjs";
for (const name of new Set(cases.map((one) => one.name))) {
  describe(name, () => { test.each(cases.filter((one) => one.name === name))("of '\\$text'", ({ given, wanted }) => expect(given).toBe(wanted)); });
}
J
            sed 's/import { describe, expect, test } from "vitest";//' test/$kind.vitest.js > test/$kind.jest.js
            cat > test/$kind.mocha.js <<J
import assert from "node:assert";
import { $kind as cases } from "./cases.mjs";
for (const name of new Set(cases.map((one) => one.name))) {
  describe(name, () => { for (const { text, given, wanted } of cases.filter((one) => one.name === name)) it("of '" + text + "'", () => assert.strictEqual(given, wanted)); });
}
J
            sed 's/^import assert/import { describe, it } from "node:test";\\n&/' test/$kind.mocha.js > test/$kind.node.mjs
            cat > test/$kind.tape.mjs <<J
import test from "tape";
import { $kind as cases } from "./cases.mjs";
for (const { name, text, given, wanted } of cases) test(name + " of '" + text + "'", (t) => { t.equal(given, wanted); t.end(); });
J
        done
        cat > tsconfig.json <<'J'
{"compilerOptions": {"strict": true, "noEmit": true, "target": "ES2022", "module": "ES2022", "moduleResolution": "bundler"}, "include": ["src/*.ts"]}
J
        cp node_modules/lodash/lodash.js old.cjs
        cat > .eslintrc.json <<'J'
{"root": true, "env": {"node": true, "es2022": true}, "extends": "eslint:recommended", "rules": {"eqeqeq": "error", "no-var": "off", "no-unused-vars": "warn", "complexity": ["warn", 9], "max-params": ["warn", 4]}}
J
        """,
        [
            ("npm-install", "mkdir -p fresh && cd fresh && npm init -y >/dev/null && npm install express@4 react-scripts@5"),
            ("npm-install-verbose", "mkdir -p loud && cd loud && npm init -y >/dev/null && npm install --loglevel=http express@4 2>&1"),
            ("npm-install-unknown", "cd fresh && npm install no-such-package-of-this-name-at-all"),
            ("npm-install-conflict", "cd app && npm install --no-save react@18 react-dom@16 @testing-library/react@12"),
            ("npm-ls", "cd loud && npm ls --all"),
            ("npm-ls-json", "cd loud && npm ls --json --all"),
            ("npm-run-missing", "cd app && npm run no-such-script"),
            ("npm-run-build-fails", "cd app && npm run build"),
            ("tsc-errors", "cd app && npx tsc -p ."),
            ("tsc-errors-pretty", "cd app && npx tsc -p . --pretty"),
            ("tsc-list-files", "cd app && npx tsc -p . --listFiles"),
            ("vite-build", "cd app && npx vite build"),
            ("webpack", "cd app && npx webpack --mode production --entry ./src/main.js -o out"),
            ("webpack-progress", "cd app && npx webpack --mode development --progress --entry ./src/main.js -o out2 2>&1"),
            ("webpack-fails", "cd app && npx webpack --mode production --entry ./src/wrong.ts -o out3"),
            ("vitest-verbose", "cd app && cp test/cases.vitest.js test/cases.test.js && npx vitest run --reporter=verbose 2>&1; rm test/cases.test.js"),
            ("jest-verbose", "cd app && NODE_OPTIONS=--experimental-vm-modules npx jest --verbose --testMatch '**/cases.jest.js'"),
            ("jest-verbose-fails", "cd app && NODE_OPTIONS=--experimental-vm-modules npx jest --verbose --testMatch '**/wrong.jest.js'"),
            ("mocha", "cd app && npx mocha test/cases.mocha.js"),
            ("mocha-fails", "cd app && npx mocha test/wrong.mocha.js"),
            ("node-test", "cd app && node --test test/cases.node.mjs"),
            ("node-test-fails", "cd app && node --test --test-reporter=spec test/wrong.node.mjs"),
            ("tape", "cd app && node test/cases.tape.mjs"),
            ("tape-fails", "cd app && node test/wrong.tape.mjs"),
            ("eslint", "cd app && npx eslint --no-ignore old.cjs"),
            ("node-trace", "cd app && node -e 'require(\"./nowhere\")'"),
        ],
        {"npm_config_cache": "HERE/cache", "npm_config_update_notifier": "false", "npm_config_userconfig": "HERE/npmrc"},
    ),
    Stage(
        "go",
        """
        mkdir sum && cd sum
        go mod init example.org/sum
        printf 'package sum\\n\\nfunc Sum(values []int) int {\\n\\ttotal := 0\\n\\tfor _, value := range values {\\n\\t\\ttotal += value\\n\\t}\\n\\treturn total\\n}\\n' > sum.go
        cat > sum_test.go <<'G'
package sum

import ("fmt"; "testing")

func TestSum(t *testing.T) {
	for n := 0; n < 60; n++ {
		t.Run(fmt.Sprintf("first_%d", n), func(t *testing.T) {
			var values []int
			for i := 0; i < n; i++ { values = append(values, i) }
			want := n * (n - 1) / 2
			if n == 41 { want++ }
			if got := Sum(values); got != want { t.Errorf("Sum of the first %d is %d, not %d", n, got, want) }
		})
	}
}
G
        cp -r . ../broken && cd ../broken
        printf 'package sum\\n\\nimport "os"\\n\\nfunc Mean(values []int) float64 {\\n\\treturn Sum(values) / len(values)\\n}\\n\\nfunc Bad() string { x := 1; return undefined }\\n' > mean.go
        """,
        [
            ("go-test-verbose", "go test -v sort strings 2>&1"),
            ("go-test-fails", "cd sum && go test -v ./..."),
            ("go-build-fails", "cd broken && go build ./..."),
            ("go-build-verbose", "go build -v -a net/http"),
            ("go-vet", "cd broken && go vet ./..."),
        ],
        {"GOPATH": "HERE/path", "GOCACHE": "HERE/cache", "GOFLAGS": "-mod=mod"},
    ),
    Stage(
        "git",
        """
        git init -q --initial-branch=main repo && cd repo
        for round in $(seq 1 30); do
            mkdir -p part$((round % 7))
            for file in a b c; do printf 'line %s of %s\\n' $(seq -f "%g" 1 $round | sed "s/$/ $file/" | tr '\\n' ' ') > part$((round % 7))/$file$round.txt; done
            cp ../../rust/semver/src/*.rs part$((round % 7))/ 
            sed -i "s/pub fn /pub(crate) fn /$((round % 9 + 1)); ${round}s/^/\\/\\/ round $round\\n/" part$((round % 7))/*.rs
            git add -A
            GIT_AUTHOR_DATE="2026-01-$round 10:00" GIT_COMMITTER_DATE="2026-01-$round 10:00" git commit -q -m "Change number $round of the parts" -m "Because of reason $round."
        done
        git checkout -q -b side HEAD~3
        sed -i '1,5s/^/side /' part1/a1.txt part2/a2.txt part3/a3.txt
        git commit -qam 'Change on the side'
        git checkout -q main
        sed -i '1,5s/^/main /' part1/a1.txt part2/a2.txt
        git commit -qam 'Change on main'
        echo more >> part3/b3.txt
        for n in $(seq 1 40); do echo $n > part5/new$n.txt; done
        cp -r part1 ../copy
        sed -i 's/line/row/; 3d' ../copy/*.txt
        """,
        [
            ("git-log", "cd repo && git log"),
            ("git-log-oneline", "cd repo && git log --oneline --graph --all"),
            ("git-log-stat", "cd repo && git log --stat -12"),
            ("git-show", "cd repo && git show HEAD~5"),
            ("git-diff", "cd repo && git diff HEAD~9 HEAD~2 -- part1 part2"),
            ("git-diff-stat", "cd repo && git diff --stat HEAD~12"),
            ("git-diff-name-only", "cd repo && git diff --name-only HEAD~15"),
            ("git-status", "cd repo && git status -uall"),
            ("git-blame", "cd repo && git blame part1/display.rs"),
            ("git-merge-conflict", "cd repo && git merge side; git merge --abort"),
            ("git-clone", "git clone --progress file://$PWD/repo clone 2>&1"),
            ("git-gc", "cd repo && git gc --no-quiet 2>&1; git count-objects -v"),
            ("git-ls-files", "cd repo && git ls-files"),
            ("git-rm", "cd repo && git rm -r -n part4"),
            ("git-fsck", "cd repo && git fsck --verbose 2>&1 | head -200"),
            ("diff-unified", "diff -ru repo/part1 copy"),
            ("grep-recursive", "grep -rn 'Version' repo/part1 repo/part2"),
        ],
    ),
    Stage(
        "files",
        """
        cp -r ../rust/textwrap/src tree
        mkdir small && for n in $(seq 1 120); do echo $n > small/file-$n.txt; done
        for n in $(seq 1 60); do printf '%s,%s,%s\\n' $n name$n $((n * 37 % 101)); done > table.csv
        head -c 3000000 /dev/zero > large.bin
        """,
        [
            ("ls-long", "ls -la /usr/bin | head -400"),
            ("ls-recursive", "ls -laR ../rust/hexyl/src ../rust/textwrap/src ../c/zlib"),
            ("find", "find ../rust/hexyl ../rust/textwrap -type f -not -path '*/target/*'"),
            ("tree", "tree ../rust/textwrap -I target"),
            ("ps", "ps --ppid 2 -o user,pid,ppid,stat,comm --sort pid"),
            ("du", "du -a ../rust/textwrap --exclude target"),
            ("df", "df -h --output=fstype,size,used,pcent"),
            ("wc", "wc -l ../rust/textwrap/src/*.rs"),
            ("tar-create", "tar -cvzf small.tar.gz small tree"),
            ("tar-extract", "mkdir -p out && tar -xvf small.tar.gz -C out"),
            ("zip", "zip -r small.zip small"),
            ("unzip", "unzip -o small.zip -d unzipped"),
            ("unzip-list", "unzip -l small.zip"),
            ("rsync", "rsync -av --stats small tree copied/"),
            ("cp-verbose", "cp -rv small other"),
            ("rm-verbose", "rm -rv other"),
            ("md5sum", "md5sum small/*"),
            ("sqlite-table", "sqlite3 -header -column :memory: '.mode csv' '.import table.csv t' '.mode column' 'select * from t'"),
            ("column", "column -s, -t table.csv"),
            ("jq", "jq -n '[range(80) | {id: ., name: \"item \\(.)\", tags: [\"a\", \"b\"]}]'"),
            ("seq", "seq 1 3000"),
            ("shellcheck", "shellcheck ../c/zlib/configure"),
            ("openssl-genrsa", "openssl genrsa -out key.pem 2048"),
            ("openssl-x509", "openssl req -x509 -key key.pem -subj /CN=example.org -days 30 -out cert.pem && openssl x509 -in cert.pem -noout -text"),
            ("openssl-speed", "openssl speed -seconds 1 sha256 md5"),
            ("strace", "strace -f ls /usr/share/doc/bash"),
            ("bash-trace", "bash -xc 'for n in $(seq 1 60); do echo item $n; done'"),
        ],
    ),
    Stage(
        "servers",
        """
        mkdir web && for n in $(seq 1 30); do echo "page $n" > web/page$n.html; done
        head -c 20000000 /dev/urandom > web/large.bin
        mkdir -p nginx data && chmod 777 data
        cat > nginx/nginx.conf <<'N'
pid nginx.pid; error_log stderr notice; daemon off;
events {}
http { access_log /dev/stdout; server { listen 127.0.0.1:18080; root ../web; } }
N
        cat > ask.sh <<'S'
for n in $(seq 1 60); do curl -s -o /dev/null http://127.0.0.1:18080/page$((n % 33)).html; done
S
        cat > shop.sql <<'S'
create table item (id serial primary key, name text, cents integer);
insert into item (name, cents) select 'item ' || n, n * 7 from generate_series(1, 60) as n;
select * from item;
select broken from item;
S
        """,
        [
            ("http-server", "python3 -u -m http.server --bind 127.0.0.1 --directory web 18080 & server=$!; until curl -s -o /dev/null http://127.0.0.1:18080/; do sleep 0.1; done; bash ask.sh; kill $server; wait $server"),
            ("nginx", "nginx -p $PWD/nginx -c nginx.conf & server=$!; until curl -s -o /dev/null http://127.0.0.1:18080/page1.html; do sleep 0.1; done; bash ask.sh; kill $server; wait $server"),
            ("redis", "redis-server --port 18081 --save '' & server=$!; until redis-cli -p 18081 ping; do sleep 0.1; done; redis-cli -p 18081 shutdown; wait $server"),
            ("redis-benchmark", "redis-server --port 18081 --save '' --daemonize yes > /dev/null; until redis-cli -p 18081 ping > /dev/null 2>&1; do sleep 0.1; done; redis-benchmark -p 18081 -n 2000 -c 5 -t set,get,incr; redis-cli -p 18081 shutdown"),
            ("curl-progress", "python3 -m http.server --bind 127.0.0.1 --directory web 18082 > /dev/null 2>&1 & server=$!; until curl -s -o /dev/null http://127.0.0.1:18082/; do sleep 0.1; done; curl -o copy.bin --limit-rate 10M http://127.0.0.1:18082/large.bin; kill $server"),
            ("curl-verbose", "python3 -m http.server --bind 127.0.0.1 --directory web 18082 > /dev/null 2>&1 & server=$!; until curl -s -o /dev/null http://127.0.0.1:18082/; do sleep 0.1; done; curl -v http://127.0.0.1:18082/page3.html; kill $server"),
            ("curl-refused", "curl http://127.0.0.1:18089/"),
            ("wget", "python3 -m http.server --bind 127.0.0.1 --directory web 18082 > /dev/null 2>&1 & server=$!; until curl -s -o /dev/null http://127.0.0.1:18082/; do sleep 0.1; done; wget -O copy2.bin http://127.0.0.1:18082/large.bin; kill $server"),
            ("wget-recursive", "python3 -m http.server --bind 127.0.0.1 --directory web 18082 > /dev/null 2>&1 & server=$!; until curl -s -o /dev/null http://127.0.0.1:18082/; do sleep 0.1; done; wget -r -nv -nd -P got -R bin http://127.0.0.1:18082/; kill $server"),
        ],
    ),
    Stage(
        "maven",
        """
        mkdir -p src/main/java/org/example src/test/java/org/example
        cat > pom.xml <<'X'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>shop</artifactId><version>1.0</version>
<properties><maven.compiler.release>17</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency></dependencies>
</project>
X
        printf 'package org.example;\\npublic class Shop { public static int price(int n) { return n * 7; } }\\n' > src/main/java/org/example/Shop.java
        printf 'package org.example;\\nimport org.junit.Test;\\nimport static org.junit.Assert.*;\\npublic class ShopTest {\\n  @Test public void price() { assertEquals(14, Shop.price(2)); }\\n  @Test public void wrong() { assertEquals(15, Shop.price(2)); }\\n}\\n' > src/test/java/org/example/ShopTest.java
        """,
        [
            ("maven-compile", "mvn -B -Dmaven.repo.local=repo compile"),

        ],
    ),
]
