//! Limits: of rate, of connections, of disk; and several bundles at once.

use crate::common;
use std::time::{Duration, Instant};

use common::{ID, Outcome, World, content};
use prep_core::{Failure, Source};
use prep_fault_server::{At, Bundle, Content, Fault, Kind, Side};
use prep_fetch::KaggleBundle;

#[test]
fn the_rate_is_kept() -> Outcome {
    let bundle = Bundle::new(ID, content(600_000, 1));
    let world = World::with(vec![bundle], Vec::new(), |options| {
        options.max_rate = Some(1_000_000);
    });
    let begin = Instant::now();
    world.run(None)?;
    let time = begin.elapsed();
    assert!(time > Duration::from_millis(550), "{time:?}");
    world.assert_complete(&content(600_000, 1));
    Ok(())
}

#[test]
fn what_does_not_fit_on_the_disk_is_not_begun() {
    // More than any disk has.
    let block = content(1 << 16, 1).into();
    let len = 1 << 60;
    let huge = Bundle::without_digest(ID, Content::Repeat { block, len });
    let world = World::with(vec![huge], Vec::new(), |options| options.piece = 1 << 40);
    let error = world.run(None).unwrap_err();
    assert_eq!(error.failure(), Failure::Machine);
    let text = error.to_string();
    assert!(text.contains("1152922 TB needed"), "{text}");
    assert_eq!(world.server.requests_of(Side::Store).len(), 1);
    assert!(!world.target().exists());
}

#[test]
fn several_bundles_share_the_connections() -> Outcome {
    let ids = ["one", "two", "three"];
    let bundles = (1..)
        .zip(ids)
        .map(|(seed, id)| Bundle::new(id, content(500_000, seed)));
    let throttle = Fault::at(At::Store, Kind::Throttle(1_000_000)).always();
    let world = World::with(bundles.collect(), vec![throttle], |options| {
        options.connections = 2;
    });
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for id in ids {
            let (data, network) = (world.data(), world.network.clone());
            let context = &world.context;
            scope.spawn(move || {
                let source = KaggleBundle::new(id, id, &data, &[], None, network);
                source.run(context).unwrap();
            });
        }
    });
    // 1.5 MB through two connections of 1 MB/s.
    let time = begin.elapsed();
    assert!(time > Duration::from_millis(700), "{time:?}");
    for (seed, id) in (1..).zip(ids) {
        let path = world.data().join(id).join(format!("{id}.zip"));
        assert!(std::fs::read(path)? == content(500_000, seed));
    }
    assert_eq!(world.server.sent(), 1_500_000);
    assert_eq!(world.server.requests_of(Side::Api).len(), 3);
    Ok(())
}
