//! Tests that inject faults into every kind of step. A preloaded library makes file accesses fail (`tests/faults`).
//!
//! After a fault, the exit code and the reason are right, and only complete data are published.
//! The next run produces the files of an undisturbed run.
//!
//! The pipelines are those of `kinds`, which together use every kind of table and output. A first run lists the
//! accesses of each step.
//! For each kind of step and each [`Fault`], some accesses fail: `PREP_FAULTS` of them (default: 1).

mod input;
#[path = "../../faults/mod.rs"]
mod library;
mod mapped;
mod program;
mod publication;
mod trouble;
mod worker;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prep_spec::model::{Declaration, Output, Setting, TableOrigin};

use crate::kinds;
use crate::support::{Random, Snapshot, skipped};
use trouble::{Fault, LoggedAccess, Target};
use world::{Ending, World};

/// Compiles the library. Returns `None` if it cannot be compiled or preloaded.
pub(crate) fn library(directory: &Path) -> Option<PathBuf> {
    library::library(directory).map_err(skipped).ok()
}

/// Returns how many accesses fail for each kind of step and fault.
fn tries() -> usize {
    std::env::var("PREP_FAULTS").map_or(1, |text| text.parse().expect("PREP_FAULTS is a number"))
}

fn used(outputs: &[Output], words: &mut BTreeSet<String>) {
    for output in outputs {
        uses(&output.declaration, words);
    }
}

fn uses(declaration: &Declaration, words: &mut BTreeSet<String>) {
    words.insert(declaration.form.head().to_owned());
    words.extend(declaration.method.map(|method| method.name.to_owned()));
    for (key, setting) in declaration.settings() {
        match (&setting.value, key.name) {
            (Setting::Text(word), "format") => {
                words.insert(format!("format: {word}"));
            }
            (Setting::Outputs(members), _) => used(members, words),
            _ => {}
        }
    }
}

#[test]
fn test_pipelines_cover_every_kind_method_and_format() {
    let vocabulary = prep_steps::vocabulary();
    let mut words = BTreeSet::new();
    let mut texts = String::new();
    for directory in kinds::directories() {
        let text = std::fs::read_to_string(directory.join("pipeline.yaml")).expect("pipeline");
        let pipeline = prep_spec::load(vocabulary, "kinds", "pipeline.yaml", &text, "v1");
        let pipeline =
            pipeline.unwrap_or_else(|faults| panic!("{}: {faults}", directory.display()));
        for table in &pipeline.tables {
            if let TableOrigin::Declared(declaration) = &table.made {
                uses(declaration, &mut words);
            }
        }
        used(&pipeline.public, &mut words);
        used(&pipeline.private, &mut words);
        texts.push_str(&text);
    }
    let mut missing = Vec::new();
    for form in vocabulary.tables.iter().chain(&vocabulary.outputs) {
        let formats = form.section.key("format").map(|key| &key.value);
        let formats = match formats {
            Some(prep_spec::words::KeyType::Word(words)) => *words,
            _ => &[],
        };
        let formats = formats
            .iter()
            .map(|format| format!("format: {}", format.name));
        let methods = form.methods.iter().map(|method| method.name.to_owned());
        let expected = formats.chain(methods).chain([form.head().to_owned()]);
        // Loading converts some kinds to queries, so this searches the text for their keys.
        let is_key = |word: &String| texts.contains(&format!("{word}:"));
        missing.extend(expected.filter(|word| !words.contains(word) && !is_key(word)));
    }
    assert!(
        missing.is_empty(),
        "no pipeline in tests/end_to_end/kinds has {missing:?}"
    );
}

/// Injects a fault into a run, and checks how the run ends. `undisturbed` is the tree of a run without a fault. Returns
/// whether the fault happened.
fn inject(world: &World, target: &Target, undisturbed: &Snapshot, seed: u64) -> bool {
    let note = format!("{} with {target:?}, seed {seed}", world.id);
    let run = world.prepare_with(target);
    let ending = run.ending;
    let (failures, reason) = target.fault.expected_failures();
    match &ending {
        Ending::Done => {}
        Ending::Stopped => assert_eq!(target.fault, Fault::Stop, "{note}"),
        Ending::Failed(failed) => {
            assert_ne!(target.fault, Fault::Stop, "{note}: {failed:?}");
            for (failure, message) in failed {
                assert!(failures.contains(failure), "{note}: {failure:?}, {message}");
                let found = message.to_lowercase();
                assert!(found.contains(reason), "{note}: {message}");
            }
        }
    }
    let found = world.sandbox.tree(&world.id);
    let is_equal = undisturbed.contents() == found.contents();
    if world.is_complete() || ending == Ending::Done {
        assert!(
            is_equal,
            "{note}: {ending:?}, and the tree differs from that of an undisturbed run"
        );
    }
    run.has_fault_happened
}

