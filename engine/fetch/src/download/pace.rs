//! Chooses the number of connections of a download. It increases the number as long as this makes the download faster.
//!
//! At each tick, the throughput is compared with the throughput before the last increase. If it rose by at least 5
//! percent, the number is increased again. Otherwise the increase is undone. It is tried again later, because networks
//! change. After a response "too many requests", the number is halved.

/// Minimum ratio of the throughput after an increase to the throughput before it.
const MIN_THROUGHPUT_RATIO: f64 = 1.05;

/// Number of ticks after an unsuccessful increase before the next one.
const HOLD_TICKS: u32 = 20;

#[derive(Debug)]
pub(crate) struct Pace {
    connections: usize,
    max_connections: usize,
    /// Number of connections and throughput before the last increase.
    before: Option<(usize, f64)>,
    hold: u32,
}

impl Pace {
    pub(crate) fn new(first: usize, max_connections: usize) -> Pace {
        let max_connections = max_connections.max(1);
        Pace {
            connections: first.clamp(1, max_connections),
            max_connections,
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
            Some((connections, earlier)) if rate < earlier * MIN_THROUGHPUT_RATIO => {
                self.connections = connections;
                self.hold = HOLD_TICKS;
            }
            _ if self.connections < self.max_connections => {
                self.before = Some((self.connections, rate));
                let more = (self.connections / 2).max(1);
                self.connections = (self.connections + more).min(self.max_connections);
            }
            _ => {}
        }
    }

    /// Halves the number of connections, because the server is overloaded or limits connections.
    pub(crate) fn slow_down(&mut self) {
        self.connections = (self.connections / 2).max(1);
        self.before = None;
        self.hold = HOLD_TICKS;
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
    fn connections_increase_only_while_the_throughput_rises() {
        // In these cases, each connection is throttled; the line is saturated from the start; the line is saturated by
        // ten connections.
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
    fn an_overloaded_server_gets_fewer_connections() {
        let mut pace = Pace::new(8, 32);
        for expected in [4, 2, 1, 1] {
            pace.slow_down();
            assert_eq!(pace.connections(), expected);
        }
        pace.tick(1_000_000);
        assert_eq!(pace.connections(), 1);
    }
}
