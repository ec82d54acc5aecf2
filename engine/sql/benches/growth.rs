//! The time of queries of growing size: `cargo bench -p prep-sql --bench growth`. Each line should double.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark: what it prints is its result"
)]

#[path = "../tests/support/wide.rs"]
mod wide;

use prep_sql::Session;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let session = Session::new(&std::env::temp_dir());
    for growing in &wide::GROWING {
        println!("{}", growing.name);
        for doubled in 0..4 {
            let size = growing.least << doubled;
            let time = runtime.block_on(growing.time(&session, size, 5));
            println!("  {size:>6} {time:>10.1?}");
        }
    }
}
