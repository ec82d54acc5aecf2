//! `permute`: the rows of a table in a random order.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::words::{Form, Key, Makes, Section, Value};

use crate::kinds::generator::{
    AFTER, GENERATOR, GENERATORS, SEED, Seeded, check_generator, rows_of,
};
use crate::kinds::{Kind, VALUE};
use crate::value::{TableValue, generator, input};

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "the permutation",
            doc: "The rows of a table in a random order: NumPy's `permutation`, or Python's `random.shuffle`.",
            keys: &[
                Key::required("permute", Value::Table, "The table.", "labelled"),
                Key::required(
                    "generator",
                    Value::Word(GENERATORS),
                    "Which library's generator draws the order.",
                    "python",
                ),
                SEED,
                AFTER,
            ],
        },
        methods: &[],
        makes: Makes::Same("permute"),
        check: Some(|declaration| check_generator(declaration).into_iter().collect()),
    },
    step: |declaration, _| {
        let seeded = Seeded::of(declaration)?;
        Some(Box::new(Permute { seeded }))
    },
};

struct Permute {
    seeded: Seeded,
}

impl Step for Permute {
    fn kind(&self) -> &'static str {
        "permute"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!(self.seeded)
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        let table = inputs.get("permute").map(TableValue::of);
        table.and_then(Result::ok).map_or(0, |table| table.len()) * 8 + (16 << 20)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let table = TableValue::of(input(inputs, "permute")?)?;
        let rows = rows_of(&table)?;
        let mut rng = self.seeded.start(inputs)?;
        let order = rng.permutation(rows);
        Ok(Outputs::from([
            (VALUE.to_owned(), table.choose(context, order)?.into_value()),
            (GENERATOR.to_owned(), generator::into_value(&rng)),
        ]))
    }
}
