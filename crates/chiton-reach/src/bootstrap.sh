{
n=@NONCE@
say() { printf 'chiton-%s %s %s\n' boot "$n" "$*"; }
if [ -t 0 ]; then stty raw -echo 2>/dev/null; fi
m=$(uname -sm 2>/dev/null)
case $m in
@MACHINES@
*) say machine "$m"; exit 3 ;;
esac
u=$(id -u 2>/dev/null)
s=$(command -v sh 2>/dev/null)
case $s in /*) ;; *) s=/bin/sh ;; esac
set --
case ${XDG_CACHE_HOME:-} in /*) set -- "$@" "$XDG_CACHE_HOME/chiton" ;; esac
case ${HOME:-} in /*) set -- "$@" "${HOME%/}/.cache/chiton" ;; esac
case ${XDG_RUNTIME_DIR:-} in /*) set -- "$@" "$XDG_RUNTIME_DIR/chiton" ;; esac
set -- "$@" "/tmp/chiton-$u" "/var/tmp/chiton-$u" "/dev/shm/chiton-$u" "/run/chiton-$u" "${PWD%/}/.chiton"
mine() { [ -d "$1" ] && [ ! -h "$1" ] && [ -O "$1" ]; }
left_out() { case "
@LEFT_OUT@
" in *"
$1
"*) return 0 ;; esac; return 1; }
if [ @MODE@ = clean ]; then
  for d do
    mine "$d" || continue
    for f in "$d"/chiton-* "$d"/.part.* "$d"/.try.*; do
      [ -f "$f" ] || continue
      case $f in */chiton-$h) "$f" host --stop >/dev/null 2>&1 </dev/null ;; esac
      rm -f "$f" && say removed "$f"
    done
    rmdir "$d" 2>/dev/null
  done
  say clean
  exit 0
fi
for d do
  left_out "$d" && continue
  if mine "$d" && [ -x "$d/chiton-$h" ]; then
    say have "$d"
    exec "$d/chiton-$h" relay "$n" "$d"
    exit 126
  fi
done
p=
for d do
  if left_out "$d"; then say tried "no room" "$d"; continue; fi
  new=
  [ -d "$d" ] || new=1
  if ! (umask 077; mkdir -p "$d") 2>/dev/null; then say tried cannot-be-made "$d"; continue; fi
  if ! mine "$d" || ! chmod 700 "$d" 2>/dev/null; then say tried not-yours "$d"; continue; fi
  t=$d/.try.$$
  if ! { printf '#!%s\nexit 0\n' "$s" >"$t"; } 2>/dev/null || ! chmod 700 "$t" 2>/dev/null; then
    rm -f "$t" 2>/dev/null
    [ "$new" ] && rmdir "$d" 2>/dev/null
    say tried not-writable "$d"
    continue
  fi
  if "$t" </dev/null >/dev/null 2>&1; then rm -f "$t"; p=$d; break; fi
  rm -f "$t"
  [ "$new" ] && rmdir "$d" 2>/dev/null
  say tried noexec "$d"
done
if [ ! "$p" ]; then say nowhere; exit 4; fi
z=plain
if command -v gzip >/dev/null 2>&1; then z=gzip; fi
say need "$a" "$z" "$p"
read -r z b || exit 5
f=$p/.part.$$.$n
take() {
  if dd if=/dev/null of=/dev/null iflag=fullblock 2>/dev/null; then
    if [ $(($1 / 65536)) -gt 0 ]; then dd bs=65536 count=$(($1 / 65536)) iflag=fullblock 2>/dev/null || return 1; fi
    if [ $(($1 % 65536)) -gt 0 ]; then dd bs=$(($1 % 65536)) count=1 iflag=fullblock 2>/dev/null || return 1; fi
  else
    head -c "$1"
  fi
}
umask 077
if [ "$z" = gzip ]; then take "$b" | gzip -dc >"$f" 2>/dev/null; else take "$b" >"$f" 2>/dev/null; fi
if command -v sha256sum >/dev/null 2>&1; then
  set -- $(sha256sum <"$f" 2>/dev/null)
  if [ "${1:-}" != "$h" ]; then
    set -- $(wc -c <"$f" 2>/dev/null)
    rm -f "$f"
    rmdir "$p" 2>/dev/null
    say damaged "${1:-0}" "$p"
    exit 6
  fi
fi
keep() {
  ln "$f" "$p/chiton-$h" 2>/dev/null || [ -x "$p/chiton-$h" ] || mv "$f" "$p/chiton-$h" || return 1
  rm -f "$f"
}
if chmod 700 "$f" && v=$("$f" relay --verify "$h" 2>&1 </dev/null) && keep; then
  say carried "$p"
  exec "$p/chiton-$h" relay "$n" "$p"
fi
rm -f "$f"
rmdir "$p" 2>/dev/null
say unfit "$v"
exit 7
}
