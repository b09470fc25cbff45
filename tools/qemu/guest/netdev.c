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

bool netdev_up(const char *name)
{
	struct ifreq request = request_for(name);
	char path[128];
	char carrier[8];
	int tries = 2000;

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

static bool ethtool(const char *name, void *command)
{
	struct ifreq request = request_for(name);

	request.ifr_data = command;
	return !ioctl(control(), SIOCETHTOOL, &request);
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
	names = calloc(1, sizeof(*names) + info.n_stats * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + info.n_stats * sizeof(uint64_t));
	if (names && values) {
		names->cmd = ETHTOOL_GSTRINGS;
		names->string_set = ETH_SS_STATS;
		names->len = info.n_stats;
		values->cmd = ETHTOOL_GSTATS;
		values->n_stats = info.n_stats;
		if (!ethtool(name, names) || !ethtool(name, values))
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
