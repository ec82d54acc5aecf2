//! `method: cut`: ranks the rows by a column, and finds the rank of the value at which the table is divided.
//!
//! Numbers, dates and timestamps are compared by value, strings by code point. A missing value is an error.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{cast, concat, rank};
use arrow::datatypes::{DataType, Float64Type, TimeUnit};
use arrow::util::display::array_value_to_string;
use prep_core::{Context, Failure, Inputs, StepError};
use prep_formats::pandas::{ColumnType, argsort, arrow_type};
use prep_spec::alternatives;
use prep_spec::model::{Declaration, Setting};
use prep_sql::{Relation, TimeError, times};
use serde::Serialize;
use thiserror::Error;

use crate::kinds::splits::QUICKSORT;
use crate::located::{Subject, error_at, error_at_with_help};
use crate::relation::{BATCH_ROWS, single_value};

/// The keys that can determine the cut. A declaration must have exactly one of them.
pub(super) const POINTS: [&str; 3] = ["from", "test_size", "train_size"];

#[derive(Debug, Error)]
enum CutError {
    #[error("the table has no column `{column}`; {}", alternatives(.column, "it", .found.iter().map(String::as_str)))]
    NoColumn { column: String, found: Vec<String> },
    #[error("row {row} has no value in `{column}`, but a cut needs a value in every row")]
    NoValue { column: String, row: usize },
    #[error(
        "`{column}` is the string `{value}` in row {row}, and sorting strings of this form does not sort them by time"
    )]
    DayFirst {
        column: String,
        value: String,
        row: usize,
    },
    #[error("row {row}: {cause}")]
    NoTime { row: usize, cause: TimeError },
    #[error(
        "`from` is `{from}`, which neither has the format `{format}` nor is a date such as 2024-12-31"
    )]
    From { from: String, format: String },
    #[error("`quicksort` needs strings, but the values of `{column}` are {kind}")]
    NotText { column: String, kind: &'static str },
    #[error("`from` is `{from}`, but the values of `{column}` are {kind}")]
    OtherFrom {
        from: String,
        column: String,
        kind: &'static str,
    },
    #[error("the query of `from` returns a missing value")]
    NoFrom,
    #[error(
        "`from` is `{from}`, but the values of `{column}` are strings of another form, for example `{example}`"
    )]
    OtherForm {
        from: String,
        column: String,
        example: String,
    },
    #[error(
        "`from` is `{from}`, which is not a date, but the values of `{column}` are, for example `{example}`"
    )]
    NoDate {
        from: String,
        column: String,
        example: String,
    },
    #[error(
        "no row has a `{column}` of at least `{from}`, so the second table would be empty; the largest value is `{largest}`"
    )]
    AllBefore {
        column: String,
        from: String,
        largest: String,
    },
    /// `none` is, for example, `no row has`.
    #[error(
        "{none} a `{column}` below `{from}`, so the first table would be empty; the smallest value is `{smallest}`"
    )]
    NoneBefore {
        none: &'static str,
        column: String,
        from: String,
        smallest: String,
    },
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct CutColumn {
    by: String,
    /// The declared value at the cut. `None` if a size or a query determines the cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Format of the times in the column. `None` if strings are compared as strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// Whether equal values are in the order of NumPy's quicksort.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    quicksort: bool,
}

pub(super) struct Ranks {
    pub ranks: Vec<u32>,
    /// The value at the cut. `None` if a size determines the cut.
    pub from: Option<DeclaredCut>,
}

pub(super) struct DeclaredCut {
    pub rank: u32,
    text: String,
    /// The smallest and the largest value of the column.
    range: [String; 2],
}

impl CutColumn {
    /// Returns `None` if the method is not `cut`.
    pub fn new(declaration: &Declaration) -> Option<CutColumn> {
        let by = declaration.has("by").then(|| declaration.text("by"));
        let from = declaration.has("from").then(|| declaration.get("from"));
        let from = from.flatten().and_then(|from| match &from.value {
            Setting::Text(text) => Some(text.clone()),
            _ => None,
        });
        let by = by??.to_owned();
        Some(CutColumn {
            by,
            from,
            format: declaration.text("format").map(str::to_owned),
            quicksort: declaration.text("ties") == Some(QUICKSORT),
        })
    }

