// SPDX-License-Identifier: GPL-2.0-only
/* The files in debugfs: what they say is in iotally.h and docs/ledger.md. */
#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/seq_file.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>

#include "tally.h"

/* As selftests/lib/marks.h has them; a test compares both. */
#define MARK_NOP_START 0x52530001
#define MARK_NOP_STOP 0x52530002
#define MARK_PORT 0x80
#define MARK_BYTE_START 0xa1
#define MARK_BYTE_STOP 0xa2
#define MARK_BYTE_PROGRESS 0xa3

#ifdef CONFIG_X86_64
#define MARK_NOP(magic) \
	({ asm volatile("nopl " __stringify(magic) "(%%rax)" : : : "memory"); })
#define mark_byte(byte) outb(byte, MARK_PORT)
#else
#define MARK_NOP(magic) barrier()
#define mark_byte(byte) barrier()
#endif

static const char *const context_names[TALLY_CONTEXTS] = {
	[TALLY_CONTROL] = "control",
	[TALLY_IRQ] = "irq",
	[TALLY_POLL] = "poll",
	[TALLY_TRANSMIT] = "transmit",
	[TALLY_TIMER] = "timer",
};

static struct dentry *folder;

/* One line and one field, whatever is in the text. */
static void put_text(struct seq_file *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '\t')
			seq_puts(file, "\\t");
		else if (*text == '\n')
			seq_puts(file, "\\n");
		else if (*text == '\\')
			seq_puts(file, "\\\\");
		else
			seq_putc(file, *text);
	}
}

static void put_place(struct seq_file *file, const struct tally_module *module,
		      const struct iotally_entry *entry)
{
	seq_printf(file, "%s\t", module->name);
	put_text(file, entry->file);
	seq_printf(file, "\t%u\t%s\t%s\t", entry->line, entry->function, entry->operation);
}

static const char *space_name(const struct iotally_entry *entry, bool port)
{
	if (entry->space == IOTALLY_CONFIG)
		return "config";
	return port || entry->space == IOTALLY_PORT ? "port" : "mmio";
}

static void put_count(struct seq_file *file, const struct tally_module *module,
		      const struct iotally_entry *entry, bool port, const char *context,
		      u64 count, u64 bytes)
{
	put_place(file, module, entry);
	seq_printf(file, "%s\t%s\t", space_name(entry, port),
		   entry->direction == IOTALLY_WRITE ? "write" : "read");
	if (READ_ONCE(entry->hit) & BIT(port))
		seq_printf(file, "%#llx\t", entry->address[port]);
	else
		seq_puts(file, "-\t");
	put_text(file, entry->expression);
	seq_printf(file, "\t%s\t%llu\t%llu\n", context, count, bytes);
}

static void put_entry(struct seq_file *file, const struct tally_module *module,
		      const struct iotally_entry *entry)
{
	bool any = false;
	unsigned int slot;

	for (slot = 0; slot < TALLY_SLOTS; slot++) {
		u64 count = tally_value(entry, slot);

		if (!count)
			continue;
		any = true;
		put_count(file, module, entry, slot % TALLY_SPACES,
			  context_names[slot / TALLY_SPACES], count,
			  tally_value(entry, TALLY_SLOTS + slot));
	}
	/* Met before the reset, it has an address in the space of that time. */
	if (!any)
		put_count(file, module, entry,
			  entry->space == IOTALLY_PORT || READ_ONCE(entry->hit) == BIT(1),
			  "-", 0, 0);
}

