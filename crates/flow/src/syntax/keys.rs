//! Every key of the language: those that are read, and those that are known and not implemented yet.
//!
//! Owns only the vocabulary, so that readers, suggestions and the schema for editors stay consistent.

/// The keys of one kind of mapping.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The mapping with these keys, in words: "a step".
    pub(crate) place: &'static str,
    /// Keys that are read.
    pub(crate) keys: &'static [&'static str],
    /// Keys of the language that are not implemented yet.
    pub(crate) later: &'static [&'static str],
}

/// Words of other pipeline languages, or of other mappings of this one: the mapping, the word, and a hint to the
/// right key.
pub(crate) const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("a flow", "name", "did you mean `flow`?"),
    ("a flow", "jobs", "steps stand in the list `steps`; `needs` says what each one waits for"),
    ("a flow", "tasks", "steps stand in the list `steps`; `needs` says what each one waits for"),
    ("a flow", "stages", "steps stand in the list `steps`; `needs` says what each one waits for"),
    ("a flow", "nodes", "steps stand in the list `steps`; `needs` says what each one waits for"),
    ("a step", "name", "did you mean `id`?"),
    ("a step", "command", "a command is `run: COMMAND`"),
    ("a step", "script", "a script is `run: |` with its lines below"),
    ("a step", "depends_on", "did you mean `needs`?"),
    ("a step", "dependsOn", "did you mean `needs`?"),
    ("a step", "when", "did you mean `if`?"),
    ("a step", "condition", "did you mean `if`?"),
    ("a step", "retries", "write `retry: { attempts: 3 }`: how often in all"),
    ("a step", "environment", "did you mean `env`?"),
    ("a step", "working_dir", "did you mean `cwd`?"),
    ("a step", "working-directory", "did you mean `cwd`?"),
    ("a step", "workdir", "did you mean `cwd`?"),
    ("a step", "foreach", "did you mean `for_each`?"),
    ("a step", "matrix", "did you mean `for_each`? It has one list"),
    (
        "a step",
        "loop",
        "a list is `for_each: LIST`; back to an earlier step is `routing: { kind: microloop, loop_to: STEP, … }`",
    ),
    (
        "a step",
        "on_failure",
        "back to an earlier step: `routing: { kind: microloop, loop_to: STEP, … }`; on to the next one: `continue_on_error: true`",
    ),
    (
        "a step",
        "on_error",
        "back to an earlier step: `routing: { kind: microloop, loop_to: STEP, … }`; on to the next one: `continue_on_error: true`",
    ),
    ("a step", "approval", "a step that asks a person is `ask: QUESTION`"),
    ("a step", "approve", "a step that asks a person is `ask: QUESTION`"),
    (
        "a step",
        "uses",
        "another flow is `flow: ./FILE.yaml`; an agent program is `agent: { use: claude, prompt: … }`",
    ),
    ("`ask`", "question", "did you mean `message`?"),
    ("`ask`", "text", "did you mean `message`?"),
    ("`ask`", "prompt", "did you mean `message`?"),
    ("`ask`", "timeout", "did you mean `expires_in`?"),
    ("`retry`", "delay", "did you mean `backoff`?"),
    ("`limits`", "stages", "rounds are bounded by `max_rounds` in `goals`"),
    // Words of the resolver's input, where `loop_target` is a status and not a step.
    ("`routing`", "routing_kind", "did you mean `kind`?"),
    (
        "`routing`",
        "loop_target",
        "did you mean `loop_to`? That names a step; the status that ends a loop stands in `success_values`",
    ),
];

