//! Stores the text of a table that is read from a bundle, in memory or in the cache.
//!
//! Reading the table again from the bundle takes hardly longer than reading the text back from disk. Therefore a long
//! text that is not published unchanged is kept in memory while steps need it, if there is memory. Otherwise it becomes
//! a cached object. Short texts are always stored, so that later runs can use them.

use std::io::{self, Read, Write};

use prep_cache::{Buffer, ObjectWriter, Stored};
use prep_core::{Claim, Context, StepError};

/// Texts with fewer bytes are always written to the cache. Reading them again would cost more than their disk space.
const MIN_IN_MEMORY_BYTES: u64 = 4 << 20;

/// Extra bytes that a text may need, because the text adds quotes to cells of its file: this constant plus the file's
/// size divided by [`EXTRA_DIVISOR`].
const EXTRA_BYTES: u64 = 1 << 16;
const EXTRA_DIVISOR: u64 = 64;

/// A writer for a text, which stays in memory or is written to the cache.
pub(crate) struct TextWriter {
    out: ObjectWriter,
    claim: Option<Claim>,
}

/// A text in memory, with the claim for its memory.
pub(crate) struct InMemoryText {
    pub buffer: Buffer,
    pub claim: Claim,
}

impl TextWriter {
    /// Creates a writer for the text of a file of `bytes` bytes.
    pub fn new(context: &Context, bytes: u64) -> Result<TextWriter, StepError> {
        // A published text becomes a file anyway.
        let in_memory = match bytes >= MIN_IN_MEMORY_BYTES && !context.store.computes_sha256() {
            true => InMemoryText::new(context, bytes),
            false => None,
        };
        Ok(match in_memory {
            Some(InMemoryText { buffer, claim }) => TextWriter {
                out: context.store.writer_in_memory(buffer),
                claim: Some(claim),
            },
            None => TextWriter {
                out: context.store.writer()?,
                claim: None,
            },
        })
    }

    /// Appends a chunk. Returns a chunk for reuse, if there is one.
    pub fn push(&mut self, chunk: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        self.out.push(chunk)
    }

    /// Returns a reader over the text written so far, for callers that need no table after all, and the claim for its
    /// memory.
    pub fn read_back(self) -> Result<(impl Read, Option<Claim>), StepError> {
        Ok((self.out.read_back()?, self.claim))
    }

    /// Returns the text's object, and the text itself if it is not in the cache.
    pub fn finish(self) -> Result<(Stored, Option<InMemoryText>), StepError> {
        let (object, buffer) = self.out.finish()?;
        let in_memory = buffer.zip(self.claim);
        let in_memory = in_memory.map(|(buffer, claim)| InMemoryText { buffer, claim });
        Ok((object, in_memory))
    }
}

impl Write for TextWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl InMemoryText {
    /// Allocates memory for the text of a file of `bytes` bytes. `None` if there is not enough.
    fn new(context: &Context, bytes: u64) -> Option<InMemoryText> {
        let bytes = bytes.checked_add(bytes / EXTRA_DIVISOR + EXTRA_BYTES)?;
        let claim = context.objects.try_claim_for_result(bytes)?;
        let buffer = Buffer::with_capacity(usize::try_from(bytes).ok()?).ok()?;
        Some(InMemoryText { buffer, claim })
    }
}