/// Injects a fault into a first run, and checks that the next run completes the tree.
fn inject_into_first_run(
    world: &World,
    fault: Fault,
    (step, number): &(String, usize),
    undisturbed: &Snapshot,
    seed: u64,
) -> bool {
    let target = Target {
        fault,
        step: Some(step.clone()),
        number: *number,
    };
    world.clear();
    let happened = inject(world, &target, undisturbed, seed);
    let after = world.prepare_well(&format!("{target:?}"));
    assert_eq!(after.contents(), undisturbed.contents(), "{target:?}");
    happened
}

/// Returns the accesses at which a fault is possible, by kind of step. An access is a step and a number within the step.
fn places(accesses: &[LoggedAccess], fault: Fault) -> BTreeMap<&str, Vec<(String, usize)>> {
    let mut places: BTreeMap<&str, Vec<(String, usize)>> = BTreeMap::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for one in accesses {
        if !one.step.is_empty() && fault.can_affect(one) {
            let number = numbers.entry(&one.step).or_default();
            let place = (one.step.clone(), *number);
            places.entry(&one.kind).or_default().push(place);
            *number += 1;
        }
    }
    places
}

/// Injects faults into steps that read and write at the same time. Two steps unpack archives sequentially. The third
/// rewrites cells of a table as pandas prints them.
#[test]
fn faults_in_steps_that_read_and_write_lose_nothing() {
    if worker::preloaded().is_none() {
        return;
    }
    let mut random = Random::new();
    for (directory, steps) in [
        ("archives", &["unpack/t.tar.gz", "unpack/p.7z"][..]),
        ("formats", &["table/printed"]),
    ] {
        let world = World::new(&kinds::directory(directory));
        let accesses = world.logged_accesses();
        let undisturbed = world.sandbox.tree(&world.id);
        for step in steps {
            let own: Vec<LoggedAccess> = accesses
                .iter()
                .filter(|one| one.step == *step)
                .cloned()
                .collect();
            for fault in Fault::ALL {
                let places = places(&own, fault);
                let Some(places) = places.values().next() else {
                    assert!(
                        matches!(fault, Fault::Damage | Fault::Cut),
                        "{step}: {fault:?}"
                    );
                    continue;
                };
                for _ in 0..2 * tries() {
                    let place = &places[random.below(places.len())];
                    inject_into_first_run(&world, fault, place, &undisturbed, random.seed);
                }
            }
        }
    }
}

#[test]
fn faults_in_every_kind_of_step_lose_nothing() {
    if worker::preloaded().is_none() {
        return;
    }
    let mut random = Random::new();
    let mut tries_by_kind: BTreeMap<Fault, BTreeMap<String, usize>> = BTreeMap::new();
    let (mut tried, mut happened) = (0, 0);
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let accesses = world.logged_accesses();
        let undisturbed = world.sandbox.tree(&world.id);
        for fault in Fault::ALL {
            for (kind, places) in places(&accesses, fault) {
                let tries_of_kind = tries_by_kind.entry(fault).or_default();
                let tries_of_kind = tries_of_kind.entry(kind.to_owned()).or_default();
                while *tries_of_kind < tries() {
                    *tries_of_kind += 1;
                    tried += 1;
                    let place = &places[random.below(places.len())];
                    let has_happened =
                        inject_into_first_run(&world, fault, place, &undisturbed, random.seed);
                    happened += usize::from(has_happened);
                }
            }
        }
    }
    let kinds = tries_by_kind[&Fault::Writer].len();
    assert!(kinds >= 15, "{kinds} kinds of steps: {tries_by_kind:?}");
    assert!(
        10 * happened >= 9 * tried,
        "{happened} of {tried} faults happened"
    );
}
