//! A local bundle meets the requirements that hold for every source.

use std::fs;

use prep_conformance::{SourceCase, check_source};
use prep_fetch::LocalBundle;

use crate::common::{ID, Outcome, content};

#[test]
fn a_local_bundle_meets_the_requirements_of_a_source() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join(format!("{ID}.zip"));
    fs::write(&path, content(100_000, 1))?;
    check_source(&SourceCase {
        source: &LocalBundle::new(ID, &[dir.path()], None),
        change: &|| fs::write(&path, content(100_000, 2)).unwrap(),
        remove: &|| fs::remove_file(&path).unwrap(),
    })?;
    Ok(())
}
