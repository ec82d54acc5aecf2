//! The shared implementation of DataFusion's trait for this crate's scalar functions.

use std::hash::{Hash, Hasher};

use arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// A deterministic scalar function.
#[derive(Debug)]
pub(crate) struct SimpleFunction {
    /// Name in queries.
    pub name: &'static str,
    /// Types of the arguments.
    pub signature: Signature,
    /// Returns the type of the result for arguments of these types.
    pub returns: fn(&[DataType]) -> Result<DataType>,
    /// Computes the result, with one cell per row of the arguments.
    pub call: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl SimpleFunction {
    /// Creates a function that returns text.
    pub fn text(
        name: &'static str,
        signature: fn(Volatility) -> Signature,
        call: fn(&[ArrayRef]) -> Result<ArrayRef>,
    ) -> SimpleFunction {
        SimpleFunction {
            name,
            signature: signature(Volatility::Immutable),
            returns: |_| Ok(DataType::Utf8),
            call,
        }
    }
}

impl PartialEq for SimpleFunction {
    fn eq(&self, other: &SimpleFunction) -> bool {
        self.name == other.name
    }
}

impl Eq for SimpleFunction {}

impl Hash for SimpleFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for SimpleFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        (self.returns)(arguments)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args.args.into_iter();
        let columns = columns.map(|column| column.into_array(args.number_rows));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        Ok(ColumnarValue::Array((self.call)(&columns)?))
    }
}

/// Builds a column from the result of `text(row, cell)` for each row of `texts`. The result is missing if the cell is
/// missing or `text` returns `None`.
pub(super) fn map_texts(
    texts: &StringArray,
    mut text: impl FnMut(usize, &str) -> Result<Option<String>>,
) -> Result<ArrayRef> {
    let mut out = StringBuilder::new();
    for row in 0..texts.len() {
        let found = match texts.is_null(row) {
            true => None,
            false => text(row, texts.value(row))?,
        };
        out.append_option(found);
    }
    Ok(std::sync::Arc::new(out.finish()))
}
