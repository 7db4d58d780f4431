//! Branches into other flows.

use crate::told::{files, loaded_with, step, told};
use envoi_flow::load_with;

const REPAIR: &str = "flow: repair\ninputs: { n: { default: 1 } }\nsteps:\n  - { id: look, run: x }\n  - { id: fix, run: x }\n";

fn root(flows: &str, branches: &str) -> String {
    format!(
        "flow: f\n{flows}\nsteps:\n  - {{ id: a, run: x, routing: {{ kind: branch, branches: [{branches}] }} }}\n  - {{ id: b, run: x }}\n"
    )
}

#[test]
fn a_hint_may_lead_into_a_flow_that_the_file_names() {
    let text = root("flows: [./repair.yaml]", "b, repair/fix, repair/look");
    let loaded = loaded_with(&text, &[("repair.yaml", REPAIR)]);
    let routing = &step(&loaded.flow, "a").routing;
    assert!(routing.declared);
    assert_eq!(routing.branches.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["b"]);
    let foreign: Vec<_> =
        routing.flow_branches.iter().map(|(flow, step)| (flow.as_str(), step.as_str())).collect();
    assert_eq!(foreign, [("repair", "fix"), ("repair", "look")]);
    assert_eq!((loaded.flow.flows.len(), loaded.parts.len()), (1, 1));
    let by_a_step = root("", "repair/fix") + "  - { id: c, flow: repair.yaml }\n";
    loaded_with(&by_a_step, &[("repair.yaml", REPAIR)]);
}

#[test]
fn a_branch_that_leads_into_no_flow_is_reported() {
    let needy = REPAIR.replace("{ default: 1 }", "{ type: integer }");
    let graph = REPAIR.replace("id: fix, run: x", "id: fix, run: x, needs: [look]");
    for (flows, branches, repair, words) in [
        ("flows: [repair.yaml]", "repiar/fix", REPAIR, "did you mean `repair`?"),
        ("flows: [repair.yaml]", "other/fix", REPAIR, "names no flow `other`"),
        ("flows: [repair.yaml]", "repair/fxi", REPAIR, "did you mean `fix`?"),
        ("flows: [repair.yaml]", "repair/fix, repair/fix", REPAIR, "`repair/fix` is named twice"),
        ("flows: [repair.yaml]", "repair/fix", needy.as_str(), "needs the input `n`, and a hint gives none"),
        (
            "flows: [repair.yaml]",
            "repair/fix",
            graph.as_str(),
            "a graph, which cannot be entered in its middle",
        ),
        // A branch to one of its first steps is not possible either, because the others would never begin.
        ("flows: [repair.yaml]", "repair/look", graph.as_str(), "name a flow in listed order"),
        ("", "repair/fix", REPAIR, "`flows: [./that.yaml]`"),
        ("flows: []", "b", REPAIR, "`flows` names no file"),
        ("flows: repair.yaml", "b", REPAIR, "`flows`: expected a list of flow files"),
        ("flows: [gone.yaml]", "b", REPAIR, "`gone.yaml` cannot be read"),
        ("flows: [5]", "b", REPAIR, "expected a string"),
    ] {
        let report =
            load_with("f.yaml", &root(flows, branches), &files(&[("repair.yaml", repair)])).unwrap_err();
        let told = told(&report);
        assert!(
            matches!(told.as_slice(), [(_, _, told)] if told.contains(words)),
            "{flows} {branches}: {told:?}"
        );
    }
}
