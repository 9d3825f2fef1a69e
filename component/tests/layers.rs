//! The folders of `src` are layers: imports point from the first to the last, and no two files
//! import each other, not even by way of others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// From the top to the bottom. Folders of one row do not import each other.
const LAYERS: [&[&str]; 8] = [
    &["guest"],
    &["contract"],
    &["machine"],
    &["rule"],
    &["write", "wire"],
    &["item"],
    &["types"],
    &["text"],
];

/// A module's place in the crate: `["rule", "join"]`; the root is empty.
type Module = Vec<String>;

#[test]
fn imports_point_from_a_layer_to_those_below_it() {
    let mut wrong = Vec::new();
    let mut between_folders = 0;
    for (from, imports) in imports() {
        for to in imports {
            let Some(upper) = from.first() else { continue };
            let Some(lower) = to.first() else {
                // What the root shows is for hosts, and for the component, which is one.
                if upper != "guest" {
                    wrong.push(format!("{} imports the root of the crate", from.join("::")));
                }
                continue;
            };
            if upper != lower {
                between_folders += 1;
                if layer(upper) >= layer(lower) {
                    wrong.push(format!("{} imports {}", from.join("::"), to.join("::")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(between_folders > 50, "only {between_folders} imports were found");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut rest = imports();
    // A file whose imports all lead to files without a circle is in none itself.
    loop {
        let open: BTreeSet<Module> = rest.keys().cloned().collect();
        let before = rest.len();
        rest.retain(|_, imports| imports.iter().any(|import| open.contains(import)));
        if rest.len() == before {
            break;
        }
    }
    let circles: Vec<String> = rest.keys().map(|module| module.join("::")).collect();
    assert!(circles.is_empty(), "in a circle, or importing one: {circles:#?}");
}

fn layer(folder: &str) -> usize {
    let found = LAYERS.iter().position(|row| row.contains(&folder));
    found.unwrap_or_else(|| panic!("folder {folder} is in no layer"))
}

/// Every file, as a module, and the modules that it imports. The unit tests are left out.
fn imports() -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let modules: BTreeMap<Module, PathBuf> =
        files.into_iter().map(|file| (module_of(&root, &file), file)).collect();
    let mut imports = BTreeMap::new();
    for (module, file) in &modules {
        let text = fs::read_to_string(file).expect("a source file");
        let mut found = BTreeSet::new();
        for path in paths(&text) {
            let target = resolve(module, &path, &modules);
            found.extend(target.filter(|target| target != module));
        }
        imports.insert(module.clone(), found);
    }
    imports
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module_of(root: &Path, file: &Path) -> Module {
    let relative = file.strip_prefix(root).expect("below src").with_extension("");
    let mut module: Module =
        relative.iter().map(|part| part.to_str().expect("an ASCII name").to_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    module
}

/// Every path of the crate that stands in the code: in an import, its braces opened, or in place.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::", "use "] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|char| !char.is_alphanumeric() && char != '_' && char != ':') {
                open(code[at..].trim_start_matches("use "), &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path and what its braces hold; returns what follows it.
fn open<'a>(text: &'a str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = prefix.len();
    let mut rest = text.trim_start();
    loop {
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner.trim_start();
            while !rest.starts_with('}') {
                rest = open(rest, prefix, found).trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            rest = &rest[1..];
            break;
        }
        let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
        assert!(end > 0, "not a path: {}", &rest[..rest.len().min(60)]);
        prefix.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(next)
                if next.starts_with(|char: char| char.is_alphabetic() || char == '_' || char == '{') =>
            {
                rest = next;
            }
            _ => {
                found.push(prefix.clone());
                break;
            }
        }
    }
    prefix.truncate(depth);
    rest
}

/// The module that a path leads into.
fn resolve(from: &Module, path: &[String], modules: &BTreeMap<Module, PathBuf>) -> Option<Module> {
    let mut module = from.clone();
    let mut parts = path.iter().peekable();
    let first = path.first()?.as_str();
    let is_child = || modules.contains_key(&[from.as_slice(), &[first.to_owned()]].concat());
    if !matches!(first, "crate" | "super" | "self") && !is_child() {
        return None;
    }
    while let Some(part) = parts.peek() {
        match part.as_str() {
            "crate" => module.clear(),
            "super" => drop(module.pop()),
            "self" => {}
            _ => break,
        }
        parts.next();
    }
    for part in parts {
        module.push(part.clone());
        if !modules.contains_key(&module) {
            module.pop();
            break;
        }
    }
    modules.contains_key(&module).then_some(module)
}
