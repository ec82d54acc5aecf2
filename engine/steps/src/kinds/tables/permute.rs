//! `permute`: the rows of a table in random order.

use prep_core::{Inputs, Outputs};
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::kinds::function_step::FunctionStep;
use crate::kinds::generator::{
    AFTER, GENERATOR_PORT, GENERATORS, SEED, SeededGenerator, check_generator, rows_of,
};
use crate::kinds::{StepKind, VALUE_OUTPUT};
use crate::value::{TableValue, generator, input};

pub(crate) static KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "the permutation",
            doc: "The rows of a table in a random order: NumPy's `permutation`, or Python's `random.shuffle`.",
            keys: &[
                SectionKey::required("permute", KeyType::Table, "The table.", "labelled"),
                SectionKey::required(
                    "generator",
                    KeyType::Word(GENERATORS),
                    "The library whose generator draws the order.",
                    "python",
                ),
                SEED,
                AFTER,
            ],
        },
        methods: &[],
        makes: Produces::Same("permute"),
        check: Some(|declaration| check_generator(declaration).into_iter().collect()),
    },
    step: |declaration, _| {
        let seeded = SeededGenerator::declared(declaration)?;
        let params = serde_json::json!(seeded);
        let function = FunctionStep::new("permute", 1, params, move |context, inputs| {
            let table = TableValue::decode(input(inputs, "permute")?)?;
            let rows = rows_of(&table)?;
            let mut rng = seeded.start(inputs)?;
            let order = rng.permutation(rows);
            Ok(Outputs::from([
                (
                    VALUE_OUTPUT.to_owned(),
                    table.select_rows(context, order)?.into_value(),
                ),
                (GENERATOR_PORT.to_owned(), generator::into_value(&rng)),
            ]))
        });
        function.memory(memory).step()
    },
};

fn memory(inputs: &Inputs) -> u64 {
    let table = inputs.get("permute").map(TableValue::decode);
    table.and_then(Result::ok).map_or(0, |table| table.len()) * 8 + (16 << 20)
}
