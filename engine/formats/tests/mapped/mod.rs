//! Maps the files of tests into memory.

use std::fs::File;
use std::ops::Range;

use memmap2::{Mmap, UncheckedAdvice};
use prep_formats::pandas::MappedText;

/// A memory-mapped file that the test does not change.
pub struct MappedFile(Mmap);

impl MappedFile {
    pub fn new(file: &File) -> MappedFile {
        // SAFETY: the file has no name, and the test that created it does not write to it anymore.
        #[allow(unsafe_code, reason = "only the test has the file, see above")]
        MappedFile(unsafe { Mmap::map(file).unwrap() })
    }
}

impl MappedText for MappedFile {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn release(&self, part: Range<usize>) {
        // SAFETY: the map is shared and read-only, and the file does not change. So dropped pages are loaded again with
        // the same bytes.
        #[allow(unsafe_code, reason = "only the test has the file, see above")]
        let advised = unsafe {
            let advice = UncheckedAdvice::DontNeed;
            self.0
                .unchecked_advise_range(advice, part.start, part.len())
        };
        advised.unwrap();
    }
}
