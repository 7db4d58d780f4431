//! `envoi repair`: rebuilds everything that can be rebuilt from the events, and prints the differences.
//! `envoi repair RUN` examines one run and changes nothing.

use super::doctor;
use crate::{
    process::{
        clock,
        failure::{Failure, MACHINE},
        invocation, output,
    },
    store::{home::Home, select, waiting},
    text::diff,
};
use envoi_api::{
    run::SetAside,
    store::{BlockedFile, Examined, OpenAttempt, Repaired},
};
use envoi_contract::code::Code;
use envoi_journal::{
    CommitError, Examination, Holder, Lease, RepairOptions, RepairReport, RunRow, Taken, with_causes,
};
use envoi_kernel::ids::AttemptId;
use envoi_step::Obstacle;
use std::path::PathBuf;

pub(crate) fn repair(home: &Home) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    drop(reader);
    let lease = match Lease::try_take(store.layout()).map_err(Failure::lease)? {
        Taken::Lease(lease) => lease,
        Taken::Held(_) => {
            return Err(Failure::new(Code::EngineBusy, "an engine is at work in this store")
                .hint("wait for it, or stop it with Ctrl-C; running steps go on"));
        }
    };
    lease.announce(&Holder { pid: std::process::id(), socket: PathBuf::new() }).map_err(Failure::store)?;
    // A new epoch would fence an engine that has taken over in the meantime.
    let take = || if lease.is_current() { store.take_epoch() } else { Err(CommitError::Closed) };
    let engine = waiting::for_the_store(|| match lease.is_current() {
        true => store.mend_epoch(),
        false => Err(CommitError::Closed),
    })?;
    let engine = engine.map_err(Failure::store)?;
    let epoch = waiting::for_the_store(take)?.map_err(|error| match lease.is_current() {
        true => Failure::store(error),
        false => taken_over("another engine has taken over"),
    })?;
    let options = RepairOptions::default();
    let repaired = waiting::for_the_store(|| envoi_journal::repair(&store, epoch, options))?;
    let mut report = repaired.map_err(|error| {
        if error.is_fenced() {
            return taken_over(&error.to_string());
        }
        Failure::store(with_causes(&error))
    })?;
    lease.release();
    report.mended_rows.splice(0..0, engine.map(|row| row.to_string()));
    // The result uses the checks of `doctor`, so that the two commands never contradict each other.
    let left = doctor::left(&store).map_err(|error| Failure::store(with_causes(&error)))?;
    let exit_code = if report.is_whole() && left.is_empty() { 0 } else { MACHINE };
    match home.json {
        true => output::row(&report_row(report, left))?,
        false => output::data(&diff::lines(&as_text(&report, &left)))?,
    }
    Ok(exit_code)
}

fn taken_over(message: &str) -> Failure {
    Failure::new(Code::TakenOver, message)
        .hint("another engine is at work in the store now; repair again when it has ended")
}

/// The findings about one run.
struct Seen {
    row: RunRow,
    examination: Examination,
    /// Why the run cannot be loaded.
    unreadable: Option<String>,
    /// Obstacles to starting its attempts.
    obstacles: Vec<Obstacle>,
    /// Attempts that were started and are not settled, each with whether its supervisor lives.
    attempts: Vec<(AttemptId, bool)>,
}

pub(crate) fn look(home: &Home, run: &str) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run(&reader, run)?;
    let layout = store.layout();
    let alive = |attempt: AttemptId| {
        let lives = envoi_engine::is_alive(layout, &id, &attempt);
        (attempt, lives)
    };
    let (attempts, attempts_unknown) = match reader.open_attempts(&id) {
        Ok(attempts) => (attempts, None),
        Err(error) => (Vec::new(), Some(format!("its open attempts are not known: {error}"))),
    };
    let loaded = envoi_engine::load_run(&reader, &id);
    let seen = Seen {
        row: envoi_engine::run_row(layout, &reader, &id).map_err(Failure::store)?,
        examination: envoi_journal::examine(layout, &reader, &id).map_err(Failure::store)?,
        unreadable: loaded.err().map(|refused| refused.message).or(attempts_unknown),
        obstacles: envoi_step::obstacles(&layout.run(&id)),
        attempts: attempts.into_iter().map(alive).collect(),
    };
    match home.json {
        true => output::row(&seen.row())?,
        false => output::data(&diff::lines(&seen.as_text()))?,
    }
    Ok(if seen.is_well() { 0 } else { MACHINE })
}

impl Seen {
    fn is_well(&self) -> bool {
        self.row.aside.is_none()
            && self.unreadable.is_none()
            && self.examination.is_whole()
            && self.obstacles.is_empty()
    }

