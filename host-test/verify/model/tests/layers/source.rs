//! One source file: its modules, its imports, and the paths that its code uses.

use std::collections::{BTreeMap, BTreeSet};

/// A path of names, such as `crate`, `store`, `Item`. A glob ends with `*`.
pub(crate) type Path = Vec<String>;

/// What a file says, for one module in it: the file's own, or an inline one.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Modules that are declared in it: `mod x;` and `mod x { … }`.
    pub(crate) children: BTreeSet<String>,
    /// Names that it defines.
    pub(crate) defines: BTreeSet<String>,
    /// Names that it imports, with their paths. A glob has the name `*`.
    pub(crate) imports: Vec<(String, Path)>,
    /// Paths that count as uses: imports that are no re-exports, and paths in the code.
    pub(crate) uses: BTreeSet<Path>,
}

/// The modules of a file, by their path within the file; the file's own is empty.
pub(crate) fn modules(text: &str) -> BTreeMap<Path, Module> {
    let tokens = tokens(text);
    let mut modules = BTreeMap::from([(Path::new(), Module::default())]);
    // The inline modules that the code is in, each with the depth of braces at which it ends.
    let mut inside: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = |steps: usize| tokens.get(at + steps).map_or("", String::as_str);
        let here: Path = inside.iter().map(|(name, _)| name.clone()).collect();
        let module = modules.entry(here).or_default();
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inside.retain(|(_, end)| *end < depth + 1);
            }
            "mod" if next(2) == ";" || next(2) == "{" => {
                module.children.insert(next(1).to_owned());
                if next(2) == "{" {
                    depth += 1;
                    inside.push((next(1).to_owned(), depth));
                }
                at += 2;
            }
            "struct" | "enum" | "fn" | "type" | "const" | "static" | "trait" | "union" => {
                module.defines.insert(next(1).to_owned());
            }
            "use" => {
                let reexport = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
                let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(0);
                for (name, path) in imports(&tokens[at + 1..end]) {
                    if !reexport {
                        module.uses.insert(path.clone());
                    }
                    module.imports.push((name, path));
                }
                at = end;
            }
            // The first name of a path.
            _ if next(1) == "::" && (at == 0 || tokens[at - 1] != "::") => {
                let mut path = vec![token.clone()];
                while tokens.get(at + 1).is_some_and(|token| token == "::") {
                    let Some(name) = tokens.get(at + 2).filter(|name| is_name(name)) else { break };
                    path.push(name.clone());
                    at += 2;
                }
                module.uses.insert(path);
            }
            _ => {}
        }
        at += 1;
    }
    modules
}

/// The names that a `use` imports, each with its path.
fn imports(tree: &[String]) -> Vec<(String, Path)> {
    let mut found = Vec::new();
    let mut prefix = Path::new();
    // How much of the prefix each open brace began with.
    let mut opened = Vec::new();
    let mut alias = None;
    let mut at = 0;
    let finish = |prefix: &Path, alias: Option<String>, found: &mut Vec<(String, Path)>| {
        let mut path = prefix.clone();
        if path.last().is_some_and(|name| name == "self") && path.len() > 1 {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            found.push((alias.unwrap_or(last), path));
        }
    };
    while let Some(token) = tree.get(at) {
        match token.as_str() {
            "{" => opened.push(prefix.len()),
            "," | "}" => {
                let base = opened.last().copied().unwrap_or(0);
                if prefix.len() > base {
                    finish(&prefix, alias.take(), &mut found);
                }
                prefix.truncate(base);
                if token == "}" {
                    opened.pop();
                    // What follows a closing brace is a comma or the end: nothing more to record there.
                    prefix.truncate(opened.last().copied().unwrap_or(0));
                }
            }
            "as" => {
                alias = tree.get(at + 1).cloned();
                at += 1;
            }
            "::" => {}
            name => prefix.push(name.to_owned()),
        }
        at += 1;
    }
    if !prefix.is_empty() {
        finish(&prefix, alias, &mut found);
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::`, and single signs. Comments, texts and numbers are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = if rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or("", |end| &rest[end + 2..])
        } else if let Some(hashes) = raw_text(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = rest.find('"').unwrap_or(0) + 1;
            rest[begin..].find(&end).map_or("", |at| &rest[begin + at + end.len()..])
        } else if first == '"' {
            let mut escaped = false;
            let end = after.find(|sign: char| {
                let ends = sign == '"' && !escaped;
                escaped = sign == '\\' && !escaped;
                ends
            });
            end.map_or("", |end| &after[end + 1..])
        } else if first == '\'' {
            // A character ends with a second quote; a lifetime has none.
            let escape = after
                .strip_prefix('\\')
                .map_or(0, |escaped| 1 + escaped.chars().next().map_or(0, char::len_utf8));
            let length = match escape {
                0 => after.chars().next().map_or(0, char::len_utf8),
                // Such as `\u{1F600}`.
                escape => escape + after[escape..].find('\'').unwrap_or(0),
            };
            if after[length..].starts_with('\'') { &after[length + 1..] } else { after }
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
            if is_name(rest) {
                found.push(rest[..end].to_owned());
            }
            &rest[end..]
        } else if let Some(after) = rest.strip_prefix("::") {
            found.push("::".to_owned());
            after
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            after
        };
    }
    found
}

/// How many `#` a raw text has that begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}
