//! Writes the part of Thrift's compact protocol that Parquet uses.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes a structure. Fields must be written in ascending order of their ids.
pub(super) struct Struct<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl<'a> Struct<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    fn field(&mut self, id: u8, kind: u8) {
        self.out.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    pub(super) fn i32(&mut self, id: u8, value: i32) {
        self.field(id, I32);
        push_varint(self.out, zigzag(i64::from(value)));
    }

    pub(super) fn i64(&mut self, id: u8, value: u64) {
        self.field(id, I64);
        push_varint(self.out, zigzag(value.cast_signed()));
    }

    pub(super) fn binary(&mut self, id: u8, value: &[u8]) {
        self.field(id, BINARY);
        push_binary(self.out, value);
    }

    /// Writes a structure as a field.
    pub(super) fn inner(&mut self, id: u8, write: impl FnOnce(&mut Struct<'_>)) {
        self.field(id, STRUCT);
        let mut inner = Struct::new(self.out);
        write(&mut inner);
        inner.end();
    }

    pub(super) fn i32_list(&mut self, id: u8, values: &[i32]) {
        self.list(id, values.len(), I32);
        for value in values {
            push_varint(self.out, zigzag(i64::from(*value)));
        }
    }

    pub(super) fn binary_list(&mut self, id: u8, values: &[&[u8]]) {
        self.list(id, values.len(), BINARY);
        for value in values {
            push_binary(self.out, value);
        }
    }

    pub(super) fn struct_list<T>(
        &mut self,
        id: u8,
        items: &[T],
        mut write: impl FnMut(&mut Struct<'_>, &T),
    ) {
        self.list(id, items.len(), STRUCT);
        for item in items {
            let mut inner = Struct::new(self.out);
            write(&mut inner, item);
            inner.end();
        }
    }

    /// Writes the head of a list. As in fastparquet, an empty list has no element type.
    fn list(&mut self, id: u8, length: usize, kind: u8) {
        self.field(id, LIST);
        match length {
            0 => self.out.push(0),
            1..=14 => self.out.push((length as u8) << 4 | kind),
            _ => {
                self.out.push(0xf0 | kind);
                push_varint(self.out, length as u64);
            }
        }
    }

    pub(super) fn end(self) {
        self.out.push(0);
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(super) fn push_binary(out: &mut Vec<u8>, value: &[u8]) {
    push_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

pub(super) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
