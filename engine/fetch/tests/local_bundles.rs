//! Errors of local files that are not the published bundle.

use std::fs;

use prep_core::{Remedy, Source};
use prep_fetch::{FetchError, LocalBundle};

use crate::common::{ID, Outcome, context};

const MD5: &str = "00000000000000000000000000000000";
/// The end of central directory of an empty zip archive.
const EMPTY_ZIP: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// If an archive is intact but has the wrong MD5, Kaggle may have changed it. Only then does the error suggest to
/// accept the file.
#[test]
fn errors_state_what_is_wrong_with_the_file() -> Outcome {
    for (content, expected) in [
        (&b""[..], Some("got an empty file")),
        (b"<!doctype html><title>Log in</title>", Some("got HTML")),
        (b"PK\x03\x04\x14\0\0\0", Some("is truncated")),
        (EMPTY_ZIP, None),
    ] {
        let dir = crate::temporary::directory();
        fs::write(dir.path().join(format!("{ID}.zip")), content)?;
        let bundle = LocalBundle::new(ID, &[dir.path()], Some(MD5));
        let error = bundle.run(&context(&dir)).unwrap_err();
        let message = prep_core::chain(&error);
        let expected_message = expected.unwrap_or("the file is damaged, or Kaggle changed it");
        assert!(message.contains(expected_message), "{message}");
        let remedy = format!("{:?}", prep_core::remedy(&error));
        assert_eq!(
            remedy.contains("AcceptBundle"),
            expected.is_none(),
            "{remedy}"
        );
    }
    Ok(())
}

#[test]
fn an_unpacked_bundle_is_recognized() -> Outcome {
    for (id, up) in [(ID, "../"), ("pack/other", "../../")] {
        let dir = crate::temporary::directory();
        let [users, data] = ["users", "data"].map(|name| dir.path().join(name));
        for (inner, file) in [(&users, "train.csv"), (&data, "prepared.failed")] {
            fs::create_dir_all(inner.join(id))?;
            fs::write(inner.join(id).join(file), "")?;
        }
        let help = |directories: &[&std::path::Path]| {
            let bundle = LocalBundle::new(id, directories, Some(MD5));
            let error = bundle.not_fetched(FetchError::NotAllowed);
            format!("{:?}", prep_core::remedy(&error))
        };
        let found = help(&[&users, &data]);
        let stem = id.trim_start_matches("pack/");
        let command = format!("/users/{id} && zip -0 -r {up}{stem}.zip .`");
        assert!(found.contains(&command), "{found}");
        assert!(
            found.contains(&format!("{:?}", Remedy::AcceptBundle)),
            "{found}"
        );
        assert!(!help(&[&data, &data]).contains("zip -0"));
    }
    Ok(())
}
