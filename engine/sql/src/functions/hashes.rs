//! `md5(text)` and `sha256(text)`: digests of strings in UTF-8, in lower-case hexadecimal digits.

use arrow::array::ArrayRef;
use datafusion_common::Result;
use datafusion_expr::Signature;
use md5::Md5;
use sha2::{Digest, Sha256};

use super::json::texts;
use super::scalar::{SimpleFunction, map_texts};

pub(super) fn functions() -> [SimpleFunction; 2] {
    let text = |fixed| Signature::string(1, fixed);
    [
        SimpleFunction::text("md5", text, hashed::<Md5>),
        SimpleFunction::text("sha256", text, hashed::<Sha256>),
    ]
}

fn hashed<D: Digest>(columns: &[ArrayRef]) -> Result<ArrayRef> {
    map_texts(&texts(&columns[0])?, |_, text| {
        let digest = D::digest(text).to_vec();
        Ok(Some(
            digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    })
}
