//! What calls and operators in code give back, where that can be told: enough to see through text that was put together,
//! decoded or looked up.

use std::rc::Rc;

use super::Language;
use super::calls::last_part;
use super::values::{Argument, Around, Code, CodeValue, joined};
use crate::decode;
use crate::machine::expand::patterned;
use crate::value::{Flow, Labels, Piece, Text, What};

/// What a call gives back. A method has what it is called on as its first argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The first argument, with the home directory for `~` and `$HOME`.
    ExpandedPath,
    /// The home directory.
    Home,
    /// A variable of the environment; the second argument where there is none.
    Variable,
    /// The working directory.
    WorkingDirectory,
    /// A path in a temporary directory.
    Temporary,
    /// The first argument.
    FirstArgument,
    /// All arguments, joined to a path; of a list and a text, the list joined by the text.
    Joined,
    /// All arguments, joined by blanks.
    Pasted,
    /// All arguments, joined by nothing.
    Concatenated,
    /// The characters with these numbers.
    Characters,
    /// The first argument, decoded.
    Base64,
    /// The first argument, decoded.
    Hexadecimal,
    /// The first argument, decoded by the second.
    DecodedBy,
    /// The first argument with its letters moved by 13.
    Rotated,
    /// The first argument with `%20` and the like decoded.
    Percent,
    /// The first argument, backwards.
    Reversed,
    /// The first argument with the second replaced by the third.
    Replaced,
    /// The last argument with the first replaced by the second.
    ReplacedInLast,
    /// The first argument with the characters of the second replaced by those of the third.
    Translated,
    /// The first argument in small letters.
    Lower,
    /// The first argument in capital letters.
    Upper,
    /// The first argument without blanks around it.
    Trimmed,
    /// The words or characters of the first argument.
    Split,
    /// The first argument, filled in with the others.
    Formatted,
    /// All arguments as a list.
    List,
    /// The first argument as often as the second says.
    Repeated,
    /// Bytes by a template: `pack("H*", …)`.
    Packed,
    /// Text by a template: `unpack1("m")`.
    Unpacked,
    /// A function that a name or a symbol stands for.
    Looked,
    /// A module by its name.
    Module,
    /// The first argument called for each item of the second.
    Mapped,
    /// What comes in.
    Input,
    /// What is in a file, or at an address.
    Content,
    /// What came over the network.
    Downloaded,
    /// Text that was unpacked or decrypted.
    Hidden,
    /// What the files that match a pattern are called.
    Matches,
    /// An argument of the command, whichever.
    AnyArgument,
}

