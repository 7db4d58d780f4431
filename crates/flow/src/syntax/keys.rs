//! Every key of the language: which are read, and which are known and not built yet.
//!
//! Owns the vocabulary alone, so that readers, suggestions and the schema for editors cannot drift apart.

/// The keys of one kind of mapping.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// Where these keys stand, in words: "a step".
    pub(crate) place: &'static str,
    /// What is read.
    pub(crate) keys: &'static [&'static str],
    /// What belongs to the language and is not built yet.
    pub(crate) later: &'static [&'static str],
}

/// A word of a relative of this language, where it stands, and what is written in its place here.
pub(crate) const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("`limits`", "stages", "rounds are bounded by `max_rounds` in `goals`"),
    // The words of the resolver's input, where `loop_target` is a status and not a step.
    ("`routing`", "routing_kind", "did you mean `kind`?"),
    (
        "`routing`",
        "loop_target",
        "did you mean `loop_to`? That names a step; the status that ends a loop stands in `success_values`",
    ),
];

impl Vocabulary {
    /// All words that a person may have meant.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().chain(self.later).copied()
    }
}

pub(crate) const FLOW: Vocabulary = Vocabulary {
    place: "a flow",
    keys: &[
        "flow",
        "title",
        "inputs",
        "limits",
        "secrets",
        "workspace",
        "env",
        "pass_env",
        "env_file",
        "shell",
        "notify",
        "goals",
        "flows",
        "steps",
    ],
    later: &[],
};

pub(crate) const GOALS: Vocabulary =
    Vocabulary { place: "`goals`", keys: &["list", "from", "to", "max_rounds", "stuck_after"], later: &[] };

pub(crate) const LIMITS: Vocabulary = Vocabulary {
    place: "`limits`",
    keys: &["agent_hops", "iterations", "llm_calls", "wall_time", "cost_usd", "on_reached"],
    later: &[],
};

pub(crate) const BUDGET: Vocabulary =
    Vocabulary { place: "`budget`", keys: &["llm_calls", "cost_usd"], later: &[] };

/// The configuration of a store.
pub(crate) const CONFIG: Vocabulary =
    Vocabulary { place: "a configuration", keys: &["notify", "server", "models", "output"], later: &[] };

/// What is kept of the output of commands.
pub(crate) const OUTPUT: Vocabulary = Vocabulary { place: "`output`", keys: &["stream"], later: &[] };

pub(crate) const NOTIFY: Vocabulary =
    Vocabulary { place: "a target of `notify`", keys: &["command", "webhook", "on"], later: &[] };

pub(crate) const WEBHOOK: Vocabulary =
    Vocabulary { place: "`webhook`", keys: &["url", "token", "timeout"], later: &[] };

pub(crate) const SECRET: Vocabulary = Vocabulary { place: "a secret", keys: &["env", "file"], later: &[] };

pub(crate) const STEP: Vocabulary = Vocabulary {
    place: "a step",
    keys: &[
        "id",
        "run",
        "ask",
        "flow",
        "a2a",
        "agent",
        "shell",
        "inputs",
        "skill",
        "if",
        "env",
        "cwd",
        "timeout",
        "retry",
        "artifacts",
        "routing",
        "on_in_doubt",
        "envelope",
        "continue_on_error",
        "needs",
        "join",
        "for_each",
        "max_parallel",
        "budget",
        "data",
        "outputs",
        "returns",
        "marks",
    ],
    later: &["http", "model"],
};

/// Keys of [`STEP`] that say what a step does; a step has exactly one of them.
pub(crate) const ACTIONS: &[&str] = &["run", "ask", "flow", "http", "a2a", "model", "agent"];

pub(crate) const A2A: Vocabulary = Vocabulary {
    place: "`a2a`",
    keys: &["url", "interface", "message", "data", "tenant", "token"],
    later: &[],
};

pub(crate) const AGENT: Vocabulary = Vocabulary {
    place: "`agent`",
    keys: &["use", "prompt", "session", "may", "model", "turns", "args"],
    later: &["ask"],
};

/// Keys of [`STEP`] that do nothing beside an agent program.
pub(crate) const NOT_BESIDE_AGENT: &[&str] = &["inputs", "skill", "envelope", "data", "returns"];

/// Keys of [`STEP`] that say something of a command alone.
pub(crate) const NOT_BESIDE_A2A: &[&str] = &["inputs", "skill", "envelope", "data", "returns"];

/// Keys of [`STEP`] that a step which asks may have.
pub(crate) const BESIDE_ASK: &[&str] = &["id", "ask", "if", "routing", "needs", "join", "marks"];

/// Keys of [`STEP`] that a step which runs a flow may have.
pub(crate) const BESIDE_FLOW: &[&str] = &[
    "id",
    "flow",
    "inputs",
    "outputs",
    "returns",
    "if",
    "needs",
    "join",
    "for_each",
    "max_parallel",
    "continue_on_error",
    "marks",
    "routing",
];

pub(crate) const JOIN: Vocabulary = Vocabulary { place: "`join`", keys: &["quorum"], later: &[] };

pub(crate) const ASK: Vocabulary = Vocabulary {
    place: "`ask`",
    keys: &["kind", "message", "schema", "expires_in", "on_deny", "on_expire", "not_by", "quorum"],
    later: &[],
};

pub(crate) const IN_DOUBT: Vocabulary = Vocabulary { place: "`on_in_doubt`", keys: &["verify"], later: &[] };

pub(crate) const RETRY: Vocabulary =
    Vocabulary { place: "`retry`", keys: &["attempts", "backoff"], later: &[] };

pub(crate) const ROUTING: Vocabulary = Vocabulary {
    place: "`routing`",
    keys: &[
        "kind",
        "loop_to",
        "status_from_exit",
        "success_values",
        "max_iterations",
        "can_further_iteration_help",
        "next",
        "branches",
        "on_exhausted",
        "on_blocked",
    ],
    later: &[],
};

/// Keys of [`ROUTING`] that a step which asks may have.
pub(crate) const ROUTING_OF_ASK: &[&str] = &["next", "loop_to", "max_iterations"];
