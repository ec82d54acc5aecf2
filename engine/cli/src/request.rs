//! Common parts of the verbs that plan, prepare or move competitions have in common: a task of the library, and a loop over ids.

use prep_app::{Catalog, Options, Task};

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::PreparationArgs;
use crate::session::Session;

impl Session {
    /// The competitions that exist.
    pub fn catalog(&self) -> Result<Catalog, CliError> {
        Ok(Catalog::of(&self.settings)?)
    }

    /// A task with these options, whose network is for `purpose`.
    pub fn task(
        &self,
        options: Options,
        limits: &Limits,
        purpose: Purpose,
    ) -> Result<Task, CliError> {
        Ok(Task {
            settings: self.settings.clone(),
            catalog: self.catalog()?,
            options: Options {
                source: options.source.or_else(|| self.source.clone()),
                ..options
            },
            network: downloads::network(self, limits, purpose),
        })
    }

    /// A task that downloads nothing.
    pub fn local_task(&self, args: &PreparationArgs) -> Result<Task, CliError> {
        self.task(args.options(), &Limits::default(), Purpose::Nothing)
    }

    /// Calls `work` for each competition, and prints the errors. Returns the results, and the exit code of the errors.
    /// An interruption ends the loop.
    pub fn each<T>(
        &self,
        ids: &[String],
        mut work: impl FnMut(&str) -> Result<T, CliError>,
    ) -> (Vec<(String, T)>, Exit) {
        let (mut results, mut exits) = (Vec::new(), Vec::new());
        for id in ids {
            match work(id) {
                Ok(result) => results.push((id.clone(), result)),
                Err(error) => {
                    self.printer.error(&error);
                    exits.push(error.exit);
                    if error.exit == Exit::Interrupted {
                        break;
                    }
                }
            }
        }
        (results, Exit::combine(exits))
    }
}