    /// Ranks the rows of the table. `inferred` returns the type that pandas infers for a text column.
    pub fn ranks(
        &self,
        context: &Context,
        inputs: &Inputs,
        table: Arc<dyn Relation>,
        inferred: impl Fn(&str) -> Option<ColumnType>,
    ) -> Result<Ranks, StepError> {
        let column = self.by.clone();
        let mut columns = table.columns().iter().enumerate();
        let Some((index, found)) = columns.find(|(_, one)| one.name == column) else {
            let found = table.columns().iter().map(|one| one.name.clone()).collect();
            return Err(fault("by", CutError::NoColumn { column, found }));
        };
        let declared = &found.data_type;
        let data_type = inferred(&column).map_or_else(|| declared.clone(), arrow_type);
        if self.quicksort && !data_type.is_string() {
            let kind = kind_of(&data_type);
            let help = "use `ties: divide`, or compute a string in a query".to_owned();
            return Err(fault_with_help(
                "ties",
                CutError::NotText { column, kind },
                help,
            ));
        }
        let data_type = match (&self.format, data_type.is_string()) {
            (Some(_), _) => TIME,
            (None, true) => DataType::LargeUtf8,
            (None, false) => data_type,
        };
        let mut values: Vec<ArrayRef> = Vec::new();
        let mut rows = 0;
        for batch in table.scan(vec![index], BATCH_ROWS) {
            context.check()?;
            let batch = batch.map_err(StepError::input)?;
            let array = batch.columns.first();
            let array = array.ok_or_else(|| StepError::internal("a scan returned no column"))?;
            let array = match &self.format {
                Some(format) => read_times(array, format)?.map_err(|cause| {
                    let row = rows + cause.row + 1;
                    fault("format", CutError::NoTime { row, cause })
                })?,
                None => comparable(array, &data_type)?,
            };
            self.check_values(&array, rows)?;
            rows += array.len();
            values.push(array);
        }
        let from = match inputs.get("from") {
            Some(value) => Some(single_value(context, value).map_err(|error| {
                error_at(
                    error.failure(),
                    Subject::Key("from"),
                    prep_core::chain(&error),
                )
            })?),
            None => self.from.as_ref().map(|from| {
                let text: ArrayRef = Arc::new(StringArray::from(vec![from.as_str()]));
                text
            }),
        };
        let from = from
            .map(|from| self.value_at_cut(&from, &data_type))
            .transpose()?;
        // The value at the cut is ranked together with the rows, as the last value.
        if let Some((value, _)) = &from {
            self.check_form(value, &values)?;
            values.push(Arc::clone(value));
        }
        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
        if values.is_empty() {
            let ranks = Vec::new();
            return Ok(Ranks { ranks, from: None });
        }
        let values = concat(&values).map_err(StepError::internal)?;
        let mut ranks = rank(&values, None).map_err(StepError::pipeline)?;
        if self.quicksort {
            ranks = quicksort_places(&ranks);
        }
        let from = from.and_then(|(_, text)| {
            let rank = ranks.pop()?;
            let smallest = (0..ranks.len()).min_by_key(|row| ranks.get(*row));
            let largest = (0..ranks.len()).max_by_key(|row| ranks.get(*row));
            let text_of = |row: Option<usize>| {
                row.and_then(|row| array_value_to_string(&values, row).ok())
                    .unwrap_or_default()
            };
            let range = [text_of(smallest), text_of(largest)];
            Some(DeclaredCut { rank, text, range })
        });
        Ok(Ranks { ranks, from })
    }

    /// Compares the form of `from` with the form of the values, see [`form_of`]. Does nothing unless `from` and all values
    /// are strings, and `from` or all values begin with a digit.
    ///
    /// Fails if the form of `from` is not the start of the form of any value. For example, `2024-11-1` is not in
    /// chronological order with strings such as `2024-11-01`. Also fails if the values are dates, and `from` has their
    /// form but is not a date.
    fn check_form(&self, from: &ArrayRef, values: &[ArrayRef]) -> Result<(), StepError> {
        let Some(from) = from.as_string_opt::<i64>().map(|from| from.value(0)) else {
            return Ok(());
        };
        let texts = || {
            let arrays = values
                .iter()
                .filter_map(|array| array.as_string_opt::<i64>());
            arrays.flat_map(|texts| texts.iter().flatten())
        };
        let has_form = starts_with_digit(from) || texts().all(starts_with_digit);
        let Some(first) = texts().next().filter(|_| has_form) else {
            return Ok(());
        };
        let form = form_of(from);
        let (from, column) = (from.to_owned(), self.by.clone());
        let example = first.to_owned();
        if !texts().any(|text| is_start_of(&form, &form_of(text))) {
            let help = format!(
                "write `from` in the form of `{first}`, or state the format of `{column}` and `from`, for example `format: \
                 '%Y-%m-%d'`"
            );
            let error = CutError::OtherForm {
                from,
                column,
                example,
            };
            return Err(fault_with_help("from", error, help));
        }
        if is_date(first) == Some(true) && is_date(&from) == Some(false) {
            let error = CutError::NoDate {
                from,
                column,
                example,
            };
            return Err(fault("from", error));
        }
        Ok(())
    }

