//! What is written down: results for people and machines, and the page in `docs/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Between these lines of the page, what was measured.
const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// The project, as it was when this was built.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Puts `text` into the page.
pub(crate) fn into_page(text: &str) -> Result<()> {
    let path = root().join("docs/performance.md");
    let page = fs::read_to_string(&path).context("docs/performance.md cannot be read")?;
    let page = replaced(&page, text).with_context(|| format!("docs/performance.md has no {BEGIN} … {END}"))?;
    Ok(fs::write(path, page)?)
}

/// Puts a picture beside the page.
pub(crate) fn picture(name: &str, svg: &str) -> Result<()> {
    let folder = root().join("docs/performance");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(format!("{name}.svg")), svg)?)
}

/// `page` with `text` between the two lines; nothing where they are not there.
fn replaced(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_lines_changes() {
        let page = format!("# Page\n{BEGIN}\nold\n{END}\nrest\n");
        let new = replaced(&page, "\nnew\n").unwrap();
        assert_eq!(new, format!("# Page\n{BEGIN}\nnew\n{END}\nrest\n"));
        assert_eq!(replaced(&new, "new").unwrap(), new);
        assert!(replaced("# Page\n", "new").is_none());
    }
}
