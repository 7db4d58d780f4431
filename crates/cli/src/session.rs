//! The work of one command with an engine: becoming the engine or sending it a request, and the conversation
//! with the person at the terminal.

pub(crate) mod accounts;
pub(crate) mod agent;
pub(crate) mod attempt_order;
pub(crate) mod background;
pub(crate) mod caller;
pub(crate) mod configured_models;
pub(crate) mod edited;
pub(crate) mod engine_client;
pub(crate) mod interactive;
pub(crate) mod model;
pub(crate) mod outcome;
pub(crate) mod own_engine;
pub(crate) mod program;
pub(crate) mod sent_request;
pub(crate) mod telemetry;
pub(crate) mod zygote;
