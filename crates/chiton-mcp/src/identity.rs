//! Who the server says it is.

use rmcp::model::{Icon, Implementation};

/// A chiton with its eight plates.
const ICON: &str = include_str!("icon.svg");

pub(crate) fn implementation() -> Implementation {
    let mut server = Implementation::new("chiton", env!("CARGO_PKG_VERSION"));
    server.title = Some("Chiton".to_owned());
    server.description =
        Some("A shell for AI agents: it keeps its state, guards what runs, and loses no output.".to_owned());
    server.website_url = Some(env!("CARGO_PKG_REPOSITORY").to_owned()).filter(|address| !address.is_empty());
    let mut icon = Icon::new(format!("data:image/svg+xml;base64,{}", base64(ICON.trim_end().as_bytes())));
    icon.mime_type = Some("image/svg+xml".to_owned());
    icon.sizes = Some(vec!["any".to_owned()]);
    server.icons = Some(vec![icon]);
    server
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, place| number << 8 | u32::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4_usize {
            let digit = (number >> (18 - 6 * place)) & 63;
            text.push(if place <= group.len() { char::from(DIGITS[digit as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_everybody_writes_it() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_icon_is_small_and_has_eight_plates() {
        let icons = implementation().icons.unwrap();
        assert!(icons[0].src.len() < 2048, "{} bytes", icons[0].src.len());
        assert_eq!(ICON.matches("<path").count(), 8);
        assert!(ICON.starts_with("<svg") && ICON.trim_end().ends_with("</svg>"));
    }
}
