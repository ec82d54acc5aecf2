//! Makes column names unique as pandas does.

use std::collections::{HashMap, HashSet};

/// Returns unique names for the fields of a header. An empty name becomes `Unnamed: <position>`; a repeated name gets
/// the suffix `.1`, `.2`, ... Names in the file take precedence over generated names.
pub(crate) fn unique_names(header: Vec<String>) -> Vec<String> {
    let unnamed: HashSet<usize> = (0..header.len())
        .filter(|i| header[*i].is_empty())
        .collect();
    let mut names: Vec<String> = header
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            if name.is_empty() {
                format!("Unnamed: {i}")
            } else {
                name
            }
        })
        .collect();
    let order = (0..names.len())
        .filter(|i| !unnamed.contains(i))
        .chain((0..names.len()).filter(|i| unnamed.contains(i)))
        .collect::<Vec<_>>();
    // The number of occurrences of each name, so that a name is found without a search.
    let mut present: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *present.entry(name.clone()).or_default() += 1;
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for i in order {
        let old = names[i].clone();
        let mut name = old.clone();
        let mut count = counts.get(&name).copied().unwrap_or(0);
        while count > 0 {
            counts.insert(old.clone(), count + 1);
            name = format!("{old}.{count}");
            if present.get(&name).copied().unwrap_or(0) > 0 {
                count += 1;
            } else {
                count = counts.get(&name).copied().unwrap_or(0);
            }
        }
        if name != old {
            if let Some(n) = present.get_mut(&old) {
                *n -= 1;
            }
            *present.entry(name.clone()).or_default() += 1;
            names[i] = name.clone();
        }
        counts.insert(name, count + 1);
    }
    names
}
