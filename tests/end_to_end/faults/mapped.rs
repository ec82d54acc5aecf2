//! Truncates published files while a run reads and maps objects of the cache. The files may be hard links to these
//! objects.

use std::fs;

use super::trouble::{Fault, Target};
use super::worker;
use super::world::{Ending, World};
use crate::kinds;
use crate::support::Random;

#[test]
fn truncated_published_files_do_not_affect_mapped_objects() {
    if worker::preloaded().is_none() {
        return;
    }
    let mut random = Random::new();
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let undisturbed = world.prepare_well(&"the undisturbed run");
        let ledger = world.sandbox.store().join("ledger-v1");
        let forget = || fs::remove_dir_all(&ledger).expect("removed");
        forget();
        let accesses = world.logged_accesses().len();
        for _ in 0..2 * super::tries() {
            // Makes every step run again. The steps use objects that may be hard links to published files.
            forget();
            let target = Target {
                fault: Fault::CutPublished,
                step: None,
                number: random.below(accesses),
            };
            let note = format!("{}: {target:?}, seed {}", world.id, random.seed);
            match world.prepare_with(&target).ending {
                Ending::Stopped => panic!("{note}: stopped"),
                Ending::Done | Ending::Failed(_) => {}
            }
            let after = world.prepare_well(&note);
            assert_eq!(after.contents(), undisturbed.contents(), "{note}");
        }
    }
}
