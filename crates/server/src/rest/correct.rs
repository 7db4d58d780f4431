//! Continues a run with a corrected flow: one request compares the flows, a second one makes the correction
//! that was compared.
//!
//! Owns who may use which flow. A client that may start runs can name a registered flow. A text that is not
//! registered may contain any command, so it needs the same rights as registering a flow.

use super::{
    flows, rows,
    runs::{follow, shown},
};
use crate::{
    auth::scope::Scope,
    commands::{
        start::{folder, parsed},
        submit::{caller_or_default, submit},
    },
    http::problem::Problem,
    request::{ApiRequest, flag, text, word},
    state::app::App,
};
use axum::response::Response;
use envoi_api::comparison::Comparison;
use envoi_contract::{code::Code, digest::Digest, json::Object};
use envoi_engine::{
    check_family_over, files_otherwise, load_run,
    protocol::{CallerWire, CorrectedFlow, Request, ResumeRequest},
};
use envoi_journal::Reader;
use envoi_kernel::{Cut, Flow, Run, Status, event::EndStatus, ids::StepId, part::Selection};
use std::{path::Path, sync::Arc};

/// `compareRun`.
pub(crate) fn compare(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&["flow", "files", "from", "fork"])?;
    let from = step(&members)?;
    let is_fork = flag(&members, "fork")?;
    let run = request.run(app)?;
    let given = given(app, request, &members)?;
    let loaded = app.read(|reader| load_run(reader, &run).map_err(Problem::from))?;
    // Without another flow: the effects of continuing the run unchanged, from the named step or from its
    // current state.
    let flow = given.map_or_else(|| Arc::clone(loaded.flow()), |given| given.flow);
    let outlook = loaded.correction(&flow, from.as_ref());
    let flows = (loaded.flow().as_ref(), flow.as_ref());
    let mut comparison = Comparison::of(&run, flows, from.as_ref(), &outlook);
    if matches!(loaded.status(), Status::Ended(ended) if ended.status == EndStatus::Succeeded) {
        comparison.refusals.insert(0, "the run has succeeded: there is nothing left to correct".to_owned());
    }
    if is_fork {
        // Reasons against continuing the run itself do not apply to a fork of it.
        comparison.refusals.clear();
    }
    let obstacles = app.read(|reader| obstacles(reader, &loaded, from.as_ref(), is_fork))?;
    comparison.notes.extend(obstacles.note);
    comparison.refusals.extend(obstacles.refusals);
    rows::answer(200, &comparison)
}

/// Obstacles that do not follow from the flows.
struct Obstacles {
    note: Option<String>,
    refusals: Vec<String>,
}

/// Whether a run of the family is under way, and which files have been changed since they were left, at the
/// point where the run or the fork would continue.
fn obstacles(reader: &Reader, run: &Run, from: Option<&StepId>, is_fork: bool) -> Result<Obstacles, Problem> {
    let Some(started) = run.started() else { return Ok(Obstacles { note: None, refusals: Vec::new() }) };
    let mut refusals = Vec::new();
    if let Some(root) = run.root() {
        let but = (!is_fork).then_some(&started.run);
        refusals.extend(check_family_over(&reader.family(root)?, but).err().map(|busy| busy.message));
    }
    // A run that is under way changes files, so they are not compared.
    if !matches!(run.status(), Status::Ended(_)) {
        return Ok(Obstacles { note: None, refusals });
    }
    let lived = reader.records(&started.run, 0, None)?;
    let mut last = run.next_seq();
    if is_fork {
        match Cut::of(run.versions(), &lived, from) {
            Ok(cut) => last = cut.at,
            Err(refused) => {
                refusals.push(refused.to_string());
                return Ok(Obstacles { note: None, refusals });
            }
        }
    }
    let others = files_otherwise(reader, &lived, last, Path::new(&started.workspace))?;
    let then = if is_fork { "when that step was entered" } else { "its steps have left them" };
    let note = others.map(|others| {
        format!("files lie otherwise in the workspace than {then}, and are not set back: {others}")
    });
    Ok(Obstacles { note, refusals })
}

