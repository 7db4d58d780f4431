//! The handlers of the objects: each reads the keys of its object, calls [`crate::turn`], and carries out the
//! result.
//!
//! A handler reads all keys of its object before anything else, whatever the message is. So a repeated
//! handler issues the same commands.

use crate::{
    contents::{Replica, Unavailable},
    names,
    reply::Reply,
    turn::{self, Door, Effects, Fault, Kept, Object, Outgoing, Recipient, Runs},
};
use restate_sdk::{
    context::RequestTarget,
    discovery::ServiceName,
    endpoint::{self, ContextInternal},
    prelude::{
        Context, ContextClient as _, ContextReadState as _, ContextWriteState as _, HandlerError,
        HandlerResult, ObjectContext, ServiceDefinition, object, service,
    },
    service::{
        Discoverable, Service,
        macro_support::{ServiceBoxFuture, service_definition},
    },
};
use std::{sync::Arc, time::Duration};

pub(crate) struct RunObject(pub(crate) Arc<Runs>);
pub(crate) struct WorkerObject(pub(crate) Arc<turn::Workers>);
pub(crate) struct DispatcherObject(pub(crate) Arc<turn::Dispatchers>);
pub(crate) struct ReplicaService(pub(crate) Arc<dyn Replica>);
struct Named(Arc<ReplicaService>);

/// A replica cannot have this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no name of a replica, which has letters, digits and `-`: {reason}")]
pub struct BadName {
    /// The refused name.
    pub name: String,
    /// Why Restate refuses it.
    pub reason: String,
}

#[object(name = "EnvoiRun", client_visibility = "pub(crate)")]
impl RunObject {
    #[handler(name = "ask")]
    async fn ask(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<Vec<u8>> {
        let kept = kept::<Runs>(&ctx).await?;
        answer(&ctx, taken(&*self.0, &ctx, &kept, &text, Door::Ask))
    }

    #[handler(name = "flow")]
    async fn flow(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<Vec<u8>> {
        let kept = kept::<Runs>(&ctx).await?;
        answer(&ctx, utf8(&text).and_then(|text| self.0.name_flow(&kept, text)))
    }

    #[handler(name = "tell", ingress_private = true)]
    async fn tell(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<()> {
        tell(&*self.0, &ctx, &text).await
    }
}

#[object(name = "EnvoiWorker", client_visibility = "pub(crate)")]
impl WorkerObject {
    #[handler(name = "ask")]
    async fn ask(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<Vec<u8>> {
        let kept = kept::<turn::Workers>(&ctx).await?;
        answer(&ctx, taken(&*self.0, &ctx, &kept, &text, Door::Ask))
    }

    #[handler(name = "tell", ingress_private = true)]
    async fn tell(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<()> {
        tell(&*self.0, &ctx, &text).await
    }
}

#[object(name = "EnvoiDispatcher", client_visibility = "pub(crate)")]
impl DispatcherObject {
    #[handler(name = "tell", ingress_private = true)]
    async fn tell(&self, ctx: ObjectContext<'_>, text: Vec<u8>) -> HandlerResult<()> {
        tell(&*self.0, &ctx, &text).await
    }
}

/// Each replica is a service with its own name, which is known only when the program starts. The macro
/// accepts only a name in the source.
#[service(name = "EnvoiReplica", client_visibility = "pub(crate)")]
impl ReplicaService {
    #[handler(name = "put", ingress_private = true)]
    async fn put(&self, _ctx: Context<'_>, text: Vec<u8>) -> HandlerResult<()> {
        let commit = utf8(&text).and_then(turn::commit).map_err(error)?;
        self.0.put(commit).map_err(|unavailable: Unavailable| HandlerError::from(unavailable))
    }
}

impl Service for Named {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            if ctx.handler_name() != names::PUT {
                return Err(endpoint::Error::unknown_handler(ctx.service_name(), ctx.handler_name()));
            }
            let (text, metadata) = ctx.input::<Vec<u8>>().await;
            let result = service.put((&ctx, metadata).into(), text).await;
            ctx.handle_handler_result(result);
            ctx.end();
            Ok(())
        })
    }
}

impl ReplicaService {
    /// The service with this name.
    ///
    /// # Errors
    /// Restate accepts no service of this name.
    pub(crate) fn named(self, name: &str) -> Result<ServiceDefinition, BadName> {
        let mut discovery = <Self as Discoverable>::discover();
        discovery.name = ServiceName::try_from(names::replica(name))
            .map_err(|error| BadName { name: name.to_owned(), reason: error.to_string() })?;
        Ok(service_definition(Named(Arc::new(self)), discovery))
    }
}

async fn kept<O: Object>(ctx: &ObjectContext<'_>) -> HandlerResult<Kept> {
    let mut kept = Kept::new();
    for key in O::KEYS {
        if let Some(value) = ctx.get::<Vec<u8>>(key).await? {
            kept.insert(*key, value);
        }
    }
    Ok(kept)
}

fn taken<O: Object>(
    object: &O,
    ctx: &ObjectContext<'_>,
    kept: &Kept,
    text: &[u8],
    door: Door,
) -> Result<Effects, Fault> {
    object.take(ctx.key(), kept, utf8(text)?, door)
}

/// Carries out the effects of a call. An invalid message gets an answer too.
fn answer(ctx: &ObjectContext<'_>, taken: Result<Effects, Fault>) -> HandlerResult<Vec<u8>> {
    let reply = match taken {
        Ok(effects) => does(ctx, effects),
        Err(Fault::Unfit(reason)) => Reply::Unfit { reason },
        Err(fault) => return Err(error(fault)),
    };
    Ok(reply.written().map_err(|unfit| error(Fault::Unwritable(unfit.to_string())))?.into_bytes())
}

/// Handles a message of another object. An invalid one was written by another version. An answer would not be
/// read, and without the message the run might wait for ever. So it is an error: it is visible in Restate,
/// and the message waits for a version that can read it.
async fn tell<O: Object>(object: &O, ctx: &ObjectContext<'_>, text: &[u8]) -> HandlerResult<()> {
    let kept = kept::<O>(ctx).await?;
    let effects = taken(object, ctx, &kept, text, Door::Tell).map_err(error)?;
    does(ctx, effects);
    Ok(())
}

fn does(ctx: &ObjectContext<'_>, effects: Effects) -> Reply {
    let Effects { writes, sends, reply } = effects;
    for (key, value) in writes {
        ctx.set(key, value);
    }
    for Outgoing { to, text, after_ms } in sends {
        let target = match to {
            Recipient::Object { name, key } => RequestTarget::object(name, key, names::TELL),
            Recipient::Replica { service } => RequestTarget::service(service, names::PUT),
        };
        let request = ctx.request::<Vec<u8>, ()>(target, text.into_bytes());
        // The id of the sent message is not needed.
        let _ = match after_ms {
            0 => request.send(),
            after_ms => request.send_after(Duration::from_millis(after_ms)),
        };
    }
    reply
}

fn utf8(text: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(text).map_err(|error| Fault::Unfit(format!("the message is no text: {error}")))
}

fn error(fault: Fault) -> HandlerError {
    HandlerError::from(fault)
}
