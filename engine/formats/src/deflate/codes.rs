//! Tables that decode prefix codes (RFC 1951, section 3.2.2).

use super::Damaged;

const MAX_CODE_BITS: usize = 15;

/// Number of symbols in the largest code: 256 literals, the end of the block, 29 lengths, and two invalid symbols.
pub(super) const MAX_SYMBOLS: usize = 288;

/// Set in every entry that is not a literal. The bits below this flag contain the length of the code.
const NOT_LITERAL: u32 = 1 << 6;
/// Set in the three kinds of entries below. Not set in an entry that is a literal, a length or a distance.
const SPECIAL: u32 = 1 << 7;
/// Marks a code that is longer than the root of the table and continues in a subtable.
const SUBTABLE: u32 = 1 << 31 | SPECIAL | NOT_LITERAL;
const END_OF_BLOCK: u32 = 1 << 30 | SPECIAL | NOT_LITERAL;
/// Marks bits that do not begin any code.
const INVALID: u32 = 1 << 29 | SPECIAL | NOT_LITERAL;

/// An entry of a decoding table, in 32 bits:
///
/// - Bits 0 to 5 contain the length of the code in bits. Bits 6 and 7 are the flags `NOT_LITERAL` and `SPECIAL`.
/// - In the entry of a literal, bits 8 to 15 are the byte.
/// - In the entry of a length or distance, bits 8 to 15 are the number of extra bits. Bits 16 to 31 are the length or
///   distance to which the extra bits are added.
/// - In a pointer to a subtable, bits 8 to 15 are the number of the subtable's index bits. Bits 16 to 26 are the index of
///   the subtable's first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeEntry(u32);

impl CodeEntry {
    /// Returns the length of the code in bits. In a subtable, the bits of the root are not included.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & 63
    }

    #[inline(always)]
    pub fn is_literal(self) -> bool {
        self.0 & NOT_LITERAL == 0
    }

    /// Returns a byte that is zero only for literals with codes of `bits` bits.
    #[inline(always)]
    pub fn difference(self, bits: u32) -> u8 {
        (self.0 ^ bits) as u8
    }

    /// Returns the byte of a literal. In [`LengthCodes`], returns the symbol.
    #[inline(always)]
    pub fn literal(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Returns whether the entry is a pointer to a subtable, the end of the block, or invalid.
    #[inline(always)]
    pub fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    #[inline(always)]
    pub fn is_subtable(self) -> bool {
        self.0 & SUBTABLE == SUBTABLE
    }

    pub fn is_end_of_block(self) -> bool {
        self.0 & END_OF_BLOCK == END_OF_BLOCK
    }

    /// Returns the number of extra bits. In a pointer, returns the number of the subtable's index bits.
    #[inline(always)]
    pub fn extra_bits(self) -> u32 {
        self.0 >> 8 & 15
    }

    /// Returns the length or distance. The lowest bits of `bits` must be its extra bits.
    #[inline(always)]
    pub fn value(self, bits: u64) -> usize {
        (self.0 >> 16) as usize + (bits & ((1 << self.extra_bits()) - 1)) as usize
    }

    /// Creates a pointer to the subtable at `position`. The first `root` bits of a code select this pointer. The next `width`
    /// bits select the entry in the subtable.
    fn pointer(width: usize, position: usize, root: u32) -> CodeEntry {
        CodeEntry((position as u32) << 16 | (width as u32) << 8 | SUBTABLE | root)
    }

    /// Sets the length of the code, which must be 0 before.
    fn with_bits(self, bits: usize) -> CodeEntry {
        CodeEntry(self.0 | bits as u32)
    }
}

/// A table that decodes a prefix code, indexed by the next `ROOT` bits. Subtables for longer codes follow.
#[derive(Debug)]
pub(super) struct Codes<const ROOT: u32, const ENTRIES: usize>(Box<[CodeEntry; ENTRIES]>);

/// The code of literals and lengths: 286 symbols need at most 1,332 entries.
pub(super) type LiteralCodes = Codes<10, 1536>;
/// The code of distances: 30 symbols need at most 402 entries.
pub(super) type DistanceCodes = Codes<8, 512>;
/// The code of code lengths: 19 symbols with codes of at most 7 bits, so there are no subtables.
pub(super) type LengthCodes = Codes<7, 128>;

impl<const ROOT: u32, const ENTRIES: usize> Default for Codes<ROOT, ENTRIES> {
    fn default() -> Self {
        Codes(Box::new([CodeEntry(INVALID); ENTRIES]))
    }
}

