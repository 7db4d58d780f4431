//! Retention: the rules for deleting runs, and the runs that no rule deletes.
//!
//! Owns both as pure functions. The unit of deletion is a family, a run and all its forks: they share bounds,
//! and forks refer to attempts of earlier runs. Rules are evaluated over all runs each time. Reads nothing
//! and deletes nothing. The request and the report of a collection are defined here too.

use envoi_contract::time::Timestamp;
use envoi_flow::written_duration;
use envoi_kernel::ids::{FlowId, RunId, Seq};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How long runs that are over are kept. Without any member: for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// They go when they have been over for so long.
    #[serde(default)]
    pub older_ms: Option<u64>,
    /// The newest runs of each flow stay, so many.
    #[serde(default)]
    pub keep_last: Option<u32>,
}

/// The rules of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// For tenants without rules of their own.
    #[serde(default)]
    pub all: Rule,
    /// For these tenants.
    #[serde(default)]
    pub tenants: BTreeMap<String, Rule>,
    /// Only runs of this tenant are looked at.
    #[serde(default)]
    pub only: Option<String>,
    /// While the store is larger, the oldest families go, but for those that `keep_last` keeps.
    #[serde(default)]
    pub max_bytes: Option<u64>,
}

impl Rules {
    /// Whether no run is ever deleted.
    #[must_use]
    pub fn keep_all(&self) -> bool {
        let keeps = |rule: &Rule| *rule == Rule::default();
        keeps(&self.all) && self.tenants.values().all(keeps) && self.max_bytes.is_none()
    }

    fn of(&self, tenant: &str) -> &Rule {
        self.tenants.get(tenant).unwrap_or(&self.all)
    }
}

/// The line of a commit's message that names the run whose changes it has.
pub const RUN_TRAILER: &str = "Envoi-Run";

/// The line that names the last snapshot of the run, if the commit has all of what the run has changed.
pub const FILES_TRAILER: &str = "Envoi-Files";

/// The place of the result of a run that worked in a folder of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultAt {
    /// It has none: it worked in a folder of the user, or has changed nothing.
    #[default]
    Nowhere,
    /// It was applied.
    Applied,
    /// All of it is in a commit that is on a branch, a tag or a branch of a remote.
    InGit,
    /// It is only in the store.
    InStore,
    /// The copy that it worked in is there; it goes with the run.
    InCopy,
    /// Its tree is there.
    InTree,
}

/// Facts about a run, for [`why_it_stays`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// It can be read.
    pub is_readable: bool,
    /// It has come to its end.
    pub is_over: bool,
    /// It is set aside.
    pub is_aside: bool,
    /// Questions that wait for a person.
    pub open_questions: u32,
    /// Something of it still works.
    pub works: bool,
    /// A run of another family works in its folder, or may go on there.
    pub is_worked_in: bool,
    /// Something is mounted in its folder, or that is not known.
    pub is_mounted: bool,
    /// Its files are half set back.
    pub is_half_restored: bool,
    /// Notices that are to be delivered.
    pub notices: u64,
    /// A client of A2A may ask for it.
    pub is_task: bool,
    /// It has the newest event of the store.
    pub is_newest: bool,
    /// Its result.
    pub result: ResultAt,
    /// Its result is given up.
    pub is_dropped: bool,
}

/// Why a run is deleted by no rule, in a sentence; `None`: it may go.
#[must_use]
pub fn why_it_stays(facts: &Facts) -> Option<&'static str> {
    let rows = [
        (!facts.is_readable, "it cannot be read"),
        (!facts.is_over, "it is not over"),
        (facts.is_aside, "it is set aside"),
        (facts.open_questions > 0, "it waits for an answer"),
        (facts.works, "a step of it still works"),
        (facts.is_worked_in, "another run works in its folder"),
        (facts.is_mounted, "something is mounted in its folder"),
        (facts.is_half_restored, "its files are half set back"),
        (facts.notices > 0, "a notice of it is to be delivered"),
        (facts.is_task, "a client of A2A may ask for it"),
        (facts.result == ResultAt::InTree, "the tree that it worked in is there"),
        (facts.result == ResultAt::InCopy && !facts.is_dropped, "the copy that it worked in is there"),
        (
            facts.result == ResultAt::InStore && !facts.is_dropped,
            "its result was neither applied nor dropped",
        ),
        (facts.is_newest, "it has the newest event of the store"),
    ];
    rows.into_iter().find_map(|(stays, why)| stays.then_some(why))
}

