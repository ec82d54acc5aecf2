//! `split`: the rows of a table, divided in two.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::alternatives;
use prep_splits::Method;
use prep_sql::Relation;
use thiserror::Error;

use crate::relation::{open_table, scalar};
use crate::value::{TableValue, input};

#[derive(Debug, Error)]
enum SplitTableError {
    #[error("the table has no column `{column}` to group by; {}", alternatives(.column, "it", .found.iter().map(String::as_str)))]
    NoColumn { column: String, found: Vec<String> },
    #[error("the table has {0} rows; a split takes at most 4,294,967,295")]
    TooLong(u64),
    #[error("`{method}` does not take the test_size {size}: {cause}")]
    Size {
        method: &'static str,
        size: f64,
        cause: serde_json::Error,
    },
}

pub(crate) struct SplitRows {
    pub method: Method,
    pub group_by: Option<String>,
    /// Names of the two parts: train, test.
    pub into: [String; 2],
}

impl Step for SplitRows {
    fn kind(&self) -> &'static str {
        "split"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "method": self.method, "group_by": self.group_by, "into": self.into })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        let rows = inputs
            .get("rows")
            .and_then(|value| TableValue::of(value).ok())
            .map_or(0, |table| table.len());
        rows * 24 + (16 << 20)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = input(inputs, "rows")?;
        let table = TableValue::of(value)?;
        let rows = usize::try_from(table.len())
            .ok()
            .filter(|rows| u32::try_from(*rows).is_ok());
        let rows = rows.ok_or_else(|| StepError::input(SplitTableError::TooLong(table.len())))?;
        let method = match inputs.get("test_size") {
            Some(size) => with_test_size(&self.method, scalar(context, size)?)?,
            None => self.method.clone(),
        };
        let keys = match &self.group_by {
            Some(column) => Some(codes(open_table(context, value)?, column)?),
            None => None,
        };
        let parts = prep_splits::split(&method, rows, keys.as_deref()).map_err(StepError::input)?;
        let [train, test] = &self.into;
        Ok(Outputs::from([
            (
                train.clone(),
                table.choose(context, parts.train)?.into_value(),
            ),
            (
                test.clone(),
                table.choose(context, parts.test)?.into_value(),
            ),
        ]))
    }
}

/// The method with a size that a query computed: a whole number above 1 counts rows, anything else is a share.
fn with_test_size(method: &Method, size: f64) -> Result<Method, StepError> {
    let error = |cause| {
        StepError::input(SplitTableError::Size {
            method: method.name(),
            size,
            cause,
        })
    };
    let mut body = serde_json::to_value(method).map_err(error)?;
    let is_count = size.fract() == 0.0 && size >= 1.0;
    body["test_size"] = if is_count {
        serde_json::json!(size as u64)
    } else {
        serde_json::json!(size)
    };
    serde_json::from_value(body).map_err(error)
}

/// A number for each row: equal for equal keys, in order of first appearance. A missing key is a key of its own.
fn codes(table: Arc<dyn Relation>, column: &str) -> Result<Vec<u32>, StepError> {
    let index = table
        .columns()
        .iter()
        .position(|candidate| candidate.name == column);
    let index = index.ok_or_else(|| {
        let found = table.columns().iter().map(|one| one.name.clone());
        StepError::input(SplitTableError::NoColumn {
            column: column.to_owned(),
            found: found.collect(),
        })
    })?;
    let mut seen: HashMap<Box<str>, u32> = HashMap::new();
    let mut missing: Option<u32> = None;
    let mut codes = Vec::with_capacity(usize::try_from(table.rows()).unwrap_or(0));
    for values in table.scan(vec![index], 8192) {
        let values = values.map_err(|cause| StepError::Failed {
            failure: prep_core::Failure::Input,
            cause,
        })?;
        let texts = cast(&values.columns[0], &DataType::Utf8).map_err(StepError::internal)?;
        let texts = texts.as_string::<i32>();
        for row in 0..texts.len() {
            let next = (seen.len() + usize::from(missing.is_some())) as u32;
            codes.push(if texts.is_null(row) {
                *missing.get_or_insert(next)
            } else if let Some(code) = seen.get(texts.value(row)) {
                *code
            } else {
                seen.insert(texts.value(row).into(), next);
                next
            });
        }
    }
    Ok(codes)
}
