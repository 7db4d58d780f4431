//! Every operation of the interface: the table that is used to route, admit and document requests.
//!
//! Owns which operations exist, not how they are carried out. Pure: `xtask` writes the OpenAPI document from
//! it.

use crate::auth::scope::Scope;
use envoi_api::run::{RunStatus, Stands};

/// The HTTP method of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Changes nothing.
    Get,
    /// Has an effect.
    Post,
}

/// The place of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamIn {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its place.
    pub place: ParamIn,
    /// `string`, `integer` or `boolean`.
    pub kind: &'static str,
    /// Its description.
    pub about: &'static str,
    /// The allowed values; any value if the list is empty.
    pub words: &'static [&'static str],
    /// The smallest and the largest allowed number.
    pub range: Option<(u64, u64)>,
    /// The pattern of a text.
    pub pattern: Option<&'static str>,
}

/// How an operation is protected, and how a request without a valid token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Needs a token. The refusal is a problem: 401, or 403 if the token lacks a scope.
    Token,
    /// Needs no token, because a client gets its credentials there.
    Open,
    /// As contract 5 requires: always 403. Accepts tokens of attempts, also in the header
    /// `X-Envoi-Bridge-Token`.
    Bridge,
}

/// The content of a request or a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    None,
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of this schema, or an event stream if the request accepts one.
    JsonOrEvents(&'static str),
    /// Text of this media type.
    Text(&'static str),
    /// The text of a flow.
    Yaml,
    /// A flow: its text, or JSON of this schema with the flow and the flows that it uses.
    Flow(&'static str),
    /// Raw bytes.
    Bytes,
    /// An event stream.
    Events,
    /// A problem (RFC 9457).
    Problem,
}

/// A documented response of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// The status.
    pub status: u16,
    /// When it is returned.
    pub about: &'static str,
    /// Its content.
    pub content: Content,
}

/// An operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its name.
    pub id: &'static str,
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// How it is protected.
    pub gate: Gate,
    /// The token needs one of these scopes.
    pub scopes: &'static [Scope],
    /// A summary in one sentence.
    pub summary: &'static str,
    /// Its parameters, without the body.
    pub params: &'static [Param],
    /// The request body.
    pub body: Content,
    /// The documented responses. 400 (an unknown query parameter), 401 (no valid token) and 403 (a token
    /// without the scope) are added.
    pub outcomes: &'static [Outcome],
}

impl Operation {
    /// The names of the allowed query parameters.
    pub(crate) fn query_names(&self) -> impl Iterator<Item = &'static str> {
        self.params.iter().filter(|param| param.place == ParamIn::Query).map(|param| param.name)
    }
}

const READ: &[Scope] = &[Scope::Read];
const RUN: &[Scope] = &[Scope::Run];

const fn path(name: &'static str, about: &'static str) -> Param {
    Param { name, place: ParamIn::Path, kind: "string", about, words: &[], range: None, pattern: None }
}

const fn query(name: &'static str, kind: &'static str, about: &'static str) -> Param {
    Param { name, place: ParamIn::Query, kind, about, words: &[], range: None, pattern: None }
}

const fn header(name: &'static str, about: &'static str) -> Param {
    Param { name, place: ParamIn::Header, kind: "string", about, words: &[], range: None, pattern: None }
}

const RUN_ID: Param = path("run", "The id of a run");
const QUESTION_ID: Param = path("question", "The id of a question");
/// The most rows in a page.
pub(crate) const MAX_PAGE: u32 = 200;

/// The most steps in a page: a row has about 400 bytes.
pub(crate) const MAX_STEPS: usize = 2_000;

/// The largest integer that every JSON reader represents exactly.
pub(crate) const MAX_NUMBER: u64 = (1 << 53) - 1;
const MAX_VISIT: u64 = u32::MAX as u64;

