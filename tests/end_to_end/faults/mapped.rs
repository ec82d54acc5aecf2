//! Published files are written to and cut while a run has stored objects mapped that once were the same files.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prep_app::{Access, WatchAccesses};
use prep_core::{Event, Reporter};

use super::Chance;
use super::trouble::Trouble;
use super::world::{ENOUGH, Ending, World};
use crate::kinds;
use crate::support::Snapshot;

/// Cuts all published files before the access of this number.
struct Scissors {
    prepared: PathBuf,
    at: usize,
    seen: AtomicUsize,
}

impl WatchAccesses for Scissors {
    fn before(&self, _access: Access, _path: &Path) -> io::Result<()> {
        if self.seen.fetch_add(1, Ordering::SeqCst) != self.at {
            return Ok(());
        }
        for path in Snapshot::of(&self.prepared).files() {
            let path = self.prepared.join(path);
            fs::set_permissions(&path, Permissions::from_mode(0o644))?;
            OpenOptions::new().write(true).open(&path)?.set_len(1)?;
        }
        Ok(())
    }
}

impl Reporter for Scissors {
    fn event(&self, _event: &Event) {}
}

#[test]
fn cutting_published_files_hurts_no_run_that_reads_what_they_were_made_of() {
    let mut chance = Chance::new();
    for folder in kinds::folders() {
        let world = World::new(&folder);
        let whole = world.prepare_well(&"whole");
        let ledger = world.sandbox.store().join("ledger-v1");
        let forget = || fs::remove_dir_all(&ledger).expect("removed");
        forget();
        let quiet = Arc::new(Trouble::new(None));
        assert_eq!(world.prepare(&quiet, ENOUGH), Ending::Done);
        let accesses = quiet.seen().len();
        for _ in 0..2 * super::tries() {
            // Every step runs again, over objects that are published files, too.
            forget();
            let at = chance.below(accesses);
            let note = format!("{}: cut at {at}, seed {}", world.id, chance.seed);
            let scissors = Arc::new(Scissors {
                prepared: world.sandbox.prepared(&world.id),
                at,
                seen: AtomicUsize::new(0),
            });
            match world.prepare_watched(scissors, ENOUGH) {
                Ending::Stopped => panic!("{note}: stopped"),
                Ending::Done | Ending::Failed(_) => {}
            }
            let after = world.prepare_well(&note);
            assert_eq!(after.contents(), whole.contents(), "{note}");
        }
    }
}
