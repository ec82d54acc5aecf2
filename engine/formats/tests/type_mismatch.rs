//! Finds the cell that prevents a column from having its declared type.

use prep_formats::pandas::{ColumnType, ReadOptions, first_type_mismatch};

/// Finds the first cell whose type is not in `fits`. Returns its row, its offset, its content, and whether it is
/// missing.
fn find(text: &str, column: &str, fits: &[ColumnType]) -> Option<(u64, u64, String, bool)> {
    let options = ReadOptions::default();
    let found = first_type_mismatch(text.as_bytes(), &options, column, |kind| {
        fits.contains(&kind)
    });
    let found = found.unwrap()?;
    Some((found.row, found.offset, found.cell, found.missing))
}

#[test]
fn first_cell_of_a_different_type_is_found() {
    let integers = [ColumnType::Int64, ColumnType::UInt64];
    let cell = |row, offset, cell: &str, missing| Some((row, offset, cell.to_owned(), missing));
    for (text, column, fits, expected) in [
        (
            "a,b\n1,2\nx,3\ny,4\n",
            "a",
            &integers[..],
            cell(2, 8, "x", false),
        ),
        ("a,b\n1,2\n2,3\n3,\n", "b", &integers, cell(3, 12, "", true)),
        ("a,b\n1,NaN\n", "b", &integers, cell(1, 4, "NaN", true)),
        ("a\n1\n1.5\n", "a", &integers, cell(2, 4, "1.5", false)),
        ("a\n1\n\n\n1.5\n", "a", &integers, cell(2, 6, "1.5", false)),
        (
            "a\nTrue\n\"yes, it is\"\n",
            "a",
            &[ColumnType::Bool],
            cell(2, 7, "yes, it is", false),
        ),
        // A repeated name gets a number as suffix. An unnamed column precedes the others.
        ("a,a\n1,x\n", "a.1", &integers, cell(1, 4, "x", false)),
        ("a,b\n0,1,x\n", "b", &integers, cell(1, 4, "x", false)),
        // Each cell alone is an integer, but no integer type can represent both cells.
        ("a\n-1\n18446744073709551615\n", "a", &integers, None),
        ("a\nx\n", "b", &integers, None),
        ("", "a", &integers, None),
    ] {
        assert_eq!(find(text, column, fits), expected, "{text:?}");
    }
}

#[test]
fn cell_is_found_after_many_chunks() {
    let mut text = "id,n\n".to_owned();
    for row in 0..100_000 {
        text.push_str(&format!("{row},{}\n", row * 7));
    }
    let offset = text.len() as u64;
    text.push_str("x,1\n");
    let found = find(&text, "id", &[ColumnType::Int64]);
    assert_eq!(found, Some((100_001, offset, "x".to_owned(), false)));
}