const LIMIT: Param = Param {
    range: Some((1, MAX_PAGE as u64)),
    ..query("limit", "integer", "At most so many, from 1 to 200; 50 by default")
};
const AFTER: Param = Param {
    range: Some((0, MAX_NUMBER)),
    ..query("after", "integer", "Only what stands after this event: the `next` of the page before")
};
const CHANGED_AFTER: Param = Param {
    range: Some((0, MAX_NUMBER)),
    ..query(
        "after",
        "integer",
        "Only steps that have changed after this event, and those that are not over: the `next` of the page before, or the `newest` of an earlier answer",
    )
};
const CHANGED_BY: Param = query(
    "place",
    "string",
    "Only what one visit and its parts have changed, beside what each file was before that visit: its `place` among the steps",
);
const STEPS_LIMIT: Param = Param {
    range: Some((1, MAX_STEPS as u64)),
    ..query(
        "limit",
        "integer",
        "About so many, from 1 to 2000; 1000 by default. Steps that one event has changed are on one page",
    )
};
const FORM: Param = Param {
    words: &["shown", "stored"],
    ..query(
        "form",
        "string",
        "`stored` for events that also have their text in the journal, for a program that rebuilds a run; `shown` by default",
    )
};
const CURSOR: Param = query("cursor", "string", "The `next` of the page before");
const RANGE: Param = header("Range", "One range of bytes");
const IF_NONE_MATCH: Param = header("If-None-Match", "An ETag that is known");
const LAST_EVENT_ID: Param = header("Last-Event-ID", "The last event that was seen; those after it follow");
const KEY: Param = Param {
    pattern: Some("^[!-~]([ -~]{0,198}[!-~])?$"),
    ..header("Idempotency-Key", "1 to 200 printable characters; a request with the same key is done once")
};

const STATES: Param = query(
    "states",
    "string",
    "Two states, `A..B`, or a visit for what it changed; from the start to the last snapshot by default. A state is `start`, `end`, a step or a visit such as `fix.2` for the state after it, or `before:fix.2`",
);
const NOT_KEPT: Outcome = problem(409, "The run has not kept its files, or they are more than is compared");

const TRACEPARENT: Param = header(
    "traceparent",
    "The trace that the run becomes part of (W3C Trace Context); one that is not well formed is ignored",
);

const fn ok(content: Content) -> Outcome {
    Outcome { status: 200, about: "As requested", content }
}

const fn problem(status: u16, about: &'static str) -> Outcome {
    Outcome { status, about, content: Content::Problem }
}

const BAD: Outcome = problem(400, "The request cannot be understood");
const BRIDGE_TOKEN: Param = header("X-Envoi-Bridge-Token", "A token, in place of `Authorization`");
const CONTEXT: Param =
    header("X-Envoi-A2A-Context-Id", "The run that pays, for tokens that are not an attempt's");

const fn bridge(status: u16, about: &'static str, schema: &'static str) -> Outcome {
    Outcome { status, about, content: Content::Json(schema) }
}

const NO_RUN: Outcome = problem(404, "The tenant has no such run");
const NO_QUESTION: Outcome = problem(404, "The tenant has no such question");
const TOO_LARGE: Outcome = problem(413, "The body is too large");
const BUSY: Outcome = problem(429, "The token has as much under way as it may");
const NO_RANGE: Outcome = problem(416, "The range is outside of the content");
const UNCHANGED: Outcome = Outcome { status: 304, about: "It is what is known", content: Content::None };
const PARTIAL: Outcome =
    Outcome { status: 206, about: "The part that was requested", content: Content::Bytes };

const fn get(
    id: &'static str,
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    outcomes: &'static [Outcome],
) -> Operation {
    let method = Method::Get;
    let gate = Gate::Token;
    let scopes = READ;
    Operation { id, method, path, gate, scopes, summary, params, body: Content::None, outcomes }
}

