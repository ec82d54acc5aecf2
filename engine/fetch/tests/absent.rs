//! The content of a bundle is known after its file was deleted, until a step needs the bytes.

use crate::common;
use common::{ID, Outcome, World, content};
use prep_core::{Source, SourceState};
use prep_fault_server::Bundle;
use prep_fetch::{CredentialsError, FetchError, KaggleBundle, LazyNetwork};

#[test]
fn a_bundle_that_was_thrown_away_is_still_known() -> Outcome {
    let world = World::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let source = world.source(None);
    assert_eq!(source.state(&world.context)?, SourceState::Missing);
    let value = source.run(&world.context)?.digest();
    let known = SourceState::Known { value };
    std::fs::remove_file(world.target())?;
    assert_eq!(source.state(&world.context)?, known);
    assert_eq!(source.location(), None);
    // If the known MD5 differs from the published one, the content is not used.
    let other = world.source(Some("00000000000000000000000000000000"));
    assert_eq!(other.state(&world.context)?, SourceState::Missing);
    // A run fetches it again.
    let sent = world.server.sent();
    assert_eq!(source.run(&world.context)?.digest(), value);
    assert!(world.server.sent() > sent);
    Ok(())
}

#[test]
fn without_a_network_the_error_tells_where_the_bundle_was_looked_for() {
    let world = World::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let network = LazyNetwork::new(|| Err(CredentialsError::Missing(Vec::new()).into()));
    let source = KaggleBundle::new(ID, ID, &world.data(), &[], None, network);
    let error = source.run(&world.context).unwrap_err().to_string();
    assert!(error.starts_with("no bundle: looked for"), "{error}");
    assert!(error.contains("no Kaggle credentials"), "{error}");
    assert!(world.server.requests().is_empty());
}

#[test]
fn a_lazy_network_is_made_once() -> Outcome {
    let world = World::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (count, network) = (made.clone(), world.network.clone());
    let lazy =
        LazyNetwork::new(
            move || match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Err(FetchError::Cancelled),
                _ => Ok(network.clone()),
            },
        );
    assert!(lazy.get().is_err());
    for _ in 0..3 {
        lazy.clone().get()?;
    }
    assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 2);
    Ok(())
}
