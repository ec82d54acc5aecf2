//! Finds the end of an element by its quotes and brackets, without parsing it.

use memchr::memchr2;

/// A scan through the chunks of an element.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Whether the element is a key, which ends with its closing quote.
    is_key: bool,
    /// Number of open brackets.
    depth: usize,
    in_string: bool,
    /// Whether the previous chunk ended with a backslash.
    escaped: bool,
}

impl Scan {
    pub fn of_key() -> Scan {
        Scan {
            is_key: true,
            ..Scan::default()
        }
    }

    /// Scans the next chunk, `text`. Returns the offset of the element's end in this chunk, or `None` if the element
    /// continues after the chunk.
    pub fn end(&mut self, text: &[u8]) -> Option<usize> {
        let mut position = 0;
        loop {
            let rest = text.get(position..).unwrap_or_default();
            if self.in_string {
                if self.escaped {
                    rest.first()?;
                    self.escaped = false;
                    position += 1;
                    continue;
                }
                let found = memchr2(b'"', b'\\', rest)?;
                position += found + 1;
                match rest.get(found) {
                    Some(b'\\') => self.escaped = true,
                    _ if self.is_key => return Some(position),
                    _ => self.in_string = false,
                }
                continue;
            }
            for (offset, byte) in rest.iter().enumerate() {
                match byte {
                    b'"' => {
                        self.in_string = true;
                        position += offset + 1;
                        break;
                    }
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' if self.depth > 0 => self.depth -= 1,
                    // A colon at depth 0 means that the comma after the element is missing. The element ends here.
                    b']' | b'}' | b',' | b':' if self.depth == 0 => return Some(position + offset),
                    _ => {}
                }
            }
            if !self.in_string {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A simple implementation of [`Scan::end`] for one chunk.
    fn end_bytewise(text: &[u8], is_key: bool) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        for (position, byte) in text.iter().enumerate() {
            match (in_string, byte) {
                (true, _) if escaped => escaped = false,
                (true, b'\\') => escaped = true,
                (true, b'"') if is_key => return Some(position + 1),
                (_, b'"') => in_string = !in_string,
                (true, _) => {}
                (false, b'[' | b'{') => depth += 1,
                (false, b']' | b'}') if depth > 0 => depth -= 1,
                (false, b']' | b'}' | b',' | b':') if depth == 0 => return Some(position),
                _ => {}
            }
        }
        None
    }

    proptest! {
        #[test]
        fn chunk_sizes_do_not_affect_the_end(text in r#"[a"\\\[\]{},: 1]{0,60}"#, cut in 0_usize..60, is_key: bool) {
            let text = text.as_bytes();
            let cut = cut.min(text.len());
            let mut scan = Scan { is_key, ..Scan::default() };
            let found = scan.end(&text[..cut]);
            let found = found.or_else(|| scan.end(&text[cut..]).map(|end| cut + end));
            prop_assert_eq!(found, end_bytewise(text, is_key));
        }
    }
}
