//! The engine that decides: the core linked into this program, the component in wasmtime, or any other
//! [`Core`]. All make machines of the same form, with the types of the crate [`onewindow`].

#[cfg(feature = "component")]
pub mod component;
mod machine;
mod native;

use std::{fmt, ops::Deref, sync::Arc};

#[cfg(feature = "component")]
pub use component::{Component, ComponentError, ComponentOptions};
pub use machine::{Core, Machine, PreviewDecision, Slot};
pub use native::Native;

/// The engine of a limiter: it decides. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<dyn Core>);

impl Engine {
    /// The core as a Rust library.
    #[must_use]
    pub fn native() -> Self {
        Native.into()
    }

    /// The component that was built with this crate, run as by [`ComponentOptions::default`].
    ///
    /// # Errors
    /// Where this machine cannot compile or pool it.
    #[cfg(feature = "component")]
    pub fn component() -> Result<Self, ComponentError> {
        Component::embedded(ComponentOptions::default()).map(Into::into)
    }
}

impl<C: Core> From<C> for Engine {
    fn from(core: C) -> Self {
        Self(Arc::new(core))
    }
}

impl Deref for Engine {
    type Target = dyn Core;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
