//! A step with `cache`: the variables of its command, and the engine's part of the key.
//!
//! The engine gives the command only what is part of the key: no secrets, no last hand-off, answers, feedback, envelope or variables of
//! models. The supervisor adds files and programs to the key.

use super::{shared::Shared, variables::is_allowed};
use crate::{model::runner::Job, observe::step_cache::newest};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::{CacheUse, CachedFrom, Command, LateFile},
    flow::{CachePlan, NoArtifacts, Step},
    ids::{AttemptId, RunId},
};
use envoi_step::{CacheOrder, CachePart};
use std::{collections::BTreeSet, io};

/// The form of a key. Another number makes every result unknown.
const FORM: &str = "envoi-cache 2";

/// Variables of the engine's that the command gets, although they are no part of the key.
const GIVEN: [&str; 9] = [
    "ENVOI_RUN_ID",
    "ENVOI_FLOW",
    "ENVOI_STEP",
    "ENVOI_ATTEMPT",
    "ENVOI_RUN_BASE",
    "ENVOI_REPORT",
    "ENVOI_DATA",
    "ENVOI_OUTPUT",
    "ENVOI_CALLERS",
];

/// The cache of the step of this attempt, if it has one.
pub(super) fn plan(job: &Job) -> Option<&CachePlan> {
    let started = &job.started;
    let is_command =
        matches!(started.command, Command::Exec(_) | Command::Shell(_)) && started.verifies.is_none();
    let step = job.flow.step(&started.attempt.visit.step).filter(|_| is_command && job.keeps_files)?;
    step.cache.as_deref()
}

/// Whether the command gets this variable of the caller.
pub(super) fn gets(plan: &CachePlan, name: &str) -> bool {
    is_allowed(name) || plan.env.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
}

/// Whether it gets this variable of the engine's.
pub(super) fn is_given(name: &str) -> bool {
    GIVEN.contains(&name)
}

/// Whether a value makes another key. These variables describe the terminal or the session of the user.
fn is_keyed(name: &str) -> bool {
    !matches!(name, "TERM" | "TMPDIR" | "XDG_RUNTIME_DIR" | "XDG_SEAT" | "XDG_VTNR")
        && !name.starts_with("XDG_SESSION_")
}

/// The engine's part of the key. `env`: the variables of the command, one value a name, without the engine's
/// own.
///
/// # Errors
/// The key of the store for secrets cannot be had.
pub(super) fn order(
    shared: &Shared,
    job: &Job,
    plan: &CachePlan,
    env: &[(String, String)],
) -> io::Result<CacheOrder> {
    let started = &job.started;
    let visit = &started.attempt.visit;
    let step = job.flow.step(&visit.step);
    let artifacts = step.map(|step| step.artifacts.as_slice()).unwrap_or_default();
    let values = values(&Known {
        tenant: &job.tenant,
        flow: job.flow.id.as_str(),
        step: visit.step.as_str(),
        command: &serde_json::to_string(&started.command)?,
        cwd: &started.cwd,
        artifacts,
        is_none_ignored: step.is_some_and(|step| step.if_no_artifacts == NoArtifacts::Ignore),
        env,
    });
    let digests = shared.keyed(&values)?;
    let parts =
        values.into_iter().zip(digests).map(|((name, _), digest)| CachePart { name, digest }).collect();
    let others = |step: &&Step| step.id != visit.step;
    let inner = job.pinned.flows.values().flat_map(|flow| &flow.steps);
    let also: BTreeSet<&String> =
        job.pinned.steps.iter().chain(inner).filter(others).flat_map(|step| &step.artifacts).collect();
    let is_first =
        started.attempt.attempt == 1 && started.feedback.is_none() && started.sent_back_by.is_none();
    Ok(CacheOrder {
        folder: shared.layout.step_cache(&job.tenant),
        step: newest(&job.flow.id, &visit.step),
        parts,
        words: words(&started.command),
        inputs: plan.inputs.clone(),
        also: also.into_iter().cloned().collect(),
        read: is_first && !job.no_cache,
        max_age_ms: plan.max_age_ms,
    })
}

/// The inputs of a command that the engine knows.
#[derive(Clone, Copy)]
struct Known<'k> {
    tenant: &'k str,
    flow: &'k str,
    step: &'k str,
    command: &'k str,
    cwd: &'k str,
    artifacts: &'k [String],
    /// Then a result without any of them is kept, and another step could not do with it.
    is_none_ignored: bool,
    env: &'k [(String, String)],
}