impl<const ROOT: u32, const ENTRIES: usize> Codes<ROOT, ENTRIES> {
    /// Returns the entry of the code in the lowest bits of `bits`, or a pointer to a subtable.
    #[inline(always)]
    pub fn entry(&self, bits: u64) -> CodeEntry {
        let index = bits as usize & ((1 << ROOT) - 1);
        self.0.get(index).copied().unwrap_or(CodeEntry(INVALID))
    }

    /// Returns an entry of the subtable at `pointer`. `bits` must begin after the bits of the root.
    #[inline(always)]
    pub fn subtable_entry(&self, pointer: CodeEntry, bits: u64) -> CodeEntry {
        let index = (pointer.0 >> 16 & 0x7ff) as usize;
        let index = index + (bits as usize & ((1 << pointer.extra_bits()) - 1));
        self.0.get(index).copied().unwrap_or(CodeEntry(INVALID))
    }

    /// Builds the decoding table. `lengths` contains the length of each symbol's code, or 0 for a symbol without a code.
    /// `symbols` contains the entry of each symbol.
    ///
    /// Returns `false` if the code is over-subscribed or incomplete. As in zlib, a code without symbols is valid. So is a
    /// code with a single symbol of one bit.
    pub fn build(&mut self, lengths: &[u8], symbols: &[CodeEntry]) -> bool {
        let mut counts = [0_u16; MAX_CODE_BITS + 1];
        for length in lengths {
            if let Some(count) = counts.get_mut(usize::from(*length)) {
                *count += 1;
            }
        }
        let [zero, lengths_used @ ..] = &mut counts;
        *zero = 0;
        // Number of codes of the current length that are still unused. A code that no symbol of this length uses can be
        // the prefix of longer codes.
        let mut left = 1_i32;
        for count in lengths_used.iter() {
            left = 2 * left - i32::from(*count);
            if left < 0 {
                return false;
            }
        }
        if left > 0 {
            return self.build_incomplete(lengths, symbols);
        }
        // For each length, the index in `sorted` of the next symbol with a code of this length.
        let mut positions = [0_u16; MAX_CODE_BITS + 2];
        let mut sum = 0;
        for (position, count) in positions.iter_mut().skip(1).zip(lengths_used.iter()) {
            *position = sum;
            sum += *count;
        }
        let mut sorted = [CodeEntry(INVALID); MAX_SYMBOLS];
        for (length, symbol) in lengths
            .iter()
            .zip(symbols)
            .filter(|(length, _)| **length > 0)
        {
            if let Some(position) = positions.get_mut(usize::from(*length)) {
                if let Some(place) = sorted.get_mut(usize::from(*position)) {
                    *place = *symbol;
                }
                *position += 1;
            }
        }
        self.fill(&counts, &sorted).is_some()
    }

    /// Builds the table of a code without symbols, or with a single symbol of one bit. Returns `false` for other codes.
    fn build_incomplete(&mut self, lengths: &[u8], symbols: &[CodeEntry]) -> bool {
        self.0.fill(CodeEntry(INVALID).with_bits(1));
        if lengths.iter().any(|length| *length > 1) {
            return false;
        }
        let single = lengths.iter().position(|length| *length == 1);
        if let Some(symbol) = single.and_then(|single| symbols.get(single)) {
            for entry in self.0.iter_mut().step_by(2) {
                *entry = symbol.with_bits(1);
            }
        }
        true
    }

    /// Writes the entries of a complete code. Returns `None` if the code is incomplete.
    ///
    /// `counts` contains the number of codes of each length. `sorted` contains the entries in ascending order of code
    /// length.
    ///
    /// The index of an entry is its code with the bits in reverse order. Before codes with one more bit are written, the
    /// root table is doubled: a copy of all entries is appended.
    fn fill(&mut self, counts: &[u16], sorted: &[CodeEntry]) -> Option<()> {
        let root = ROOT as usize;
        let mut symbols = sorted.iter();
        let (mut code, mut end) = (0_usize, 1_usize);
        // For the current subtable: the index of its pointer in the root table, its first index and its end.
        let mut subtable = (usize::MAX, 0, 0);
        for (bits, count) in counts.iter().enumerate().skip(1) {
            if bits <= root {
                self.0.copy_within(..end, end);
                end *= 2;
            }
            for remaining in (1..=usize::from(*count)).rev() {
                let symbol = symbols.next()?;
                if bits <= root {
                    *self.0.get_mut(code)? = symbol.with_bits(bits);
                } else {
                    let (prefix, high) = (code & ((1 << root) - 1), code >> root);
                    if prefix != subtable.0 {
                        let width = subtable_width(counts.get(bits..)?, remaining, bits - root)?;
                        subtable = (prefix, end, end + (1 << width));
                        *self.0.get_mut(prefix)? = CodeEntry::pointer(width, end, ROOT);
                        end = subtable.2;
                    }
                    let entry = symbol.with_bits(bits - root);
                    let places = self.0.get_mut(subtable.1 + high..subtable.2)?;
                    for place in places.iter_mut().step_by(1 << (bits - root)) {
                        *place = entry;
                    }
                }
                let last = (1 << bits) - 1;
                // The last code of a complete code consists of ones. If it is shorter than the index of the root table, copies
                // fill the rest of this table.
                if code == last {
                    while end < 1 << root {
                        self.0.copy_within(..end, end);
                        end *= 2;
                    }
                    return Some(());
                }
                // Adds one to the code, whose bits are reversed.
                let bit = 1 << (code ^ last).ilog2();
                code = code & (bit - 1) | bit;
            }
        }
        None
    }
}