/// `correctRun`.
pub(crate) fn correct(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&["flow", "files", "from", "seen", "reason"])?;
    let from = step(&members)?;
    let seen = word(&members, "seen")?.and_then(Digest::parse).ok_or_else(|| {
        Problem::bad_request("`seen` is not the `subject` of a comparison")
            .hint("`POST /v1/runs/{run}/compare` says what the correction means")
    })?;
    let why = text(&members, "reason")?.map(str::to_owned);
    let run = request.run(app)?;
    let id = request.request_id(app, "correctRun", &run)?;
    // Meanwhile the name of the flow may refer to a newer one.
    if request.was_done(app, "correctRun", &run)? {
        follow(app, request, &run)?;
        return shown(app, 202, &run);
    }
    let Given { corrected, flow, caller } = needed(given(app, request, &members)?)?;
    // An attempt of before the correction is masked with the secrets that it had.
    let caller = caller.with_secrets_of(caller_or_default(app, &run));
    let loaded = app.read(|reader| load_run(reader, &run).map_err(Problem::from))?;
    // The new flow may contain questions that the selected part of the old flow left out.
    if let Some(part) = loaded.started().and_then(|started| started.part.as_deref()) {
        check_questions(request, &flow, &part.selection)?;
    }
    if let Some(what) = evaded(&loaded, &flow, from.as_ref()) {
        request.require_answer(&what)?;
    }
    if from.is_none() && holds(&loaded, &flow) {
        let detail = "the run is pinned to this flow: there is nothing to correct";
        return Err(Problem::new(Code::NotCorrectable, detail).hint("resume it"));
    }
    let command = Request::Resume(Box::new(ResumeRequest {
        correct: Some(CorrectedFlow { from, seen: Some(seen), ..corrected }),
        again: true,
        request: Some(id),
        why,
        ..ResumeRequest::follow(run.clone(), request.principal(), caller)
    }));
    submit(app, command)?;
    shown(app, 202, &run)
}

/// Whether the run is pinned to this flow, and no other flow is about to replace it.
fn holds(run: &Run, flow: &Flow) -> bool {
    let now = run.flow();
    (now.digest, now.language) == (flow.digest, flow.language) && run.requested_correction().is_none()
}

/// The question that this correction would avoid, in words, if it avoids one: that has the effect of an
/// answer.
fn evaded(run: &Run, new: &Flow, from: Option<&StepId>) -> Option<String> {
    let open = run.interrupts().next().filter(|_| from.is_some());
    if let (Some(open), Some(from)) = (open, from) {
        return Some(format!(
            "to run again from `{from}` may withdraw the question of step `{}`, which is open",
            open.visit.step
        ));
    }
    run.flow().questions_changed(new).map(|step| changes_question(&step))
}

pub(super) fn changes_question(step: &StepId) -> String {
    format!("the corrected flow changes or lacks step `{step}`, which asks a person")
}

/// A corrected flow.
pub(super) struct Given {
    pub(super) corrected: CorrectedFlow,
    pub(super) flow: Arc<Flow>,
    /// The environment that its commands may see.
    pub(super) caller: CallerWire,
}

fn needed(given: Option<Given>) -> Result<Given, Problem> {
    given.ok_or_else(|| Problem::bad_request("`flow` is missing"))
}

/// The corrected flow that a body names or contains. `None` if it has neither.
pub(super) fn given(app: &App, request: &ApiRequest, members: &Object) -> Result<Option<Given>, Problem> {
    let tenant = &request.bearer.tenant;
    let brings = members.contains_key("files");
    let name = text(members, "flow")?;
    let found = match name {
        None if brings => return Err(Problem::bad_request("`flow` is missing: which of the `files` it is")),
        None => return Ok(None),
        Some(_) if brings => {
            if !request.bearer.scopes.allow(&[Scope::Admin]) {
                return Err(Problem::scope_too_small("a flow that is not registered", [Scope::Admin.word()])
                    .hint("name a registered flow: its digest, or its id for the newest"));
            }
            flows::submitted(app, request, members)?
        }
        Some(name) => {
            let found = app.read(|reader| reader.registered_flow(tenant, name).map_err(Problem::from))?;
            found.ok_or_else(|| {
                Problem::new(Code::FlowNotFound, format!("there is no flow `{name}`"))
                    .hint("`POST /v1/flows` registers one")
            })?
        }
    };
    let flow = parsed(&found)?.flow;
    let folder = folder(app, tenant)?;
    let caller = (app.settings.caller)(&flow, &folder);
    let corrected = CorrectedFlow {
        // In the folder where a run of it would begin.
        name: folder.join(&found.file).to_string_lossy().into_owned(),
        text: found.text,
        parts: found.parts,
        language: Some(found.language),
        from: None,
        seen: None,
    };
    Ok(Some(Given { corrected, flow, caller }))
}

/// The step that a body names with `from`.
pub(super) fn step(members: &Object) -> Result<Option<StepId>, Problem> {
    let bad = |_| Problem::bad_request("`from` is not the id of a step");
    text(members, "from")?.map(StepId::new).transpose().map_err(bad)
}

/// Leaving out a step with a question has the effect of an approval, so it needs a separate scope.
pub(super) fn check_questions(
    request: &ApiRequest,
    flow: &Flow,
    selection: &Selection,
) -> Result<(), Problem> {
    let passed = selection.questions_passed(flow);
    let Some(step) = passed.first().filter(|_| !request.bearer.scopes.allow(&[Scope::Admin])) else {
        return Ok(());
    };
    let what = format!("this part goes past step `{step}`, which asks a person; that");
    Err(Problem::scope_too_small(&what, [Scope::Admin.word()]).hint("take the step into the part"))
}