    /// Converts the value at the cut to the type of the column. Also returns its original text.
    fn value_at_cut(
        &self,
        from: &ArrayRef,
        data_type: &DataType,
    ) -> Result<(ArrayRef, String), StepError> {
        if from.is_null(0) {
            return Err(fault("from", CutError::NoFrom));
        }
        let text = array_value_to_string(from, 0).map_err(StepError::internal)?;
        let value = match &self.format {
            Some(format) if from.data_type().is_string() => {
                let format = format.clone();
                let time = read_from(from, &format)?;
                time.ok_or_else(|| {
                    let from = text.clone();
                    fault("from", CutError::From { from, format })
                })?
            }
            _ => comparable(from, data_type)?,
        };
        if value.is_null(0) {
            let error = CutError::OtherFrom {
                from: text,
                column: self.by.clone(),
                kind: kind_of(data_type),
            };
            return Err(fault("from", error));
        }
        Ok((value, text))
    }

    /// Fails if a value is missing. Also fails if a string is a date that begins with the day or the month, because sorting
    /// such strings does not sort them by time. `before` is the number of rows before this batch.
    fn check_values(&self, values: &ArrayRef, before: usize) -> Result<(), StepError> {
        let column = self.by.clone();
        if values.null_count() > 0 {
            let row = (0..values.len()).find(|row| values.is_null(*row));
            let row = before + row.unwrap_or(0) + 1;
            let help = "use a query to leave such rows out or to give them a value".to_owned();
            let error = CutError::NoValue { column, row };
            return Err(fault_with_help("by", error, help));
        }
        let Some(texts) = values.as_string_opt::<i64>() else {
            return Ok(());
        };
        let day_first = (0..texts.len()).find(|row| is_day_first(texts.value(*row)));
        day_first.map_or(Ok(()), |row| {
            let value = texts.value(row).to_owned();
            let row = before + row + 1;
            let help = format!("add the format of `{column}`, for example `format: '%d.%m.%Y'`");
            let error = CutError::DayFirst { column, value, row };
            Err(fault_with_help("by", error, help))
        })
    }

    /// Returns the error for a `from` that leaves a table empty: the test table if `is_test_empty`, else the train table.
    pub fn one_sided(&self, is_test_empty: bool, from: DeclaredCut, has_groups: bool) -> StepError {
        let column = self.by.clone();
        let [smallest, largest] = from.range;
        let from = from.text;
        let none = match has_groups {
            true => "no group has only rows with",
            false => "no row has",
        };
        let error = match is_test_empty {
            true => CutError::AllBefore {
                column,
                from,
                largest,
            },
            false => CutError::NoneBefore {
                none,
                column,
                from,
                smallest,
            },
        };
        fault("from", error)
    }
}

fn fault(key: &'static str, error: CutError) -> StepError {
    error_at(failure(key), Subject::Key(key), error)
}

fn fault_with_help(key: &'static str, error: CutError, help: String) -> StepError {
    error_at_with_help(failure(key), Subject::Key(key), error, Some(help))
}

/// Returns whether the pipeline or the table has to be corrected if the value of a key does not fit the table.
fn failure(key: &str) -> Failure {
    match key {
        "from" | "ties" => Failure::Pipeline,
        _ => Failure::Input,
    }
}

