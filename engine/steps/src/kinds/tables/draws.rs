//! `draws`: values drawn from a seeded generator for each row of a table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use prep_core::{Context, Failure, Inputs, Outputs, StepError};
use prep_formats::pandas::{ColumnSchema, ColumnType};
use prep_spec::Span;
use prep_spec::model::{Comparison, Item, Operand, Setting};
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use prep_splits::{RandomError, Rng};
use prep_sql::Relation;
use serde::Serialize;
use thiserror::Error;

use crate::kinds::generator::{
    self, AFTER, GENERATOR_PORT, GENERATORS, SEED, SeededGenerator, check_generator,
};
use crate::kinds::{FunctionStep, StepKind};
use crate::located::{Subject, error_at};
use crate::relation::{BATCH_ROWS, open_table};
use crate::value::{TableWriter, VALUE_OUTPUT, column, input};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "the draws",
            doc: "Draws random values for each row of a table, one row after another, from one generator. The new table has a row for each row of the given table, and contains only the drawn values. To combine both tables, join them by the hidden column `_row`.",
            keys: &[
                SectionKey::required("draws", KeyType::Table, "The table.", "sentences"),
                SectionKey::required(
                    "generator",
                    KeyType::Word(GENERATORS),
                    "The library whose generator draws the values.",
                    "numpy",
                ),
                SEED,
                AFTER,
                SectionKey::required(
                    "values",
                    KeyType::Items(DRAWS),
                    "The values to draw for a row, in this order. Each value is written like `{ NAME: uniform }`, where `NAME` is the name of its column. Later values may refer to earlier ones.",
                    "[{ u: uniform }, { place: integers, low: 1, high: words, when: u <= 0.01 AND words > 2 }]",
                ),
            ],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let items = declaration.items("values").iter();
            items
                .map(|item| {
                    let kind = match item.section.name {
                        "integers" | "choice" => prep_spec::model::ColumnKind::Integer,
                        "sample" | "shuffle" => prep_spec::model::ColumnKind::Text,
                        _ => prep_spec::model::ColumnKind::Number,
                    };
                    ProducedColumn::new(&item.name.value, kind)
                })
                .collect()
        }),
        check: Some(check_generator),
    },
    step: |declaration, _| {
        let items = declaration.items("values").iter();
        let draws = Draws {
            seeded: SeededGenerator::declared(declaration)?,
            values: items.map(DrawnValue::declared).collect::<Option<_>>()?,
        };
        // `restart` has no effect. It stays here because the keys of cached results are computed from it.
        let params =
            serde_json::json!({ "seeded": draws.seeded, "restart": false, "values": draws.values });
        let run = move |context: &Context, inputs: &Inputs| draws.run(context, inputs);
        FunctionStep::with_outputs("draws", 2, params, run).step()
    },
};

const DRAWS: &[&Section] = &[&UNIFORM, &INTEGERS, &CHOICE, &SAMPLE, &SHUFFLE];

const WHEN: SectionKey = SectionKey::optional(
    "when",
    KeyType::Condition,
    "Condition. If it is false, nothing is drawn and the value is missing.",
    "u <= 0.01 AND words > 2",
);

const UNIFORM: Section = Section {
    name: "uniform",
    doc: "Draws a double from `low` up to `high`.",
    keys: &[
        SectionKey::optional("low", KeyType::Operand, "Lower bound. Default: 0.", "-1"),
        SectionKey::optional("high", KeyType::Operand, "Upper bound. Default: 1.", "1"),
        WHEN,
    ],
};

const INTEGERS: Section = Section {
    name: "integers",
    doc: "Draws an integer from `low` up to, but not including, `high`. The generator `numpy` uses the function `randint`, `numpy_generator` uses `integers`, and `python` uses `randrange`.",
    keys: &[
        SectionKey::optional("low", KeyType::Operand, "Smallest value. Default: 0.", "1"),
        SectionKey::required(
            "high",
            KeyType::Operand,
            "Upper bound, which is not included.",
            "words",
        ),
        WHEN,
    ],
};

const CHOICE: Section = Section {
    name: "choice",
    doc: "Draws an index from 0 up to, but not including, `of`, like the generator's function `choice`.",
    keys: &[
        SectionKey::required("of", KeyType::Operand, "Number of items.", "3"),
        WHEN,
    ],
};

