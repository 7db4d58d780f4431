//! Refused commands: by the server, or before a request to it.

use super::{Afar, served};
use crate::{
    serve::{APPROVAL, client::Served},
    stage::{Process, Stage},
};

#[test]
fn without_a_good_token_nothing_is_done_and_another_tenant_s_run_is_not_there() {
    let stage = Stage::with_flow(APPROVAL);
    let (served, admin) = served(&stage);
    admin.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let south = Afar::with(&stage, &served, &["s", "--scope", "admin", "--tenant", "south"]);
    let reader = Afar::with(&stage, &served, &["reader"]);
    let wrong = Afar { stage: &stage, url: served.url.clone(), token: format!("{}0", south.token) };
    for (who, arguments, code, expected) in [
        (&wrong, &["runs"][..], 6, "TOKEN_NEEDED"),
        (&wrong, &["run", "flow.yaml"], 6, "TOKEN_NEEDED"),
        (&south, &["show", &run], 2, "RUN_NOT_FOUND"),
        (&south, &["cancel", &run], 2, "RUN_NOT_FOUND"),
        (&south, &["show"], 2, "RUN_NOT_FOUND"),
        (&south, &["approve"], 6, "QUESTION_CLOSED"),
        (&south, &["logs", &run[4..12]], 2, "RUN_NOT_FOUND"),
        (&reader, &["approve"], 6, "SCOPE_TOO_SMALL"),
        (&reader, &["cancel", &run], 6, "SCOPE_TOO_SMALL"),
        (&reader, &["run", "publish"], 6, "SCOPE_TOO_SMALL"),
    ] {
        let done = who.expect(code, arguments);
        assert!(done.err.contains(&format!("error[{expected}]")), "{arguments:?}: {done:?}");
    }
    // As programs read it.
    let told = wrong.expect(6, &["--json", "runs"]).err;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["code"], "TOKEN_NEEDED");
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn what_cannot_be_done_at_a_server_is_refused_before_anything_is_done() {
    let stage = Stage::with_flow(APPROVAL);
    // No server runs there: the commands are refused without a request.
    let afar = Afar { stage: &stage, url: "http://127.0.0.1:1".to_owned(), token: "evt_x".to_owned() };
    for arguments in [
        &["serve"][..],
        &["repair"],
        &["doctor"],
        &["init"],
        &["token", "list"],
        &["logs", "--raw"],
        &["run", "flow.yaml", "--take-over"],
        &["resume", "--jobs", "2"],
        &["approve", "--take-over"],
        &["gc"],
        &["store", "adopt"],
        &["page"],
        &["export", "--sign", "key"],
        &["run", "flow.yaml", "--isolate"],
        &["run", "flow.yaml", "--keep-files"],
        &["run", "flow.yaml", "--web"],
        &["fork", "--files", "then"],
        &["resume", "--in-doubt", "rerun", "--files", "then"],
    ] {
        let done = afar.expect(2, arguments);
        assert!(done.err.contains("error[NOT_REMOTE]"), "{arguments:?}: {done:?}");
        assert!(done.err.contains("nothing was done"), "{arguments:?}: {done:?}");
    }
    // These refusals name the alternative.
    for (arguments, instead) in [
        (&["apply"][..], "`git apply FILE`"),
        (&["apply", "--ours"], "`git apply FILE`"),
        (&["apply", "--branch", "result"], "`git apply FILE`"),
        (&["restore", "--at", "draft", "--here"], "`envoi import FILE`"),
        (&["restore", "--at", "draft", "--into", "there"], "`envoi import FILE`"),
        (&["restore", "--undo"], "`envoi import FILE`"),
        (&["backtest", "flow.yaml"], "`envoi import FILE`"),
    ] {
        let done = afar.expect(2, arguments);
        assert!(
            done.err.contains("error[NOT_REMOTE]") && done.err.contains(instead),
            "{arguments:?}: {done:?}"
        );
    }
    assert!(!stage.store().exists());
    for arguments in
        [&["check", "flow.yaml"][..], &["plan", "flow.yaml"], &["explain", "NOT_REMOTE"], &["schema"]]
    {
        afar.expect(0, arguments);
    }
    let done = afar.expect(8, &["run", "flow.yaml"]);
    assert!(done.err.contains("error[SERVER_UNREACHABLE]") && !stage.store().exists(), "{done:?}");
}

