//! The wrapper [`Guarded`] of all scalar functions.
//!
//! * It limits the size of the strings and lists that a function returns (see `bounded`).
//! * It gives all NaNs that a function returns the same bits.
//! * It fails if the query was cancelled.
//! * It normalizes the arguments of functions that compare elements of lists, so that -0.0 and 0.0 are equal.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::bounded::{allowed, bounded_call};
use super::canonical::{canonical_value, key, one_nan};

/// Functions that compare elements of lists.
const COMPARES_ELEMENTS: &[&str] = &[
    "array_distinct",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_position",
    "array_positions",
    "array_remove_all",
    "array_union",
];

pub(super) fn guarded(function: &Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Guarded {
        compares_elements: COMPARES_ELEMENTS.contains(&function.name()),
        inner: function.clone(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Guarded {
    inner: Arc<ScalarUDF>,
    compares_elements: bool,
}

impl ScalarUDFImpl for Guarded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // Fails if the query was cancelled.
        allowed(&args)?;
        if self.compares_elements {
            let canonical = args.args.into_iter().map(|arg| canonical_value(arg, key));
            args.args = canonical.collect::<Result<_>>()?;
        }
        match args.return_field.data_type() {
            DataType::Float64 => canonical_value(self.inner.invoke_with_args(args)?, one_nan),
            data_type if data_type.primitive_width().is_some() => self.inner.invoke_with_args(args),
            DataType::Boolean => self.inner.invoke_with_args(args),
            _ => bounded_call(&self.inner, args),
        }
    }
}