const SAMPLE: Section = Section {
    name: "sample",
    doc: "Draws distinct integers from `low` up to, but not including, `high`. The generator `python` uses the function `sample`, and `numpy` uses `choice` without replacement. The generator `numpy_generator` does not support this. The value is one string with these integers in random order, separated by spaces.",
    keys: &[
        SectionKey::optional("low", KeyType::Operand, "Smallest value. Default: 0.", "1"),
        SectionKey::required(
            "high",
            KeyType::Operand,
            "Upper bound, which is not included.",
            "21",
        ),
        SectionKey::required("count", KeyType::Operand, "Number of integers.", "20"),
        WHEN,
    ],
};

const SHUFFLE: Section = Section {
    name: "shuffle",
    doc: "Shuffles the integers from 0 up to, but not including, `of`, with Python's `shuffle` or NumPy's `permutation`. The value is one string with the shuffled integers, separated by spaces. If the column is `x`, `split_part(x, ' ', 1)` is the first integer.",
    keys: &[
        SectionKey::required("of", KeyType::Operand, "Number of items.", "5"),
        WHEN,
    ],
};

/// `shuffle` can write at most this number of integers into one cell. More are an error.
const MAX_SHUFFLED: u32 = 1 << 24;

#[derive(Debug, Error)]
enum DrawError {
    #[error("row {row}: `{drawn}` cannot shuffle {of} items; it can shuffle 0 to {MAX_SHUFFLED}")]
    TooMany { row: u64, drawn: String, of: i64 },
    #[error("row {row}: `{column}` is not {expected}, but drawing `{drawn}` needs one")]
    Missing {
        row: u64,
        column: String,
        expected: &'static str,
        drawn: String,
    },
    #[error("row {row}: `{drawn}` cannot be drawn")]
    Rejected {
        row: u64,
        drawn: String,
        #[source]
        cause: RandomError,
    },
    #[error("there is no column `{0}`")]
    NoColumn(String),
}

#[derive(Debug, Clone, Serialize)]
struct DrawnValue {
    name: String,
    draw: Draw,
    when: Vec<Comparison>,
    #[serde(skip)]
    span: Span,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum Draw {
    Uniform {
        low: Operand,
        high: Operand,
    },
    Integers {
        low: Operand,
        high: Operand,
    },
    Choice {
        of: Operand,
    },
    Shuffle {
        of: Operand,
    },
    Sample {
        low: Operand,
        high: Operand,
        count: Operand,
    },
}

impl DrawnValue {
    fn declared(item: &Item) -> Option<DrawnValue> {
        let operand = |key: &str| match item.get(key) {
            Some(Setting::Operand(operand)) => Some(operand.clone()),
            _ => None,
        };
        let or = |key: &str, default: f64| operand(key).unwrap_or(Operand::Number(default));
        let draw = match item.section.name {
            "uniform" => Draw::Uniform {
                low: or("low", 0.0),
                high: or("high", 1.0),
            },
            "integers" => Draw::Integers {
                low: or("low", 0.0),
                high: operand("high")?,
            },
            "sample" => Draw::Sample {
                low: or("low", 0.0),
                high: operand("high")?,
                count: operand("count")?,
            },
            "shuffle" => Draw::Shuffle { of: operand("of")? },
            _ => Draw::Choice { of: operand("of")? },
        };
        let when = match item.get("when") {
            Some(Setting::Condition(comparisons)) => comparisons.clone(),
            _ => Vec::new(),
        };
        Some(DrawnValue {
            name: item.name.value.clone(),
            draw,
            when,
            span: item.name.span,
        })
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let operands = match &self.draw {
            Draw::Uniform { low, high } | Draw::Integers { low, high } => vec![low, high],
            Draw::Choice { of } | Draw::Shuffle { of } => vec![of],
            Draw::Sample { low, high, count } => vec![low, high, count],
        };
        let when = self
            .when
            .iter()
            .flat_map(|condition| [&condition.left, &condition.right]);
        operands.into_iter().chain(when)
    }

