//! Bytes on their way to or from the remote, where no step tells of them.

use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use prep_core::units;
use prep_remote::Link;

use crate::output::printer::{Level, Printer};

const REDRAW: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What moved between this machine and the remote, for people; nothing that is zero.
pub fn moved(link: &Link) -> Vec<String> {
    let remote = link.remote();
    let amounts = [
        (remote.received(), "from the remote"),
        (remote.sent(), "to the remote"),
    ];
    let amounts = amounts.into_iter().filter(|(bytes, _)| *bytes > 0);
    let amounts = amounts.map(|(bytes, way)| format!("{} {way}", units::bytes(bytes)));
    amounts.collect()
}

/// Tells on stderr how much moved, until it is dropped: in a line that changes on a terminal, now and then elsewhere.
pub struct Moving {
    stopped: Arc<(Mutex<bool>, Condvar)>,
    ticker: Option<JoinHandle<()>>,
}

impl Moving {
    pub fn new(printer: &Printer, link: &Link) -> Moving {
        let stopped: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (shared, printer, link) = (stopped.clone(), printer.clone(), link.clone());
        let ticker = match printer.level > Level::Quiet {
            // Without a thread nothing is shown.
            true => std::thread::Builder::new()
                .spawn(move || tick(&shared, &printer, &link))
                .ok(),
            false => None,
        };
        Moving { stopped, ticker }
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        let (stopped, wake) = &*self.stopped;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
        if let Some(ticker) = self.ticker.take() {
            // It says nothing but what it said.
            let _ = ticker.join();
        }
    }
}

fn tick(stopped: &(Mutex<bool>, Condvar), printer: &Printer, link: &Link) {
    let bar = std::io::stderr()
        .is_terminal()
        .then(ProgressBar::new_spinner);
    let every = if bar.is_some() { REDRAW } else { LINE_EVERY };
    let begun = Instant::now();
    let mut now = stopped.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*now {
        let woken = stopped.1.wait_timeout(now, every);
        now = woken.unwrap_or_else(PoisonError::into_inner).0;
        let facts = moved(link);
        if *now || facts.is_empty() {
            continue;
        }
        let time = units::duration(begun.elapsed());
        let line = format!("{}, {time}", facts.join(", "));
        match &bar {
            Some(bar) => bar.set_message(line),
            None => printer.message(line),
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}
