//! What commands write, and what is kept of it.

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
    assert_eq!(exit.warnings, [cut]);
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
