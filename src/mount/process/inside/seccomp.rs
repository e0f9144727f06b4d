//! Filters system calls: nothing inside may type into a terminal (`TIOCSTI`), paste into a console (`TIOCLINUX`) or make a terminal
//! unusable; at `strict` nothing may use keyrings or leases; and where it would be a way out, nothing may create a namespace for
//! mounts or control groups, or start a process in another group. The filters are not the sandbox: every other call is left to the
//! mounts and capabilities.

use seccompiler::{apply_filter, sock_filter};
use std::io;

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
/// Changing the line discipline makes a terminal unresponsive, and an exclusive one cannot be opened again.
const TIOCSETD: u32 = 0x5423;
const TIOCEXCL: u32 = 0x540C;
const DENIED_REQUESTS: [u32; 4] = [TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL];

/// Offsets in the kernel's `seccomp_data`: the call's number, its ABI, and the low half of its second argument. `ioctl` looks
/// at no more than that half.
const NUMBER: u32 = 0;
const ABI: u32 = 4;
const REQUEST: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };

/// The ABIs that a process can use here (`AUDIT_ARCH_*`), each with its numbers for `ioctl`.
#[cfg(target_arch = "x86_64")]
const IOCTL: [(u32, &[u32]); 2] = [(0xC000_003E, &[16, 514]), (0x4000_0003, &[54])];
#[cfg(target_arch = "aarch64")]
const IOCTL: [(u32, &[u32]); 2] = [(0xC000_00B7, &[29]), (0x4000_0028, &[54])];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the filter of system calls does not know the numbers of this machine");
/// The same for `fcntl`.
#[cfg(target_arch = "x86_64")]
const FCNTL: [(u32, &[u32]); 2] = [(0xC000_003E, &[72]), (0x4000_0003, &[55, 221])];
#[cfg(target_arch = "aarch64")]
const FCNTL: [(u32, &[u32]); 2] = [(0xC000_00B7, &[25]), (0x4000_0028, &[55, 221])];
const F_SETLEASE: u32 = 1024;

/// The same ABIs with their numbers for `clone` and `unshare`, which say in their first argument what namespaces they make.
#[cfg(target_arch = "x86_64")]
const NAMESPACE_CALLS: [(u32, [u32; 2]); 2] = [(0xC000_003E, [56, 272]), (0x4000_0003, [120, 310])];
#[cfg(target_arch = "aarch64")]
const NAMESPACE_CALLS: [(u32, [u32; 2]); 2] = [(0xC000_00B7, [220, 97]), (0x4000_0028, [120, 337])];
/// `clone3` passes its flags in memory, which a filter cannot read. Like all newer calls it has the same number everywhere.
const CLONE3: u32 = 435;
/// Calls that can create a mount namespace in newer kernels and are useless without one: `open_tree`, `fsmount`, `open_tree_attr`.
const MOUNT_CALLS: [u32; 3] = [428, 432, 467];
/// The same ABIs with their numbers for `add_key`, `request_key` and `keyctl`.
#[cfg(target_arch = "x86_64")]
const KEYRING_CALLS: [(u32, [u32; 3]); 2] = [(0xC000_003E, [248, 249, 250]), (0x4000_0003, [286, 287, 288])];
#[cfg(target_arch = "aarch64")]
const KEYRING_CALLS: [(u32, [u32; 3]); 2] = [(0xC000_00B7, [217, 218, 219]), (0x4000_0028, [309, 310, 311])];
const CLONE_NEWNS: u32 = 0x0002_0000;
const CLONE_NEWCGROUP: u32 = 0x0200_0000;
/// For `unshare` only, in newer kernels: an empty mount namespace. For `clone` the bit means something else.
const UNSHARE_EMPTY_MNTNS: u32 = 0x0010_0000;
/// The low half of the first argument.
const FLAGS: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };

/// Set in the number of a call by the x32 ABI, which otherwise looks like x86_64. No other ABI here has numbers that high.
const X32: u32 = 0x4000_0000;

