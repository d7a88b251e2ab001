#!/bin/sh
# Installs the program chiton into the image of a dev container, as root, while that is built. Any Linux will do: the program
# that `cargo xtask dist` makes needs no library.
#
# The options of the feature come as variables: FILE, URL and SHA256. They are explained in devcontainer-feature.json.

set -eu

fail() {
  echo "chiton: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
arch=$(uname -m)
case $arch in
  x86_64 | aarch64) ;;
  *) fail "there is no program for a processor '$arch'; there are programs for x86_64 and aarch64" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 1. Where it comes from.
if [ "${URL:-}" ] && [ "${FILE:-}" ]; then
  fail "the options file and url are both given, and only one of them can be meant"
elif [ "${URL:-}" ]; then
  [ "${SHA256:-}" ] || fail "the option url needs the option sha256: nothing is installed that was not checked. The file SHA256SUMS beside a release has it"
  before=${URL%%"{arch}"*}
  address=$URL
  if [ "$before" != "$URL" ]; then address=$before$arch${URL#*"{arch}"}; fi
  given=$work/given
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --output "$given" "$address" || fail "$address cannot be fetched"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$given" "$address" || fail "$address cannot be fetched"
  else
    fail "the option url needs curl or wget in the image; install one of them before, or use the option file"
  fi
  what=$address
elif [ "${FILE:-}" ]; then
  case $FILE in
    /*) given=$FILE ;;
    *) given=$here/$FILE ;;
  esac
  [ -f "$given" ] || fail "the option file names $given, and there is no such file"
  what=$given
else
  for given in "$here/chiton-$arch" "$here/chiton"; do
    if [ -f "$given" ]; then break; fi
  done
  [ -f "$given" ] || fail "nothing says where the program comes from. Put it beside install.sh as chiton-$arch, or give the option file, or url with sha256"
  what=$given
fi

# 2. Whether it is what was meant.
if [ "${SHA256:-}" ]; then
  command -v sha256sum >/dev/null 2>&1 || fail "the option sha256 needs the program sha256sum in the image"
  sum=$(sha256sum <"$given")
  sum=${sum%% *}
  case ",$(printf %s "$SHA256" | tr -d ' ' | tr A-F a-f)," in
    *",$sum,"*) ;;
    *) fail "$what has the checksum $sum, and sha256 says $SHA256. Nothing was installed" ;;
  esac
fi

# 3. An archive of `cargo xtask dist` has the program in its only folder.
program=$given
if gzip -t "$given" 2>/dev/null; then
  mkdir "$work/unpacked"
  tar -xzf "$given" -C "$work/unpacked" || fail "$what is packed, but tar cannot unpack it"
  program=
  for found in "$work"/unpacked/*/chiton "$work/unpacked/chiton"; do
    if [ -f "$found" ]; then program=$found; fi
  done
  [ "$program" ] || fail "$what is an archive without the program chiton in it"
fi

# 4. Beside its place first, so that a program which does not run is never in it.
bin=/usr/local/bin
mkdir -p "$bin"
cp "$program" "$bin/.chiton.new"
chmod 0755 "$bin/.chiton.new"
if ! version=$("$bin/.chiton.new" --version 2>&1); then
  rm -f "$bin/.chiton.new"
  fail "$what does not run here, on Linux $arch: $version"
fi
mv -f "$bin/.chiton.new" "$bin/chiton"
echo "installed $version in $bin"
command -v bash >/dev/null 2>&1 || echo "there is no bash in this image: sessions keep less with a plain sh"
