// SPDX-License-Identifier: GPL-2.0-only
/*
 * agent: the lab's program in the guest. It brings up the ports, describes
 * them and pauses the guest, which is then kept. A run goes on from there: the
 * agent reads the one command, runs it and sends what it said. The command
 * "symbols" lists the kernel's functions instead.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "netdev.h"

#define TEXT_BYTES (1 << 20)
#define TRACING "/sys/kernel/tracing/"
/* There when drivers are counted (drivers/iotally). */
#define SITES "/sys/kernel/debug/iotally/sites"
#define NS_PER_S 1000000000ull
/* Timers of the ports and of the kernel have had their first turn by then. */
#define CALM_S 3
/* Several ticks of the kernel. */
#define TIMERS_NS 50000000ull

struct port {
	const char *pci;
	const char *name;
};

static char text[TEXT_BYTES];

static void sleep_until(time_t second)
{
	struct timespec until = { .tv_sec = second };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static time_t this_second(void)
{
	return (time_t)(monotonic_ns() / NS_PER_S);
}

/*
 * While the guest stops, QEMU may move its clock on to a next timer or two, or
 * not, as the host's threads happen to run. So nothing is done until these
 * timers are over, in the same state (running) whether the clock has jumped or
 * not; then sleep, to wake at the same instant in all runs of all boots.
 */
static void pause_here(void)
{
	uint64_t calm_ns = monotonic_ns() + TIMERS_NS;

	channel_pause();
	while (monotonic_ns() < calm_ns)
		;
	sleep_until(this_second() + 1);
}

static void __attribute__((noreturn)) give_up(const char *why, const char *what)
{
	channel_printf("failed", "%s %s", what, why);
	for (;;)
		pause();
}

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return good;
}

