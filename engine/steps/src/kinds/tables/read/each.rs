//! `read_each`: many files of one format as one table, in the order of the table that names them.
//!
//! Each file is read with types that are inferred from it alone. Then the columns are combined like in `pandas.concat`:
//! numbers of different types become doubles. For other combinations of types, each value keeps the type of its own
//! file.

use std::io::Read as _;

use prep_core::{Context, Inputs, StepError};
use prep_formats::pandas::{Concatenation, CsvScan, CsvScanner, Schema};
use prep_spec::words::{
    CellContent, KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey,
};

use super::{
    AT, COLUMNS, DELIMITER, ENCODING, FILE_COLUMN, FLOAT_PRECISION_KEY, ReadSpec, WORDS, check,
    check_columns, columns, file_column, npy,
};
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::undecodable_file;
use crate::relation::for_each_file;
use crate::value::{TableStorage, TableValue};

/// Bytes per read.
const READ_BYTES: usize = 1 << 18;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table that is read from several files",
            doc: "Files of one format, one after another, combined like in `pandas.concat`. Columns: `file` and those in `columns`. A NumPy array must have one axis, and its column is `value`. For arrays and parquet files, a column has the same type in all files, or combines doubles with integers or single-precision numbers to doubles.",
            keys: &[
                SectionKey::required(
                    "read_each",
                    KeyType::Files,
                    "Table whose column `file` names the files.",
                    "truths",
                ),
                SectionKey::required(
                    "format",
                    KeyType::Word(WORDS),
                    "The format of the files.",
                    "csv",
                ),
                COLUMNS,
                DELIMITER,
                FLOAT_PRECISION_KEY,
                AT,
                ENCODING,
            ],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let mut all = vec![ProducedColumn::text(FILE_COLUMN)];
            // An entry of an array can only be copied from a table of one array.
            let columns = columns(declaration).into_iter();
            all.extend(columns.filter(|column| column.holds != CellContent::Entries));
            all
        }),
        check: Some(|declaration| {
            let mut found = check(declaration);
            let declared = declaration.columns("columns").iter();
            for column in declared.filter(|column| column.name.value == FILE_COLUMN) {
                let message = "the column `file` is reserved for the file of a row";
                let fault =
                    prep_spec::Diagnostic::error("duplicate-column", column.name.span, message);
                found.push(fault.help("remove it from `columns`"));
            }
            found
        }),
    },
    step: |declaration, _| {
        let read = ReadSpec::declared(declaration)?;
        // Since version 4, integers and doubles of arrays become doubles.
        let version = match read.format.word.name == npy::FORMAT.word.name {
            true => 4,
            false => 3,
        };
        let mut params = read.params();
        if let Some(params) = params.as_object_mut() {
            params.remove("path");
        }
        let function = FunctionStep::new("read_each", version, params, move |context, inputs| {
            Ok((read.format.each)(context, inputs, &read)?.into_value())
        });
        function.step()
    },
};

/// Reads CSV files. Scans each file, then prints all of them with the common types of their columns.
pub(super) fn csv(
    context: &Context,
    inputs: &Inputs,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let options = read.csv_options();
    let names = read.columns.iter().map(|column| column.name.value.clone());
    let mut together = Concatenation::new(names);
    let mut scans: Vec<CsvScan> = Vec::new();
    for_each_file(context, inputs, &mut |file, opened| {
        let mut scanner = CsvScanner::new(&options);
        let mut reader = read.encoding.reader(opened.reader()?);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            context.check()?;
            let count = reader
                .read(&mut buffer)
                .map_err(|cause| undecodable_file(file, cause))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            scanner
                .feed(bytes)
                .map_err(|cause| undecodable_file(file, cause))?;
        }
        let scan = scanner
            .finish()
            .map_err(|cause| undecodable_file(file, cause))?;
        together
            .add(&scan)
            .map_err(|cause| undecodable_file(file, cause))?;
        scans.push(scan);
        Ok(())
    })?;
    let mut columns = vec![file_column()];
    columns.extend(together.columns());
    let rows = scans.iter().map(|scan| scan.schema.rows).sum();
    let mut schema = Schema { columns, rows };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let mut out = context.store.writer()?;
    let mut head = prep_formats::pandas::CsvWriter::new(&mut out);
    head.header(schema.columns.iter().map(|column| column.name.as_str()))
        .map_err(StepError::machine)?;
    head.finish().map_err(StepError::machine)?;
    let mut scans = scans.into_iter();
    for_each_file(context, inputs, &mut |file, opened| {
        let scan = scans.next();
        let scan = scan.ok_or_else(|| StepError::internal("a file was not scanned"))?;
        together
            .write(
                file,
                read.encoding.reader(opened.reader()?),
                &scan,
                &options,
                &mut out,
            )
            .map_err(|cause| undecodable_file(file, cause))?;
        context.progress.add_file();
        Ok(())
    })?;
    let object = out.commit()?.digest;
    Ok(declared.table(schema, TableStorage::Text { object }))
}
