//! `agent` of a step: the agent program and its task.
//!
//! Owns its keys, and the list of keys that have no effect in such a step. `preset` knows the capabilities of a
//! program. Whether it is installed is checked when the step runs.

use crate::{
    parse::draft::{self, Usage},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys, names,
        read::{self, Fields, Spanned, refuse},
        suggestion,
        yaml::{Key, Kind, Node},
    },
};
use envoi_kernel::{
    flow::{AfterWait, AskCalls, DEFAULT_IDLE_MS, Fallback, ModelPlan, OnThrottled, ProgramPlan, Template},
    ids::is_key,
};
use envoi_preset::{May, Pattern, Preset};

/// The word for a separate session per attempt.
const FRESH: &str = "fresh";

/// The largest turn limit.
const MAX_TURNS: u64 = 10_000;

/// The largest number of refused calls that can be allowed.
const MAX_DENIALS: u64 = 10_000;

/// Reads the plan of the step with this id, at the index `place`.
pub(crate) fn read(
    key: &Key,
    node: &Node,
    id: Option<&Spanned<String>>,
    place: usize,
    step: &Fields<'_>,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<ProgramPlan> {
    let fields = Fields::of(node, &keys::AGENT, problems)?;
    let before = problems.count();
    let mut required = |name: &str, example: &str| match fields.get(name) {
        Some(node) => Some(node),
        None if fields.misspelt(name, &keys::AGENT) => None,
        None => {
            let message = format!("`agent` without a `{name}`");
            refuse(problems, Diagnostic::invalid(key.span, message).help(format!("add `{name}: {example}`")))
        }
    };
    let program = required("use", "claude");
    let prompt = required("prompt", "\"what it is to do\"");
    let used = program.and_then(|node| used(node, problems));
    let preset = used.map(|used| used.preset);
    let mut template = |node: &Node, text: &str| {
        draft::note(expressions, node.span, text, Some(place));
        Template(text.to_owned())
    };
    let prompt = prompt.and_then(|node| Some(template(node, read::text(node, "`prompt`", problems)?)));
    let model =
        fields.get("model").and_then(|node| Some(template(node, read::token(node, "`model`", problems)?)));
    let args = fields.get("args").map(|node| arguments(node, problems)).unwrap_or_default();
    let args = args.into_iter().map(|(node, text)| template(node, text)).collect();
    let words = May::ALL.map(|may| (may.word(), may));
    let may = fields.get("may").and_then(|node| read::choice(node, "`may`", &words, problems));
    let turns = fields
        .pair("turns")
        .and_then(|(key, node)| Some((key, read::integer(node, "`turns`", 1..=MAX_TURNS, problems)?)));
    if let (Some(preset), Some((key, _))) = (preset.filter(|preset| !preset.bounds_turns()), &turns) {
        let message = format!("`{}` has no bound on its turns", preset.name());
        let help = "bound it with `timeout`, or with `budget` of the step";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
    let session = match fields.get("session") {
        Some(node) => session(node, problems),
        None => id.map(|id| id.value.clone()),
    };
    let ask = asks(&fields, preset, session.is_none(), problems);
    let account = account(&fields, used, problems);
    let by_bridge = by_bridge(&fields, used, problems);
    if let (Some(preset), true) = (preset, by_bridge) {
        speaks_to_bridge(preset, &fields, problems);
    }
    let bridged = by_bridge.then(|| model.as_ref().map(|model| model.0.as_str())).flatten();
    let idle_ms = step.get("idle").and_then(|node| read::duration(node, "`idle`", problems));
    let denials =
        step.get("denials").and_then(|node| read::integer(node, "`denials`", 0..=MAX_DENIALS, problems));
    let on_throttled = step.get("on_throttled").and_then(|node| {
        let own = OwnProgram { preset, account: account.as_deref(), by_bridge, model: bridged };
        throttled(node, Own::Program(own), place, expressions, problems)
    });
    if let (Some((key, _)), Some(AfterWait::Use(_))) =
        (fields.pair("ask"), on_throttled.as_ref().map(|policy| &policy.then))
    {
        let message = "`ask` beside `use` in `on_throttled`: questions go on only with the step's own program and account";
        let help = "wait for the account instead, or let the other program be a step of its own";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
    if problems.count() != before {
        return None;
    }
    let preset = preset?;
    Some(ProgramPlan {
        program: preset.name().to_owned(),
        account: bridged.map_or_else(
            || ProgramPlan::account_of(preset.name(), account.as_deref()),
            ModelPlan::account_of,
        ),
        by_bridge,
        on_throttled: on_throttled.unwrap_or_default(),
        prompt: prompt?,
        session,
        may: may.unwrap_or_default().word().to_owned(),
        model,
        ask,
        turns: turns.and_then(|(_, turns)| u32::try_from(turns).ok()),
        args,
        idle_ms: idle_ms.unwrap_or(DEFAULT_IDLE_MS),
        denials: denials.and_then(|most| u32::try_from(most).ok()).unwrap_or_default(),
        takes_session_id: preset.takes_session_id(),
        login_variables: login_variables(preset, by_bridge),
    })
}

/// The account of the configuration that `use: claude/work` or `account` names. Whether it exists is checked when the
/// step runs.
fn account(fields: &Fields<'_>, used: Option<Used<'_>>, problems: &mut Problems) -> Option<String> {
    let in_use = used.and_then(|used| used.account);
    let Some((key, node)) = fields.pair("account") else { return in_use.map(str::to_owned) };
    let name = read::text(node, "`account`", problems)?;
    if !is_key(name) {
        return refuse(problems, names::bad_id(node.span, name, names::ID));
    }
    if let Some(in_use) = in_use {
        let message = format!("`account` beside an account in `use` (`{in_use}`)");
        return refuse(problems, Diagnostic::invalid(key.span, message).help("remove one of them"));
    }
    Some(name.to_owned())
}

/// `bridge`: whether the program calls its models through the bridge. If so, `model` names one of the configuration,
/// and there is no account.
fn by_bridge(fields: &Fields<'_>, used: Option<Used<'_>>, problems: &mut Problems) -> bool {
    let Some((key, node)) = fields.pair("bridge") else { return false };
    if read::boolean(node, "`bridge`", problems) != Some(true) {
        return false;
    }
    let in_use = fields.pair("use").filter(|_| used.is_some_and(|used| used.account.is_some()));
    if let Some((key, _)) = fields.pair("account").or(in_use) {
        let message =
            "`account` beside `bridge: true`: the models are called with the keys of the configuration";
        problems.add(Diagnostic::invalid(key.span, message).help("remove one of them"));
    }
    let Some(model) = fields.get("model") else {
        let message = "`bridge: true` without a `model`";
        let help = "name a model that `models.offer` of the configuration has: `model: small`";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
        return true;
    };
    model_of_bridge(model, problems);
    true
}

/// Reports a program whose protocol the bridge does not support.
fn speaks_to_bridge(preset: Preset, fields: &Fields<'_>, problems: &mut Problems) {
    let Some((key, _)) = fields.pair("bridge").or(fields.pair("use")).filter(|_| preset.protocol().is_none())
    else {
        return;
    };
    let message = format!("`{}` calls its models in a protocol that the bridge does not have", preset.name());
    let help = "leave `bridge` out: it then uses its own login, or a key that the flow gives it";
    problems.add(Diagnostic::invalid(key.span, message).help(help));
}

/// Checks the name of a model of the configuration.
fn model_of_bridge(node: &Node, problems: &mut Problems) {
    if read::as_token(node).is_some_and(|text| text.contains("${{")) {
        let message =
            "beside `bridge: true`, `model` names a model of the configuration, and nothing is filled in";
        problems.add(Diagnostic::invalid(node.span, message));
    }
}

/// `ask`, `expires_in` and `on_expire`: the tool calls that a person decides.
fn asks(fields: &Fields<'_>, preset: Option<Preset>, is_fresh: bool, problems: &mut Problems) -> AskCalls {
    let Some((key, node)) = fields.pair("ask") else {
        for (key, _) in ["expires_in", "on_expire"].iter().filter_map(|name| fields.pair(name)) {
            let message = format!("`{}` without `ask`", key.text);
            problems.add(
                Diagnostic::invalid(key.span, message)
                    .help("name what is asked: `ask: [\"Bash(git push *)\"]`"),
            );
        }
        return AskCalls::default();
    };
    if let Some(preset) = preset.filter(|preset| !preset.can_ask()) {
        let message = format!("`{}` has no way to ask", preset.name());
        let help = "it refuses what `may` does not allow; ask with a step before or after it (`ask`), or use `claude`";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
    if is_fresh {
        let message = "`ask` beside `session: fresh`: an answer continues the session that was stopped";
        problems.add(Diagnostic::invalid(key.span, message).help("remove `session`, or give it a label"));
    }
    let mut calls = Vec::new();
    match &node.kind {
        Kind::Sequence(items) if !items.is_empty() => {
            for item in items {
                let Some(text) = read::text(item, "a call of `ask`", problems) else { continue };
                match Pattern::parse(text) {
                    Ok(_) => calls.push(text.to_owned()),
                    Err(why) => {
                        let message = format!("`{text}` names no call of a tool: {why}");
                        let help =
                            "such as `Bash(git push *)`, `Edit(src/*)`, `WebFetch` or `AskUserQuestion`";
                        problems.add(Diagnostic::invalid(item.span, message).help(help));
                    }
                }
            }
        }
        _ => problems.add(read::mismatch(node, "`ask`", "a list of calls of tools")),
    }
    let expires = fields
        .pair("expires_in")
        .and_then(|(key, node)| Some((key, read::duration(node, "`expires_in`", problems)?)));
    let words = [("fail", false), ("deny", true)];
    let denies = fields
        .pair("on_expire")
        .and_then(|(key, node)| Some((key, read::choice(node, "`on_expire`", &words, problems)?)));
    if let (Some((key, _)), None) = (&denies, &expires) {
        let message = "`on_expire` without `expires_in`: the question never expires";
        problems.add(Diagnostic::invalid(key.span, message).help("add `expires_in: 12h`"));
    }
    if let Some(Kind::Sequence(args)) = fields.get("args").map(|node| &node.kind)
        && let Some(preset) = preset
    {
        for item in args {
            let Kind::Scalar(scalar) = &item.kind else { continue };
            let word = scalar.text.split_once('=').map_or(scalar.text.as_str(), |(first, _)| first);
            if preset.args_against_asking().contains(&word) {
                let message = format!("`{word}` beside `ask`: it takes the questions away");
                problems.add(Diagnostic::invalid(item.span, message).help("remove one of them"));
            }
        }
    }
    AskCalls {
        calls,
        expires_in_ms: expires.map(|(_, ms)| ms),
        denies_when_expired: denies.is_some_and(|(_, denies)| denies),
    }
}

/// The value of `use`: `claude`, or `claude/work` with an account of the configuration.
#[derive(Clone, Copy)]
struct Used<'n> {
    preset: Preset,
    account: Option<&'n str>,
}

fn used<'n>(node: &'n Node, problems: &mut Problems) -> Option<Used<'n>> {
    let text = read::token(node, "`use`", problems)?;
    let (name, account) = text.split_once('/').map_or((text, None), |(name, account)| (name, Some(account)));
    if let Some(preset) = Preset::named(name) {
        if let Some(account) = account.filter(|account| !is_key(account)) {
            return refuse(problems, names::bad_id(node.span, account, names::ID));
        }
        return Some(Used { preset, account });
    }
    let known = Preset::ALL.map(Preset::name);
    let meant = suggestion::nearest(name, known.iter().copied());
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "any other program is a command: `run: [program, argument]`".to_owned(),
    };
    let message = format!("`use`: there is no agent program `{name}`");
    refuse(problems, Diagnostic::invalid(node.span, message).expecting(known.join(" or ")).help(help))
}

