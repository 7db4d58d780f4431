//! Finds the expressions that read the results of steps, and their lines.
//!
//! A run of a part of the flow needs a value for each expression whose step is left out. The kernel decides what is
//! missing.

use super::{place_of, ranges};
use crate::parse::draft::{Draft, Site, Usage};
use envoi_kernel::{
    expression::names::{self, Found, Kind},
    flow::StepRead,
    ids::StepId,
};

/// Every location in the file that reads one of its steps, or the goals. `text` is the text of the file.
pub(crate) fn reads(draft: &Draft, text: &str) -> Vec<StepRead> {
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let of = |usage: &Usage| -> Vec<StepRead> {
        let Some(step) = usage.step.and_then(|place| draft.steps.get(place)) else { return Vec::new() };
        let Ok(reader) = StepId::new(step.name()) else { return Vec::new() };
        let each = ranges(usage).into_iter().filter_map(|range| {
            let source = usage.source.get(range.clone())?;
            Some((range.start, source, names::names(source)))
        });
        let one = |start: usize, source: &str, found: &Found, says: bool| {
            let (step, status) = what(found)?;
            let range = found.range.start.saturating_add(start)..found.range.end.saturating_add(start);
            let at = place_of(usage, text, range).start;
            let line = lines.partition_point(|newline| *newline < at).saturating_add(1);
            Some(StepRead {
                reader: reader.clone(),
                for_goals: usage.site == Site::Goals,
                step,
                path: source.get(found.range.clone())?.to_owned(),
                line: u32::try_from(line).unwrap_or(u32::MAX),
                optional: status || says,
            })
        };
        each.flat_map(|(start, source, found)| {
            let says = found.iter().any(says_what_holds);
            let all: Vec<StepRead> =
                found.iter().filter_map(|found| one(start, source, found, says)).collect();
            all
        })
        .collect()
    };
    draft.expressions.iter().flat_map(of).collect()
}

/// The step that is read (`None` for the goals), and whether only its status is read.
fn what(found: &Found) -> Option<(Option<StepId>, bool)> {
    let Kind::Path { members, .. } = &found.kind else { return None };
    match found.name.as_str() {
        "steps" => {
            let step = StepId::new(members.first()?.as_str()).ok()?;
            Some((Some(step), members.get(1).is_some_and(|member| member == "status")))
        }
        "goals" => Some((None, false)),
        _ => None,
    }
}

/// True for a filter that gives a default for an undefined value, or a test whether a value is defined.
fn says_what_holds(found: &Found) -> bool {
    match found.kind {
        Kind::Filter => matches!(found.name.as_str(), "default" | "d"),
        Kind::Test => matches!(found.name.as_str(), "defined" | "undefined"),
        Kind::Path { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    fn shown(text: &str) -> Vec<String> {
        let reads = crate::load("f.yaml", text).unwrap().flow.reads;
        let one = |read: &envoi_kernel::flow::StepRead| {
            let of = read.step.as_ref().map_or("goals", |step| step.as_str());
            let goals = if read.for_goals { " for goals" } else { "" };
            let optional = if read.optional { " optional" } else { "" };
            format!("{}: {} reads {of} by {}{goals}{optional}", read.line, read.reader, read.path)
        };
        reads.iter().map(one).collect()
    }

    #[test]
    fn each_read_has_its_line_and_says_whether_it_can_do_without() {
        let text = "\
flow: f
steps:
  - { id: a, run: [\"true\"] }
  - id: b-1
    run: |
      echo ${{ steps.a.data.version }}
      echo ${{ steps.a.summary | default('none') }} ${{ steps.a.status }}
  - id: c
    if: steps['b-1'].status == 'succeeded' and steps.a.data is defined
    env: { X: \"${{ steps['b-1'].data['n'] ~ run.id }}\" }
    run: [echo, \"${{ inputs.x }}\"]
inputs: { x: { type: string } }
";
        assert_eq!(
            shown(text),
            [
                "6: b-1 reads a by steps.a.data.version",
                "7: b-1 reads a by steps.a.summary optional",
                "7: b-1 reads a by steps.a.status optional",
                "9: c reads b-1 by steps['b-1'].status optional",
                "9: c reads a by steps.a.data optional",
                "10: c reads b-1 by steps['b-1'].data['n']",
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn the_list_of_goals_reads_too_and_goals_are_read() {
        let text = "\
flow: f
goals: { list: \"${{ steps.list.data.goals }}\", from: work, to: work, max_rounds: 3 }
steps:
  - { id: list, run: [\"true\"], data: json }
  - { id: work, run: [echo, \"${{ goals.remaining }}\"] }
";
        assert_eq!(
            shown(text),
            [
                "5: work reads goals by goals.remaining",
                "2: work reads list by steps.list.data.goals for goals"
            ]
            .map(str::to_owned)
        );
    }
}
