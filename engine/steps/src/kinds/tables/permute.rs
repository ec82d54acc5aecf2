//! `permute`: the rows of a table in random order.

use prep_core::Outputs;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::kinds::generator::{
    self, AFTER, GENERATOR_PORT, GENERATORS, SEED, SeededGenerator, check_generator, rows_of,
    rows_of_input,
};
use crate::value::{TableValue, VALUE_OUTPUT, input};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "the permutation",
            doc: "Shuffles the rows of a table, like NumPy's `permutation` or Python's `random.shuffle`.",
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
        check: Some(check_generator),
    },
    step: |declaration, _| {
        let seeded = SeededGenerator::declared(declaration)?;
        let params = serde_json::json!(seeded);
        let function = FunctionStep::with_outputs("permute", 1, params, move |context, inputs| {
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
        function
            .memory(|inputs| rows_of_input(inputs, "permute") * 8 + (16 << 20))
            .step()
    },
};
