//! Numbers and words as pandas reads them and Python prints them.

pub(in crate::pandas) mod floats;
pub(in crate::pandas) mod integers;
pub(in crate::pandas) mod print;
pub(in crate::pandas) mod shortest;
pub(in crate::pandas) mod words;
