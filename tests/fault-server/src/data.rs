//! The files of a competition, which the API lists and sends one by one.

use serde_json::{Value, json};

use crate::bundle::{Bundle, MemberFile};

const FILES_PER_PAGE: usize = 3;

/// Returns a page of the list. The page token is the page's number.
pub(crate) fn page(bundle: &Bundle, token: &str) -> Value {
    let first = token.parse::<usize>().unwrap_or(0) * FILES_PER_PAGE;
    let files = bundle.files.iter().skip(first).take(FILES_PER_PAGE);
    let files: Vec<Value> = files.map(file).collect();
    let next = match first + FILES_PER_PAGE < bundle.files.len() {
        true => (first / FILES_PER_PAGE + 1).to_string(),
        false => String::new(),
    };
    json!({ "files": files, "nextPageToken": next, "childrenFetchTimeMs": 1 })
}

fn file(file: &MemberFile) -> Value {
    json!({
        "ref": file.path,
        "name": file.path,
        "totalBytes": file.bytes.len(),
        "creationDate": "2024-12-10T09:08:07.000Z",
    })
}

pub(crate) fn summary(bundle: &Bundle) -> Value {
    let bytes: usize = bundle.files.iter().map(|file| file.bytes.len()).sum();
    json!({
        "fileSummaryInfo": {
            "totalFileCount": bundle.files.len(),
            "fileTypes": [{
                "extension": ".csv",
                "fileCount": bundle.files.len(),
                "totalSize": bytes,
            }],
        },
        "columnSummaryInfo": { "totalColumnCount": 0, "columnTypes": [] },
    })
}

/// Returns the name of a file in the store, which stores tables as zip archives.
pub(crate) fn served_name(path: &str) -> String {
    match path.ends_with(".csv") {
        true => format!("{path}.zip"),
        false => path.to_owned(),
    }
}

pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