const GIVES: &[(Gives, &[&str])] = &[
    (Gives::ExpandedPath, &["expanduser", "expandvars", "expand_path", "expand_home", "expand-file-name"]),
    (Gives::Home, &["home", "homedir", "expand_user"]),
    (Gives::Variable, &["environ", "getenv", "ENV", "get", "env", "fetch_env", "Getenv", "Sys.getenv", "get_env"]),
    (Gives::WorkingDirectory, &["getcwd", "cwd", "pwd"]),
    (
        Gives::Temporary,
        &[
            "mkdtemp", "mktemp", "mkdtempSync", "gettempdir", "TemporaryDirectory", "NamedTemporaryFile", "tmpdir",
            "mkstemp", "tempdir", "tempfile", "tmpname", "tmpnam", "MkdirTemp", "createTempDirectory", "mktmpdir",
        ],
    ),
    (
        Gives::FirstArgument,
        &[
            "Path", "Process", "URL", "PosixPath", "PurePath", "str", "String", "abspath", "realpath", "resolve",
            "normpath", "encode", "Pathname", "fspath", "bytes", "bytearray", "list", "tuple", "sorted", "quote",
            "which", "toString", "text", "valueOf", "to_s", "to_str", "to_a", "dedent", "promisify", "raw", "freeze",
            "strdup", "as_posix", "escapeshellarg", "escapeshellcmd", "shellescape", "absolute", "b", "iter", "set",
            "absolutePath", "Cmd", "ignorestatus", "pipeline", "URI", "File", "Paths", "from_iter", "to_string",
            "unwrap", "as_str", "fileURLWithPath", "copy", "dup", "clone", "trim_margin", "stripIndent", "ipairs",
            "pairs", "String.raw", "Buffer", "memoryview", "new", "atPath", "charlist", "to_charlist", "c_str",
            "begin", "flatten", "compact", "uniq", "each", "lines",
        ],
    ),
    (Gives::Joined, &["join", "joinpath", "implode", "file.path", "fullfile", "connect"]),
    (Gives::Pasted, &["paste", "shlex.join"]),
    (Gives::Concatenated, &["paste0", "concat", "string-append", "strcat", "append_string", "str-join"]),
    (Gives::Characters, &["chr", "fromCharCode", "fromCodePoint", "char", "character", "intToUtf8", "Chr"]),
    (
        Gives::Base64,
        &[
            "b64decode", "standard_b64decode", "urlsafe_b64decode", "decodebytes", "decodestring", "atob",
            "base64_decode", "decode64", "strict_decode64", "urlsafe_decode64", "decode_base64", "a2b_base64",
            "base64decode", "FromBase64String",
        ],
    ),
    (Gives::Hexadecimal, &["fromhex", "unhexlify", "a2b_hex", "hex2bin", "unhex", "hex2bytes"]),
    (Gives::DecodedBy, &["decode", "from", "iconv", "decodeString", "mb_convert_encoding"]),
    (Gives::Rotated, &["str_rot13", "rot13"]),
    (
        Gives::Percent,
        &["decodeURIComponent", "decodeURI", "unescape", "unquote", "urldecode", "rawurldecode", "URLdecode"],
    ),
    (Gives::Reversed, &["reverse", "reversed", "strrev", "rev", "flip"]),
    (Gives::Replaced, &["replace", "replaceAll", "gsub", "sub", "replaceFirst"]),
    (Gives::ReplacedInLast, &["str_replace", "str_ireplace", "preg_replace", "regsub"]),
    (Gives::Translated, &["tr", "strtr"]),
    (
        Gives::Lower,
        &["lower", "toLowerCase", "downcase", "lc", "strtolower", "tolower", "casefold", "lcfirst", "lowercase"],
    ),
    (Gives::Upper, &["upper", "toUpperCase", "upcase", "uc", "strtoupper", "toupper"]),
    (Gives::Trimmed, &["strip", "trim", "rstrip", "lstrip", "chomp", "rtrim", "ltrim", "trimEnd", "trimws"]),
    (Gives::Split, &["split", "shellsplit", "split_whitespace", "chars", "words", "shellwords", "explode", "strsplit"]),
    (Gives::Formatted, &["format", "sprintf", "printf", "format!", "sformat"]),
    (Gives::List, &["c", "listOf", "Seq", "List", "arrayOf", "asList", "vec", "array", "Array", "of", "values"]),
    (Gives::Repeated, &["repeat", "str_repeat", "rep"]),
    (Gives::Packed, &["pack"]),
    (Gives::Unpacked, &["unpack", "unpack1"]),
    (
        Gives::Looked,
        &["getattr", "method", "vars", "attrgetter", "methodcaller", "const_get", "instance_method", "partial"],
    ),
    (
        Gives::Module,
        &[
            "__import__", "import_module", "require", "import", "_load", "binding", "find_library", "CDLL",
            "LoadLibrary",
        ],
    ),
    (Gives::Mapped, &["map"]),
    (
        Gives::Input,
        &[
            "input", "raw_input", "stdin.read", "stdin.readline", "stdin.readlines", "gets", "readline", "fgets",
            "STDIN.read", "STDIN.gets", "ARGF.read", "io.read", "buffer.read", "readLine", "read-line",
        ],
    ),
    (
        Gives::Content,
        &[
            "open", "readFileSync", "read_text", "readFile", "file_get_contents", "slurp", "File.read", "IO.read",
            "readlines", "ReadFile", "read_bytes", "readlink",
        ],
    ),
    (
        Gives::Downloaded,
        &[
            "urlopen", "urlretrieve", "fetch", "requests.get", "requests.post", "httpx.get", "LWP.Simple.get",
            "curl_exec", "URI.open", "open-uri", "Net.HTTP.get", "axios.get", "getstore", "DownloadString",
        ],
    ),
    (
        Gives::Hidden,
        &[
            "decompress", "gzinflate", "gzuncompress", "inflate", "inflateSync", "gunzipSync", "brotliDecompressSync",
            "decrypt", "marshal.loads", "Marshal.load", "unserialize", "pickle.loads", "pickle.load",
        ],
    ),
    (
        Gives::Matches,
        &[
            "glob", "Dir.glob", "iglob", "Sys.glob", "listdir", "readdirSync", "children", "entries", "scandir",
            "iterdir", "rglob", "each_child",
        ],
    ),
    (Gives::AnyArgument, &["shift", "commandArgs", "pop"]),
];

fn given_by(name: &str) -> Option<Gives> {
    let last = last_part(name);
    let is_meant = |own: &&str| {
        *own == last
            || own.contains('.') && (name == *own || name.strip_suffix(own).is_some_and(|rest| rest.ends_with('.')))
    };
    // The longer name says more: `stdin.read` is not any `read`.
    let by_whole = GIVES.iter().find(|(_, names)| names.iter().any(|own| own.contains('.') && is_meant(own)));
    by_whole.or_else(|| GIVES.iter().find(|(_, names)| names.iter().any(is_meant))).map(|(gives, _)| *gives)
}

