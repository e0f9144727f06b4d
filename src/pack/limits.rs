//! How large a pack may be. Personas are texts; whatever is larger is a mistake or an attack.

pub const MOST_FILES: usize = 10_000;
pub const MOST_BYTES: u64 = 50 * 1024 * 1024;
pub const DEEPEST: usize = 32;
pub const LONGEST_PATH: usize = 1_024;
/// What an archive may unpack to: the files, and a header and padding for each and for its directory.
pub const MOST_UNPACKED: u64 = MOST_BYTES + 4 * 512 * MOST_FILES as u64;

/// What was read so far.
#[derive(Debug, Default)]
pub struct Budget {
    files: usize,
    bytes: u64,
}

impl Budget {
    /// How many more bytes a file may have.
    pub fn left(&self) -> u64 {
        MOST_BYTES - self.bytes
    }

    pub fn spend(&mut self, bytes: u64) -> anyhow::Result<()> {
        self.files += 1;
        if self.files > MOST_FILES {
            anyhow::bail!("it has more than {MOST_FILES} files");
        }
        if bytes > self.left() {
            anyhow::bail!("it is larger than {} MB", MOST_BYTES / 1024 / 1024);
        }
        self.bytes += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_and_the_last_file_are_the_last() {
        let mut budget = Budget::default();
        budget.spend(MOST_BYTES).unwrap();
        assert!(budget.spend(1).is_err());
        let mut budget = Budget::default();
        for _ in 0..MOST_FILES {
            budget.spend(0).unwrap();
        }
        assert!(budget.spend(0).is_err());
    }
}
