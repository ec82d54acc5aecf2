//! `read_each`: many CSV files as one table, in the order of the table that names them.
//!
//! Each file is read with types that are inferred from it alone. Then the columns are combined like in `pandas.concat`:
//! numbers of different types become doubles. For other combinations of types, each value keeps the type of its own
//! file.

use std::io::Read as _;

use prep_core::{Context, Inputs, StepError};
use prep_formats::pandas::{ColumnType, Concatenation, CsvScan, CsvScanner, CsvWriter, Schema};
use prep_formats::text_encoding::TextEncoding;
use prep_spec::Diagnostic;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};

use super::dialect::ReadDialect;
use super::{COLUMNS, FLOAT_PRECISION_KEY, ReadSpec, check_columns, csv, float_precision};
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::undecodable_file;
use crate::relation::for_each_file;
use crate::value::{TableStorage, TableValue, column};

/// Name of the column that contains the file of a row.
const FILE_COLUMN: &str = "file";

/// Bytes per read.
const READ_BYTES: usize = 1 << 18;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table that is read from several files",
            doc: "CSV files, one after another, combined like in `pandas.concat`. Columns: `file` and those in `columns`.",
            keys: &[
                SectionKey::required(
                    "read_each",
                    KeyType::Files,
                    "Table whose column `file` names the files.",
                    "truths",
                ),
                SectionKey::required(
                    "format",
                    KeyType::Word(&[csv::FORMAT.word]),
                    "The format of the files.",
                    "csv",
                ),
                COLUMNS,
                FLOAT_PRECISION_KEY,
            ],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let mut all = vec![ProducedColumn::text(FILE_COLUMN)];
            let declared = declaration.columns("columns").iter();
            all.extend(declared.map(|one| ProducedColumn::new(&one.name.value, one.kind)));
            all
        }),
        check: Some(|declaration| {
            let declared = declaration.columns("columns").iter();
            declared
                .filter(|column| column.name.value == FILE_COLUMN)
                .map(|column| {
                    let message = "the column `file` is reserved for the file of a row";
                    let fault = Diagnostic::error("duplicate-column", column.name.span, message);
                    fault.help("remove it from `columns`")
                })
                .collect()
        }),
    },
    step: |declaration, _| {
        let read = ReadSpec {
            path: declaration.text("read_each")?.to_owned(),
            format: &csv::FORMAT,
            columns: declaration.columns("columns").to_vec(),
            delimiter: b',',
            float_precision: float_precision(declaration),
            at: None,
            encoding: TextEncoding::Utf8,
            dialect: ReadDialect::Python,
            chunksize: None,
        };
        let mut params = read.params();
        if let Some(params) = params.as_object_mut() {
            params.remove("path");
        }
        let function = FunctionStep::new("read_each", 3, params, move |context, inputs| {
            Ok(read_files(context, inputs, &read)?.into_value())
        });
        function.step()
    },
};

/// Reads the files in the input `files`: scans each of them, then prints all with the common types of their columns.
fn read_files(
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
    let mut columns = vec![column(FILE_COLUMN, ColumnType::Text, false)];
    columns.extend(together.columns());
    let rows = scans.iter().map(|scan| scan.schema.rows).sum();
    let mut schema = Schema { columns, rows };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let mut out = context.store.writer()?;
    let mut head = CsvWriter::new(&mut out);
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
    let stored = out.commit()?;
    let storage = TableStorage::Text {
        object: stored.digest,
    };
    Ok(declared.table(schema, storage, stored.len))
}
