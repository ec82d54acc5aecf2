//! Unpivots a table: turns columns into rows, like pandas' `melt`.
//!
//! All rows with the value of the first unpivoted column come first, followed by all rows with the value of the second
//! column, and so on.
//!
//! One pass over the table per column would take quadratic time. Therefore a pass keeps the values of as many columns as
//! fit into memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::QueryError;
use crate::bind::united;
use crate::relation::{Relation, RelationBatch, RelationColumn, ScanError};

type Batches<T> = Box<dyn Iterator<Item = Result<T, ScanError>> + Send>;

/// A table whose columns become rows.
#[derive(Debug, Clone)]
pub struct Unpivot {
    /// The columns that are kept, as indices in the table.
    others: Vec<usize>,
    /// The unpivoted columns: indices in the table, and names.
    values: Vec<(usize, String)>,
    columns: Vec<RelationColumn>,
    schema: SchemaRef,
}

impl Unpivot {
    /// Unpivots the columns `values` of a table into the columns `name` and `value`.
    ///
    /// # Errors
    /// If the table lacks a column, or if the values have no common type.
    pub fn new(
        table: &[RelationColumn],
        values: &[String],
        [name, value]: [&str; 2],
    ) -> Result<Unpivot, QueryError> {
        let mut positions = Vec::with_capacity(values.len());
        // The common type of the values so far, and the name of one of their columns.
        let mut united_type: Option<(&str, DataType)> = None;
        let named = table.iter().enumerate().rev();
        let named: HashMap<&str, usize> = named
            .map(|(index, column)| (column.name.as_str(), index))
            .collect();
        for column in values {
            let found = named.get(column.as_str()).copied();
            let position = found.ok_or_else(|| QueryError::Rejected {
                message: format!("there is no column `{column}`"),
                place: None,
                column: Some(column.clone()),
                help: None,
            })?;
            let own = table
                .get(position)
                .map_or(&DataType::Null, |one| &one.data_type);
            united_type = Some(match united_type {
                None => (column, own.clone()),
                Some((first, all)) => (first, united((first, &all), (column, own))?),
            });
            positions.push((position, column.clone()));
        }
        let unpivoted: BTreeSet<usize> = positions.iter().map(|(position, _)| *position).collect();
        let others = table.iter().enumerate();
        let others = others.filter(|(index, column)| !column.hidden && !unpivoted.contains(index));
        let (others, mut columns): (Vec<usize>, Vec<RelationColumn>) = others
            .map(|(index, column)| (index, column.clone()))
            .unzip();
        let added = [
            (name, DataType::Utf8),
            (value, united_type.map_or(DataType::Null, |(_, all)| all)),
        ];
        columns.extend(added.map(|(name, data_type)| RelationColumn {
            name: name.to_owned(),
            data_type,
            hidden: false,
        }));
        let fields = columns.iter();
        let fields = fields.map(|column| Field::new(&column.name, column.data_type.clone(), true));
        Ok(Unpivot {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            values: positions,
            others,
            columns,
        })
    }

    /// Returns the columns of the unpivoted table.
    pub fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    /// Reads `table` in batches of `batch` rows, keeps about `max_bytes` of its rows in memory, and returns the
    /// unpivoted rows.
    pub fn rows(
        self,
        table: Arc<dyn Relation>,
        max_bytes: usize,
        batch: usize,
    ) -> impl Iterator<Item = Result<RecordBatch, ScanError>> + Send {
        let unpivot = Arc::new(self);
        let (mut next, mut width) = (0, unpivot.values.len());
        let passes = std::iter::from_fn(move || {
            width = width.min(unpivot.values.len() - next);
            if width == 0 {
                return None;
            }
            let values = unpivot.values.iter().skip(next).take(width);
            let columns = unpivot.others.iter().copied();
            let columns = columns.chain(values.map(|(position, _)| *position));
            let scan = Arc::clone(&table).scan(columns.collect(), batch);
            let pass = Pass::read(scan, unpivot.others.len(), &mut width, max_bytes);
            let first = next;
            next += width;
            Some(match pass {
                Ok(pass) => pass.rows(Arc::clone(&unpivot), first, width),
                Err(error) => {
                    next = unpivot.values.len();
                    Box::new(std::iter::once(Err(error)))
                }
            })
        });
        passes.flatten()
    }

    /// Returns the rows for the unpivoted column with this `index` in `values`. It is the column `at` of `batch`.
    fn batch(
        &self,
        batch: &RelationBatch,
        index: usize,
        at: usize,
    ) -> Result<RecordBatch, ScanError> {
        let (Some((_, name)), Some(values)) = (self.values.get(index), batch.columns.get(at))
        else {
            return Err("a scan returned too few columns".into());
        };
        let names = std::iter::repeat_n(name, batch.rows);
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
        let others = batch.columns.iter().take(self.others.len()).cloned();
        let data_type = self.columns.last().map(|column| &column.data_type);
        let values = cast(values, data_type.unwrap_or(values.data_type()))?;
        let columns = others.chain([names, values]).collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// The rows that a pass over the table has read, and a stream of the table's other rows.
struct Pass {
    kept: Vec<RelationBatch>,
    rest: Batches<RelationBatch>,
}

impl Pass {
    /// Reads rows into memory. In each row, the first `others` columns are kept, and the next `width` columns are
    /// unpivoted. Halves `width` whenever the rows read so far exceed `max_bytes`.
    ///
    /// When `width` is 1, stops reading, because the rows of a single unpivoted column can be returned while they are
    /// read.
    fn read(
        mut rest: Batches<RelationBatch>,
        others: usize,
        width: &mut usize,
        max_bytes: usize,
    ) -> Result<Pass, ScanError> {
        let mut kept: Vec<RelationBatch> = Vec::new();
        let mut bytes = 0;
        while *width > 1
            && let Some(batch) = rest.next()
        {
            let mut batch = batch?;
            batch.columns.truncate(others + *width);
            bytes += bytes_of(&batch);
            kept.push(batch);
            while *width > 1 && bytes > max_bytes {
                *width /= 2;
                for batch in &mut kept {
                    batch.columns.truncate(others + *width);
                }
                bytes = kept.iter().map(bytes_of).sum();
            }
        }
        Ok(Pass { kept, rest })
    }

    /// Returns the rows for `width` unpivoted columns from the index `first` on.
    fn rows(self, unpivot: Arc<Unpivot>, first: usize, width: usize) -> Batches<RecordBatch> {
        let others = unpivot.others.len();
        if width == 1 {
            let batches = self.kept.into_iter().map(Ok).chain(self.rest);
            return Box::new(batches.map(move |batch| unpivot.batch(&batch?, first, others)));
        }
        let kept = Arc::new(self.kept);
        Box::new((0..width).flat_map(move |value| {
            let (unpivot, batches) = (Arc::clone(&unpivot), kept.len());
            let kept = Arc::clone(&kept);
            (0..batches).filter_map(move |index| {
                let batch = kept.get(index)?;
                Some(unpivot.batch(batch, first + value, others + value))
            })
        }))
    }
}

fn bytes_of(batch: &RelationBatch) -> usize {
    let columns = batch.columns.iter();
    let sizes = columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0));
    sizes.sum()
}
