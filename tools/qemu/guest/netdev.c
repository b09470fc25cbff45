// SPDX-License-Identifier: GPL-2.0-only
/* Network ports by sysfs, ioctl and ethtool. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev.h"

#define POLL_US 10000

size_t file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	text[0] = 0;
	if (fd < 0)
		return 0;
	do {
		got = read(fd, text + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0 && used < size - 1);
	close(fd);
	text[used] = 0;
	return used;
}

static int control(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd;
}

static struct ifreq request_for(const char *name)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return request;
}

/* The first entry of directory @path, skipping dot names. */
static bool first_entry(const char *path, char *name, size_t size)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, size, "%.*s", (int)size - 1, entry->d_name);
		found = true;
	}
	if (directory)
		closedir(directory);
	return found;
}

/* A virtio port's netdev hangs below the virtio device, others' below the PCI function. */
static bool netdev_of(const char *pci, char name[IFNAMSIZ])
{
	char path[256];
	DIR *directory;
	struct dirent *entry;
	bool found;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", pci);
	if (first_entry(path, name, IFNAMSIZ))
		return true;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", pci);
	directory = opendir(path);
	found = false;
	while (directory && !found && (entry = readdir(directory))) {
		char below[600];

		if (strncmp(entry->d_name, "virtio", 6))
			continue;
		snprintf(below, sizeof(below), "%s/%s/net", path, entry->d_name);
		found = first_entry(below, name, IFNAMSIZ);
	}
	if (directory)
		closedir(directory);
	return found;
}

bool netdev_adopt(const char *pci, const char *name)
{
	char old[IFNAMSIZ];
	int tries = 1000;

	while (!netdev_of(pci, old)) {
		if (!--tries)
			return false;
		usleep(POLL_US);
	}
	struct ifreq request = request_for(old);

	snprintf(request.ifr_newname, sizeof(request.ifr_newname), "%s", name);
	return !strcmp(old, name) || !ioctl(control(), SIOCSIFNAME, &request);
}

static bool ethtool(const char *name, void *command)
{
	struct ifreq request = request_for(name);

	request.ifr_data = command;
	return !ioctl(control(), SIOCETHTOOL, &request);
}

/* The names of a set, ETH_GSTRING_LEN bytes each; NULL if there are none. */
static struct ethtool_gstrings *string_set(const char *name, uint32_t set, uint32_t count)
{
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + count * ETH_GSTRING_LEN);

	if (!names)
		return NULL;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = set;
	names->len = count;
	if (!count || !ethtool(name, names)) {
		free(names);
		return NULL;
	}
	return names;
}

/* Switches one of the private flags that @names lists. */
static bool change_flag(const struct ethtool_gstrings *names, const char *flag, bool on,
			uint32_t *flags)
{
	uint32_t i;

	for (i = 0; i < names->len && i < 32; i++) {
		if (strncmp((const char *)names->data + i * ETH_GSTRING_LEN, flag,
			    ETH_GSTRING_LEN))
			continue;
		*flags = on ? *flags | UINT32_C(1) << i : *flags & ~(UINT32_C(1) << i);
		return true;
	}
	fprintf(stderr, "ringside: the driver has no private flag %s\n", flag);
	return false;
}

/* The "FLAG on|off" lines of @list, all at once, for some exclude each other. */
static bool set_private_flags(const char *name, char *list)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_value flags = { .cmd = ETHTOOL_GPFLAGS };
	struct ethtool_gstrings *names = NULL;
	char *flag, *value;
	bool good;

	if (ethtool(name, &info))
		names = string_set(name, ETH_SS_PRIV_FLAGS, info.n_priv_flags);
	good = names && ethtool(name, &flags);
	for (flag = strtok(list, "\n "); good && flag; flag = strtok(NULL, "\n ")) {
		value = strtok(NULL, "\n ");
		good = value && change_flag(names, flag, !strcmp(value, "on"), &flags.data);
	}
	flags.cmd = ETHTOOL_SPFLAGS;
	good = good && ethtool(name, &flags);
	free(names);
	if (!good)
		fprintf(stderr, "ringside: %s does not take its private flags\n", name);
	return good;
}

/* What the profile wants of a port; most want nothing. */
static bool apply_settings(const char *name)
{
	char path[128];
	char list[2048];

	snprintf(path, sizeof(path), "/etc/private-flags/%s", name);
	return !file_text(path, list, sizeof(list)) || set_private_flags(name, list);
}

bool netdev_up(const char *name)
{
	struct ifreq request = request_for(name);
	char path[128];
	char carrier[8];
	int tries = 2000;

	if (!apply_settings(name))
		return false;
	if (ioctl(control(), SIOCGIFFLAGS, &request))
		return false;
	request.ifr_flags |= IFF_UP;
	if (ioctl(control(), SIOCSIFFLAGS, &request))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s/carrier", name);
	while (!file_text(path, carrier, sizeof(carrier)) || carrier[0] != '1') {
		if (!--tries)
			return false;
		usleep(POLL_US);
	}
	return true;
}

static size_t kernel_statistics(const char *name, char *text, size_t size)
{
	char path[300];
	DIR *directory;
	struct dirent *entry;
	size_t used = 0;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics", name);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		char file[600];
		char value[32];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (file_text(file, value, sizeof(value)) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s %s", entry->d_name,
						 value);
	}
	if (directory)
		closedir(directory);
	return used < size ? used : size - 1;
}

static size_t driver_statistics(const char *name, char *text, size_t size)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
	size_t used = 0;
	uint32_t i;

	if (!ethtool(name, &info) || !info.n_stats)
		return 0;
	names = string_set(name, ETH_SS_STATS, info.n_stats);
	values = calloc(1, sizeof(*values) + info.n_stats * sizeof(uint64_t));
	if (names && values) {
		values->cmd = ETHTOOL_GSTATS;
		values->n_stats = info.n_stats;
		if (!ethtool(name, values))
			info.n_stats = 0;
		for (i = 0; i < info.n_stats && used < size; i++)
			used += (size_t)snprintf(text + used, size - used, "ethtool.%.32s %llu\n",
						 (char *)names->data + i * ETH_GSTRING_LEN,
						 (unsigned long long)values->data[i]);
	}
	free(names);
	free(values);
	return used < size ? used : size - 1;
}

size_t netdev_statistics(const char *name, char *text, size_t size)
{
	size_t used = kernel_statistics(name, text, size);

	return used + driver_statistics(name, text + used, size - used);
}
