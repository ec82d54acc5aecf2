//! Scalar functions of our own: what DataFusion asks of each, made of what differs from one to another.

use std::hash::{Hash, Hasher};

use arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// A function whose result depends on its arguments alone.
#[derive(Debug)]
pub(crate) struct Own {
    pub name: &'static str,
    pub signature: Signature,
    /// The type of the result, by those of the arguments.
    pub returns: fn(&[DataType]) -> Result<DataType>,
    /// The result, a cell for each row of the arguments.
    pub call: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl Own {
    /// A function whose result is text.
    pub fn text(
        name: &'static str,
        signature: fn(Volatility) -> Signature,
        call: fn(&[ArrayRef]) -> Result<ArrayRef>,
    ) -> Own {
        Own {
            name,
            signature: signature(Volatility::Immutable),
            returns: |_| Ok(DataType::Utf8),
            call,
        }
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Own) -> bool {
        self.name == other.name
    }
}

impl Eq for Own {}

impl Hash for Own {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Own {
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

/// A text, or none, for each row of `texts`; none where that is missing.
pub(super) fn each(
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
