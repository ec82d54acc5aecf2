//! One file per verb.

pub mod cache;
pub mod completions;
pub mod demo;
pub mod grade;
pub mod grade_sample;
pub mod graph;
pub mod list;
pub mod ls;
pub mod plan;
pub mod rules;
pub mod run;
pub mod schema;
pub mod validate;
pub mod why;

use prep_cache::Store;
use prep_fetch::LazyNetwork;

use crate::args::Verb;
use crate::assemble::{Around, Assembly, How, assemble};
use crate::catalog::Catalog;
use crate::error::CliError;
use crate::loading::Loader;
use crate::settings::Settings;
use crate::{Ended, Session};

/// Does what a verb says.
pub fn call(verb: Verb, session: &Session) -> Ended {
    match verb {
        Verb::Demo(verb) => verb.call(session),
        Verb::Run(verb) => verb.call(session),
        Verb::Plan(verb) => verb.call(session),
        Verb::Why(verb) => verb.call(session),
        Verb::List(verb) => verb.call(session),
        Verb::Rules(verb) => verb.call(session),
        Verb::Ls(verb) => verb.call(session),
        Verb::Graph(verb) => verb.call(session),
        Verb::Grade(verb) => verb.call(session),
        Verb::GradeSample(verb) => verb.call(session),
        Verb::Validate(verb) => verb.call(session),
        Verb::Cache(verb) => verb.call(session),
        Verb::Schema(verb) => verb.call(session),
        Verb::Completions(verb) => verb.call(session),
    }
}

/// The built-in competitions, with the user's.
fn catalog(settings: &Settings) -> Result<Catalog, CliError> {
    let mut catalog = Catalog::embedded();
    if let Some(folder) = &settings.pipelines {
        catalog.add_folder(folder)?;
    }
    Ok(catalog)
}

/// The graph of some competitions as a verb sees it that only looks, and the store if there is one. Writes nothing.
fn look(
    session: &Session,
    ids: &[String],
    how: &How,
    network: &LazyNetwork,
) -> Result<(Assembly, Option<Store>), CliError> {
    let settings = &session.settings;
    let catalog = catalog(settings)?;
    let store = existing_store(settings)?;
    let loader = Loader::new(store.as_ref(), &settings.program);
    let around = Around {
        settings,
        loader: &loader,
        engine: &prep_sql::Session::planner(),
        network,
    };
    let assembly = assemble(ids, how, &around, &catalog)?;
    Ok((assembly, store))
}

/// The store for reading, if there is one.
fn existing_store(settings: &Settings) -> Result<Option<Store>, CliError> {
    Ok(Store::open_existing(&settings.store_dir)?)
}
