//! Tests that inject faults into a publication that changes an existing tree.

use std::fs;

use super::trouble::{Fault, Target};
use super::world::World;
use super::{inject, places, tries, worker};
use crate::kinds;
use crate::support::Random;

/// Prepares a tree with a different pipeline, and deletes a file. So the next run has to remove a directory and to
/// restore the file.
fn prepare_other(world: &World, pipeline: &str) {
    let other = pipeline.replace("public:\n", "public:\n  before/: { empty: true }\n");
    assert_ne!(other, pipeline);
    world.sandbox.pipeline(&world.id, &other);
    world.prepare_well(&"before");
    world.sandbox.pipeline(&world.id, pipeline);
    let file = world.sandbox.prepared(&world.id).join("public/sizes.csv");
    fs::remove_file(file).expect("removed");
}

fn leftovers(world: &World) -> usize {
    let prepared = world.sandbox.prepared(&world.id);
    let home = fs::read_dir(prepared.parent().expect("a directory")).expect("read");
    let names = home.map(|entry| entry.expect("read").file_name());
    let of_ours = names.filter(|name| name.to_string_lossy().starts_with(".prep-"));
    of_ours.count()
}

#[test]
fn interrupted_publication_is_never_treated_as_complete() {
    if worker::preloaded().is_none() {
        return;
    }
    let world = World::new(&kinds::directory("archives"));
    let path = format!("pipelines/{}/pipeline.yaml", world.id);
    let pipeline = fs::read_to_string(world.sandbox.path(&path)).expect("pipeline");
    prepare_other(&world, &pipeline);
    let before = world.sandbox.tree(&world.id);
    let accesses = world.logged_accesses();
    let undisturbed = world.sandbox.tree(&world.id);
    assert_ne!(before.contents(), undisturbed.contents());
    let mut random = Random::new();
    for fault in [Fault::Reader, Fault::Writer, Fault::Full, Fault::Stop] {
        let places = places(&accesses, fault);
        let places = &places["publish"];
        assert!(places.len() > 3, "{fault:?}: {places:?}");
        // Tries a failed write at each access, and other faults only at some accesses.
        let all = fault == Fault::Writer;
        let some = (0..4 * tries()).map(|_| random.below(places.len()));
        let chosen: Vec<usize> = match all {
            true => (0..places.len()).collect(),
            false => some.collect(),
        };
        for place in chosen {
            let (step, number) = places[place].clone();
            let target = Target {
                fault,
                step: Some(step),
                number,
            };
            prepare_other(&world, &pipeline);
            inject(&world, &target, &undisturbed, random.seed);
            if fault == Fault::Full {
                assert_eq!(leftovers(&world), 0, "{target:?}: temporary files are left");
            }
            let (old, new) = (before.contents(), undisturbed.contents());
            for (path, content) in world.sandbox.tree(&world.id).contents() {
                let known = [old.get(path), new.get(path)];
                assert!(known.contains(&Some(&content)), "{target:?}: {path}");
            }
            let after = world.prepare_well(&format!("{target:?}"));
            assert_eq!(after.contents(), undisturbed.contents(), "{target:?}");
        }
    }
}
