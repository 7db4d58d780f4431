//! Push configurations of a task: set, shown, listed, deleted. [`crate::push`] sends the notifications.

use super::{
    client::{Client, internal_fault, read},
    task::loader,
};
use crate::{auth::scope::Scope, push::dispatcher, state::app::App};
use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Authentication, PushConfig, Secret},
    request::Reply,
};
use envoi_contract::digest::Digest;
use envoi_journal::{KeptPush, PushRow, PushState, ReadError};
use envoi_kernel::ids::{RunId, Seq};

/// The most configurations of one task.
const MAX_CONFIGS: usize = 16;

/// Hexadecimal digits of the digest in an id.
const ID_DIGITS: usize = 26;

/// Maximum length of each text, in bytes.
const MAX_BYTES: usize = 4096;

/// Checks a configuration. The address of a host name is checked only when something is posted there.
pub(crate) fn check(app: &App, push: &PushConfig) -> Result<(), Fault> {
    if let Err(reason) = app.settings.a2a.push.check_url(&push.url) {
        return Err(Fault::violation("url", format!("Cannot be posted to: {reason}.")));
    }
    let scheme = push.authentication.as_ref().map(|authentication| authentication.scheme.as_str());
    let credentials =
        push.authentication.as_ref().and_then(|authentication| authentication.credentials.as_ref());
    let texts = [
        ("url", Some(push.url.as_str())),
        ("id", push.id.as_deref()),
        ("token", push.token.as_ref().map(|token| token.0.as_str())),
        ("authentication.scheme", scheme),
        ("authentication.credentials", credentials.map(|credentials| credentials.0.as_str())),
    ];
    for (field, text) in texts.into_iter().filter_map(|(field, text)| Some((field, text?))) {
        // These texts are sent in headers.
        if text.len() > MAX_BYTES || text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(Fault::violation(field, "Must be one line, and not so long."));
        }
    }
    Ok(())
}

/// `CreateTaskPushNotificationConfig`. Replaces one with the same id and token.
pub(crate) fn set(app: &App, client: &Client, push: &PushConfig) -> Result<Reply, Fault> {
    client.require(&[Scope::Run])?;
    let run = loader::run_of(app, client, push.task_id.as_deref().unwrap_or(""))?;
    check(app, push)?;
    let from = read(app, |reader| reader.next_seq(&run))?;
    let (row, _) = keep(app, client, &run, push, from)?;
    announce(app, &row);
    Ok(Reply::Push(shown(&row, &client.bearer.id)))
}

