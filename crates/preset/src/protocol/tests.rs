//! Tests each protocol: the bodies of calls, and the interpretation of answers.

use super::*;

fn json(text: &str) -> Value {
    Value::parse_str(text).unwrap()
}

fn question<'a>(
    schema: Option<&'a Value>,
    parts: &'a [Part],
    repairs: &'a [(String, String)],
) -> Question<'a> {
    Question {
        model: "m",
        system: Some("Be brief."),
        prompt: "Sum up.",
        parts,
        repairs,
        temperature: None,
        max_tokens: Some(50),
        is_limit_of_completion: false,
        schema,
    }
}

#[test]
fn a_question_has_the_form_of_its_protocol() {
    let schema = json(r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}"#);
    let closed = r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}},"additionalProperties":false}"#;
    let repairs = [("{}".to_owned(), "`a` is missing.".to_owned())];
    let plain = schema.compact();
    let strict = json(closed);
    let again = "This answer cannot be used: `a` is missing.\\nAnswer again, with the corrected JSON alone.";
    let turns = format!(
        r#"{{"role":"user","content":"Sum up."}},{{"role":"assistant","content":"{{}}"}},{{"role":"user","content":"{again}"}}"#
    );
    let rows = [
        (
            Protocol::Chat,
            format!(
                r#"{{"model":"m","messages":[{{"role":"system","content":"Be brief."}},{turns}],"max_tokens":50,"response_format":{{"type":"json_schema","json_schema":{{"name":"outputs","schema":{plain},"strict":false}}}}}}"#
            ),
        ),
        (
            Protocol::Responses,
            format!(
                r#"{{"model":"m","input":[{turns}],"store":false,"instructions":"Be brief.","max_output_tokens":50,"text":{{"format":{{"type":"json_schema","name":"outputs","schema":{plain},"strict":false}}}}}}"#
            ),
        ),
        (
            Protocol::Messages,
            format!(
                r#"{{"model":"m","max_tokens":50,"system":"Be brief.","messages":[{turns}],"output_config":{{"format":{{"type":"json_schema","schema":{closed}}}}}}}"#
            ),
        ),
    ];
    for (protocol, expected) in rows {
        assert_eq!(protocol.body(&question(Some(&schema), &[], &repairs)).compact(), expected);
        let strictly = protocol.body(&question(Some(&strict), &[], &[])).compact();
        assert_eq!(strictly.contains(r#""strict":true"#), protocol != Protocol::Messages, "{strictly}");
        assert_eq!(Protocol::of(protocol.word()), Some(protocol));
    }
}

#[test]
fn a_temperature_is_sent_with_the_digits_that_were_written() {
    let temperature = Number::parse("0.30").unwrap();
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Messages] {
        let plain = question(None, &[], &[]);
        assert_eq!(protocol.body(&plain).as_object().unwrap().get("temperature"), None, "{protocol:?}");
        let body = protocol.body(&Question { temperature: Some(&temperature), ..plain }).compact();
        assert!(body.contains(r#""temperature":0.30"#), "{body}");
    }
}

#[test]
fn files_come_before_the_prompt() {
    let parts = [
        Part::Text("notes.md:\nhello".to_owned()),
        Part::Image { media_type: "image/png", base64: "AA==".to_owned() },
    ];
    for (protocol, image) in [
        (Protocol::Chat, r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}"#),
        (Protocol::Responses, r#"{"type":"input_image","image_url":"data:image/png;base64,AA=="}"#),
        (
            Protocol::Messages,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}"#,
        ),
    ] {
        let body = protocol.body(&question(None, &parts, &[])).compact();
        let kind = if protocol == Protocol::Responses { "input_text" } else { "text" };
        let expected = format!(
            r#"[{{"type":"{kind}","text":"notes.md:\nhello"}},{image},{{"type":"{kind}","text":"Sum up."}}]"#
        );
        assert!(body.contains(&expected), "{body}");
    }
}

#[test]
fn a_reply_is_read_with_its_end_and_its_tokens() {
    let chat = |message: &str, reason: &str| {
        format!(
            r#"{{"id":"c1","choices":[{{"message":{message},"finish_reason":"{reason}"}}],"usage":{{"prompt_tokens":100,"completion_tokens":10,"prompt_tokens_details":{{"cached_tokens":20}}}}}}"#
        )
    };
    let responses = |status: &str, part: &str| {
        format!(
            r#"{{"id":"r1","status":"{status}","output":[{{"type":"reasoning"}},{{"type":"message","content":[{part}]}}],"usage":{{"input_tokens":100,"output_tokens":10,"input_tokens_details":{{"cached_tokens":20}}}}}}"#
        )
    };
    let messages = |reason: &str| {
        format!(
            r#"{{"id":"m1","content":[{{"type":"thinking"}},{{"type":"text","text":"hello"}}],"stop_reason":"{reason}","usage":{{"input_tokens":70,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":10}}}}"#
        )
    };
    let filtered = || End::Refused("a filter of the provider stopped the answer".to_owned());
    let unfinished = |member: &str, word: &str| {
        End::Refused(format!("the answer is not finished: `{member}` is `{word}`"))
    };
    let empty = || End::Refused("the answer has no text".to_owned());
    let output = r#"{"type":"output_text","text":"hello"}"#;
    let rows = [
        (Protocol::Chat, chat(r#"{"content":"hello"}"#, "stop"), "c1", "hello", End::Whole),
        (
            Protocol::Chat,
            chat(r#"{"content":[{"type":"text","text":"hello"}]}"#, "stop"),
            "c1",
            "hello",
            End::Whole,
        ),
        (Protocol::Chat, chat(r#"{"content":"hel"}"#, "length"), "c1", "hel", End::Cut),
        (Protocol::Chat, chat(r#"{"content":null}"#, "content_filter"), "c1", "", filtered()),
        (
            Protocol::Chat,
            chat(r#"{"content":null,"refusal":"no"}"#, "stop"),
            "c1",
            "",
            End::Refused("no".to_owned()),
        ),
        (
            Protocol::Chat,
            chat(r#"{"content":null,"tool_calls":[{"id":"t"}]}"#, "tool_calls"),
            "c1",
            "",
            unfinished("finish_reason", "tool_calls"),
        ),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello","tool_calls":[{"id":"t"}]}"#, "tool_calls"),
            "c1",
            "hello",
            unfinished("finish_reason", "tool_calls"),
        ),
        (Protocol::Chat, chat(r#"{"content":"hello"}"#, "STOP"), "c1", "hello", End::Whole),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello","tool_calls":[]}"#, "eos_token"),
            "c1",
            "hello",
            End::Whole,
        ),
        (Protocol::Chat, chat(r#"{"content":"hello"}"#, "model_length"), "c1", "hello", End::Cut),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello"}"#, "error"),
            "c1",
            "hello",
            unfinished("finish_reason", "error"),
        ),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello"}"#, "insufficient_system_resource"),
            "c1",
            "hello",
            unfinished("finish_reason", "insufficient_system_resource"),
        ),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello","tool_calls":[{"id":"t"}]}"#, "stop"),
            "c1",
            "hello",
            unfinished("message", "tool_calls"),
        ),
        (
            Protocol::Chat,
            chat(r#"{"content":"hello"},"error":{"code":502}"#, "stop"),
            "c1",
            "hello",
            unfinished("choices.error", r#"{"code":502}"#),
        ),
        (Protocol::Responses, responses("expired", output), "r1", "hello", unfinished("status", "expired")),
        (
            Protocol::Messages,
            messages("cut_by_gateway"),
            "m1",
            "hello",
            unfinished("stop_reason", "cut_by_gateway"),
        ),
        (Protocol::Chat, chat(r#"{"content":""}"#, "stop"), "c1", "", empty()),
        (Protocol::Responses, responses("completed", ""), "r1", "", empty()),
        (Protocol::Chat, chat(r#"{"content":" \n\t"}"#, "stop"), "c1", " \n\t", empty()),
        (Protocol::Responses, responses("completed", output), "r1", "hello", End::Whole),
        (Protocol::Responses, responses("incomplete", output), "r1", "hello", End::Cut),
        (
            Protocol::Responses,
            responses("completed", r#"{"type":"refusal","refusal":"no"}"#),
            "r1",
            "",
            End::Refused("no".to_owned()),
        ),
        (Protocol::Messages, messages("end_turn"), "m1", "hello", End::Whole),
        (Protocol::Messages, messages("max_tokens"), "m1", "hello", End::Cut),
        (Protocol::Messages, messages("tool_use"), "m1", "hello", unfinished("stop_reason", "tool_use")),
        (Protocol::Messages, messages("pause_turn"), "m1", "hello", unfinished("stop_reason", "pause_turn")),
        (
            Protocol::Messages,
            messages("refusal"),
            "m1",
            "hello",
            End::Refused("the model refuses to answer this".to_owned()),
        ),
    ];
    for (protocol, body, id, text, end) in rows {
        let expected = Reply {
            id: Some(id.to_owned()),
            text: text.to_owned(),
            end,
            tokens_in: Some(100),
            tokens_cached: Some(20),
            tokens_written: (protocol == Protocol::Messages).then_some(10),
            tokens_out: Some(10),
        };
        assert_eq!(protocol.reply(&json(&body)), Some(expected), "{body}");
    }
    for protocol in Protocol::ALL {
        for body in [
            "{}",
            "[]",
            r#"{"choices":[]}"#,
            r#"{"status":"failed","output":[]}"#,
            r#"{"status":"in_progress","output":[{"type":"message","content":[{"type":"output_text","text":"h"}]}]}"#,
            r#"{"status":"queued","output":[]}"#,
            r#"{"content":"text"}"#,
            r#"{"error":{"message":"no"},"choices":[{"message":{"content":"x"}}],"output":[],"content":[]}"#,
        ] {
            assert_eq!(protocol.reply(&json(body)), None, "{protocol} {body}");
        }
    }
}

#[test]
fn an_answer_of_which_an_item_is_not_finished_is_none() {
    let whole =
        r#"{"type":"message","status":"completed","content":[{"type":"output_text","text":"hello"}]}"#;
    let body = |items: &str| format!(r#"{{"status":"completed","output":[{items}]}}"#);
    let unfinished = |member: &str, word: &str| {
        End::Refused(format!("the answer is not finished: `{member}` is `{word}`"))
    };
    for (items, end) in [
        (whole.to_owned(), End::Whole),
        (format!(r#"{{"type":"reasoning","status":"incomplete"}},{whole}"#), End::Whole),
        (
            format!(r#"{whole},{{"type":"function_call","name":"x","arguments":"{{}}"}}"#),
            unfinished("output.type", "function_call"),
        ),
        (format!(r#"{{"type":"computer_call"}},{whole}"#), unfinished("output.type", "computer_call")),
        (whole.replace("completed", "incomplete"), unfinished("output.status", "incomplete")),
        (whole.replace("completed", "in_progress"), unfinished("output.status", "in_progress")),
    ] {
        let reply = Protocol::Responses.reply(&json(&body(&items))).unwrap();
        assert_eq!((reply.text.as_str(), reply.end), ("hello", end), "{items}");
    }
}
