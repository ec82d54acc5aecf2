//! `equal-files`: finds files of test items that are also in the training part.
//!
//! Files are treated as equal if their length and CRC-32 are equal. Most data sets contain some copies. They are a risk
//! if many test items have a copy in the training part.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::is_train;
use crate::world::World;

const NAME: &str = "equal-files";

/// Minimum length in bytes. Shorter files are often equal by chance.
const MIN_FILE_BYTES: u64 = 64;

pub(crate) fn find(world: &World) -> Option<LeakFinding> {
    let mut trained: HashMap<(u64, u32), &str> = HashMap::new();
    for file in &world.public.files {
        let is_item = world.item_of_path(&file.path).is_some();
        if is_train(&file.path) && !is_item && file.bytes >= MIN_FILE_BYTES {
            trained.insert((file.bytes, file.crc32), &file.path);
        }
    }
    // A content that several items share does not belong to a single item.
    let mut by_content: BTreeMap<(u64, u32), BTreeSet<usize>> = BTreeMap::new();
    let mut copies: Vec<(usize, String)> = Vec::new();
    let mut files = 0_usize;
    for file in &world.public.files {
        let Some(item) = world.item_of_path(&file.path) else {
            continue;
        };
        files += 1;
        let content = (file.bytes, file.crc32);
        by_content.entry(content).or_default().insert(item);
        if let Some(other) = trained.get(&content) {
            copies.push((item, format!("{} = {other}", file.path)));
        }
    }
    let items: BTreeSet<usize> = copies.iter().map(|(item, _)| *item).collect();
    let share = items.len() as f64 / world.ids.len().max(1) as f64;
    if items.is_empty() {
        return None;
    }
    // A content that all items have, for example a header, is not counted.
    let counted = by_content.iter().filter(|(content, items)| {
        trained.contains_key(*content) && items.len() * 10 <= world.ids.len().max(10)
    });
    let contents = counted.count();
    let is_strong = items.len() >= 10 && share >= 0.01 && contents >= 5;
    let what = format!(
        "{} of {} test items ({:.1} %) have a file that is also in the training part ({files} files of test items)",
        items.len(),
        world.ids.len(),
        100.0 * share
    );
    let examples = copies.into_iter().map(|(_, example)| example);
    let level = LeakLevel::Risk.if_strong(is_strong);
    Some(LeakFinding::new(level, NAME, what).evidence(examples))
}
