//! Which run a request of another system is about: the one behind the context that it names.

use super::app::App;
use crate::http::problem::Problem;
use envoi_kernel::ids::RunId;

/// The header that names a context. It is trusted like the token that it comes with; the body is not.
pub(crate) const HEADER: &str = "x-envoi-a2a-context-id";

/// The run of this tenant that a context names: the newest one of the token's A2A conversation of that name, else of
/// the only other client's, or the run with that id. `None` if there is none, if it is another tenant's, or if several
/// clients have such a conversation.
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

/// Whether a context is that of this run, the newest of it or not.
pub(crate) fn is_of(app: &App, run: &RunId, context: &str) -> Result<bool, Problem> {
    let task = app.read(|reader| reader.task(run).map_err(Problem::from))?;
    Ok(run.as_str() == context || task.is_some_and(|task| task.context == context))
}
