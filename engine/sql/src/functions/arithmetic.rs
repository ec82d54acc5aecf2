//! Integer arithmetic that fails if the result exceeds 64 bits and shows the operands in the message, and a `||` of
//! limited size.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Datum, Scalar};
use arrow::compute::kernels::concat_elements::concat_elements_utf8;
use arrow::compute::kernels::numeric::{add, div, mul, neg, rem, sub};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use prep_failure::Failure;

use super::bounded::{allowed, check_size, sum_of_lengths};
use crate::error::FunctionError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    /// `||`
    Join,
}

/// Returns the function for an operator whose operands have the same type.
pub(crate) fn checked_function(kind: Arithmetic) -> ScalarUDF {
    ScalarUDF::from(CheckedArithmetic {
        kind,
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedArithmetic {
    kind: Arithmetic,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedArithmetic {
    fn name(&self) -> &str {
        match self.kind {
            Arithmetic::Add => "add",
            Arithmetic::Subtract => "subtract",
            Arithmetic::Multiply => "multiply",
            Arithmetic::Divide => "divide",
            Arithmetic::Remainder => "remainder",
            Arithmetic::Negate => "negate",
            Arithmetic::Join => "join",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments.first().cloned().unwrap_or(DataType::Null))
    }

    /// The optimizer calls operators with untyped nulls to find out whether a predicate is true for missing values.
    /// Such nulls get the type of the other operand. All text types become the default text type.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let typed = types.iter().find(|operand| !operand.is_null());
        let missing = match self.kind {
            Arithmetic::Join => &DataType::Utf8,
            _ => typed.unwrap_or(&DataType::Int64),
        };
        let coerced = types.iter().map(|operand| match operand {
            DataType::Null => missing,
            DataType::Utf8View | DataType::LargeUtf8 => &DataType::Utf8,
            other => other,
        });
        Ok(coerced.cloned().collect())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [operand] if self.kind == Arithmetic::Negate => {
                let array = operand.to_array(args.number_rows)?;
                let negated = neg(&array).map_err(|error| self.failed(error, &[&array]))?;
                result(negated, &[operand])
            }
            [left, right] if self.kind == Arithmetic::Join => {
                let lengths = sum_of_lengths(&args.args, args.number_rows);
                check_size("||", lengths, allowed(&args)?)?;
                let arrays = [
                    left.to_array(args.number_rows)?,
                    right.to_array(args.number_rows)?,
                ];
                let [left_array, right_array] = &arrays;
                let joined = concat_elements_utf8(
                    left_array.as_string::<i32>(),
                    right_array.as_string::<i32>(),
                )?;
                result(Arc::new(joined), &[left, right])
            }
            [left, right] => self.binary(left, right, args.number_rows),
            _ => internal_err!("an operator has one or two operands"),
        }
    }
}

impl CheckedArithmetic {
    fn binary(
        &self,
        left: &ColumnarValue,
        right: &ColumnarValue,
        rows: usize,
    ) -> Result<ColumnarValue> {
        let (left_datum, right_datum) = (datum(left)?, datum(right)?);
        let computed = match self.kind {
            Arithmetic::Add => add(&*left_datum, &*right_datum),
            Arithmetic::Subtract => sub(&*left_datum, &*right_datum),
            Arithmetic::Multiply => mul(&*left_datum, &*right_datum),
            Arithmetic::Divide => div(&*left_datum, &*right_datum),
            Arithmetic::Remainder => rem(&*left_datum, &*right_datum),
            Arithmetic::Negate | Arithmetic::Join => {
                return internal_err!("not an operator of two numbers");
            }
        };
        match computed {
            Ok(computed) => result(computed, &[left, right]),
            Err(error) => {
                let arrays = [left.to_array(rows)?, right.to_array(rows)?];
                Err(self.failed(error, &[&arrays[0], &arrays[1]]))
            }
        }
    }

    /// Returns the error for the first row that fails, with its operands.
    fn failed(
        &self,
        error: ArrowError,
        operands: &[&ArrayRef],
    ) -> datafusion::error::DataFusionError {
        let rows = operands.first().map_or(0, |operand| operand.len());
        let failing = (0..rows).find(|row| {
            let slices: Vec<ArrayRef> = operands.iter().map(|one| one.slice(*row, 1)).collect();
            match slices.as_slice() {
                [one] => neg(one).is_err(),
                [left, right] => self.fails(left, right),
                _ => false,
            }
        });
        let texts = failing.map(|row| {
            let texts = operands
                .iter()
                .map(|operand| array_value_to_string(operand, row));
            texts
                .map(std::result::Result::unwrap_or_default)
                .collect::<Vec<_>>()
        });
        let message = match (texts.as_deref(), &error) {
            (Some([left, right]), ArrowError::DivideByZero) => {
                format!("division by zero: {left} {} {right}", self.symbol())
            }
            (Some([left, right]), _) => {
                format!(
                    "the result exceeds 64-bit integers: {left} {} {right}",
                    self.symbol()
                )
            }
            (Some([operand]), _) => format!("the result exceeds 64-bit integers: -({operand})"),
            _ => error.to_string(),
        };
        FunctionError::error(Failure::Pipeline, message)
    }

    fn fails(&self, left: &ArrayRef, right: &ArrayRef) -> bool {
        match self.kind {
            Arithmetic::Add => add(left, right).is_err(),
            Arithmetic::Subtract => sub(left, right).is_err(),
            Arithmetic::Multiply => mul(left, right).is_err(),
            Arithmetic::Divide => div(left, right).is_err(),
            Arithmetic::Remainder => rem(left, right).is_err(),
            Arithmetic::Negate | Arithmetic::Join => false,
        }
    }

    fn symbol(&self) -> &'static str {
        match self.kind {
            Arithmetic::Add => "+",
            Arithmetic::Subtract | Arithmetic::Negate => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
            Arithmetic::Join => "||",
        }
    }
}

fn datum(value: &ColumnarValue) -> Result<Box<dyn Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(array.clone()),
        ColumnarValue::Scalar(scalar) => Box::new(Scalar::new(scalar.to_array()?)),
    })
}

/// Returns the result as a scalar if all operands are scalars, and as an array otherwise.
fn result(array: ArrayRef, operands: &[&ColumnarValue]) -> Result<ColumnarValue> {
    let is_scalar = operands
        .iter()
        .all(|operand| matches!(operand, ColumnarValue::Scalar(_)));
    if is_scalar && !array.is_empty() {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
            &array, 0,
        )?));
    }
    Ok(ColumnarValue::Array(array))
}
