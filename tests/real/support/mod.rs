//! What a test needs to run a real harness: a model, a world of its own, a terminal.

pub mod agent;
pub mod http;
pub mod installed;
pub mod model_server;
pub mod persona;
pub mod processes;
pub mod pty;
pub mod running;
pub mod scratch;
pub mod turn;
pub mod wire;
pub mod wishes;

pub use model_server::ModelServer;
pub use running::Ran;
pub use scratch::Scratch;
pub use turn::Turn;
