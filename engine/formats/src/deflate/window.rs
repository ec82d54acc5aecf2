//! The last output bytes of earlier calls, which matches may copy.

/// A match copies bytes that begin at most this number of bytes before it.
pub(super) const WINDOW_BYTES: usize = 1 << 15;

/// Up to [`WINDOW_BYTES`] bytes of output.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// A ring buffer of [`WINDOW_BYTES`] bytes. Empty before the first [`push`](Self::push).
    bytes: Vec<u8>,
    /// Index in `bytes` after the newest byte.
    end: usize,
    /// Number of valid bytes.
    len: usize,
}

impl Window {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn clear(&mut self) {
        (self.end, self.len) = (0, 0);
    }

    /// Appends output bytes. They replace the oldest bytes of the window.
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.resize(WINDOW_BYTES, 0);
        let skipped = bytes.len().saturating_sub(WINDOW_BYTES);
        let (_, bytes) = bytes.split_at(skipped);
        let (older, newer) = bytes.split_at(bytes.len().min(WINDOW_BYTES - self.end));
        let (begin, end) = self.bytes.split_at_mut(self.end);
        for (part, from) in [(end, older), (begin, newer)] {
            if let Some(part) = part.get_mut(..from.len()) {
                part.copy_from_slice(from);
            }
        }
        self.end = (self.end + bytes.len()) % WINDOW_BYTES;
        self.len = (self.len + bytes.len()).min(WINDOW_BYTES);
    }

    /// Copies `length` bytes to offset `at` of `out`. The source begins `distance` bytes before this offset.
    ///
    /// The window contains the bytes before `out`. The source may begin in the window, but must not begin before the window.
    pub fn copy(&self, out: &mut [u8], at: usize, length: usize, distance: usize) {
        let outside = distance.saturating_sub(at).min(length);
        if let Some(part) = out.get_mut(at..at + outside) {
            let start = (self.end + WINDOW_BYTES + at - distance) % WINDOW_BYTES;
            let older = self.bytes.get(start..).unwrap_or_default();
            let (to_older, to_newer) = part.split_at_mut(outside.min(older.len()));
            for (part, from) in [(to_older, older), (to_newer, &self.bytes)] {
                if let Some(from) = from.get(..part.len()) {
                    part.copy_from_slice(from);
                }
            }
        }
        for place in at + outside..at + length {
            let byte = place.checked_sub(distance).and_then(|from| out.get(from));
            let byte = byte.copied().unwrap_or_default();
            if let Some(place) = out.get_mut(place) {
                *place = byte;
            }
        }
    }
}