/// Mappings in a step whose keys are sometimes written in the step itself, each with its required key.
pub(crate) const WITHIN_STEP: &[(&str, &str, &Vocabulary)] = &[
    ("ask", "message", &ASK),
    ("agent", "use", &AGENT),
    ("model", "use", &MODEL),
    ("a2a", "url", &A2A),
    ("retry", "attempts", &RETRY),
    ("routing", "kind", &ROUTING),
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

pub(crate) const WORKSPACE: Vocabulary =
    Vocabulary { place: "`workspace`", keys: &["folder", "isolate", "bring", "setup", "keep"], later: &[] };
/// The keys of `keep`.
pub(crate) const KEEP: Vocabulary = Vocabulary { place: "`keep`", keys: &["also"], later: &[] };

pub(crate) const GOALS: Vocabulary =
    Vocabulary { place: "`goals`", keys: &["list", "from", "to", "max_rounds", "stuck_after"], later: &[] };

pub(crate) const LIMITS: Vocabulary = Vocabulary {
    place: "`limits`",
    keys: &[
        "agent_hops",
        "iterations",
        "llm_calls",
        "wall_time",
        "waiting",
        "cost_usd",
        "unknown",
        "on_reached",
    ],
    later: &[],
};

pub(crate) const UNKNOWN: Vocabulary =
    Vocabulary { place: "`unknown`", keys: &["llm_calls", "cost_usd"], later: &[] };

pub(crate) const BUDGET: Vocabulary =
    Vocabulary { place: "`budget`", keys: &["llm_calls", "cost_usd"], later: &[] };

/// The configuration of a store.
pub(crate) const CONFIG: Vocabulary = Vocabulary {
    place: "a configuration",
    keys: &["notify", "server", "models", "accounts", "output", "retention", "trees"],
    later: &[],
};

/// Limits for the stored output of commands.
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
        "model",
        "shell",
        "inputs",
        "skill",
        "if",
        "env",
        "cwd",
        "timeout",
        "retry",
        "artifacts",
        "if_no_artifacts",
        "cache",
        "files",
        "routing",
        "on_in_doubt",
        "on_throttled",
        "idle",
        "denials",
        "envelope",
        "continue_on_error",
        "needs",
        "join",
        "for_each",
        "max_parallel",
        "isolate",
        "on_conflict",
        "budget",
        "data",
        "outputs",
        "returns",
        "marks",
    ],
    later: &["http"],
};

/// Keys of [`STEP`] that determine what a step does. A step has exactly one of them.
pub(crate) const ACTIONS: &[&str] = &["run", "ask", "flow", "http", "a2a", "model", "agent"];

pub(crate) const A2A: Vocabulary = Vocabulary {
    place: "`a2a`",
    keys: &["url", "interface", "message", "data", "tenant", "token"],
    later: &[],
};

pub(crate) const AGENT: Vocabulary = Vocabulary {
    place: "`agent`",
    keys: &[
        "use",
        "account",
        "bridge",
        "prompt",
        "session",
        "may",
        "ask",
        "expires_in",
        "on_expire",
        "model",
        "turns",
        "args",
    ],
    later: &[],
};

pub(crate) const MODEL: Vocabulary = Vocabulary {
    place: "`model`",
    keys: &["use", "prompt", "system", "files", "temperature", "max_tokens", "repair"],
    later: &[],
};

pub(crate) const ON_THROTTLED: Vocabulary = Vocabulary {
    place: "`on_throttled`",
    keys: &["wait", "then", "use", "account", "model", "args"],
    later: &[],
};

pub(crate) const OTHER_PROGRAM: Vocabulary =
    Vocabulary { place: "`then`", keys: &["use", "account", "model", "args"], later: &[] };

/// Keys of [`STEP`] that apply only to agent programs.
pub(crate) const OF_AGENT: &[&str] = &["on_throttled", "idle", "denials"];

/// Keys of [`STEP`] that have no effect with an agent program.
pub(crate) const NOT_BESIDE_AGENT: &[&str] = &["inputs", "skill", "envelope", "data", "returns", "cache"];

/// Keys of [`STEP`] that have no effect with a model.
pub(crate) const NOT_BESIDE_MODEL: &[&str] = &[
    "inputs",
    "skill",
    "envelope",
    "data",
    "files",
    "isolate",
    "on_conflict",
    "returns",
    "idle",
    "denials",
    "cache",
];