/// Whether a call of `name` gives something back that can be told.
pub(super) fn gives(name: &str) -> bool {
    given_by(name).is_some()
}

/// Whether a name that all names of a module were taken over for is one of its functions.
pub(super) fn is_function(name: &str) -> bool {
    super::calls::is_named(name)
}

/// Names that stand for something themselves.
pub(super) fn constant(name: &str, around: &Around) -> Option<CodeValue> {
    Some(match name {
        "process.env.HOME" | "Dir.home" | "os.homedir" | "env.HOME" => CodeValue::known(around.home.clone()),
        "sys.executable" => CodeValue::known("python3"),
        "process.execPath" | "process.argv0" => CodeValue::known("node"),
        "RbConfig.ruby" | "Gem.ruby" => CodeValue::known("ruby"),
        "PHP_BINARY" => CodeValue::known("php"),
        "os.sep" | "path.sep" | "DIRECTORY_SEPARATOR" | "File.SEPARATOR" => CodeValue::known("/"),
        "string.ascii_lowercase" => CodeValue::known("abcdefghijklmnopqrstuvwxyz"),
        "stdin" | "STDIN" | "sys.stdin" => CodeValue::Named("stdin".to_owned()),
        "globalThis" | "window" | "self" | "CORE" | "CORE.GLOBAL" | "builtins" | "__builtins__" | "Kernel" | "_G"
        | "Object" => CodeValue::Named(String::new()),
        _ => {
            let rest =
                ["global.", "globalThis.", "CORE.", "CORE.GLOBAL.", "builtins.", "__builtins__.", "Kernel.", "_G."]
                    .iter()
                    .find_map(|start| name.strip_prefix(start))?;
            CodeValue::Named(rest.to_owned())
        }
    })
}

/// What a well-known map holds at a key.
pub(super) fn entry(name: &str, key: &str, around: &Around) -> Option<CodeValue> {
    match last_part(name) {
        "environ" | "ENV" | "env" => Some(match key {
            "HOME" => CodeValue::known(around.home.clone()),
            "SHELL" => CodeValue::known("bash"),
            _ => CodeValue::Text(Text::variable(key)),
        }),
        "__dict__" | "globals" | "locals" | "_G" | "" => Some(CodeValue::Named(key.to_owned())),
        "_GET" | "_POST" | "_REQUEST" | "_SERVER" | "_ENV" | "_COOKIE" => Some(CodeValue::Text(Text::variable(key))),
        _ => None,
    }
}

/// What a call gives back.
pub(super) fn called(code: &Code<'_>, callee: &CodeValue, arguments: &[Argument]) -> CodeValue {
    let positional =
        || arguments.iter().filter(|argument| argument.key.is_none()).map(|argument| argument.value.clone());
    match callee {
        CodeValue::Named(name) => {
            let values: Vec<CodeValue> = positional().collect();
            match given_by(name) {
                Some(gives) => given(code, gives, name, &values, arguments),
                // A class of a module, or what a function of the system gives: nothing to look at.
                None => CodeValue::Unknown,
            }
        }
        CodeValue::Method(receiver, method) => {
            let values: Vec<CodeValue> = std::iter::once((**receiver).clone()).chain(positional()).collect();
            match given_by(method) {
                Some(gives) => given(code, gives, method, &values, arguments),
                None if matches!(method.as_str(), "read" | "content" | "body" | "json" | "data" | "first" | "last") => {
                    (**receiver).clone()
                }
                None if matches!(method.as_str(), "arg" | "args") => with_arguments(receiver, &values),
                None => CodeValue::Unknown,
            }
        }
        CodeValue::Function(index) => code.returned(*index, &positional().collect::<Vec<_>>()),
        // `os.homedir()`: what its name stands for.
        CodeValue::Text(_) if arguments.is_empty() => callee.clone(),
        CodeValue::Text(text) if code.language == Language::Php => match text.as_known() {
            Some(name) => called(code, &CodeValue::Named(name), arguments),
            None => CodeValue::Unknown,
        },
        _ => CodeValue::Unknown,
    }
}

/// `Command::new("rm").arg("-rf")`.
fn with_arguments(receiver: &CodeValue, values: &[CodeValue]) -> CodeValue {
    let mut words = receiver.items();
    words.extend(values.iter().skip(1).flat_map(CodeValue::items));
    CodeValue::List(words)
}

fn unknown_flow(labels: Labels) -> CodeValue {
    CodeValue::Text(Text::unknown(What::Output(Rc::new(Flow::labelled(labels))), false))
}

