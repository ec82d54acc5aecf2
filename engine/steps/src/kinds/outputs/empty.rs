//! `empty`: an empty directory.

use prep_core::StepError;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use serde_json::Value::Null;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::value::{Tree, TreeEntry};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "an empty directory",
            doc: "A directory without files.",
            keys: &[SectionKey::required(
                "empty",
                KeyType::True,
                "Always `true`.",
                "true",
            )],
        },
        methods: &[],
        makes: Produces::Empty,
        check: None,
    },
    step: |_, _| {
        let function = FunctionStep::new("empty", 3, Null, |context, _| {
            let directory = TreeEntry {
                path: String::new(),
                content: None,
            };
            let tree = Tree::new(vec![directory]).map_err(StepError::internal)?;
            tree.save(context)
        });
        function.step()
    },
};
