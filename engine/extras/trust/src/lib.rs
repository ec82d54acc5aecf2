//! Lets third parties check a score: the log of gradings, signed reports, and sealed answers.
//!
//! ```text
//! log       the hash chain in `grades.jsonl`: appends lines, and finds lines that were removed, changed or moved
//! report    signatures over grading reports
//! sealed    private files in one encrypted file
//! age       the format of encrypted files
//! ```
//!
//! `docs/trust.md` states what each part proves, and what it does not.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod age;
mod log;
mod report;
mod sealed;

pub use log::{LogFault, LogWriter, LoggedLine, ReadLog};
pub use report::{ReportRejection, competition_of, reports_of, sign, verify};
pub use sealed::{Identity, Recipient, SealError, SealNote, seal, stated_digest, unseal};
