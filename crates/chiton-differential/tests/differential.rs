//! Bash and the guard read the same texts: for a while random ones, and every script that is installed here.
#![cfg(test)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chiton_differential::agreement::{Agreement, agreement, installed_scripts};
use chiton_differential::empty_root::{Confinement, EmptyRoot};
use chiton_differential::hunt::{Bounds, Hunt, ran};
use chiton_differential::judged::judged;

fn hunt(seed: u64, bounds: Bounds) {
    let hunt = Hunt::new(seed).unwrap();
    println!("seed {seed}; bash runs {}", hunt.confinement());
    let (counts, missed) = hunt.run(bounds, |_| {}).unwrap();
    println!("{counts}");
    let small: Vec<&String> = missed.iter().map(|missed| &missed.small).collect();
    assert!(missed.is_empty(), "bash ran what the guard did not list; seed {seed}: {small:#?}");
    assert!(counts.ran > counts.texts / 20, "{counts}");
}

#[test]
fn whatever_bash_runs_is_listed() {
    hunt(14, Bounds { texts: 20_000, time: Duration::from_secs(15) });
}

#[test]
fn whatever_bash_runs_is_listed_whatever_the_seed() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    hunt(now.as_secs(), Bounds { texts: 20_000, time: Duration::from_secs(10) });
}

/// Random texts, made small, in which bash once ran what the guard did not list.
const ONCE_MISSED: [&str; 18] = [
    "${!*:+Ezza}zzb${y:x} \"\"a#",
    "zza{${u%$x${a: 2 :1}$(zzb)}$u1,w}zzczzd",
    "`echo ${#u:+$0${u+)$u}}\\x`zzb",
    "export ')' || x=zza; $x",
    "u+=([$\\(zza)]=b)",
    "${_=b}zza zzb",
    "zza${a//zzb$${@}#} zzca",
    "x[$(zza)]=zzb; eval $x",
    "eval a=b\"; ${y:=\\\\$(zza;)zzb}\"",
    "$(echo foo${u?}) $(echo zza)",
    "case a in *) x=zza;;& *) eval $x;; esac",
    "case a in *) x=zza;& b) :;& c) $x;; esac",
    r#"zza ${a##$(echo zzb)} $x {v}&>$'\44'$((16#f))a || zzc >(zzd)$(echo zze) "${a^$(zzf)"}"${u:1:(y[1])}}${_?$'\"''}'}$(case a in (a) zzg ;; b) :;; esac)"{w\a,$y}" a${x[1]-<(case a in a) zzh ;; b) :;; esac)$uzzi}${u/$''"${a#$'\44'}"/}""#,
    "x=zza; echo \"$(:) \"{$x,w}b; {\"$(: )\"$,w}x",
    "x=b\nzz${x~<'zza'zzb}",
    "zza`/echo zzb`",
    "x=zzb; read x -n zzc; $x",
    "declare x=([$(zza)]=E zzb); $x",
];

#[test]
fn what_was_once_missed_is_listed_or_asked_about() {
    let mut root = EmptyRoot::start().unwrap();
    for text in ONCE_MISSED {
        let (letters, judged) = (ran(&mut root, text).unwrap(), judged(text));
        assert!(!letters.is_empty(), "bash runs nothing: {text}");
        let is_listed = letters.iter().all(|letter| judged.listed.has(*letter));
        assert!(is_listed || judged.stopped.is_some(), "bash runs {letters:?}: {text}");
    }
}

#[test]
fn installed_scripts_parse_as_bash_says() {
    let mut differ = Vec::new();
    let scripts = installed_scripts();
    for path in &scripts {
        let Ok(text) = std::fs::read(path) else { continue };
        match agreement(&text).unwrap() {
            Agreement::OnlyBash(why) => differ.push(format!("{}: bash takes it; here: {why}", path.display())),
            Agreement::OnlyHere(why) => differ.push(format!("{}: taken here; {why}", path.display())),
            Agreement::BothTake | Agreement::BothReject | Agreement::TooLarge => {}
        }
    }
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), scripts.len(), differ.join("\n"));
}

#[test]
fn workers_run_markers_and_reach_nothing_however_they_are_confined() {
    let mut count = 0;
    for confinement in [Confinement::OwnRoot, Confinement::UserNamespace, Confinement::EmptyDirectory] {
        match EmptyRoot::confined(confinement) {
            Ok(mut root) => {
                println!("{confinement}");
                count += 1;
                reaches_nothing(&mut root);
            }
            Err(error) => println!("not {confinement}: {error:#}"),
        }
    }
    assert!(count > 0);
}

fn reaches_nothing(root: &mut EmptyRoot) {
    assert_eq!(ran(root, "zza; zzb x").unwrap(), ['a', 'b']);
    assert_eq!(ran(root, "if false; then zza; fi").unwrap(), Vec::<char>::new());
    // A fresh shell for each text, and no syntax error ends the worker.
    assert_eq!(ran(root, "x=1; exit 3").unwrap(), Vec::<char>::new());
    assert_eq!(ran(root, "zzc; (").unwrap(), Vec::<char>::new());
    assert_eq!(ran(root, "[[ -v x ]] || zzd").unwrap(), ['d']);
    // No program is found, and no file can be made.
    assert_eq!(ran(root, "ls() { command ls; }; ls || zze").unwrap(), ['e']);
    // Only what the texts use of them is there.
    assert_eq!(ran(root, "unset -f cat; $(command cat <<< zza); zz$(cat <<< b)").unwrap(), ['a', 'b']);
    if root.confinement() != Confinement::EmptyDirectory {
        let programs = "for p in /*bin/* /*/*bin/* /b; do [ -x $p ] && zza; done";
        assert_eq!(ran(root, programs).unwrap(), Vec::<char>::new());
        assert_eq!(ran(root, "\"$BASH\" -c : || zze").unwrap(), ['e']);
    }
    assert_eq!(ran(root, "echo x > file; [ -e file ] || zzf").unwrap(), ['f']);
    // An endless loop ends.
    assert_eq!(ran(root, "zzg; while :; do :; done").unwrap(), ['g']);
    assert_eq!(ran(root, "zzh").unwrap(), ['h']);
}
