//! What the verbs that plan, prepare or move competitions have in common: a task of the library, and a loop over ids.

use prep_app::{Catalog, Options, Task};

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{Conduct, How};
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
            options,
            network: downloads::network(self, limits, purpose),
        })
    }

    /// A task that downloads nothing.
    pub fn local_task(&self, how: &How) -> Result<Task, CliError> {
        let options = how.options(&Conduct::default());
        self.task(options, &Limits::default(), Purpose::Nothing)
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
