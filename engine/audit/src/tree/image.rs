//! Two images: equal pixels or not.

use std::io;
use std::path::Path;

use prep_contents::pixels::Pixels;

use crate::causes::images;
use crate::finding::Finding;

pub(super) fn compare(path: &str, theirs: &Path, ours: &Path) -> io::Result<Vec<Finding>> {
    let (a, b) = (std::fs::read(theirs)?, std::fs::read(ours)?);
    let finding = match (Pixels::decode(&a), Pixels::decode(&b)) {
        (Ok(a), Ok(b)) if a == b => {
            Finding::new(&images::IMAGE_BYTES, path).proof("all pixels are equal")
        }
        (Ok(a), Ok(b)) => {
            let finding = Finding::new(&images::IMAGE_PIXELS, path);
            match (a.width, a.height) == (b.width, b.height) {
                true => {
                    let differ = a.bytes.iter().zip(&b.bytes).filter(|(x, y)| x != y).count();
                    finding.example(format!("{differ} of {} samples differ", b.bytes.len()))
                }
                false => finding.example(format!(
                    "{}x{} there, {}x{} here",
                    a.width, a.height, b.width, b.height
                )),
            }
        }
        (Err(reason), Ok(_)) => Finding::new(&images::IMAGE_DAMAGED, path).example(reason),
        (_, Err(reason)) => Finding::new(&crate::causes::NOT_CLASSIFIED, path)
            .proof(format!("ours cannot be decoded: {reason}")),
    };
    Ok(vec![finding])
}
