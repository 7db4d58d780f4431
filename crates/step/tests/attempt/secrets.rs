//! Secrets that a command writes, to every output and in every spelling.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::stage::{Stage, read};

pub(crate) fn a_secret_is_never_on_disk() {
    const SECRET: &str = "s3cr3t-\"value\"";
    let stage = Stage::new();
    let mut spec = stage.python(
        "import json, os, sys\n\
         secret = os.environ['TOKEN']\n\
         for stream in (sys.stdout, sys.stderr):\n\
         \x20   for letter in 'begin ' + secret * 3 + ' end':\n\
         \x20       stream.write(letter)\n\
         \x20       stream.flush()\n\
         \x20   stream.write(secret[:5] + '\\x1b[1m' + secret[5:])\n\
         open(os.environ['ENVOI_OUTPUT'], 'w').write('out ' + secret)\n\
         json.dump({'ok': True, 'data': secret}, open(os.environ['ENVOI_REPORT'], 'w'))\n\
         open('leak', 'w').write(secret)\n\
         open('clean', 'w').write('fine')\n",
    );
    spec.env.push(("TOKEN".to_owned(), SECRET.to_owned()));
    spec.secrets = vec![SECRET.to_owned(), "no".to_owned()];
    spec.artifacts = vec!["*".to_owned()];
    let exit = stage.run(&spec);
    assert!(read(&stage.dir.stdout()).starts_with("begin ********* end"));
    assert!(exit.stderr_tail.ends_with(" end***"), "{}", exit.stderr_tail);
    assert_eq!(stage.text(), "out ***");
    assert_eq!(read(&stage.dir.output()), "out ***");
    assert_eq!(read(&stage.dir.report()), "{\"ok\": true, \"data\": \"***\"}");
    assert_eq!(exit.secret_in_files, ["leak"]);
    assert_eq!(exit.warnings, ["a secret of fewer than 4 bytes is not masked"]);
    assert_eq!(read(&stage.dir.files().join("leak")), SECRET, "artifacts are handed over as they are");
    for entry in fs::read_dir(stage.dir.path()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let text = read(&entry.path());
        assert!(
            !text.contains("s3cr3t-\"value\"") && !text.contains("s3cr3t-\\\"value\\\""),
            "{:?}",
            entry.path()
        );
    }
}

/// Writes every spelling to every output. The report also has it in names and as a number.
const LEAK: &str = r#"
import base64, json, os, sys, urllib.parse
secret = os.environ['TOKEN']
ascii = json.dumps(secret)[1:-1]
wide = json.dumps(secret, ensure_ascii=False)[1:-1]
forms = [
    secret, ascii, wide, ascii.upper().replace('\\U', '\\u') if ascii.upper() == ascii else ascii,
    ascii.replace('/', '\\/'), wide.replace('/', '\\/'),
    wide.replace('&', '\\u0026').replace('<', '\\u003c').replace('>', '\\u003E'),
    ''.join('\\u%04x' % unit for unit in memoryview(secret.encode('utf-16-le')).cast('H')),
    json.dumps(ascii)[1:-1], repr(secret)[1:-1], repr(secret.encode())[2:-1],
    urllib.parse.quote(secret, safe=''), urllib.parse.quote(secret), urllib.parse.quote_plus(secret),
    urllib.parse.quote(ascii), urllib.parse.quote(urllib.parse.quote(secret)),
]
for before in ('', 'u', 'u:'):
    for after in ('', 'x'):
        content = (before + secret + after).encode()
        forms += [base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode(),
                  base64.encodebytes(content).decode(), base64.b64encode(content).decode().replace('/', '\\/')]
flow = '\n'.join('[%s]' % form for form in forms)
for stream in (sys.stdout, sys.stderr):
    stream.write(flow)
open(os.environ['ENVOI_OUTPUT'], 'w').write(flow)
values = ','.join('"%s"' % form for form in forms[1:3] + forms[4:8])
report = '{"ok":true,"generatedAt":"2026-01-01T00:00:00Z","skillName":"x","data":{"%s":1,"all":[%s],"nested":%s,"pin":90210417}}'
open(os.environ['ENVOI_REPORT'], 'w').write(report % (ascii.replace('/', '\\/'), values, json.dumps({'raw': flow})))
"#;

