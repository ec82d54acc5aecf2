//! Writes the texts of a query's first column, one per line. A second column states which lines end with a line feed.

use std::io::Write;

use prep_core::{FileValue, StepError, Value};

use super::cells::{Cell, ResultLayout};
use crate::relation::QueryRun;

/// Approximate size in bytes of a write to the cache.
const WRITE_BYTES: usize = 1 << 18;

/// Writes the rows of a query as lines. Each line ends with LF unless the second column is false. A missing text is an
/// empty line.
pub(crate) fn write_lines(run: QueryRun<'_>) -> Result<Value, StepError> {
    let (mut rows, mut layout) = ResultLayout::start(run)?;
    let mut out = run.context.store.writer()?;
    let mut buffer = Vec::with_capacity(WRITE_BYTES);
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        layout.for_each_row(&batch, |row| {
            count += 1;
            let (line, ended) = match row.cells {
                [line] => (line, true),
                [line, ended] => (line, !is_false(ended)),
                _ => {
                    return Err(StepError::pipeline(
                        "a query for lines must return one or two columns",
                    ));
                }
            };
            push_line(&mut buffer, line, count)?;
            if ended {
                buffer.push(b'\n');
            }
            if buffer.len() >= WRITE_BYTES {
                out.write_all(&buffer).map_err(StepError::machine)?;
                buffer.clear();
            }
            Ok(())
        })?;
    }
    out.write_all(&buffer).map_err(StepError::machine)?;
    let stored = out.commit()?;
    Ok(FileValue::table(stored, count, Vec::new()).into_value())
}

fn is_false(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Bool(value) => !value,
        Cell::Slice(text, _) => *text == b"False",
        _ => false,
    }
}

/// Appends a line without its line ending. `number` is the number of the line, from 1.
fn push_line(buffer: &mut Vec<u8>, cell: &Cell<'_>, number: u64) -> Result<(), StepError> {
    if let Some(text) = cell.text() {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(StepError::input(format!(
                "line {number} contains a line break"
            )));
        }
        buffer.extend_from_slice(&text);
    } else if *cell != Cell::Missing && !matches!(cell, Cell::Slice(..)) {
        return Err(StepError::pipeline(
            "lines must be texts; CAST the column to VARCHAR",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prep_formats::pandas::ColumnType;

    use super::*;

    fn line(cell: Cell<'_>) -> Result<String, String> {
        let mut buffer = Vec::new();
        push_line(&mut buffer, &cell, 7).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(buffer).expect("UTF-8"))
    }

    #[test]
    fn each_line_is_the_text_of_a_cell() {
        let copied = |cell| line(Cell::Slice(cell, ColumnType::Text));
        assert_eq!(line(Cell::Text("3, 9,")).as_deref(), Ok("3, 9,"));
        assert_eq!(copied(b"\"a \"\"b\"\"\"").as_deref(), Ok("a \"b\""));
        assert_eq!(copied(b"").as_deref(), Ok(""));
        assert_eq!(copied(b"\"\"").as_deref(), Ok(""));
        assert_eq!(line(Cell::Missing).as_deref(), Ok(""));
    }

    #[test]
    fn only_false_omits_the_last_line_break() {
        assert!(is_false(&Cell::Bool(false)));
        assert!(is_false(&Cell::Slice(b"False", ColumnType::Bool)));
        for cell in [
            Cell::Bool(true),
            Cell::Slice(b"True", ColumnType::Bool),
            Cell::Missing,
        ] {
            assert!(!is_false(&cell));
        }
    }

    #[test]
    fn line_breaks_and_numbers_are_rejected() {
        for text in ["a\nb", "a\r"] {
            let error = line(Cell::Text(text)).unwrap_err();
            assert!(error.contains("line 7 contains a line break"), "{error}");
        }
        assert!(line(Cell::Integer(3)).is_err());
    }
}