/// Instructions of the kernel's filter machine (`BPF_LD | BPF_W | BPF_ABS` and so on).
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO` with EPERM.
const DENY: u32 = 0x0005_0001;
/// The same with ENOSYS: programs fall back to the older call.
const NOT_THERE: u32 = 0x0005_0026;

/// Applies from now on to this process and everything that it starts; nothing can lift it. It also disables set-uid programs such as
/// sudo and su (`no_new_privs`), which would otherwise run under a filter that they do not expect.
pub(super) fn deny_typing() -> io::Result<()> {
    apply_filter(&request_filter(IOCTL, &DENIED_REQUESTS)).map_err(io::Error::other)
}

/// For root in an overlay and everybody at `strict`: in its own control group namespace, a process that may write the groups of the
/// runner and the user's shell could mount a view of them, and freeze or kill them. Also for every run with a control group: `clone3`
/// can start a process in any group that its user may write, even through a read-only mount.
pub(super) fn deny_control_groups() -> io::Result<()> {
    apply_filter(&namespace_filter([CLONE_NEWCGROUP; 2], &[])).map_err(io::Error::other)
}

/// For overlays with writable directories above the mount points: a mount point cannot be renamed, but only in namespaces where it is
/// one. From another mount namespace, the project could be moved away from under its overlay and read.
pub(super) fn deny_mount_namespaces() -> io::Result<()> {
    apply_filter(&mount_namespace_filter()).map_err(io::Error::other)
}

/// For the sandbox level `strict`: the kernel's keyrings belong to the user and no mount covers them, and a lease on a file blocks
/// others from opening it, although its holder may only read the file.
pub(super) fn deny_keyrings_and_leases() -> io::Result<()> {
    apply_filter(&keyring_filter())
        .and_then(|()| apply_filter(&request_filter(FCNTL, &[F_SETLEASE])))
        .map_err(io::Error::other)
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn skip_unless(k: u32, skipped: usize) -> sock_filter {
    sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: u8::try_from(skipped).expect("a few instructions"), k }
}

fn mount_namespace_filter() -> Vec<sock_filter> {
    namespace_filter([CLONE_NEWNS, CLONE_NEWNS | UNSHARE_EMPTY_MNTNS], &MOUNT_CALLS)
}

/// Denies these flags to `clone` and `unshare`. The calls in `not_there` fail with ENOSYS, which programs can handle.
fn namespace_filter(denied: [u32; 2], not_there: &[u32]) -> Vec<sock_filter> {
    let mut program = vec![step(LOAD, ABI)];
    for (abi, numbers) in NAMESPACE_CALLS {
        let mut block = vec![step(LOAD, NUMBER), step(AND, !X32)];
        for (number, denied) in numbers.into_iter().zip(denied) {
            let unless_asked = sock_filter { code: JUMP_IF_BIT, jt: 0, jf: 1, k: denied };
            let flags = [step(LOAD, FLAGS), unless_asked, step(RETURN, DENY), step(RETURN, ALLOW)];
            block.push(skip_unless(number, flags.len()));
            block.extend(flags);
        }
        for number in not_there.iter().copied().chain([CLONE3]) {
            block.extend([skip_unless(number, 1), step(RETURN, NOT_THERE)]);
        }
        block.push(step(RETURN, ALLOW));
        program.push(skip_unless(abi, block.len()));
        program.extend(block);
    }
    program.push(step(RETURN, DENY));
    program
}

fn keyring_filter() -> Vec<sock_filter> {
    let mut program = vec![step(LOAD, ABI)];
    for (abi, numbers) in KEYRING_CALLS {
        let mut block = vec![step(LOAD, NUMBER), step(AND, !X32)];
        for number in numbers {
            block.extend([skip_unless(number, 1), step(RETURN, NOT_THERE)]);
        }
        block.push(step(RETURN, ALLOW));
        program.push(skip_unless(abi, block.len()));
        program.extend(block);
    }
    program.push(step(RETURN, DENY));
    program
}

/// Denies these requests, which are the second argument of the calls. Written as instructions because the crate's compiler would kill
/// programs of another ABI instead of filtering them.
fn request_filter(calls: [(u32, &[u32]); 2], denied: &[u32]) -> Vec<sock_filter> {
    let mut program = vec![step(LOAD, ABI)];
    for (abi, numbers) in calls {
        let mut block = vec![step(LOAD, NUMBER), step(AND, !X32)];
        for number in numbers {
            let mut request = vec![step(LOAD, REQUEST)];
            for &denied in denied {
                request.extend([skip_unless(denied, 1), step(RETURN, DENY)]);
            }
            request.push(step(RETURN, ALLOW));
            block.push(skip_unless(*number, request.len()));
            block.extend(request);
        }
        block.push(step(RETURN, ALLOW));
        program.push(skip_unless(abi, block.len()));
        program.extend(block);
    }
    // An unknown ABI could make the same call under another number.
    program.push(step(RETURN, DENY));
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What the kernel's machine makes of a call.
    fn run(program: &[sock_filter], abi: u32, number: u32, flags: u32, request: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ABI => abi,
                        FLAGS => flags,
                        REQUEST => request,
                        other => panic!("nothing is at {other}"),
                    }
                }
                AND => value &= step.k,
                JUMP_IF_EQUAL => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                JUMP_IF_BIT => at += usize::from(if value & step.k == 0 { step.jf } else { step.jt }),
                RETURN => return step.k,
                other => panic!("{other} is no instruction"),
            }
        }
    }

    fn verdict(abi: u32, number: u32, request: u64) -> u32 {
        let low = u32::try_from(request & 0xffff_ffff).unwrap();
        run(&request_filter(IOCTL, &DENIED_REQUESTS), abi, number, 0, low)
    }

    #[test]
    fn a_namespace_for_control_groups_is_denied_and_others_are_allowed() {
        let program = namespace_filter([CLONE_NEWCGROUP; 2], &[]);
        for (abi, numbers) in NAMESPACE_CALLS {
            for number in numbers {
                for flags in [CLONE_NEWCGROUP, CLONE_NEWCGROUP | 0x1002_0011] {
                    assert_eq!(run(&program, abi, number, flags, 0), DENY, "{abi:x} {number}");
                    assert_eq!(run(&program, abi, number | X32, flags, 0), DENY, "{abi:x} {number}");
                }
                assert_eq!(run(&program, abi, number, 0x1002_0011, 0), ALLOW, "{abi:x} {number}");
                assert_eq!(run(&program, abi, number + 1, CLONE_NEWCGROUP, 0), ALLOW, "{abi:x} {number}");
            }
            assert_eq!(run(&program, abi, CLONE3, 0, 0), NOT_THERE);
            assert_eq!(run(&program, abi, MOUNT_CALLS[0], 0, 0), ALLOW);
        }
        assert_eq!(run(&program, 0x1234, 1, 0, 0), DENY);
    }

    #[test]
    fn a_mount_namespace_is_denied_and_threads_are_not() {
        let program = mount_namespace_filter();
        let thread = 0x003d_0f00;
        for (abi, [clone, unshare]) in NAMESPACE_CALLS {
            for number in [clone, unshare, clone | X32, unshare | X32] {
                assert_eq!(
                    run(&program, abi, number, 0x1000_0000 | CLONE_NEWNS, 0),
                    DENY,
                    "{abi:x} {number}"
                );
                assert_eq!(run(&program, abi, number, 0x1000_0000, 0), ALLOW, "{abi:x} {number}");
            }
            assert_eq!(run(&program, abi, clone, thread, 0), ALLOW);
            assert_eq!(run(&program, abi, unshare, UNSHARE_EMPTY_MNTNS, 0), DENY);
            for number in MOUNT_CALLS.into_iter().chain([CLONE3]) {
                assert_eq!(run(&program, abi, number, 0, 0), NOT_THERE);
            }
        }
        assert_eq!(run(&program, 0x1234, 1, 0, 0), DENY);
    }

    #[test]
    fn keyrings_are_not_there_and_everything_else_is() {
        let program = keyring_filter();
        for (abi, numbers) in KEYRING_CALLS {
            for number in numbers {
                assert_eq!(run(&program, abi, number, 0, 0), NOT_THERE);
                assert_eq!(run(&program, abi, number | X32, 0, 0), NOT_THERE);
            }
            assert_eq!(run(&program, abi, numbers[0] - 1, 0, 0), ALLOW);
            assert_eq!(run(&program, abi, numbers[2] + 1, 0, 0), ALLOW);
        }
        assert_eq!(run(&program, 0x1234, 1, 0, 0), DENY);
    }

    #[test]
    fn leases_are_denied_and_locks_are_not() {
        let program = request_filter(FCNTL, &[F_SETLEASE]);
        for (abi, numbers) in FCNTL {
            for &number in numbers {
                assert_eq!(run(&program, abi, number, 0, F_SETLEASE), DENY);
                // `F_SETLK`, `F_GETLEASE`, `F_DUPFD_CLOEXEC`.
                for request in [6, 1025, 1030] {
                    assert_eq!(run(&program, abi, number, 0, request), ALLOW);
                }
            }
        }
    }

    #[test]
    fn typing_is_denied_in_every_abi_and_everything_else_is_allowed() {
        for (abi, numbers) in IOCTL {
            for &number in numbers {
                for request in [0x5412, 0x541C, 0x5423, 0x540C, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C] {
                    assert_eq!(verdict(abi, number, request), DENY, "{abi:x} {number} {request:x}");
                    assert_eq!(verdict(abi, number | X32, request), DENY, "{abi:x} {number} {request:x}");
                }
                for request in [0, 0x5401, 0x5413, 0x5412_0000_0000, u64::MAX] {
                    assert_eq!(verdict(abi, number, request), ALLOW, "{abi:x} {number} {request:x}");
                }
                assert_eq!(verdict(abi, number + 1, 0x5412), ALLOW);
            }
            assert_eq!(verdict(abi, 0, 0x5412), ALLOW);
        }
        assert_eq!(verdict(0x1234, 1, 0), DENY);
    }
}