/// Checks that the run may have one more configuration, or has one that this one replaces.
pub(crate) fn check_room(app: &App, client: &Client, run: &RunId, push: &PushConfig) -> Result<(), Fault> {
    let rows = read(app, |reader| reader.pushes(run))?;
    let token_id = &client.bearer.id;
    let id = id_of(token_id, push);
    match rows.iter().find(|row| row.id == id) {
        Some(row) if row.client != *token_id && row.state == PushState::Active => Err(anothers(&id)),
        None if rows.len() >= MAX_CONFIGS => {
            let detail = format!("a task has at most {MAX_CONFIGS} push configurations");
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
        _ => Ok(()),
    }
}

/// A token may not replace the configuration of another token.
fn anothers(id: &str) -> Fault {
    let detail =
        format!("the push configuration `{id}` of this task is another token's; name another id, or none");
    Fault::new(Kind::InvalidParams).detail(detail)
}

/// The id of a configuration. If a client chooses none, the id follows from its token and the receiver: so a
/// client that sends its configuration with each message has one for each receiver.
pub(crate) fn id_of(token_id: &str, push: &PushConfig) -> String {
    push.id.clone().unwrap_or_else(|| {
        let hex = Digest::of(format!("{token_id}\n{}", push.url).as_bytes()).hex();
        format!("push_{}", hex.chars().take(ID_DIGITS).collect::<String>())
    })
}

/// Stores a configuration of a run, for the events from `next_seq` on. Returns it, and the one that it has
/// replaced. Nothing is sent before [`announce`].
pub(crate) fn keep(
    app: &App,
    client: &Client,
    run: &RunId,
    push: &PushConfig,
    next_seq: Seq,
) -> Result<(PushRow, Option<Box<PushRow>>), Fault> {
    check_room(app, client, run, push)?;
    let secret = |secret: &Secret| secret.0.clone();
    let row = PushRow {
        run: run.clone(),
        id: id_of(&client.bearer.id, push),
        url: push.url.clone(),
        token: push.token.as_ref().map(secret),
        scheme: push.authentication.as_ref().map(|authentication| authentication.scheme.clone()),
        credentials: push.authentication.as_ref().and_then(|given| given.credentials.as_ref()).map(secret),
        client: client.bearer.id.clone(),
        version: client.version.word().to_owned(),
        base: client.base.clone(),
        next_seq,
        tries: 0,
        due_at: app.now(),
        state: PushState::Active,
        note: None,
        at: app.now(),
    };
    match app.store.keep_push(&row).map_err(|error| internal_fault(app, error))? {
        KeptPush::Kept(before) => Ok((row, before)),
        KeptPush::Anothers => Err(anothers(&row.id)),
    }
}

/// Begins to send to this stored configuration.
pub(super) fn announce(app: &App, row: &PushRow) {
    let tenant = app.read(|reader| reader.tenant_of(&row.run)).unwrap_or_else(|error: ReadError| {
        // Only logged: without its tenant the configuration counts only for its run.
        internal_fault(app, error);
        None
    });
    let owner = dispatcher::owner_of(tenant, &app.settings.a2a.push, row);
    app.push_scheduler.add((row.run.clone(), row.id.clone()), owner, row.due_at);
}

/// `GetTaskPushNotificationConfig`.
pub(crate) fn get(app: &App, client: &Client, task: &str, id: Option<&str>) -> Result<Reply, Fault> {
    let rows = of(app, client, task)?;
    let found = rows.iter().find(|row| id.is_none_or(|id| row.id == id));
    found.map(|row| Reply::Push(shown(row, &client.bearer.id))).ok_or_else(Fault::task_not_found)
}

/// `ListTaskPushNotificationConfigs`.
pub(crate) fn list(
    app: &App,
    client: &Client,
    task: &str,
    page_size: Option<u32>,
    page_token: Option<&str>,
) -> Result<Reply, Fault> {
    let rows = of(app, client, task)?;
    // A page token is the last id of the page before.
    let behind = rows.iter().filter(|row| page_token.is_none_or(|after| row.id.as_str() > after));
    let size = page_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(MAX_CONFIGS);
    let page: Vec<&PushRow> = behind.clone().take(size).collect();
    let more = behind.count() > page.len();
    let next_page_token = page.last().filter(|_| more).map(|row| row.id.clone()).unwrap_or_default();
    let configs = page.into_iter().map(|row| shown(row, &client.bearer.id)).collect();
    Ok(Reply::Pushes { configs, next_page_token })
}

/// `DeleteTaskPushNotificationConfig`. Deleting a missing one succeeds.
pub(crate) fn delete(app: &App, client: &Client, task: &str, id: &str) -> Result<Reply, Fault> {
    client.require(&[Scope::Run])?;
    let run = loader::run_of(app, client, task)?;
    app.store.forget_push(&run, id).map_err(|error| internal_fault(app, error))?;
    // At the next turn the dispatcher finds that the configuration no longer exists.
    app.push_scheduler.committed(&run, app.now());
    Ok(Reply::Nothing)
}

fn of(app: &App, client: &Client, task: &str) -> Result<Vec<PushRow>, Fault> {
    let run = loader::run_of(app, client, task)?;
    read(app, |reader| reader.pushes(&run))
}

/// A configuration as the owner of a token sees it: with secrets only if they are its own.
fn shown(row: &PushRow, token_id: &str) -> PushConfig {
    let own = |secret: &Option<String>| secret.clone().filter(|_| row.client == token_id).map(Secret);
    let credentials = own(&row.credentials);
    PushConfig {
        id: Some(row.id.clone()),
        task_id: Some(row.run.to_string()),
        url: row.url.clone(),
        token: own(&row.token),
        authentication: row.scheme.clone().map(|scheme| Authentication { scheme, credentials }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::time::Timestamp;

    #[test]
    fn secrets_are_shown_only_to_the_token_that_set_them() {
        let row = PushRow {
            run: RunId::new("run_1").unwrap(),
            id: "p".to_owned(),
            url: "https://there.example".to_owned(),
            token: Some("t0ken".to_owned()),
            scheme: Some("Bearer".to_owned()),
            credentials: Some("s3cret".to_owned()),
            client: "ann".to_owned(),
            version: "1.0".to_owned(),
            base: String::new(),
            next_seq: 0,
            tries: 0,
            due_at: Timestamp::from_millis(0),
            state: PushState::Active,
            note: None,
            at: Timestamp::from_millis(0),
        };
        let secrets = |token_id: &str| {
            let push = shown(&row, token_id);
            let authentication = push.authentication.unwrap();
            assert_eq!((push.url, authentication.scheme), (row.url.clone(), "Bearer".to_owned()));
            (push.token.map(|token| token.0), authentication.credentials.map(|secret| secret.0))
        };
        assert_eq!(secrets("ann"), (row.token.clone(), row.credentials.clone()));
        assert_eq!(secrets("bob"), (None, None));
    }

    #[test]
    fn a_configuration_without_an_id_has_that_of_its_token_and_its_receiver() {
        let push = |id: Option<&str>, url: &str, token: &str| PushConfig {
            id: id.map(str::to_owned),
            task_id: None,
            url: url.to_owned(),
            token: Some(Secret(token.to_owned())),
            authentication: None,
        };
        let own = id_of("ann", &push(None, "https://there.example", "1"));
        assert_eq!(own, id_of("ann", &push(None, "https://there.example", "2")));
        assert_ne!(own, id_of("bob", &push(None, "https://there.example", "1")));
        assert_ne!(own, id_of("ann", &push(None, "https://other.example", "1")));
        assert_eq!(id_of("ann", &push(Some("mine"), "https://there.example", "1")), "mine");
    }
}
