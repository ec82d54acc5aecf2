//! Limits on rate, connections and disk space, and downloads of several bundles at once.

use crate::common;
use std::time::{Duration, Instant};

use common::{Fixture, ID, Outcome, content, search};
use prep_core::{Failure, Source};
use prep_fault_server::{At, Bundle, Content, Fault, Kind, Side};
use prep_fetch::KaggleBundle;

#[test]
fn the_download_rate_is_limited() -> Outcome {
    let bundle = Bundle::new(ID, content(600_000, 1));
    let fixture = Fixture::with(vec![bundle], Vec::new(), |options| {
        options.max_rate = Some(1_000_000);
    });
    let begin = Instant::now();
    fixture.run(None)?;
    let time = begin.elapsed();
    assert!(time > Duration::from_millis(550), "{time:?}");
    fixture.assert_complete(&content(600_000, 1));
    Ok(())
}

#[test]
fn a_bundle_larger_than_the_disk_is_not_downloaded() {
    // The bundle has 2^60 bytes, which is more than the free space of any disk.
    let block = content(1 << 16, 1).into();
    let len = 1 << 60;
    let huge = Bundle::without_digest(ID, Content::Repeat { block, len });
    let fixture = Fixture::with(vec![huge], Vec::new(), |options| options.piece = 1 << 40);
    let error = fixture.run(None).unwrap_err();
    assert_eq!(error.failure(), Failure::Machine);
    let text = prep_core::chain(&error);
    assert!(text.contains("1152922 TB needed"), "{text}");
    assert_eq!(fixture.server.requests_of(Side::Store).len(), 1);
    assert!(!fixture.target().exists());
}

#[test]
fn the_connection_limit_applies_to_all_bundles_together() -> Outcome {
    let ids = ["one", "two", "three"];
    let bundles = (1..)
        .zip(ids)
        .map(|(seed, id)| Bundle::new(id, content(500_000, seed)));
    let throttle = Fault::at(At::Store, Kind::Throttle(1_000_000)).always();
    let fixture = Fixture::with(bundles.collect(), vec![throttle], |options| {
        options.connections = 2;
    });
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for id in ids {
            let (data, network) = (fixture.data(), fixture.network.clone());
            let context = &fixture.context;
            scope.spawn(move || {
                let source = KaggleBundle::new(id, search(id, &data), None, network);
                source.run(context).unwrap();
            });
        }
    });
    // Two connections of 1 MB/s need at least 750 ms for the three bundles, which have 1.5 MB in total.
    let time = begin.elapsed();
    assert!(time > Duration::from_millis(700), "{time:?}");
    for (seed, id) in (1..).zip(ids) {
        let path = fixture.data().join(id).join(format!("{id}.zip"));
        assert!(std::fs::read(path)? == content(500_000, seed));
    }
    assert_eq!(fixture.server.sent(), 1_500_000);
    assert_eq!(fixture.server.requests_of(Side::Api).len(), 3);
    Ok(())
}