fn given(code: &Code<'_>, gives: Gives, name: &str, values: &[CodeValue], arguments: &[Argument]) -> CodeValue {
    let first = values.first();
    let text_at = |at: usize| values.get(at).and_then(CodeValue::as_known);
    match gives {
        // `Command.new`, `Pathname.new`, but nothing of a class that nobody knows.
        Gives::FirstArgument => match first {
            Some(CodeValue::Named(class)) if last_part(name) == "text" && class.is_empty() => CodeValue::Unknown,
            Some(value) if last_part(name) == "bytes" || last_part(name) == "bytearray" => numbers_as_text(value),
            Some(value) => value.clone(),
            None => arguments.first().map_or(CodeValue::Unknown, |argument| argument.value.clone()),
        },
        Gives::Formatted => match first {
            Some(template) => {
                let named: Vec<(String, CodeValue)> = arguments
                    .iter()
                    .filter_map(|argument| Some((argument.key.clone()?, argument.value.clone())))
                    .collect();
                formatted(template, values.get(1..).unwrap_or_default(), &named)
            }
            None => CodeValue::Unknown,
        },
        Gives::List => CodeValue::List(values.iter().flat_map(CodeValue::items).collect()),
        Gives::Looked => match (first, text_at(1), text_at(0)) {
            (Some(CodeValue::Named(module)), Some(name), _) if module.is_empty() => CodeValue::Named(name),
            (Some(CodeValue::Named(module)), Some(name), _) => code.attribute(CodeValue::Named(module.clone()), &name),
            (Some(CodeValue::Named(module)), None, _) if values.len() == 1 => CodeValue::Named(module.clone()),
            (Some(value), None, Some(name)) if values.len() == 1 && value.as_known().is_some() => {
                CodeValue::Named(name)
            }
            (Some(function @ CodeValue::Named(_)), ..) if last_part(name) == "partial" => function.clone(),
            _ => CodeValue::Unknown,
        },
        Gives::Module => match text_at(values.len().saturating_sub(1)) {
            Some(module) => CodeValue::Named(module.trim_start_matches("node:").replace('/', ".")),
            // `ctypes.CDLL(None)` is the C library.
            None if last_part(name) == "CDLL" => CodeValue::Named("libc".to_owned()),
            None => CodeValue::Unknown,
        },
        Gives::Mapped => match (first, values.get(1)) {
            (Some(function @ (CodeValue::Named(_) | CodeValue::Function(_))), Some(CodeValue::List(items))) => {
                CodeValue::List(
                    items
                        .iter()
                        .map(|item| called(code, function, &[Argument { key: None, value: item.clone() }]))
                        .collect(),
                )
            }
            (Some(CodeValue::List(items)), Some(function)) => CodeValue::List(
                items
                    .iter()
                    .map(|item| called(code, function, &[Argument { key: None, value: item.clone() }]))
                    .collect(),
            ),
            _ => CodeValue::Unknown,
        },
        _ => from_around(code, gives, name, values).unwrap_or_else(|| made_of_text(code, gives, values)),
    }
}

/// What calls give back that look at what surrounds the code.
fn from_around(code: &Code<'_>, gives: Gives, name: &str, values: &[CodeValue]) -> Option<CodeValue> {
    let first = values.first();
    let text_at = |at: usize| values.get(at).and_then(CodeValue::as_known);
    Some(match gives {
        Gives::Home => CodeValue::known(code.around.home.clone()),
        Gives::Variable => match (first, text_at(0)) {
            (Some(map @ CodeValue::Map(_)), _) => text_at(1)
                .and_then(|key| map.at_key(&key).cloned())
                .or_else(|| values.get(2).cloned())
                .unwrap_or(CodeValue::Unknown),
            (_, Some(key)) if key == "HOME" => CodeValue::known(code.around.home.clone()),
            (_, Some(key)) => {
                let asked = Text::variable(&key);
                CodeValue::one_of(vec![CodeValue::Text(asked), values.get(1).cloned().unwrap_or(CodeValue::Unknown)])
            }
            _ => CodeValue::Unknown,
        },
        Gives::WorkingDirectory => {
            code.around.cwd.as_ref().map_or(CodeValue::Unknown, |cwd| CodeValue::known(cwd.clone()))
        }
        Gives::Temporary => CodeValue::Text(Text::unknown(What::Temporary, true)),
        Gives::Input => code.input(),
        Gives::Content => {
            let from = first.map(|value| value.text().known_start().into_owned()).unwrap_or_default();
            if from == "0" || from.ends_with("/dev/stdin") || from == "php://stdin" {
                code.input()
            } else if from.starts_with("http://") || from.starts_with("https://") || from.starts_with("ftp://") {
                unknown_flow(Labels::DOWNLOADED)
            } else {
                unknown_flow(Labels::FILE)
            }
        }
        Gives::Downloaded => unknown_flow(Labels::DOWNLOADED),
        Gives::Hidden => unknown_flow(Labels::DECODED),
        Gives::Matches => {
            let pattern = values.iter().find_map(CodeValue::as_known)?;
            let lists = !matches!(last_part(name), "glob" | "iglob" | "rglob");
            // What is done with the names of a listing is seldom done with all of them.
            if lists && !pattern.starts_with('/') {
                return Some(CodeValue::Text(Text::variable("entry")));
            }
            let pattern =
                if lists && !pattern.contains('*') { format!("{}/*", pattern.trim_end_matches('/')) } else { pattern };
            let mut text = Text::default();
            patterned(&pattern, &mut text);
            CodeValue::Text(text)
        }
        Gives::AnyArgument => match (code.variables.get("_"), code.variables.get("ARGV")) {
            (Some(CodeValue::List(items)), _) | (_, Some(CodeValue::List(items))) if !items.is_empty() => {
                if name == "commandArgs" { CodeValue::List(items.clone()) } else { CodeValue::one_of(items.clone()) }
            }
            _ => CodeValue::Text(Text::variable("argument")),
        },
        _ => return None,
    })
}

