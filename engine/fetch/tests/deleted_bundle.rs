//! If the caller states the content of a deleted bundle, cached results are used. Only a step that needs the bytes of
//! the bundle fails.

use crate::common;
use common::{Fixture, ID, Outcome, content, search};
use prep_cache::Content;
use prep_core::{Source, SourceState};
use prep_fault_server::Bundle;
use prep_fetch::{CredentialsError, FetchError, KaggleBundle, LazyNetwork};

#[test]
fn a_deleted_bundle_has_the_stated_content() -> Outcome {
    let fixture = Fixture::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let source = fixture.source(None);
    assert_eq!(source.state(&fixture.context)?, SourceState::Missing);
    let value = source.run(&fixture.context)?.digest();
    let record = fixture.context.store.source(&fixture.target())?;
    let stated = record.ok_or("no record")?.content();
    std::fs::remove_file(fixture.target())?;
    // The caller does not state the content. The record of the content in the cache does not suffice.
    assert_eq!(source.state(&fixture.context)?, SourceState::Missing);
    assert_eq!(source.location(), None);
    let state = |md5: Option<&str>, stated: &Content| {
        let source = fixture.source(md5).with_content(Some(stated.clone()));
        source.state(&fixture.context)
    };
    let known = SourceState::Known { value };
    assert_eq!(state(None, &stated)?, known);
    assert_eq!(state(stated.md5.as_deref(), &stated)?, known);
    let unverified = Content {
        md5: None,
        ..stated.clone()
    };
    for (md5, stated) in [
        ("00000000000000000000000000000000", &stated),
        (stated.md5.as_deref().ok_or("no MD5")?, &unverified),
    ] {
        assert_eq!(state(Some(md5), stated)?, SourceState::Missing);
    }
    let sent = fixture.server.sent();
    assert_eq!(source.run(&fixture.context)?.digest(), value);
    assert!(fixture.server.sent() > sent);
    Ok(())
}

#[test]
fn the_error_without_a_network_lists_the_searched_paths() {
    let fixture = Fixture::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let network = LazyNetwork::new(|| {
        Err(CredentialsError::Missing {
            dirs: Vec::new(),
            skipped: Vec::new(),
        }
        .into())
    });
    let source = KaggleBundle::new(ID, search(ID, &fixture.data()), None, network);
    let error = prep_core::chain(&source.run(&fixture.context).unwrap_err());
    assert!(error.starts_with("no bundle: looked for"), "{error}");
    assert!(error.contains("no Kaggle credentials"), "{error}");
    assert!(fixture.server.requests().is_empty());
}

#[test]
fn a_lazy_network_is_created_once() -> Outcome {
    let fixture = Fixture::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let created = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (count, network) = (created.clone(), fixture.network.clone());
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
    assert_eq!(created.load(std::sync::atomic::Ordering::Relaxed), 2);
    Ok(())
}
