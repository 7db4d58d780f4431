//! `flow` of a step.

use crate::told::{files, loaded, loaded_with, step, steps};
use envoi_contract::digest::Digest;
use envoi_flow::load_with;
use envoi_kernel::{
    flow::{Expression, InnerInput, SecretSource, Template},
    ids::FlowId,
};

const BUILD: &str = "\
flow: build
inputs:
  target: { type: string }
  jobs: { type: integer, default: 2 }
  flags: { type: array, default: [] }
  note: { default: null }
secrets: { TOKEN: { file: token } }
steps:
  - { id: compile, run: [make, '${{ inputs.target }}'] }
  - { id: test, run: [make, test] }
";

const ROOT: &str = "\
flow: release
inputs: { target: { type: string } }
steps:
  - { id: plan, run: plan }
  - id: build
    flow: ./parts/build.yaml
    if: inputs.target != ''
    inputs:
      target: \"app-${{ inputs.target }}\"
      jobs: 1.0
      flags: ${{ steps.plan.data }}
    returns:
      digest: ${{ steps.compile.data.digest }}
      target: ${{ inputs.target ~ run.id }}
    continue_on_error: true
  - { id: publish, run: ['${{ steps.build.data.digest }}'] }
";

#[test]
fn a_flow_is_a_part_of_another_with_inputs_and_outputs() {
    let loaded = loaded_with(ROOT, &[("parts/build.yaml", BUILD), ("unused.yaml", "not: read")]);
    let build = step(&loaded.flow, "build");
    let plan = build.inner().unwrap();
    assert_eq!(plan.flow.as_str(), "build");
    assert!(build.continue_on_error && build.condition.is_some());
    let names: Vec<&str> = plan.inputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["target", "jobs", "flags"]);
    assert_eq!(plan.inputs[0].1, InnerInput::Template(Template("app-${{ inputs.target }}".to_owned())));
    assert!(matches!(&plan.inputs[1].1, InnerInput::Value(value) if value.compact() == "1.0"));
    assert_eq!(plan.inputs[2].1, InnerInput::Expression(Expression("steps.plan.data".to_owned())));
    let digest = Expression("steps.compile.data.digest".to_owned());
    assert_eq!(plan.outputs[0], ("digest".to_owned(), digest));
    let inner = loaded.flow.flows.get(&FlowId::new("build").unwrap()).unwrap();
    assert_eq!((inner.steps.len(), loaded.flow.flows.len()), (2, 1));
    assert_eq!(loaded.parts, files(&[("parts/build.yaml", BUILD)]));
    // The run has the secrets of all its flows. The path of a file is relative to the flow that names it.
    let secret = &loaded.flow.secrets[0];
    assert_eq!(
        (secret.name.as_str(), &secret.source),
        ("TOKEN", &SecretSource::File("parts/token".to_owned()))
    );
}

#[test]
fn a_flow_is_read_again_from_its_parts() {
    let loaded = loaded_with(ROOT, &[("parts/build.yaml", BUILD)]);
    assert_eq!(load_with("elsewhere.yaml", ROOT, &loaded.parts), Ok(loaded));
}

#[test]
fn a_step_with_a_flow_is_done_for_each_value_and_beside_others() {
    let root = steps(&[
        "id: a, run: x",
        "id: b, flow: build.yaml, needs: [a], for_each: [x, y], max_parallel: 1, inputs: { target: '${{ item }}', jobs: '${{ index }}' }",
        "id: c, run: ['${{ steps.b.data }}'], needs: b",
    ]);
    let flow = loaded_with(&root, &[("build.yaml", BUILD)]).flow;
    let b = step(&flow, "b");
    assert!(flow.graph && b.for_each.is_some() && b.needs.len() == 1);
    let listed = steps(&["id: a, flow: ./b.yaml, routing: { next: c }", "id: b, run: x", "id: c, run: x"]);
    assert!(envoi_flow::load("f.yaml", &listed).is_err(), "no files");
    let listed = listed.replace("id: b, run: x", "id: b, run: x, routing: { next: end }");
    let listed = listed.replace("next: c }", "next: b }");
    assert!(
        loaded_with(
            &listed.replace("  - { id: c, run: x }\n", ""),
            &[("b.yaml", "flow: b\nsteps: [{ id: a, run: x }]\n")]
        )
        .flow
        .steps[0]
            .routing
            .next
            .is_some()
    );
}

