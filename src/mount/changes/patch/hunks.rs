//! Two texts as hunks of a unified diff, byte by byte: no encoding is assumed, and a missing newline at the end is marked.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use std::io::{self, Write};
use std::time::Instant;

const CONTEXT: usize = 3;

/// After the deadline the hunks get coarser, not wrong.
pub(super) fn write(old: &[u8], new: &[u8], deadline: Instant, out: &mut dyn Write) -> io::Result<()> {
    let (old, new) = (lines(old), lines(new));
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    for group in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let before = first.old_range().start..last.old_range().end;
        let after = first.new_range().start..last.new_range().end;
        writeln!(out, "@@ -{} +{} @@", place(before.start, before.len()), place(after.start, after.len()))?;
        for operation in &group {
            if let DiffOp::Equal { .. } = operation {
                write_lines(b' ', &old[operation.old_range()], out)?;
            } else {
                write_lines(b'-', &old[operation.old_range()], out)?;
                write_lines(b'+', &new[operation.new_range()], out)?;
            }
        }
    }
    Ok(())
}

/// Lines are counted from 1; a place without lines is after the line before it.
fn place(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{length}", start + 1),
    }
}

fn write_lines(mark: u8, lines: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        out.write_all(&[mark])?;
        out.write_all(line)?;
        if !line.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}
