//! Tests how a flow uses the caller's environment: `pass_env`, `env_file` and `env.NAME`.

use crate::told::{each_is_told, files, loaded, loaded_with, steps};
use envoi_flow::load_with;

fn with(keys: &str, run: &str) -> String {
    format!("{keys}\n{}", steps(&[&format!("id: a, run: [x, \"{run}\"]")]))
}

#[test]
fn variables_are_passed_by_name_or_beginning() {
    let flow = loaded(&with("pass_env: [SSH_AUTH_SOCK, 'AWS_*', 'E*']\nenv_file: ./.env", "y"));
    for (name, passes) in [
        ("SSH_AUTH_SOCK", true),
        ("SSH_AUTH_SOCK_2", false),
        ("AWS_REGION", true),
        ("AWS_", true),
        ("aws_region", false),
        ("EDITOR", true),
        ("ENVOI_TOKEN", false),
    ] {
        assert_eq!(flow.passes(name), passes, "{name}");
    }
    assert_eq!(flow.env_files, ["./.env"]);
}

#[test]
fn expressions_name_the_variables_that_are_pinned() {
    let flow =
        loaded(&with("env: { A: '${{ env.HOST }}' }", "${{ env['CI'] | default('no') }} ${{ env.HOST }}"));
    assert_eq!(flow.env_read, ["CI", "HOST"]);
    let part =
        "flow: part\npass_env: [X]\nenv_file: .env\nsteps:\n  - { id: a, run: [x, '${{ env.INNER }}'] }\n";
    let root = "flow: f\npass_env: [X, Y]\nenv_file: own\nsteps:\n  - { id: a, flow: ./sub/part.yaml, returns: { h: '${{ env.OUTER }}' } }\n";
    let whole = loaded_with(root, &[("sub/part.yaml", part)]).flow;
    assert_eq!((whole.env_read, whole.pass_env), (strings(&["OUTER", "INNER"]), strings(&["X", "Y"])));
    assert_eq!(whole.env_files, ["own", "sub/.env"]);
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_is_not_stored_is_read_by_no_expression() {
    each_is_told(vec![
        (with("pass_env: ['*']", "y"), 1, "'*'", "`*` would pass every variable"),
        (with("pass_env: [ENVOI_TOKEN]", "y"), 1, "ENVOI_TOKEN", "are set by Envoi"),
        (with("pass_env: ['ENVOI_*']", "y"), 1, "'ENVOI_*'", "are set by Envoi"),
        (with("pass_env: [A, A]", "y"), 1, "A]", "stands twice"),
        (with("pass_env: ['A*B']", "y"), 1, "'A*B'", "cannot name variables"),
        (with("pass_env: A", "y"), 1, "A", "`pass_env`: expected"),
        (with("env_file: '${{ run.id }}'", "y"), 1, "'${{", "takes no expression"),
        (with("secrets: { K: { env: S } }", "${{ env.S }}"), 4, "env.S", "reads a secret"),
        (with("secrets: { K: { file: f } }", "${{ env.K }}"), 4, "env.K", "reads a secret"),
        (
            with("pass_env: ['AWS_*']", "${{ env.AWS_REGION }}"),
            4,
            "env.AWS_REGION",
            "a variable of `pass_env`",
        ),
        (with("title: t", "${{ env }}"), 4, "env", "name a variable"),
        (with("title: t", "${{ env.ENVOI_RUN_ID }}"), 4, "env.ENVOI_RUN_ID", "no variable of the caller's"),
    ]);
    let part = "flow: part\nsecrets: { K: { env: S } }\nsteps:\n  - { id: a, run: x }\n";
    let root = "flow: f\nsteps:\n  - { id: a, flow: ./part.yaml }\n  - { id: b, run: [x, '${{ env.S }}'] }\n";
    let report = load_with("flow.yaml", root, &files(&[("part.yaml", part)])).unwrap_err();
    assert!(report.diagnostics[0].message.contains("`env.S` is read in one flow of the run"), "{report:?}");
}
