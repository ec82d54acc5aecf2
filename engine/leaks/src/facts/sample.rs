//! Facts of the sample submission: its values, and the order of its rows.

use super::{Channel, Facts};
use crate::world::World;

pub(crate) fn collect(world: &World, facts: &mut Facts) {
    let Some(key) = world.key_of(&world.sample) else {
        return;
    };
    for (place, name) in world.sample.names.iter().enumerate() {
        let Some(cells) = world.sample.columns.get(place).filter(|_| place != key) else {
            continue;
        };
        for (row, item) in world.items_of(&world.sample, key) {
            if let Some(cell) = cells.get(row) {
                facts.add(
                    Channel::Sample,
                    &format!("the sample's `{name}`"),
                    item,
                    cell,
                );
            }
        }
    }
    for (row, item) in world.items_of(&world.sample, key) {
        let what = format!("the order of rows in {}", world.sample_path);
        facts.number(Channel::Order, &what, item, row as f64);
    }
}
