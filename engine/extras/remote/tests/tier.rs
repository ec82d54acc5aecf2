//! A remote in memory meets the common requirements of the tiers of a cache.

use std::cell::RefCell;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use prep_cache::Digest;
use prep_conformance::{TierCase, check_tier};
use prep_remote::{Link, Remote, SigningKey};

#[test]
fn a_remote_meets_the_requirements_of_a_tier() {
    let shared: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let key = SigningKey::generate("a").unwrap();
    let public = key.public();
    let key = RefCell::new(Some(key));
    let links: RefCell<Vec<Link>> = RefCell::default();
    let link = |key, trusted: &[_]| {
        let remote = Remote::with_store(shared.clone(), "r", key, trusted);
        let link =
            Link::with_remote(remote, true, Arc::new(|_: &prep_remote::LinkWarning| {})).unwrap();
        links.borrow_mut().push(link.clone());
        link
    };
    let damage = |object: &Digest| {
        let listed = shared.list(None).try_collect::<Vec<_>>();
        let name = object.to_string();
        for found in futures::executor::block_on(listed).unwrap() {
            if found.location.as_ref().ends_with(&name[2..]) {
                let put = shared.put(&found.location, vec![7; 100].into());
                futures::executor::block_on(put).unwrap();
            }
        }
    };
    check_tier(&TierCase {
        writer: &|store| link(key.take(), &[]).attach(store),
        reader: &|store| link(None, std::slice::from_ref(&public)).attach(store),
        flush: &|| {
            for link in links.borrow().iter() {
                link.finish(|| false);
            }
        },
        damage: &damage,
    })
    .unwrap();
}