/// What calls give back that make one text of another.
fn made_of_text(code: &Code<'_>, gives: Gives, values: &[CodeValue]) -> CodeValue {
    let first = values.first();
    let text_at = |at: usize| values.get(at).and_then(CodeValue::as_known);
    let of_first = |make: &dyn Fn(&str) -> Option<String>| -> CodeValue {
        let one = |value: &CodeValue| match value {
            CodeValue::Text(_) => {
                value.as_known().and_then(|known| make(&known)).map_or_else(|| hidden_like(value), CodeValue::known)
            }
            other => hidden_like(other),
        };
        match first {
            Some(CodeValue::Choice(choices)) => CodeValue::Choice(choices.iter().map(one).collect()),
            Some(value) => one(value),
            None => CodeValue::Unknown,
        }
    };
    match gives {
        Gives::ExpandedPath => of_first(&|known| {
            let tilde = usize::from(known.starts_with('~'));
            Some(known.replacen('~', &code.around.home, tilde).replace("$HOME", &code.around.home))
        }),
        Gives::Base64 => of_first(&decode::base64),
        Gives::Hexadecimal => of_first(&decode::hex),
        Gives::DecodedBy => decoded_by(first, text_at(1).as_deref()),
        Gives::Rotated => of_first(&|known| Some(rotated(known))),
        Gives::Percent => of_first(&|known| Some(percent(known))),
        Gives::Reversed => reversed(first, values),
        Gives::Replaced => match (first.and_then(CodeValue::as_known), text_at(1), text_at(2)) {
            (Some(text), Some(from), Some(to)) if !from.is_empty() => CodeValue::known(text.replace(&from, &to)),
            (Some(text), None, _) if !text.is_empty() => CodeValue::Text(Text::variable("replaced")),
            _ => CodeValue::Unknown,
        },
        Gives::ReplacedInLast => match (text_at(0), text_at(1), text_at(2)) {
            (Some(from), Some(to), Some(text)) if !from.is_empty() => CodeValue::known(text.replace(&from, &to)),
            _ => CodeValue::Unknown,
        },
        Gives::Translated => match (text_at(0), text_at(1), text_at(2)) {
            (Some(text), Some(from), Some(to)) => CodeValue::known(translated(&text, &from, &to)),
            _ => CodeValue::Unknown,
        },
        Gives::Lower => of_first(&|known| Some(known.to_lowercase())),
        Gives::Upper => of_first(&|known| Some(known.to_uppercase())),
        Gives::Trimmed => of_first(&|known| Some(known.trim().to_owned())),
        Gives::Split => split(values),
        Gives::Packed => packed(values),
        Gives::Unpacked => match text_at(1).as_deref().or(text_at(0).as_deref()) {
            Some("m" | "m0" | "u") => of_first(&decode::base64),
            _ => unknown_flow(Labels::DECODED),
        },
        Gives::Repeated => match (first, values.get(1)) {
            (Some(text), Some(times)) => repeated(text, times),
            _ => CodeValue::Unknown,
        },
        Gives::Characters => match values {
            // `map(chr, …)` and `chr(x)` in a comprehension.
            [CodeValue::Choice(choices)] => {
                CodeValue::Choice(choices.iter().map(|choice| characters(std::slice::from_ref(choice))).collect())
            }
            [CodeValue::List(items)] => characters(items),
            _ => characters(values),
        },
        Gives::Pasted => {
            let items: Vec<CodeValue> = values.iter().flat_map(CodeValue::items).collect();
            CodeValue::Text(joined(items.iter().map(CodeValue::text), " "))
        }
        Gives::Concatenated => match first {
            Some(CodeValue::List(_)) => CodeValue::List(values.iter().flat_map(CodeValue::items).collect()),
            _ => CodeValue::Text(joined(values.iter().map(CodeValue::text), "")),
        },
        Gives::Joined => join(values, code.language),
        _ => CodeValue::Unknown,
    }
}

