//! The text of a table that is read from a bundle, in memory or in the store.
//!
//! Reading it once more takes hardly longer than reading it back, so a long text that is not published as it stands is held
//! in memory while steps want it, where there is room. Otherwise it becomes an object of the store, which is also where
//! short ones go: there a later run finds them.

use std::io::{self, Read, Write};

use prep_cache::{Buffer, ObjectWriter, Stored};
use prep_core::{Claim, Context, StepError};

/// A text of fewer bytes is stored: its disk is not worth reading it twice.
const SHORT: u64 = 4 << 20;

/// By so much a text may be longer than the file that it is read from, as cells get quotes: this, and a part of it.
const LONGER: u64 = 1 << 16;
const LONGER_PART: u64 = 64;

/// Takes the pieces of a text.
pub(crate) struct TextWriter {
    out: ObjectWriter,
    claim: Option<Claim>,
}

/// A text in memory, and the room that it takes there.
pub(crate) struct HeldText {
    pub buffer: Buffer,
    pub claim: Claim,
}

impl TextWriter {
    /// For the text of a file of so many bytes.
    pub fn new(context: &Context, bytes: u64) -> Result<TextWriter, StepError> {
        // What is published becomes a file in any case.
        let is_worth_it = bytes >= SHORT && !context.store.has_sums();
        let held = is_worth_it.then(|| HeldText::new(context, bytes)).flatten();
        Ok(match held {
            Some(HeldText { buffer, claim }) => TextWriter {
                out: context.store.writer_in_memory(buffer),
                claim: Some(claim),
            },
            None => TextWriter {
                out: context.store.writer()?,
                claim: None,
            },
        })
    }

    /// Takes a piece; returns one whose bytes are not needed any more, if there is one.
    pub fn push(&mut self, piece: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        self.out.push(piece)
    }

    /// What was written, from its beginning, for one who wants no table of it after all.
    pub fn read_back(self) -> Result<impl Read, StepError> {
        Ok(Back {
            text: self.out.read_back()?,
            _claim: self.claim,
        })
    }

    /// The text's object, and the text itself if it is not in the store.
    pub fn finish(self) -> Result<(Stored, Option<HeldText>), StepError> {
        let (object, buffer) = self.out.finish()?;
        let held = buffer.zip(self.claim);
        Ok((
            object,
            held.map(|(buffer, claim)| HeldText { buffer, claim }),
        ))
    }
}

/// Reads what was written.
struct Back {
    text: Box<dyn Read>,
    _claim: Option<Claim>,
}

impl Read for Back {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text.read(buffer)
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

impl HeldText {
    /// Room for the text of a file of so many bytes, if there is some.
    fn new(context: &Context, bytes: u64) -> Option<HeldText> {
        let bytes = bytes.checked_add(bytes / LONGER_PART + LONGER)?;
        let claim = context.try_claim_to_hold(bytes)?;
        let buffer = Buffer::with_capacity(usize::try_from(bytes).ok()?).ok()?;
        Some(HeldText { buffer, claim })
    }
}
