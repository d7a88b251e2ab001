//! No text makes the guard panic or hang, and what does not parse is never allowed.
#![no_main]

use chiton_engine::guard::{Context, Decision, judge};
use chiton_engine::shell as syntax;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let verdict = judge(text, &Context::new("/home/dev", "dev", "/home/dev/project"));
    assert!(syntax::parse(text).is_ok() || verdict.decision != Decision::Allow);
});