/// What is not known after decoding something that is not known either.
fn hidden_like(value: &CodeValue) -> CodeValue {
    match value {
        CodeValue::Text(text) if !text.is_decided() => CodeValue::Text(text.clone()),
        CodeValue::Text(_) => unknown_flow(Labels::DECODED),
        CodeValue::Named(name) => CodeValue::Text(Text::variable(name)),
        other => other.clone(),
    }
}

fn characters(values: &[CodeValue]) -> CodeValue {
    let character = |value: &CodeValue| value.as_known()?.parse::<u32>().ok().and_then(char::from_u32);
    match values.iter().map(character).collect::<Option<String>>() {
        Some(text) => CodeValue::known(text),
        None => CodeValue::Unknown,
    }
}

/// `bytes([114, 109])`.
fn numbers_as_text(value: &CodeValue) -> CodeValue {
    if let CodeValue::List(items) = value { characters(items) } else { value.clone() }
}

/// `", ".join(list)`, `list.join(", ")`, `join(", ", list)`, `os.path.join("a", "b")`.
fn join(values: &[CodeValue], language: Language) -> CodeValue {
    let list = values.iter().position(|value| matches!(value, CodeValue::List(_) | CodeValue::Choice(_)));
    match (list, values) {
        (Some(at), [_, _]) => {
            let items = if let CodeValue::Choice(items) = &values[at] { items.clone() } else { values[at].items() };
            let between = values[1 - at].as_known().unwrap_or_default();
            CodeValue::Text(joined(items.iter().map(CodeValue::text), &between))
        }
        (Some(at), [_]) => {
            let between = if language == Language::JavaScript { "," } else { "" };
            CodeValue::Text(joined(values[at].items().iter().map(CodeValue::text), between))
        }
        (_, [between, rest @ ..]) if language == Language::Perl => {
            let between = between.as_known().unwrap_or_default();
            let items: Vec<CodeValue> = rest.iter().flat_map(CodeValue::items).collect();
            CodeValue::Text(joined(items.iter().map(CodeValue::text), &between))
        }
        _ => {
            let parts = values.iter().filter(|value| !matches!(value, CodeValue::Named(_)) || values.len() < 3);
            CodeValue::Text(joined_path(parts.map(CodeValue::text)))
        }
    }
}

/// A path of parts; one that begins at the root replaces what stands before it.
fn joined_path(parts: impl Iterator<Item = Text>) -> Text {
    let mut path = Text::default();
    for (index, part) in parts.enumerate() {
        if index > 0 && part.known_start().starts_with('/') {
            path = Text::default();
        } else if index > 0 && !path.known_end().ends_with('/') {
            path.push(Piece::Known("/".to_owned()));
        }
        path.append(&part);
    }
    path
}

fn decoded_by(first: Option<&CodeValue>, by: Option<&str>) -> CodeValue {
    let Some(value) = first else { return CodeValue::Unknown };
    // `Buffer.from(…)` and `bytes.decode()` of what is not text pass it on.
    let by = by.unwrap_or_default().to_ascii_lowercase().replace(['-', '_'], "");
    let Some(known) = value.as_known() else {
        return if let CodeValue::List(items) = value { characters(items) } else { value.clone() };
    };
    let decoded = match by.as_str() {
        "rot13" => Some(rotated(&known)),
        "hex" | "hexcodec" => decode::hex(&known),
        "base64" | "base64url" | "base64codec" => decode::base64(&known),
        _ => Some(known),
    };
    decoded.map_or_else(|| unknown_flow(Labels::DECODED), CodeValue::known)
}

fn rotated(text: &str) -> String {
    let turn = |letter: u8, first: u8| char::from((letter - first + 13) % 26 + first);
    text.chars()
        .map(|character| match u8::try_from(character) {
            Ok(letter @ b'a'..=b'z') => turn(letter, b'a'),
            Ok(letter @ b'A'..=b'Z') => turn(letter, b'A'),
            _ => character,
        })
        .collect()
}

