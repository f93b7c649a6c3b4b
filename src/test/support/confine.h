/* The system calls that rayscaler has a use for, as a filter of the kernel (seccomp): no file is opened to be
 * written, created or cut, no memory can be written and executed, no second program is started. Anything else
 * ends the process at once with SIGSYS; `strace -f` shows at which call. Threads and children keep the filter.
 * For src/test/tools/net_confine.c and its test. Header only. */
#ifndef TEST_SUPPORT_CONFINE_H
#define TEST_SUPPORT_CONFINE_H

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define CONFINE_WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
#define CONFINE_RULES_MAX 400

/* docs/internals/reliability.md has the same list (a test compares): one group per line. */
static const int confine_allowed[] = {
#ifdef __x86_64__
	/* older forms of some below */
	SYS_arch_prctl, SYS_access, SYS_poll, SYS_epoll_wait, SYS_pipe, SYS_readlink, SYS_time,
	SYS_gettimeofday, SYS_dup2,
#endif
	/* start, memory, shared libraries */
	SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_set_tid_address, SYS_set_robust_list,
	SYS_rseq, SYS_prlimit64, SYS_getrandom, SYS_futex,
	/* files, to be read */
	SYS_read, SYS_readv, SYS_pread64, SYS_lseek, SYS_close, SYS_newfstatat, SYS_fstat,
	SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getcwd,
	SYS_fcntl, SYS_ioctl, SYS_dup, SYS_dup3,
	/* output and network */
	SYS_write, SYS_writev, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
	SYS_accept4, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_sendto,
	SYS_sendmsg, SYS_sendmmsg, SYS_recvfrom, SYS_recvmsg, SYS_shutdown,
	/* the event loop */
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_pipe2, SYS_ppoll,
	/* signals, time, the name resolver's threads, the end */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_getpid,
	SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_sysinfo,
	SYS_getrusage, SYS_clock_gettime, SYS_clock_nanosleep, SYS_restart_syscall, SYS_sched_yield,
	SYS_sched_getaffinity, SYS_clone, SYS_clone3, SYS_tgkill, SYS_exit, SYS_exit_group
};

static struct sock_filter confine_rules[CONFINE_RULES_MAX];
static size_t confine_count;

static inline void confine_add(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
	confine_rules[confine_count++] =
		(struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
}

static inline void confine_load(size_t offset)
{
	confine_add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static inline void confine_answer(uint32_t action)
{
	confine_add(BPF_RET | BPF_K, action, 0, 0);
}

/* Little endian, as both machines are. */
static inline size_t confine_low_half(int argument)
{
	return offsetof(struct seccomp_data, args) + (size_t)argument * sizeof(uint64_t);
}

/* `call` is allowed when none of `bits` is set in its argument, or, with `all`, not all of them. */
static inline void confine_allow_without(int call, int argument, uint32_t bits, bool all)
{
	confine_add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, all ? 5 : 4);
	confine_load(confine_low_half(argument));
	if (all) {
		confine_add(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
		confine_add(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1);
	} else {
		confine_add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	}
	confine_answer(SECCOMP_RET_KILL_PROCESS);
	confine_answer(SECCOMP_RET_ALLOW);
}

/* Our own execve, recognized by the address of its name: the program has another memory. */
static inline void confine_allow_this_program(const char *name)
{
	confine_add(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 5);
	confine_load(confine_low_half(0));
	confine_add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(uintptr_t)name, 0, 3);
	confine_load(confine_low_half(0) + sizeof(uint32_t));
	confine_add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)((uint64_t)(uintptr_t)name >> 32), 0, 1);
	confine_answer(SECCOMP_RET_ALLOW);
}

/* `program`: the one name, this very pointer, that execve may be called with. -1: no such filter here. */
static inline int confine(const char *program)
{
	struct sock_fprog filter = { .filter = confine_rules };

	confine_load(offsetof(struct seccomp_data, arch));
	confine_add(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCHITECTURE, 1, 0);
	confine_answer(SECCOMP_RET_KILL_PROCESS);
	confine_load(offsetof(struct seccomp_data, nr));
	confine_allow_this_program(program);
	confine_load(offsetof(struct seccomp_data, nr));
	confine_allow_without(SYS_openat, 2, CONFINE_WRITE_FLAGS | (O_TMPFILE & ~O_DIRECTORY),
			      false);
	confine_load(offsetof(struct seccomp_data, nr));
	confine_allow_without(SYS_mmap, 2, PROT_WRITE | PROT_EXEC, true);
	confine_load(offsetof(struct seccomp_data, nr));
	confine_allow_without(SYS_mprotect, 2, PROT_WRITE | PROT_EXEC, true);
	confine_load(offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(confine_allowed) / sizeof(confine_allowed[0]); i++) {
		confine_add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)confine_allowed[i], 0, 1);
		confine_answer(SECCOMP_RET_ALLOW);
	}
	confine_answer(SECCOMP_RET_KILL_PROCESS);
	filter.len = (unsigned short)confine_count;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ?
		       -1 :
		       0;
}

#endif
