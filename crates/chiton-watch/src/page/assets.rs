//! The files of the page. They are part of the program: nothing is fetched from anywhere.

/// The page itself; `NONCE` in it is replaced for each answer.
pub(super) const PAGE: &str = include_str!("../../assets/index.html");
/// The word in it that is replaced.
pub(super) const NONCE: &str = "NONCE";

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file of the page with its kind, by its name.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static [u8])> {
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, bytes)| (*kind, *bytes))
}

macro_rules! files {
    ($($name:literal $kind:expr;)*) => {
        &[$(($name, $kind, include_bytes!(concat!("../../assets/", $name)))),*]
    };
}

/// Name, kind, content.
const FILES: &[(&str, &str, &[u8])] = files! {
    "icon.svg" "image/svg+xml";
    "style.css" STYLE;
    "app.js" SCRIPT;
    "ansi.js" SCRIPT;
    "api.js" SCRIPT;
    "approvals.js" SCRIPT;
    "charts.js" SCRIPT;
    "dom.js" SCRIPT;
    "journal.js" SCRIPT;
    "keys.js" SCRIPT;
    "list.js" SCRIPT;
    "run.js" SCRIPT;
    "store.js" SCRIPT;
    "terminal.js" SCRIPT;
    "theme.js" SCRIPT;
    "transcript.js" SCRIPT;
    "words.js" SCRIPT;
    "xterm/xterm.mjs" SCRIPT;
    "xterm/addon-fit.mjs" SCRIPT;
    "xterm/xterm.css" STYLE;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_names_is_there_and_none_comes_from_elsewhere() {
        let own = |text: &str| {
            text.split(['"', '\'']).filter_map(|word| word.strip_prefix("/assets/").map(str::to_owned)).collect()
        };
        let mut named: Vec<String> = own(PAGE);
        for (name, kind, bytes) in FILES.iter().filter(|(name, ..)| !name.starts_with("xterm/")) {
            let text = std::str::from_utf8(bytes).unwrap();
            named.extend(own(text));
            if *kind == SCRIPT {
                let imports = text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next());
                named.extend(imports.map(str::to_owned));
            }
            let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"), "{name} names another place");
            for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!text.contains(sink), "{name} uses {sink}");
            }
        }
        assert!(named.len() > 10, "{named:?}");
        for name in named {
            assert!(find(&name).is_some(), "{name}");
        }
    }
}
