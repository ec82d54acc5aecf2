//! Prints messages while a progress display draws on stderr.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// Shows a line above the display.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// The display that currently draws on stderr, if any. Clones share it.
#[derive(Clone, Default)]
pub struct Aside(Arc<Mutex<Option<Notice>>>);

impl Aside {
    /// Sets the function that shows lines. With `None`, lines go directly to stderr.
    pub fn set(&self, notice: Option<Notice>) {
        *self.0.lock() = notice;
    }

    /// Shows a line above the display. Returns `false` if there is no display.
    pub fn show(&self, text: &str) -> bool {
        let notice = self.0.lock();
        notice.as_ref().map(|notice| notice(text)).is_some()
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aside").finish_non_exhaustive()
    }
}
