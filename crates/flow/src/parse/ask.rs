//! `ask` of a step: a question to a person.
//!
//! Owns its keys, and the list of keys that have no effect in such a step. [`crate::check::graph`] checks the targets
//! of its answers, together with all other targets.

use crate::parse::draft;
use crate::{
    parse::{
        draft::{Diversion, Targets, Usage},
        schema,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys,
        read::{self, Fields, Spanned, refuse},
        yaml::{Kind, Node},
    },
};
use envoi_contract::envelope::InterruptKind;
use envoi_kernel::{
    flow::{AskPlan, Overdue, Template},
    ids::StepId,
};

/// The largest number of people that a question can require.
const MAX_QUORUM: u64 = 100;

/// Reads a question. The steps that it names are added to `targets`.
pub(crate) fn read(
    node: &Node,
    place: usize,
    targets: &mut Targets,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<AskPlan> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        return in_short(node, place, expressions, problems);
    }
    let fields = Fields::of(node, &keys::ASK, problems)?;
    let message = match fields.get("message") {
        Some(node) => message(node, "`message`", place, expressions, problems),
        None if fields.misspelt("message", &keys::ASK) => None,
        None => {
            let missing = Diagnostic::invalid(node.span, "a question without a `message`");
            refuse(problems, missing.help("write the question: `message: \"Publish the report?\"`"))
        }
    };
    let kinds: Vec<(&'static str, InterruptKind)> =
        InterruptKind::ALL.iter().map(|kind| (kind.word(), *kind)).collect();
    let kind = fields.get("kind").and_then(|node| read::choice(node, "`kind`", &kinds, problems));
    let schema = fields.get("schema").and_then(|node| schema::form(node, problems));
    let expires_in_ms =
        fields.get("expires_in").and_then(|node| read::duration(node, "`expires_in`", problems));
    let on_deny = diversion(&fields, "on_deny", &["fail"], problems);
    let on_expire = diversion(&fields, "on_expire", &["fail", "deny"], problems);
    let not_by = fields.get("not_by");
    let not_by_starter =
        not_by.and_then(|node| read::choice(node, "`not_by`", &[("starter", true)], problems));
    let quorum = fields.get("quorum");
    let quorum = quorum.and_then(|node| read::integer(node, "`quorum`", 1..=MAX_QUORUM, problems));
    whose_form(&fields, kind, quorum, problems);
    never_expires(&fields, problems);
    let leads = (on_deny.as_ref().and_then(leads_to), on_expire.as_ref().map(overdue).unwrap_or_default());
    // Set before a missing part can end this function, because the targets of the answers are checked even if other
    // parts are invalid.
    targets.diversions = on_deny.into_iter().chain(on_expire).collect();
    Some(AskPlan {
        kind: kind.unwrap_or(InterruptKind::Confirmation),
        message: message?,
        schema,
        expires_in_ms,
        on_deny: leads.0,
        on_expire: leads.1,
        not_by_starter: not_by_starter.unwrap_or(false),
        quorum: quorum.and_then(|people| u32::try_from(people).ok()).unwrap_or(1),
    })
}

/// Reads `ask: "Go on?"`: a confirmation with defaults for everything else.
fn in_short(
    node: &Node,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<AskPlan> {
    if read::as_text(node).is_none() {
        let expected = "a question: its text, or a mapping with `message`";
        return refuse(problems, read::mismatch(node, "`ask`", expected));
    }
    Some(AskPlan::plain(message(node, "`ask`", place, expressions, problems)?))
}

fn message(
    node: &Node,
    name: &str,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<Template> {
    let text = read::text(node, name, problems)?;
    draft::note(expressions, node.span, text, Some(place));
    Some(Template(text.to_owned()))
}

fn diversion(
    fields: &Fields<'_>,
    key: &'static str,
    words: &'static [&'static str],
    problems: &mut Problems,
) -> Option<Diversion> {
    let node = fields.get(key)?;
    let value = read::text(node, &format!("`{key}`"), problems)?.to_owned();
    let what = if key == "on_deny" { "a denial" } else { "an expiry" };
    Some(Diversion { key, what, words, target: Spanned { value, span: node.span } })
}

fn leads_to(diversion: &Diversion) -> Option<StepId> {
    StepId::new(diversion.step()?.value.as_str()).ok()
}

fn overdue(diversion: &Diversion) -> Overdue {
    match (diversion.target.value.as_str(), leads_to(diversion)) {
        ("deny", _) => Overdue::Deny,
        (_, Some(step)) => Overdue::Go(step),
        (_, None) => Overdue::Fail,
    }
}

/// Checks that a form is not combined with several approvals: they become one answer, which can contain only one
/// form.
fn whose_form(
    fields: &Fields<'_>,
    kind: Option<InterruptKind>,
    quorum: Option<u64>,
    problems: &mut Problems,
) {
    let several = quorum.is_some_and(|people| people > 1);
    let Some(quorum) = fields.get("quorum").filter(|_| several) else { return };
    let words = fields.pair("kind").filter(|_| kind == Some(InterruptKind::Clarification));
    let (what, label) = match (fields.pair("schema"), words) {
        (Some((key, _)), _) => ("form", key.span),
        (None, Some((key, _))) => ("clarification", key.span),
        (None, None) => return,
    };
    let message = format!("several people cannot give one {what}: whose would count?");
    problems.add(
        Diagnostic::invalid(quorum.span, message)
            .label(label, format!("the question wants one {what}"))
            .help("remove `quorum`, or ask for approvals in a step of their own"),
    );
}

/// Reports `on_expire` without an expiry, because its author believes that the question expires.
fn never_expires(fields: &Fields<'_>, problems: &mut Problems) {
    let expires = fields.get("expires_in").is_some() || fields.misspelt("expires_in", &keys::ASK);
    let Some((key, _)) = fields.pair("on_expire").filter(|_| !expires) else { return };
    let message = "`on_expire` does nothing: the question never expires";
    problems.add(Diagnostic::invalid(key.span, message).help("say when it does: `expires_in: 1d`"));
}

/// Reports keys of a step that runs a command, in a step that asks.
pub(crate) fn keys_beside(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys() {
        let name = key.text.as_str();
        if !keys::STEP.keys.contains(&name) || keys::BESIDE_ASK.contains(&name) {
            continue;
        }
        let help = match name {
            "timeout" => "set how long the question is open with `expires_in` in `ask`",
            "artifacts" => "the files of an answer are handed over without being named",
            "skill" => "declare the form of an answer with `schema` in `ask`",
            "for_each" | "max_parallel" => "a question is put once; its form can have several fields",
            "retry" => "`routing: { loop_to: … }` says where the answer `again` leads",
            _ => "a step that asks has `id`, `ask`, `if`, `needs`, `join`, `marks` and `routing`",
        };
        let message = format!("`{name}` does nothing in a step that asks: it runs no command");
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
}
