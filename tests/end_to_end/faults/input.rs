//! Tests with truncated, empty or changed files in a bundle with correct checksums, and with little memory.

use prep_core::Failure;

use super::tries;
use super::world::{ENOUGH, Ending, World};
use crate::kinds;
use crate::support::Random;

const DAMAGE_KINDS: usize = 3;

fn damaged(content: &[u8], way: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = content.to_vec();
    match way {
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
    let mut refused = 0;
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let whole = world.prepare_well(&"whole");
        let members = kinds::members(&directory);
        for number in 0..DAMAGE_KINDS * 2 * tries() {
            let mut spoilt_members = members.clone();
            let place = random.below(members.len());
            let (name, content) = &mut spoilt_members[place];
            if content.is_empty() {
                continue;
            }
            let way = number % DAMAGE_KINDS;
            *content = damaged(content, way, &mut random);
            let note = format!("{}: {name}, way {way}, seed {}", world.id, random.seed);
            world.clear();
            let archive = kinds::archive(&spoilt_members);
            let ending = world.with_bundle(&archive, || world.prepare(ENOUGH));
            match ending {
                // The damage may have no effect. For example, changed text may still be valid.
                Ending::Done => assert!(world.is_complete(), "{note}"),
                Ending::Stopped => panic!("{note}: stopped"),
                Ending::Failed(failed) => {
                    refused += 1;
                    assert!(!world.is_complete(), "{note}");
                    assert!(!world.sandbox.prepared(&world.id).exists(), "{note}");
                    for (failure, message) in failed {
                        let blames = matches!(failure, Failure::Input | Failure::Check);
                        // A query that doubles a changed number may fail, which is an error of the pipeline.
                        let is_too_large = failure == Failure::Pipeline
                            && message.contains("exceeds 64-bit integers");
                        assert!(blames || is_too_large, "{note}: {failure:?}, {message}");
                    }
                }
            }
            let after = world.prepare_well(&note);
            assert_eq!(after.contents(), whole.contents(), "{note}");
        }
    }
    assert!(refused > 5, "{refused} refused");
}

#[test]
fn little_memory_gives_the_same_tree_or_a_memory_error() {
    for directory in kinds::directories() {
        let world = World::new(&directory);
        let whole = world.prepare_well(&"enough");
        for memory in [1 << 10, 1 << 20, 16 << 20] {
            world.clear();
            match world.prepare(memory) {
                Ending::Done => {
                    let tree = world.sandbox.tree(&world.id);
                    assert_eq!(tree.contents(), whole.contents(), "{}", world.id);
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
