//! Measures the time of queries of growing size: `cargo bench -p prep-sql --bench growth [NAME]`.
//!
//! The size doubles from each line of the output to the next. The time should double, too.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its results"
)]

#[path = "../tests/support/wide.rs"]
mod wide;

use prep_sql::Session;

fn main() {
    // Deep plans are traversed recursively, which needs a large stack.
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let measured = thread.spawn(measure).expect("a thread");
    measured.join().expect("the measurements");
}

fn measure() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let session = Session::new(&std::env::temp_dir());
    let filter = std::env::args().nth(1).unwrap_or_default();
    let chosen = |growing: &&wide::Growing| growing.name.contains(&filter);
    for growing in wide::GROWING.iter().filter(chosen) {
        println!("{}", growing.name);
        for doubled in 0..4 {
            let size = growing.min_size << doubled;
            let time = runtime.block_on(growing.time(&session, size, 3));
            println!("  {size:>6} {time:>10.1?}");
        }
    }
}
