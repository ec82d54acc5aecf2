//! `npy`: entries of an array, in the format of `numpy.save`.

use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::emit::write_npy;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a NumPy array",
            doc: "Entries of an array, in the format of `numpy.save`. The only column of the query is `record`, from a table that was read from an array. The entries keep their type and shape.",
            keys: &[SectionKey::required(
                "npy",
                KeyType::Entries,
                "The rows.",
                "SELECT record FROM frames",
            )],
        },
        methods: &[],
        makes: Produces::File(&[".npy"]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("npy")?;
        FunctionStep::of_query("npy", query, serde_json::json!({}), session, write_npy).step()
    },
};
