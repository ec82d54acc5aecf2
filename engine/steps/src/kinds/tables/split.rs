//! `split`: divides the rows of a table into two tables.

mod cut;
mod keys;

use std::sync::Arc;

use prep_core::{Context, Failure, Inputs, Outputs, StepError, Value};
use prep_spec::Diagnostic;
use prep_spec::model::{Declaration, Setting};
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use prep_splits::{
    CutPoint, KeyRole, PythonRandom, Rng, Split, SplitAlgorithm, SplitError, SplitKeys, SplitOrder,
    SplitSize,
};
use prep_sql::Relation;
use thiserror::Error;

use crate::kinds::generator::{self, GENERATOR_PORT, check_generator, rows_of_input};
use crate::kinds::{FunctionStep, StepKind, splits};
use crate::located::{Subject, error_at, error_at_with_help};
use crate::relation::{open_table, single_number};
use crate::value::{TableValue, input};
use cut::CutColumn;

/// Names of a split's outputs, in the order of the tables in the declaration.
pub(crate) const SPLIT_OUTPUTS: [&str; 2] = ["first", "second"];

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "the split",
            doc: "Divides the rows of a table in two: `train, test: { split: labelled, ... }` makes the tables `train` and `test`, which have the same columns. Further keys depend on the method.",
            keys: &[
                SectionKey::required("split", KeyType::Table, "The table to divide.", "labelled"),
                SectionKey::required(
                    "method",
                    KeyType::Method,
                    "The method of division.",
                    "shuffle",
                ),
            ],
        },
        methods: splits::SECTIONS,
        makes: Produces::Parts("split"),
        check: Some(check),
    },
    step: |declaration, _| {
        let keys = ROLES.iter().find_map(|role| {
            let column = declaration
                .has(role.name())
                .then(|| declaration.text(role.name()));
            Some((*role, column??.to_owned()))
        });
        let split = SplitRows {
            method: method(declaration)?,
            keys,
            cut: CutColumn::new(declaration),
        };
        // The version is part of the keys of cached results. Splits whose size a query computes have their own version.
        let version = if is_size_computed(declaration) { 3 } else { 2 };
        let mut params = serde_json::json!({ "method": split.method, "keys": split.keys });
        if let Some(cut) = &split.cut {
            params["cut"] = serde_json::json!(cut);
        }
        // Estimated memory. A cut needs more, for the values of the column and their ranks.
        let bytes_per_row = if split.cut.is_some() { 96 } else { 24 };
        let run = move |context: &Context, inputs: &Inputs| split.run(context, inputs);
        let function = FunctionStep::with_outputs("split", version, params, run);
        function
            .memory(move |inputs| rows_of_input(inputs, "split") * bytes_per_row + (16 << 20))
            .step()
    },
};

const ROLES: [KeyRole; 3] = [KeyRole::Groups, KeyRole::Stratify, KeyRole::Within];

/// Placeholder for a size that a query computes. The key of the step contains this value, so it must not change.
const PLACEHOLDER: SplitSize = SplitSize::Fraction(0.5);

/// Returns the declared method of division with its parameters.
fn method(declaration: &Declaration) -> Option<SplitAlgorithm> {
    let name = declaration.method?.name;
    let method = splits::ALL
        .iter()
        .find(|method| method.section.name == name)?;
    let size = match is_size_computed(declaration) {
        true => Some(PLACEHOLDER),
        false => declaration.share("test_size"),
    };
    (method.method)(declaration, size)
}

fn is_size_computed(declaration: &Declaration) -> bool {
    let size = declaration.get("test_size").map(|size| &size.value);
    matches!(size, Some(Setting::Query(_)))
}

