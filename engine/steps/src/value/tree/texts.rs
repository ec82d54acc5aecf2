//! A column of texts, each encoded relative to the previous one.

use std::io::{self, Read, Write};

use super::columns::{ColumnReader, ColumnWriter};
use crate::value::compact::{MAX_TEXT_BYTES, shared_start};

/// Texts. Each is stored as the lengths of the prefix and the suffix that it shares with the previous text, and the
/// bytes between them, its *middle*. The middle of `a/b/2.png` after `a/b/1.png` is `2`. Middles are mostly digits, which zstd compresses to half a byte
/// each.
#[derive(Default)]
pub(super) struct TextColumn {
    starts: Vec<u64>,
    ends: Vec<u64>,
    lengths: Vec<u64>,
    between: Vec<u8>,
    /// Number of texts that have been taken, and the total length of their middles in bytes.
    taken: (usize, usize),
    before: Vec<u8>,
    spare: Vec<u8>,
}

impl TextColumn {
    pub fn push(&mut self, now: &[u8]) {
        let before = &mut self.before;
        let start = shared_start(before, now);
        let (of_before, rest) = (before.get(start..), now.get(start..));
        let (of_before, rest) = (of_before.unwrap_or_default(), rest.unwrap_or_default());
        let end = shared_end(of_before, rest);
        let between = rest.get(..rest.len() - end).unwrap_or_default();
        self.starts.push(start as u64);
        self.ends.push(end as u64);
        self.lengths.push(between.len() as u64);
        self.between.extend_from_slice(between);
        before.truncate(start);
        before.extend_from_slice(rest);
    }

    /// Writes all texts and clears them, except for the last one.
    pub fn write(&mut self, packer: &mut ColumnWriter, out: &mut impl Write) -> io::Result<()> {
        packer.numbers(out, &self.starts)?;
        packer.numbers(out, &self.ends)?;
        packer.numbers(out, &self.lengths)?;
        packer.bytes(out, &self.between)?;
        self.starts.clear();
        self.ends.clear();
        self.lengths.clear();
        self.between.clear();
        Ok(())
    }

    /// Reads `count` texts. It is an error if the total length of their middles exceeds `max_bytes`.
    pub fn read(
        &mut self,
        input: &mut ColumnReader<impl Read>,
        count: usize,
        max_bytes: usize,
    ) -> io::Result<()> {
        input.numbers(count, &mut self.starts)?;
        input.numbers(count, &mut self.ends)?;
        input.numbers(count, &mut self.lengths)?;
        let lengths = self.lengths.iter();
        let between = lengths.fold(0_u64, |sum, length| sum.saturating_add(*length));
        let between = usize::try_from(between).unwrap_or(usize::MAX);
        if between > max_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.taken = (0, 0);
        input.bytes(between, &mut self.between)
    }

    /// The next text. `None` if it is invalid.
    pub fn take(&mut self) -> Option<&[u8]> {
        let (text, from) = self.taken;
        let number = |column: &[u64]| usize::try_from(*column.get(text)?).ok();
        let (start, end) = (number(&self.starts)?, number(&self.ends)?);
        let to = from + number(&self.lengths)?;
        self.taken = (text + 1, to);
        let all = self.before.len();
        if (start, to) == (all, from) {
            return Some(&self.before);
        }
        let end = all.checked_sub(end).filter(|end| *end >= start)?;
        self.spare.clear();
        self.spare.extend_from_slice(self.before.get(..start)?);
        self.spare.extend_from_slice(self.between.get(from..to)?);
        self.spare.extend_from_slice(self.before.get(end..)?);
        std::mem::swap(&mut self.before, &mut self.spare);
        (self.before.len() <= MAX_TEXT_BYTES).then_some(&self.before)
    }
}

/// Length of the common suffix.
pub(super) fn shared_end(mut a: &[u8], mut b: &[u8]) -> usize {
    let mut shared = 0;
    while let (Some((before, last)), Some((before_other, other))) =
        (a.split_last_chunk(), b.split_last_chunk())
    {
        let differing = u64::from_le_bytes(*last) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return shared + differing.leading_zeros() as usize / 8;
        }
        shared += 8;
        (a, b) = (before, before_other);
    }
    let pairs = a.iter().rev().zip(b.iter().rev());
    shared + pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shared_prefixes_are_found(a in "[ab]{0,3}", b in "[ab]{0,3}", same in "[ab]{0,40}") {
            let start = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            let reversed = |text: &str| text.chars().rev().collect::<String>();
            let (x, y) = (format!("{same}{a}"), format!("{same}{b}"));
            prop_assert_eq!(shared_start(x.as_bytes(), y.as_bytes()), start(&x, &y));
            let (x, y) = (format!("{a}{same}"), format!("{b}{same}"));
            prop_assert_eq!(shared_end(x.as_bytes(), y.as_bytes()), start(&reversed(&x), &reversed(&y)));
        }
    }
}
