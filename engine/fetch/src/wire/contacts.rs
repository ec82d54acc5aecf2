//! Remembers which hosts have answered a request.
//!
//! A download waits for minutes for a host that answered before, because networks come back. A host that has never
//! answered usually does not exist, or there is no network, so requests to it fail soon.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The hosts to which requests were sent.
#[derive(Debug, Default)]
pub(crate) struct Contacts(Mutex<HashMap<String, Contact>>);

#[derive(Debug, Clone, Copy)]
enum Contact {
    Answered,
    /// The host never answered. The first request to it was sent at this time.
    Unanswered(Instant),
}

impl Contacts {
    /// Records that a host answered, with any status.
    pub(crate) fn record_answer(&self, host: &str) {
        let mut contacts = self.0.lock();
        if !matches!(contacts.get(host), Some(Contact::Answered)) {
            contacts.insert(host.to_owned(), Contact::Answered);
        }
    }

    /// Records that a host did not answer a request that was sent at `began`. Returns the time since the first request
    /// to the host, if it never answered.
    pub(crate) fn record_failure(&self, host: &str, began: Instant) -> Option<Duration> {
        let mut contacts = self.0.lock();
        match contacts
            .entry(host.to_owned())
            .or_insert(Contact::Unanswered(began))
        {
            Contact::Answered => None,
            Contact::Unanswered(first) => Some(first.elapsed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_never_answered_have_a_time() {
        let contacts = Contacts::default();
        let minute = Duration::from_secs(60);
        let first = Instant::now().checked_sub(minute).unwrap();
        assert!(contacts.record_failure("a", first) >= Some(minute));
        // A later request does not restart the time.
        assert!(contacts.record_failure("a", Instant::now()) >= Some(minute));
        contacts.record_answer("b");
        assert_eq!(contacts.record_failure("b", first), None);
        contacts.record_answer("a");
        assert_eq!(contacts.record_failure("a", first), None);
    }
}
