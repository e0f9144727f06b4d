//! The model itself, without a harness: that it keeps its script to the turns and never loses a request.

use crate::support::model_server::{AFTER_THE_SCRIPT, ON_THE_SIDE};
use crate::support::{ModelServer, Turn};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Sends a request and returns the whole answer, head and all.
fn ask(model: &ModelServer, path: &str, headers: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(model.url().trim_start_matches("http://")).expect("it listens");
    let body = body.to_string();
    write!(stream, "POST {path} HTTP/1.1\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn with_tools(dialect: &str) -> (&'static str, Value) {
    let tools = json!([{"name": "t"}]);
    match dialect {
        "messages" => ("/v1/messages?beta=true", json!({"stream": true, "tools": tools})),
        "responses" => ("/responses", json!({"stream": true, "tools": tools})),
        _ => ("/v1/chat/completions", json!({"stream": true, "tools": tools})),
    }
}

#[test]
fn requests_on_the_side_take_no_turn() {
    let model = ModelServer::start([Turn::text("SCRIPTED")]);
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions"] {
        assert!(ask(&model, path, "", &json!({"stream": true})).contains(ON_THE_SIDE), "{path}");
    }
    let title = "x-codex-turn-metadata: {\"thread_source\":\"thread_title\"}\r\n";
    let (path, body) = with_tools("responses");
    assert!(ask(&model, path, title, &body).contains(ON_THE_SIDE));
    assert_eq!((model.turns().len(), model.turns_left()), (0, 1));
    let hidden_tools = json!({"stream": true, "input": [{"type": "additional_tools"}]});
    assert!(ask(&model, path, "", &hidden_tools).contains("SCRIPTED"));
    assert_eq!((model.turns().len(), model.turns_left(), model.requests().len()), (1, 0, 5));
}

#[test]
fn every_dialect_says_texts_and_calls_whole_and_in_a_stream() {
    for dialect in ["messages", "responses", "chat"] {
        let turn = || Turn::text("A-TEXT").and_call("a_tool", json!({"key": "A-VALUE"}));
        let model = ModelServer::start([turn(), turn()]);
        let (path, mut body) = with_tools(dialect);
        for stream in [true, false] {
            body["stream"] = stream.into();
            let answer = ask(&model, path, "", &body);
            for word in ["A-TEXT", "a_tool", "A-VALUE"] {
                assert!(answer.contains(word), "{dialect}: {answer}");
            }
            assert_eq!(answer.contains("text/event-stream"), stream, "{dialect}");
        }
        assert!(ask(&model, path, "", &body).contains(AFTER_THE_SCRIPT));
    }
}

#[test]
fn a_request_without_tools_can_be_made_to_count() {
    let model = ModelServer::start([Turn::text("SCRIPTED")]);
    model.count_every_request();
    assert!(ask(&model, "/v1/messages", "", &json!({"marker": "IN-THE-BODY"})).contains("SCRIPTED"));
    assert!(model.contains("IN-THE-BODY") && model.requests_text().contains("IN-THE-BODY"));
    assert!(!model.contains("NOT-IN-THE-BODY"));
}

#[test]
fn errors_delays_and_hanging_streams() {
    let delay = Duration::from_millis(150);
    let model = ModelServer::start([
        Turn::error(429, "SLOW-DOWN"),
        Turn::text("late").after(delay),
        Turn::text("begun").then_hang(),
    ]);
    let (path, body) = with_tools("messages");
    let answer = ask(&model, path, "", &body);
    assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("SLOW-DOWN"), "{answer}");
    let started = Instant::now();
    assert!(ask(&model, path, "", &body).contains("late"));
    assert!(started.elapsed() >= delay);
    // What hangs ends with the server, and what it has said by then has arrived.
    let address = model.url();
    let text = body.to_string();
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{text}", text.len()).unwrap();
    model.wait_for_turns(3, Duration::from_secs(5));
    drop(model);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the beginning of an answer");
    assert!(answer.contains("begun") && !answer.contains("message_stop"), "{answer}");
}

#[test]
fn bodies_in_chunks_are_read_and_unknown_paths_are_kept() {
    let model = ModelServer::start([]);
    let mut stream = TcpStream::connect(model.url().trim_start_matches("http://")).unwrap();
    let head = "POST /somewhere/else?x=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    write!(stream, "{head}4\r\n{{\"a\"\r\n3\r\n:1}}\r\n0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let requests = model.requests();
    assert_eq!((requests[0].path.as_str(), &requests[0].body), ("/somewhere/else", &json!({"a": 1})));
}
