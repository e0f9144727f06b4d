//! The filter of system calls that everything inside runs under: no request may type into a terminal (`TIOCSTI`) or paste
//! into a console (`TIOCLINUX`). It is not the sandbox: every other call is left to the mounts and capabilities.

use seccompiler::{apply_filter, sock_filter};
use std::io;

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;

/// Offsets in the kernel's `seccomp_data`: the call's number, its ABI, and the low half of its second argument. `ioctl` looks
/// at no more than that half.
const NUMBER: u32 = 0;
const ABI: u32 = 4;
const REQUEST: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };

/// The ABIs that a process here can call the kernel by (`AUDIT_ARCH_*`), each with its numbers for `ioctl`.
#[cfg(target_arch = "x86_64")]
const ABIS: [(u32, &[u32]); 2] = [(0xC000_003E, &[16, 514]), (0x4000_0003, &[54])];
#[cfg(target_arch = "aarch64")]
const ABIS: [(u32, &[u32]); 2] = [(0xC000_00B7, &[29]), (0x4000_0028, &[54])];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the filter of system calls does not know the numbers of this machine");

/// Set in the number of a call by the x32 ABI, which otherwise looks like x86_64. No other ABI here has numbers that high.
const X32: u32 = 0x4000_0000;

/// Instructions of the kernel's filter machine (`BPF_LD | BPF_W | BPF_ABS` and so on).
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO` with EPERM.
const DENY: u32 = 0x0005_0001;

/// Holds from now on for this process and all that it starts; nothing can lift it. It takes away that a program becomes somebody
/// else by being run (`no_new_privs`: sudo, su), because otherwise such a program would run under a filter that it does not know.
pub(super) fn deny_typing() -> io::Result<()> {
    apply_filter(&filter()).map_err(io::Error::other)
}

/// Our own few instructions: the crate's compiler would kill programs of another ABI instead of filtering them.
fn filter() -> Vec<sock_filter> {
    let step = |code: u16, k: u32| sock_filter { code, jt: 0, jf: 0, k };
    let skip_unless = |k: u32, skipped: usize| sock_filter {
        code: JUMP_IF_EQUAL,
        jt: 0,
        jf: u8::try_from(skipped).expect("a few instructions"),
        k,
    };
    let mut program = vec![step(LOAD, ABI)];
    for (abi, numbers) in ABIS {
        let mut block = vec![step(LOAD, NUMBER), step(AND, !X32)];
        for number in numbers {
            let mut request = vec![step(LOAD, REQUEST)];
            for denied in [TIOCSTI, TIOCLINUX] {
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
    // An ABI that we do not know could call `ioctl` by another number.
    program.push(step(RETURN, DENY));
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What the kernel's machine makes of a call.
    fn verdict(abi: u32, number: u32, request: u64) -> u32 {
        let low = u32::try_from(request & 0xffff_ffff).unwrap();
        let (mut at, mut value) = (0, 0);
        let program = filter();
        loop {
            let step = &program[at];
            at += 1;
            match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ABI => abi,
                        REQUEST => low,
                        other => panic!("nothing is at {other}"),
                    }
                }
                AND => value &= step.k,
                JUMP_IF_EQUAL => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                RETURN => return step.k,
                other => panic!("{other} is no instruction"),
            }
        }
    }

    #[test]
    fn typing_is_denied_in_every_abi_and_everything_else_is_allowed() {
        for (abi, numbers) in ABIS {
            for &number in numbers {
                for request in [0x5412, 0x541C, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C] {
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