/// Checks the sizes, `seed` and `after`, and that at most one of `groups`, `stratify` and `within` is given.
fn check(declaration: &Declaration) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(Err(error)) = method(declaration).map(|method| method.check())
        && let Some(parameter) = error.parameter()
    {
        found.push(declaration.fault(parameter, "bad-parameter", error.to_string()));
    }
    let keys: Vec<&str> = ROLES.iter().map(|role| role.name()).collect();
    let keys: Vec<&str> = keys
        .into_iter()
        .filter(|key| declaration.has(key))
        .collect();
    if let [first, second, ..] = keys.as_slice() {
        let message = format!("a split cannot have both `{first}` and `{second}`");
        let label = declaration.get(first).map(|first| first.span);
        let fault = declaration.fault(second, "conflicting-keys", message);
        let fault = fault
            .help("use one of the two keys, and split a resulting table again with the other key");
        found.push(match label {
            Some(first) => fault.label(first, "first here"),
            None => fault,
        });
    }
    if declaration
        .method
        .is_some_and(|method| method.name == "cut")
    {
        found.extend(check_cut(declaration));
        let wrong = declaration
            .text("format")
            .and_then(prep_sql::unknown_directive);
        let wrong = match wrong {
            Some(error) => Some(("format", error)),
            None => cut::wrong_from(declaration).map(|error| ("from", error)),
        };
        found.extend(wrong.map(|(key, error)| declaration.fault(key, "bad-parameter", error)));
    }
    found.extend(check_generator(declaration));
    found
}

/// Checks that exactly one key determines the cut, and that `ties` is not used together with `from`.
fn check_cut(declaration: &Declaration) -> Option<Diagnostic> {
    let mut points = cut::POINTS.iter().filter(|key| declaration.has(key));
    let names = "`from`, `test_size` and `train_size`";
    match (points.next(), points.next()) {
        (None, _) => {
            let message = format!("the split `cut` needs one of the keys {names}");
            let fault = declaration.fault("method", "missing-key", message);
            Some(fault.help("for example `from: 2019-07-01` or `test_size: 0.2`"))
        }
        (Some(first), Some(second)) => {
            let message = format!("a cut cannot have both `{first}` and `{second}`");
            let fault = declaration.fault(second, "conflicting-keys", message);
            Some(
                fault.help("remove one of them, because each of these keys determines both tables"),
            )
        }
        (Some(&"from"), None) if declaration.has("ties") => {
            let message = "`ties` has no effect with `from`";
            let fault = declaration.fault("ties", "conflicting-keys", message);
            Some(fault.help("remove it: rows whose value equals `from` are in the second table"))
        }
        _ => None,
    }
}

#[derive(Debug, Error)]
enum SplitTableError {
    #[error("the table has {0} rows; a split takes at most 4,294,967,294")]
    TooLong(u64),
    #[error(
        "only row {row} has the value {value} in `{column}`, but `stratify` needs two rows of each class; use a query to leave such rows out or to merge small classes"
    )]
    LoneClass {
        column: String,
        value: String,
        row: usize,
    },
    #[error("the {rows} rows whose `{column}` is {value} cannot be split")]
    Group {
        column: String,
        value: String,
        rows: u32,
        #[source]
        cause: Box<SplitError>,
    },
    #[error("`{method}` can continue only the generator `python`, not the generator `{found}`")]
    OtherGenerator {
        method: &'static str,
        found: &'static str,
    },
}

struct SplitRows {
    method: SplitAlgorithm,
    /// The column whose values the method uses, and its role.
    keys: Option<(KeyRole, String)>,
    /// The column by which the method cuts.
    cut: Option<CutColumn>,
}