/// A run, as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The run.
    pub run: RunId,
    /// The run that its family goes back to.
    pub root: RunId,
    /// Its flow.
    pub flow: FlowId,
    /// Whose.
    pub tenant: String,
    /// When it came to its end, or to where it is.
    pub until: Timestamp,
    /// Why no rule deletes it.
    pub stays: Option<String>,
}

/// The verdict on a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Its runs, oldest first.
    pub runs: Vec<RunId>,
    /// Which rule it falls under.
    pub why: String,
    /// Why it stays all the same.
    pub stays: Option<String>,
}

/// The families that a rule names. `newest_first`: all runs of the store. `size_without` returns the size of the store without these runs;
/// it is called a few times, and only if there is a bound.
///
/// # Errors
/// Those of `size_without`.
pub fn judge<E>(
    newest_first: &[Member],
    rules: &Rules,
    now: Timestamp,
    mut size_without: impl FnMut(&BTreeSet<RunId>) -> Result<u64, E>,
) -> Result<Vec<Verdict>, E> {
    let last = kept_as_last(newest_first, rules);
    let mut families: BTreeMap<&RunId, Vec<&Member>> = BTreeMap::new();
    let mut order = Vec::new();
    for member in newest_first.iter().rev() {
        let family = families.entry(&member.root).or_default();
        if family.is_empty() {
            order.push(&member.root);
        }
        family.push(member);
    }
    let mut verdicts = Vec::new();
    let mut others = Vec::new();
    let is_looked_at = |family: &[&Member]| {
        rules.only.as_ref().is_none_or(|only| family.iter().all(|member| member.tenant == *only))
    };
    for family in
        order.into_iter().filter_map(|root| families.get(root)).filter(|family| is_looked_at(family))
    {
        if family.iter().any(|member| last.contains(&member.run)) {
            continue;
        }
        match by_age(family, rules, now) {
            Some(why) => verdicts.push(verdict(family, why)),
            None => others.push(family),
        }
    }
    let Some(most) = rules.max_bytes else { return Ok(verdicts) };
    let why = format!("the store has more than {} MiB", most >> 20);
    // Oldest end first. A family that stays makes no room: it is not named, or each working one would be.
    others.sort_by_key(|family| family.iter().map(|member| member.until).max());
    let mut more: Vec<_> = others.into_iter().map(|family| verdict(family, why.clone())).collect();
    more.retain(|verdict| verdict.stays.is_none());
    let mut fits = |count: usize| {
        let first = verdicts.iter().filter(|verdict| verdict.stays.is_none()).chain(more.iter().take(count));
        let gone = first.flat_map(|verdict| verdict.runs.iter().cloned()).collect();
        Ok(size_without(&gone)? <= most)
    };
    // As few as make it fit; all of them if even they do not.
    let mut low = 0;
    let mut high = more.len();
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle)? {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    more.truncate(high);
    verdicts.extend(more);
    Ok(verdicts)
}

fn verdict(family: &[&Member], why: String) -> Verdict {
    let stays = family.iter().find_map(|member| {
        let why = member.stays.as_ref()?;
        Some(if family.len() == 1 { why.clone() } else { format!("run `{}`: {why}", member.run) })
    });
    Verdict { runs: family.iter().map(|member| member.run.clone()).collect(), why, stays }
}