    fn as_text(&self) -> String {
        let Self { row, examination, unreadable, obstacles, attempts } = self;
        let run = &row.run;
        let envoi = invocation::envoi();
        let mut text = format!("{run}: {} events, {} contents\n", examination.events, examination.contents);
        if let Some(aside) = &row.aside {
            text.push_str(&format!(
                "set aside since {} ({}): {}\n",
                clock::local(aside.since),
                aside.code,
                aside.reason
            ));
            text.push_str(&aside.evidence.lines().map(|line| format!("  {line}\n")).collect::<String>());
        }
        let damaged_events: Vec<String> =
            examination.unreadable.iter().map(|(seq, why)| format!("{seq}: {why}")).collect();
        let gaps: Vec<String> = examination.gaps.iter().map(ToString::to_string).collect();
        let blocked: Vec<String> = examination
            .blocked_files
            .iter()
            .map(|(file, obstacle)| {
                format!("{}; remove {}, which is in the way", file.display(), obstacle.display())
            })
            .collect();
        let files: Vec<String> =
            examination.other_files.iter().map(|path| path.display().to_string()).collect();
        if examination.has_no_entry {
            text.push_str(&format!(
                "its entry in the journal is missing, so that it cannot be read: `{envoi} repair` makes it again\n"
            ));
        }
        for (what, findings) in [
            ("gap in the journal", &gaps),
            ("event that cannot be read", &damaged_events),
            ("content that is damaged", &examination.damaged_content),
            (
                "row that is not as the events say; a repair of the store makes it again",
                &examination.other_rows,
            ),
            ("file that differs; written again when the run goes on", &files),
            ("file that differs and cannot be written", &blocked),
            (
                "in the way of its steps; remove it, or make it writable",
                &obstacles.iter().map(ToString::to_string).collect(),
            ),
            ("the run cannot be read", &unreadable.iter().cloned().collect()),
        ] {
            text.extend(findings.iter().map(|finding| format!("{what}: {finding}\n")));
        }
        for (attempt, lives) in attempts {
            let how = if *lives { "is running" } else { "was started, and nothing works on it" };
            text.push_str(&format!("attempt {attempt} {how}\n"));
        }
        match (self.is_well(), &row.aside) {
            (true, _) => text.push_str("everything is as it should be\n"),
            (false, Some(_)) => text.push_str(&format!("`{envoi} resume {run}` tries again\n")),
            (false, None) => {}
        }
        text
    }

    fn row(&self) -> Examined {
        let Self { row, examination, unreadable, obstacles, attempts } = self;
        let damaged = examination.unreadable.iter();
        let blocked = examination.blocked_files.iter();
        Examined {
            run: row.run.clone(),
            whole: self.is_well(),
            set_aside: row.aside.as_ref().map(SetAside::from),
            events: examination.events,
            contents: examination.contents,
            has_no_entry: examination.has_no_entry,
            gaps: examination.gaps.iter().map(ToString::to_string).collect(),
            damaged_events: damaged.map(|(seq, reason)| format!("{seq}: {reason}")).collect(),
            damaged_contents: examination.damaged_content.clone(),
            differing_rows: examination.other_rows.clone(),
            differing_files: texts(&examination.other_files),
            blocked_files: blocked
                .map(|(file, obstacle)| BlockedFile {
                    file: file.display().to_string(),
                    obstacle: obstacle.display().to_string(),
                })
                .collect(),
            unreadable_reason: unreadable.clone(),
            obstacles: obstacles.iter().map(ToString::to_string).collect(),
            attempts: attempts
                .iter()
                .map(|(attempt, lives)| OpenAttempt { attempt: attempt.to_string(), running: *lives })
                .collect(),
        }
    }
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn as_text(report: &RepairReport, left: &[String]) -> String {
    let mut text = format!("{} runs, {} events, {} contents\n", report.runs, report.events, report.contents);
    let mended = report.mended_files.iter().map(|path| path.display().to_string());
    let mended: Vec<_> = report.mended_rows.iter().cloned().chain(mended).collect();
    for (what, findings) in [
        ("mended", &mended),
        ("database", &report.database),
        ("run that is lost", &report.lost_runs),
        ("gap in a journal", &report.gaps),
        ("event that cannot be read", &report.unreadable),
        ("content that is damaged", &report.damaged_content),
        ("row that is damaged and kept", &report.damaged_rows),
        ("file that cannot be written again", &report.lost_files),
        ("artifact that has no place (its content is kept)", &report.unplaceable),
        ("not mended", &left.to_vec()),
    ] {
        text.extend(findings.iter().map(|finding| format!("{what}: {finding}\n")));
    }
    if report.is_clean() && left.is_empty() {
        text.push_str("everything was as it should be\n");
    }
    text
}

fn report_row(report: RepairReport, left: Vec<String>) -> Repaired {
    Repaired {
        runs: report.runs,
        events: report.events,
        contents: report.contents,
        whole: report.is_whole() && left.is_empty(),
        not_mended: left,
        mended_rows: report.mended_rows,
        mended_files: texts(&report.mended_files),
        database_faults: report.database,
        gaps: report.gaps,
        damaged_events: report.unreadable,
        damaged_contents: report.damaged_content,
        damaged_rows: report.damaged_rows,
        lost_files: report.lost_files,
        lost_runs: report.lost_runs,
        unplaceable_artifacts: report.unplaceable,
        swept_files: report.swept,
    }
}
