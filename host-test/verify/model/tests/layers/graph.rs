//! The files of a crate and which of them use each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path as FilePath, PathBuf},
};

use crate::source::{Module, Path, modules};

/// The modules of a crate, by their path from its root.
type Tree = BTreeMap<Path, (PathBuf, Module)>;

/// What each file uses of others: the file, and the name.
type Uses = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The circles among the files of the crate with this root file, in words.
pub(crate) fn circles(root: &FilePath) -> Vec<String> {
    let folder = root.parent().expect("a folder");
    let mut tree = Tree::new();
    read(root, folder, &Path::new(), &mut tree);
    let uses = uses(&tree);
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        uses.keys().map(|file| (file, reached_from(file, &uses))).collect();
    let mut found = Vec::new();
    let mut seen: BTreeSet<&PathBuf> = BTreeSet::new();
    for (file, others) in &reached {
        if !others.contains(file) || seen.contains(file) {
            continue;
        }
        let circle: BTreeSet<_> = others
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|r| r.contains(file)))
            .collect();
        let short = |file: &PathBuf| file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let mut lines = format!("{}:", folder.display());
        for from in &circle {
            for (to, name) in uses[*from].iter().filter(|(to, _)| circle.contains(to)) {
                lines += &format!("\n  {} uses {name} of {}", short(from), short(to));
            }
        }
        seen.extend(&circle);
        found.push(lines);
    }
    found
}

/// Reads a file and those of the modules it declares. `folder` is where those lie.
fn read(file: &FilePath, folder: &FilePath, path: &Path, tree: &mut Tree) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let modules = modules(&text);
    for (inline, module) in &modules {
        for child in &module.children {
            let inner: Path = inline.iter().chain([child]).cloned().collect();
            let place = inner.iter().fold(folder.to_owned(), |place, name| place.join(name));
            let path: Path = path.iter().chain(&inner).cloned().collect();
            let declared = declared_path(&text, child).map(|name| folder.join(name));
            let candidates = [declared.clone(), Some(place.with_extension("rs")), Some(place.join("mod.rs"))];
            if let Some(file) = candidates.into_iter().flatten().find(|file| file.is_file()) {
                let folder = declared.as_ref().and_then(|file| file.parent()).unwrap_or(&place);
                read(&file, folder, &path, tree);
            }
        }
    }
    for (inline, module) in modules {
        tree.insert(path.iter().cloned().chain(inline).collect(), (file.to_owned(), module));
    }
}

/// The file of a module that is declared with `#[path = "…"]`, from the folder of the declaring file.
fn declared_path<'a>(text: &'a str, module: &str) -> Option<&'a str> {
    text.split("#[path = \"").skip(1).find_map(|rest| {
        let (path, declaration) = rest.split_once("\"]")?;
        let declaration = declaration.split(';').next()?;
        declaration.trim_end().ends_with(&format!("mod {module}")).then_some(path)
    })
}

/// Which files each file uses. A use of a name counts once for each file.
fn uses(tree: &Tree) -> Uses {
    let mut found = Uses::new();
    for (path, (file, module)) in tree {
        for used in &module.uses {
            let Some(to) = resolve(tree, path, used, 0).filter(|to| to != file) else { continue };
            let name = used.last().cloned().unwrap_or_default();
            found.entry(file.clone()).or_default().entry(to).or_insert(name);
        }
    }
    found
}

/// The file that defines what a path in a module names; none: it is of another crate.
fn resolve(tree: &Tree, from: &Path, used: &[String], depth: u8) -> Option<PathBuf> {
    let mut module = from.clone();
    let mut rest = used;
    let mut anchored = false;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => module.clear(),
            "super" => drop(module.pop()),
            "self" => {}
            _ => break,
        }
        anchored = true;
        rest = others;
    }
    let (_, here) = tree.get(&module)?;
    let first = rest.first();
    let is_child = first.is_some_and(|first| here.children.contains(first));
    if !anchored && !is_child {
        return None;
    }
    // As far as the path goes through modules.
    while let Some((first, others)) = rest.split_first() {
        let child: Path = module.iter().chain([first]).cloned().collect();
        if !tree.contains_key(&child) {
            break;
        }
        (module, rest) = (child, others);
    }
    let (file, target) = tree.get(&module)?;
    let Some(name) = rest.first().filter(|name| !target.defines.contains(*name)) else {
        return Some(file.clone());
    };
    // Another `use` brings the name here.
    let imported = target.imports.iter().filter(|(alias, _)| alias == name || alias == "*");
    let followed = imported.filter(|_| depth < 8 && name != "*").find_map(|(alias, path)| {
        let mut path = path.clone();
        if alias == "*" {
            path.pop();
            path.push(name.clone());
        }
        path.extend(rest[1..].iter().cloned());
        resolve(tree, &module, &path, depth + 1)
    });
    Some(followed.unwrap_or_else(|| file.clone()))
}

/// The files that a file uses, directly or through others.
fn reached_from<'a>(file: &PathBuf, uses: &'a Uses) -> BTreeSet<&'a PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&PathBuf> = uses.get(file).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(uses.get(next).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}