const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Converts values to a comparable type. NaN and values that cannot be converted become missing, and -0.0 becomes 0.0.
fn comparable(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, StepError> {
    let values = cast(values, data_type).map_err(StepError::pipeline)?;
    Ok(match values.as_primitive_opt::<Float64Type>() {
        Some(doubles) => {
            let doubles = doubles
                .unary_opt::<_, Float64Type>(|value| (!value.is_nan()).then_some(value + 0.0));
            Arc::new(doubles)
        }
        None => values,
    })
}

/// Returns the position of each row after NumPy's quicksort of the ranks.
fn quicksort_places(ranks: &[u32]) -> Vec<u32> {
    let rank = |row: u32| ranks.get(row as usize);
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    argsort(&mut order, |a, b| rank(a) < rank(b));
    let mut places = vec![0; ranks.len()];
    for (place, row) in (0..).zip(order) {
        if let Some(of_row) = places.get_mut(row as usize) {
            *of_row = place;
        }
    }
    places
}

/// Parses strings as times. The inner error names a string that does not have the format.
fn read_times(values: &ArrayRef, format: &str) -> Result<Result<ArrayRef, TimeError>, StepError> {
    let texts = cast(values, &DataType::Utf8).map_err(StepError::internal)?;
    let times = times(texts.as_string::<i32>(), format);
    Ok(times.map(|times| Arc::new(times) as ArrayRef))
}

/// Parses the value at the cut, in the format `format` or in the default format. For example, a date that a query computed
/// has the default format.
fn read_from(from: &ArrayRef, format: &str) -> Result<Option<ArrayRef>, StepError> {
    let time = read_times(from, format)?.ok();
    let time = time.or_else(|| cast(from, &TIME).ok());
    Ok(time.filter(|time| !time.is_null(0)))
}

/// Returns the message for a declared `from` that is not a time in the declared format.
pub(super) fn wrong_from(declaration: &Declaration) -> Option<String> {
    let cut = CutColumn::new(declaration)?;
    let (from, format) = (cut.from?, cut.format?);
    let value: ArrayRef = Arc::new(StringArray::from(vec![from.as_str()]));
    let is_wrong = matches!(read_from(&value, &format), Ok(None));
    is_wrong.then(|| CutError::From { from, format }.to_string())
}

/// Returns the name of a type for messages, in the plural.
fn kind_of(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "booleans",
        DataType::Date32 => "dates",
        DataType::Timestamp(..) => "timestamps",
        _ if data_type.is_integer() => "integers",
        _ if data_type.is_floating() => "numbers",
        _ => "strings",
    }
}

/// Returns whether a text looks like `31.12.2019`, `12/31/19` or `1-2-2019 10:00`.
fn is_day_first(text: &str) -> bool {
    let mut parts = text.splitn(3, ['.', '/', '-']);
    // Returns the number of digits at the start of the next part, and the length of this part.
    let mut digits = |max_digits: usize| {
        let part = parts.next().unwrap_or_default();
        let count = part.bytes().take_while(u8::is_ascii_digit).count();
        (count > 0 && count <= max_digits).then_some((count, part.len()))
    };
    let (Some(first), Some(second), Some(year)) = (digits(2), digits(2), digits(4)) else {
        return false;
    };
    first.0 == first.1 && second.0 == second.1 && matches!(year.0, 2 | 4)
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the form of a text: `0` for each digit, `a` for each word, and all other characters.
fn form_of(text: &str) -> String {
    let mut form = String::new();
    for character in text.chars() {
        match character {
            '0'..='9' => form.push('0'),
            letter if letter.is_alphabetic() && form.ends_with('a') => {}
            letter if letter.is_alphabetic() => form.push('a'),
            other => form.push(other),
        }
    }
    form
}

/// Returns whether a form is the start of another and does not end inside a number. So the month `2024-11` can divide dates
/// such as `2024-11-01`, but `2024-11-1` cannot.
fn is_start_of(form: &str, other: &str) -> bool {
    let rest = other.strip_prefix(form);
    rest.is_some_and(|rest| !(form.ends_with('0') && rest.starts_with('0')))
}

/// Returns whether a text of the form `2024-11-01` is a date. Returns `None` if it does not have this form.
fn is_date(text: &str) -> Option<bool> {
    let is_form = form_of(text) == "0000-00-00";
    is_form.then(|| times(&StringArray::from(vec![text]), "%Y-%m-%d").is_ok())
}

#[cfg(test)]
mod tests {
    use super::{form_of, is_date, is_day_first, is_start_of};

    #[test]
    fn dates_can_be_cut_at_a_month_but_not_inside_a_number() {
        for (from, value, expected) in [
            ("2024-11-01", "2023-01-31", true),
            ("2024-11", "2023-01-31", true),
            ("2024", "2023-01-31 10:00", true),
            ("2024-11-1", "2023-01-31", false),
            ("01.11.2024", "2023-01-31", false),
            ("2024-11-01 00:00", "2023-01-31", false),
            ("3 Jan", "3 September", true),
            ("7", "10", false),
            ("7", "8", true),
            ("8", "7fa3", true),
        ] {
            let found = is_start_of(&form_of(from), &form_of(value));
            assert_eq!(found, expected, "{from} {value}");
        }
        assert_eq!(is_date("2024-13-01"), Some(false));
        assert_eq!(is_date("2024-12-01"), Some(true));
        assert_eq!(is_date("01.12.2024"), None);
    }

    #[test]
    fn dates_that_begin_with_the_day_or_the_month_are_recognized() {
        for text in ["31.12.2019", "12/31/19", "1-2-2019 10:00", "1/2/99"] {
            assert!(is_day_first(text), "{text}");
        }
        for text in [
            "2019-12-31",
            "2019/1/2",
            "20191231",
            "1.2",
            "1.2.3",
            "a-1-2019",
            "",
            "-1.5",
        ] {
            assert!(!is_day_first(text), "{text}");
        }
    }
}
