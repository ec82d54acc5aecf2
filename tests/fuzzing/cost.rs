//! Measures the cost of an input with a counting allocator: peak memory, and the sum of all requested memory.
//!
//! A decoder that trusts a number in the input exceeds a limit long before it crashes.
//! A buffer of terabytes exceeds the limit of peak memory.
//! An endless loop, or a string that grows with the square of the input, exceeds the limit of requested memory.
//!
//! Both limits are exact and need no clock. A generous time limit catches loops that do not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Limit of peak memory in bytes for a tiny input. It leaves room for buffers of fixed size, and for memory that a fuzz
/// target permits its parser.
const MAX_PEAK_BYTES: u64 = 96 << 20;
/// Limit of requested memory in bytes for a tiny input.
const MAX_REQUESTED_BYTES: u64 = 1 << 30;
/// Number of bytes by which each byte of input raises both limits of memory.
const BYTES_PER_INPUT_BYTE: u64 = 4096;
/// Limit of time for an input of any length. It is generous, because other processes may use the processor.
const MAX_TIME: Duration = Duration::from_secs(20);

/// An allocator that counts the memory that each thread requests.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes that the thread has allocated and not freed. Negative if it frees memory of other threads.
    static ALLOCATED_BYTES: Cell<i64> = const { Cell::new(0) };
    /// The largest value of `ALLOCATED_BYTES` since the measurement began.
    static PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
    /// The sum of all requests since the measurement began.
    static REQUESTED_BYTES: Cell<u64> = const { Cell::new(0) };
}

/// Counts a block that changes its length from `old` to `new` bytes.
fn count(old: usize, new: usize) {
    // The counter of a thread may no longer exist when the thread ends.
    let _ = ALLOCATED_BYTES.try_with(|now| {
        now.set(now.get() + new as i64 - old as i64);
        let _ = PEAK_BYTES.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
    let _ = REQUESTED_BYTES.try_with(|sum| sum.set(sum.get() + new.saturating_sub(old) as u64));
}

#[allow(
    unsafe_code,
    reason = "each call is passed on to the system's allocator as it is; counting allocates nothing"
)]
// SAFETY: each call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        unsafe { System.dealloc(block, layout) }
    }
}

#[derive(Debug)]
pub struct Cost {
    pub peak: u64,
    pub requested: u64,
    pub time: Duration,
}

impl Cost {
    pub fn of(call: impl FnOnce()) -> Cost {
        let before = ALLOCATED_BYTES.get();
        PEAK_BYTES.set(before);
        REQUESTED_BYTES.set(0);
        let started = Instant::now();
        call();
        Cost {
            peak: u64::try_from(PEAK_BYTES.get() - before).unwrap_or(0),
            requested: REQUESTED_BYTES.get(),
            time: started.elapsed(),
        }
    }
}

/// Calls `check`, and panics if the cost exceeds the limit for this input.
pub fn bounded(input: &[u8], check: fn(&[u8])) {
    let cost = Cost::of(|| check(input));
    let more = BYTES_PER_INPUT_BYTE * input.len() as u64;
    let is_cheap = cost.peak <= MAX_PEAK_BYTES + more
        && cost.requested <= MAX_REQUESTED_BYTES + more
        && cost.time <= MAX_TIME;
    assert!(is_cheap, "{cost:?}");
}