    fn column(&self) -> ColumnSchema {
        let kind = match self.draw {
            Draw::Uniform { .. } => ColumnType::Float64,
            Draw::Integers { .. } | Draw::Choice { .. } => ColumnType::Int64,
            Draw::Sample { .. } | Draw::Shuffle { .. } => ColumnType::Text,
        };
        // An empty sample is an empty string, which is a missing cell.
        let nullable = !self.when.is_empty() || kind == ColumnType::Text;
        column(&self.name, kind, nullable)
    }
}

struct Draws {
    seeded: SeededGenerator,
    values: Vec<DrawnValue>,
}

impl Draws {
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let table = open_table(context, input(inputs, "draws")?)?;
        let columns = self.read_columns(&*table)?;
        let mut rng = self.seeded.start(inputs)?;
        let drawn = self.values.iter().map(DrawnValue::column);
        let mut out = TableWriter::new(context, drawn.collect())?;
        let mut number = 0;
        let indices = columns.iter().map(|(_, index)| *index).collect();
        for values in Arc::clone(&table).scan(indices, BATCH_ROWS) {
            let values = values.map_err(StepError::input)?;
            let arrays = values.columns.iter().map(NumericInput::new);
            let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
            for index in 0..values.rows {
                number += 1;
                let mut row = DrawRow {
                    number,
                    index,
                    columns: &columns,
                    arrays: &arrays,
                    drawn: Vec::with_capacity(self.values.len()),
                };
                for value in &self.values {
                    let cell = row.draw(value, &mut rng)?;
                    match &cell {
                        None => out.cells().missing(),
                        Some(DrawnCell::Integer(value)) => out.cells().integer(*value),
                        Some(DrawnCell::Number(value)) => out.cells().f64(*value),
                        Some(DrawnCell::Text(value)) => out.cells().text(value),
                    }
                    row.drawn.push((&value.name, cell));
                }
                out.end_row()?;
            }
        }
        Ok(Outputs::from([
            (VALUE_OUTPUT.to_owned(), out.finish()?.into_value()),
            (GENERATOR_PORT.to_owned(), generator::into_value(&rng)),
        ]))
    }

    /// Returns the input columns to which the values refer, with their indices.
    fn read_columns(&self, table: &dyn Relation) -> Result<Vec<(String, usize)>, StepError> {
        let mut columns: Vec<(String, usize)> = Vec::new();
        for (index, value) in self.values.iter().enumerate() {
            for operand in value.operands() {
                let Operand::Column(name) = operand else {
                    continue;
                };
                let mut before = self.values.iter().take(index);
                if before.any(|one| one.name == *name) || columns.iter().any(|one| one.0 == *name) {
                    continue;
                }
                let column_index = table.columns().iter().position(|one| one.name == *name);
                let column_index = column_index.ok_or_else(|| {
                    let error = DrawError::NoColumn(name.clone());
                    error_at(Failure::Pipeline, Subject::At(value.span), error)
                })?;
                columns.push((name.clone(), column_index));
            }
        }
        Ok(columns)
    }
}

/// A batch of an input column as numbers.
struct NumericInput {
    /// `None` if the column is not of an integer type, because a cast would remove fractions.
    integers: Option<PrimitiveArray<Int64Type>>,
    numbers: PrimitiveArray<Float64Type>,
}

impl NumericInput {
    fn new(array: &ArrayRef) -> Result<NumericInput, StepError> {
        let cast = |to| cast(array, &to).map_err(StepError::pipeline);
        let integers = match array.data_type().is_integer() {
            true => Some(cast(DataType::Int64)?),
            false => None,
        };
        let numbers = cast(DataType::Float64)?;
        Ok(NumericInput {
            integers: integers.map(|integers| integers.as_primitive::<Int64Type>().clone()),
            numbers: numbers.as_primitive::<Float64Type>().clone(),
        })
    }

    fn number(&self, row: usize) -> Option<f64> {
        self.numbers.is_valid(row).then(|| self.numbers.value(row))
    }

    fn integer(&self, row: usize) -> Option<i64> {
        match &self.integers {
            Some(integers) => integers.is_valid(row).then(|| integers.value(row)),
            None => integer_of(self.number(row)?),
        }
    }
}

/// Returns `None` if the number has a fraction or exceeds 64 bits.
fn integer_of(number: f64) -> Option<i64> {
    // Both bounds are exact doubles. The upper one is `i64::MAX` plus one.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let is_integer = number.fract() == 0.0 && (-BOUND..BOUND).contains(&number);
    is_integer.then_some(number as i64)
}

#[derive(Debug, Clone)]
enum DrawnCell {
    Integer(i64),
    Number(f64),
    Text(String),
}

/// Adds `low` to each drawn integer. Returns the sums as one string, separated by spaces.
fn spaced(drawn: &[u32], low: i64) -> DrawnCell {
    let drawn = drawn.iter();
    let texts = drawn.map(|index| (low + i64::from(*index)).to_string());
    DrawnCell::Text(texts.collect::<Vec<_>>().join(" "))
}

/// A row of the input table for which values are drawn.
struct DrawRow<'r> {
    /// Number of the row in the table, from 1, for errors.
    number: u64,
    /// Index of the row in its batch.
    index: usize,
    /// The input columns to which the values refer. `arrays` contains the cells of the batch in the same order.
    columns: &'r [(String, usize)],
    arrays: &'r [NumericInput],
    /// Name and cell of each value that was already drawn for this row.
    drawn: Vec<(&'r str, Option<DrawnCell>)>,
}

