//! The places in which credentials are searched, their order, and the messages about them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use prep_fetch::{
    CredentialVariables, CredentialsError, FoundCredentials, KaggleCredentials, Origin, Secret,
    find_credentials,
};
use tempfile::TempDir;

const JSON: &str = r#"{"username":"filed","key":"key-in-json"}"#;
const LOGIN: &str = r#"{"refresh_token":"refresh","access_token":"access","access_token_expiration":"2026-01-01T00:00:00+00:00","username":"logged-in","scopes":[]}"#;

fn key(username: &str, key: &str) -> KaggleCredentials {
    KaggleCredentials::Key {
        username: username.into(),
        key: Secret::new(key),
    }
}

fn token(token: &str) -> KaggleCredentials {
    KaggleCredentials::Token(Secret::new(token))
}

struct Fixture {
    home: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Fixture {
    fn new() -> Fixture {
        let home = crate::temporary::directory();
        fs::create_dir(home.path().join(".kaggle")).unwrap();
        Fixture {
            home,
            variables: Vec::new(),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Fixture {
        self.variables.push((name, value.into()));
        self
    }

    fn file(self, name: &str, text: &str) -> Fixture {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(".kaggle").join(name)
    }

    fn find(&self) -> Result<FoundCredentials, CredentialsError> {
        let variable = |name: &str| {
            let found = self.variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.clone())
        };
        let dirs = [".kaggle", ".config/kaggle"].map(|dir| self.home.path().join(dir));
        find_credentials(&CredentialVariables {
            variable: &variable,
            home: Some(self.home.path()),
            config_dirs: &dirs,
        })
    }
}

/// A place of credentials: its name, functions that add it with and without credentials, and the expected credentials.
type CredentialPlace = (
    &'static str,
    fn(Fixture) -> Fixture,
    fn(Fixture) -> Fixture,
    fn() -> Option<KaggleCredentials>,
);

/// The places in the order of Kaggle's SDK. A login is identified only by its file.
const PLACES: [CredentialPlace; 8] = [
    (
        "notebook-token",
        |fixture| notebook(fixture, "in-notebook\n"),
        |fixture| notebook(fixture, " "),
        || Some(token("in-notebook")),
    ),
    (
        "KAGGLE_API_TOKEN",
        |fixture| fixture.with("KAGGLE_API_TOKEN", " in-env\n"),
        |fixture| fixture.with("KAGGLE_API_TOKEN", " "),
        || Some(token("in-env")),
    ),
    (
        "token-file",
        |fixture| {
            let path = fixture.path("token-file").display().to_string();
            fixture
                .file("token-file", "in-file\n")
                .with("KAGGLE_API_TOKEN", path)
        },
        |fixture| {
            let path = fixture.path("token-file").display().to_string();
            fixture
                .file("token-file", "\n")
                .with("KAGGLE_API_TOKEN", path)
        },
        || Some(token("in-file")),
    ),
    (
        "access_token",
        |fixture| fixture.file("access_token", "saved\n"),
        |fixture| fixture.file("access_token", " \n"),
        || Some(token("saved")),
    ),
    (
        "access_token.txt",
        |fixture| fixture.file("access_token.txt", "\tsaved-as-text\r\n"),
        |fixture| fixture.file("access_token.txt", ""),
        || Some(token("saved-as-text")),
    ),
    (
        "KAGGLE_USERNAME and KAGGLE_KEY",
        |fixture| {
            fixture
                .with("KAGGLE_USERNAME", "named")
                .with("KAGGLE_KEY", "key-in-env")
        },
        |fixture| fixture.with("KAGGLE_USERNAME", "named"),
        || Some(key("named", "key-in-env")),
    ),
    (
        "kaggle.json",
        |fixture| fixture.file("kaggle.json", JSON),
        |fixture| fixture.file("kaggle.json", r#"{"path":"/data","proxy":""}"#),
        || Some(key("filed", "key-in-json")),
    ),
    (
        "credentials.json",
        |fixture| fixture.file("credentials.json", LOGIN),
        |fixture| fixture.file("credentials.json", r#"{"refresh_token":""}"#),
        || None,
    ),
];

fn notebook(fixture: Fixture, text: &str) -> Fixture {
    let path = fixture.path("notebook-token").display().to_string();
    fixture
        .file("notebook-token", text)
        .with("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
        .with("KAGGLE_DATA_PROXY_URL", "https://dp.kaggle.net")
        .with("KAGGLE_API_V1_TOKEN", path)
}

#[track_caller]
fn assert_found(found: &FoundCredentials, source: &CredentialPlace, place: &str) {
    let (name, _, _, credentials) = source;
    assert!(
        found.origin.to_string().ends_with(name),
        "{place}: {}",
        found.origin
    );
    match credentials() {
        Some(expected) => assert_eq!(found.credentials, expected, "{place}"),
        None => assert!(
            matches!(found.credentials, KaggleCredentials::Login(_)),
            "{place}"
        ),
    }
}

/// Returns whether both places use `KAGGLE_API_TOKEN`. Only one of them can then have credentials.
fn are_same_variable(one: usize, other: usize) -> bool {
    [one, other].iter().all(|number| matches!(number, 1 | 2))
}

#[test]
fn the_order_of_places_equals_that_of_kaggles_sdk() {
    for (first, source) in PLACES.iter().enumerate() {
        let (name, fill, ..) = source;
        let alone = fill(Fixture::new()).find().unwrap();
        assert_found(&alone, source, name);
        assert_eq!(
            (alone.others.len(), alone.warnings),
            (0, Vec::new()),
            "{name}"
        );
        for (second, other) in PLACES.iter().enumerate().skip(first + 1) {
            if are_same_variable(first, second) {
                continue;
            }
            let place = format!("{name} before {}", other.0);
            let both = other.1(fill(Fixture::new())).find().unwrap();
            assert_found(&both, source, &place);
            let others: Vec<String> = both.others.iter().map(ToString::to_string).collect();
            assert_eq!(others.len(), 1, "{place}: {others:?}");
            assert!(others[0].ends_with(other.0), "{place}: {others:?}");
            let place = format!("{name} without credentials, then {}", other.0);
            let skipped = other.1(source.2(Fixture::new())).find().unwrap();
            assert_found(&skipped, other, &place);
            assert_eq!(skipped.warnings, [""; 0], "{place}");
            let place = format!("{name}, and {} without credentials", other.0);
            let alone = other.2(fill(Fixture::new())).find().unwrap();
            assert_found(&alone, source, &place);
        }
    }
}

#[test]
fn a_token_in_place_of_a_key_is_sent_as_a_token() {
    let json = r#"{"username":"a","key":"KGAT_1"}"#;
    for (fixture, origin) in [
        (Fixture::new().with("KAGGLE_KEY", "KGAT_1"), "KAGGLE_KEY"),
        (
            Fixture::new()
                .with("KAGGLE_USERNAME", "a")
                .with("KAGGLE_KEY", "KGAT_1"),
            "KAGGLE_KEY",
        ),
        (Fixture::new().file("kaggle.json", json), "kaggle.json"),
        (
            Fixture::new().file("kaggle.json", r#"{"key":"KGAT_1"}"#),
            "kaggle.json",
        ),
    ] {
        let found = fixture.find().unwrap();
        assert_eq!(found.credentials, token("KGAT_1"));
        assert!(
            found.origin.to_string().ends_with(origin),
            "{}",
            found.origin
        );
    }
}

#[test]
fn the_file_completes_a_user_or_key_in_a_variable() {
    for (variable, json, expected) in [
        ("KAGGLE_USERNAME", r#"{"key":"k"}"#, Some(key("v", "k"))),
        ("KAGGLE_KEY", r#"{"username":"u"}"#, Some(key("u", "v"))),
        // As in Kaggle's tools, the key in the variable and the user name in the file take precedence.
        ("KAGGLE_KEY", JSON, Some(key("filed", "v"))),
        ("KAGGLE_USERNAME", JSON, Some(key("filed", "key-in-json"))),
        ("KAGGLE_USERNAME", r#"{"username":"u"}"#, None),
    ] {
        let found = Fixture::new()
            .with(variable, "v")
            .file("kaggle.json", json)
            .find();
        assert_eq!(
            found.ok().map(|found| found.credentials),
            expected,
            "{variable} {json}"
        );
    }
}

#[test]
fn a_configured_directory_is_searched_in_addition() {
    let configured = crate::temporary::directory();
    let dir = configured.path().to_str().unwrap();
    let fixture = |file: &str, text: &str| {
        Fixture::new()
            .with("KAGGLE_CONFIG_DIR", dir)
            .file(file, text)
    };
    for (file, text) in [
        ("access_token", "t"),
        ("kaggle.json", JSON),
        ("credentials.json", LOGIN),
    ] {
        let fixture = fixture(file, text);
        assert_eq!(
            fixture.find().unwrap().origin,
            Origin::File(fixture.path(file))
        );
    }
    // Kaggle's tools read kaggle.json in the configured directory first.
    let json = configured.path().join("kaggle.json");
    fs::write(&json, r#"{"username":"c","key":"k"}"#).unwrap();
    let found = fixture("kaggle.json", JSON).find().unwrap();
    assert_eq!(
        (found.credentials, found.origin),
        (key("c", "k"), Origin::File(json))
    );
    // Kaggle's tools read tokens only in ~/.kaggle; prep reads them in both directories.
    let saved = configured.path().join("access_token");
    fs::write(&saved, "c").unwrap();
    let found = fixture("kaggle.json", JSON).find().unwrap();
    assert_eq!(found.origin, Origin::File(saved));
    let found = fixture("access_token", "t").find().unwrap();
    assert_eq!(found.credentials, token("t"));
    let fixture = Fixture::new().file("../.config/kaggle/kaggle.json", JSON);
    assert_eq!(
        fixture.find().unwrap().credentials,
        key("filed", "key-in-json")
    );
}

#[test]
fn a_file_readable_by_others_causes_a_warning() {
    for name in ["kaggle.json", "access_token", "credentials.json"] {
        let text = match name {
            "kaggle.json" => JSON,
            "access_token" => "t",
            _ => LOGIN,
        };
        let fixture = Fixture::new().file(name, text);
        for (mode, warned) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(fixture.path(name), Permissions::from_mode(mode)).unwrap();
            let warnings = fixture.find().unwrap().warnings;
            assert_eq!(!warnings.is_empty(), warned, "{mode:o}");
            assert!(warnings.iter().all(|warning| warning.contains("chmod 600")));
        }
    }
}

#[test]
fn errors_name_missing_and_malformed_credentials_without_their_content() {
    // Environment variables, the name and the text of a file, and the expected part of the error.
    type Case<'a> = (&'a [(&'static str, &'a str)], &'a str, &'a str, &'a str);
    let table: [Case; 12] = [
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
            "credentials.json",
            r#"{"refresh_token":"hush""#,
            "are not the JSON",
        ),
        (
            &[],
            "kaggle.json",
            r#"{"username":"a","hush":"hush"}"#,
            "kaggle.json contains no `username` with `key`",
        ),
        (&[], "kaggle.json", "", "kaggle.json is empty"),
        (&[], "access_token", " \n", "access_token is empty"),
        (
            &[],
            "credentials.json",
            r#"{"access_token":"hush"}"#,
            "credentials.json contains no `refresh_token`",
        ),
        (&[], "access_token", "two hush", "contain spaces"),
        (
            &[("KAGGLE_API_TOKEN", "hush\u{e9}")],
            "",
            "",
            "KAGGLE_API_TOKEN contain spaces",
        ),
        (
            &[("KAGGLE_API_TOKEN", "/nowhere/token")],
            "",
            "",
            "cannot read the credentials /nowhere/token",
        ),
    ];
    for (variables, name, text, expected) in table {
        let mut fixture = Fixture::new();
        for (variable, value) in variables {
            fixture = fixture.with(variable, *value);
        }
        if !name.is_empty() {
            fixture = fixture.file(name, text);
        }
        let error = fixture.find().unwrap_err();
        let shown = format!("{error}\n{error:?}");
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }
    let variable = |_: &str| None;
    let dirs = ["/nowhere/a", "/nowhere/b"].map(PathBuf::from);
    let places = CredentialVariables {
        variable: &variable,
        home: None,
        config_dirs: &dirs,
    };
    let shown = format!("{:?}", find_credentials(&places).unwrap_err().remedy());
    let places = "as access_token, access_token.txt or kaggle.json in /nowhere/a or /nowhere/b";
    assert!(shown.contains(places), "{shown}");
}

#[test]
fn malformed_credentials_are_skipped_with_a_warning() {
    let fixture = Fixture::new()
        .file("access_token", "two words")
        .file("kaggle.json", JSON);
    let found = fixture.find().unwrap();
    assert_eq!(found.credentials, key("filed", "key-in-json"));
    assert_eq!(found.warnings.len(), 1);
    let warning = &found.warnings[0];
    assert!(
        warning.starts_with("skipped: the credentials "),
        "{warning}"
    );
    assert!(warning.contains("access_token contain spaces"), "{warning}");
}

#[test]
fn a_token_path_may_begin_with_the_home_directory() {
    let fixture = Fixture::new()
        .file("mine", "t")
        .with("KAGGLE_API_TOKEN", "~/.kaggle/mine");
    let found = fixture.find().unwrap();
    assert_eq!(found.credentials, token("t"));
    assert_eq!(found.origin, Origin::File(fixture.path("mine")));
}

#[test]
fn an_account_is_named_without_its_secret() {
    let [one, other] = ["KGAT_1", "KGAT_2"].map(|text| token(text).account());
    assert!(
        one != other && one.starts_with("token-") && !one.contains("KGAT"),
        "{one}"
    );
    assert_eq!(key("somebody", "k").account(), "somebody");
    let login = Fixture::new()
        .file("credentials.json", LOGIN)
        .find()
        .unwrap();
    assert_eq!(login.credentials.account(), "logged-in");
    assert!(!format!("{login:?}").contains("refresh"), "{login:?}");
}
