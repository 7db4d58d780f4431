//! Which run a request of another system is about: the one behind the context that it names.

use crate::{app::App, problem::Problem};
use envoi_kernel::ids::RunId;

/// The header that names a context. Whoever may set it is trusted with it: it comes with the token, not with the body.
pub(crate) const HEADER: &str = "x-envoi-a2a-context-id";

/// The run of this tenant that a context stands for: the newest of an A2A conversation, or the run of that id. That there is none,
/// and that it is another tenant's, are the same.
pub(crate) fn run_of(app: &App, tenant: &str, context: &str) -> Result<Option<RunId>, Problem> {
    app.read(|reader| {
        if let Some(newest) = reader.newest_of_context(tenant, context).map_err(Problem::from)? {
            return Ok(Some(newest));
        }
        let Ok(run) = RunId::new(context) else { return Ok(None) };
        let owner = reader.tenant_of(&run).map_err(Problem::from)?;
        Ok((owner.as_deref() == Some(tenant)).then_some(run))
    })
}
