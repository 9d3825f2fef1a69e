//! The exports of the worlds of `wit/`, each behind its feature: what the library does, in the words of the
//! contract. The only place that knows wit-bindgen.

#[cfg(feature = "inspect")]
mod inspect;
#[cfg(feature = "component")]
mod quota;

/// Without the standard library, memory and the end of the world are ours to name. A panic cannot
/// be reported to anybody from in here, so it traps: the host sees it and throws the instance away.
#[cfg(target_family = "wasm")]
mod runtime {
    /// Constant time, and neighbours that are freed are joined: an instance may live long.
    #[global_allocator]
    static MEMORY: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

    #[panic_handler]
    fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
