//! Steps that call a Rust function with their inputs.

use prep_core::{Context, Inputs, Outputs, Step, StepError, Value};
use prep_formats::pandas::ColumnSchema;
use prep_spec::model::Query;
use prep_sql::Session;

use crate::relation::{QueryRun, for_each_file, query_memory};
use crate::value::{OpenContent, TableWriter, VALUE_OUTPUT};

type RunFunction = dyn Fn(&Context, &Inputs) -> Result<Outputs, StepError> + Send + Sync;
type MemoryFunction = dyn Fn(&Inputs) -> u64 + Send + Sync;

pub(crate) struct FunctionStep {
    kind: &'static str,
    version: u32,
    params: serde_json::Value,
    is_shared: bool,
    memory: Box<MemoryFunction>,
    run: Box<RunFunction>,
}

impl FunctionStep {
    /// Creates a step with a single output.
    pub fn new(
        kind: &'static str,
        version: u32,
        params: serde_json::Value,
        run: impl Fn(&Context, &Inputs) -> Result<Value, StepError> + Send + Sync + 'static,
    ) -> FunctionStep {
        FunctionStep::with_outputs(kind, version, params, move |context, inputs| {
            let value = run(context, inputs)?;
            Ok(Outputs::from([(VALUE_OUTPUT.to_owned(), value)]))
        })
    }

    /// Creates a step with several outputs, which `run` returns by name.
    pub fn with_outputs(
        kind: &'static str,
        version: u32,
        params: serde_json::Value,
        run: impl Fn(&Context, &Inputs) -> Result<Outputs, StepError> + Send + Sync + 'static,
    ) -> FunctionStep {
        FunctionStep {
            kind,
            version,
            params,
            is_shared: true,
            memory: Box::new(|_| 64 << 20),
            run: Box::new(run),
        }
    }

    /// Creates a step that builds a table from the files that its input `files` names. `visit` writes the rows of one file.
    /// The first argument of `visit`, for example a buffer, keeps its value from file to file.
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
            Ok(table.finish()?.into_value())
        })
    }

    /// Creates a step that runs a query. `params` are its other parameters.
    pub fn of_query(
        kind: &'static str,
        query: &Query,
        mut params: serde_json::Value,
        session: &Session,
        run: impl Fn(QueryRun<'_>) -> Result<Value, StepError> + Send + Sync + 'static,
    ) -> FunctionStep {
        params["sql"] = query.key.clone().into();
        let (session, memory_query, query) = (session.clone(), query.clone(), query.clone());
        let function = FunctionStep::new(kind, 5, params, move |context, inputs| {
            run(QueryRun::new(&session, &query, context, inputs))
        });
        function.memory(move |inputs| query_memory(&memory_query, inputs))
    }

    /// Sets the function that estimates the memory in bytes. Default: 64 MiB.
    pub fn memory(self, bytes: impl Fn(&Inputs) -> u64 + Send + Sync + 'static) -> FunctionStep {
        let memory = Box::new(bytes);
        FunctionStep { memory, ..self }
    }

    pub fn version(self, version: u32) -> FunctionStep {
        FunctionStep { version, ..self }
    }

    /// Makes the step run on every machine, without results of other machines.
    pub fn unshared(self) -> FunctionStep {
        let is_shared = false;
        FunctionStep { is_shared, ..self }
    }

    /// Returns the step as the result of a [`StepKind`](super::StepKind)'s function.
    pub fn step(self) -> Option<Box<dyn Step>> {
        Some(Box::new(self))
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

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        (self.memory)(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        // Check for cancellation here, because short functions do not.
        context.check()?;
        (self.run)(context, inputs)
    }
}
