//! `on_in_doubt: { verify: … }`.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_kernel::flow::{CommandPlan, InDoubtPolicy, ScriptPlan, ScriptValues, Template};

fn doubt(verify: &str) -> String {
    steps(&["id: a, run: x", &format!("id: b, run: x, on_in_doubt: {verify}")])
}

fn template(text: &str) -> Template {
    Template(text.to_owned())
}

#[test]
fn a_command_in_either_form_finds_out_what_happened() {
    let policy = |verify: &str| step(&loaded(&doubt(verify)), "b").on_in_doubt.clone();
    let list = CommandPlan::Exec(vec![template("sent?"), template("${{ steps.a.summary }}"), template("7")]);
    assert_eq!(policy("{ verify: ['sent?', '${{ steps.a.summary }}', 7] }"), InDoubtPolicy::Verify(list));
    let script = CommandPlan::Script(ScriptPlan {
        interpreter: ["sh", "-e", "-c"].map(str::to_owned).to_vec(),
        values: Some(ScriptValues::Shell),
        script: template("grep -q ${{ run.id }} sent.log"),
    });
    assert_eq!(policy("{ verify: 'grep -q ${{ run.id }} sent.log' }"), InDoubtPolicy::Verify(script));
    let each = steps(&["id: a, run: x, for_each: [1], on_in_doubt: { verify: ['sent?', '${{ item }}'] }"]);
    assert!(matches!(step(&loaded(&each), "a").on_in_doubt, InDoubtPolicy::Verify(_)));
}

#[test]
fn a_command_that_cannot_find_out_is_reported() {
    each_is_told(vec![
        (doubt("verify"), 4, "verify", "does not say how"),
        (doubt("{}"), 4, "{}", "`{ verify: [program, argument] }`"),
        (doubt("{ verfy: x }"), 4, "verfy", "did you mean `verify`?"),
        (doubt("{ verify: [] }"), 4, "[]", "`verify` names no program"),
        (doubt("{ verify: { a: b } }"), 4, "{ a", "`verify`: expected a string or a list of strings"),
        (doubt("{ verify: '${{ steps.c }}' }"), 4, "steps.c", "there is no step `c`"),
        (doubt("{ verify: '${{ item }}' }"), 4, "item", "unknown name `item`"),
        (doubt("{ verify: \"echo '${{ run.id }}'\" }"), 4, "${{ run.id", "stands in single quotes"),
    ]);
}
