//! The named sets are complete and consistent.

use std::collections::BTreeSet;

use prep_splits::{set, set_names, sets_of};

#[test]
fn sets_have_their_published_sizes() {
    let sizes = [
        ("low", 22),
        ("medium", 38),
        ("high", 15),
        ("all", 75),
        ("dev", 7),
        ("systemcard", 30),
        ("lite", 22),
    ];
    for (name, size) in sizes {
        assert_eq!(set(name).map(<[_]>::len), Some(size), "{name}");
    }
    let known: BTreeSet<_> = set_names().collect();
    assert_eq!(known, sizes.iter().map(|(name, _)| *name).collect());
    assert_eq!(set("tiny"), None);
}

#[test]
fn scored_and_development_sets_do_not_overlap() {
    let ids: BTreeSet<_> = ["all", "dev"]
        .into_iter()
        .flat_map(|name| set(name).unwrap())
        .collect();
    assert_eq!(ids.len(), 75 + 7);
    let all = set("all").unwrap();
    assert!(set("systemcard").unwrap().iter().all(|id| all.contains(id)));
}

#[test]
fn sets_of_returns_all_sets_of_an_id() {
    assert_eq!(
        sets_of("spooky-author-identification").collect::<Vec<_>>(),
        ["low", "systemcard", "all"]
    );
    assert_eq!(sets_of("no-such-competition").count(), 0);
}
