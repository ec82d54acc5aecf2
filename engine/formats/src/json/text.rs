//! A position in a JSON text in memory.

/// A text and the offset of its next byte.
pub(super) struct TextCursor<'a> {
    pub text: &'a [u8],
    pub offset: usize,
}

impl<'a> TextCursor<'a> {
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.offset..).unwrap_or_default()
    }

    pub fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.offset += 1;
        }
    }

    /// Skips white space, and the byte after it if it is `byte`. Returns whether it is.
    pub fn accept(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    /// Skips white space, and a comma or the closing bracket `end` after an element. Returns `true` for the bracket,
    /// and `None` for anything else.
    pub fn comma_or(&mut self, end: u8) -> Option<bool> {
        let ended = self.accept(end);
        (ended || self.accept(b',')).then_some(ended)
    }
}
