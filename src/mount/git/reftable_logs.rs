//! Takes credentials out of the reflogs of a repository that keeps its refs in the format `reftable`: tables of refs have logs in them,
//! compressed. It changes bytes in memory, never a file.

use super::credentials::with_masked_urls;
use super::reftable::{FOOTER, lengths, number};
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::{Read, Write};

/// Type and length of a block.
const BLOCK_HEADER: usize = 4;
/// Positions in the footer, which begins with a copy of the header: of refs' index, objects, their index, logs, their index.
const LOGS: usize = 24;
const INDEX_OF_LOGS: usize = 32;

/// The table with something else in place of credentials in urls, and without the index of its logs, which git can do without.
/// `None` where it has no credentials, or is no table.
pub(crate) fn without_credentials_in_logs(table: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = lengths(table)?;
    let footer_start = table.len().checked_sub(header + FOOTER)?;
    let footer = &table[footer_start..];
    let position = |at: usize| Some(number(footer.get(header + at..header + at + 8)?));
    let start = match position(LOGS)? {
        // The header is a part of the first block.
        0 if table.get(header) == Some(&b'g') => 0,
        0 => return None,
        start => start,
    };
    let end = Some(position(INDEX_OF_LOGS)?).filter(|index| *index > 0).unwrap_or(footer_start);
    let mut whole = table.get(..start)?.to_vec();
    let mut rest = table.get(start..end.min(footer_start))?;
    let mut is_masked = false;
    while !rest.is_empty() {
        let before = if whole.is_empty() { header } else { 0 };
        if rest.get(before) != Some(&b'g') {
            break;
        }
        let data = before + BLOCK_HEADER;
        let length = number(rest.get(before + 1..data)?).checked_sub(data)?;
        let mut decoder = ZlibDecoder::new(rest.get(data..)?);
        let mut block = Vec::new();
        decoder.by_ref().take(length as u64 + 1).read_to_end(&mut block).ok()?;
        if block.len() != length {
            return None;
        }
        let next = data + usize::try_from(decoder.total_in()).ok()?;
        // Offsets in a block stay true if nothing in it gets longer or shorter.
        if let Some(masked) = with_masked_urls(&block) {
            is_masked = true;
            whole.extend_from_slice(&rest[..data]);
            let mut encoder = ZlibEncoder::new(&mut whole, Compression::best());
            encoder.write_all(&masked).ok()?;
            encoder.finish().ok()?;
        } else {
            whole.extend_from_slice(&rest[..next]);
        }
        rest = &rest[next..];
    }
    let mut footer = footer.to_vec();
    footer[header + INDEX_OF_LOGS..header + INDEX_OF_LOGS + 8].fill(0);
    let sum = footer.len() - 4;
    let mut crc = Crc::new();
    crc.update(&footer[..sum]);
    footer[sum..].copy_from_slice(&crc.sum().to_be_bytes());
    whole.extend(footer);
    is_masked.then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_table_is_left_alone_and_reading_it_ends() {
        let mut table = b"REFT\x01\x00\x10\x00".to_vec();
        table.extend([0; 16]);
        // Blocks of logs that say that they are empty, or that hold no compressed text.
        for block in [&b"g\x00\x00\x00"[..], b"g\x00\x00\xff", b"g\x00\x00\x04"] {
            let mut table = table.clone();
            table.extend(block.repeat(60));
            for length in 0..table.len() {
                assert_eq!(without_credentials_in_logs(&table[..length]), None);
            }
        }
    }
}
