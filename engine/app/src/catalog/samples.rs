//! Small made-up bundles that are part of the library, for the demo.

/// A bundle with the layout of a competition's, and submissions for it.
pub struct SampleBundle {
    pub id: &'static str,
    pub bundle: &'static [u8],
    /// Names and contents.
    pub submissions: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/samples.rs"));
