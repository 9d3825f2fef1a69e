//! With the feature `component`: builds the core as a WebAssembly component, for `engine::component` to embed.

#[cfg(feature = "component")]
mod component;
#[cfg(feature = "component")]
mod module;

fn main() {
    #[cfg(feature = "component")]
    component::provide();
}