/// The program or model of the step itself, before `on_throttled` replaces it.
#[derive(Clone, Copy)]
enum Own<'a> {
    /// An agent program.
    Program(OwnProgram<'a>),
    /// A model, if its name is valid, and the function that reads the name of another model.
    Model(Option<&'a str>, ReadName),
}

/// The agent program of a step.
#[derive(Clone, Copy)]
struct OwnProgram<'a> {
    /// The preset, if it is known.
    preset: Option<Preset>,
    /// The name of its account in the configuration.
    account: Option<&'a str>,
    by_bridge: bool,
    /// Its model, if it calls it through the bridge.
    model: Option<&'a str>,
}

/// Reads the name of a model.
type ReadName = fn(&Node, &mut Problems) -> Option<String>;

/// The variables with which a flow sets its own login. Through the bridge every program uses the server's login.
const fn login_variables(preset: Preset, by_bridge: bool) -> &'static [&'static str] {
    if by_bridge { &["PATH"] } else { preset.login_variables() }
}

/// `on_throttled`: one word, `{ wait: 12h, then: … }`, or the program to continue with at once.
fn throttled(
    node: &Node,
    own: Own<'_>,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<OnThrottled> {
    let at_once = |then| OnThrottled { wait_ms: 0, then };
    let words = [
        ("wait", OnThrottled::default()),
        ("fail", at_once(AfterWait::Fail)),
        ("ask", at_once(AfterWait::Ask)),
    ];
    let Kind::Mapping(_) = &node.kind else { return read::choice(node, "`on_throttled`", &words, problems) };
    let fields = Fields::of(node, &keys::ON_THROTTLED, problems)?;
    if fields.get("use").is_some() {
        if let Some((key, _)) = fields.pair("wait").or(fields.pair("then")) {
            let message = format!("`{}` beside `use`: the other program goes on at once", key.text);
            let help = "`{ wait: 12h, then: { use: codex } }` waits first";
            return refuse(problems, Diagnostic::invalid(key.span, message).help(help));
        }
        return other(&fields, own, place, expressions, problems).map(at_once);
    }
    if let Some((key, _)) = fields.pair("account").or(fields.pair("model")).or(fields.pair("args")) {
        let message = format!("`{}` without `use`", key.text);
        return refuse(
            problems,
            Diagnostic::invalid(key.span, message).help("name the other program: `use: codex`"),
        );
    }
    let default = OnThrottled::default();
    let wait_ms = match fields.get("wait") {
        Some(node) => read::duration(node, "`wait`", problems)?,
        None => default.wait_ms,
    };
    let then = match fields.get("then") {
        Some(node) if matches!(node.kind, Kind::Mapping(_)) => {
            let fields = Fields::of(node, &keys::OTHER_PROGRAM, problems)?;
            other(&fields, own, place, expressions, problems)?
        }
        Some(node) => {
            let words = [("fail", AfterWait::Fail), ("ask", AfterWait::Ask)];
            read::choice(node, "`then`", &words, problems)?
        }
        None => default.then,
    };
    Some(OnThrottled { wait_ms, then })
}

