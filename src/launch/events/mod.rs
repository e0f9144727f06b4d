//! Placeholder until the adapters are merged.
use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::tier::Harness;
pub trait EventReader: Send {
    fn read(&mut self, line: &str) -> Vec<Event>;
    fn conclude(&mut self, clean_exit: bool) -> Conclusion;
}
#[derive(Debug, Default)]
pub struct Conclusion {
    pub ok: bool,
    pub result: Option<String>,
    pub reason: Option<String>,
    pub usage: Usage,
    pub session_id: Option<String>,
    pub model: Option<String>,
    pub denials: Vec<String>,
    pub warnings: Vec<String>,
}
pub fn reader(_harness: Harness, _expected_agent: &str) -> Box<dyn EventReader> {
    unreachable!()
}
