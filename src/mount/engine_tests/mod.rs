//! The laws of comparison and apply on generated trees and edit scripts. In process, on temporary directories only.

mod concurrent;
mod crashes;
mod deciding;
mod full_disk;
mod judgement;
mod laws;
mod merging;
mod nested;
mod patches;
mod script;
mod snapshot;
mod texts;
mod undoing;
mod world;

pub(crate) use world::scratch;