/// `on_throttled` of a step with `model`: it can continue with another model, but not with an agent program.
pub(crate) fn throttled_model(
    node: &Node,
    own: Option<&str>,
    name: ReadName,
    problems: &mut Problems,
) -> Option<OnThrottled> {
    let before = problems.count();
    let read = throttled(node, Own::Model(own, name), 0, &mut Vec::new(), problems);
    let other = match read.as_ref().map(|read| &read.then) {
        Some(AfterWait::Use(other)) => Preset::named(&other.name),
        _ => None,
    };
    if problems.count() == before && other.is_some() {
        let message = "`on_throttled` of a step with `model` cannot go on with an agent program";
        let help = "it can go on with another model: `{ use: small }`";
        return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
    }
    read
}

/// The model to continue with.
fn other_model(
    fields: &Fields<'_>,
    own: Option<&str>,
    name: ReadName,
    problems: &mut Problems,
) -> Option<AfterWait> {
    let (key, node) = fields.pair("use")?;
    let model = name(node, problems)?;
    if own == Some(&model) {
        let message = format!("`use: {model}` goes on with the account that is closed");
        let help = "name another model, or leave it out to wait";
        return refuse(problems, Diagnostic::invalid(key.span, message).help(help));
    }
    if let Some((key, _)) = fields.pair("account").or(fields.pair("model")).or(fields.pair("args")) {
        let message = format!("`{}` is for an agent program, and this step asks a model", key.text);
        return refuse(problems, Diagnostic::invalid(key.span, message).help("`use` names the other model"));
    }
    Some(AfterWait::Use(Box::new(Fallback {
        account: ModelPlan::account_of(&model),
        name: model,
        model: None,
        args: Vec::new(),
        takes_session_id: false,
        login_variables: &[],
    })))
}

