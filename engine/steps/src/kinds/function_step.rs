//! Steps that are a function of their inputs and of fixed parameters.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{ColumnSchema, ColumnType};

use super::single_output;
use crate::relation::for_each_file;
use crate::value::{OpenContent, TableWriter};

type RunFunction = dyn Fn(&Context, &Inputs) -> Result<Outputs, StepError> + Send + Sync;

/// A step that calls a function.
pub(crate) struct FunctionStep {
    kind: &'static str,
    version: u32,
    params: serde_json::Value,
    memory: Box<dyn Fn(&Inputs) -> u64 + Send + Sync>,
    run: Box<RunFunction>,
}

impl FunctionStep {
    pub fn new(
        kind: &'static str,
        version: u32,
        params: serde_json::Value,
        run: impl Fn(&Context, &Inputs) -> Result<Outputs, StepError> + Send + Sync + 'static,
    ) -> FunctionStep {
        FunctionStep {
            kind,
            version,
            params,
            memory: Box::new(|_| 64 << 20),
            run: Box::new(run),
        }
    }

    /// A step that builds a table from files. `visit` writes the rows of a file. It can use a state that persists from
    /// one file to the next.
    pub fn of_files<S: Default>(
        kind: &'static str,
        version: u32,
        params: serde_json::Value,
        columns: Vec<ColumnSchema>,
        visit: impl Fn(&mut S, &mut TableWriter<'_>, &str, &OpenContent<'_>) -> Result<(), StepError>
        + Send
        + Sync
        + 'static,
    ) -> FunctionStep {
        FunctionStep::new(kind, version, params, move |context, inputs| {
            let mut table = TableWriter::new(context, columns.clone())?;
            let mut state = S::default();
            for_each_file(context, inputs, &mut |file, opened| {
                visit(&mut state, &mut table, file, opened)?;
                context.progress.add_file();
                Ok(())
            })?;
            Ok(single_output(table.finish()?.into_value()))
        })
    }

    /// Sets the function that returns the step's memory in bytes, given its inputs.
    pub fn memory(self, bytes: impl Fn(&Inputs) -> u64 + Send + Sync + 'static) -> FunctionStep {
        let memory = Box::new(bytes);
        FunctionStep { memory, ..self }
    }

    pub fn step(self) -> Option<Box<dyn Step>> {
        Some(Box::new(self))
    }
}

/// A column of a table that a step writes.
pub(crate) fn column(name: &str, kind: ColumnType, nullable: bool) -> ColumnSchema {
    ColumnSchema {
        name: name.to_owned(),
        kind,
        nullable,
    }
}

impl Step for FunctionStep {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn params(&self) -> serde_json::Value {
        self.params.clone()
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        (self.memory)(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        (self.run)(context, inputs)
    }
}
