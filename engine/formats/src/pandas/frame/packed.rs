//! Stores numbers in the narrowest sufficient type, block by block: twenty million small integers take twenty
//! megabytes.

/// Number of values in a block.
const BLOCK_NUMBERS: usize = 1 << 16;

/// A type of numbers that can be stored in narrower types.
pub trait PackedNumber: Copy + PartialEq + std::fmt::Debug {
    /// A block of numbers.
    type Block: Clone;

    /// Packs a block.
    fn pack(block: &[Self]) -> Self::Block;

    /// Returns the number at an index of a block.
    fn unpack(block: &Self::Block, at: usize) -> Option<Self>;
}

/// A list of numbers that is packed in blocks.
#[derive(Clone)]
pub struct PackedNumbers<T: PackedNumber> {
    full: Vec<T::Block>,
    /// The last numbers, which do not fill a block yet.
    open: Vec<T>,
}

impl<T: PackedNumber> PackedNumbers<T> {
    /// Reserves memory for `count` numbers, but for at most one unpacked block.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        PackedNumbers {
            full: Vec::with_capacity(count / BLOCK_NUMBERS),
            open: Vec::with_capacity(count.min(BLOCK_NUMBERS)),
        }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full.len() * BLOCK_NUMBERS + self.open.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a number.
    pub fn push(&mut self, value: T) {
        self.open.push(value);
        if self.open.len() == BLOCK_NUMBERS {
            self.full.push(T::pack(&self.open));
            self.open.clear();
        }
    }

    /// Returns the number at an index.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<T> {
        match self.full.get(at / BLOCK_NUMBERS) {
            Some(block) => T::unpack(block, at % BLOCK_NUMBERS),
            None => self.open.get(at - self.full.len() * BLOCK_NUMBERS).copied(),
        }
    }

    /// Iterates over the numbers.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl<T: PackedNumber> FromIterator<T> for PackedNumbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values = values.into_iter();
        let mut packed = PackedNumbers::with_capacity(values.size_hint().0);
        values.for_each(|value| packed.push(value));
        packed
    }
}

impl<T: PackedNumber> PartialEq for PackedNumbers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: PackedNumber> std::fmt::Debug for PackedNumbers<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A block of integers in the narrowest type that can represent all of them.
#[derive(Clone)]
pub enum Integers {
    /// One byte per integer.
    One(Vec<i8>),
    /// Two bytes per integer.
    Two(Vec<i16>),
    /// Four bytes per integer.
    Four(Vec<i32>),
    /// Eight bytes per integer.
    Eight(Vec<i64>),
}

impl PackedNumber for i64 {
    type Block = Integers;

    fn pack(block: &[i64]) -> Integers {
        fn all<T: TryFrom<i64>>(block: &[i64]) -> Option<Vec<T>> {
            block.iter().map(|value| T::try_from(*value).ok()).collect()
        }
        let narrow = || all(block).map(Integers::One);
        let narrow = narrow().or_else(|| all(block).map(Integers::Two));
        let narrow = narrow.or_else(|| all(block).map(Integers::Four));
        narrow.unwrap_or_else(|| Integers::Eight(block.to_vec()))
    }

    fn unpack(block: &Integers, at: usize) -> Option<i64> {
        match block {
            Integers::One(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Two(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Four(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Eight(values) => values.get(at).copied(),
        }
    }
}

/// A block of doubles, in single precision if that preserves every value.
#[derive(Clone)]
pub enum Doubles {
    /// Four bytes per double.
    Four(Vec<f32>),
    /// Eight bytes per double.
    Eight(Vec<f64>),
}

impl PackedNumber for f64 {
    type Block = Doubles;

    fn pack(block: &[f64]) -> Doubles {
        let narrow = |value: &f64| {
            let narrow = *value as f32;
            let is_same = f64::from(narrow).to_bits() == value.to_bits();
            (is_same || value.is_nan()).then_some(narrow)
        };
        let all = block.iter().map(narrow).collect::<Option<Vec<f32>>>();
        all.map_or_else(|| Doubles::Eight(block.to_vec()), Doubles::Four)
    }

    fn unpack(block: &Doubles, at: usize) -> Option<f64> {
        match block {
            Doubles::Four(values) => values.get(at).map(|value| f64::from(*value)),
            Doubles::Eight(values) => values.get(at).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_round_trip() {
        let edges = [
            0,
            127,
            -128,
            128,
            -32768,
            32767,
            32768,
            i64::from(i32::MIN),
            i64::MAX,
        ];
        let count = BLOCK_NUMBERS * edges.len() + 5;
        let value = |at: usize| match at % 1000 {
            // Each block has a different extreme value.
            999 => edges[at / BLOCK_NUMBERS % edges.len()],
            _ => (at % 100) as i64,
        };
        let packed: PackedNumbers<i64> = (0..count).map(value).collect();
        assert_eq!(packed.len(), count);
        assert!((0..count).all(|at| packed.get(at) == Some(value(at))));
        assert!(packed.iter().eq((0..count).map(value)));
        assert_eq!((packed.get(count), packed.get(usize::MAX)), (None, None));
        assert!(matches!(packed.full[0], Integers::One(_)));
        assert!(matches!(packed.full[3], Integers::Two(_)));
        assert!(matches!(packed.full[6], Integers::Four(_)));
        assert!(matches!(packed.full[8], Integers::Eight(_)));
    }

    #[test]
    fn doubles_round_trip_bit_by_bit() {
        let narrow = [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, 16_777_216.0];
        let wide = [0.1, 1e300, f64::MIN_POSITIVE, 16_777_217.0, -1e-320];
        for edge in narrow.into_iter().chain(wide) {
            let value = |at: usize| if at == 7 { edge } else { at as f64 };
            let packed: PackedNumbers<f64> = (0..BLOCK_NUMBERS + 3).map(value).collect();
            let back = packed.get(7).unwrap();
            assert!(back.to_bits() == edge.to_bits() || edge.is_nan() && back.is_nan());
            assert!((8..BLOCK_NUMBERS + 3).all(|at| packed.get(at) == Some(at as f64)));
            let is_narrow = matches!(packed.full[0], Doubles::Four(_));
            assert_eq!(
                is_narrow,
                narrow.iter().any(|one| one.to_bits() == edge.to_bits())
            );
        }
    }
}