/// The program or the model to continue with.
fn other(
    fields: &Fields<'_>,
    own: Own<'_>,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<AfterWait> {
    let own = match own {
        Own::Program(own) => own,
        Own::Model(own, name) => return other_model(fields, own, name, problems),
    };
    let (key, node) = fields.pair("use")?;
    let used = used(node, problems)?;
    let preset = used.preset;
    let before = problems.count();
    let account = account(fields, Some(used), problems);
    let model = fields.pair("model").and_then(|(_, node)| read::token(node, "`model`", problems));
    if own.by_bridge {
        speaks_to_bridge(preset, fields, problems);
        let in_use = used.account.map(|_| (key, node));
        match (fields.get("model"), fields.pair("account").or(in_use)) {
            (Some(node), None) => model_of_bridge(node, problems),
            (_, Some((key, _))) => {
                let message =
                    "`account` in a step with `bridge: true`: the other program goes through the bridge, too";
                problems.add(Diagnostic::invalid(key.span, message).help("name its `model` alone"));
            }
            (None, None) => {
                let message = "the other program goes through the bridge, too, and has no `model`";
                problems.add(Diagnostic::invalid(key.span, message).help("add `model: large`"));
            }
        }
    }
    // Through the bridge the account belongs to the model, and not to the program.
    let is_own = match own.by_bridge {
        true => model.is_some() && model == own.model,
        false => (own.preset, own.account) == (Some(preset), account.as_deref()),
    };
    if problems.count() == before && is_own {
        let message = format!("`use: {}` goes on with the account that is closed", preset.name());
        let help = "name another program or another `account`, or leave it out to wait";
        return refuse(problems, Diagnostic::invalid(key.span, message).help(help));
    }
    let mut template = |node: &Node, text: &str| {
        draft::note(expressions, node.span, text, Some(place));
        Template(text.to_owned())
    };
    let account = match model.filter(|_| own.by_bridge) {
        Some(model) => ModelPlan::account_of(model),
        None => ProgramPlan::account_of(preset.name(), account.as_deref()),
    };
    let model = fields.get("model").zip(model).map(|(node, text)| template(node, text));
    let args = fields.get("args").map(|node| arguments(node, problems)).unwrap_or_default();
    Some(AfterWait::Use(Box::new(Fallback {
        name: preset.name().to_owned(),
        account,
        model,
        args: args.into_iter().map(|(node, text)| template(node, text)).collect(),
        takes_session_id: preset.takes_session_id(),
        login_variables: login_variables(preset, own.by_bridge),
    })))
}