/// The runs that `keep_last` keeps.
fn kept_as_last<'m>(newest_first: &'m [Member], rules: &Rules) -> BTreeSet<&'m RunId> {
    let mut counts: BTreeMap<(&str, &FlowId), u32> = BTreeMap::new();
    let mut kept = BTreeSet::new();
    for member in newest_first {
        let Some(most) = rules.of(&member.tenant).keep_last else { continue };
        let count = counts.entry((&member.tenant, &member.flow)).or_default();
        if *count < most {
            *count = count.saturating_add(1);
            kept.insert(&member.run);
        }
    }
    kept
}

/// The rule by which a family goes that has no run among the last ones.
fn by_age(family: &[&Member], rules: &Rules, now: Timestamp) -> Option<String> {
    let mut whys = BTreeSet::new();
    for member in family {
        let rule = rules.of(&member.tenant);
        let over_ms = now.as_millis().saturating_sub(member.until.as_millis());
        let why = match (rule.older_ms, rule.keep_last) {
            (Some(older), _) => {
                if u64::try_from(over_ms).unwrap_or(0) < older {
                    return None;
                }
                format!("over for longer than {}", written_duration(older))
            }
            (None, Some(last)) => format!("not among the last {last} of its flow"),
            (None, None) => return None,
        };
        whys.insert(why);
    }
    whys.into_iter().next()
}

/// The request of a collection.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectRequest {
    /// The rules.
    pub rules: Rules,
    /// Runs whose result is given up. That is remembered.
    #[serde(default)]
    pub drop: Vec<RunId>,
    /// If runs are archived before they go: those that were. Others stay.
    #[serde(default)]
    pub archived: Option<Archived>,
    /// Contents that nothing names are kept so long, out of the way.
    pub trash_ms: u64,
}

/// Runs whose bundles lie in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archived {
    /// The folder.
    pub folder: String,
    /// Each with the place of its next event when that was done.
    pub runs: Vec<(RunId, Seq)>,
}

/// The report of a collection, or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Runs of which something goes, or that a rule names and that stay, oldest first.
    pub runs: Vec<OldRun>,
    /// Contents.
    pub contents: Swept,
    /// Remains of folders of deleted runs, each with the system's error. The next collection tries again.
    #[serde(default)]
    pub left: Vec<String>,
}

/// See [`Collected::runs`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldRun {
    /// The run.
    pub run: RunId,
    /// The place of its next event.
    pub next_seq: Seq,
    /// Its flow.
    pub flow: String,
    /// Whose.
    pub tenant: String,
    /// The action.
    pub stage: Stage,
    /// The rule.
    pub why: String,
    /// Why it stays all the same.
    pub stays: Option<String>,
    /// Files that go.
    pub files: u64,
    /// Their bytes, and with a run that is deleted those of its events.
    pub bytes: u64,
}

/// The action on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Copies that its attempts have left go.
    Trim,
    /// All of it goes.
    Delete,
}

/// Contents, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// How many; a pack counts as one.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.more((1, bytes));
    }

    pub(crate) fn more(&mut self, (count, bytes): (u64, u64)) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Changes of the contents of the store, or those of a dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// Laid aside.
    pub aside: Count,
    /// Brought back.
    pub back: Count,
    /// Removed, of those that were laid aside.
    pub removed: Count,
}

