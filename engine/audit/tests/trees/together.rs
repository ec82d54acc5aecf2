//! Random combinations of changes.

use super::cases::CASES;
use super::*;

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

/// If the changes affect different files, the audit must report the cause of each. If they affect the same file, the reported
/// harm must be at least that of the last change. `ROUNDS=20000 SEED=7 cargo test ...` tests more combinations.
#[test]
fn combined_changes_do_not_hide_each_other() {
    let of_environment = |name: &str, default: u32| {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    let home = tempfile::tempdir().unwrap();
    let ours = home.path().join("ours");
    write(&ours, 0, 0.2);
    let roles = Roles::default();
    let temp = home.path().join("temp");
    let options = options_without_split(&roles, &temp);
    // Excludes changes that write the entire tree again, because they undo other changes. Also excludes the change to
    // CR line endings, because the code of other changes cannot read such lines.
    let is_excluded = |case: &&Case| {
        if case.0 == "line endings CR" {
            return true;
        }
        let mut causes = case.2.iter().map(|one| one.0);
        causes.any(|cause| matches!(cause, "other-split" | "files-other-part"))
    };
    let cases: Vec<&Case> = CASES.iter().filter(|case| !is_excluded(case)).collect();
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
            let changed_paths: Vec<PathBuf> = paths
                .filter(|path| before.get(*path) != after.get(*path))
                .cloned()
                .collect();
            if changed_paths.is_empty() {
                break;
            }
            let is_apart = changed_paths.iter().all(|path| !touched.contains(path));
            if !is_apart {
                chosen.retain(|(_, apart)| *apart);
                chosen.iter_mut().for_each(|(_, apart)| *apart = false);
            }
            touched.extend(changed_paths);
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
