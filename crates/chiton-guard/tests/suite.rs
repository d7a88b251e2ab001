//! The suites of the guard, but for those that name their own cases. They are one program, as each more would be linked
//! once more; each file is a module: `cargo test -p chiton-guard --test suite undone::`.
#![cfg(test)]

mod guard_cases;
mod shell;

mod bounds;
mod developers_work;
mod guard;
mod guard_fuzz;
mod guard_parse;
mod input;
mod refusals;
mod sandboxed;
mod undone;
