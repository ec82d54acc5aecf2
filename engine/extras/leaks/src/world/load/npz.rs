//! Reads the arrays of an `.npz` file as a table: NumPy stores ids and labels as arrays of the same length.

use std::collections::BTreeMap;

use prep_contents::table::npy::ArrayFile;
use prep_contents::{DecodingLimits, Row, TableReader as _};

use crate::cells::Cells;
use crate::table::Table;
use crate::world::PublicArray;

/// Maximum number of arrays of a file.
const MAX_COLUMNS: usize = 100;

/// Returns the path and the table of each file that has several arrays with one value per row. Larger tables than `room`
/// bytes are skipped.
pub(super) fn tables(
    arrays: &[PublicArray],
    limits: &DecodingLimits,
    room: u64,
) -> Vec<(String, Table)> {
    let mut files: BTreeMap<&str, Vec<(&str, &PublicArray)>> = BTreeMap::new();
    for array in arrays {
        let parts = array.path.rsplit_once('/');
        let Some((file, name)) = parts.filter(|(file, _)| file.ends_with(".npz")) else {
            continue;
        };
        let name = name.strip_suffix(".npy").unwrap_or(name);
        files.entry(file).or_default().push((name, array));
    }
    let mut found = Vec::new();
    for (path, arrays) in files {
        let arrays = arrays.into_iter().take(MAX_COLUMNS);
        let columns = arrays.filter_map(|(name, array)| Some((name, column(array, limits, room)?)));
        // The arrays with the length of the first one are the columns.
        let columns: Vec<(&str, Cells)> = columns.collect();
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        let (names, cells): (Vec<String>, Vec<Cells>) = columns
            .into_iter()
            .filter(|(_, cells)| cells.len() == rows)
            .map(|(name, cells)| (name.to_owned(), cells))
            .unzip();
        let table = Table::new(names, cells);
        if table.names.len() > 1 && rows > 0 && table.memory() <= room {
            found.push((path.to_owned(), table));
        }
    }
    found
}

/// Returns the values of an array with one value per row.
fn column(array: &PublicArray, limits: &DecodingLimits, room: u64) -> Option<Cells> {
    let file = ArrayFile::open(&array.place, limits).ok()?;
    if file.columns().len() != 1 || file.header().data_bytes() > room {
        return None;
    }
    let (mut rows, mut row, mut cells) = (file.rows().ok()?, Row::default(), Cells::default());
    while rows.next(&mut row).ok()? {
        cells.push(&String::from_utf8_lossy(row.cell(0)));
    }
    Some(cells)
}
