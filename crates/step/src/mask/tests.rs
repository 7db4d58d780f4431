//! Tests which texts are masked, and which stay unchanged.

use super::{Masker, Secrets};
use proptest::{collection::vec, prelude::*, sample::select};

fn masked_in_pieces_of(size: usize, secrets: &[&str], text: &str) -> String {
    let values: Vec<String> = secrets.iter().map(|value| (*value).to_owned()).collect();
    let secrets = Secrets::new(&values);
    let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
    for piece in text.as_bytes().chunks(size) {
        masker.push(piece, &mut out);
    }
    masker.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_secret_is_masked_wherever_the_flow_is_cut() {
    let rows: &[(&[&str], &str, &str)] = &[
        (&["hunter2"], "pass hunter2, again hunter2hunter2!", "pass ***, again ******!"),
        (&["aaab"], "aaaaaab aaa", "aaa*** aaa"),
        (&["abcd", "abcdef"], "abcdef abcde abcd", "*** ***e ***"),
        (&["abcdefgh", "cdef"], "abcdefg", "ab***g"),
        (&["abcdefgh", "cdef"], "xxabcdef", "xxab***"),
        (&["q\"x\ny"], r#"{"a":"q\"x\ny"}"#, r#"{"a":"***"}"#),
        (&["pässwort"], r#"{"a":"p\u00e4sswort"} pässwort"#, r#"{"a":"***"} ***"#),
        (&["abc"], "abc is too short", "abc is too short"),
        (&["-----BEGIN\n  line1\r\nab\nlast\n"], "-----BEGIN\n  line1\r\nab\nlast\n.", "***."),
        (
            &["-----BEGIN\n  line1\r\nab\nlast\n"],
            "\t-----BEGIN\n\tline1\n\tab\n\tlast",
            "\t***\n\t***\n\tab\n\t***",
        ),
        (&["-----BEGIN\n  line1\r\nab\nlast\n"], "-----BEGIN\n  line1\r\nab\nlost", "***\n  ***\r\nab\nlost"),
        (
            &["li\"ne\nzw\u{e4}i"],
            r#"{"a":["li\"ne","zw\u00e4i"]} li\"ne\nzwäi"#,
            r#"{"a":["***","***"]} ***"#,
        ),
        (&["one1\n    \ntwo2"], "one1    two2", "***    ***"),
        (&[], "nothing", "nothing"),
    ];
    for (secrets, text, expected) in rows {
        for size in 1..=text.len() {
            assert_eq!(
                &masked_in_pieces_of(size, secrets, text),
                expected,
                "{secrets:?} in pieces of {size}"
            );
        }
    }
}

/// A number that looks random and is the same in every run.
fn scattered(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

/// Typical output of commands, without a secret.
fn ordinary_outputs() -> [(&'static str, String, u64); 5] {
    const WORDS: [&str; 16] = [
        "GET",
        "/api/v1/users",
        "200",
        "error:",
        "connection",
        "reset",
        "by",
        "peer",
        "INFO",
        "took",
        "12.5ms",
        "key=abc123",
        "100%",
        "a+b",
        "[main]",
        "2026-11-22T23:00:00Z",
    ];
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let pick = |number: u64, most: usize| usize::try_from(scattered(number)).unwrap() % most;
    let log: String = (0..20_000).map(|nth| WORDS[pick(nth, WORDS.len())].to_owned() + " ").collect();
    let base64: String = (0..100_000).map(|nth| char::from(LETTERS[pick(nth, 64)])).collect();
    let json: String = (0..1_000)
        .map(|nth| {
            let text = "line one\nline \"two\" of it";
            let line = serde_json::json!({"level": "info", "path": format!("/a/{}", scattered(nth)), "text": text, "list": [1, "x"]});
            format!("{line}\n")
        })
        .collect();
    let once = serde_json::to_string(&json).unwrap();
    let twice = serde_json::to_string(&once).unwrap();
    [("log", log, 60), ("base64", base64, 10), ("json", json, 20), ("once", once, 20), ("twice", twice, 20)]
}

/// Masking spends most of its time in the search for a pattern.
#[test]
fn few_places_of_ordinary_output_are_looked_at_closely() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nVJTUt9Us8cKjMzEfYYjiWA4R4/M2bS1G\n-----END KEY-----";
    let values = ["hunter2-s3cr3t/value+with&signs", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", key];
    let secrets = Secrets::new(&values.map(str::to_owned));
    for (name, text, most) in ordinary_outputs() {
        let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
        masker.push(text.as_bytes(), &mut out);
        masker.finish(&mut out);
        assert_eq!(out, text.as_bytes(), "{name}");
        let in_thousand = masker.scratch.finds * 1000 / u64::try_from(text.len()).unwrap();
        assert!(in_thousand <= most, "{name}: a pattern is looked for {in_thousand} times in 1000 bytes");
    }
}

/// If the run were searched from each of its bytes, the time would grow with the square of its length.
#[test]
fn a_long_run_of_backslashes_is_passed_at_once() {
    let values = ["secret-1", "news", "%x", "back\\slash"].map(str::to_owned);
    let secrets = Secrets::new(&values);
    for after in ["", "secret-1", "news", "u0073ecret-1", "\"", "%", "+", "a"] {
        let run = |length: usize| format!("{}{after}", "\\".repeat(length));
        let passed = |length: usize| secrets.index.harmless_backslashes(run(length).as_bytes());
        assert_eq!([9, 1_000, 100_000].map(passed), [1, 992, 99_992].map(Some), "{after}");
        // The place where it begins makes no difference.
        for more in [1, 7, 100] {
            let text = secrets.mask_str(&run(8 + more));
            assert_eq!(text, format!("{}{}", "\\".repeat(more), secrets.mask_str(&run(8))), "{after} {more}");
        }
    }
    // Each backslash may begin this pattern. The search is bounded by the pattern's length.
    let secrets = Secrets::new(&["\\begins".to_owned()]);
    assert_eq!(secrets.index.harmless_backslashes(&[b'\\'; 1_000]), None);
}

#[test]
fn nothing_is_held_back_that_cannot_become_a_secret() {
    let secrets = Secrets::new(&["hunter2".to_owned()]);
    let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
    masker.push(b"a line\n", &mut out);
    assert_eq!(out, b"a line\n");
    masker.push(b"hunt", &mut out);
    assert_eq!(out, b"a line\n");
    masker.push(b"er\n", &mut out);
    assert_eq!(out, b"a line\nhunter\n");
    for end in (b'!'..=b'~').filter(|end| !b"\\%".contains(end)) {
        out.clear();
        let line = [b"a line ", &[end; 3][..], b"\n"].concat();
        masker.push(&line, &mut out);
        assert_eq!(out, line, "a line is there when it ends, though base64 may go on in the next");
        out.clear();
        let prompt = [b"a line ", &[end; 3][..], b" "].concat();
        masker.push(&prompt, &mut out);
        assert_eq!(out, prompt, "so is a question behind which the cursor stands");
    }
}

#[test]
fn a_secret_is_masked_in_every_spelling() {
    let rows: &[(&str, &str, &str, &str)] = &[
        ("PHP", "tok/en/9", r#"{"a":"tok\/en\/9"}"#, r#"{"a":"***"}"#),
        ("Go", "a&b<c>d", r#"{"a":"a\u0026b\u003cc\u003ed"}"#, r#"{"a":"***"}"#),
        ("upper case", "a&b<c>d", r#"{"a":"a\u0026b\u003Cc\u003Ed"}"#, r#"{"a":"***"}"#),
        ("every character", "hunter", r"'\u0068\u0075\u006E\u0074\u0065\u0072'", "'***'"),
        ("a surrogate pair", "key😀", r#"{"a":"key\ud83d\uDE00"}"#, r#"{"a":"***"}"#),
        ("JSON in JSON", "q\"x\\y/z", r#""{\"b\":\"q\\\"x\\\\y\\\/z\"}""#, r#""{\"b\":\"***\"}""#),
        ("Python", "pé\nq\\r", r"'p\xe9\nq\\r'", "'***'"),
        ("Python bytes", "pé\nq\\r", r"b'p\xc3\xa9\nq\\r'", "b'***'"),
        ("a shell", "it's $HOME", r"it\'s\ \$HOME", "***"),
        ("a URL", "a b/c&d=é", "?a%20b%2Fc%26d%3D%C3%A9&", "?***&"),
        ("a URL in lower case", "a b/c&d=é", "?a%20b%2fc%26d%3d%c3%a9&", "?***&"),
        ("a form", "a b/c&d=é", "?a+b%2Fc%26d%3D%C3%A9&", "?***&"),
        ("a URL as far as it must", "a b/c&d=é", "?a%20b/c&d=%C3%A9&", "?***&"),
        ("a URL in a URL", "a b/c", "?a%2520b%252Fc&", "?***&"),
        ("a form in a form", "a b/c", "?a%2Bb%252Fc&", "?***&"),
        ("JSON in a URL", "a\"b/c", "%7B%22t%22%3A%22a%5C%22b%5C%2Fc%22%7D", "%7B%22t%22%3A%22***%22%7D"),
        ("base64", "hunter2/é", "aHVudGVyMi/DqQ==", "***=="),
        ("base64 after one byte", "hunter2/é", "eGh1bnRlcjIvw6l5", "e***5"),
        ("base64 after two bytes", "hunter2/é", "eHhodW50ZXIyL8OpeQ==", "eH***eQ=="),
        ("base64 for URLs", "~~~>>>???", "fn5-Pj4-Pz8_", "***"),
        ("base64 in JSON", "~~~>>>???", r#"{"a":"fn5+Pj4+Pz8\/"}"#, r#"{"a":"***"}"#),
        ("base64 in a URL", "~~~>>>???", "?fn5%2BPj4%2BPz8%2F&", "?***&"),
        ("JSON in base64", "a\"b/cdef", "eyJ0IjoiYVwiYlwvY2RlZiJ9", "eyJ0Ijoi***J9"),
        ("base64 in lines", "hunter2hunter2", "aHVudGVy\nMmh1bnRl\r\n  cjI=", "***="),
        ("base64 in lines in JSON", "hunter2hunter2", r#""aHVudGVy\nMmh1bnRlcjI=""#, r#""***=""#),
        ("bash -x", "it's é", r"+ echo 'it'\''s é'", "+ echo '***'"),
        ("bash -x in JSON", "it's é", r#"{"a":"'it'\\''s \u00e9'"}"#, r#"{"a":"'***'"}"#),
        ("bash -x in a URL", "it's", "?%27it%27%5C%27%27s%27", "?%27***%27"),
        ("bash -x at both ends", "'its'", r"''\''its'\'''", "'***'"),
        ("Python's shlex", "it's", r#"'it'"'"'s'"#, "'***'"),
        ("Python's shlex in JSON", "it's", r#""'it'\"'\"'s'""#, r#""'***'""#),
        ("Python's shlex at both ends", "'its'", r#"''"'"'its'"'"''"#, "'***'"),
        ("a quote in quotes", "it's \"a", r#"it"'"s '"'a"#, "***"),
        ("a double quote outside", "say \"a", r#""say "\""a""#, r#""***""#),
        ("a quote in other quotes", "say \"a", r#""say "'"'"a""#, r#""***""#),
        ("CSV", "say \"a\"", r#"1,"say ""a""",2"#, r#"1,"***",2"#),
        ("CSV in JSON", "say \"a\"", r#"{"a":"1,\"say \"\"a\"\"\""}"#, r#"{"a":"1,\"***\""}"#),
        ("JSON in CSV", "say \"a", r#""{""a"":""say \""a""}""#, r#""{""a"":""***""}""#),
        ("SQL", "'its' a", "VALUES ('''its'' a')", "VALUES ('***')"),
        ("YAML", "it's", "a: 'it''s'", "a: '***'"),
        ("quotes beside quotes", "it''s", r#"it'\'''\''s it'"'"''"'"'s it''''s it\'\'s"#, "*** *** *** ***"),
        ("a quote at the end in JSON", "say\"", r#"{"a":"say\"","b":"say\""}"#, r#"{"a":"***","b":"***"}"#),
        ("a quote at the start in JSON", "\"say", r#"{"a":"\"say","b":""}"#, r#"{"a":"***","b":""}"#),
        ("another quote at the end", "says'", r#"["says'","a"] ["says\u0027"]"#, r#"["***","a"] ["***"]"#),
        ("octal", "pé\tq1", r"$'p\303\251\tq1' p\303\251\11q1 p\303\251\011q\61", "$'***' *** ***"),
        ("octal in JSON", "pé q", r#""p\\303\\251\\40q""#, r#""***""#),
        ("octal from the start", "é\u{20ac}pq", r"\303\251\342\202\254pq", "***"),
        ("octal of a character", "pépé", r"p\351p\351", "***"),
        ("ES6 and Rust", "pé😀q", r"p\u{e9}\u{1F600}q p\u{0000e9}\u{01f600}\u{71}", "*** ***"),
        ("ES6 in JSON in a URL", "pé😀q", r"p%5C%5Cu%7Be9%7D%5C%5Cu%7B1f600%7Dq", "***"),
        ("Perl", "pé\u{20ac}q", r#""p\x{e9}\x{20ac}q" p\x{c3}\x{a9}\x{20AC}\x{71}"#, r#""***" ***"#),
        (
            "the documentation",
            "a/b \"é\"",
            r#"a/b "\u{e9}";a/b "\x{e9}";a/b\040"\303\251";a/b "\351";a/b ""é"";a/b "\""é"'"'";"#,
            "***;***;***;***;***;***;",
        ),
        ("Perl from the start", "\u{20ac}uro", r"\x{20ac}uro", "***"),
        ("lines of another system", "abcdef\nghijkl", "abcdef\r\nghijkl", "***"),
        ("such a line end at the start", "\nab\ncd", "\r\nab\r\ncd", "***"),
        ("such lines in JSON", "ab\ncdef", r#""ab\r\ncdef""#, r#""***""#),
    ];
    for (what, secret, text, expected) in rows {
        for size in 1..=text.len() {
            assert_eq!(masked_in_pieces_of(size, &[secret], text), *expected, "{what} in pieces of {size}");
        }
    }
}

/// Writes these characters with this escape.
fn escaped(text: &str, signs: &str, escape: impl Fn(char) -> String) -> String {
    let one = |char: char| if signs.contains(char) { escape(char) } else { char.to_string() };
    text.chars().map(one).collect()
}

fn code(char: char) -> String {
    char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn upper_code(char: char) -> String {
    char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect()
}

fn percent(char: char) -> String {
    char.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// How common programs write the secret into a document, by program.
fn written(secret: &str) -> Vec<(&'static str, String)> {
    let json = json(secret);
    let wide: String = secret.chars().filter(|char| !char.is_ascii()).collect();
    let all_but = |left: &str| secret.chars().filter(|char| !left.contains(*char)).collect::<String>();
    let safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
    let quote = |text: &str| escaped(text, &all_but(&format!("{safe}/")), percent);
    vec![
        ("nobody changes it", secret.to_owned()),
        ("serde_json", json.clone()),
        ("PHP", php(secret)),
        ("Go", go(secret)),
        ("Python's json", escaped(&json, &wide, code)),
        ("System.Text.Json", escaped(&json.replace("\\\"", "\\u0022"), &format!("&<>'+`{wide}"), upper_code)),
        ("Gson", escaped(&json, "<>&='", code)),
        (
            "PHP's JSON_HEX_*",
            escaped(&php(secret).replace("\\\"", "\\u0022"), &format!("&<>'{wide}"), upper_code),
        ),
        ("Python's quote", quote(secret)),
        ("Python's quote_plus", url(secret).replace("%20", "+")),
        ("Python's quote of JSON", url(&json).replace("%2F", "/")),
        ("encodeURIComponent", escaped(secret, &all_but(&format!("{safe}!'()*")), percent)),
        ("encodeURI", escaped(secret, &all_but(&format!("{safe}!'()*;/?:@&=+$,#")), percent)),
        ("JavaScript's URL", escaped(secret, &format!(" \"<>#'{wide}"), percent)),
        ("lower case", url(secret).replace("%2B", "%2b").replace("%3D", "%3d").replace("%2F", "%2f")),
        ("a URL in a URL", url(&url(secret))),
        ("JSON in JSON", self::json(&json)),
        (
            "octal",
            escaped(secret, &format!("\"'\\{wide}"), |char| {
                char.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect()
            }),
        ),
        ("braces", escaped(secret, &wide, |char| format!("\\u{{{:x}}}", u32::from(char)))),
        ("bash -x", traced(secret)),
        ("Python's shlex", shlex(secret)),
        ("CSV", doubled(secret)),
    ]
}

#[test]
fn a_document_in_base64_hides_no_secret() {
    let secret = "a&b<c> é/\"d'=+!(1)*~?12";
    for (who, form) in written(secret) {
        for before in 0..3 {
            for alphabet in [STANDARD, FOR_URLS] {
                for width in [5, 6, 7, 8, 13, 64, 76, 1000] {
                    let (whole, left) = in_base64(&form, before, 2, width, alphabet);
                    for size in [1, 5, 1000] {
                        let masked = masked_in_pieces_of(size, &[secret], &whole);
                        assert_eq!(masked, left, "{who}: {form} after {before} in lines of {width}");
                    }
                }
            }
        }
    }
}

#[test]
fn base64_goes_on_where_blanks_stand_before_the_line_end() {
    let secret = "a&b<c> é/\"d'=+!(1)*~?12";
    for line_end in [" \n", "\t\r\n", "  \t \n\n \t", "\\t\\n", "%20%0D%0A"] {
        for before in 0..3 {
            for width in 5..20 {
                let (whole, left) = in_base64(secret, before, 2, width, STANDARD);
                let [whole, left] = [whole, left].map(|text| text.replace('\n', line_end));
                for size in [1, 3, 1000] {
                    let masked = masked_in_pieces_of(size, &[secret], &whole);
                    let is_masked =
                        masked == left || masked.replace("0A***", "0***") == left.replace("0A***", "0***");
                    assert!(is_masked, "{line_end:?}, {before}, {width}, {size}: {masked}, and not {left}");
                }
            }
        }
    }
}

#[test]
fn each_line_of_a_long_secret_is_masked_in_base64() {
    let lines: Vec<String> = (0..300).map(|nth| format!("line {nth} of it")).collect();
    let secret = lines.join("\n");
    for line in &lines {
        let (whole, left) = in_base64(line, 1, 1, 1000, STANDARD);
        assert_eq!(masked_in_pieces_of(1000, &[&secret], &whole), left);
    }
}

#[test]
fn base64_without_a_secret_is_left_alone() {
    let secret = "a&b<c> é/\"d'=+!(1)*~?12";
    for (who, form) in written(secret) {
        let almost = [&form[..form.len() - 1], &form[1..], &form.replace('1', "2")].map(str::to_owned);
        for text in almost.iter().filter(|text| **text != form) {
            for before in 0..3 {
                for width in [5, 76] {
                    let (whole, _) = in_base64(text, before, 3, width, STANDARD);
                    for size in [1, 7, 1000] {
                        assert_eq!(masked_in_pieces_of(size, &[secret], &whole), whole, "{who}: {text}");
                    }
                }
            }
        }
    }
}

/// Megabytes may be one run of letters.
#[test]
fn of_base64_little_is_held_back() {
    let secret = "hunter2-s3cr3t/value+with&signs";
    let secrets = Secrets::new(&[secret.to_owned()]);
    let almost: String = secret.chars().take(secret.len() - 1).collect();
    let noise: Vec<u8> = (0..3000).map(|nth| u8::try_from(scattered(nth) % 256).unwrap()).collect();
    for content in [almost.repeat(100).into_bytes(), b"\\".repeat(3000), b"%25".repeat(1000), noise] {
        for width in [76, 100_000] {
            let letters = String::from_iter(letters(&content, STANDARD));
            let lines: Vec<&str> =
                letters.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let text = lines.join("\n");
            let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
            for piece in text.as_bytes().chunks(11) {
                masker.push(piece, &mut out);
                assert!(masker.held.len() <= 64, "{} are held back", masker.held.len());
                assert!(masker.begun.len() <= 9, "{} have begun", masker.begun.len());
            }
            masker.finish(&mut out);
            assert_eq!(out, text.as_bytes());
        }
    }
}

#[test]
fn base64_goes_on_behind_an_indentation_and_where_a_line_ends_early() {
    let indented = format!("aHVudGVy\n{}Mmh1bnRlcjI=", " ".repeat(40));
    assert_eq!(masked_in_pieces_of(7, &["hunter2hunter2"], &indented), "***=");
    for (text, expected) in [
        ("aHV\nudGVyMg==", "aHV\n***=="),
        ("aHV\r\n \tudGVyMg==", "aHV\r\n \t***=="),
        (r"aHV\r\nudGVyMg==", r"aHV\r\n***=="),
        ("aHV%0D%0AudGVyMg==", "aHV%0D%0A***=="),
        (r"aHV\n\u0075dGVyMg==", r"aHV\n***=="),
        ("a\nH\nVudGVyMg==", "a\nH\n***=="),
        ("aHV \t\nudGVyMg==", "aHV \t\n***=="),
        ("aHV \\t\\nudGVyMg==", "aHV \\t\\n***=="),
        ("aHVudG \nVyMg==", "***=="),
        ("aHVudG\t\r\nVyMg==", "***=="),
        ("aHVudG%20%0AVyMg==", "***=="),
        ("aHVudG VyMg==", "aHVudG VyMg=="),
        ("aHV udGVyMg==", "aHV udGVyMg=="),
        ("aHV\n.udGVyMg==", "aHV\n.udGVyMg=="),
        ("aHV\n", "aHV\n"),
        (r"aHV\", r"aHV\"),
    ] {
        for size in 1..=text.len() {
            assert_eq!(masked_in_pieces_of(size, &["hunter2"], text), expected, "{text} in pieces of {size}");
        }
    }
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let secret = "hunter2/é";
    for text in
        [r"hunter2\u002g", "hunter2%2", "aHVudGVyMi_D", r"\\\\\\\\\\\\hunter", "%%%25%", "hunter2%2Fe", "a+b"]
    {
        for size in 1..=text.len() {
            assert_eq!(masked_in_pieces_of(size, &[secret], text), *text, "in pieces of {size}");
        }
    }
}

#[test]
fn what_only_looks_like_a_quoting_is_left_alone() {
    let secret = "it's \"é";
    for text in [
        r"it'\' ",
        r"it'\'s",
        r#"it'"s "é"#,
        r#"it''''s "é"#,
        r#"it'"'"s"#,
        r#"it'"'""s "é"#,
        r#"it"s "é"#,
        r#"it's \303\25"#,
        r#"it's "\303\2521"#,
        r#"it's "\777"#,
        r#"it's "\u{}"#,
        r#"it's "\u{e9"#,
        r#"it's "\u{0000000e9}"#,
        r#"it's "\x{110000}"#,
    ] {
        for size in 1..=text.len() {
            assert_eq!(masked_in_pieces_of(size, &[secret], text), *text, "in pieces of {size}");
        }
    }
}

#[test]
fn what_the_documentation_says_is_not_found_is_not() {
    let rows: &[(&str, &str, &[u8])] = &[
        ("Latin-1", "passé", b"pass\xe9"),
        ("decomposed", "passé", "passe\u{301}".as_bytes()),
        ("UTF-16", "pass", b"p\0a\0s\0s\0"),
        ("another case", "pass", b"PASS"),
        ("hexadecimal", "pass", b"70617373"),
        ("HTML", "pa<ss", b"pa&lt;ss"),
        ("base64 twice", "password", b"Y0dGemMzZHZjbVE9"),
        ("colours", "pass", b"pa\x1b[1mss"),
        ("quoted twice", "it's", br"it'\''\'\'''\''s"),
    ];
    for (what, secret, text) in rows {
        let secrets = Secrets::new(&[(*secret).to_owned()]);
        assert_eq!(secrets.mask_bytes(text), (text.to_vec(), 0), "{what}");
    }
}

/// A spelling of a character, chosen by the number.
fn spelt(char: char, choice: u8) -> String {
    let units: Vec<u16> = char.encode_utf16(&mut [0; 2]).to_vec();
    let bytes = char.to_string().into_bytes();
    let short = match char {
        '"' | '\\' | '/' | '\'' => Some(format!("\\{char}")),
        '\n' => Some("\\n".to_owned()),
        '\r' => Some("\\r".to_owned()),
        '\t' => Some("\\t".to_owned()),
        _ => None,
    };
    let quote = matches!(char, '\'' | '"');
    match choice % 16 {
        0 => units.iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        1 => units.iter().map(|unit| format!("\\u{unit:04X}")).collect(),
        2 => bytes.iter().map(|byte| format!("%{byte:02x}")).collect(),
        3 => bytes.iter().map(|byte| format!("%{byte:02X}")).collect(),
        4 => bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect(),
        5 if char == ' ' => "+".to_owned(),
        5 | 6 => short.unwrap_or_else(|| char.to_string()),
        7 => bytes.iter().map(|byte| format!("\\{byte:03o}")).collect(),
        8 => format!("\\u{{{:x}}}", u32::from(char)),
        9 => format!("\\x{{{:X}}}", u32::from(char)),
        10 if quote => format!("{char}{char}"),
        11 if quote => format!("{char}\\{char}{char}"),
        12 if char == '\'' => r#"'"'"'"#.to_owned(),
        12 if quote => r#"'"'"#.to_owned(),
        _ => char.to_string(),
    }
}

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn php(text: &str) -> String {
    json(text).replace('/', "\\/")
}

fn go(text: &str) -> String {
    json(text).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn url(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The quoting of bash's trace.
fn traced(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// The quoting of Python's `shlex`.
fn shlex(text: &str) -> String {
    text.replace('\'', r#"'"'"'"#)
}

fn doubled(text: &str) -> String {
    text.replace('\'', "''").replace('"', "\"\"")
}

fn letters(content: &[u8], alphabet: &[u8; 64]) -> Vec<char> {
    let bits: Vec<u8> =
        content.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let value =
        |six: &[u8]| (0..6).fold(0, |value, at| value * 2 + usize::from(six.get(at).copied().unwrap_or(0)));
    bits.chunks(6).map(|six| char::from(alphabet[value(six)])).collect()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters in lines of this width, and the expected result: all letters without a bit of the secret.
fn in_base64(
    secret: &str,
    before: usize,
    after: usize,
    width: usize,
    alphabet: &[u8; 64],
) -> (String, String) {
    let content = ["#".repeat(before).as_bytes(), secret.as_bytes(), "#".repeat(after).as_bytes()].concat();
    let (first, end) = (before * 8 / 6, ((before + secret.len()) * 8).div_ceil(6));
    let (mut whole, mut left) = (String::new(), String::new());
    let letters = letters(&content, alphabet);
    // Masking does not wait for more if a line ends within the first four letters: the text before the line
    // end stays.
    let wrap = (first + 1..first + 4).find(|at| at % width == 0 && *at < letters.len());
    let first = wrap.unwrap_or(first);
    for (at, letter) in letters.into_iter().enumerate() {
        let line_end = if at > 0 && at % width == 0 { "\n" } else { "" };
        whole += &format!("{line_end}{letter}");
        if at <= first || at >= end {
            left += line_end;
        }
        match at {
            _ if at == first => left += "***",
            _ if at < first || at >= end => left.push(letter),
            _ => {}
        }
    }
    (whole, left)
}

fn secret() -> impl Strategy<Value = String> {
    let hard = "/<&+\"\\é😀 \n\r\t%=-_'`$ux2F5cD{}:,";
    let easy = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let letter =
        prop_oneof![select(hard.chars().collect::<Vec<_>>()), select(easy.chars().collect::<Vec<_>>())];
    let text = vec(letter, 8..400).prop_map(String::from_iter);
    text.prop_filter("8 to 400 bytes", |text| text.trim().len() >= 8 && text.len() <= 400)
}

/// Every form in one stream, and the expected result. They are separated by letters that no secret has.
fn leaks(secret: &str, choices: &[u8], before: usize, after: usize, width: usize) -> (String, String) {
    let mixed = secret.chars().zip(choices.iter().cycle()).map(|(char, choice)| spelt(char, *choice));
    let nested =
        [json(&json(secret)), php(&json(secret)), json(&php(secret)), url(&json(secret)), url(&url(secret))];
    let plain = [secret.to_owned(), json(secret), php(secret), go(secret), url(secret), mixed.collect()];
    let quoted = [traced, shlex, doubled].map(|quote| {
        let text = quote(secret);
        [json(&text), url(&text), text]
    });
    let (mut whole, mut left) = ("|".to_owned(), "|".to_owned());
    for form in plain.into_iter().chain(nested).chain(quoted.concat()).chain([url(secret).to_lowercase()]) {
        // The lower-case form is another secret, unless only the digits of its encoding have letters.
        let same = form != url(secret).to_lowercase() || secret.to_lowercase() == secret;
        if same {
            whole += &format!("{form}|");
            left += "***|";
        }
    }
    for alphabet in [STANDARD, FOR_URLS] {
        let (letters, rest) = in_base64(secret, before, after, width, alphabet);
        for encode in [str::to_owned, php, url] {
            whole += &format!("{}|", encode(&letters));
            left += &format!("{}|", encode(&rest).replace("%2A%2A%2A", "***"));
        }
    }
    (whole, left)
}

/// The `n` of a line end written as `\n`, and the last digit of `%0A`, may also be letters of base64: then
/// they are masked with what follows.
fn without_line_ends(text: &str) -> String {
    text.replace("\\n***", "\\***").replace("%0A***", "%0***")
}

#[test]
fn a_part_of_a_secret_that_begins_before_it_does_not_save_its_end() {
    // The first line of the value is a secret itself. Read with the `n` of `\n`, its base64 begins before
    // that of the whole value.
    let secret = " p//%\n\"0G";
    let (whole, left) = leaks(secret, &[0], 6, 0, 10);
    assert!(whole.contains("|IyMjIyMjIH\\nAvLyUKIjBH|") && left.contains("|IyMjIyMjIH\\n***|"), "{whole}");
    for size in [1, 7, 3000] {
        let masked = masked_in_pieces_of(size, &[secret], &whole);
        assert_eq!(without_line_ends(&masked), without_line_ends(&left));
    }
    let (whole, left) = leaks(secret, &[0], 6, 0, 11);
    let masked = masked_in_pieces_of(3000, &[secret], &whole);
    assert_eq!(without_line_ends(&masked), without_line_ends(&left));
}

#[test]
fn secrets_that_overlap_are_masked_to_their_ends() {
    let rows: [(&[&str], &str, &str); 5] = [
        (&["abcdefgh", "efghijklmn"], "<abcdefghijklmn>", "<***>"),
        (&["abcabc"], "<abcabcabc>", "<***>"),
        (&["abcdef"], "<abcdefabcdef>", "<******>"),
        (&["aaaa"], "<aaaaaaa>", "<***>"),
        (&["abcd", "cdef", "efgh"], "<abcdefgh>", "<***>"),
    ];
    for (secrets, text, expected) in rows {
        for size in [1, 3, 100] {
            assert_eq!(masked_in_pieces_of(size, secrets, text), expected, "{text} in pieces of {size}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_spelling_of_a_secret_gets_through(
        secret in secret(),
        choices in vec(any::<u8>(), 1..40),
        before in 0_usize..7,
        after in 0_usize..4,
        width in 8_usize..90,
        size in 1_usize..3000,
    ) {
        let (whole, left) = leaks(&secret, &choices, before, after, width);
        let masked = masked_in_pieces_of(size, &[&secret], &whole);
        prop_assert_eq!(without_line_ends(&masked), without_line_ends(&left));
    }

    #[test]
    fn no_spelling_of_a_secret_gets_through_in_base64(
        secret in secret(),
        choices in vec(any::<u8>(), 1..40),
        form in 0_usize..30,
        before in 0_usize..9,
        after in 0_usize..9,
        width in 5_usize..90,
        for_urls in any::<bool>(),
        outside in 0_usize..3,
        size in 1_usize..3000,
    ) {
        let mixed = || secret.chars().zip(choices.iter().cycle()).map(|(char, choice)| spelt(char, *choice)).collect();
        let form = written(&secret).into_iter().nth(form).map_or_else(mixed, |(_, form)| form);
        let alphabet = if for_urls { FOR_URLS } else { STANDARD };
        let (letters, rest) = in_base64(&form, before, after, width, alphabet);
        let encode = [str::to_owned, php, url][outside];
        let masked = masked_in_pieces_of(size, &[&secret], &encode(&letters));
        let left = encode(&rest).replace("%2A%2A%2A", "***");
        prop_assert_eq!(without_line_ends(&masked), without_line_ends(&left));
    }

    #[test]
    fn base64_without_a_secret_comes_out_as_it_went_in(
        secret in secret(),
        content in vec(prop_oneof![Just(b'\\'), Just(b'%'), Just(b'+'), b' '..=b'~', any::<u8>()], 0..400),
        width in 1_usize..90,
        size in 1_usize..50,
    ) {
        let letters = letters(&content, STANDARD);
        let lines: Vec<String> = letters.chunks(width).map(String::from_iter).collect();
        let text = lines.join("\n");
        prop_assert_eq!(masked_in_pieces_of(size, &[&format!("#{secret}")], &text), text);
    }

    #[test]
    fn text_without_a_secret_comes_out_as_it_went_in(
        secret in secret(),
        bytes in vec(prop_oneof![Just(b'\\'), Just(b'%'), Just(b'+'), b' '..=b'~', any::<u8>()], 0..400),
        size in 1_usize..50,
    ) {
        let secrets = Secrets::new(&[format!("#{secret}")]);
        let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
        bytes.chunks(size).for_each(|piece| masker.push(piece, &mut out));
        masker.finish(&mut out);
        prop_assert_eq!(out, bytes);
    }
}