/// The label of a session; `None` if each attempt has its own session.
fn session(node: &Node, problems: &mut Problems) -> Option<String> {
    let label = read::text(node, "`session`", problems)?;
    if label == FRESH {
        return None;
    }
    if !is_key(label) {
        return refuse(problems, names::bad_id(node.span, label, names::ID));
    }
    Some(label.to_owned())
}

fn arguments<'n>(node: &'n Node, problems: &mut Problems) -> Vec<(&'n Node, &'n str)> {
    let Kind::Sequence(items) = &node.kind else {
        problems.add(read::mismatch(node, "`args`", "a list of strings"));
        return Vec::new();
    };
    let items = items.iter().map(|item| Some((item, read::token(item, "an argument of `args`", problems)?)));
    items.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Reports keys of an agent program, in a step without one.
pub(crate) fn keys_without(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys().filter(|key| keys::OF_AGENT.contains(&key.text.as_str())) {
        let (without, of) = match key.text.as_str() {
            "on_throttled" => ("`agent` or `model`", "an agent program or a model"),
            _ => ("`agent`", "an agent program"),
        };
        let message = format!("`{}` does nothing in a step without {without}", key.text);
        let help = format!("it says something of {of}; remove it");
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
}

/// Reports keys of a step that runs a command, in a step that runs an agent program.
pub(crate) fn keys_beside(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys().filter(|key| keys::NOT_BESIDE_AGENT.contains(&key.text.as_str())) {
        let message = format!("`{}` does nothing in a step with `agent`", key.text);
        let help = match key.text.as_str() {
            "data" | "returns" => {
                "what an agent hands over is described by `outputs`, a JSON Schema; its last message is the text of the step"
            }
            "inputs" => "an agent is given values by expressions such as `${{ inputs.NAME }}` in `prompt`",
            _ => "it says something of a command alone; remove it",
        };
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
}
