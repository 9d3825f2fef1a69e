//! With the feature `component`: builds the core as a WebAssembly component, for `engine::component` to embed.
//! With the feature `inspect`: the other world of the contract too.

#[cfg(feature = "component")]
mod component;
#[cfg(feature = "component")]
mod module;

fn main() {
    #[cfg(feature = "component")]
    component::provide(module::QUOTA, "ONEWINDOW_QUOTA");
    #[cfg(feature = "inspect")]
    component::provide(module::INSPECT, "ONEWINDOW_INSPECT");
}
