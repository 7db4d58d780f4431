//! Finds the file that a command names with `--output` (CONTRACTS 4).
//!
//! A list is examined word by word. A script is split into words as a shell does it, but nothing is expanded: only a
//! literal value counts. The engine cannot know the value of `"$dir/report.json"`, and a wrong guess would take
//! another file for the report. A relative path begins in the folder in which its command runs, and that folder is
//! tracked as far as the script states it. It is not checked whether the file exists or is a report.

mod place;
mod walk;
mod words;

use alloc::string::String;
use alloc::vec::Vec;
use place::Place;
use walk::{Found, Walk};
use words::Word;

/// The values of `--output` in a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputOption {
    /// The path of the report: the last one that the command names.
    pub path: Option<String>,
    /// Values that are ignored, as written: those that are not literal, and those before the last one.
    pub ignored: Vec<String>,
    /// The folders in which the path may begin, the most likely one first. Each is relative to the folder of the
    /// command (empty means that folder) or absolute.
    pub folders: Vec<String>,
    /// The command that changed the folder before, as written, such as `cd sub`. `None` for an absolute path.
    pub change: Option<String>,
    /// True if the path may begin in an unknown folder.
    pub is_unknown: bool,
    /// True if the option is in a text that is not examined, because another program than a shell started here reads
    /// it, or because a variable contains it.
    pub is_hidden: bool,
}

impl OutputOption {
    /// The last value counts, as most programs read it. If it is not literal, none counts, because an earlier one
    /// would be the file of another command.
    fn of(walk: Walk) -> OutputOption {
        let is_hidden = walk.has_missed_some();
        let mut found = walk.found;
        let nothing = OutputOption { is_hidden, ..OutputOption::default() };
        let Some(Found { value: last, place }) = found.pop() else { return nothing };
        let before = found.into_iter().map(|found| found.value);
        let mut ignored: Vec<String> =
            before.filter(|word| !is_the_assigned_path(word)).map(|word| word.written).collect();
        let path = match last.literal {
            Some(path) => Some(path).filter(|path| !path.is_empty()),
            None if is_the_assigned_path(&last) => None,
            None => {
                ignored.push(last.written);
                None
            }
        };
        let Place { folders, is_unknown, change, .. } = match &path {
            Some(path) if !path.starts_with('/') => place,
            _ => Place::beginning(),
        };
        OutputOption { path, ignored, folders, change, is_unknown, is_hidden }
    }

    /// The possible paths of the file, the most likely one first.
    #[must_use]
    pub fn candidates(&self) -> Vec<String> {
        let Some(path) = &self.path else { return Vec::new() };
        self.folders.iter().map(|folder| place::below(folder, path)).collect()
    }

    /// True if the value looks like the path of a file, and not like a format (`--output json`) or a stream.
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        self.path.as_deref().is_some_and(is_path_of_a_file)
    }
}

/// True if the text looks like the path of a file. `-`, names of formats, and patterns for many files do not.
fn is_path_of_a_file(path: &str) -> bool {
    path.contains(['/', '.']) && !path.contains(['{', '=']) && !path.starts_with("/dev/")
}

/// The values in a command that is a list. If the list starts a shell with `-c`, the script is examined too. The
/// arguments after the script are those that it passes on.
#[must_use]
pub fn of_list(argv: &[String]) -> OutputOption {
    let mut walk = Walk::default();
    walk.list(argv);
    OutputOption::of(walk)
}

/// The values in a command that is a string, which `sh -c` runs.
#[must_use]
pub fn of_script(script: &str) -> OutputOption {
    let mut walk = Walk::default();
    walk.script(script, &mut Place::beginning());
    OutputOption::of(walk)
}

