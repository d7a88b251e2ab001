//! A differential fuzzer: bash and the guard read the same random texts, and whatever bash runs must be among the
//! commands that the guard has listed, or the guard must have asked.
//!
//! 1. [`grammar`] makes texts out of everything the language has, with marker commands in them: `zza`, `zzb`, …
//! 2. [`judged`] asks the guard which markers it sees.
//! 3. [`empty_root`] runs the text in a real bash that can reach no program and write to no file, and hears which
//!    markers ran.
//! 4. [`hunt`] compares the two, and [`shrink`] makes a small text of one that differs.
//!
//! [`agreement`] compares something simpler: whether a text parses at all, here and for `bash -n`.

pub mod agreement;
pub mod empty_root;
pub mod grammar;
pub mod hunt;
pub mod judged;
pub mod results;
pub mod shrink;
