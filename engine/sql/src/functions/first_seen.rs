//! `first_seen(x) OVER (...)`: numbers distinct values in order of first appearance, like pandas' `factorize`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_common::ScalarValue;
use datafusion_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{PartitionEvaluator, Signature, Volatility, WindowUDFImpl};

use super::canonical::key_array;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FirstSeen {
    signature: Signature,
}

impl Default for FirstSeen {
    fn default() -> FirstSeen {
        FirstSeen {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl WindowUDFImpl for FirstSeen {
    fn name(&self) -> &str {
        "first_seen"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Int64, false)))
    }
}

#[derive(Debug)]
struct Evaluator;

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        // Equal doubles get equal bits, so that they are one key.
        let column = key_array(&values[0]);
        let mut seen: HashMap<ScalarValue, i64> = HashMap::new();
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            let value = ScalarValue::try_from_array(&column, row)?;
            let next = seen.len() as i64;
            numbers.push(*seen.entry(value).or_insert(next));
        }
        Ok(Arc::new(Int64Array::from(numbers)))
    }
}
