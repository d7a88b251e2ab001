//! Functions that another bash has exported: `BASH_FUNC_module%%`.

use chiton_shell::builtins::builtin;
use chiton_shell::tree::CommandKind;

use crate::bytes::ByteString;
use crate::state::Function;

/// Functions by which clusters and distributions wrap a program of the same name.
const WRAPPERS: &[&str] = &["module", "ml", "scl", "which", "spack", "conda", "mamba", "micromamba"];

/// The function that a variable of this name and value is, by its name, where bash would take it for one and it is
/// no trap: it does not stand in for a builtin or a program that everybody uses, and defines nothing but itself.
pub(crate) fn function_of(name: &str, value: &[u8]) -> Option<(ByteString, Function)> {
    let name = name.strip_prefix("BASH_FUNC_")?.strip_suffix("%%")?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
    let is_trap = !WRAPPERS.contains(&name) && is_program(name);
    if !is_name || !value.starts_with(b"()") || is_trap {
        return None;
    }
    let text = [name.as_bytes(), b" ", value].concat();
    let script = chiton_shell::parse(&text).ok()?;
    let [item] = &script.list.items[..] else { return None };
    let [command] = &item.first.stages[..] else { return None };
    let is_alone = item.rest.is_empty() && !item.background && command.redirections.is_empty();
    let is_it = matches!(&command.kind, CommandKind::Function { name: defined, .. } if defined == name);
    (is_alone && is_it).then(|| (name.into(), Function { attributes: "x".to_owned(), text: text.into() }))
}

fn is_program(name: &str) -> bool {
    builtin(name).is_some()
        || chiton_shell::builtins::KEYWORDS.contains(&name)
        || chiton_guard::programs().any(|program| program.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_person_is_taken_over_and_a_trap_is_not() {
        let module = "() {  eval \"$($LMOD_CMD bash \"$@\")\"\n}";
        let (name, function) = function_of("BASH_FUNC_module%%", module.as_bytes()).unwrap();
        assert_eq!((&name[..], &function.attributes[..]), (&b"module"[..], "x"));
        assert!(function.text.starts_with(b"module () {"));

        for (name, value) in [
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("BASH_FUNC_cd%%", "() { :; }"),
            ("BASH_FUNC_git%%", "() { :; }"),
            ("BASH_FUNC_mine%%", "() { :; }; echo more"),
            ("BASH_FUNC_mine%%", "echo"),
            ("BASH_FUNC_a b%%", "() { :; }"),
            ("BASH_FUNC_mine", "() { :; }"),
            ("BASH_FUNC_mine%%", "() { broken"),
        ] {
            assert_eq!(function_of(name, value.as_bytes()), None, "{name}={value}");
        }
    }
}