static int sites_show(struct seq_file *file, void *unused)
{
	struct tally_module *module;
	unsigned int i;

	seq_puts(file, "# iotally 1\n");
	seq_puts(file, "# module\tfile\tline\tfunction\toperation\tspace\tdirection");
	seq_puts(file, "\taddress\tregister\tcontext\tcount\tbytes\n");
	mutex_lock(&tally_lock);
	list_for_each_entry(module, &tally_modules, list)
		for (i = 0; i < module->nr; i++)
			put_entry(file, module, &module->entries[i]);
	mutex_unlock(&tally_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

static int histograms_show(struct seq_file *file, void *unused)
{
	struct tally_module *module;
	unsigned int i;

	seq_puts(file, "# iotally-histograms 1\n");
	seq_puts(file, "# module\tfile\tline\tfunction\toperation\tdirection\tregister");
	seq_puts(file, "\tcalls\tmedian_ns\tcycles\n");
	mutex_lock(&tally_lock);
	list_for_each_entry(module, &tally_modules, list)
		for (i = 0; i < module->nr; i++) {
			const struct iotally_entry *entry = &module->entries[i];

			if (!entry->histogram)
				continue;
			put_place(file, module, entry);
			seq_printf(file, "%s\t",
				   entry->direction == IOTALLY_WRITE ? "write" : "read");
			put_text(file, entry->expression);
			tally_histogram_show(file, entry);
		}
	mutex_unlock(&tally_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(histograms);

static int set_reset(void *data, u64 value)
{
	if (value != 1)
		return -EINVAL;
	mutex_lock(&tally_lock);
	tally_reset();
	mutex_unlock(&tally_lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, set_reset, "%llu\n");

/*
 * The counts, the plugin's window and the trace's begin and end side by side:
 * nothing of this processor can come between.
 */
static int set_mark(void *data, u64 value)
{
	int error = 0;

	mutex_lock(&tally_lock);
	if (value == MARK_BYTE_START)
		tally_reset();
	local_irq_disable();
	switch (value) {
	case MARK_BYTE_START:
		tally_reset_counts();
		MARK_NOP(MARK_NOP_START);
		mark_byte(MARK_BYTE_START);
		break;
	case MARK_BYTE_STOP:
		MARK_NOP(MARK_NOP_STOP);
		mark_byte(MARK_BYTE_STOP);
		tally_freeze();
		break;
	case MARK_BYTE_PROGRESS:
		mark_byte(MARK_BYTE_PROGRESS);
		break;
	default:
		error = -EINVAL;
	}
	local_irq_enable();
	mutex_unlock(&tally_lock);
	return error;
}
DEFINE_DEBUGFS_ATTRIBUTE(mark_fops, NULL, set_mark, "%llu\n");

static int get_trace(void *data, u64 *value)
{
	*value = tally_switched(TALLY_TRACE);
	return 0;
}

static int set_trace(void *data, u64 value)
{
	return value > 1 ? -EINVAL : trace_set_clr_event("iotally", "iotally_access", value);
}
DEFINE_DEBUGFS_ATTRIBUTE(trace_fops, get_trace, set_trace, "%llu\n");

static int get_histogram(void *data, u64 *value)
{
	*value = tally_switched(TALLY_HISTOGRAM);
	return 0;
}

static int set_histogram(void *data, u64 value)
{
	struct tally_module *module;
	int error = 0;
	unsigned int i;

	if (value > 1)
		return -EINVAL;
	mutex_lock(&tally_lock);
	if (value)
		list_for_each_entry(module, &tally_modules, list)
			for (i = 0; i < module->nr && !error; i++)
				error = tally_histogram_make(&module->entries[i]);
	mutex_unlock(&tally_lock);
	if (!error)
		tally_switch(TALLY_HISTOGRAM, value);
	return error;
}
DEFINE_DEBUGFS_ATTRIBUTE(histogram_fops, get_histogram, set_histogram, "%llu\n");

static int get_dma_marks(void *data, u64 *value)
{
	*value = tally_dma_switched();
	return 0;
}

static int set_dma_marks(void *data, u64 value)
{
	if (value > 1)
		return -EINVAL;
	tally_dma_switch(value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(dma_marks_fops, get_dma_marks, set_dma_marks, "%llu\n");

static ssize_t bus_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char text[16];
	int length = scnprintf(text, sizeof(text), "%s\n", tally_bus_name());

	return simple_read_from_buffer(to, size, at, text, length);
}

static ssize_t bus_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char text[16] = "";
	int error;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	error = tally_bus_choose(strim(text));
	return error ? error : size;
}

static const struct file_operations bus_fops = {
	.owner = THIS_MODULE,
	.read = bus_read,
	.write = bus_write,
	.llseek = default_llseek,
};

int tally_files_init(void)
{
	folder = debugfs_create_dir("iotally", NULL);
	if (IS_ERR(folder))
		return PTR_ERR(folder);
	debugfs_create_file("sites", 0400, folder, NULL, &sites_fops);
	debugfs_create_file("histograms", 0400, folder, NULL, &histograms_fops);
	debugfs_create_file("reset", 0200, folder, NULL, &reset_fops);
	debugfs_create_file("mark", 0200, folder, NULL, &mark_fops);
	debugfs_create_file("trace", 0600, folder, NULL, &trace_fops);
	debugfs_create_file("histogram", 0600, folder, NULL, &histogram_fops);
	debugfs_create_file("bus", 0600, folder, NULL, &bus_fops);
	debugfs_create_file("dma_marks", 0600, folder, NULL, &dma_marks_fops);
	return 0;
}

void tally_files_exit(void)
{
	debugfs_remove(folder);
}