pub(crate) fn no_spelling_of_a_secret_is_on_disk() {
    for secret in
        ["hunter2/<b>&\"q\\z+ é😀%25", "-----BEGIN <KEY>\n  ab/cd+ef==\n\"é\" & \\n\n", "pass word\\"]
    {
        let stage = Stage::new();
        let mut spec = stage.python(LEAK);
        spec.env.push(("TOKEN".to_owned(), secret.to_owned()));
        spec.secrets = vec![secret.to_owned(), "90210417".to_owned()];
        let exit = stage.run(&spec);
        assert!(exit.report.is_some(), "{exit:?}");
        let report = read(&stage.dir.report());
        let report = envoi_contract::json::Value::parse_str(&report).expect(&report);
        let data = report.get("data").unwrap();
        assert_eq!(data.get("pin").unwrap().as_str(), Some("***"));
        assert!(data.get("***").is_some(), "{report:?}");
        assert!(stage.text().starts_with("[***]\n[***]\n[***]\n"));
        for entry in fs::read_dir(stage.dir.path()).unwrap().flatten().filter(|entry| entry.path().is_file())
        {
            assert_holds_none(&entry.path(), secret);
        }
    }
}

/// Searches for remains of a secret after decoding, without using the code that masks.
fn assert_holds_none(path: &Path, secret: &str) {
    let text = read(path);
    // Whatever is between two words of the secret, the words themselves would be visible.
    let words = secret.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= 4);
    for word in words.chain([secret]) {
        assert!(!text.contains(word), "{word:?} in {path:?}: {text}");
        let codes: String = word.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        assert!(!text.contains(&codes), "{word:?} as {codes} in {path:?}: {text}");
    }
    let letters = |c: char| !(c.is_ascii_alphanumeric() || "+/-_".contains(c));
    for run in text.split(letters).filter(|run| run.len() > 8) {
        let decoded = decoded(run);
        let found = decoded.windows(6).any(|window| secret.as_bytes().windows(6).any(|part| part == window));
        assert!(!found, "{run} in {path:?}");
    }
}

fn decoded(letters: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let bits: Vec<u8> =
        letters.bytes().flat_map(|l| (0..6).rev().map(move |bit| value(l) >> bit & 1)).collect();
    bits.chunks_exact(8).map(|eight| eight.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

pub(crate) fn a_file_whose_name_holds_a_secret_is_left_out() {
    let stage = Stage::new();
    let long = "l".repeat(190);
    fs::write(stage.workspace().join("was-hunter2.txt"), "").unwrap();
    let mut spec = stage.shell(&format!(
        "mkdir hunter2; echo x > hunter2/a.txt; echo x > of-aHVudGVyMg.txt; echo x > %68unter2.txt; echo x > fine.txt; \
         echo x > was-hunter2.txt; printf x > {long}-hunter2.txt; printf x > 'back\\hunter2.txt'"
    ));
    (spec.artifacts, spec.secrets) = (vec!["**/*.txt".to_owned()], vec!["hunter2".to_owned()]);
    let exit = stage.run(&spec);
    let handed: Vec<_> = exit.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(handed, ["fine.txt"]);
    let expected = [
        "artifact `***.txt` is left out: its name holds a secret".to_owned(),
        "artifact `***/a.txt` is left out: its name holds a secret".to_owned(),
        "artifact `back\\\\***.txt` is left out: its name has a backslash".to_owned(),
        format!("artifact `{long}-***.txt` is left out: its name holds a secret"),
        "artifact `of-***.txt` is left out: its name holds a secret".to_owned(),
        "artifact `was-***.txt` is left out: its name holds a secret".to_owned(),
    ];
    assert_eq!(exit.warnings, expected);
    let names =
        std::process::Command::new("grep").args(["-rl", "hunter2"]).arg(stage.dir.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&names.stdout), "", "nothing says the name, `before.json` neither");
    let files = std::process::Command::new("find")
        .arg(stage.dir.path())
        .args(["-name", "*hunter2*"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&files.stdout), "");
}

pub(crate) fn what_is_handed_over_is_for_its_owner_alone() {
    let stage = Stage::new();
    fs::write(stage.workspace().join("a.txt"), "before").unwrap();
    let mut spec = stage.shell("umask 0; echo after > a.txt");
    spec.artifacts = vec!["*.txt".to_owned()];
    let exit = stage.run(&spec);
    let copies = [exit.files[0].file.as_ref(), exit.files[0].before.as_ref()].map(|file| &file.unwrap().path);
    for copy in copies {
        let mode = fs::metadata(stage.dir.path().join(copy)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{copy}");
    }
}
