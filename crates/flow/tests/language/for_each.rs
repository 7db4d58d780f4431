//! `for_each` and `max_parallel`.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_kernel::flow::Expression;

fn each(keys: &str) -> String {
    format!(
        "flow: f\ninputs: {{ files: {{ type: array }} }}\nsteps:\n  - {{ id: a, run: x }}\n  - {{ id: b, {keys} }}\n"
    )
}

#[expect(clippy::unwrap_used, reason = "a step of these tests without a list is a failed test")]
fn items(keys: &str) -> (Expression, Option<u32>) {
    let flow = loaded(&each(keys));
    step(&flow, "b").for_each.clone().map(|each| (each.items, each.max_parallel)).unwrap()
}

#[test]
fn a_step_is_done_for_each_value_of_a_list() {
    let (expression, most) =
        items("run: [see, '${{ item }}', '${{ index + 1 }}'], for_each: '${{ inputs.files }}'");
    assert_eq!((expression.0.as_str(), most, expression.written_out()), ("inputs.files", None, None));
    let (written, most) = items("run: x, for_each: [1.00, null, \"a'b\", { n: [true] }], max_parallel: 1000");
    assert_eq!((written.0.as_str(), most), (r#"[1.00,null,"a'b",{"n":[true]}]"#, Some(1000)));
    assert_eq!(written.written_out().unwrap()[0].compact(), "1.00");
    let long: Vec<String> = (0..1000).map(|item| format!("item-{item}")).collect();
    let (long, _) = items(&format!("run: x, for_each: [{}]", long.join(", ")));
    assert_eq!(long.written_out().map(|items| items.len()), Some(1000), "longer than an expression can be");
    let (made, _) = items("run: x, for_each: \"${{ [steps.a.summary, 'second'] }}\"");
    assert_eq!((made.0.as_str(), made.written_out()), ("[steps.a.summary, 'second']", None));
    for keys in [
        "run: x, for_each: [1], env: { A: '${{ item.name }}' }, cwd: 'd/${{ index }}'",
        "run: 'see ${{ item }}', for_each: [1], continue_on_error: true, retry: { attempts: 2 }",
        "run: x, for_each: [1], routing: { next: end }",
    ] {
        loaded(&each(keys));
    }
}

#[test]
fn lists_and_items_that_make_no_sense_are_reported() {
    let long = format!("run: x, for_each: [{}]", vec!["1"; 1001].join(", "));
    each_is_told(vec![
        (each("run: x, for_each: []"), 5, "[]", "`for_each` is an empty list"),
        (each(&long), 5, "[1", "has at most 1000 items; this one has 1001"),
        (each("run: x, for_each: 5"), 5, "5 }", "`for_each`: expected a list, or an expression"),
        (each("run: x, for_each: { a: 1 }"), 5, "{ a", "expected a list, or an expression"),
        (each("run: x, for_each: inputs.files"), 5, "inputs.files", "written `${{ inputs.files }}`"),
        (each("run: x, for_each: 'a ${{ inputs.files }}'"), 5, "'a", "one expression, and nothing around it"),
        (each("run: x, for_each: '${{ inputs.files'"), 5, "'${{", "has no `}}`"),
        (each("run: x, for_each: '${{ inputs.fils }}'"), 5, "inputs.fils", "did you mean `files`?"),
        (each("run: x, for_each: ['${{ inputs.files }}']"), 5, "'${{", "takes no expression"),
        (each("run: x, for_each: [{ n: ['${{ inputs.files }}'] }]"), 5, "'${{", "takes no expression"),
        (each("run: x, for_each: '${{ item }}'"), 5, "item", "unknown name `item`"),
        (each("run: x, for_each: [1], max_parallel: 0"), 5, "0 }", "from 1 to 1000"),
        (each("run: x, for_each: [1], max_parallel: 1001"), 5, "1001", "from 1 to 1000"),
        (each("run: x, max_parallel: 2"), 5, "max_parallel", "does nothing without `for_each`"),
        (each("run: x, for_eahc: [1], max_parallel: 2"), 5, "for_eahc", "did you mean `for_each`?"),
        (each("run: '${{ item }}'"), 5, "item", "of a step with `for_each`"),
        (each("run: x, for_each: [1], if: item > 1"), 5, "item", "unknown name `item`"),
        (each("run: ['${{ items }}'], for_each: [1]"), 5, "items", "did you mean `item`?"),
        (
            each("run: x, for_each: [1], routing: { kind: microloop, success_values: [OK] }"),
            5,
            "routing",
            "is not routed: each item has a text of its own",
        ),
        (
            each("run: x, for_each: [1], routing: { status_from_exit: { 0: OK } }"),
            5,
            "routing",
            "let a step after it judge",
        ),
        (each("ask: m, for_each: [1]"), 5, "for_each", "a question is put once"),
        (
            steps(&["id: a, run: x, for_each: [1], env: { A: '${{ steps.a.data }}' }"]),
            3,
            "steps.a",
            "own result",
        ),
    ]);
    let env = "flow: f\nenv: { A: '${{ item }}' }\nsteps:\n  - { id: a, run: x, for_each: [1] }\n";
    each_is_told(vec![(env.to_owned(), 2, "item", "unknown name `item`")]);
}
