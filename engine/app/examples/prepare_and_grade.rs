//! Prepares a competition from an existing bundle and grades a submission, without the command line.
//!
//! ```text
//! cargo run --release -p prep-app --example prepare_and_grade -- spaceship-titanic BUNDLES submission.csv DATA
//! ```
//!
//! `BUNDLES` is the directory with `spaceship-titanic.zip`. The example writes the prepared data to `DATA`, and its
//! cache to `DATA/store`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_app::{
    Catalog, Grading, Plan, PreparationOptions, RememberedOptions, Run, Settings, Task,
};
use prep_core::{Cancel, NullReporter};
use prep_fetch::{FetchError, LazyNetwork};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, bundles, submission, data] = &arguments[..] else {
        return Err("expected: ID BUNDLES SUBMISSION.csv DATA".into());
    };
    let settings = Settings {
        data_dir: PathBuf::from(data),
        store_dir: Path::new(data).join("store"),
        pipelines: None,
        packs: None,
        jobs: std::thread::available_parallelism()?.get(),
        memory: 4 << 30,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        boot: None,
        remote: None,
        identity: None,
    };
    let options = PreparationOptions {
        remembered: RememberedOptions {
            source: Some(PathBuf::from(bundles)),
            ..RememberedOptions::default()
        },
        download: false,
        ..PreparationOptions::default()
    };
    let task = Task {
        catalog: Catalog::open(&settings)?,
        settings,
        options,
        network: LazyNetwork::new(|| Err(FetchError::NotAllowed)),
    };
    let ids = [id.clone()];

    // Plan. This writes nothing.
    let plan = Plan::preview(&task, &ids)?;
    println!(
        "{} of {} steps to run",
        plan.work().len(),
        plan.steps(id)?.len()
    );

    // Run. Pass your own reporter to be notified when each step starts and ends.
    let run = Run::begin(&task, &ids, &Cancel::default(), &|note| eprintln!("{note}"))?;
    let preparation = run.execute(Arc::new(NullReporter))?;
    for summary in &preparation.summaries {
        println!(
            "{}: {:?}, {} steps run",
            summary.id, summary.state, summary.steps_run
        );
        for failure in &summary.failures {
            eprintln!("{}", failure.message);
        }
    }

    // Grade.
    let grading = Grading::open(&task.catalog, &task.settings, id)?;
    let report = grading.report_of_path(Path::new(submission))?;
    println!("{}", prep_grade::report::pretty(report.to_json()));
    Ok(())
}
