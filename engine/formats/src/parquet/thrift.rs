//! Walks through Thrift's compact protocol, without recursion that the bytes control.
//!
//! The parquet crate reads known fields with the type that the format defines and ignores the type in the file. If the
//! two differ, the crate would find a different end of the field than this module. So a difference is an error, and both
//! see the same numbers. Structures that the crate skips may nest 64 deep there, and a list of booleans takes no bytes
//! there, whatever its declared length. Both are errors here.

/// The type of a field according to the format.
pub(super) enum FieldKind {
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List(&'static FieldKind),
    /// The fields, numbered from 1.
    Structure(&'static [FieldKind]),
    /// A field that the format does not define. The crate skips it, by the type in the file.
    Undefined,
}

/// Maximum depth of structures and lists in each other. The format has nine levels.
const MAX_NESTING: usize = 16;

/// Receives the content. `path` contains the numbers of the fields from the root. An element of a list has the path of
/// the list. The walk ends if a method returns `None`.
pub(super) trait Visitor {
    fn integer(&mut self, _path: &[usize], _value: i64) -> Option<()> {
        Some(())
    }

    /// A text of this number of bytes.
    fn binary(&mut self, _path: &[usize], _bytes: usize) -> Option<()> {
        Some(())
    }

    /// The end of a structure.
    fn end(&mut self, _path: &[usize]) -> Option<()> {
        Some(())
    }
}

/// Walks through the structure at the beginning of `bytes`, which has the fields `kinds`. Returns its length in bytes,
/// or `None` if it is cut off, has unexpected content, or the visitor ended the walk.
pub(super) fn walk(
    bytes: &[u8],
    kinds: &'static [FieldKind],
    visitor: &mut impl Visitor,
) -> Option<usize> {
    let mut walk = Walk {
        rest: bytes,
        path: Vec::new(),
        nesting: 0,
        visitor,
    };
    walk.structure(kinds)?;
    Some(bytes.len() - walk.rest.len())
}

struct Walk<'a, V> {
    rest: &'a [u8],
    path: Vec<usize>,
    nesting: usize,
    visitor: &'a mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn structure(&mut self, kinds: &'static [FieldKind]) -> Option<()> {
        let mut field = 0_usize;
        loop {
            let (step, wire) = match self.byte()? {
                byte if byte & 0x0f == 0 => break,
                byte => (byte >> 4, byte & 0x0f),
            };
            let next = match step {
                0 => usize::from(u16::try_from(self.zigzag()?).ok()?),
                step => field + usize::from(step),
            };
            // A field that repeats an earlier one would replace its value in the crate.
            if next <= field {
                return None;
            }
            field = next;
            let kind = kinds.get(field - 1).unwrap_or(&FieldKind::Undefined);
            self.path.push(field);
            if !matches!(wire, 1 | 2) {
                self.value(kind, wire)?;
            } else if !matches!(kind, FieldKind::Boolean | FieldKind::Undefined) {
                return None;
            }
            self.path.pop();
        }
        self.visitor.end(&self.path)
    }

    /// Walks through a value of the type `wire` in the file, other than a boolean.
    fn value(&mut self, kind: &'static FieldKind, wire: u8) -> Option<()> {
        use FieldKind::{Binary, Byte, Double, Integer, List, Structure, Undefined};
        match (kind, wire) {
            (Byte | Undefined, 3) => self.skip(1),
            (Integer | Undefined, 4..=6) => {
                let value = self.zigzag()?;
                self.visitor.integer(&self.path, value)
            }
            (Double | Undefined, 7) => self.skip(8),
            (Binary | Undefined, 8) => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.skip(length)?;
                self.visitor.binary(&self.path, length)
            }
            (List(inner), 9) => self.nested(|walk| walk.list(inner)),
            (Undefined, 9) => self.nested(|walk| walk.list(&Undefined)),
            (Structure(inner), 12) => self.nested(|walk| walk.structure(inner)),
            (Undefined, 12) => self.nested(|walk| walk.structure(&[])),
            _ => None,
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        inner(self)?;
        self.nesting -= 1;
        Some(())
    }

    fn list(&mut self, inner: &'static FieldKind) -> Option<()> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            length => usize::from(length),
        };
        // Each element takes a byte or more.
        if length > self.rest.len() {
            return None;
        }
        (0..length).try_for_each(|_| self.value(inner, header & 0x0f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_and_lists_that_take_no_bytes_are_errors() {
        struct Ignored;
        impl Visitor for Ignored {}
        let parsed = |bytes: &[u8]| walk(bytes, &[FieldKind::Integer], &mut Ignored);
        let nested =
            |header: u8, levels: usize| [vec![header; levels], vec![0; levels + 1]].concat();
        assert_eq!(parsed(&nested(0x2c, 16)), Some(33));
        assert_eq!(parsed(&nested(0x2c, 17)), None);
        assert_eq!(parsed(&nested(0x2c, 1 << 20)), None);
        // A list of a list of lists.
        assert_eq!(
            parsed(&[[0x29].as_slice(), &[0x19; 1 << 20]].concat()),
            None
        );
        for (why, bytes, expected) in [
            ("a list of two bytes", &[0x29, 0x23, 1, 2, 0][..], Some(5)),
            ("the list is cut off", &[0x29, 0x23, 1], None),
            (
                "2^31 - 1 booleans",
                &[0x29, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0],
                None,
            ),
            ("a boolean", &[0x29, 0x11, 1, 0], None),
            ("an empty list", &[0x29, 0, 0], Some(3)),
            ("a field with its number", &[0x05, 2, 4, 0], Some(4)),
            (
                "the number of an earlier field",
                &[0x25, 4, 0x05, 2, 4, 0],
                None,
            ),
            ("a negative number", &[0x05, 1, 4, 0], None),
            ("a boolean instead of an integer", &[0x11, 0], None),
            (
                "a number of eleven bytes",
                &[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
                None,
            ),
        ] {
            assert_eq!(parsed(bytes), expected, "{why}");
        }
    }
}