/// Keys of [`STEP`] that have no effect with another agent.
pub(crate) const NOT_BESIDE_A2A: &[&str] =
    &["inputs", "skill", "envelope", "data", "files", "isolate", "on_conflict", "returns", "cache"];

/// Keys of [`STEP`] that are allowed with a question.
pub(crate) const BESIDE_ASK: &[&str] = &["id", "ask", "if", "routing", "needs", "join", "marks"];

/// Keys of [`STEP`] that are allowed with another flow.
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

pub(crate) const CACHE: Vocabulary =
    Vocabulary { place: "`cache`", keys: &["inputs", "env", "for"], later: &[] };

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

/// Keys of [`ROUTING`] that are allowed with a question.
pub(crate) const ROUTING_OF_ASK: &[&str] = &["next", "loop_to", "max_iterations"];

/// An example for a key whose value is often written in a wrong form. `found` is the value, if it is a word or a
/// number.
pub(crate) fn example(name: &str, found: Option<&str>) -> Option<String> {
    /// The placeholder for the found value.
    const VALUE: &str = "VALUE";
    /// By the name of the key: an example with the found value, and an example without it.
    const FORMS: &[(&str, &str, &str)] = &[
        ("a step", "- { id: VALUE, run: make }", "- { id: build, run: make }"),
        ("`limits`", "", "limits: { iterations: 12 }"),
        ("`env`", "", "env: { MODE: fast }"),
        (
            "`inputs`",
            "",
            "inputs: { package: { type: string } }`, or in a step with `flow`: `inputs: { jobs: 4 }",
        ),
        ("`secrets`", "", "secrets: { API_KEY: { env: API_KEY } }"),
        ("a secret", "{ env: VALUE }", "{ env: API_KEY }"),
        ("`goals`", "", "goals: { list: [checked], from: write, to: check }"),
        ("`retry`", "retry: { attempts: VALUE }", "retry: { attempts: 3 }"),
        ("`budget`", "", "budget: { llm_calls: 5 }"),
        ("`routing`", "routing: { next: VALUE }", "routing: { next: end }"),
        ("`status_from_exit`", "", "status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }"),
        (
            "`agent`",
            "agent: { use: VALUE, prompt: \"Fix it\" }",
            "agent: { use: claude, prompt: \"Fix it\" }",
        ),
        (
            "`model`",
            "model: { use: VALUE, prompt: \"Sum it up\" }",
            "model: { use: small, prompt: \"Sum it up\" }",
        ),
        (
            "`a2a`",
            "a2a: { url: \"VALUE\", message: \"Review it\" }",
            "a2a: { url: \"https://agent.example\", message: \"Review it\" }",
        ),
        ("`returns`", "", "returns: { image: \"${{ steps.build.data.image }}\" }"),
        ("`artifacts`", "artifacts: [\"VALUE\"]", "artifacts: [\"out/**\"]"),
        ("`needs`", "needs: [VALUE]", "needs: [lint, test]"),
        ("`pass_env`", "pass_env: [VALUE]", "pass_env: [SSH_AUTH_SOCK, \"AWS_*\"]"),
        ("`flows`", "flows: [VALUE]", "flows: [./repair.yaml]"),
        ("`steps`", "", "steps: [{ id: test, run: make test }]"),
        ("`args`", "args: [\"VALUE\"]", "args: [--add-dir, ../docs]"),
        ("`success_values`", "success_values: [VALUE]", "success_values: [VERIFIED]"),
        ("`branches`", "branches: [VALUE]", "branches: [fix, deploy]"),
        ("`on_in_doubt`", "", "on_in_doubt: { verify: [./was-it-sent] }"),
        ("`run`", "", "run: [make, test]`, or `run: make test"),
    ];
    let (_, form, plain) = FORMS.iter().find(|(key, ..)| *key == name)?;
    let is_word =
        |text: &&str| !text.is_empty() && text.len() < 60 && !text.contains([' ', '\n', '`', '{', '"']);
    Some(match found.filter(is_word) {
        Some(found) if form.contains(VALUE) => form.replace(VALUE, found),
        _ => (*plain).to_owned(),
    })
}