/// All operations.
pub const ALL: &[Operation] = &[
    get("getHealth", "/v1/health", "Whether the process answers", &[], &[ok(Content::Json("Health"))]),
    get(
        "getReadiness",
        "/v1/ready",
        "Whether the engine takes requests and the store can be read",
        &[],
        &[ok(Content::Json("Health"))],
    ),
    get(
        "getMetrics",
        "/v1/metrics",
        "Figures of the tenant, as Prometheus reads them",
        &[],
        &[ok(Content::Text("text/plain; version=0.0.4"))],
    ),
    get(
        "getToken",
        "/v1/token",
        "Who asks: what the token is called, whose it is, what it is good for",
        &[],
        &[ok(Content::Json("Token"))],
    ),
    get(
        "explainCode",
        "/v1/errors/{code}",
        "What an error code means, and what to do",
        &[path("code", "The code")],
        &[ok(Content::Json("ErrorPage")), problem(404, "Envoi has no such code")],
    ),
    Operation {
        method: Method::Post,
        gate: Gate::Open,
        body: Content::Json("SignIn"),
        ..get(
            "createSession",
            "/v1/sessions",
            "Begin a session of the web page, with a code that is good once or with a token",
            &[],
            &[
                Outcome {
                    status: 201,
                    about: "It has begun: one half is a cookie, the other one in the body",
                    content: Content::Json("NewSession"),
                },
                BAD,
                problem(401, "The code or the token is not good"),
                TOO_LARGE,
            ],
        )
    },
    Operation {
        method: Method::Post,
        ..get(
            "endSession",
            "/v1/sessions/end",
            "End the session of this request, for all who have its halves",
            &[],
            &[
                Outcome { status: 204, about: "It is over", content: Content::None },
                problem(400, "This request has no session"),
            ],
        )
    },
    get("getOpenApi", "/v1/openapi.json", "This document", &[], &[ok(Content::Json("Document"))]),
    get(
        "listFlows",
        "/v1/flows",
        "The flows that may be started, newest first",
        &[],
        &[ok(Content::Json("Flows"))],
    ),
    Operation {
        method: Method::Post,
        scopes: &[Scope::Admin],
        body: Content::Flow("FlowFiles"),
        ..get(
            "registerFlow",
            "/v1/flows",
            "Let a flow be started by its digest; it becomes the newest of its id",
            &[],
            &[
                ok(Content::Json("Flow")),
                Outcome { status: 201, about: "It was not known before", content: Content::Json("Flow") },
                BAD,
                TOO_LARGE,
                problem(422, "The flow has mistakes"),
                BUSY,
            ],
        )
    },
    get(
        "getFlow",
        "/v1/flows/{flow}",
        "The text of a flow",
        &[
            path("flow", "Its digest, or its id for the newest"),
            query("file", "string", "Which of its `files`; the flow's own by default"),
        ],
        &[ok(Content::Yaml), problem(404, "The tenant has no such flow, or the flow no such file")],
    ),
    get(
        "getFlowShape",
        "/v1/flows/{flow}/shape",
        "The inputs and the steps of a flow, and what leads where",
        &[path("flow", "Its digest, or its id for the newest")],
        &[ok(Content::Json("FlowShape")), problem(404, "The tenant has no such flow")],
    ),
    get(
        "getFlowPlan",
        "/v1/flows/{flow}/plan",
        "The worst case of a flow: what a run of it may come to at most",
        &[path("flow", "Its digest, or its id for the newest")],
        &[ok(Content::Json("FlowPlan")), problem(404, "The tenant has no such flow")],
    ),
    get(
        "listRuns",
        "/v1/runs",
        "Runs, newest first",
        &[
            Param { words: RunStatus::WORDS, ..query("status", "string", "Only those in this status") },
            Param { words: Stands::WORDS, ..query("stands", "string", "Only those that stand so") },
            query("in_doubt", "boolean", "Only those with an attempt in doubt"),
            query("flow", "string", "Only those of the flow with this id"),
            query(
                "q",
                "string",
                "Only those with this text in their id, flow, step, starter or reason; capital letters do not matter",
            ),
            query("since", "string", "Only those that started then or later, RFC 3339"),
            query("root", "string", "Only this run and those that were forked from it, directly or not"),
            query("so_far", "boolean", "Also what each has done and used so far"),
            query("counts", "boolean", "Also how many there are in which status"),
            LIMIT,
            CURSOR,
        ],
        &[ok(Content::Json("Runs")), BAD],
    ),
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Start"),
        ..get(
            "startRun",
            "/v1/runs",
            "Start a run of a registered flow",
            &[KEY, TRACEPARENT],
            &[
                Outcome {
                    status: 200,
                    about: "A request with this key has started it before",
                    content: Content::Json("Run"),
                },
                Outcome { status: 201, about: "It is started, and durable", content: Content::Json("Run") },
                BAD,
                problem(404, "The tenant has no such flow"),
                problem(409, "Another run is at work in the workspace"),
                TOO_LARGE,
                problem(422, "The inputs do not fit the flow, or the key came with another body"),
                BUSY,
            ],
        )
    },
    get("getRun", "/v1/runs/{run}", "One run", &[RUN_ID], &[ok(Content::Json("Run")), NO_RUN]),
    get(
        "getRunFlow",
        "/v1/runs/{run}/flow",
        "The flow that a run is pinned to, with the flows that it names",
        &[RUN_ID],
        &[ok(Content::Json("PinnedFlow")), NO_RUN],
    ),
    get(
        "getRunShape",
        "/v1/runs/{run}/shape",
        "The steps of the flow that a run is pinned to, and what leads where",
        &[RUN_ID],
        &[ok(Content::Json("FlowShape")), NO_RUN],
    ),
    get(
        "listSteps",
        "/v1/runs/{run}/steps",
        "The visits of its steps, a row each: what they came to, or what they are at",
        &[RUN_ID, CHANGED_AFTER, STEPS_LIMIT],
        &[ok(Content::Json("Steps")), BAD, NO_RUN],
    ),
    get(
        "getRunLedger",
        "/v1/runs/{run}/ledger",
        "What a run has used of what it may use",
        &[RUN_ID],
        &[ok(Content::Json("RunLedger")), NO_RUN],
    ),
    get(
        "listChangedFiles",
        "/v1/runs/{run}/files",
        "The files that a run has changed so far: what each was before it, and what it was last",
        &[RUN_ID, CHANGED_BY],
        &[ok(Content::Json("ChangedFiles")), BAD, NO_RUN],
    ),
    get(
        "listDifferences",
        "/v1/runs/{run}/diff",
        "What differs between two states of a run's files, as the run has kept them",
        &[
            RUN_ID,
            STATES,
            query("path", "string", "Only this file, or what is below this folder"),
            query("lines", "boolean", "Also the lines that differ"),
            query("authors", "boolean", "Also who changed each file; it takes longer"),
            query("outside", "boolean", "Also what the run has changed in its tree outside of its workspace"),
            LIMIT,
            CURSOR,
        ],
        &[ok(Content::Json("Differences")), BAD, NO_RUN, NOT_KEPT],
    ),
    get(
        "getPatch",
        "/v1/runs/{run}/patch",
        "What a run has changed from its start to its last snapshot, as a patch for `git apply`, which names first what it lacks; empty if nothing was changed",
        &[RUN_ID],
        &[ok(Content::Bytes), NO_RUN, NOT_KEPT],
    ),
    get(
        "listArtifacts",
        "/v1/runs/{run}/artifacts",
        "The artifacts of a run; what is in one has `getRunContent` by its digest",
        &[
            RUN_ID,
            query("all", "boolean", "Every version; by default the newest of each path"),
            LIMIT,
            CURSOR,
        ],
        &[ok(Content::Json("Artifacts")), BAD, NO_RUN],
    ),
    Operation {
        scopes: &[Scope::Admin],
        ..get(
            "exportRun",
            "/v1/runs/{run}/bundle",
            "A run as one file, with all files of its snapshots: `envoi verify` checks it, `envoi import` takes it",
            &[RUN_ID, query("without_files", "boolean", "Leave the snapshots of the workspace out")],
            &[ok(Content::Bytes), BAD, NO_RUN],
        )
    },
    get(
        "getRunContent",
        "/v1/runs/{run}/contents/{digest}",
        "What one of the run's files was, at any time that its events tell of",
        &[RUN_ID, path("digest", "`sha256:` and 64 hexadecimal digits"), RANGE, IF_NONE_MATCH],
        &[
            ok(Content::Bytes),
            PARTIAL,
            UNCHANGED,
            problem(404, "The tenant has no such run, or the run never had such a file"),
            NO_RANGE,
        ],
    ),
    get(
        "getEnvelope",
        "/v1/runs/{run}/envelope",
        "The pipeline envelope (contract 3), true at the last commit",
        &[RUN_ID],
        &[ok(Content::Json("Envelope")), NO_RUN],
    ),
    get(
        "listEvents",
        "/v1/runs/{run}/events",
        "What happened, in order",
        &[RUN_ID, AFTER, LIMIT, FORM],
        &[ok(Content::Json("Events")), BAD, NO_RUN],
    ),
    get(
        "followRun",
        "/v1/runs/{run}/stream",
        "What happens, as it happens, from the beginning or after the last event seen; ends when the run is over",
        &[RUN_ID, LAST_EVENT_ID, FORM],
        &[
            ok(Content::Events),
            Outcome {
                status: 204,
                about: "The run is over and everything was seen: do not ask again",
                content: Content::None,
            },
            BAD,
            NO_RUN,
            BUSY,
        ],
    ),
    get(
        "listHandoffs",
        "/v1/runs/{run}/handoffs",
        "The hand-offs at a glance, in order",
        &[RUN_ID],
        &[ok(Content::Json("Handoffs")), NO_RUN],
    ),
    get(
        "getHandoff",
        "/v1/runs/{run}/handoffs/{handoff}",
        "A hand-off (contract 2), exactly as in its file",
        &[
            RUN_ID,
            path(
                "handoff",
                "Its `handoff` in the list, such as `build.2.compile.1` or `0.check.1`; or a step, `build.2.compile`, for the newest",
            ),
            Param {
                range: Some((1, MAX_VISIT)),
                ..query("visit", "integer", "Of a step: which; the newest by default")
            },
        ],
        &[
            ok(Content::Json("Handoff")),
            BAD,
            problem(404, "The tenant has no such run, or the run no such hand-off"),
        ],
    ),
    get(
        "listLogs",
        "/v1/runs/{run}/logs",
        "The attempts that were started, in order, and how much they have written",
        &[RUN_ID, AFTER, LIMIT],
        &[ok(Content::Json("Logs")), BAD, NO_RUN],
    ),
    get(
        "getLog",
        "/v1/runs/{run}/logs/{attempt}/{stream}",
        "What an attempt has written so far, secrets masked",
        &[RUN_ID, path("attempt", "The id of an attempt"), path("stream", "`stdout` or `stderr`"), RANGE],
        &[
            ok(Content::Bytes),
            PARTIAL,
            problem(404, "The tenant has no such run, or the run no such attempt"),
            NO_RANGE,
        ],
    ),
    get(
        "explainRun",
        "/v1/runs/{run}/why",
        "The events that decided which way the run went, in order",
        &[RUN_ID, AFTER, LIMIT],
        &[ok(Content::Json("Events")), BAD, NO_RUN],
    ),
    Operation {
        method: Method::Post,
        scopes: RUN,
        ..get(
            "cancelRun",
            "/v1/runs/{run}/cancel",
            "End a run; what is running is ended first",
            &[RUN_ID],
            &[
                Outcome { status: 202, about: "It is being ended", content: Content::Json("Run") },
                BAD,
                NO_RUN,
                problem(409, "It is over"),
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Resume"),
        ..get(
            "resumeRun",
            "/v1/runs/{run}/resume",
            "Go on with a run, reopening it if it failed, or with a decision on what it is in doubt of",
            &[RUN_ID, KEY],
            &[
                Outcome { status: 202, about: "It goes on", content: Content::Json("Run") },
                BAD,
                NO_RUN,
                problem(409, "That cannot be decided now"),
                TOO_LARGE,
                problem(422, "The key came with another body"),
                BUSY,
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Compare"),
        ..get(
            "compareRun",
            "/v1/runs/{run}/compare",
            "What it would mean for a run to go on, as it is or with its flow corrected; changes nothing",
            &[RUN_ID],
            &[
                ok(Content::Json("Comparison")),
                BAD,
                problem(404, "The tenant has no such run, or no such flow"),
                TOO_LARGE,
                problem(422, "The flow has mistakes"),
                BUSY,
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Correct"),
        ..get(
            "correctRun",
            "/v1/runs/{run}/correct",
            "Go on with a run under a corrected flow, as the comparison says that was looked at",
            &[RUN_ID, KEY],
            &[
                Outcome { status: 202, about: "The correction is durable", content: Content::Json("Run") },
                BAD,
                problem(404, "The tenant has no such run, or no such flow"),
                problem(409, "The flow cannot take over, or what it means is not what was looked at"),
                TOO_LARGE,
                problem(422, "The flow has mistakes, or the key came with another body"),
                BUSY,
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Raise"),
        ..get(
            "raiseRun",
            "/v1/runs/{run}/raise",
            "Let a run use more than its flow says; one that a bound has ended goes on",
            &[RUN_ID, KEY],
            &[
                Outcome { status: 202, about: "The bounds are higher", content: Content::Json("Run") },
                BAD,
                NO_RUN,
                problem(409, "The flow has no such bound, or another run of the family goes on"),
                TOO_LARGE,
                problem(422, "The key came with another body"),
                BUSY,
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: RUN,
        body: Content::Json("Fork"),
        ..get(
            "forkRun",
            "/v1/runs/{run}/fork",
            "Begin a new run with the history of this one up to a step",
            &[RUN_ID, KEY],
            &[
                Outcome {
                    status: 200,
                    about: "A request with this key has begun it before",
                    content: Content::Json("Forked"),
                },
                Outcome {
                    status: 201,
                    about: "It has begun, and is durable",
                    content: Content::Json("Forked"),
                },
                BAD,
                problem(404, "The tenant has no such run, or no such flow"),
                problem(409, "That cannot be forked now, or another run is at work in the workspace"),
                TOO_LARGE,
                problem(
                    422,
                    "`yes_to` names no step that asks, the flow has mistakes, or the key came with another body",
                ),
                BUSY,
            ],
        )
    },
    get(
        "followTenant",
        "/v1/stream",
        "Which runs change, as they change: each `change` has the run, its newest event, and whether a question was put or closed",
        &[LAST_EVENT_ID],
        &[ok(Content::Events), BAD, BUSY],
    ),
    get(
        "listQuestions",
        "/v1/questions",
        "The questions that wait for a person, oldest first",
        &[
            query("run", "string", "Only those of this run"),
            query("closed", "boolean", "Also those that are closed"),
            query("newest", "boolean", "The newest first; by default the oldest"),
            LIMIT,
            CURSOR,
        ],
        &[ok(Content::Json("Questions")), BAD],
    ),
    get(
        "followQuestions",
        "/v1/questions/stream",
        "Questions as they are put and closed, from now on or after the last event seen",
        &[LAST_EVENT_ID],
        &[ok(Content::Events), BAD, BUSY],
    ),
    get(
        "getQuestion",
        "/v1/questions/{question}",
        "All that one needs to answer",
        &[QUESTION_ID],
        &[ok(Content::Json("QuestionDetail")), NO_QUESTION],
    ),
    Operation {
        method: Method::Post,
        scopes: &[Scope::Answer],
        body: Content::Json("Answer"),
        ..get(
            "answerQuestion",
            "/v1/questions/{question}/answer",
            "Decide; the run goes on with it",
            &[QUESTION_ID, KEY],
            &[
                Outcome {
                    status: 200,
                    about: "The answer is durable",
                    content: Content::Json("QuestionDetail"),
                },
                BAD,
                NO_QUESTION,
                problem(409, "It is closed, or what it showed has changed"),
                TOO_LARGE,
                problem(422, "The answer does not fit the question"),
                BUSY,
            ],
        )
    },
    Operation {
        method: Method::Post,
        scopes: &[Scope::Answer, Scope::Run],
        body: Content::Bytes,
        ..get(
            "uploadArtifact",
            "/v1/artifacts",
            "Bring content; what comes back can be attached to an answer",
            &[header("Content-Type", "Its media type")],
            &[
                Outcome { status: 200, about: "The tenant had it", content: Content::Json("Attachment") },
                Outcome { status: 201, about: "It is durable", content: Content::Json("Attachment") },
                TOO_LARGE,
                BUSY,
            ],
        )
    },
    get(
        "getArtifact",
        "/v1/artifacts/{digest}",
        "Content by its digest: what the tenant has brought, or the newest version of an artifact of a run",
        &[path("digest", "`sha256:` and 64 hexadecimal digits"), RANGE, IF_NONE_MATCH],
        &[ok(Content::Bytes), PARTIAL, UNCHANGED, problem(404, "The tenant has no such content"), NO_RANGE],
    ),
    Operation {
        method: Method::Post,
        gate: Gate::Bridge,
        scopes: RUN,
        body: Content::Json("BridgeTurn"),
        ..get(
            "callModel",
            "/api/llm-bridge",
            "Have a model answer a message with files, metered into the run that pays",
            &[BRIDGE_TOKEN, CONTEXT],
            &[
                ok(Content::Json("BridgeAnswer")),
                bridge(400, "The body, the model or the user envelope is wrong", "BridgeRefusal"),
                bridge(409, "The run is over", "BridgeRefusal"),
                bridge(413, "The body is too large", "BridgeRefusal"),
                bridge(429, "The run, or the attempt, may use no more", "BridgeRefusal"),
                bridge(500, "The provider failed, or the store", "BridgeRefusal"),
                bridge(503, "No provider is there, or the server is stopping", "BridgeRefusal"),
            ],
        )
    },
    Operation {
        method: Method::Post,
        gate: Gate::Bridge,
        scopes: RUN,
        body: Content::Json("Chat"),
        ..get(
            "completeChat",
            "/api/llm-bridge/chat/completions",
            "The OpenAI API, metered; the status and the body of the provider are passed on",
            &[BRIDGE_TOKEN, CONTEXT],
            &[
                ok(Content::JsonOrEvents("ChatCompletion")),
                bridge(400, "The body or the model is wrong", "ChatRefusal"),
                bridge(409, "The run is over", "ChatRefusal"),
                bridge(413, "The body is too large", "ChatRefusal"),
                bridge(429, "The run, or the attempt, may use no more", "ChatRefusal"),
                bridge(502, "The provider cannot be reached, or broke off", "ChatRefusal"),
                bridge(503, "No provider is there, or the server is stopping", "ChatRefusal"),
            ],
        )
    },
    Operation {
        method: Method::Post,
        gate: Gate::Bridge,
        scopes: RUN,
        body: Content::Json("Chat"),
        ..get(
            "createResponse",
            "/api/llm-bridge/responses",
            "OpenAI responses, metered; the status and the body of the provider are passed on",
            &[BRIDGE_TOKEN, CONTEXT],
            &[
                ok(Content::JsonOrEvents("ChatCompletion")),
                bridge(400, "The body or the model is wrong", "ChatRefusal"),
                bridge(409, "The run is over", "ChatRefusal"),
                bridge(413, "The body is too large", "ChatRefusal"),
                bridge(429, "The run, or the attempt, may use no more", "ChatRefusal"),
                bridge(502, "The provider cannot be reached, or broke off", "ChatRefusal"),
                bridge(503, "No provider is there, or the server is stopping", "ChatRefusal"),
            ],
        )
    },
    Operation {
        method: Method::Post,
        gate: Gate::Bridge,
        scopes: RUN,
        body: Content::Json("Chat"),
        ..get(
            "createMessage",
            "/api/llm-bridge/v1/messages",
            "Anthropic messages, metered; the status and the body of the provider are passed on",
            &[BRIDGE_TOKEN, CONTEXT],
            &[
                ok(Content::JsonOrEvents("ChatCompletion")),
                bridge(400, "The body or the model is wrong", "MessagesRefusal"),
                bridge(409, "The run is over", "MessagesRefusal"),
                bridge(413, "The body is too large", "MessagesRefusal"),
                bridge(429, "The run, or the attempt, may use no more", "MessagesRefusal"),
                bridge(502, "The provider cannot be reached, or broke off", "MessagesRefusal"),
                bridge(503, "No provider is there, or the server is stopping", "MessagesRefusal"),
            ],
        )
    },
    Operation {
        method: Method::Post,
        gate: Gate::Bridge,
        scopes: RUN,
        body: Content::Json("Chat"),
        ..get(
            "countMessageTokens",
            "/api/llm-bridge/v1/messages/count_tokens",
            "How many tokens a message of Anthropic's protocol has; it is no call, and is not charged",
            &[BRIDGE_TOKEN],
            &[
                ok(Content::Json("ChatCompletion")),
                bridge(400, "The body or the model is wrong", "MessagesRefusal"),
                bridge(413, "The body is too large", "MessagesRefusal"),
                bridge(502, "The provider cannot be reached, or broke off", "MessagesRefusal"),
                bridge(503, "No provider is there, or the server is stopping", "MessagesRefusal"),
            ],
        )
    },
    Operation {
        gate: Gate::Bridge,
        scopes: RUN,
        ..get(
            "listModels",
            "/api/llm-bridge/models",
            "The models that may be called, as the OpenAI API lists them",
            &[BRIDGE_TOKEN],
            &[ok(Content::Json("ChatModels"))],
        )
    },
];

/// The responses of an operation, including those that every operation has.
#[must_use]
pub fn outcomes(operation: &Operation) -> Vec<Outcome> {
    let mut all = operation.outcomes.to_vec();
    match operation.gate {
        Gate::Open => {}
        Gate::Token => all.push(problem(401, "There is no token, or none that is good")),
        Gate::Bridge => {
            all.push(bridge(403, "There is no token, or none that is good for this", "Forbidden"))
        }
    }
    if operation.gate == Gate::Token && all.iter().all(|outcome| outcome.status != 400) {
        all.push(problem(400, "A parameter of the query that it does not have, or twice"));
    }
    if operation.gate == Gate::Token && operation.scopes != READ {
        all.push(problem(403, "The token is good for too little"));
    }
    all.sort_by_key(|outcome| outcome.status);
    all
}
