//! `envoi repair`: everything that can be rebuilt from the events is rebuilt, and what differed is said.

use crate::{failure::Failure, home::Home, output};
use envoi_journal::{Holder, Lease, RepairOptions, RepairReport, Taken};

pub(crate) fn repair(home: &Home) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    drop(reader);
    let lease = match Lease::try_take(store.layout()).map_err(Failure::store)? {
        Taken::Lease(lease) => lease,
        Taken::Held(_) => {
            return Err(Failure::new(6, "ENGINE_BUSY", "an engine is at work in this store")
                .hint("wait for it, or stop it with Ctrl-C; running steps go on"));
        }
    };
    lease
        .announce(&Holder { pid: std::process::id(), socket: std::path::PathBuf::new() })
        .map_err(Failure::store)?;
    let epoch = store.take_epoch().map_err(Failure::store)?;
    let report = envoi_journal::repair(&store, epoch, RepairOptions::default()).map_err(|error| {
        if error.is_fenced() {
            return Failure::new(crate::failure::MACHINE, "TAKEN_OVER", error.to_string())
                .hint("another engine is at work in the store now; repair again when it has ended");
        }
        Failure::store(error)
    })?;
    lease.release();
    output::data(&if home.json { as_json(&report) } else { as_text(&report) })?;
    Ok(if report.is_whole() { 0 } else { crate::failure::MACHINE })
}

fn as_text(report: &RepairReport) -> String {
    let mut text = format!("{} runs, {} events, {} contents\n", report.runs, report.events, report.contents);
    let mended = report.mended_files.iter().map(|path| path.display().to_string());
    let mended: Vec<_> = report.mended_rows.iter().cloned().chain(mended).collect();
    for (what, findings) in [
        ("mended", &mended),
        ("database", &report.database),
        ("gap in a journal", &report.gaps),
        ("event that cannot be read", &report.unreadable),
        ("content that is damaged", &report.damaged_content),
        ("file that cannot be written again", &report.lost_files),
        ("artifact that has no place (its content is kept)", &report.unplaceable),
    ] {
        text.extend(findings.iter().map(|finding| format!("{what}: {finding}\n")));
    }
    if report.is_clean() {
        text.push_str("everything was as it should be\n");
    }
    text
}

fn as_json(report: &RepairReport) -> String {
    let value = serde_json::json!({
        "runs": report.runs, "events": report.events, "contents": report.contents, "whole": report.is_whole(),
        "mended_rows": report.mended_rows, "mended_files": report.mended_files, "database": report.database,
        "gaps": report.gaps, "unreadable": report.unreadable, "damaged_content": report.damaged_content,
        "lost_files": report.lost_files, "unplaceable": report.unplaceable, "swept": report.swept,
    });
    format!("{value}\n")
}
