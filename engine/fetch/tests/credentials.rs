//! Where credentials are looked for, in which order, and what is said about them.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use prep_fetch::{Credentials, Found, Origin, Secret, find};

const JSON: &str = r#"{"username":"filed","key":"key-in-json"}"#;

fn key(username: &str, key: &str) -> Credentials {
    Credentials::Key {
        username: username.into(),
        key: Secret::new(key),
    }
}

fn token(token: &str) -> Credentials {
    Credentials::Token(Secret::new(token))
}

fn look(variables: &[(&str, &str)], dirs: &[&Path]) -> Result<Found, prep_fetch::CredentialsError> {
    let env = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    };
    let dirs: Vec<_> = dirs.iter().map(|dir| dir.to_path_buf()).collect();
    find(&env, &dirs)
}

#[test]
fn the_environment_comes_first_then_the_files_in_order() {
    const USER: (&str, &str) = ("KAGGLE_USERNAME", "named");
    const SECRET: (&str, &str) = ("KAGGLE_KEY", "key-in-env");
    const BEARER: (&str, &str) = ("KAGGLE_API_TOKEN", " token-in-env\n");
    let both = "KAGGLE_USERNAME and KAGGLE_KEY";
    type Case<'a> = (
        &'a [(&'a str, &'a str)],
        &'a [(&'a str, &'a str)],
        Credentials,
        &'a str,
    );
    let table: Vec<Case> = vec![
        (
            &[USER, SECRET, BEARER],
            &[("kaggle.json", JSON)],
            key("named", "key-in-env"),
            both,
        ),
        (
            &[USER, BEARER],
            &[],
            token("token-in-env"),
            "KAGGLE_API_TOKEN",
        ),
        (
            &[("KAGGLE_KEY", ""), BEARER],
            &[],
            token("token-in-env"),
            "KAGGLE_API_TOKEN",
        ),
        (
            &[],
            &[("kaggle.json", JSON), ("access_token", "t")],
            key("filed", "key-in-json"),
            "kaggle.json",
        ),
        (
            &[],
            &[("access_token", "t\n"), ("access_token.txt", "u")],
            token("t"),
            "access_token",
        ),
        (
            &[],
            &[("access_token.txt", "u")],
            token("u"),
            "access_token.txt",
        ),
    ];
    for (variables, files, expected, origin) in table {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        let found = look(variables, &[Path::new("/nowhere"), dir.path()]).unwrap();
        assert_eq!(found.credentials, expected, "{origin}");
        assert!(
            found.origin.to_string().ends_with(origin),
            "{}",
            found.origin
        );
        assert_eq!(found.warnings, [""; 0]);
    }
}

#[test]
fn the_configured_folder_stands_in_for_the_usual_ones() {
    let [usual, configured] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    fs::write(usual.path().join("kaggle.json"), JSON).unwrap();
    let file = configured.path().join("access_token");
    fs::write(&file, "t").unwrap();
    let variable = ("KAGGLE_CONFIG_DIR", configured.path().to_str().unwrap());
    let found = look(&[variable], &[usual.path()]).unwrap();
    assert_eq!(found.origin, Origin::File(file));
}

#[test]
fn a_file_that_others_can_read_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kaggle.json");
    fs::write(&path, JSON).unwrap();
    for (mode, warned) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let found = look(&[], &[dir.path()]).unwrap();
        assert_eq!(!found.warnings.is_empty(), warned, "{mode:o}");
        assert!(
            found
                .warnings
                .iter()
                .all(|warning| warning.contains("chmod 600"))
        );
    }
}

#[test]
fn what_is_missing_or_malformed_is_named_without_its_content() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str, &'a str);
    let table: [Case; 6] = [
        (&[("KAGGLE_USERNAME", "a")], "", "", "KAGGLE_KEY is not"),
        (&[("KAGGLE_KEY", "hush")], "", "", "KAGGLE_USERNAME is not"),
        (&[], "", "", "no Kaggle credentials"),
        (
            &[],
            "kaggle.json",
            r#"{"username":"a","key":"hush""#,
            "are not JSON",
        ),
        (
            &[],
            "kaggle.json",
            r#"{"username":"a","hush":"hush"}"#,
            "are not JSON",
        ),
        (&[], "access_token", " \n", "are empty"),
    ];
    for (variables, name, text, expected) in table {
        let dir = tempfile::tempdir().unwrap();
        if !name.is_empty() {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let error = look(variables, &[dir.path()]).unwrap_err();
        let shown = format!("{error}\n{error:?}");
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }
    let nowhere = [Path::new("/nowhere/a"), Path::new("/nowhere/b")];
    let shown = look(&[], &nowhere).unwrap_err().to_string();
    let places = "as kaggle.json, access_token or access_token.txt in /nowhere/a or /nowhere/b";
    assert!(shown.ends_with(places), "{shown}");
}
