//! A model on loopback that says what a test scripts it to say and remembers everything it was asked.

use super::http::{self, Request};
use super::turn::{Ending, Turn};
use super::wire::{Dialect, Frame};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What it says when its script is over.
pub const AFTER_THE_SCRIPT: &str = "MODEL-HAS-NO-MORE-TURNS";
/// What it says to requests on the side.
pub const ON_THE_SIDE: &str = "SIDE-ANSWER";

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_hours(1);

pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    script: VecDeque<Turn>,
    /// Said whenever the script is over.
    always: Option<Turn>,
    /// Even requests without tools get a turn.
    every_request_counts: bool,
    requests: Vec<Request>,
}

impl ModelServer {
    pub fn start(script: impl IntoIterator<Item = Turn>) -> ModelServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        let server = ModelServer { address, shared: Arc::clone(&shared) };
        server.script(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        server
    }

    /// `http://127.0.0.1:<port>`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds these turns to the script.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) {
        self.state().script.extend(turns);
    }

    /// Says this whenever the script is over: an error that no retry gets past, say.
    pub fn always(&self, turn: Turn) {
        self.state().always = Some(turn);
    }

    /// For harnesses without a single tool, whose requests look like ones on the side.
    pub fn count_every_request(&self) {
        self.state().every_request_counts = true;
    }

    /// Everything it was asked, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The requests that a turn of the script was the answer to.
    pub fn turns(&self) -> Vec<Request> {
        let is_turn = |request: &Request| !request.side && Dialect::of(request).is_some();
        self.requests().into_iter().filter(is_turn).collect()
    }

    /// How many turns of the script were not asked for yet.
    pub fn turns_left(&self) -> usize {
        self.state().script.len()
    }

    /// All bodies, with an empty line between two.
    pub fn requests_text(&self) -> String {
        let texts: Vec<String> = self.requests().into_iter().map(|request| request.text).collect();
        texts.join("\n\n")
    }

    /// Whether any request had this in its body. The marker must not need escaping in JSON.
    pub fn contains(&self, marker: &str) -> bool {
        self.state().requests.iter().any(|request| request.text.contains(marker))
    }

    /// Waits until so many turns were asked for.
    #[track_caller]
    pub fn wait_for_turns(&self, count: usize, timeout: Duration) {
        let end = Instant::now() + timeout;
        while self.turns().len() < count {
            assert!(Instant::now() < end, "{} of {count} turns after {timeout:?}", self.turns().len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener up to see that.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked with it")
    }

    /// A client that goes away in the middle is a harness that was stopped: nothing to say about it.
    fn serve(&self, mut stream: TcpStream) {
        let Some(mut request) = Request::read(&stream) else { return };
        let Some(dialect) = Dialect::of(&request) else {
            let (status, body) = other(&request);
            self.state().requests.push(request);
            let _ = http::answer(&mut stream, status, &body);
            return;
        };
        let (turn, number) = {
            let mut state = self.state();
            request.side = !state.every_request_counts && dialect.is_side(&request);
            let turn = if request.side { Turn::text(ON_THE_SIDE) } else { state.next_turn() };
            let turn = turn.with_nonce(nonce(&request.text));
            state.requests.push(request.clone());
            (turn, state.requests.len())
        };
        http::wait(&stream, turn.delay, &self.stop);
        let _ = self.say(&mut stream, dialect, &turn, &request, number);
    }

    fn say(
        &self,
        stream: &mut TcpStream,
        dialect: Dialect,
        turn: &Turn,
        request: &Request,
        number: usize,
    ) -> std::io::Result<()> {
        if let Ending::Refused { status, body } = &turn.ending {
            return http::answer(stream, *status, body);
        }
        if request.body["stream"] != true {
            return http::answer(stream, 200, &dialect.whole(turn, request, number));
        }
        let (frames, end) = dialect.frames(turn, request, number);
        http::begin_events(stream)?;
        send(stream, &frames)?;
        match turn.ending {
            Ending::Hang => {
                http::wait(stream, FOR_EVER, &self.stop);
                Ok(())
            }
            _ => send(stream, &end),
        }
    }
}

impl State {
    fn next_turn(&mut self) -> Turn {
        let next = self.script.pop_front().or_else(|| self.always.clone());
        next.unwrap_or_else(|| Turn::text(AFTER_THE_SCRIPT))
    }
}

/// What a prompt of a piece of work names last; nothing where there is none.
fn nonce(request: &str) -> &str {
    const BEFORE: &str = "Nonce of this attempt: ";
    let found = request.rfind(BEFORE).map_or("", |at| &request[at + BEFORE.len()..]);
    found.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default()
}

/// Answers to what is no turn at all.
fn other(request: &Request) -> (u16, Value) {
    match request.path.rsplit('/').next().unwrap_or_default() {
        "count_tokens" => (200, json!({"input_tokens": super::wire::INPUT_TOKENS})),
        "models" => (200, json!({"object": "list", "data": [], "models": []})),
        "" => (200, json!({})),
        _ => (404, json!({"error": {"type": "not_found_error", "message": "no such path"}})),
    }
}

fn send(stream: &mut TcpStream, frames: &[Frame]) -> std::io::Result<()> {
    for frame in frames {
        if let Some(name) = &frame.name {
            writeln!(stream, "event: {name}")?;
        }
        write!(stream, "data: {}\n\n", frame.data)?;
    }
    stream.flush()
}
