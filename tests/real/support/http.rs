//! As much of HTTP/1.1 as the harnesses' clients need: one request a connection, the answer ends with it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Null where the body is no JSON.
    pub body: Value,
    /// The body as it was sent.
    pub text: String,
    /// A request on the side (a title, say) that no scripted turn answers.
    pub side: bool,
}

impl Request {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Reads one request. None when the client went away or does not speak HTTP.
    pub fn read(stream: &TcpStream) -> Option<Request> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let first = line(&mut reader)?;
        let mut words = first.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let path = target.split('?').next().unwrap_or(target).to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let line = line(&mut reader)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        if headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let bytes = body(&mut reader, &headers)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Some(Request { method, path, headers, body, text, side: false })
    }
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end().to_owned()),
    }
}

fn body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let header = line(reader)?;
            let size = usize::from_str_radix(header.split(';').next()?.trim(), 16).ok()?;
            let mut chunk = vec![0; size];
            reader.read_exact(&mut chunk).ok()?;
            line(reader)?;
            if size == 0 {
                return Some(body);
            }
            body.extend(chunk);
        }
    }
    let length: usize = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    body.resize(length, 0);
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

/// An answer with a whole body.
pub fn answer(stream: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        reason(status),
        body.len(),
    )
}

/// The head of an answer that is a stream of server-sent events; it ends when the connection does.
pub fn begin_events(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
    )
}

/// Waits this long, but not after the client has gone or the server is to stop.
pub fn wait(stream: &TcpStream, duration: Duration, stop: &AtomicBool) {
    let end = Instant::now() + duration;
    let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
    while Instant::now() < end && !stop.load(Ordering::SeqCst) {
        match stream.peek(&mut [0]) {
            Ok(0) => return,
            // A client that sends more, for all that it was told, must not make this spin.
            Ok(_) => std::thread::sleep(Duration::from_millis(20)),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Status",
    }
}
