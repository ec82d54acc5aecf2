//! `copy`: an unchanged file or directory of the bundle.

use prep_core::{Context, Inputs, StepError, Value};
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::value::{MissingFile, TreeBuilder, memory_of_trees, only_tree};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a copy",
            doc: "An unchanged file of the bundle. If both paths end in `/`, a directory.",
            keys: &[SectionKey::required(
                "copy",
                KeyType::Copied,
                "Path in the bundle. For an output directory, also a list of paths. Each is copied under its file name.",
                "images/",
            )],
        },
        methods: &[],
        makes: Produces::Like("copy"),
        check: None,
    },
    step: |declaration, _| {
        let from = declaration.text("copy")?.to_owned();
        let params = serde_json::json!({ "from": from });
        // If `from` ends in `/`, it is a directory, and all its files are copied.
        let function = FunctionStep::new("copy", 3, params, move |context, inputs| {
            copied(context, inputs, &from)
        });
        function
            .memory(|inputs| (16 << 20) + 2 * memory_of_trees(inputs))
            .step()
    },
};

fn copied(context: &Context, inputs: &Inputs, from: &str) -> Result<Value, StepError> {
    let tree = only_tree(context, inputs)?;
    let mut files = TreeBuilder::default();
    if from.ends_with('/') {
        for file in tree.with_prefix(from) {
            let path = file.path().get(from.len()..).unwrap_or_default();
            files.push_file(path, file);
        }
    } else if let Some(file) = tree.find(from).filter(|file| !file.is_directory()) {
        files.push_file("", file);
    }
    if files.is_empty() {
        return Err(StepError::input(MissingFile::new(&tree, from)));
    }
    let files = files.finish(&context.cancel).map_err(StepError::internal)?;
    files.save(context)
}
