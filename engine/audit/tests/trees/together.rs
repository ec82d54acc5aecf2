//! Several changes at once, drawn at random.

use super::cases::CASES;
use super::*;

/// Contents by path.
fn contents(root: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
    }
    found
}

/// Several changes at once. Where they touch different files, each harmful one is named; where they touch one file, nothing
/// less harmful than the last one is named in its place. `ROUNDS=20000 SEED=7 cargo test ...` looks longer.
#[test]
fn changes_together_hide_none() {
    let of_environment = |name: &str, default: u32| {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    let home = tempfile::tempdir().unwrap();
    let ours = home.path().join("ours");
    write(&ours, 0, 0.2);
    let roles = Roles::default();
    let temp = home.path().join("temp");
    let options = plain(&roles, &temp);
    // Changes that write the tree again undo the others, and do not see lines that end in CR.
    let is_whole = |case: &&Case| {
        if case.0 == "cr" {
            return true;
        }
        let mut causes = case.2.iter().map(|one| one.0);
        causes.any(|cause| matches!(cause, "other-split" | "files-other-part"))
    };
    let cases: Vec<&Case> = CASES.iter().filter(|case| !is_whole(case)).collect();
    let mut state = u64::from(of_environment("SEED", 1));
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut wrong, mut done) = (Vec::new(), [0, 0]);
    for _ in 0..of_environment("ROUNDS", 200) {
        let theirs = home.path().join("theirs");
        let _ = fs::remove_dir_all(&theirs);
        write(&theirs, 0, 0.2);
        let mut chosen: Vec<(&Case, bool)> = Vec::new();
        let mut touched = std::collections::BTreeSet::new();
        for _ in 0..2 + random(3) {
            let case = cases[random(cases.len())];
            if chosen.iter().any(|(other, _)| other.0 == case.0) {
                continue;
            }
            let before = contents(&theirs);
            // A change may have removed the file of the next one.
            let change = std::panic::AssertUnwindSafe(|| case.1(&Change(&theirs)));
            let quiet = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            let changed = std::panic::catch_unwind(change).is_ok();
            std::panic::set_hook(quiet);
            let after = contents(&theirs);
            if !changed {
                break;
            }
            let paths = before.keys().chain(after.keys());
            let own: Vec<PathBuf> = paths
                .filter(|path| before.get(*path) != after.get(*path))
                .cloned()
                .collect();
            if own.is_empty() {
                break;
            }
            let is_apart = own.iter().all(|path| !touched.contains(path));
            if !is_apart {
                chosen.retain(|(_, apart)| *apart);
                chosen.iter_mut().for_each(|(_, apart)| *apart = false);
            }
            touched.extend(own);
            chosen.push((case, is_apart));
            if !is_apart {
                break;
            }
        }
        let Some((last, is_apart)) = chosen.last().copied() else {
            continue;
        };
        let names: Vec<&str> = chosen.iter().map(|case| case.0.0).collect();
        let compared = tree::compare(&theirs, &ours, &options).unwrap();
        let report = AuditReport::new(compared.findings);
        let blocks = report.blocks.iter();
        let found: Vec<(&str, Harm)> = blocks.map(|one| (one.cause, one.harm)).collect();
        done[usize::from(is_apart)] += 1;
        let expected: Vec<(&str, Harm)> = match is_apart {
            true => chosen.iter().flat_map(|case| case.0.2).copied().collect(),
            false => last.2.to_vec(),
        };
        for (cause, harm) in &expected {
            let named = found.iter().any(|(id, _)| id == cause);
            let as_bad = found.iter().any(|(_, other)| other >= harm);
            if !as_bad || is_apart && !named {
                wrong.push(format!("{cause} {harm:?} of {names:?}: {found:?}"));
            }
        }
        for (cause, harm) in &found {
            if is_apart && !expected.iter().any(|(id, _)| id == cause) {
                wrong.push(format!("{cause} {harm:?} too many of {names:?}"));
            }
        }
    }
    assert!(done.iter().all(|count| *count > 10), "{done:?}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