impl SplitRows {
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = input(inputs, "split")?;
        let table = TableValue::decode(value)?;
        let rows = usize::try_from(table.len())
            .ok()
            .filter(|rows| *rows < u32::MAX as usize);
        let rows = rows.ok_or_else(|| {
            let error = SplitTableError::TooLong(table.len());
            error_at(Failure::Input, Subject::Key("split"), error)
        })?;
        let method = match inputs.get("test_size") {
            Some(size) => {
                let size =
                    single_number(context, size).map_err(|error| size_query_error(&error))?;
                let size = SplitSize::from_number(size).map_err(size_error)?;
                self.method.clone().with_test_size(size)
            }
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
        let with_codes = self.keys.as_ref().zip(codes.as_deref());
        let keys = with_codes.map(|((role, _), codes)| SplitKeys { role: *role, codes });
        let rejected = |error| match with_codes {
            Some(((role, column), codes)) => match open_table(context, value) {
                Ok(table) => key_error(error, table, *role, column, codes),
                Err(error) => error,
            },
            None => size_error(error),
        };
        let mut outputs = Outputs::new();
        let parts = match (&method, keys) {
            (
                SplitAlgorithm::PythonSample {
                    test_size,
                    seed,
                    order,
                },
                None,
            ) => {
                let mut generator = match inputs.get(GENERATOR_PORT) {
                    Some(before) => python(&method, generator::load(before)?)?,
                    None => PythonRandom::new((*seed).into()),
                };
                let parts = prep_splits::python_sample(rows as u32, *test_size, &mut generator)
                    .map_err(rejected)?;
                outputs.insert(
                    GENERATOR_PORT.to_owned(),
                    generator::into_value(&Rng::Python(generator)),
                );
                parts.ordered(order.unwrap_or(SplitOrder::Split))
            }
            (
                SplitAlgorithm::Cut {
                    test_size,
                    train_size,
                    ties,
                    order,
                },
                keys,
            ) => {
                let cut = self.cut.as_ref();
                let cut = cut.ok_or_else(|| StepError::internal("a cut has no column"))?;
                let inferred = |column: &str| table.inferred.get(column).copied();
                let relation = open_table(context, value)?;
                let ranked = cut.ranks(context, inputs, relation, inferred)?;
                let point = match &ranked.from {
                    Some(from) => CutPoint::Rank(from.rank),
                    None => CutPoint::Size {
                        test_size: *test_size,
                        train_size: *train_size,
                        ties: *ties,
                    },
                };
                let groups = keys.map(|keys| keys.codes);
                let order = order.unwrap_or(SplitOrder::File);
                let parts = prep_splits::cut(&ranked.ranks, groups, point, order);
                parts.map_err(|error| match (&error, ranked.from) {
                    (SplitError::EmptyPart { part, .. }, Some(from)) if rows > 0 => {
                        cut.one_sided(*part == "test", from, groups.is_some())
                    }
                    _ => rejected(error),
                })?
            }
            _ => prep_splits::split(&method, rows, keys).map_err(rejected)?,
        };
        let Split {
            train: first,
            test: second,
        } = parts;
        let [train, test] = SPLIT_OUTPUTS;
        let choose = |rows| -> Result<Value, StepError> {
            Ok(table.select_rows(context, rows)?.into_value())
        };
        outputs.insert(train.to_owned(), choose(first)?);
        outputs.insert(test.to_owned(), choose(second)?);
        Ok(outputs)
    }
}

/// Returns a generator of Python. Fails for another generator.
fn python(method: &SplitAlgorithm, generator: Rng) -> Result<PythonRandom, StepError> {
    match generator {
        Rng::Python(generator) => Ok(generator),
        other => {
            let error = SplitTableError::OtherGenerator {
                method: method.name(),
                found: other.kind().name(),
            };
            Err(error_at(Failure::Pipeline, Subject::Key("after"), error))
        }
    }
}

/// Returns the key of the declaration that caused an error. Default: `test_size`.
fn key_of(error: &SplitError) -> Subject {
    Subject::Key(error.parameter().unwrap_or("test_size"))
}

/// Adds the location of the size to an error of a split.
fn size_error(error: SplitError) -> StepError {
    error_at(Failure::Pipeline, key_of(&error), error)
}

/// Adds the location to an error of a split. Replaces the number that stands for a group or class by
/// the value of the column.
fn key_error(
    error: SplitError,
    table: Arc<dyn Relation>,
    role: KeyRole,
    column: &str,
    codes: &[u32],
) -> StepError {
    let first = |code: u32| codes.iter().position(|one| *one == code).unwrap_or(0);
    let value = |row| keys::value(&table, column, row);
    let column = column.to_owned();
    let error = match error {
        SplitError::ClassTooSmall { class } => {
            let row = first(class);
            value(row).map(|value| SplitTableError::LoneClass {
                column,
                value,
                row: row + 1,
            })
        }
        SplitError::InGroup {
            group,
            rows,
            source,
        } => value(first(group)).map(|value| SplitTableError::Group {
            column,
            value,
            rows,
            cause: source,
        }),
        other if role == KeyRole::Groups => {
            let help = "with `groups`, sizes count groups, not rows".to_owned();
            return error_at_with_help(Failure::Pipeline, key_of(&other), other, Some(help));
        }
        other => return size_error(other),
    };
    match error {
        Ok(error) => error_at(Failure::Input, Subject::Key(role.name()), error),
        Err(error) => error,
    }
}

/// Adds the location of `test_size` to an error of its query.
fn size_query_error(error: &StepError) -> StepError {
    error_at(
        error.failure(),
        Subject::Key("test_size"),
        prep_core::chain(error),
    )
}