impl LengthCodes {
    /// Builds the table from `lengths`, the lengths of the codes of all 19 symbols. As in zlib, a code without symbols is
    /// valid. In this case, every bit means the code length 0.
    pub fn build_lengths(&mut self, lengths: &[u8]) -> Result<(), Damaged> {
        let is_empty = lengths.iter().all(|length| *length == 0);
        let is_valid = self.build(lengths, &CODE_LENGTHS);
        let [first, ..] = CODE_LENGTHS;
        if is_empty {
            self.0.fill(first.with_bits(1));
        }
        let is_complete = self.0.iter().all(|entry| entry.is_literal());
        match is_valid && is_complete {
            true => Ok(()),
            false => Err(Damaged("invalid code lengths set")),
        }
    }
}

/// Returns the number of index bits of a new subtable, or `None` if the code is incomplete.
///
/// The first code of the subtable is `width` bits longer than the index of the root table. `counts` begins with the number
/// of codes that have the length of this first code. `remaining` of these codes are not in the table yet.
fn subtable_width(counts: &[u16], remaining: usize, width: usize) -> Option<usize> {
    let mut used = remaining;
    let mut bits = width;
    for count in counts.get(1..)? {
        if used >= 1 << bits {
            break;
        }
        used = 2 * used + usize::from(*count);
        bits += 1;
    }
    (used >= 1 << bits).then_some(bits)
}

/// Returns the entry of a symbol that means the length or distance `smallest` plus an integer of `extra_bits` bits.
const fn value(smallest: u16, extra_bits: u8) -> CodeEntry {
    CodeEntry((smallest as u32) << 16 | (extra_bits as u32) << 8 | NOT_LITERAL)
}

/// The entries of the literals, the end of the block, and the lengths (RFC 1951, section 3.2.5).
pub(super) static LITERALS_AND_LENGTHS: [CodeEntry; MAX_SYMBOLS] = {
    let mut entries = [CodeEntry(INVALID); MAX_SYMBOLS];
    let mut symbol = 0;
    while symbol < 256 {
        entries[symbol] = CodeEntry((symbol as u32) << 8);
        symbol += 1;
    }
    entries[256] = CodeEntry(END_OF_BLOCK);
    let mut smallest = 3;
    symbol = 257;
    while symbol < 285 {
        let extra_bits = if symbol < 265 {
            0
        } else {
            (symbol - 261) as u8 / 4
        };
        entries[symbol] = value(smallest, extra_bits);
        smallest += 1 << extra_bits;
        symbol += 1;
    }
    entries[285] = value(258, 0);
    entries
};

/// The entries of the distances (RFC 1951, section 3.2.5).
pub(super) static DISTANCES: [CodeEntry; 32] = {
    let mut entries = [CodeEntry(INVALID); 32];
    let (mut symbol, mut smallest) = (0, 1);
    while symbol < 30 {
        let extra_bits = if symbol < 4 {
            0
        } else {
            (symbol as u8 - 2) / 2
        };
        entries[symbol] = value(smallest, extra_bits);
        smallest += 1 << extra_bits;
        symbol += 1;
    }
    entries
};

/// The entries of the symbols in the code of code lengths.
const CODE_LENGTHS: [CodeEntry; 19] = {
    let mut entries = [CodeEntry(0); 19];
    let mut symbol = 0;
    while symbol < 19 {
        entries[symbol] = CodeEntry((symbol as u32) << 8);
        symbol += 1;
    }
    entries
};
