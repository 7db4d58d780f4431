//! `needs` and `join` of a step.
//!
//! Owns their forms and their valid combinations. [`crate::check::graph`] checks that the steps exist, and that no
//! step waits for itself.

use crate::{
    parse::draft::Waits,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys,
        read::{self, Fields, Spanned, refuse},
        yaml::{Key, Kind, Node},
    },
};
use envoi_kernel::flow::Join;

const WORDS: &[(&str, Join)] = &[("all", Join::All), ("any", Join::Any), ("settled", Join::Settled)];

pub(crate) fn read(fields: &Fields<'_>, problems: &mut Problems) -> (Waits, Join) {
    let join = fields.pair("join");
    let Some(node) = fields.get("needs") else {
        if let Some((key, _)) = join.filter(|_| !fields.misspelt("needs", &keys::STEP)) {
            waits_for_nothing(key, "without `needs`", problems);
        }
        return (Waits::default(), Join::All);
    };
    let before = problems.count();
    let needs = needs(node, problems);
    let unclear = problems.count() != before;
    // The intended length of an unreadable list is not known.
    let many = if unclear { usize::MAX } else { needs.len() };
    let read = join.and_then(|(key, node)| how_many(key, node, many, problems));
    (Waits { named: true, unclear, needs }, read.unwrap_or_default())
}

/// The id of one step, or a list of ids.
fn needs(node: &Node, problems: &mut Problems) -> Vec<Spanned<String>> {
    match &node.kind {
        Kind::Sequence(_) => read::texts(node, "`needs`", problems),
        Kind::Scalar(_) if read::as_text(node).is_some() => read::text(node, "`needs`", problems)
            .map(|text| Spanned { value: text.to_owned(), span: node.span })
            .into_iter()
            .collect(),
        _ => {
            problems.add(read::mismatch(node, "`needs`", "a step or a list of steps"));
            Vec::new()
        }
    }
}

fn how_many(key: &Key, node: &Node, needs: usize, problems: &mut Problems) -> Option<Join> {
    if needs == 0 {
        waits_for_nothing(key, "with an empty `needs`", problems);
        return None;
    }
    let join = match &node.kind {
        Kind::Mapping(_) => quorum(node, needs, problems)?,
        Kind::Scalar(_) if read::as_token(node) == Some("quorum") => {
            let wrong = read::mismatch(node, "`join`", "how many: `{ quorum: 2 }`");
            return refuse(problems, wrong);
        }
        _ => read::choice(node, "`join`", WORDS, problems)?,
    };
    if needs == 1 && matches!(join, Join::Any | Join::Quorum(_)) {
        let message = "this `join` chooses among several steps, and `needs` names one";
        let help = "leave `join` out, or name the other steps in `needs`";
        return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
    }
    Some(join)
}

fn quorum(node: &Node, needs: usize, problems: &mut Problems) -> Option<Join> {
    let fields = Fields::of(node, &keys::JOIN, problems)?;
    let Some(many) = fields.get("quorum") else {
        if fields.keys().next().is_some() {
            return None;
        }
        return refuse(problems, read::mismatch(node, "`join`", "how many: `{ quorum: 2 }`"));
    };
    // A quorum of one in a list of one is no choice; the caller reports that.
    let most = u64::try_from(needs.max(2)).unwrap_or(u64::MAX).min(u64::from(u32::MAX));
    let many = read::integer(many, "`quorum`", 1..=most, problems)?;
    u32::try_from(many).ok().map(Join::Quorum)
}

fn waits_for_nothing(key: &Key, why: &str, problems: &mut Problems) {
    let message = format!("`join` {why}: the step waits for nothing");
    let help = "name the steps that it waits for: `needs: [a, b]`";
    problems.add(Diagnostic::invalid(key.span, message).help(help));
}
