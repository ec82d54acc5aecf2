//! The cells of a column, stored in one text: a column of short cells takes little more memory than its text.

/// A list of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cells {
    text: String,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
}

impl Cells {
    pub(crate) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Adds empty cells until there are this many cells.
    pub(crate) fn fill_up_to(&mut self, cells: usize) {
        self.ends
            .resize(cells.max(self.ends.len()), self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let begin = match row.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(begin..end)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let begin = std::mem::replace(&mut begin, *end);
            self.text.get(begin..*end).unwrap_or_default()
        })
    }

    /// Returns the length of all texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the cells of these rows.
    pub(crate) fn of_rows(&self, is_kept: &[bool]) -> Cells {
        let cells = self.iter().zip(is_kept);
        let mut kept: Cells = cells
            .filter(|(_, kept)| **kept)
            .map(|(cell, _)| cell)
            .collect();
        kept.shrink_to_fit();
        kept
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<S: AsRef<str>> FromIterator<S> for Cells {
    fn from_iter<I: IntoIterator<Item = S>>(cells: I) -> Cells {
        let mut all = Cells::default();
        for cell in cells {
            all.push(cell.as_ref());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_that_were_added() {
        let texts = ["", "a", "", "h\u{e9}", "b c"];
        let cells: Cells = texts.iter().collect();
        assert_eq!((cells.len(), cells.iter().len()), (5, 5));
        assert_eq!(cells.iter().collect::<Vec<_>>(), texts);
        let by_row = (0..6).map(|row| cells.get(row));
        assert!(by_row.eq(texts.iter().map(|text| Some(*text)).chain([None])));
        assert_eq!(cells.bytes(), 7);
        let some = cells.of_rows(&[true, false, false, true, true]);
        assert_eq!(some.iter().collect::<Vec<_>>(), ["", "h\u{e9}", "b c"]);
    }
}
