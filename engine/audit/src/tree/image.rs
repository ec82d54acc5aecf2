//! Compares the pixels of two images.

use std::path::Path;

use prep_contents::pixels::Pixels;
use prep_contents::{ContentsError, DecodingLimits, Result, read};

use crate::causes::Cause;
use crate::finding::AuditFinding;

/// Compares two images with different bytes.
pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    limits: &DecodingLimits,
) -> Result<Vec<AuditFinding>> {
    let decode = |file: &Path| Pixels::decode(&read::read_file(file, limits)?, limits);
    let finding = match (decode(theirs), decode(ours)) {
        (Err(error), _) | (_, Err(error)) if error.is_of_the_system() => return Err(error),
        (Ok(a), Ok(b)) if a == b => {
            AuditFinding::new(Cause::ImageBytes, path).proof("all pixels are equal")
        }
        (Ok(a), Ok(b)) => {
            let finding = AuditFinding::new(Cause::ImagePixels, path);
            match (a.width, a.height) == (b.width, b.height) {
                true => {
                    let differ = a.bytes.iter().zip(&b.bytes).filter(|(x, y)| x != y).count();
                    finding.example(format!("{differ} of {} samples differ", b.bytes.len()))
                }
                false => finding.example(format!(
                    "theirs: {}x{}, ours: {}x{}",
                    a.width, a.height, b.width, b.height
                )),
            }
        }
        (Err(ContentsError::Damaged(reason)), Ok(_)) => {
            AuditFinding::new(Cause::ImageDamaged, path).example(reason)
        }
        (Err(error), Ok(_)) => AuditFinding::new(Cause::NotClassified, path)
            .proof(format!("theirs cannot be decoded: {error}")),
        (_, Err(error)) => AuditFinding::new(Cause::NotClassified, path)
            .proof(format!("ours cannot be decoded: {error}")),
    };
    Ok(vec![finding])
}