#[test]
fn senseless_options_are_refused_and_options_win_over_the_environment() {
    let stage = Stage::with_flow(APPROVAL);
    let served = Served::start(&stage);
    let token = served.first.clone().unwrap();
    stage.write("token", &token);
    stage.write("empty", "\n");
    let url = served.url.as_str();
    let nowhere = "http://127.0.0.1:1";
    for (arguments, env, code, expected) in [
        (&["--server", url, "runs"][..], &[][..], 6, "TOKEN_NEEDED"),
        (&["--server", url, "--token-file", "nothing", "runs"], &[], 6, "TOKEN_NEEDED"),
        (&["--server", url, "--token-file", "empty", "runs"], &[], 6, "TOKEN_NEEDED"),
        (&["--server", url, "--token-file", "token", "runs"], &[], 0, ""),
        (&["--server", url, "--token-file", "token", "runs"], &[("ENVOI_TOKEN", "evt_x")], 0, ""),
        (&["--server", url, "runs"], &[("ENVOI_TOKEN", "two\nlines")], 6, "TOKEN_NEEDED"),
        (&["--server", url, "runs"], &[("ENVOI_SERVER", nowhere), ("ENVOI_TOKEN", &token)], 0, ""),
        (&["runs"], &[("ENVOI_SERVER", ""), ("ENVOI_TOKEN", "evt_x")], 0, ""),
        (&["--server", "", "runs"], &[("ENVOI_SERVER", nowhere), ("ENVOI_TOKEN", "evt_x")], 0, ""),
        (&["--home", ".envoi", "runs"], &[("ENVOI_SERVER", nowhere), ("ENVOI_TOKEN", "evt_x")], 0, ""),
        (&["runs"], &[("ENVOI_HOME", "nowhere"), ("ENVOI_SERVER", url), ("ENVOI_TOKEN", &token)], 0, ""),
        (
            &["--home", ".envoi", "--server", url, "runs"],
            &[("ENVOI_TOKEN", &token)],
            2,
            "SERVER_OPTIONS_INVALID",
        ),
        (&["--token-file", "token", "runs"], &[], 2, "SERVER_OPTIONS_INVALID"),
        (&["--server", "127.0.0.1:7007", "runs"], &[("ENVOI_TOKEN", &token)], 2, "SERVER_OPTIONS_INVALID"),
        (
            &["--server", url, "--server-ca", "token", "runs"],
            &[("ENVOI_TOKEN", &token)],
            2,
            "SERVER_OPTIONS_INVALID",
        ),
    ] {
        let done = Process::spawn(stage.command(arguments).envs(env.iter().copied())).done();
        assert_eq!(done.code, Some(code), "{arguments:?} {env:?}: {done:?}");
        assert!(done.err.contains(expected), "{arguments:?} {env:?}: {done:?}");
        assert!(!done.err.contains(&token) && !done.out.contains(&token), "a token is told to nobody");
    }
}

#[test]
fn a_server_that_is_not_envoi_is_recognised() {
    let stage = Stage::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        assert!(std::io::Read::read(&mut stream, &mut head).unwrap() > 0);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>";
        std::io::Write::write_all(&mut stream, answer).unwrap();
    });
    let afar = Afar { stage: &stage, url, token: "evt_x".to_owned() };
    let done = afar.expect(8, &["runs"]);
    assert!(done.err.contains("error[SERVER_NOT_UNDERSTOOD]"), "{done:?}");
    answering.join().unwrap();
}

#[test]
fn a_proxy_of_the_environment_gets_no_request() {
    let stage = Stage::new();
    let (_served, afar) = served(&stage);
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let mut command = afar.command(&["runs"]);
    for name in ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"] {
        command.env(name, &url).env(name.to_ascii_lowercase(), &url);
    }
    let done = Process::spawn(&mut command).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(proxy.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
