//! The texts of a query's only column, one per line.

use std::io::Write;

use prep_core::{Context, FileValue, Inputs, StepError};
use prep_spec::model::Query;
use prep_sql::Session;

use super::cells::{Cell, Layout};
use crate::relation::{Running, Wanted, open_tables};

/// Text is handed to the store in pieces of about this size.
const PIECE: usize = 1 << 18;

/// Writes the rows of a query as lines, each ended by LF; a missing text is an empty line.
pub(crate) fn write_lines(
    session: &Session,
    query: &Query,
    context: &Context,
    inputs: &Inputs,
) -> Result<FileValue, StepError> {
    let tables = open_tables(context, inputs)?;
    let mut rows = Running::start(session, query, context, inputs, &tables, Wanted::Cells)?;
    let mut layout = Layout::new(rows.columns(), &tables)?;
    let mut out = context.store.writer()?;
    let mut piece = Vec::with_capacity(PIECE);
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        layout.for_each_row(&batch, |cells| {
            count += 1;
            let [cell] = cells else {
                return Err(StepError::pipeline("lines are made of one column"));
            };
            push_line(&mut piece, cell, count)?;
            if piece.len() >= PIECE {
                out.write_all(&piece).map_err(StepError::machine)?;
                piece.clear();
            }
            Ok(())
        })?;
    }
    out.write_all(&piece).map_err(StepError::machine)?;
    let stored = out.commit()?;
    Ok(FileValue::table(stored, count, Vec::new()))
}

/// Appends a line and its end. `number` counts from 1.
fn push_line(piece: &mut Vec<u8>, cell: &Cell<'_>, number: u64) -> Result<(), StepError> {
    if let Some(text) = cell.text() {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(StepError::input(format!(
                "line {number} has a line break in it"
            )));
        }
        piece.extend_from_slice(&text);
    } else if *cell != Cell::Missing && !matches!(cell, Cell::Slice(..)) {
        return Err(StepError::pipeline(
            "lines are texts: CAST the column to VARCHAR",
        ));
    }
    piece.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use prep_formats::pandas::ColumnType;

    use super::*;

    fn line(cell: Cell<'_>) -> Result<String, String> {
        let mut piece = Vec::new();
        push_line(&mut piece, &cell, 7).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(piece).expect("UTF-8"))
    }

    #[test]
    fn a_line_is_the_text_of_a_cell() {
        let copied = |cell| line(Cell::Slice(cell, ColumnType::Text));
        assert_eq!(line(Cell::Text("3, 9,")).as_deref(), Ok("3, 9,\n"));
        assert_eq!(copied(b"\"a \"\"b\"\"\"").as_deref(), Ok("a \"b\"\n"));
        assert_eq!(copied(b"").as_deref(), Ok("\n"));
        assert_eq!(copied(b"\"\"").as_deref(), Ok("\n"));
        assert_eq!(line(Cell::Missing).as_deref(), Ok("\n"));
    }

    #[test]
    fn a_line_break_or_a_number_is_refused() {
        for text in ["a\nb", "a\r"] {
            let error = line(Cell::Text(text)).unwrap_err();
            assert!(error.contains("line 7 has a line break"), "{error}");
        }
        assert!(line(Cell::Integer(3)).is_err());
    }
}