fn percent(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| bytes[at] == b'%')
        {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn reversed(first: Option<&CodeValue>, values: &[CodeValue]) -> CodeValue {
    match first {
        Some(CodeValue::List(items)) => CodeValue::List(items.iter().rev().cloned().collect()),
        Some(value) if values.len() == 1 => match value.as_known() {
            Some(known) => CodeValue::known(known.chars().rev().collect::<String>()),
            None => hidden_like(value),
        },
        _ => CodeValue::List(values.iter().rev().cloned().collect()),
    }
}

fn translated(text: &str, from: &str, to: &str) -> String {
    let set = |set: &str| -> Vec<char> {
        let all: Vec<char> = set.chars().collect();
        let mut out = Vec::new();
        let mut at = 0;
        while at < all.len() {
            if all.get(at + 1) == Some(&'-') && at + 2 < all.len() && all[at] <= all[at + 2] {
                out.extend(all[at]..=all[at + 2]);
                at += 3;
            } else {
                out.push(all[at]);
                at += 1;
            }
        }
        out
    };
    let (from, to) = (set(from), set(to));
    let turned = |character: char| match from.iter().position(|own| *own == character) {
        Some(at) => to.get(at).or(to.last()).copied().unwrap_or(character),
        None => character,
    };
    text.chars().map(turned).collect()
}

fn split(values: &[CodeValue]) -> CodeValue {
    let known: Vec<Option<String>> = values.iter().map(CodeValue::as_known).collect();
    let (text, separator) = match known.as_slice() {
        // `explode(" ", text)` and `split / /, text` name the separator first; it is the shorter one.
        [Some(first), Some(second), ..] if first.len() < second.len() && first.len() <= 1 => (second, Some(first)),
        [Some(text), Some(separator), ..] => (text, Some(separator)),
        [Some(text)] | [Some(text), None, ..] | [None, Some(text), ..] => (text, None),
        _ => return values.first().cloned().unwrap_or(CodeValue::Unknown),
    };
    let parts: Vec<CodeValue> = match separator.map(String::as_str) {
        Some("") => text.chars().map(|character| CodeValue::known(character.to_string())).collect(),
        Some(separator) => text.split(separator).map(CodeValue::known).collect(),
        None => shell_words(text).into_iter().map(CodeValue::known).collect(),
    };
    CodeValue::List(parts)
}

/// Words as `shlex.split` sees them, which is as good as splitting at blanks for plain text.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// `pack("H*", …)` of Perl and `[…].pack("H*")` of Ruby.
fn packed(values: &[CodeValue]) -> CodeValue {
    let template_at =
        values.iter().position(|value| value.as_known().is_some_and(|known| known.len() <= 4 && known.ends_with('*')));
    let Some(at) = template_at else { return unknown_flow(Labels::DECODED) };
    let template = values[at].as_known().unwrap_or_default();
    let items: Vec<CodeValue> =
        values.iter().enumerate().filter(|(own, _)| *own != at).flat_map(|(_, value)| value.items()).collect();
    let known: String = items.iter().filter_map(CodeValue::as_known).collect();
    let text = match template.as_bytes().first() {
        Some(b'H') => decode::hex(&known),
        Some(b'C' | b'c' | b'U' | b'W') => characters(&items).as_known(),
        Some(b'A' | b'a') => Some(known),
        _ => None,
    };
    text.map_or_else(|| unknown_flow(Labels::DECODED), CodeValue::known)
}

/// What `+` and its like make of two values.
pub(super) fn added(left: CodeValue, right: &CodeValue) -> CodeValue {
    match (left, right) {
        (CodeValue::List(mut items), right) => {
            items.extend(right.items());
            CodeValue::List(items).bounded()
        }
        (CodeValue::Choice(choices), right) => {
            CodeValue::Choice(choices.into_iter().map(|left| added(left, right)).collect()).bounded()
        }
        (left, CodeValue::Choice(choices)) => {
            CodeValue::Choice(choices.iter().map(|right| added(left.clone(), right)).collect()).bounded()
        }
        (left, right) => {
            let mut text = left.text();
            text.append(&right.text());
            CodeValue::Text(text).bounded()
        }
    }
}

/// A text or a list as often as a number says.
pub(super) fn repeated(value: &CodeValue, times: &CodeValue) -> CodeValue {
    let times = times.as_known().and_then(|known| known.parse::<usize>().ok());
    match (value, times) {
        (CodeValue::Text(text), Some(times)) => match text.as_known() {
            Some(known) if known.len().saturating_mul(times) <= 16 << 10 => CodeValue::known(known.repeat(times)),
            // Enough to see what it is.
            Some(known) => CodeValue::known(known.repeat((4096 / known.len().max(1)).min(times))),
            None => CodeValue::Unknown,
        },
        (CodeValue::List(items), Some(times)) if items.len().saturating_mul(times) <= 256 => {
            CodeValue::List(std::iter::repeat_n(items.clone(), times).flatten().collect())
        }
        _ => CodeValue::Unknown,
    }
}

/// `"…%s…" % value`.
pub(super) fn formatted_with(template: &CodeValue, right: &CodeValue) -> CodeValue {
    match right {
        CodeValue::Map(entries) => formatted(template, &[], entries),
        CodeValue::List(items) => formatted(template, items, &[]),
        other => formatted(template, std::slice::from_ref(other), &[]),
    }
}

/// A template with `%s`, `%(name)s`, `{}`, `{0}` and `{name}` filled in.
fn formatted(template: &CodeValue, values: &[CodeValue], named: &[(String, CodeValue)]) -> CodeValue {
    let Some(template) = template.as_known() else { return template.clone() };
    let mut out = Text::default();
    let mut next = 0;
    let mut rest = template.as_str();
    while let Some(at) = rest.find(['%', '{']) {
        out.push(Piece::Known(rest[..at].to_owned()));
        let field = &rest[at..];
        let (name, length) = if field.starts_with('{') {
            let Some(end) = field.find('}') else { break };
            (Some(field[1..end].split([':', '!']).next().unwrap_or_default().to_owned()), end + 1)
        } else if let Some(inner) =
            field.strip_prefix("%(").or_else(|| field.strip_prefix("%{").or_else(|| field.strip_prefix("%<")))
        {
            let Some(end) = inner.find([')', '}', '>']) else { break };
            (Some(inner[..end].to_owned()), end + 3 + usize::from(!field.starts_with("%{")))
        } else if let Some(behind) = field.strip_prefix("%%") {
            out.push(Piece::Known("%".to_owned()));
            rest = behind;
            continue;
        } else {
            let length =
                field[1..].find(|letter: char| letter.is_ascii_alphabetic()).map_or(field.len(), |end| end + 2);
            (None, length)
        };
        let value = match &name {
            Some(name) if !name.is_empty() && name.parse::<usize>().is_err() => {
                named.iter().find(|(own, _)| own == name).map(|(_, value)| value)
            }
            Some(name) if !name.is_empty() => name.parse::<usize>().ok().and_then(|at| values.get(at)),
            _ => {
                next += 1;
                values.get(next - 1)
            }
        };
        match value {
            Some(value) => out.append(&value.text()),
            None => out.push(Piece::Known(field.get(..length).unwrap_or(field).to_owned())),
        }
        rest = field.get(length..).unwrap_or_default();
    }
    out.push(Piece::Known(rest.to_owned()));
    CodeValue::Text(out)
}

/// `Path("a") / "b"`.
pub(super) fn path_below(left: &CodeValue, right: &CodeValue) -> CodeValue {
    match (left, right) {
        (CodeValue::Text(left), CodeValue::Text(right)) => {
            CodeValue::Text(joined_path([left.clone(), right.clone()].into_iter()))
        }
        _ => CodeValue::Unknown,
    }
}

fn cut<T: Clone>(all: &[T], start: usize, end: usize, step: Option<i64>) -> Vec<T> {
    let middle = all.get(start..end.max(start)).unwrap_or_default();
    match step {
        Some(-1) => middle.iter().rev().cloned().collect(),
        Some(step) if step > 1 => middle.iter().step_by(usize::try_from(step).unwrap_or(1)).cloned().collect(),
        _ => middle.to_vec(),
    }
}

/// `text[start:end:step]`.
pub(super) fn sliced(value: &CodeValue, parts: &[Option<i64>]) -> CodeValue {
    let place = |at: usize, length: usize, otherwise: usize| -> usize {
        match parts.get(at).copied().flatten() {
            Some(number) if number < 0 => length.saturating_sub(usize::try_from(-number).unwrap_or(usize::MAX)),
            Some(number) => usize::try_from(number).unwrap_or(usize::MAX).min(length),
            None => otherwise,
        }
    };
    let step = parts.get(2).copied().flatten();
    match value {
        CodeValue::List(items) => {
            let (start, end) = (place(0, items.len(), 0), place(1, items.len(), items.len()));
            CodeValue::List(cut(items, start, end, step))
        }
        CodeValue::Text(text) => match text.as_known() {
            Some(known) => {
                let all: Vec<char> = known.chars().collect();
                let (start, end) = (place(0, all.len(), 0), place(1, all.len(), all.len()));
                CodeValue::known(cut(&all, start, end, step).into_iter().collect::<String>())
            }
            None => value.clone(),
        },
        other => other.clone(),
    }
}

impl Code<'_> {
    /// What comes in, where the code reads it.
    fn input(&self) -> CodeValue {
        let flow = &self.around.input;
        match &flow.text {
            Some(text) if !text.is_empty() => CodeValue::known(text.trim_end_matches('\n')),
            None if flow.labels.has(Labels::DOWNLOADED) || flow.labels.has(Labels::DECODED) => {
                unknown_flow(flow.labels)
            }
            _ => CodeValue::Text(Text::variable("input")),
        }
    }
}
