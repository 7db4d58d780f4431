//! The writer: turns the result of a step into a hand-off that follows every rule.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use super::draft::{Artifacts, Draft, Identity};
use super::{
    Core, Extras, HANDOFF_INVALID, Handoff, Status, artifact, artifact_pointer, check_id, checked_error,
};
use crate::error::Diagnostic;
use crate::json::{Members, Object, Value};
use crate::routing::Signal;
use crate::time::Timestamp;

/// The error text for a failure without one.
const SILENT_FAILURE: &str = "Step failed without an error message";

/// Writes a hand-off. The same draft always gives the same hand-off.
///
/// # Errors
/// `HANDOFF_INVALID` with the member: a missing status, a missing or empty id, a path that leaves the run's
/// directory, a text that is not a time, a `succeeded` with an error.
pub fn write(draft: Draft) -> Result<Handoff, Diagnostic> {
    let (identity, overruled) = identify(&draft)?;
    let status = draft.status.ok_or_else(|| {
        Diagnostic::new(HANDOFF_INVALID, "", "a member `status`", "none")
            .with_hint("set it to succeeded, failed or skipped; it is never guessed")
    })?;
    let error = explained(status, draft.error)?;
    let times = [draft.timestamp.as_deref(), draft.started_at.as_deref()];
    let timestamp = moment(times, &identity.run_id, draft.duration_ms)?;
    let artifacts = place(draft.artifacts, &identity.flow_key)?;
    let text = draft.summary.or(draft.output).unwrap_or_default();
    let extras = Extras {
        file_changes: draft.file_changes,
        prompt_hash: draft.prompt_hash,
        verification_passed: draft.verification_passed,
        verification_details: with_overruled(draft.verification_details, overruled),
        routing_audit: draft.routing_audit,
        assumptions_made: draft.assumptions_made,
        decisions_made: draft.decisions_made,
    }
    .shaped();
    let core = Core {
        routing_signal: at_home(draft.routing_signal.unwrap_or_default(), &identity.flow_key),
        summary: super::summarize(&text),
        artifacts,
        status,
        error,
        duration_ms: draft.duration_ms,
        timestamp: timestamp.map(|at| at.to_string()),
        step_id: identity.step_id,
        flow_key: identity.flow_key,
        run_id: identity.run_id,
    };
    Ok(core.with(extras, draft.unknown))
}

/// The identity to use, and the different identity that the step stated.
fn identify(draft: &Draft) -> Result<(Identity, Object), Diagnostic> {
    let [step_id, flow_key, run_id] = [&draft.step_id, &draft.flow_key, &draft.run_id];
    let Some(engines) = &draft.identity else {
        let own = |name, stated: &Option<String>| {
            let missing = || Diagnostic::new(HANDOFF_INVALID, "", &format!("a member `{name}`"), "none");
            let id = stated.clone().ok_or_else(missing)?;
            check_id(name, &id)?;
            Ok(id)
        };
        let identity = Identity {
            step_id: own("step_id", step_id)?,
            flow_key: own("flow_key", flow_key)?,
            run_id: own("run_id", run_id)?,
        };
        return Ok((identity, Object::new()));
    };
    let claims = [
        ("step_id", step_id, &engines.step_id),
        ("flow_key", flow_key, &engines.flow_key),
        ("run_id", run_id, &engines.run_id),
    ];
    let mut overruled = Object::new();
    for (name, stated, used) in claims {
        check_id(name, used)?;
        if let Some(stated) = stated.as_ref().filter(|stated| *stated != used) {
            let both = Object::from([
                ("stated", Value::from(stated.as_str())),
                ("used", Value::from(used.as_str())),
            ]);
            overruled.insert(name, Value::Object(both));
        }
    }
    Ok((engines.clone(), overruled))
}

/// Adds `identity_overruled` to the verification details, whatever their shape.
fn with_overruled(details: Value, overruled: Object) -> Value {
    if overruled.is_empty() {
        return details;
    }
    let mut members = match details {
        Value::Null => Object::new(),
        Value::Object(members) => members,
        other => Object::from([("details", other)]),
    };
    members.insert("identity_overruled", Value::Object(overruled));
    Value::Object(members)
}

fn explained(status: Status, error: Option<String>) -> Result<Option<String>, Diagnostic> {
    let stated = error.filter(|error| !error.is_empty());
    let blank = stated.as_ref().is_none_or(|error| error.trim_ascii().is_empty());
    if status == Status::Failed && blank {
        return Ok(Some(SILENT_FAILURE.to_owned()));
    }
    checked_error(status, stated)
}

/// The given time, else the end computed from the start, else the time in the run id.
fn moment(
    [timestamp, started_at]: [Option<&str>; 2],
    run_id: &str,
    duration_ms: u64,
) -> Result<Option<Timestamp>, Diagnostic> {
    let started = started_at.map(|text| read_time("started_at", text)).transpose()?;
    if let Some(text) = timestamp {
        return read_time("timestamp", text).map(Some);
    }
    let started = started.or_else(|| Timestamp::of_run_id(run_id));
    Ok(started.map(|at| at.saturating_add_ms(duration_ms)))
}

fn read_time(name: &str, text: &str) -> Result<Timestamp, Diagnostic> {
    Timestamp::parse(text).ok_or_else(|| {
        let expected = "an RFC 3339 time with its offset, such as `2026-01-02T03:04:05Z`";
        Diagnostic::new(HANDOFF_INVALID, &format!("/{name}"), expected, &crate::quoted::shorten(text, 60))
    })
}

/// The artifacts with their paths. Bare names are in the flow's folder.
fn place(artifacts: Artifacts, flow_key: &str) -> Result<Members<String>, Diagnostic> {
    let (placed, listed): (Members<String>, bool) = match artifacts {
        Artifacts::Names(names) => {
            let path_of = |name: String| (name.clone(), format!("{flow_key}/{name}"));
            (names.into_iter().map(path_of).collect(), true)
        }
        Artifacts::Paths(paths) => (paths, false),
    };
    for (name, path) in &placed {
        if !artifact::is_name(name) || !artifact::is_inside(path) {
            let pointer = if listed { "/artifacts".to_owned() } else { artifact_pointer(name) };
            let expected = "a path inside the run's directory: relative, `/` between names, no `..`";
            return Err(Diagnostic::new(
                HANDOFF_INVALID,
                &pointer,
                expected,
                &crate::quoted::shorten(path, 60),
            ));
        }
    }
    Ok(placed)
}

/// The signal relative to its own flow: a route into the same flow names only the step.
fn at_home(mut signal: Signal, flow_key: &str) -> Signal {
    if let Some(route) = &mut signal.route
        && route.flow.as_deref() == Some(flow_key)
        && route.can_leave_out_its_flow()
    {
        route.flow = None;
    }
    signal.for_handoff()
}
