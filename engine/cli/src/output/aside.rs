//! Where messages go while something else draws on stderr.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Shows a line above what is drawn.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// The display that draws now, if any. Clones share it.
#[derive(Clone, Default)]
pub struct Aside(Arc<Mutex<Option<Notice>>>);

impl Aside {
    /// From now on, lines go through `notice`; with `None`, to stderr.
    pub fn set(&self, notice: Option<Notice>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = notice;
    }

    /// Shows a line through the display. Returns `false` if there is none.
    pub fn show(&self, text: &str) -> bool {
        let notice = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notice.as_ref().map(|notice| notice(text)).is_some()
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aside").finish_non_exhaustive()
    }
}
