// SPDX-License-Identifier: GPL-2.0-only
/* Fake interrupt registers of four kinds of chip, with a log of every access. */

#include "fake_irq.h"

#define REG_STATUS	0x10
#define REG_MASK	0x20
#define REG_SET		0x20	/* as on 8254x: IMS reads as the mask */
#define REG_CLEAR	0x30
#define REG_RAISE	0x40

const struct rs_irq_regs fake_regs_16 = {
	.status = REG_STATUS, .mask = REG_MASK, .bytes = 2,
};

const struct rs_irq_regs fake_regs_32 = {
	.status = REG_STATUS, .mask = REG_MASK, .bytes = 4,
};

const struct rs_irq_regs fake_regs_set_clear = {
	.status = REG_STATUS, .mask = REG_MASK, .set = REG_SET,
	.clear = REG_CLEAR, .bytes = 4, .read_acks = true,
};

const struct rs_irq_regs fake_regs_auto = {
	.status = REG_STATUS, .mask = REG_MASK, .set = REG_SET,
	.clear = REG_CLEAR, .raise = REG_RAISE, .bytes = 4, .auto_mask = true,
};

static __printf(2, 3)
void fake_log(struct fake_irq *fake, const char *format, ...)
{
	size_t used = strlen(fake->log);
	va_list args;

	va_start(args, format);
	vsnprintf(fake->log + used, sizeof(fake->log) - used, format, args);
	va_end(args);
}

static void fake_tick(struct fake_irq *fake, unsigned int bytes)
{
	KUNIT_EXPECT_EQ(fake->test, fake->regs->bytes, bytes);
	fake->accesses++;
	if (fake->tick)
		fake->tick(fake);
}

static u32 fake_read(struct rs_access *access, u32 reg, unsigned int bytes)
{
	struct fake_irq *fake = container_of(access, struct fake_irq, access);
	u32 value;

	fake_tick(fake, bytes);
	if (reg == REG_STATUS) {
		fake_log(fake, "R status; ");
		value = fake->status;
		if (fake->regs->read_acks)
			fake->status &= fake->stuck;
	} else {
		KUNIT_EXPECT_EQ(fake->test, REG_MASK, reg);
		fake_log(fake, "R mask; ");
		value = fake->mask;
	}
	if (fake->gone)
		return bytes == 2 ? 0xffff : 0xffffffff;
	return value;
}

static void fake_set_mask(struct fake_irq *fake, u32 mask)
{
	u32 opened = mask & ~fake->mask & (FAKE_EV_RX | FAKE_EV_TX);

	if (fake->napi_scheduled && opened)
		fake->bad_unmasks++;
	fake->mask = mask;
}

static void fake_write(struct rs_access *access, u32 reg, u32 value,
		       unsigned int bytes)
{
	struct fake_irq *fake = container_of(access, struct fake_irq, access);

	fake_tick(fake, bytes);
	if (reg == REG_STATUS) {
		KUNIT_EXPECT_FALSE(fake->test, fake->regs->read_acks);
		fake_log(fake, "W status=%02x; ", value);
		fake->status &= ~value | fake->stuck;
	} else if (fake->regs->clear && reg == fake->regs->clear) {
		fake_log(fake, "W clear=%02x; ", value);
		fake_set_mask(fake, fake->mask & ~value);
	} else if (fake->regs->raise && reg == fake->regs->raise) {
		fake_log(fake, "W raise=%02x; ", value);
		fake->status |= value;
	} else if (fake->regs->set) {
		KUNIT_EXPECT_EQ(fake->test, REG_SET, reg);
		fake_log(fake, "W set=%02x; ", value);
		fake_set_mask(fake, fake->mask | value);
	} else {
		KUNIT_EXPECT_EQ(fake->test, REG_MASK, reg);
		fake_log(fake, "W mask=%02x; ", value);
		fake_set_mask(fake, value);
	}
}

static const struct rs_access_ops fake_irq_ops = {
	.read = fake_read,
	.write = fake_write,
};

struct fake_irq *fake_irq_new(struct kunit *test, const struct rs_irq_regs *regs)
{
	struct fake_irq *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->test = test;
	fake->regs = regs;
	fake->access.fake = &fake_irq_ops;
	return fake;
}

/* Does the device ask for service? */
bool fake_irq_line(const struct fake_irq *fake)
{
	return fake->status & fake->mask;
}

void fake_irq_message(struct fake_irq *fake)
{
	u32 events = fake->status & fake->mask;

	if (!fake->regs->auto_mask)
		return;
	fake->status &= ~events;
	fake->mask &= ~events;
}

/* The accesses since the last call, exactly and in order. */
void fake_irq_expect(struct fake_irq *fake, const char *log)
{
	KUNIT_EXPECT_STREQ(fake->test, log, fake->log);
	fake->log[0] = '\0';
}