/// True for the path that the engine assigns, which is always read.
fn is_the_assigned_path(word: &Word) -> bool {
    word.literal.is_none() && matches!(word.written.as_str(), "$ENVOI_REPORT" | "${ENVOI_REPORT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use std::vec;

    fn list(argv: &[&str]) -> OutputOption {
        of_list(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_output_option_of_a_list_is_the_last_one() {
        let rows: &[(&[&str], Option<&str>, &[&str])] = &[
            (&["skill", "--output", "r.json"], Some("r.json"), &[]),
            (&["skill", "--output=r.json", "x"], Some("r.json"), &[]),
            (&["skill", "--output", "a", "--output", "b"], Some("b"), &["a"]),
            (&["skill", "--output", "$X"], Some("$X"), &[]),
            (&["skill", "--output"], None, &[]),
            (&["skill", "--output="], None, &[]),
            (&["--output", "x"], None, &[]),
            (&["skill", "--outputs", "x"], None, &[]),
            (&["bash", "-c", "skill --output r.json"], Some("r.json"), &[]),
            (&["/bin/sh", "-e", "-uc", "skill --output r.json", "x"], Some("r.json"), &[]),
            (&["bash", "-euo", "pipefail", "-c", "skill --output r.json"], Some("r.json"), &[]),
            (&["sh", "-c", "skill \"$@\"", "sh", "--output", "r.json"], Some("r.json"), &[]),
            (&["bash", "script.sh", "--output", "r.json"], Some("r.json"), &[]),
            (&["bash", "-c", "skill --output \"$1\"", "x"], None, &["$1"]),
        ];
        for (argv, path, ignored) in rows {
            let found = list(argv);
            assert_eq!(found.path.as_deref(), *path, "{argv:?}");
            assert_eq!(found.ignored, ignored.to_vec(), "{argv:?}");
        }
    }

    #[test]
    fn the_output_option_of_a_script_counts_where_it_is_literal() {
        let rows: &[(&str, Option<&str>, &[&str])] = &[
            ("node w.mjs --output out/report.json", Some("out/report.json"), &[]),
            ("node w.mjs --output=out/report.json; echo done", Some("out/report.json"), &[]),
            ("node w.mjs --output 'a b'/c.json", Some("a b/c.json"), &[]),
            ("node w.mjs \"--output=a \\\"b\"", Some("a \"b"), &[]),
            ("node w.mjs --output \\\n  a\\ b.json", Some("a b.json"), &[]),
            ("cd x && (w --output r.json) > log", Some("r.json"), &[]),
            ("w --output a#b", Some("a#b"), &[]),
            ("w --output /tmp/r.json|cat", Some("/tmp/r.json"), &[]),
            ("w --output \"$OUT\"", None, &["$OUT"]),
            ("w --output \"${OUT:-a b}\" x", None, &["${OUT:-a b}"]),
            ("w --output=~/r.json", Some("~/r.json"), &[]),
            ("w --output ~/r.json", None, &["~/r.json"]),
            ("w --output r*.json", None, &["r*.json"]),
            ("w --output \"$ENVOI_REPORT\"", None, &[]),
            ("w --output ${ENVOI_REPORT}", None, &[]),
            ("a --output x.json; b --output \"$Y\"", None, &["x.json", "$Y"]),
            ("a --output x.json; b --output y.json", Some("y.json"), &["x.json"]),
            ("# w --output r.json", None, &[]),
            ("cat <<'E' >x\nw --output r.json\nE\nw --output s.json", Some("s.json"), &[]),
            ("cat <<< w; w --output s.json", Some("s.json"), &[]),
            ("cat <<E\nw --output r.json", None, &[]),
            ("w --output; x", None, &[]),
            ("w --output", None, &[]),
            ("", None, &[]),
        ];
        for (script, path, ignored) in rows {
            let found = of_script(script);
            assert_eq!(found.path.as_deref(), *path, "{script}");
            assert_eq!(found.ignored, ignored.to_vec(), "{script}");
        }
        assert_eq!(of_script("w --output a").ignored, vec![""; 0]);
    }

    /// A script, the paths at which its report may be, the change of the folder, and whether it may be elsewhere too.
    type Row = (&'static str, &'static [&'static str], Option<&'static str>, bool);

    #[test]
    fn the_folder_in_which_a_command_runs_is_followed() {
        let rows: &[Row] = &[
            ("t --output r.json", &["r.json"], None, false),
            ("cd sub; t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub\nt --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub && t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub &&\n  t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("mkdir -p sub && cd sub && t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("(cd sub; t --output r.json)", &["sub/r.json"], Some("cd sub"), false),
            ("{ cd sub; t --output r.json; }", &["sub/r.json"], Some("cd sub"), false),
            ("x=$(cd sub; t --output r.json)", &["sub/r.json"], Some("cd sub"), false),
            ("echo \"$(cd 'a b' && t --output r.json)\"", &["a b/r.json"], Some("cd a b"), false),
            ("cd -- sub/./x/..; t --output=o/r.json", &["sub/o/r.json"], Some("cd -- sub/./x/.."), false),
            ("cd /a/b; cd ..; t --output r.json", &["/a/r.json"], Some("cd .."), false),
            ("cd /; t --output r.json", &["/r.json"], Some("cd /"), false),
            ("cd ../..; t --output r.json", &["../../r.json"], Some("cd ../.."), false),
            ("cd sub; t --output ../r.json", &["sub/../r.json"], Some("cd sub"), false),
            ("cd sub; t --output /tmp/r.json", &["/tmp/r.json"], None, false),
            ("pushd sub; t --output r.json; popd", &["sub/r.json"], Some("pushd sub"), false),
            ("pushd sub > /dev/null\nt --output r.json", &["sub/r.json"], Some("pushd sub"), false),
            ("command cd sub; t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub || exit 1; t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub || { echo no; exit 1; }\nt --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("bash -c 'cd sub; t --output r.json'", &["sub/r.json"], Some("cd sub"), false),
            ("timeout 9 sh -ec 'cd sub && t --output r.json'", &["sub/r.json"], Some("cd sub"), false),
            ("cd sub; sh -c 't \"$@\"' sh --output r.json", &["sub/r.json"], Some("cd sub"), false),
            (
                "sh -c '(cd sub; t \"$@\"); cd other' sh --output r.json",
                &["sub/r.json"],
                Some("cd sub"),
                false,
            ),
            ("env -C sub t --output r.json", &["sub/r.json"], Some("env -C sub"), false),
            ("env -i A=b --chdir=sub t --output r.json", &["sub/r.json"], Some("env --chdir=sub"), false),
            ("sudo env -C sub bash -c 't --output r.json'", &["sub/r.json"], Some("env -C sub"), false),
            ("sh <<E\ncd sub\nt --output r.json\nE\n", &["sub/r.json"], Some("cd sub"), false),
            ("bash -s <<-'E'\n\tcd sub\n\tt --output r.json\n\tE\n", &["sub/r.json"], Some("cd sub"), false),
            ("bash <<< 'cd sub; t --output r.json'", &["sub/r.json"], Some("cd sub"), false),
            ("eval 'cd sub; t --output r.json'", &["sub/r.json"], Some("cd sub"), false),
            ("eval cd sub; t --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("trap 'echo x' ERR; cd sub\nt --output r.json", &["sub/r.json"], Some("cd sub"), false),
            ("echo x | (cd sub; t --output r.json)", &["sub/r.json"], Some("cd sub"), false),
            ("echo x |& (cd sub && t --output r.json)", &["sub/r.json"], Some("cd sub"), false),
            ("x || (cd sub; t --output r.json)", &["sub/r.json"], Some("cd sub"), false),
            ("out=`cd sub && t --output r.json`", &["sub/r.json"], Some("cd sub"), false),
            ("echo \"`cd sub; x \\`date\\`; t --output r.json`\"", &["sub/r.json"], Some("cd sub"), false),
            ("trap 'cd sub; t --output r.json' EXIT", &["sub/r.json"], Some("cd sub"), false),
            ("env -S 'sh -c \"cd sub; t --output r.json\"'", &["sub/r.json"], Some("cd sub"), false),
            ("echo x | xargs sh -c 'cd sub; t --output r.json'", &["sub/r.json"], Some("cd sub"), false),
            ("echo 'cd sub; t --output r.json' | sh", &["sub/r.json"], Some("cd sub"), false),
            ("printf '%s\\n' 'cd sub' 't --output r.json' | bash -s", &["sub/r.json"], Some("cd sub"), false),
            ("printf 'cd sub\\nt --output r.json\\n' | sh -e", &["sub/r.json"], Some("cd sub"), false),
            // The change is not made, or is undone.
            ("echo 'cd sub' | cat; t --output r.json", &["r.json"], None, false),
            ("trap 'cd sub' EXIT; t --output r.json", &["r.json"], None, false),
            ("x | (cd sub; make); t --output r.json", &["r.json"], None, false),
            ("x=`cd sub; pwd`; t --output r.json", &["r.json"], None, false),
            ("(cd sub; make); t --output r.json", &["r.json"], None, false),
            ("cd sub; make; cd ..; t --output r.json", &["r.json"], None, false),
            ("cd sub; make; cd -; t --output r.json", &["r.json"], None, false),
            ("pushd sub; make; popd; t --output r.json", &["r.json"], None, false),
            ("cd sub | cat; t --output r.json", &["r.json"], None, false),
            ("cd sub & t --output r.json", &["r.json"], None, false),
            ("bash -c 'cd sub'; t --output r.json", &["r.json"], None, false),
            ("env -C sub make; t --output r.json", &["r.json"], None, false),
            ("x=$(cd sub && pwd); t --output r.json", &["r.json"], None, false),
            ("git -C sub status; t --output r.json", &["r.json"], None, false),
            ("git -C sub x --output r.json", &["r.json"], None, false),
            ("cat <<E\ncd sub\nE\nt --output r.json", &["r.json"], None, false),
            ("echo cd sub; t --output r.json", &["r.json"], None, false),
            ("# cd sub\nt --output r.json", &["r.json"], None, false),
            // Both folders are possible.
            ("make -C sub t --output r.json", &["sub/r.json", "r.json"], Some("make -C sub"), false),
            (
                "npm --prefix=web run t -- --output r.json",
                &["web/r.json", "r.json"],
                Some("npm --prefix=web"),
                false,
            ),
            ("if x; then cd sub; fi; t --output r.json", &["sub/r.json", "r.json"], Some("cd sub"), false),
            ("[ -d sub ] && cd sub\nt --output r.json", &["sub/r.json", "r.json"], Some("cd sub"), false),
            ("cd sub || true\nt --output r.json", &["sub/r.json", "r.json"], Some("cd sub"), false),
            ("x || cd sub; t --output r.json", &["sub/r.json", "r.json"], Some("cd sub"), false),
            (
                "case $x in a) cd sub;; *) cd other;; esac; t --output r.json",
                &["sub/other/r.json", "other/r.json", "sub/r.json", "r.json"],
                Some("cd other"),
                false,
            ),
            ("go() { cd sub; }\nt --output r.json", &["sub/r.json", "r.json"], Some("cd sub"), false),
            (
                "for d in a b; do cd sub; done; t --output r.json",
                &["sub/r.json", "r.json"],
                Some("cd sub"),
                false,
            ),
            ("x | { cd sub; t --output r.json; }", &["sub/r.json", "r.json"], Some("cd sub"), false),
            (
                "if x | (cd sub; t --output r.json); then y; fi",
                &["sub/r.json", "r.json"],
                Some("cd sub"),
                false,
            ),
            // A function may be called in another folder.
            ("go() { t --output r.json; }; cd sub; go", &["r.json", "sub/r.json"], Some("cd sub"), false),
            ("go() { t --output r.json; }; (cd sub; go)", &["r.json", "sub/r.json"], Some("cd sub"), false),
            ("cd a; go() { t --output r.json; }; go", &["a/r.json", "r.json"], Some("cd a"), false),
            // The folder is the value of a variable, or the one before the script.
            ("cd \"$D\"; t --output r.json", &["r.json"], Some("cd $D"), true),
            ("cd; t --output r.json", &["r.json"], Some("cd"), true),
            ("cd ~/x && t --output r.json", &["r.json"], Some("cd ~/x"), true),
            ("for d in */; do (cd $d && t --output r.json); done", &["r.json"], Some("cd $d"), true),
            ("eval \"cd $D; t --output r.json\"", &["r.json"], Some("cd $D"), true),
            ("cd $D; cd /x; t --output r.json", &["/x/r.json"], Some("cd /x"), false),
            ("popd; t --output r.json", &["r.json"], Some("popd"), true),
        ];
        for (script, paths, change, is_unknown) in rows {
            let found = of_script(script);
            assert_eq!(found.candidates(), paths.to_vec(), "{script}");
            assert_eq!(found.change.as_deref(), *change, "{script}");
            assert_eq!(found.is_unknown, *is_unknown, "{script}");
            let list = list(&["bash", "-eo", "pipefail", "-c", script]);
            assert_eq!((list.candidates(), list.change), (found.candidates(), found.change), "{script}");
        }
        let of_env = list(&["env", "-C", "sub", "t", "--output", "r.json"]);
        assert_eq!(of_env.candidates(), ["sub/r.json"]);
        assert!(list(&["t", "-C", "sub"]).candidates().is_empty());
    }

    #[test]
    fn an_option_in_a_text_that_is_not_followed_is_hidden() {
        for (script, is_hidden) in [
            (
                "python3 -c 'import subprocess; subprocess.run([\"t\", \"--output\", \"r.json\"], cwd=\"sub\")'",
                true,
            ),
            ("python3.12 - <<E\nrun(\"t --output r.json\")\nE\n", true),
            ("node -e 'spawn(\"t\", [\"--output=r.json\"])'", true),
            ("python3 -c 'print(\"--output-dir\")'", false),
            ("python3 w.py --output r.json", false),
            ("git commit -m 'the option --output'", false),
            ("sh -c 't --output r.json'", false),
            ("make -f - <<E\nall:\n\tcd sub && t --output r.json\nE\n", true),
            ("cat > go.sh <<E\ncd sub; t --output r.json\nE\nsh go.sh", true),
            ("echo 'cd sub; t --output=r.json' > go.sh; sh go.sh", true),
            ("echo 'kubectl get pods --output json' > go.sh; sh go.sh", false),
            ("agent -p 'call t --output r.json'", false),
            ("echo 'cd sub; t --output r.json' | sh", false),
            ("# echo 't --output r.json' > go.sh", false),
            ("A='--output out/r.json'; ./w $A", true),
            ("O=--output; ./w $O out/r.json", true),
            ("cmd=\"./w --output out/r.json\"; eval \"$cmd\"", true),
            ("export A=--output=r.json; ./w", true),
            ("alias z='./w --output out/r.json'\nz", true),
            ("A='--output json' ./w", false),
            ("A='--output r.json'; t --output r.json", false),
            ("args=(--output out/r.json); ./w \"${args[@]}\"", false),
            ("f() { local o=\"--output out/r.json\"; ./w $o; }; f", true),
            ("if true; then A='--output out/r.json'; fi; ./w $A", true),
            ("for o in --output; do ./w $o out/r.json; done", true),
            ("./w {--output,out/r.json}", true),
            ("./w $'--output' out/r.json", true),
            ("read -r a <<< '--output'; ./w $a out/r.json", true),
            ("printf -v a -- '--output'; ./w $a out/r.json", true),
            ("x=${y:---output}; ./w $x out/r.json", true),
            (": ${A=\"--output out/r.json\"}; ./w $A", true),
            ("IFS=,; A=--output,out/r.json; ./w $A", true),
            ("echo out/r.json | xargs ./w --output", true),
            ("env X='--output out/r.json' sh -c './w $X'", true),
            ("./w $(echo --output) out/r.json", true),
            ("declare -A M=([o]=--output); ./w ${M[o]} out/r.json", true),
            ("agent -p \"call $TOOL and t --output r.json\"", false),
            ("./w {--output=,}out/r.json", true),
            ("A=$'--output\\x20out/r.json'; ./w $A", true),
            ("curl --output-dir x", false),
        ] {
            assert_eq!(of_script(script).is_hidden, is_hidden, "{script}");
        }
    }

    #[test]
    fn the_words_of_a_list_in_brackets_are_read() {
        for script in [
            "args=(--output out/r.json); ./w \"${args[@]}\"",
            "a=(--output=out/r.json)",
            "a+=(-v --output out/r.json)",
        ] {
            assert_eq!(of_script(script).path.as_deref(), Some("out/r.json"), "{script}");
        }
    }

    #[test]
    fn a_script_in_a_script_without_end_is_left() {
        let mut script = "t --output r.json".to_owned();
        for _ in 0..40 {
            script = std::format!("eval {}", script.replace('\\', "\\\\").replace(' ', "\\ "));
            if script.len() > 1 << 14 {
                break;
            }
        }
        assert_eq!(of_script(&script).path, None);
        assert_eq!(of_script(&"(".repeat(100_000)).path, None);
        assert_eq!(of_script(&"$(".repeat(100_000)).path, None);
    }

    #[test]
    fn a_value_that_is_a_path_is_told_from_a_format() {
        for (value, is_path) in [
            ("r.json", true),
            ("out/report", true),
            ("/tmp/r", true),
            ("json", false),
            ("-", false),
            ("/dev/stdout", false),
            ("jsonpath={.items}", false),
        ] {
            let found = list(&["t", "--output", value]);
            assert_eq!(found.names_a_file(), is_path, "{value}");
        }
    }
}
