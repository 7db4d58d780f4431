//! The output of commands, and how much of it is kept.

use std::fs;
use std::path::Path;

use crate::stage::{Stage, read, wait_for};

pub(crate) fn a_gigabyte_of_output_stays_within_the_cap() {
    const CAP: u64 = 64 * 1024;
    let stage = Stage::new();
    let mut spec = stage.shell("head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo the end");
    (spec.stream_cap_bytes, spec.text_cap_bytes) = (CAP, 1024);
    let supervisor = stage.spawn(&spec);
    let status = format!("/proc/{}/status", supervisor.pid());
    let (mut most_on_disk, mut peak_kib) = (0, 0);
    wait_for("the end", || {
        most_on_disk = most_on_disk.max(bytes_below(stage.dir.path()));
        peak_kib = peak_kib.max(peak_memory_kib(&status).unwrap_or(0));
        stage.dir.exit().exists().then_some(())
    });
    supervisor.wait().unwrap();
    let exit = stage.settled();
    assert_eq!(exit.stdout.total_bytes, 1_000_000_000 + 9);
    assert!(exit.stdout.file.bytes < CAP + 100, "{} bytes kept", exit.stdout.file.bytes);
    assert!(most_on_disk < 3 * CAP, "{most_on_disk} bytes on disk at one moment");
    assert!(peak_kib < 64 * 1024, "{peak_kib} KiB of memory");
    let kept = read(&stage.dir.stdout());
    assert!(kept.starts_with("xxx") && kept.ends_with("xxx\nthe end\n"));
    assert!(kept.contains("\n--- 999934473 bytes left out ---\n"));
    assert!(stage.text().ends_with("x\nthe end\n"));
    assert_eq!(exit.text.bytes, 1024);
    let cut = "stdout is cut: of 1000000009 bytes the first and the last half of the limit are kept, 999934473 bytes between \
               them are left out (`output.stream` in the configuration)";
    let text = "the step's text is cut: stdout has more than 1024 bytes, and only its end is kept; a status, a route or data in it does \
                not count";
    assert_eq!((exit.warnings, exit.text_cut), (vec![text.to_owned(), cut.to_owned()], true));
}

fn bytes_below(path: &Path) -> u64 {
    let lengths =
        fs::read_dir(path).unwrap().flatten().filter_map(|entry| Some(entry.metadata().ok()?.len()));
    lengths.sum()
}

fn peak_memory_kib(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

pub(crate) fn a_running_command_can_be_followed() {
    let stage = Stage::new();
    let mut spec = stage.shell("echo first; while [ ! -e go ]; do sleep 0.01; done");
    spec.secrets = vec!["something".to_owned()];
    let supervisor = stage.spawn(&spec);
    wait_for("the first line", || (fs::read_to_string(stage.dir.stdout()).ok()? == "first\n").then_some(()));
    fs::write(stage.workspace().join("go"), "").unwrap();
    supervisor.wait().unwrap();
}

pub(crate) fn the_text_is_the_output_file_if_the_command_wrote_it() {
    let rows = [
        ("echo from stdout", "from stdout\n"),
        ("echo from stdout; printf 'from the file' > $ENVOI_OUTPUT", "from the file"),
        ("echo from stdout; : > $ENVOI_OUTPUT", ""),
        ("printf '\\033[31mred\\033[0m \\377'; echo err >&2", "red \u{fffd}"),
        ("echo from stdout; mkdir $ENVOI_OUTPUT", "from stdout\n"),
    ];
    for (script, expected) in rows {
        let stage = Stage::new();
        stage.run(&stage.shell(script));
        assert_eq!(stage.text(), expected, "{script}");
    }
}

pub(crate) fn a_text_that_is_a_part_says_so() {
    let too_large = |name: &str| format!("{name} has more than 20 bytes, and only its end is kept");
    let rows = [
        ("printf '%20s' text", "", None),
        ("printf '%21s' text", "", Some(too_large("stdout"))),
        ("printf '\\033[31m%20s' text", "", None),
        ("printf text; printf '%20s' output > $ENVOI_OUTPUT", "", None),
        ("printf '%30s' text; printf output > $ENVOI_OUTPUT", "", None),
        ("printf text; printf '%21s' output > $ENVOI_OUTPUT", "", Some(too_large("`$ENVOI_OUTPUT`"))),
        ("printf '%21s' text; mkdir $ENVOI_OUTPUT", "", Some(too_large("stdout"))),
        // A secret is masked before the text is measured.
        ("printf '%25s' $TOKEN", "a-long-secret-in-it", None),
    ];
    for (script, secret, cut) in rows {
        let stage = Stage::new();
        let mut spec = stage.shell(script);
        spec.text_cap_bytes = 20;
        spec.secrets.extend(Some(secret.to_owned()).filter(|secret| !secret.is_empty()));
        spec.env.push(("TOKEN".to_owned(), secret.to_owned()));
        let exit = stage.run(&spec);
        let told = exit.warnings.iter().find_map(|warning| warning.strip_prefix("the step's text is cut: "));
        let after = "; a status, a route or data in it does not count";
        assert_eq!(told.map(|told| told.strip_suffix(after).unwrap()), cut.as_deref(), "{script}");
        assert_eq!(exit.text_cut, cut.is_some(), "{script}");
    }
    // The text is small, but its stream is not kept in full.
    let stage = Stage::new();
    let mut spec = stage.shell("seq 2000");
    spec.stream_cap_bytes = 4096;
    let exit = stage.run(&spec);
    assert!(exit.text_cut && exit.text.bytes < 5000, "{exit:?}");
    assert!(exit.warnings[0].contains("stdout is not kept in full; a status"), "{:?}", exit.warnings);
}
