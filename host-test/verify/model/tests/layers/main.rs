//! No circles: within a crate, files import one way.
//!
//! A file depends on the file that defines a name which it uses by a path (`crate::`, `super::`, `self::`,
//! or a module of its own), in a `use` or in the code. The rule has three details:
//!
//! - `mod x;` is no dependency, and neither is a re-export (`pub use`, `pub(crate) use`).
//! - A name is followed through re-exports and imports to the file that defines it. A child may therefore
//!   import a sibling through its parent.
//! - A parent that uses names of its child depends on it. The child must not use names that the parent
//!   defines.

mod graph;
mod source;

use std::path::Path;

/// The roots of the crates that are checked, from the folder `host-test`.
const ROOTS: [&str; 12] = [
    "cli/src/main.rs",
    "host/src/lib.rs",
    "perf/src/main.rs",
    "surface/src/lib.rs",
    "verify/conformance/src/main.rs",
    "verify/fleet/src/main.rs",
    "verify/model/src/lib.rs",
    "verify/model/tests/layers/main.rs",
    "verify/model/tests/peer/main.rs",
    "verify/relay/src/lib.rs",
    "verify/soak/src/lib.rs",
    "verify/soak/src/main.rs",
];

#[test]
fn the_files_of_each_crate_import_one_way() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let circles: Vec<String> = ROOTS.iter().flat_map(|root| graph::circles(&folder.join(root))).collect();
    assert!(circles.is_empty(), "circles of imports:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_and_a_reexport_is_none() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("layers");
    std::fs::create_dir_all(folder.join("child")).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("lib.rs", "mod child; mod user; // crate::user::User in a comment\n pub use child::Deep;");
    write("child/mod.rs", "mod deep; pub use deep::Deep; pub struct Shallow;");
    write("child/deep.rs", "pub struct Deep; const TEXT: &str = \"crate::user::User\";");
    write("user.rs", "use crate::{child::Shallow, Deep}; pub struct User(Shallow, Deep);");
    assert_eq!(graph::circles(&folder.join("lib.rs")), [""; 0]);
    write("child/deep.rs", "pub struct Deep(super::super::user::User);");
    let circles = graph::circles(&folder.join("lib.rs"));
    assert_eq!(circles.len(), 1);
    assert!(circles[0].contains("deep.rs uses User of user.rs"), "{circles:?}");
    assert!(circles[0].contains("user.rs uses Deep of child/deep.rs"), "{circles:?}");
}