/// Each in a value with a name for a person.
fn values(known: &Known<'_>) -> Vec<(String, String)> {
    let named = |name: &str, value: String| (name.to_owned(), value);
    let own = [
        named("the form of keys", FORM.to_owned()),
        named("the tenant", known.tenant.to_owned()),
        named("the step", format!("{:?} {:?}", known.flow, known.step)),
        named("the command", known.command.to_owned()),
        named("`cwd`", known.cwd.to_owned()),
        named(
            "`artifacts`",
            format!("{:?}{}", known.artifacts, if known.is_none_ignored { " or none" } else { "" }),
        ),
        named("the system", system()),
    ];
    let variables = known.env.iter().filter(|(name, _)| is_keyed(name));
    let variables = variables.map(|(name, value)| (format!("variable `{name}`"), value.clone()));
    own.into_iter().chain(variables).collect()
}

/// The platform that this program was built for. A store is on one machine; a home folder may be on several.
fn system() -> String {
    let systems = [("linux", cfg!(target_os = "linux")), ("macos", cfg!(target_os = "macos"))];
    let machines = [("x86_64", cfg!(target_arch = "x86_64")), ("aarch64", cfg!(target_arch = "aarch64"))];
    let known = systems.iter().chain(&machines).filter(|(_, is_it)| *is_it).map(|(name, _)| *name);
    known.collect::<Vec<_>>().join(" ")
}

/// The words of a command that may name a program or a file.
fn words(command: &Command) -> Vec<String> {
    let texts = match command {
        Command::Exec(argv) => argv.clone(),
        Command::Shell(script) => vec!["sh".to_owned(), script.clone()],
        Command::A2a(_) | Command::Agent(_) | Command::Model(_) | Command::Merge(_) => Vec::new(),
    };
    let is_part = |c: char| c.is_alphanumeric() || "_./+@~%-".contains(c);
    let split = texts.iter().flat_map(|text| text.split(move |c| !is_part(c)));
    let all: BTreeSet<&str> =
        split.chain(texts.iter().map(String::as_str)).filter(|word| !word.is_empty()).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// In the kernel's words.
pub(super) fn used(cache: envoi_step::CacheUse) -> CacheUse {
    let from = cache.from.and_then(|from| {
        Some(CachedFrom { run: RunId::new(&from.run).ok()?, attempt: AttemptId::parse(&from.attempt).ok()? })
    });
    CacheUse {
        key: cache.key,
        from,
        kept: cache.kept.as_deref().and_then(Digest::parse),
        again: cache.again,
        missed: cache.missed,
        not_kept: cache.not_kept,
        stood: cache.displaced.stood.as_deref().and_then(Digest::parse),
        late: late(&cache.displaced.late),
    }
}

/// The late writes, in the kernel's types.
pub(super) fn late(found: &[envoi_step::LateFile]) -> Vec<LateFile> {
    let of = |late: &envoi_step::LateFile| LateFile {
        path: late.path.clone(),
        digest: late.digest.as_deref().and_then(Digest::parse),
        size: late.size,
    };
    found.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_engine_knows_of_a_command_makes_another_key() {
        let artifacts = ["out/**".to_owned()];
        let others = ["out/*".to_owned()];
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let env = [variable("CC", "cc"), variable("TERM", "xterm")];
        let own = Known {
            tenant: "one",
            flow: "build",
            step: "make",
            command: "make",
            cwd: ".",
            artifacts: &artifacts,
            is_none_ignored: false,
            env: &env,
        };
        let (other, empty) = ([variable("CC", "gcc")], [variable("CC", "")]);
        let rows = [
            ("another tenant", Known { tenant: "other", ..own }),
            ("another flow", Known { flow: "other", ..own }),
            ("another step", Known { step: "other", ..own }),
            ("another command", Known { command: "make all", ..own }),
            ("another folder", Known { cwd: "src", ..own }),
            ("other artifacts", Known { artifacts: &others, ..own }),
            ("no artifact is enough", Known { is_none_ignored: true, ..own }),
            ("another value", Known { env: &other, ..own }),
            ("an empty value", Known { env: &empty, ..own }),
            ("no variable", Known { env: &[], ..own }),
        ];
        let scripts =
            ["sh", "bash"].map(|shell| Command::Exec([shell, "-c", "make"].map(str::to_owned).to_vec()));
        let scripts = [&scripts[0], &scripts[1], &Command::Shell("make".to_owned())];
        let scripts = scripts.map(|command| serde_json::to_string(command).unwrap());
        let mut keys = BTreeSet::from([values(&own)]);
        for command in &scripts {
            assert!(keys.insert(values(&Known { command, ..own })), "{command}");
        }
        for (what, known) in rows {
            assert!(keys.insert(values(&known)), "{what}");
        }
        let terminal =
            [variable("CC", "cc"), variable("TERM", "dumb"), variable("XDG_RUNTIME_DIR", "/run/1")];
        assert!(
            keys.contains(&values(&Known { env: &terminal, ..own })),
            "a terminal says nothing of the command"
        );
    }
}
