//! Counts what is allocated: the system's allocator, and a count for each thread.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator, counted.
pub(crate) struct Counted;

/// What was allocated on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocations {
    /// Times that memory was asked for, growth of what is there among them.
    pub(crate) times: u64,
    /// Bytes that were asked for.
    pub(crate) bytes: u64,
}

thread_local! {
    static SO_FAR: Cell<Allocations> = const { Cell::new(Allocations { times: 0, bytes: 0 }) };
}

/// What `work` allocates on this thread.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Allocations) {
    let before = SO_FAR.get();
    let done = work();
    let after = SO_FAR.get();
    (done, Allocations { times: after.times - before.times, bytes: after.bytes - before.bytes })
}

fn count(bytes: usize) {
    // A thread that ends has nothing left to count with.
    let _ = SO_FAR.try_with(|so_far| {
        let Allocations { times, bytes: sum } = so_far.get();
        so_far.set(Allocations { times: times + 1, bytes: sum + bytes as u64 });
    });
}

// SAFETY: every request is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.saturating_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}
