//! Our own records, which a crash may have truncated and anybody may have edited: journals, mount records, session status,
//! rules, messages of the processes in a mount, and the lock of packs. Writing what was read gives the same record.

use crate::model::mount::PathRule;
use crate::model::mount_record::MountRecord;
use crate::mount::apply::journal::Journal;
use crate::mount::process::inside::protocol::{HelperSpec, InitSpec, Order, Report, drain_lines, line};
use crate::pack::lockfile::{Lock, LockedPack};
use crate::session::id::SessionId;
use crate::session::status::SessionStatus;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::path::{Component, Path};

/// Any JSON: every record tries to read it.
pub fn check(data: &[u8]) {
    survives::<Journal>(data);
    survives::<MountRecord>(data);
    survives::<SessionStatus>(data);
    survives::<Vec<PathRule>>(data);
    survives::<HelperSpec>(data);
    survives::<InitSpec>(data);
    reports::<Report>(data);
    reports::<Order>(data);
    if let Ok(text) = std::str::from_utf8(data) {
        lock(text);
        if let Some(id) = SessionId::parse(text) {
            assert!(is_one_name(id.as_str()), "{id}");
        }
    }
}

fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(data: &[u8]) {
    let Ok(record) = serde_json::from_slice::<T>(data) else { return };
    let written = serde_json::to_vec(&record).expect("our own record");
    let again = serde_json::from_slice::<T>(&written).expect("our own record is read");
    assert_eq!(again, record);
}

/// The same messages arrive, wherever the pipe splits them.
fn reports<T: Serialize + DeserializeOwned + PartialEq + Debug>(data: &[u8]) {
    let mut whole = data.to_vec();
    let messages: Vec<T> = drain_lines(&mut whole);
    let (a, b) = data.split_at(data.len() / 2);
    let mut buffer = a.to_vec();
    let mut cut: Vec<T> = drain_lines(&mut buffer);
    buffer.extend_from_slice(b);
    cut.extend(drain_lines::<T>(&mut buffer));
    assert_eq!((cut, buffer), (messages, whole));
    let mut written: Vec<u8> = drain_lines::<T>(&mut data.to_vec()).iter().flat_map(line).collect();
    let _ = drain_lines::<T>(&mut written);
    assert!(written.is_empty());
}

/// No path of a lock leaves the directories of personas and roles.
fn lock(text: &str) {
    let Ok(lock) = Lock::of_text(Path::new("agentworkforce.lock"), text) else { return };
    for (_, _, files) in lock.packs.values().flat_map(LockedPack::units) {
        for path in files.keys() {
            let inside = path.strip_prefix("../roles/").unwrap_or(path);
            assert!(
                Path::new(inside).components().all(|part| matches!(part, Component::Normal(_))),
                "{path}"
            );
        }
    }
    let written = String::from_utf8(lock.bytes()).expect("text");
    assert_eq!(Lock::of_text(Path::new("agentworkforce.lock"), &written).ok(), Some(lock));
}

fn is_one_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}
