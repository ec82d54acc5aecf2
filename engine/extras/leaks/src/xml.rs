//! Reads XML and HTML as a sequence of tags and texts.
//!
//! HTML is rarely well-formed, and a leak in a damaged document is still a leak. So tags need not match, and a tag or
//! comment with an error is skipped.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};

/// The parser keeps the names of open elements. With this number of them, it starts again after the last tag.
const MAX_OPEN: u32 = 1 << 12;

/// Maximum number of errors. Some are found only at the end of the document.
const MAX_ERRORS: u32 = 30;

/// A part of a document.
pub(crate) enum Part<'a> {
    Begin(Tag<'a>),
    /// The end of an element with this name.
    End(&'a str),
    /// The text between two tags.
    Text(&'a str),
}

/// The tag at the beginning of an element.
pub(crate) struct Tag<'a> {
    tag: &'a BytesStart<'a>,
    /// Whether the tag is also the end of the element.
    pub is_empty: bool,
}

impl Tag<'_> {
    pub(crate) fn name(&self) -> &str {
        name(self.tag.name().into_inner())
    }

    /// Returns the names and values of all attributes.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let mut attributes = self.tag.html_attributes();
        // Checking for equal names takes time quadratic in their number.
        attributes.with_checks(false);
        attributes.filter_map(|attribute| {
            let attribute = attribute.ok()?;
            let value = match attribute.value {
                Cow::Borrowed(value) => Cow::Borrowed(std::str::from_utf8(value).ok()?),
                Cow::Owned(value) => Cow::Owned(String::from_utf8(value).ok()?),
            };
            let plain = unescape(&value).map(Cow::into_owned);
            Some((
                name(attribute.key.into_inner()),
                plain.map_or(value, Cow::Owned),
            ))
        })
    }
}

fn name(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Returns the name of an element without its namespace: `row` for `x:row`.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Calls `visit` for each part of a document.
pub(crate) fn walk(document: &str, visit: &mut dyn FnMut(Part<'_>)) {
    let (mut rest, mut text, mut errors) = (document, String::new(), 0);
    while let Some(stop) = walk_until_stop(rest, &mut text, visit) {
        let skipped = match stop {
            Stop::Open(position) => Some(position),
            Stop::Error(position) => {
                errors += 1;
                let tag = rest.get(position..).filter(|_| errors < MAX_ERRORS);
                tag.and_then(|tag| Some(position + tag.find('>')? + 1))
            }
        };
        let Some(skipped) = skipped else { break };
        rest = rest.get(skipped..).unwrap_or_default();
    }
}

/// Where the parser has to start again.
enum Stop {
    /// After a tag.
    Open(usize),
    /// After the end of the tag at this position, which contains an error.
    Error(usize),
}

/// `text` is the text before the next tag. Returns `None` at the end of the document.
fn walk_until_stop(
    document: &str,
    text: &mut String,
    visit: &mut dyn FnMut(Part<'_>),
) -> Option<Stop> {
    let mut reader = Reader::from_str(document);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    let mut open = 0_u32;
    loop {
        let event = reader.read_event();
        match &event {
            Ok(Event::Text(part)) => text.push_str(&part.decode().unwrap_or_default()),
            Ok(Event::CData(part)) => text.push_str(&part.decode().unwrap_or_default()),
            Ok(Event::GeneralRef(reference)) => {
                let name = reference.decode().unwrap_or_default();
                match reference.resolve_char_ref() {
                    Ok(Some(letter)) => text.push(letter),
                    _ => match resolve_predefined_entity(&name) {
                        Some(letter) => text.push_str(letter),
                        None => text.extend(["&", &name, ";"]),
                    },
                }
            }
            _ => {
                if !text.is_empty() {
                    visit(Part::Text(text));
                }
                text.clear();
            }
        }
        match &event {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                let is_empty = matches!(event, Ok(Event::Empty(_)));
                visit(Part::Begin(Tag { tag, is_empty }));
                open += u32::from(!is_empty);
            }
            Ok(Event::End(tag)) => {
                visit(Part::End(name(tag.name().into_inner())));
                open = open.saturating_sub(1);
            }
            Ok(Event::Eof) => return None,
            Ok(_) => {}
            Err(_) => return Some(Stop::Error(usize::try_from(reader.error_position()).ok()?)),
        }
        if open >= MAX_OPEN {
            return Some(Stop::Open(usize::try_from(reader.buffer_position()).ok()?));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(document: &str) -> String {
        let mut all = Vec::new();
        walk(document, &mut |part| {
            all.push(match part {
                Part::Begin(tag) => {
                    let attributes = tag.attributes();
                    let attributes = attributes.map(|(name, value)| format!(" {name}={value}"));
                    let end = if tag.is_empty { "/" } else { "" };
                    format!("<{}{}{end}>", tag.name(), attributes.collect::<String>())
                }
                Part::End(name) => format!("</{name}>"),
                Part::Text(text) => text.to_owned(),
            });
        });
        all.join("|")
    }

    #[test]
    fn damaged_documents_are_read_to_their_end() {
        for (document, expected) in [
            (
                "<a>1 &lt; 2 &amp;&#65;&x; b & c</a>",
                "<a>|1 < 2 &A&x; b & c|</a>",
            ),
            (
                "<a b='x &gt; y' c=1 d><e/></f>",
                "<a b=x > y c=1 d=>|<e/>|</f>",
            ),
            ("<!DOCTYPE x><?pi?><!-- <b> -->t<![CDATA[<c>]]>", "t<c>"),
            ("<a><!x y><![if !IE]><b>t</b>", "<a>|<b>|t|</b>"),
            ("<a>t<!-- <b>u</b>", "<a>|t|u|</b>"),
            ("<a b=\"1><c>t</c>", "<c>|t|</c>"),
            ("a<", "a"),
        ] {
            assert_eq!(parts(document), expected, "{document}");
        }
    }

    #[test]
    fn time_is_linear_in_the_length() {
        for part in [
            "<!--",
            "<![",
            "<a ",
            "<a>",
            "</a>",
            "&",
            "<!x>",
            "<a x='1' ",
        ] {
            let begin = std::time::Instant::now();
            walk(&part.repeat(1 << 20), &mut |_| {});
            assert!(begin.elapsed().as_secs() < 5, "{part}");
        }
    }
}