#[test]
fn flows_are_named_from_the_folder_of_the_file_that_names_them() {
    let root = "flow: r\nsteps:\n  - { id: a, flow: lib/one.yaml }\n  - { id: b, flow: ./two.yaml }\n";
    let one = "flow: one\nsteps:\n  - { id: a, flow: ./two.yaml }\n";
    let two = |id: &str| format!("flow: {id}\nsteps:\n  - {{ id: a, run: x }}\n");
    let (near, far) = (two("near"), two("far"));
    let others = [("lib/one.yaml", one), ("lib/two.yaml", far.as_str()), ("two.yaml", near.as_str())];
    let loaded = loaded_with(root, &others);
    let ids: Vec<&str> = loaded.flow.flows.keys().map(FlowId::as_str).collect();
    assert_eq!(ids, ["far", "near", "one"]);
    let one = loaded.flow.flows.get(&FlowId::new("one").unwrap()).unwrap();
    assert_eq!(one.steps[0].inner().unwrap().flow.as_str(), "far");
    assert!(one.flows.is_empty(), "they are all in the outermost flow");
    assert_eq!(loaded.parts, files(&others));
}

#[test]
fn the_digest_is_of_all_that_is_named_and_of_a_lone_flow_as_it_ever_was() {
    let alone = "flow: f\ntitle: T\nsteps:\n  - id: a\n    run: [x, 'y']\n";
    let expected = r#"{"flow":"f","steps":[{"id":"a","run":["x","y"]}],"title":"T"}"#;
    assert_eq!(loaded(alone).digest, Digest::of(expected.as_bytes()));
    let root = "flow: r\nsteps: [{ id: a, flow: b.yaml }]\n";
    let digest = |text: &str| loaded_with(root, &[("b.yaml", text)]).flow.digest;
    let one = digest("flow: b\nsteps: [{ id: a, run: x }]\n");
    assert_eq!(one, digest("# said otherwise\nsteps:\n  - { run: 'x', id: a }\nflow: b\n"));
    assert_ne!(one, digest("flow: b\nsteps: [{ id: a, run: y }]\n"));
    let canonical = r#"[{"flow":"r","steps":[{"flow":"b.yaml","id":"a"}]},{"b.yaml":{"flow":"b","steps":[{"id":"a","run":"x"}]}}]"#;
    assert_eq!(one, Digest::of(canonical.as_bytes()));
    // Indirectly named flows count too.
    let deep = |text: &str| {
        let others = [("b.yaml", "flow: b\nsteps: [{ id: a, flow: c.yaml }]\n"), ("c.yaml", text)];
        loaded_with(root, &others).flow.digest
    };
    assert_ne!(deep("flow: c\nsteps: [{ id: a, run: x }]\n"), deep("flow: c\nsteps: [{ id: a, run: y }]\n"));
}

#[test]
fn a_secret_that_both_declare_alike_is_one() {
    let root = "flow: r\nsecrets: { A: { env: B } }\nsteps: [{ id: a, flow: b.yaml }]\n";
    let inner = "flow: b\nsecrets: { A: { env: B }, C: { file: /run/c } }\nsteps: [{ id: a, run: x }]\n";
    let secrets = loaded_with(root, &[("b.yaml", inner)]).flow.secrets;
    let names: Vec<_> = secrets.iter().map(|secret| (secret.name.as_str(), secret.source.clone())).collect();
    assert_eq!(
        names,
        [("A", SecretSource::Env("B".to_owned())), ("C", SecretSource::File("/run/c".to_owned()))]
    );
}
