//! Small bundles with made-up data, which are embedded in the library for the demo.

/// A bundle with the layout of a real competition's bundle, and submissions to grade.
pub struct SampleBundle {
    pub id: &'static str,
    pub bundle: &'static [u8],
    /// Names and contents of the submissions.
    pub submissions: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/samples.rs"));
