//! Formats the results of `gc`.

use crate::{
    process::{failure::Failure, output},
    text::diff::printable,
};
use envoi_api::{
    file::OldTree,
    retention::{Collection, ContentCount, GcStage, OldContents, OldRun},
};
use envoi_engine::retention::{Collected, Count, Stage, Swept};

/// The results without trees. `archive`: the folder with the bundles of deleted runs.
pub(super) fn of(collected: Collected, archive: Option<String>) -> Collection {
    let runs = collected.runs.into_iter().map(|run| OldRun {
        run: run.run.to_string(),
        flow: run.flow,
        tenant: run.tenant,
        archive: archive.clone().filter(|_| run.stage == Stage::Delete && run.stays.is_none()),
        stage: match run.stage {
            Stage::Trim => GcStage::Trim,
            Stage::Delete => GcStage::Delete,
        },
        reason: run.why,
        stays: run.stays,
        files: run.files,
        size_bytes: run.bytes,
    });
    let count = |count: Count| ContentCount { count: count.count, size_bytes: count.bytes };
    let Swept { aside, back, removed } = collected.contents;
    let contents = OldContents { aside: count(aside), back: count(back), removed: count(removed) };
    Collection { trees: Vec::new(), runs: runs.collect(), contents, left: collected.left, compacted: None }
}

pub(super) fn print(collection: &Collection, dry_run: bool, json: bool) -> Result<u8, Failure> {
    if json {
        return output::row(collection).map(|()| 0);
    }
    let mut table = Vec::new();
    table.extend(collection.runs.iter().map(|run| of_run(run, dry_run)));
    table.extend(collection.trees.iter().map(|tree| of_tree(tree, dry_run)));
    if !table.is_empty() {
        table.insert(0, ["RUN", "FILES", "MIB", "WHAT", ""].map(str::to_owned).to_vec());
    }
    let mut text = if table.is_empty() { String::new() } else { output::table(&table) };
    let OldContents { aside, back, removed } = collection.contents;
    let would = if dry_run { "would be " } else { "" };
    let lines = [
        (aside, format!("{would}put aside: nothing refers to them, and a later `envoi gc` removes them")),
        (removed, format!("{would}removed")),
        (back, format!("{would}brought back: something names them")),
    ];
    for (found, what) in lines.iter().filter(|(found, _)| found.count > 0) {
        text.push_str(&format!("{} contents, {} MiB, {what}\n", found.count, mib(found.size_bytes)));
    }
    for left in &collection.left {
        text.push_str(&format!(
            "left of a run that is deleted: {}; the next `envoi gc` tries again\n",
            printable(left)
        ));
    }
    if let Some(found) = collection.compacted {
        text.push_str(&format!(
            "the database has {} MiB, it had {} MiB\n",
            mib(found.after_bytes),
            mib(found.before_bytes)
        ));
    }
    if text.is_empty() {
        text.push_str(if dry_run { "nothing would be removed\n" } else { "nothing was removed\n" });
    }
    output::data(&text).map(|()| 0)
}

fn of_run(run: &OldRun, dry_run: bool) -> Vec<String> {
    let (what, done) = match run.stage {
        GcStage::Trim => ("copies of artifacts and empty files", ["would be removed", "removed"]),
        GcStage::Delete => ("the run", ["would be deleted", "deleted"]),
    };
    let done = match (&run.stays, dry_run) {
        (Some(why), _) => format!("stays: {why}"),
        (None, true) => format!("{}: {}", done.first().copied().unwrap_or_default(), run.reason),
        (None, false) => format!("{}: {}", done.last().copied().unwrap_or_default(), run.reason),
    };
    vec![run.run.clone(), run.files.to_string(), mib(run.size_bytes), what.to_owned(), printable(&done)]
}

fn of_tree(tree: &OldTree, dry_run: bool) -> Vec<String> {
    let what = match (&tree.stays, &tree.left, dry_run) {
        (Some(why), ..) => format!("stays: {why}"),
        (None, _, true) => "would be removed".to_owned(),
        (None, Some(left), false) => format!("removed; {left}"),
        (None, None, false) => "removed".to_owned(),
    };
    vec![
        tree.run.clone(),
        tree.files.to_string(),
        mib(tree.size_bytes),
        printable(&tree.place),
        printable(&what),
    ]
}

fn mib(bytes: u64) -> String {
    format!("{}.{}", bytes >> 20, (bytes >> 10) % 1024 * 10 / 1024)
}
