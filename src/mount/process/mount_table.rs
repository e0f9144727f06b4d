//! Reads the kernel's table of mounts (`/proc/self/mountinfo`) into values. It mounts nothing.

use rustix::mount::MountFlags;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    pub id: u64,
    /// Major and minor number of the filesystem, as the table writes them.
    pub device: String,
    /// The directory of the filesystem that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub path: PathBuf,
    /// The type of the filesystem.
    pub kind: String,
    /// Flags that a remount must keep: a user namespace is not allowed to drop any of them.
    pub flags: MountFlags,
    /// The layers of an overlay, as it was mounted; empty for other filesystems.
    pub layers: Vec<PathBuf>,
}

/// Parses the table; malformed lines are skipped.
pub fn parse(table: &[u8]) -> Vec<Mounted> {
    table.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// The first mount that lies strictly below a directory.
pub fn below(table: &[Mounted], dir: &Path) -> Option<PathBuf> {
    table.iter().map(|mounted| &mounted.path).find(|path| path.starts_with(dir) && *path != dir).cloned()
}

/// `36 35 98:0 /root /mount/point rw,noatime ... - ext4 /dev/sda rw`
fn parse_line(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = String::from_utf8(fields.nth(1)?.to_vec()).ok()?;
    let root = unescape(fields.next()?);
    let path = unescape(fields.next()?);
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(|&byte| byte == b',') {
        flags |= match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            b"nosymfollow" => MountFlags::NOSYMFOLLOW,
            _ => MountFlags::empty(),
        };
    }
    let mut filesystem = fields.skip_while(|field| *field != b"-").skip(1).peekable();
    let kind = String::from_utf8_lossy(filesystem.peek()?).into_owned();
    let layers = layers(filesystem);
    Some(Mounted { id, device, root, path, kind, flags, layers })
}

/// From `overlay name rw,lowerdir=/a:/b,upperdir=/c,workdir=/d`; newer kernels have one `lowerdir+=` for each.
fn layers<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Vec<PathBuf> {
    let (kind, options) = (fields.next(), fields.nth(1));
    let (Some(b"overlay"), Some(options)) = (kind, options) else { return Vec::new() };
    let mut found = Vec::new();
    for option in options.split(|&byte| byte == b',') {
        let names = [&b"lowerdir="[..], b"lowerdir+=", b"datadir+=", b"upperdir="];
        let value = names.iter().find_map(|name| option.strip_prefix(*name));
        let paths = value.unwrap_or_default().split(|&byte| byte == b':').filter(|path| !path.is_empty());
        found.extend(paths.map(unescape));
    }
    found
}

/// Spaces, tabs, line breaks and backslashes are written as three octal digits.
fn unescape(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\').then(|| tail.get(..3)).flatten().and_then(|digits| {
            digits.iter().try_fold(0_u32, |value, &digit| Some(value * 8 + char::from(digit).to_digit(8)?))
        });
        if let Some(byte) = octal.and_then(|value| u8::try_from(value).ok()) {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_table_is_read_with_odd_names_and_flags() {
        let table = b"1 0 8:1 / / rw,relatime - ext4 /dev/vda rw\n\
            2 1 0:5 /x\\040y /a\\040b/\\134c ro,nosuid,nodev shared:1 - tmpfs tmpfs rw\nnonsense\n";
        assert_eq!(
            parse(table),
            [
                Mounted {
                    id: 1,
                    device: "8:1".into(),
                    root: "/".into(),
                    path: "/".into(),
                    kind: "ext4".into(),
                    flags: MountFlags::RELATIME,
                    layers: Vec::new()
                },
                Mounted {
                    id: 2,
                    device: "0:5".into(),
                    root: "/x y".into(),
                    path: "/a b/\\c".into(),
                    kind: "tmpfs".into(),
                    flags: MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV,
                    layers: Vec::new()
                },
            ]
        );
    }

    #[test]
    fn an_overlay_tells_its_layers() {
        let table = parse(
            b"1 0 0:9 / /m rw - overlay o rw,lowerdir=/a:/b\\040c,upperdir=/u,workdir=/w,index=off\n\
            2 0 0:9 / /n rw shared:1 - overlay o ro,lowerdir+=/d,lowerdir+=/e\n",
        );
        assert_eq!(table[0].layers, ["/a", "/b c", "/u"].map(PathBuf::from));
        assert_eq!(table[1].layers, ["/d", "/e"].map(PathBuf::from));
    }

    #[test]
    fn only_mounts_strictly_below_count() {
        let table =
            parse(b"1 0 8:1 / /p rw - x x x\n2 0 8:1 / /pq/r rw - x x x\n3 0 8:1 / /p/q rw - x x x\n");
        assert_eq!(below(&table, Path::new("/p")), Some("/p/q".into()));
        assert_eq!(below(&table, Path::new("/p/q")), None);
        assert_eq!(below(&table, Path::new("/pq/r")), None);
    }
}
