//! The run to which another system's request refers: the one of the context that it names.

use super::app::App;
use crate::http::problem::Problem;
use envoi_kernel::ids::RunId;

/// The header that names a context. It is trusted like the token that comes with it; the body is not.
pub(crate) const HEADER: &str = "x-envoi-a2a-context-id";

/// The run of this tenant for a context. It is the newest one of the token's A2A context with that name, else
/// of the only other client's, or the run with that id. `None` if there is none, if it is another tenant's,
/// or if several clients have such a context.
pub(crate) fn run_of(
    app: &App,
    tenant: &str,
    token: Option<&str>,
    context: &str,
) -> Result<Option<RunId>, Problem> {
    app.read(|reader| {
        let newest = reader.newest_of_context(tenant, context, token).map_err(Problem::from)?;
        if newest.is_some() {
            return Ok(newest);
        }
        let Ok(run) = RunId::new(context) else { return Ok(None) };
        let owner = reader.tenant_of(&run).map_err(Problem::from)?;
        Ok((owner.as_deref() == Some(tenant)).then_some(run))
    })
}

/// Whether a context belongs to this run, even if the context has a newer run.
pub(crate) fn is_of(app: &App, run: &RunId, context: &str) -> Result<bool, Problem> {
    let task = app.read(|reader| reader.task(run).map_err(Problem::from))?;
    Ok(run.as_str() == context || task.is_some_and(|task| task.context == context))
}
