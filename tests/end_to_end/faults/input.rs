//! Tests with bundles in which a file is truncated, empty or changed, although the archive's checksums are correct. One
//! test runs the pipelines with little memory.

use prep_core::Failure;

use super::tries;
use super::world::{ENOUGH_MEMORY_BYTES, Ending, World};
use crate::kinds;
use crate::support::Random;

const DAMAGE_KINDS: usize = 3;

/// Returns a damaged copy of `content`: truncated, empty or with three changed bits.
fn damaged(content: &[u8], kind: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = content.to_vec();
    match kind {
        0 => bytes.truncate(bytes.len() / 2),
        1 => bytes.clear(),
        _ => {
            for _ in 0..3 {
                let place = random.below(bytes.len());
                bytes[place] ^= 1 << random.below(8);
            }
        }
    }
    bytes
}

#[test]
fn damaged_member_is_an_input_error() {
    let mut random = Random::new();
    let mut failures = 0;
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let undisturbed = world.prepare_well(&"the undisturbed run");
        let members = kinds::members(&directory);
        for number in 0..DAMAGE_KINDS * 2 * tries() {
            let mut damaged_members = members.clone();
            let place = random.below(members.len());
            let (name, content) = &mut damaged_members[place];
            if content.is_empty() {
                continue;
            }
            let kind = number % DAMAGE_KINDS;
            *content = damaged(content, kind, &mut random);
            let note = format!("{}: {name}, damage {kind}, seed {}", world.id, random.seed);
            world.clear();
            let archive = kinds::archive(&damaged_members);
            let ending = world.with_bundle(&archive, || world.prepare(ENOUGH_MEMORY_BYTES));
            match ending {
                // The damage may have no effect. For example, changed text may still be valid.
                Ending::Done => assert!(world.is_complete(), "{note}"),
                Ending::Stopped => panic!("{note}: stopped"),
                Ending::Failed(failed) => {
                    failures += 1;
                    assert!(!world.is_complete(), "{note}");
                    assert!(!world.sandbox.prepared(&world.id).exists(), "{note}");
                    for (failure, message) in failed {
                        let is_of_input = matches!(failure, Failure::Input | Failure::Check);
                        // A query doubles a changed number. An overflow of the result is an error of the pipeline.
                        let is_too_large = failure == Failure::Pipeline
                            && message.contains("exceeds 64-bit integers");
                        assert!(
                            is_of_input || is_too_large,
                            "{note}: {failure:?}, {message}"
                        );
                    }
                }
            }
            let after = world.prepare_well(&note);
            assert_eq!(after.contents(), undisturbed.contents(), "{note}");
        }
    }
    assert!(failures > 5, "{failures} runs failed");
}

#[test]
fn little_memory_gives_the_same_tree_or_a_memory_error() {
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let undisturbed = world.prepare_well(&"a run with enough memory");
        for memory in [1 << 10, 1 << 20, 16 << 20] {
            world.clear();
            match world.prepare(memory) {
                Ending::Done => {
                    let tree = world.sandbox.tree(&world.id);
                    assert_eq!(tree.contents(), undisturbed.contents(), "{}", world.id);
                }
                Ending::Stopped => panic!("{}: stopped", world.id),
                Ending::Failed(failed) => {
                    assert!(!world.sandbox.prepared(&world.id).exists());
                    for (failure, message) in failed {
                        assert_eq!(failure, Failure::Machine, "{message}");
                        assert!(message.contains("memory"), "{message}");
                    }
                }
            }
        }
    }
}
