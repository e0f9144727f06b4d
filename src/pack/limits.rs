//! How large a pack may be. Personas are texts, so anything larger is a mistake or an attack.

pub const MAX_FILES: usize = 10_000;
pub const MAX_BYTES: u64 = 50 * 1024 * 1024;
pub const MAX_DEPTH: usize = 32;
pub const MAX_PATH_LENGTH: usize = 1_024;
/// How much an archive may unpack to: the files, and a header and padding for each and for its directory.
pub const MAX_UNPACKED: u64 = MAX_BYTES + 4 * 512 * MAX_FILES as u64;

/// How much was read so far.
#[derive(Debug, Default)]
pub struct Budget {
    files: usize,
    bytes: u64,
}

impl Budget {
    /// How many bytes the next file may have.
    pub fn left(&self) -> u64 {
        MAX_BYTES - self.bytes
    }

    pub fn spend(&mut self, bytes: u64) -> anyhow::Result<()> {
        self.files += 1;
        if self.files > MAX_FILES {
            anyhow::bail!("it has more than {MAX_FILES} files");
        }
        if bytes > self.left() {
            anyhow::bail!("it is larger than {} MB", MAX_BYTES / 1024 / 1024);
        }
        self.bytes += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_or_file_beyond_the_limit_is_refused() {
        let mut budget = Budget::default();
        budget.spend(MAX_BYTES).unwrap();
        assert!(budget.spend(1).is_err());
        let mut budget = Budget::default();
        for _ in 0..MAX_FILES {
            budget.spend(0).unwrap();
        }
        assert!(budget.spend(0).is_err());
    }
}
