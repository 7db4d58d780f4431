//! `envoi` alone: shows what is in this folder, and what to do next.
//!
//! It only reads. It creates no store and changes nothing. If a store cannot be opened, it reports that.

use crate::{
    process::{failure::Failure, files, invocation, output, terminal},
    store::{
        flow_files::FlowFolder,
        home::Home,
        standing::{copy_of, of_a_copy},
    },
    text::columns::{Charset, clip},
};
use envoi_journal::{Activity, InboxFilter, RunFilter, RunRow, RunStatus};
use envoi_kernel::event::EndStatus;
use std::{
    env,
    fs::{self, File},
    io::Read as _,
    path::Path,
};

/// The most flow files that are named.
const NAMED: usize = 5;

/// The most bytes that are read of a possible flow file.
const MOST_BYTES: u64 = 1024 * 1024;

/// Columns that a command with the id of a run and a few words need.
const ROOM_FOR_A_COMMAND: usize = 60;

/// A suggestion: the command, and the reason.
struct Advice {
    command: String,
    why: String,
}

pub(crate) fn next(home: &Home) -> Result<u8, Failure> {
    let mut advice = Vec::new();
    if home.dir()?.join("envoi.db").is_file() {
        of_store(home, &mut advice)?;
    }
    let here = env::current_dir().map_err(|error| Failure::machine("the current folder", error))?;
    let flows = flows(&here);
    advice.extend(flows.iter().take(NAMED).map(|flow| of_flow(&here, flow)));
    if flows.is_empty() {
        let template = |name: &str, why: &str| Advice { command: format!("init{name}"), why: why.to_owned() };
        advice.push(template("", "write a small flow file to start from"));
        advice.push(template(" --list", "list the templates to start from"));
    }
    advice.push(Advice { command: "--help".to_owned(), why: "list all commands".to_owned() });
    output::data(&text(&advice, home.json)).map(|()| 0)
}

/// Suggests `check` for a flow file with mistakes, because it cannot be run.
fn of_flow(here: &Path, name: &str) -> Advice {
    let path = here.join(name);
    let is_right = files::read_text(&path)
        .is_ok_and(|text| envoi_flow::load_with(name, &text, &FlowFolder::of(&path)).is_ok());
    match is_right {
        true => Advice { command: format!("run {name}"), why: "start a run of this flow file".to_owned() },
        false => {
            Advice { command: format!("check {name}"), why: "list the mistakes of this flow file".to_owned() }
        }
    }
}

fn text(advice: &[Advice], json: bool) -> String {
    let envoi = invocation::envoi();
    if json {
        let row = |next: &Advice| envoi_api::output::Advice {
            command: format!("{envoi} {}", next.command),
            reason: next.why.clone(),
        };
        return output::line(&advice.iter().map(row).collect::<Vec<_>>());
    }
    let rows = advice.iter().map(|next| vec![format!("{envoi} {}", next.command), next.why.clone()]);
    within(&output::table(&rows.collect::<Vec<_>>()), terminal::columns_of_stdout())
}

/// Cuts lines at the width of the terminal, if a command fits into that width.
fn within(text: &str, columns: Option<usize>) -> String {
    match columns.filter(|most| *most >= ROOM_FOR_A_COMMAND) {
        Some(most) => text.lines().map(|line| clip(line, most, Charset::Unicode) + "\n").collect(),
        None => text.to_owned(),
    }
}

/// Adds what waits in the store. Questions come first, because they need a person.
fn of_store(home: &Home, advice: &mut Vec<Advice>) -> Result<(), Failure> {
    let (store, reader) = match home.reader() {
        Ok(opened) => opened,
        Err(failure) => {
            advice.push(Advice { command: "doctor".to_owned(), why: failure.message });
            return Ok(());
        }
    };
    let mut add = |command: String, why: String| advice.push(Advice { command, why });
    if let Some(of) = copy_of(&store) {
        // A copied store allows no other command before it is adopted.
        add("store adopt".to_owned(), of_a_copy(&of));
        return Ok(());
    }
    let questions = reader.inbox(&InboxFilter::default()).map_err(Failure::store)?;
    match questions.as_slice() {
        [] => {}
        [one] => add(
            format!("show {}", one.interrupt),
            format!("a question waits for an answer: {}", head(&one.question)),
        ),
        several => add("inbox".to_owned(), format!("{} questions wait for an answer", several.len())),
    }
    let unfinished = RunFilter { unfinished: true, limit: None };
    let mut rows = reader.all_runs(unfinished).map_err(Failure::store)?;
    envoi_engine::look_at(store.layout(), &reader, &mut rows).map_err(Failure::store)?;
    let of = |activity: Activity| {
        rows.iter().filter(move |row| row.doing.is_some_and(|doing| doing.activity == activity))
    };
    if let Some(first) = of(Activity::SetAside).next() {
        let count = of(Activity::SetAside).count();
        add(
            format!("repair {}", first.run),
            format!("{} set aside: something is wrong with {}", runs(count), its(count)),
        );
    }
    // A waiting run goes on when its question is answered.
    let needs_resume = |row: &&RunRow| row.doing.is_some_and(|doing| doing.needs_resume());
    let left: Vec<_> =
        rows.iter().filter(needs_resume).filter(|row| row.status() != RunStatus::Waiting).collect();
    if let Some(first) = left.first() {
        let count = left.len();
        let is_stopped = left.iter().all(|row| row.doing.is_some_and(|doing| !doing.step_works));
        let why = match is_stopped {
            true => format!("{} stopped: nothing works on {}", runs(count), its(count)),
            false => format!("{} without an engine: nothing new is started in {}", runs(count), its(count)),
        };
        add(format!("resume {}", first.run), why);
    }
    let working = of(Activity::Working).filter(|row| !needs_resume(row)).count();
    if working > 0 {
        add(
            "runs -f".to_owned(),
            format!(
                "follow {}",
                if working == 1 {
                    "the run that is at work".to_owned()
                } else {
                    format!("the {working} runs that are at work")
                }
            ),
        );
    }
    // A run that has ended is also shown, unless it succeeded.
    let newest = RunFilter { limit: Some(1), ..RunFilter::default() };
    let newest = reader.all_runs(newest).map_err(Failure::store)?;
    let has_stopped = |row: &RunRow| !matches!(row.status(), RunStatus::Ended(EndStatus::Succeeded));
    if let Some(newest) = newest.first().filter(|row| row.ended.is_some())
        && (rows.is_empty() || has_stopped(newest))
    {
        add(format!("show {}", newest.run), format!("the newest run: {}", newest.status().word()));
    }
    Ok(())
}

fn runs(count: usize) -> String {
    if count == 1 { "one run is".to_owned() } else { format!("{count} runs are") }
}

fn its(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

/// The first line of a question, shortened.
fn head(question: &str) -> String {
    clip(question.lines().next().unwrap_or(""), 60, Charset::Unicode)
}

/// YAML files here that have a flow's key, by name.
fn flows(here: &Path) -> Vec<String> {
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".yaml") || name.ends_with(".yml"))
        .filter(|name| {
            let mut text = String::new();
            let read =
                File::open(here.join(name)).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
            read.is_ok() && text.lines().any(|line| line.starts_with("flow:"))
        })
        .collect();
    names.sort();
    names
}
