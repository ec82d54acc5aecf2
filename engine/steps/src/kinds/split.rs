//! `split`: the rows of a table, divided in two.

mod keys;

use prep_core::{Context, Inputs, Outputs, Step, StepError, Value};
use prep_splits::{Keys, Method, Order, PythonRandom, Rng, Role, Split};
use thiserror::Error;

use crate::relation::{open_table, scalar};
use crate::value::{TableValue, generator, input};

/// Name of the input with a generator that goes on, and of the output with the generator as it was left. No table can
/// have this name.
pub(crate) const GENERATOR: &str = "generator:";

#[derive(Debug, Error)]
enum SplitTableError {
    #[error("the table has {0} rows; a split takes at most 4,294,967,295")]
    TooLong(u64),
    #[error("`{method}` does not take the test_size {size}: {cause}")]
    Size {
        method: &'static str,
        size: f64,
        #[source]
        cause: serde_json::Error,
    },
    #[error("`{method}` cannot go on with the generator `{found}`; it draws from `python`")]
    OtherGenerator {
        method: &'static str,
        found: &'static str,
    },
}

pub(crate) struct SplitRows {
    pub method: Method,
    /// A column whose values the method works with, and how.
    pub keys: Option<(Role, String)>,
    /// Names of the two parts: train, test.
    pub into: [String; 2],
}

impl Step for SplitRows {
    fn kind(&self) -> &'static str {
        "split"
    }

    fn version(&self) -> u32 {
        2
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "method": self.method, "keys": self.keys, "into": self.into })
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
        let codes = match &self.keys {
            Some((role, column)) => {
                let inferred = table.inferred.get(column).copied();
                Some(keys::codes(
                    open_table(context, value)?,
                    column,
                    *role,
                    inferred,
                )?)
            }
            None => None,
        };
        let keys = self.keys.as_ref().zip(codes.as_deref());
        let keys = keys.map(|((role, _), codes)| Keys { role: *role, codes });
        let mut outputs = Outputs::new();
        let parts = match (&method, keys) {
            (
                Method::PythonSample {
                    test_size,
                    seed,
                    order,
                },
                None,
            ) => {
                let mut generator = match inputs.get(GENERATOR) {
                    Some(before) => python(&method, generator::of(before)?)?,
                    None => PythonRandom::new((*seed).into()),
                };
                let parts = prep_splits::python_sample(rows as u32, *test_size, &mut generator)
                    .map_err(StepError::input)?;
                outputs.insert(
                    GENERATOR.to_owned(),
                    generator::into_value(&Rng::Python(generator)),
                );
                parts.ordered(order.unwrap_or(Order::Split))
            }
            _ => prep_splits::split(&method, rows, keys).map_err(StepError::input)?,
        };
        let Split {
            train: first,
            test: second,
        } = parts;
        let [train, test] = &self.into;
        let choose =
            |rows| -> Result<Value, StepError> { Ok(table.choose(context, rows)?.into_value()) };
        outputs.insert(train.clone(), choose(first)?);
        outputs.insert(test.clone(), choose(second)?);
        Ok(outputs)
    }
}

fn python(method: &Method, generator: Rng) -> Result<PythonRandom, StepError> {
    match generator {
        Rng::Python(generator) => Ok(generator),
        other => Err(StepError::input(SplitTableError::OtherGenerator {
            method: method.name(),
            found: other.kind().name(),
        })),
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
