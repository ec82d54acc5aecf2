//! Chooses the number of connections of a download: as many as make it faster.
//!
//! Each tick compares the throughput with the one before the last increase. If the throughput rose by at least a
//! twentieth, the number is increased again. Otherwise the increase is undone and tried again some time later, because
//! networks change. A response "too many requests" halves the number.

/// Factor by which the throughput has to rise.
const GAIN: f64 = 1.05;

/// Ticks before an increase is tried again.
const PACES_TO_HOLD: u32 = 20;

#[derive(Debug)]
pub(crate) struct Pace {
    connections: usize,
    most: usize,
    /// Number of connections and throughput before the last increase.
    before: Option<(usize, f64)>,
    hold: u32,
}

impl Pace {
    pub(crate) fn new(first: usize, most: usize) -> Pace {
        let most = most.max(1);
        Pace {
            connections: first.clamp(1, most),
            most,
            before: None,
            hold: 0,
        }
    }

    /// Returns the number of connections to use now.
    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// Reports a tick in which all connections were busy and `bytes` bytes arrived.
    pub(crate) fn tick(&mut self, bytes: u64) {
        #[allow(clippy::cast_precision_loss, reason = "a throughput, not a count")]
        let rate = bytes as f64;
        if self.hold > 0 {
            self.hold -= 1;
            return;
        }
        match self.before.take() {
            Some((connections, earlier)) if rate < earlier * GAIN => {
                self.connections = connections;
                self.hold = PACES_TO_HOLD;
            }
            _ if self.connections < self.most => {
                self.before = Some((self.connections, rate));
                let more = (self.connections / 2).max(1);
                self.connections = (self.connections + more).min(self.most);
            }
            _ => {}
        }
    }

    /// Reports that the server is overloaded or limits connections.
    pub(crate) fn slow_down(&mut self) {
        self.connections = (self.connections / 2).max(1);
        self.before = None;
        self.hold = PACES_TO_HOLD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn final_connections(rate: impl Fn(usize) -> u64) -> usize {
        let mut pace = Pace::new(4, 32);
        for _ in 0..15 {
            pace.tick(rate(pace.connections()));
        }
        pace.connections()
    }

    #[test]
    fn connections_grow_only_while_they_bring_more() {
        // Each connection is throttled; the line is full from the start; it is full from ten connections on.
        assert_eq!(
            final_connections(|connections| connections as u64 * 1000),
            32
        );
        assert_eq!(final_connections(|_| 1000), 4);
        assert_eq!(
            final_connections(|connections| connections.min(10) as u64 * 1000),
            13
        );
    }

    #[test]
    fn an_overloaded_server_gets_fewer() {
        let mut pace = Pace::new(8, 32);
        for expected in [4, 2, 1, 1] {
            pace.slow_down();
            assert_eq!(pace.connections(), expected);
        }
        pace.tick(1_000_000);
        assert_eq!(pace.connections(), 1);
    }
}