impl Swept {
    /// Adds the report of another sweep.
    pub(crate) fn add(&mut self, other: Self) {
        let pairs = [
            (&mut self.aside, other.aside),
            (&mut self.back, other.back),
            (&mut self.removed, other.removed),
        ];
        for (all, more) in pairs {
            all.more((more.count, more.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that nothing keeps.
    const FREE: Facts = Facts {
        is_readable: true,
        is_over: true,
        is_aside: false,
        open_questions: 0,
        works: false,
        is_worked_in: false,
        is_mounted: false,
        is_half_restored: false,
        notices: 0,
        is_task: false,
        is_newest: false,
        result: ResultAt::Nowhere,
        is_dropped: false,
    };

    #[test]
    fn what_no_rule_deletes() {
        let rows = [
            (FREE, None),
            (Facts { is_readable: false, ..FREE }, Some("it cannot be read")),
            (Facts { is_over: false, ..FREE }, Some("it is not over")),
            (Facts { is_aside: true, ..FREE }, Some("it is set aside")),
            (Facts { open_questions: 1, ..FREE }, Some("it waits for an answer")),
            (Facts { works: true, ..FREE }, Some("a step of it still works")),
            (Facts { is_half_restored: true, ..FREE }, Some("its files are half set back")),
            (Facts { notices: 1, ..FREE }, Some("a notice of it is to be delivered")),
            (Facts { is_task: true, ..FREE }, Some("a client of A2A may ask for it")),
            (Facts { is_newest: true, ..FREE }, Some("it has the newest event of the store")),
            (Facts { is_worked_in: true, ..FREE }, Some("another run works in its folder")),
            (Facts { is_mounted: true, ..FREE }, Some("something is mounted in its folder")),
            (Facts { result: ResultAt::InCopy, ..FREE }, Some("the copy that it worked in is there")),
            (Facts { result: ResultAt::InTree, ..FREE }, Some("the tree that it worked in is there")),
            (Facts { result: ResultAt::InStore, ..FREE }, Some("its result was neither applied nor dropped")),
            (Facts { result: ResultAt::Applied, ..FREE }, None),
            (Facts { result: ResultAt::InGit, ..FREE }, None),
            (Facts { result: ResultAt::InStore, is_dropped: true, ..FREE }, None),
            (Facts { result: ResultAt::InCopy, is_dropped: true, ..FREE }, None),
            // A tree that was dropped and is still there could not be removed.
            (
                Facts { result: ResultAt::InTree, is_dropped: true, ..FREE },
                Some("the tree that it worked in is there"),
            ),
            // Dropping a result is about the result alone.
            (Facts { is_dropped: true, is_over: false, ..FREE }, Some("it is not over")),
            (Facts { is_dropped: true, notices: 1, ..FREE }, Some("a notice of it is to be delivered")),
            (Facts::default(), Some("it cannot be read")),
        ];
        for (facts, expected) in rows {
            assert_eq!(why_it_stays(&facts), expected, "{facts:?}");
        }
    }

    const DAY: u64 = 86_400_000;

    fn now() -> Timestamp {
        Timestamp::from_millis(100 * 86_400_000)
    }

    /// `NAME FLOW days-over [root] [!]`: a run that a `!` keeps.
    fn member(text: &str) -> Member {
        let words: Vec<_> = text.split(' ').collect();
        let run = RunId::new(format!("run_{}", words[0])).unwrap();
        let days: i64 = words[2].parse().unwrap();
        let root = words.get(3).filter(|word| **word != "!");
        Member {
            root: root.map_or_else(|| run.clone(), |root| RunId::new(format!("run_{root}")).unwrap()),
            run,
            flow: FlowId::new(words[1]).unwrap(),
            tenant: if words[0].starts_with("acme") { "acme" } else { "local" }.to_owned(),
            until: Timestamp::from_millis(now().as_millis() - days * 86_400_000),
            stays: text.ends_with('!').then(|| "it waits for an answer".to_owned()),
        }
    }

    /// The runs that go, each family joined by `+`, with a `!` where it stays all the same. Each run has 10 MiB, and all have one content of
    /// 10 MiB more, which is there as long as one of them is.
    fn goes(newest_first: &[&str], rules: &Rules) -> Vec<String> {
        let members: Vec<_> = newest_first.iter().map(|text| member(text)).collect();
        let shown = |verdict: Verdict| {
            let names: Vec<_> = verdict.runs.iter().map(|run| run.as_str()[4..].to_owned()).collect();
            format!("{}{}", names.join("+"), if verdict.stays.is_some() { "!" } else { "" })
        };
        let size_without = |gone: &BTreeSet<RunId>| -> Result<u64, core::convert::Infallible> {
            let left = u64::try_from(members.len() - gone.len()).unwrap();
            Ok((left + u64::from(left > 0)) * (10 << 20))
        };
        judge(&members, rules, now(), size_without).unwrap().into_iter().map(shown).collect()
    }

    fn rules(older_days: Option<u64>, keep_last: Option<u32>) -> Rules {
        let all = Rule { older_ms: older_days.map(|days| days * DAY), keep_last };
        Rules { all, ..Rules::default() }
    }

    #[test]
    fn the_reason_names_the_age_as_it_is_written() {
        let member = member("a fix 40");
        let family = [&member];
        for (older_ms, age) in [(0, "0s"), (1, "1ms"), (1_500, "1500ms"), (90_000, "90s"), (30 * DAY, "30d")]
        {
            let all = Rule { older_ms: Some(older_ms), keep_last: None };
            let why = by_age(&family, &Rules { all, ..Rules::default() }, now());
            assert_eq!(why, Some(format!("over for longer than {age}")));
        }
    }

    #[test]
    fn rules_name_families() {
        let runs = ["g fix 1", "f fix 2", "e docs 40", "d fix 41", "c fix 42 a", "b fix 43 !", "a fix 44"];
        let rows: [(Rules, &[&str]); 7] = [
            (Rules::default(), &[]),
            (rules(Some(30), None), &["a+c", "b!", "d", "e"]),
            (rules(Some(43), None), &["b!"]),
            (rules(None, Some(1)), &["a+c", "b!", "d", "f"]),
            (rules(None, Some(4)), &["b!"]),
            (rules(Some(30), Some(3)), &["a+c", "b!"]),
            (rules(None, Some(0)), &["a+c", "b!", "d", "e", "f", "g"]),
        ];
        for (rules, expected) in rows {
            assert_eq!(goes(&runs, &rules), expected, "{rules:?}");
        }
    }

    #[test]
    fn a_store_that_is_too_large_loses_its_oldest_families_but_the_last_of_each_flow() {
        let runs = ["e fix 1", "d fix 2", "c fix 3 !", "b docs 4", "a fix 5"];
        let at_most = |mib: u64, keep_last| Rules { max_bytes: Some(mib << 20), ..rules(None, keep_last) };
        assert!(goes(&runs, &at_most(60, None)).is_empty());
        assert_eq!(goes(&runs, &at_most(59, None)), ["a"]);
        assert_eq!(goes(&runs, &at_most(45, None)), ["a", "b"]);
        assert_eq!(goes(&runs, &at_most(40, None)), ["a", "b"]);
        assert_eq!(goes(&runs, &at_most(30, None)), ["a", "b", "d"]);
        // No more than there are: one of them stays.
        assert_eq!(goes(&runs, &at_most(0, None)), ["a", "b", "d", "e"]);
        // Families that are too old go first, and that may free enough.
        let both = Rules { all: Rule { older_ms: Some(4 * DAY), keep_last: None }, ..at_most(40, None) };
        assert_eq!(goes(&runs, &both), ["a", "b"]);
        // `b` is the last one of its flow.
        let kept = Rules { all: Rule { older_ms: Some(90 * DAY), keep_last: Some(1) }, ..at_most(0, None) };
        assert_eq!(goes(&runs, &kept), ["a", "d"]);
    }

    #[test]
    fn a_tenant_has_rules_of_its_own() {
        let runs = ["acme2 fix 10", "b fix 10", "acme1 fix 50", "a fix 50"];
        let mut rules = rules(Some(30), None);
        rules.tenants.insert("acme".to_owned(), Rule { older_ms: Some(5 * DAY), keep_last: None });
        assert_eq!(goes(&runs, &rules), ["a", "acme1", "acme2"]);
        rules.tenants.insert("acme".to_owned(), Rule::default());
        assert_eq!(goes(&runs, &rules), ["a"]);
        rules.only = Some("acme".to_owned());
        assert!(goes(&runs, &rules).is_empty());
    }
}
