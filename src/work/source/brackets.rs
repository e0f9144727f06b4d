//! Which bracket closes which, in masked text, found in one pass.

use std::collections::HashMap;

/// From the position of each opening bracket to that of its closing one. Each kind is matched by itself, so that one that is missing
/// does not shift the others.
pub fn pairs(masked: &str) -> HashMap<usize, usize> {
    let mut open: [Vec<usize>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    let mut pairs = HashMap::new();
    for (at, byte) in masked.bytes().enumerate() {
        match byte {
            b'{' => open[0].push(at),
            b'(' => open[1].push(at),
            b'[' => open[2].push(at),
            b'}' | b')' | b']' => {
                let kind = match byte {
                    b'}' => 0,
                    b')' => 1,
                    _ => 2,
                };
                if let Some(start) = open[kind].pop() {
                    pairs.insert(start, at);
                }
            }
            _ => {}
        }
    }
    pairs
}
