/* Makes the system calls that programs make most, in many of their forms, so that perf trace and strace can be asked what they saw. What it
 * does is the same in each run. It works in the current folder. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static char buffer[4096];

static void files(void)
{
	struct stat status;
	struct statx extended;
	struct statfs system;
	char first[] = "first line\n", second[] = "\1\2\0273\"quoted\"\\\377\n";
	struct iovec parts[] = {{first, sizeof(first) - 1}, {second, sizeof(second) - 1}};
	struct timespec times[] = {{1, 2}, {0, UTIME_OMIT}};
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};

	mkdir("folder", 0750);
	int fd = open("folder/file", O_CREAT | O_RDWR | O_TRUNC | O_APPEND, 0640);
	write(fd, first, 11);
	writev(fd, parts, 2);
	pwrite(fd, second, 5, 3);
	lseek(fd, -4, SEEK_END);
	lseek(fd, 0, SEEK_SET);
	read(fd, buffer, 6);
	read(fd, buffer, sizeof(buffer));
	read(fd, buffer, sizeof(buffer));
	pread(fd, buffer, 8, 2);
	struct iovec into[] = {{buffer, 3}, {buffer + 8, 100}};
	lseek(fd, 0, SEEK_SET);
	readv(fd, into, 2);
	fstat(fd, &status);
	syscall(SYS_stat, "folder/file", &status);
	syscall(SYS_lstat, "/dev/null", &status);
	syscall(SYS_newfstatat, AT_FDCWD, "folder", &status, AT_SYMLINK_NOFOLLOW);
	syscall(SYS_statx, AT_FDCWD, "folder/file", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &extended);
	syscall(SYS_statx, AT_FDCWD, "missing", AT_STATX_DONT_SYNC, STATX_SIZE, &extended);
	statfs("/proc", &system);
	ftruncate(fd, 100);
	truncate("folder/file", 50);
	fchmod(fd, 0600);
	chmod("folder/file", 04755);
	fchown(fd, -1, 0);
	chown("folder/file", 0, -1);
	fsync(fd);
	fdatasync(fd);
	flock(fd, LOCK_EX | LOCK_NB);
	flock(fd, LOCK_UN);
	fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096);
	posix_fadvise(fd, 0, 100, POSIX_FADV_SEQUENTIAL);
	utimensat(AT_FDCWD, "folder/file", times, 0);
	futimens(fd, NULL);
	int copy = dup(fd);
	dup2(fd, 50);
	dup3(fd, 51, O_CLOEXEC);
	close(51);
	close(50);
	close(copy);
	link("folder/file", "folder/link");
	symlink("file", "folder/symbolic");
	readlink("folder/symbolic", buffer, sizeof(buffer));
	rename("folder/link", "folder/other");
	renameat(AT_FDCWD, "folder/other", AT_FDCWD, "folder/third");
	syscall(SYS_renameat2, AT_FDCWD, "folder/third", AT_FDCWD, "folder/fourth", RENAME_NOREPLACE);
	access("folder/file", R_OK | X_OK);
	faccessat(AT_FDCWD, "folder/missing", F_OK, 0);
	setxattr("folder/file", "user.name", "value", 5, XATTR_CREATE);
	getxattr("folder/file", "user.name", buffer, sizeof(buffer));
	listxattr("folder/file", buffer, sizeof(buffer));
	removexattr("folder/file", "user.name");
	int folder = open("folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
	syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
	fchdir(folder);
	getcwd(buffer, sizeof(buffer));
	chdir("..");
	close(syscall(SYS_openat2, folder, "file", &how, sizeof(how)));
	unlinkat(folder, "fourth", 0);
	unlink("folder/symbolic");
	int out = open("folder/copy", O_CREAT | O_WRONLY, 0666);
	off_t offset = 2;
	sendfile(out, fd, &offset, 10);
	copy_file_range(fd, NULL, out, NULL, 5, 0);
	close(out);
	unlink("folder/copy");
	close(fd);
	unlink("folder/file");
	mknod("folder/pipe", S_IFIFO | 0644, 0);
	unlink("folder/pipe");
	unlinkat(AT_FDCWD, "folder", AT_REMOVEDIR);
	close(folder);
	rmdir("folder");
	umask(027);
	close(open("/tmp", O_TMPFILE | O_RDWR, 0600));
	openat(AT_FDCWD, "/no/such", O_WRONLY | O_NOFOLLOW);
	open("", O_RDONLY);
	close(12345);
}

static void memory(void)
{
	char *at = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at, 4096, PROT_READ);
	madvise(at, 8192, MADV_DONTNEED);
	at = mremap(at, 16384, 32768, MREMAP_MAYMOVE);
	mlock(at, 4096);
	munlock(at, 4096);
	msync(at, 4096, MS_SYNC);
	munmap(at, 32768);
	int fd = memfd_create("a name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ftruncate(fd, 8192);
	at = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096);
	munmap(at, 8192);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	fcntl(fd, F_GET_SEALS);
	close(fd);
	mlockall(MCL_CURRENT | MCL_ONFAULT);
	munlockall();
	shmat(-1, NULL, SHM_RDONLY);
	shmget(IPC_PRIVATE, 0, IPC_CREAT | 0600);
	shmctl(-1, IPC_RMID, NULL);
}

static void descriptors(void)
{
	int pair[2], ready;
	struct epoll_event event = {EPOLLIN | EPOLLET, {.u64 = 0x100000002}}, events[4];
	struct itimerspec every = {{0, 1000000}, {1, 0}}, before;
	struct timeval zero = {0, 0};
	struct timespec none = {0, 0};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 2};
	sigset_t set;
	fd_set in, out;
	uint64_t value = 3;

	pipe2(pair, O_CLOEXEC | O_NONBLOCK);
	struct pollfd polled[] = {{pair[0], POLLIN}, {pair[1], POLLOUT}, {-1, POLLIN}};
	poll(polled, 2, 0);
	write(pair[1], "x", 1);
	poll(polled, 3, -1);
	ppoll(polled, 1, &none, NULL);
	ioctl(pair[0], FIONREAD, &ready);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(pair[0], &in);
	FD_SET(pair[1], &out);
	select(pair[1] + 1, &in, &out, NULL, &zero);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
	epoll_wait(epoll, events, 4, 0);
	epoll_ctl(epoll, EPOLL_CTL_DEL, pair[0], NULL);
	epoll_wait(epoll, events, 4, 0);
	read(pair[0], buffer, 10);
	read(pair[0], buffer, 10);
	fcntl(pair[0], F_GETFL);
	fcntl(pair[0], F_SETFL, O_RDONLY | O_NONBLOCK);
	fcntl(pair[0], F_GETFD);
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	close(fcntl(pair[0], F_DUPFD_CLOEXEC, 20));
	fcntl(pair[1], F_SETPIPE_SZ, 8192);
	close(pair[0]);
	close(pair[1]);
	int event_fd = eventfd(5, EFD_NONBLOCK | EFD_SEMAPHORE);
	write(event_fd, &value, 8);
	close(event_fd);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(timer, 0, &every, &before);
	close(timer);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	close(signalfd(-1, &set, SFD_CLOEXEC));
	int watch = inotify_init1(IN_NONBLOCK);
	inotify_add_watch(watch, "/tmp", IN_CREATE | IN_DELETE_SELF);
	inotify_rm_watch(watch, 1);
	close(watch);
	int file = open("lock", O_CREAT | O_RDWR, 0600);
	fcntl(file, F_SETLK, &lock);
	fcntl(file, F_GETLK, &lock);
	ioctl(file, FS_IOC_GETFLAGS, &ready);
	ioctl(file, TCGETS, buffer);
	close(file);
	unlink("lock");
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct termios modes;
	struct winsize size = {24, 80};
	tcgetattr(terminal, &modes);
	ioctl(terminal, TIOCSWINSZ, &size);
	ioctl(terminal, TIOCGWINSZ, &size);
	close(terminal);
	close(epoll);
}

static void sockets(void)
{
	int pair[2], one = 1, value;
	socklen_t size = sizeof(value);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/no/such/socket"},
			   hidden = {.sun_family = AF_UNIX, .sun_path = "\0hidden"};
	struct linger linger = {1, 2};
	char control[64] = "", name[128];

	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	send(pair[0], "hello", 5, MSG_NOSIGNAL);
	recv(pair[1], buffer, 100, MSG_PEEK);
	recv(pair[1], buffer, 100, 0);
	struct iovec part = {"message", 7}, room = {buffer, 100};
	struct msghdr message = {NULL, 0, &part, 1, control, CMSG_SPACE(sizeof(int)), 0};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &pair[0], sizeof(int));
	sendmsg(pair[0], &message, 0);
	message.msg_iov = &room;
	recvmsg(pair[1], &message, 0);
	shutdown(pair[0], SHUT_WR);
	setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, &size);
	close(pair[0]);
	close(pair[1]);

	int server = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	bind(server, (struct sockaddr *)&address, sizeof(address));
	listen(server, 5);
	size = sizeof(address);
	getsockname(server, (struct sockaddr *)&address, &size);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(client, (struct sockaddr *)&address, sizeof(address));
	size = sizeof(name);
	int accepted = accept4(server, (struct sockaddr *)name, &size, SOCK_CLOEXEC);
	close(accepted);
	close(client);
	close(server);
	int datagram = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
	sendto(datagram, "data", 4, 0, (struct sockaddr *)&six, sizeof(six));
	close(datagram);
	int stream = socket(AF_UNIX, SOCK_STREAM, 0);
	connect(stream, (struct sockaddr *)&local, sizeof(local));
	connect(stream, (struct sockaddr *)&hidden, 9);
	close(stream);
	socket(AF_NETLINK, SOCK_RAW, 0);
}

static void on_signal(int number)
{
}

static void processes(void)
{
	struct rlimit limit;
	struct rusage usage;
	struct utsname name;
	struct itimerval alarm_at = {{0, 0}, {100, 0}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct timespec nap = {0, 1000}, left;
	sigset_t set, before;
	cpu_set_t cpus;
	stack_t stack = {buffer, 0, sizeof(buffer)};
	int status;
	uint32_t word = 1;

	getpid();
	gettid();
	getuid();
	geteuid();
	getgid();
	getegid();
	getpgrp();
	getsid(0);
	getgroups(0, NULL);
	getresuid((uid_t *)buffer, (uid_t *)buffer + 1, (uid_t *)buffer + 2);
	uname(&name);
	getrlimit(RLIMIT_CORE, &limit);
	setrlimit(RLIMIT_CORE, &limit);
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	getrusage(RUSAGE_SELF, &usage);
	getpriority(PRIO_PROCESS, 0);
	sched_yield();
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_getscheduler(0);
	sigaction(SIGUSR1, &action, NULL);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigpending(&set);
	sigaltstack(&stack, NULL);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	kill(getpid(), SIGUSR1);
	kill(getpid(), 0);
	tgkill(getpid(), gettid(), SIGUSR1);
	setitimer(ITIMER_REAL, &alarm_at, NULL);
	getitimer(ITIMER_VIRTUAL, &alarm_at);
	alarm(0);
	nanosleep(&nap, &left);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &nap);
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, &nap);
	syscall(SYS_gettimeofday, &alarm_at, NULL);
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_GET_NAME, buffer);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, NULL);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1);
	syscall(SYS_getrandom, buffer, 8, 1);
	semget(IPC_PRIVATE, -1, IPC_CREAT | 0600);
	semctl(-1, 0, IPC_RMID);
	if (!fork()) {
		char *words[] = {"/bin/echo", "a", "b c", NULL}, *variables[] = {"X=1", "Y=2", NULL};
		close(1);
		open("/dev/null", O_WRONLY);
		execve("/no/such/program", words, variables);
		execve(words[0], words, variables);
	}
	wait4(-1, &status, 0, &usage);
	int gate[2]; /* the child ends when it is told to, so the first look never finds it */
	pipe(gate);
	if (!fork()) {
		close(gate[1]);
		read(gate[0], buffer, 1);
		_exit(3);
	}
	waitpid(-1, &status, WNOHANG | WUNTRACED);
	close(gate[1]);
	wait4(-1, &status, 0, NULL);
	close(gate[0]);
	if (!fork()) {
		kill(getpid(), SIGKILL);
		_exit(0);
	}
	siginfo_t info;
	waitid(P_ALL, 0, &info, WEXITED);
	wait4(-1, &status, WNOHANG, NULL);
}

int main(void)
{
	files();
	memory();
	descriptors();
	sockets();
	processes();
	return 0;
}