impl DrawRow<'_> {
    /// Draws a value. Returns `None`, and draws nothing, if the value's condition is false.
    fn draw(&self, value: &DrawnValue, rng: &mut Rng) -> Result<Option<DrawnCell>, StepError> {
        for condition in &value.when {
            let (left, right) = (self.number(&condition.left), self.number(&condition.right));
            let holds = left
                .zip(right)
                .is_some_and(|(left, right)| condition.operator.holds(left, right));
            if !holds {
                return Ok(None);
            }
        }
        let number = |operand: &Operand| {
            self.number(operand)
                .ok_or_else(|| self.missing(value, operand, "a number"))
        };
        let integer = |operand: &Operand| {
            self.integer(operand)
                .ok_or_else(|| self.missing(value, operand, "an integer"))
        };
        let rejected = |cause| {
            let error = DrawError::Rejected {
                row: self.number,
                drawn: value.name.clone(),
                cause,
            };
            error_at(Failure::Input, Subject::At(value.span), error)
        };
        Ok(Some(match &value.draw {
            Draw::Uniform { low, high } => {
                let drawn = rng.uniform(number(low)?, number(high)?);
                DrawnCell::Number(drawn.map_err(rejected)?)
            }
            Draw::Integers { low, high } => {
                let drawn = rng.integers(integer(low)?, integer(high)?);
                DrawnCell::Integer(drawn.map_err(rejected)?)
            }
            Draw::Sample { low, high, count } => {
                let (low, high) = (integer(low)?, integer(high)?);
                let numbers = high.checked_sub(low).and_then(|n| u32::try_from(n).ok());
                let count = u32::try_from(integer(count)?).ok();
                let (numbers, count) = numbers
                    .zip(count)
                    .ok_or_else(|| rejected(RandomError::EmptyRange { low, high }))?;
                let drawn = rng.sample(numbers, count).map_err(rejected)?;
                spaced(&drawn, low)
            }
            Draw::Shuffle { of } => {
                let of = integer(of)?;
                let items = u32::try_from(of).ok().filter(|of| *of <= MAX_SHUFFLED);
                let items = items.ok_or_else(|| {
                    let (row, drawn) = (self.number, value.name.clone());
                    let error = DrawError::TooMany { row, drawn, of };
                    error_at(Failure::Input, Subject::At(value.span), error)
                })?;
                spaced(&rng.permutation(items), 0)
            }
            Draw::Choice { of } => {
                let items = u32::try_from(integer(of)?).unwrap_or(0);
                DrawnCell::Integer(rng.choice(items).map_err(rejected)?.into())
            }
        }))
    }

    /// Returns the error for an operand that is missing or not of the expected type.
    fn missing(&self, value: &DrawnValue, operand: &Operand, expected: &'static str) -> StepError {
        let column = match operand {
            Operand::Column(name) => name.clone(),
            Operand::Number(number) => number.to_string(),
        };
        let error = DrawError::Missing {
            row: self.number,
            column,
            expected,
            drawn: value.name.clone(),
        };
        error_at(Failure::Input, Subject::At(value.span), error)
    }

    /// Returns the value of an operand: a literal, a value that was drawn for this row, or a cell of the input table.
    fn number(&self, operand: &Operand) -> Option<f64> {
        let name = match operand {
            Operand::Number(number) => return Some(*number),
            Operand::Column(name) => name,
        };
        if let Some((_, cell)) = self.drawn.iter().find(|(drawn_name, _)| drawn_name == name) {
            return match cell.as_ref()? {
                DrawnCell::Integer(value) => Some(*value as f64),
                DrawnCell::Number(value) => Some(*value),
                DrawnCell::Text(_) => None,
            };
        }
        self.array(name)?.number(self.index)
    }

    /// Same as [`number`](Self::number), but returns only integers.
    fn integer(&self, operand: &Operand) -> Option<i64> {
        let name = match operand {
            Operand::Number(number) => return integer_of(*number),
            Operand::Column(name) => name,
        };
        if let Some((_, cell)) = self.drawn.iter().find(|(drawn_name, _)| drawn_name == name) {
            return match cell.as_ref()? {
                DrawnCell::Integer(value) => Some(*value),
                DrawnCell::Number(_) | DrawnCell::Text(_) => None,
            };
        }
        self.array(name)?.integer(self.index)
    }

    fn array(&self, name: &str) -> Option<&NumericInput> {
        let index = self.columns.iter().position(|(one, _)| one == name)?;
        self.arrays.get(index)
    }
}
