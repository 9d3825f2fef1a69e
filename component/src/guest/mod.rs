//! The exports of the worlds of `wit/`, each behind its feature. They call the library with the types of the
//! contract. Only this folder uses wit-bindgen.

#[cfg(feature = "inspect")]
mod inspect;
#[cfg(feature = "component")]
mod quota;

/// Without the standard library, a component brings its own allocator and panic handler. A panic cannot
/// be reported from inside, so it traps: the host sees the trap and discards the instance.
#[cfg(target_family = "wasm")]
mod runtime {
    /// It works in constant time and merges neighbouring free blocks, because an instance may live long.
    #[global_allocator]
    static MEMORY: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

    #[panic_handler]
    fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