/* Runs a program; its output is in @text, its exit status returned (128 + signal when killed). */
static int run_program(char **arguments, size_t *length)
{
	int pipe_fds[2];
	int status = 127;
	ssize_t got;
	pid_t child;

	*length = 0;
	if (pipe(pipe_fds))
		return status;
	child = fork();
	if (!child) {
		dup2(pipe_fds[1], STDOUT_FILENO);
		dup2(pipe_fds[1], STDERR_FILENO);
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		/* Access to ports costs each return to user mode; the program needs none. */
		iopl(0);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	close(pipe_fds[1]);
	do {
		got = read(pipe_fds[0], text + *length, sizeof(text) - *length);
		*length += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	close(pipe_fds[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void send_file(const char *type, const char *path)
{
	channel_send(type, text, file_text(path, text, sizeof(text)));
}

/* The port's interrupt lines: its vectors when it has some, else its INTx line. */
static void describe_interrupts(const struct port *port)
{
	char path[256];
	char type[64];
	DIR *vectors;
	struct dirent *vector;
	size_t used = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", port->pci);
	vectors = opendir(path);
	while (vectors && (vector = readdir(vectors)))
		if (vector->d_name[0] != '.')
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
						 vector->d_name);
	if (vectors)
		closedir(vectors);
	if (!used) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/irq", port->pci);
		used = file_text(path, text, sizeof(text));
	}
	snprintf(type, sizeof(type), "irqs.%s", port->name);
	channel_send(type, text, used);
}

static void describe_port(const struct port *port)
{
	char path[256];
	char type[64];

	snprintf(type, sizeof(type), "resource.%s", port->name);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", port->pci);
	send_file(type, path);
	snprintf(type, sizeof(type), "address.%s", port->name);
	snprintf(path, sizeof(path), "/sys/class/net/%s/address", port->name);
	send_file(type, path);
	snprintf(type, sizeof(type), "uevent.%s", port->name);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/uevent", port->pci);
	send_file(type, path);
	describe_interrupts(port);
}

/* Where the kernel put the code of each module, "MODULE SECTION ADDRESS" lines. */
static void describe_modules(void)
{
	DIR *modules = opendir("/sys/module");
	struct dirent *module;
	size_t used = 0;

	while (modules && (module = readdir(modules))) {
		char path[1024];
		DIR *sections;
		struct dirent *section;

		snprintf(path, sizeof(path), "/sys/module/%s/sections", module->d_name);
		sections = opendir(path);
		while (sections && (section = readdir(sections))) {
			char file[2048];
			char address[64];

			snprintf(file, sizeof(file), "%s/%s", path, section->d_name);
			if (section->d_name[0] == '.' && strstr(section->d_name, "text") &&
			    file_text(file, address, sizeof(address)))
				used += (size_t)snprintf(text + used, sizeof(text) - used,
							 "%s %s %s", module->d_name,
							 section->d_name, address);
		}
		if (sections)
			closedir(sections);
	}
	if (modules)
		closedir(modules);
	channel_send("sections", text, used);
}

/* The kernel's own functions; modules' come from their files and describe_modules(). */
static void describe_symbols(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	char line[512];
	size_t used = 0;

	while (symbols && fgets(line, sizeof(line), symbols)) {
		/* Prefix symbols name the padding in front of a function, never run. */
		if (!strchr("tTwW", line[17]) || strchr(line, '[') ||
		    !strncmp(line + 19, "__pfx_", 6))
			continue;
		if (used + sizeof(line) > sizeof(text)) {
			channel_send("symbols", text, used);
			used = 0;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.16s %s", line,
					 line + 19);
	}
	if (symbols)
		fclose(symbols);
	channel_send("symbols", text, used);
	channel_printf("done", "%d", 0);
}

static void send_between(const struct port *from, const struct port *to)
{
	char path[128];
	char address[32];
	char stream[128];
	char *arguments[10] = {
		"sender", "--stream", stream, "--rate", "1000", "--size", "60", "--count", "32",
	};
	size_t length;
	int status;

	snprintf(path, sizeof(path), "/sys/class/net/%s/address", to->name);
	file_text(path, address, sizeof(address));
	address[strcspn(address, "\n")] = 0;
	snprintf(stream, sizeof(stream), "%s,%s,%s", from->name, address, to->name);
	status = run_program(arguments, &length);
	text[length < sizeof(text) ? length : sizeof(text) - 1] = 0;
	if (status || !strstr(text, "delivered=32"))
		give_up("carries no traffic", to->name);
}

/* Nobody's address: the other port's filter drops what is sent there. */
#define FOREIGN "52:54:00:ff:ff:fe"

/* Appends "PORT SIZE RATE": how fast the sender is when it never waits. */
static size_t measure_limit(const struct port *from, const char *size, char *limits, size_t room)
{
	char stream[64];
	char *arguments[10] = {
		"sender", "--stream", stream, "--rate", "1000000000", "--size", (char *)size,
		"--count", "1024",
	};
	size_t length;
	int status;

	snprintf(stream, sizeof(stream), "%s," FOREIGN, from->name);
	status = run_program(arguments, &length);
	text[length < sizeof(text) ? length : sizeof(text) - 1] = 0;
	if (status || strncmp(text, "achieved_rate_pps=", 18))
		give_up("cannot send", from->name);
	return (size_t)snprintf(limits, room, "%s %s %.*s\n", from->name, size,
				(int)strcspn(text + 18, "\n"), text + 18);
}

static void send_limits(const struct port *generator, const struct port *port)
{
	char limits[512];
	size_t used;

	used = measure_limit(generator, "60", limits, sizeof(limits));
	used += measure_limit(generator, "1514", limits + used, sizeof(limits) - used);
	used += measure_limit(port, "60", limits + used, sizeof(limits) - used);
	used += measure_limit(port, "1514", limits + used, sizeof(limits) - used);
	channel_send("limits", limits, used);
}

/*
 * A few frames each way, under the tracepoints: they prove that both ports
 * carry traffic, warm the allocators, and tell which NAPI instance is whose.
 */
static void rehearse(const struct port *generator, const struct port *port)
{
	bool traced = write_file(TRACING "events/napi/napi_poll/enable", "1") &&
		      write_file(TRACING "events/irq/irq_handler_entry/enable", "1");

	send_file("interrupts.before", "/proc/interrupts");
	write_file(TRACING "trace", "");
	send_between(generator, port);
	send_between(port, generator);
	if (traced)
		send_file("trace", TRACING "trace");
	send_file("interrupts.after", "/proc/interrupts");
	write_file(TRACING "events/enable", "0");
	write_file(TRACING "trace", "");
	send_limits(generator, port);
}

static void send_statistics(const char *when, const struct port *port)
{
	char type[64];

	snprintf(type, sizeof(type), "statistics.%s.%s", port->name, when);
	channel_send(type, text, netdev_statistics(port->name, text, sizeof(text)));
}

/* Sends what the kernel logged since the last call. */
static void send_kernel_log(const char *type)
{
	static int fd = -1;
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && used + 8192 < sizeof(text)) {
		got = read(fd, text + used, 8192);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	channel_send(type, text, used);
}

/*
 * Timers of drivers count from here: they come at whole seconds, from which
 * the sender keeps its window away.
 */
static void bring_up(const struct port *port)
{
	sleep_until(this_second() + 1);
	if (!netdev_up(port->name))
		give_up("does not come up", port->name);
}

/* Puts VALUE into the file that a word "/PATH=VALUE" names; false if that fails. */
static bool set_file(char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = 0;
	return write_file(word, value);
}

/* Words with a leading slash set files before the program, which the others are, is run. */
static void run_command(char *command, const struct port *generator, const struct port *port)
{
	char *arguments[64];
	size_t count = 0;
	size_t length;
	char *word;
	int status;

	for (word = strtok(command, "\n "); word && count < 63; word = strtok(NULL, "\n ")) {
		if (*word != '/' || count)
			arguments[count++] = word;
		else if (!set_file(word))
			give_up("cannot be set", word);
	}
	arguments[count] = NULL;
	send_statistics("before", generator);
	send_statistics("before", port);
	status = run_program(arguments, &length);
	channel_send("output", text, length);
	send_statistics("after", generator);
	send_statistics("after", port);
	if (!access(SITES, R_OK))
		send_file("sites", SITES);
	send_kernel_log("log");
	channel_printf("done", "%d", status);
}

int main(int argc, char **argv)
{
	struct port generator = { .name = "gen0" };
	struct port port = { .name = "port0" };
	static char command[CHANNEL_COMMAND_BYTES];
	struct utsname kernel;

	if (channel_open() || argc != 3) {
		fputs("usage (in the lab, as root): agent GENERATOR-PCI PORT-PCI\n", stderr);
		return 2;
	}
	generator.pci = argv[1];
	port.pci = argv[2];
	uname(&kernel);
	channel_printf("release", "%s", kernel.release);
	if (!netdev_adopt(generator.pci, generator.name))
		give_up("has no driver", generator.pci);
	if (!netdev_adopt(port.pci, port.name))
		give_up("has no driver", port.pci);
	bring_up(&generator);
	bring_up(&port);
	sleep_until(this_second() + CALM_S);
	rehearse(&generator, &port);
	describe_port(&generator);
	describe_port(&port);
	describe_modules();
	send_kernel_log("boot-log");
	channel_printf("ready", "%s", "");
	pause_here();
	if (!channel_command(command))
		give_up("got no command", port.name);
	if (!strcmp(command, "symbols"))
		describe_symbols();
	else
		run_command(command, &generator, &port);
	for (;;)
		pause();
}
