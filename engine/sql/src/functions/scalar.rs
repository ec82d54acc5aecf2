//! Implements DataFusion's trait for the scalar functions of this crate.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

type Call = Box<dyn Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync>;

/// A scalar function that computes an array from arrays.
pub(crate) struct SimpleFunction {
    name: &'static str,
    signature: Signature,
    returns: fn(&[DataType]) -> Result<DataType>,
    call: Call,
}

impl SimpleFunction {
    /// Creates a function. `returns` computes its return type from the types of the arguments.
    pub fn new(
        name: &'static str,
        signature: Signature,
        returns: fn(&[DataType]) -> Result<DataType>,
        call: impl Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> SimpleFunction {
        SimpleFunction {
            name,
            signature,
            returns,
            call: Box::new(call),
        }
    }

    /// Creates a function that returns text.
    pub fn text(
        name: &'static str,
        signature: fn(Volatility) -> Signature,
        call: fn(&[ArrayRef]) -> Result<ArrayRef>,
    ) -> SimpleFunction {
        let signature = signature(Volatility::Immutable);
        SimpleFunction::new(name, signature, |_| Ok(DataType::Utf8), call)
    }
}

impl fmt::Debug for SimpleFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
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
        let is_scalar = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let is_constant = !args.args.is_empty() && args.args.iter().all(is_scalar);
        let rows = if is_constant { 1 } else { args.number_rows };
        let columns = args.args.into_iter().map(|column| column.into_array(rows));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let result = (self.call)(&columns)?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}

/// Returns the arguments as a Rust array. The function's signature must require exactly `COUNT` arguments.
pub(super) fn arguments<const COUNT: usize>(columns: &[ArrayRef]) -> Result<&[ArrayRef; COUNT]> {
    let message = || internal_datafusion_err!("a function has {} arguments", columns.len());
    columns.try_into().map_err(|_| message())
}

/// The string parsed last, and its parsed form. Most rows of a column of patterns contain the same string.
pub(super) struct LastParsed<T>(Option<(String, T)>);

impl<T> Default for LastParsed<T> {
    fn default() -> LastParsed<T> {
        LastParsed(None)
    }
}

impl<T> LastParsed<T> {
    /// Returns the parsed form of a string. Parses the string only if it differs from the last one.
    pub fn get(&mut self, text: &str, parse: impl FnOnce(&str) -> Result<T>) -> Result<&T> {
        let last = match self.0.take() {
            Some(last) if last.0 == text => last,
            _ => (text.to_owned(), parse(text)?),
        };
        Ok(&self.0.insert(last).1)
    }
}

/// Returns `text(row, cell)` for each cell of `texts`. NULL cells stay NULL, and `None` becomes NULL.
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
    Ok(Arc::new(out.finish()))
}

/// Upper bounds, in bytes, of the size of the values that a call returns: of all rows together, and of the largest row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResultSize {
    pub total: u64,
    pub largest: u64,
}

impl ResultSize {
    pub(super) fn add(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
    }
}
