/* SPDX-License-Identifier: GPL-2.0-only */
/* Counted accessors of memory and ports: what include/linux/io.h adds. */
#ifndef IOTALLY_ACCESSORS_IO_H
#define IOTALLY_ACCESSORS_IO_H

#include "iotally.h"

/*
 * Each accessor gets an inline function of the same signature that counts and
 * calls it. They are made while the names still mean the kernel's own, be these
 * functions or macros; below, the names become function-like macros.
 */
#define IOTALLY_OPERATION_READ(op, type, address_type, space)			\
struct iotally_site;								\
static __always_inline type							\
iotally_##op(struct iotally_site *site, address_type address)			\
{										\
	unsigned long where = (__force unsigned long)(address);			\
										\
	if (likely(IOTALLY_COUNT(site, space, where)))				\
		return op(address);						\
	return iotally_slow(site, where, 0);					\
}

#define IOTALLY_OPERATION_WRITE(op, type, address_type, space)			\
static __always_inline void iotally_##op(struct iotally_site *site, type value,	\
					 address_type address)			\
{										\
	unsigned long where = (__force unsigned long)(address);			\
										\
	if (likely(IOTALLY_COUNT(site, space, where)))				\
		op(value, address);						\
	else									\
		iotally_slow(site, where, value);				\
}

#include "operations.h"

#undef IOTALLY_OPERATION_READ
#undef IOTALLY_OPERATION_WRITE

/*
 * A string or block access is many of the bus; a call does not matter then.
 * accesses is their number as the device sees it.
 */
#define IOTALLY_BLOCK_FUNCTION(op, address_type, buffer_type, size, accesses)	\
static __always_inline void iotally_##op(struct iotally_site *site, address_type address, \
					 buffer_type buffer, unsigned long count) \
{										\
	unsigned long where = (__force unsigned long)(address);			\
	unsigned long number = accesses;					\
	u64 begin = iotally_before();						\
										\
	op(address, buffer, count);						\
	iotally_after(site, where, number, count * (size), 0, begin);		\
}

IOTALLY_BLOCK_FUNCTION(insb, unsigned long, void *, 1, count)
IOTALLY_BLOCK_FUNCTION(outsb, unsigned long, const void *, 1, count)
IOTALLY_BLOCK_FUNCTION(insw, unsigned long, void *, 2, count)
IOTALLY_BLOCK_FUNCTION(outsw, unsigned long, const void *, 2, count)
IOTALLY_BLOCK_FUNCTION(insl, unsigned long, void *, 4, count)
IOTALLY_BLOCK_FUNCTION(outsl, unsigned long, const void *, 4, count)
IOTALLY_BLOCK_FUNCTION(insb_p, unsigned long, void *, 1, count)
IOTALLY_BLOCK_FUNCTION(outsb_p, unsigned long, const void *, 1, count)
IOTALLY_BLOCK_FUNCTION(insw_p, unsigned long, void *, 2, count)
IOTALLY_BLOCK_FUNCTION(outsw_p, unsigned long, const void *, 2, count)
IOTALLY_BLOCK_FUNCTION(insl_p, unsigned long, void *, 4, count)
IOTALLY_BLOCK_FUNCTION(outsl_p, unsigned long, const void *, 4, count)
IOTALLY_BLOCK_FUNCTION(readsb, IOTALLY_MEMORY, void *, 1, count)
IOTALLY_BLOCK_FUNCTION(writesb, IOTALLY_MEMORY_TO, const void *, 1, count)
IOTALLY_BLOCK_FUNCTION(readsw, IOTALLY_MEMORY, void *, 2, count)
IOTALLY_BLOCK_FUNCTION(writesw, IOTALLY_MEMORY_TO, const void *, 2, count)
IOTALLY_BLOCK_FUNCTION(readsl, IOTALLY_MEMORY, void *, 4, count)
IOTALLY_BLOCK_FUNCTION(writesl, IOTALLY_MEMORY_TO, const void *, 4, count)
#ifdef readsq
IOTALLY_BLOCK_FUNCTION(readsq, IOTALLY_MEMORY, void *, 8, count)
IOTALLY_BLOCK_FUNCTION(writesq, IOTALLY_MEMORY_TO, const void *, 8, count)
#endif
IOTALLY_BLOCK_FUNCTION(ioread8_rep, IOTALLY_COOKIE, void *, 1, count)
IOTALLY_BLOCK_FUNCTION(iowrite8_rep, IOTALLY_COOKIE_TO, const void *, 1, count)
IOTALLY_BLOCK_FUNCTION(ioread16_rep, IOTALLY_COOKIE, void *, 2, count)
IOTALLY_BLOCK_FUNCTION(iowrite16_rep, IOTALLY_COOKIE_TO, const void *, 2, count)
IOTALLY_BLOCK_FUNCTION(ioread32_rep, IOTALLY_COOKIE, void *, 4, count)
IOTALLY_BLOCK_FUNCTION(iowrite32_rep, IOTALLY_COOKIE_TO, const void *, 4, count)

/* Copies by words: accesses of 4 and 8 bytes, whatever the length. */
IOTALLY_BLOCK_FUNCTION(__iowrite32_copy, IOTALLY_COOKIE_TO, const void *, 4, count)
IOTALLY_BLOCK_FUNCTION(__iowrite64_copy, IOTALLY_COOKIE_TO, const void *, 8, count)

static __always_inline void iotally___ioread32_copy(struct iotally_site *site, void *buffer,
						    const void __iomem *address, size_t count)
{
	unsigned long where = (__force unsigned long)address;
	u64 begin = iotally_before();

	__ioread32_copy(buffer, address, count);
	iotally_after(site, where, count, count * 4, 0, begin);
}

static __always_inline void iotally_memcpy_fromio(struct iotally_site *site, void *to,
						  IOTALLY_MEMORY from, size_t bytes)
{
	unsigned long where = (__force unsigned long)from;
	unsigned long number = iotally_copy_accesses(where, bytes);
	u64 begin = iotally_before();

	memcpy_fromio(to, from, bytes);
	iotally_after(site, where, number, bytes, 0, begin);
}

static __always_inline void iotally_memcpy_toio(struct iotally_site *site,
						IOTALLY_MEMORY_TO to, const void *from,
						size_t bytes)
{
	unsigned long where = (__force unsigned long)to;
	unsigned long number = iotally_copy_accesses(where, bytes);
	u64 begin = iotally_before();

	memcpy_toio(to, from, bytes);
	iotally_after(site, where, number, bytes, 0, begin);
}

static __always_inline void iotally_memset_io(struct iotally_site *site,
					      IOTALLY_MEMORY_TO to, int value, size_t bytes)
{
	unsigned long where = (__force unsigned long)to;
	unsigned long number = iotally_set_accesses(bytes);
	u64 begin = iotally_before();

	memset_io(to, value, bytes);
	iotally_after(site, where, number, bytes, value, begin);
}

/* From here on the names are ours. Only macros that count hold the text of the address. */
#undef readb
#define readb(address)	\
	iotally_readb(IOTALLY_REGISTER(readb, 1, MMIO, READ, #address), address)
#undef writeb
#define writeb(value, address)	\
	iotally_writeb(IOTALLY_REGISTER(writeb, 1, MMIO, WRITE, #address), value, address)
#undef readw
#define readw(address)	\
	iotally_readw(IOTALLY_REGISTER(readw, 2, MMIO, READ, #address), address)
#undef writew
#define writew(value, address)	\
	iotally_writew(IOTALLY_REGISTER(writew, 2, MMIO, WRITE, #address), value, address)
#undef readl
#define readl(address)	\
	iotally_readl(IOTALLY_REGISTER(readl, 4, MMIO, READ, #address), address)
#undef writel
#define writel(value, address)	\
	iotally_writel(IOTALLY_REGISTER(writel, 4, MMIO, WRITE, #address), value, address)
#ifdef readq
#undef readq
#define readq(address)	\
	iotally_readq(IOTALLY_REGISTER(readq, 8, MMIO, READ, #address), address)
#undef writeq
#define writeq(value, address)	\
	iotally_writeq(IOTALLY_REGISTER(writeq, 8, MMIO, WRITE, #address), value, address)
#endif
#undef readb_relaxed
#define readb_relaxed(address)	\
	iotally_readb_relaxed(IOTALLY_REGISTER(readb_relaxed, 1, MMIO, READ, #address), address)
#undef writeb_relaxed
#define writeb_relaxed(value, address)	\
	iotally_writeb_relaxed(	\
		IOTALLY_REGISTER(writeb_relaxed, 1, MMIO, WRITE, #address),	\
		value, address)
#undef readw_relaxed
#define readw_relaxed(address)	\
	iotally_readw_relaxed(IOTALLY_REGISTER(readw_relaxed, 2, MMIO, READ, #address), address)
#undef writew_relaxed
#define writew_relaxed(value, address)	\
	iotally_writew_relaxed(	\
		IOTALLY_REGISTER(writew_relaxed, 2, MMIO, WRITE, #address),	\
		value, address)
#undef readl_relaxed
#define readl_relaxed(address)	\
	iotally_readl_relaxed(IOTALLY_REGISTER(readl_relaxed, 4, MMIO, READ, #address), address)
#undef writel_relaxed
#define writel_relaxed(value, address)	\
	iotally_writel_relaxed(	\
		IOTALLY_REGISTER(writel_relaxed, 4, MMIO, WRITE, #address),	\
		value, address)
#ifdef readq
#undef readq_relaxed
#define readq_relaxed(address)	\
	iotally_readq_relaxed(IOTALLY_REGISTER(readq_relaxed, 8, MMIO, READ, #address), address)
#undef writeq_relaxed
#define writeq_relaxed(value, address)	\
	iotally_writeq_relaxed(	\
		IOTALLY_REGISTER(writeq_relaxed, 8, MMIO, WRITE, #address),	\
		value, address)
#endif
#undef __raw_readb
#define __raw_readb(address)	\
	iotally___raw_readb(IOTALLY_REGISTER(__raw_readb, 1, MMIO, READ, #address), address)
#undef __raw_writeb
#define __raw_writeb(value, address)	\
	iotally___raw_writeb(IOTALLY_REGISTER(__raw_writeb, 1, MMIO, WRITE, #address),	\
		value, address)
#undef __raw_readw
#define __raw_readw(address)	\
	iotally___raw_readw(IOTALLY_REGISTER(__raw_readw, 2, MMIO, READ, #address), address)
#undef __raw_writew
#define __raw_writew(value, address)	\
	iotally___raw_writew(IOTALLY_REGISTER(__raw_writew, 2, MMIO, WRITE, #address),	\
		value, address)
#undef __raw_readl
#define __raw_readl(address)	\
	iotally___raw_readl(IOTALLY_REGISTER(__raw_readl, 4, MMIO, READ, #address), address)
#undef __raw_writel
#define __raw_writel(value, address)	\
	iotally___raw_writel(IOTALLY_REGISTER(__raw_writel, 4, MMIO, WRITE, #address),	\
		value, address)
#ifdef readq
#undef __raw_readq
#define __raw_readq(address)	\
	iotally___raw_readq(IOTALLY_REGISTER(__raw_readq, 8, MMIO, READ, #address), address)
#undef __raw_writeq
#define __raw_writeq(value, address)	\
	iotally___raw_writeq(IOTALLY_REGISTER(__raw_writeq, 8, MMIO, WRITE, #address),	\
		value, address)
#endif
#undef inb
#define inb(port)	\
	iotally_inb(IOTALLY_REGISTER(inb, 1, PORT, READ, #port), port)
#undef outb
#define outb(value, port)	\
	iotally_outb(IOTALLY_REGISTER(outb, 1, PORT, WRITE, #port), value, port)
#undef inw
#define inw(port)	\
	iotally_inw(IOTALLY_REGISTER(inw, 2, PORT, READ, #port), port)
#undef outw
#define outw(value, port)	\
	iotally_outw(IOTALLY_REGISTER(outw, 2, PORT, WRITE, #port), value, port)
#undef inl
#define inl(port)	\
	iotally_inl(IOTALLY_REGISTER(inl, 4, PORT, READ, #port), port)
#undef outl
#define outl(value, port)	\
	iotally_outl(IOTALLY_REGISTER(outl, 4, PORT, WRITE, #port), value, port)
#undef inb_p
#define inb_p(port)	\
	iotally_inb_p(IOTALLY_REGISTER(inb_p, 1, PORT, READ, #port), port)
#undef outb_p
#define outb_p(value, port)	\
	iotally_outb_p(IOTALLY_REGISTER(outb_p, 1, PORT, WRITE, #port), value, port)
#undef inw_p
#define inw_p(port)	\
	iotally_inw_p(IOTALLY_REGISTER(inw_p, 2, PORT, READ, #port), port)
#undef outw_p
#define outw_p(value, port)	\
	iotally_outw_p(IOTALLY_REGISTER(outw_p, 2, PORT, WRITE, #port), value, port)
#undef inl_p
#define inl_p(port)	\
	iotally_inl_p(IOTALLY_REGISTER(inl_p, 4, PORT, READ, #port), port)
#undef outl_p
#define outl_p(value, port)	\
	iotally_outl_p(IOTALLY_REGISTER(outl_p, 4, PORT, WRITE, #port), value, port)
#undef ioread8
#define ioread8(address)	\
	iotally_ioread8(IOTALLY_REGISTER(ioread8, 1, EITHER, READ, #address), address)
#undef iowrite8
#define iowrite8(value, address)	\
	iotally_iowrite8(IOTALLY_REGISTER(iowrite8, 1, EITHER, WRITE, #address), value, address)
#undef ioread16
#define ioread16(address)	\
	iotally_ioread16(IOTALLY_REGISTER(ioread16, 2, EITHER, READ, #address), address)
#undef iowrite16
#define iowrite16(value, address)	\
	iotally_iowrite16(IOTALLY_REGISTER(iowrite16, 2, EITHER, WRITE, #address), value, address)
#undef ioread32
#define ioread32(address)	\
	iotally_ioread32(IOTALLY_REGISTER(ioread32, 4, EITHER, READ, #address), address)
#undef iowrite32
#define iowrite32(value, address)	\
	iotally_iowrite32(IOTALLY_REGISTER(iowrite32, 4, EITHER, WRITE, #address), value, address)
#undef ioread16be
#define ioread16be(address)	\
	iotally_ioread16be(IOTALLY_REGISTER(ioread16be, 2, EITHER, READ, #address), address)
#undef iowrite16be
#define iowrite16be(value, address)	\
	iotally_iowrite16be(IOTALLY_REGISTER(iowrite16be, 2, EITHER, WRITE, #address),	\
		value, address)
#undef ioread32be
#define ioread32be(address)	\
	iotally_ioread32be(IOTALLY_REGISTER(ioread32be, 4, EITHER, READ, #address), address)
#undef iowrite32be
#define iowrite32be(value, address)	\
	iotally_iowrite32be(IOTALLY_REGISTER(iowrite32be, 4, EITHER, WRITE, #address),	\
		value, address)
#ifdef ioread64_lo_hi
#undef ioread64_lo_hi
#define ioread64_lo_hi(address)	\
	iotally_ioread64_lo_hi(IOTALLY_REGISTER(ioread64_lo_hi, 8, EITHER, READ, #address), address)
#undef iowrite64_lo_hi
#define iowrite64_lo_hi(value, address)	\
	iotally_iowrite64_lo_hi(	\
		IOTALLY_REGISTER(iowrite64_lo_hi, 8, EITHER, WRITE, #address),	\
		value, address)
#endif
#ifdef ioread64_hi_lo
#undef ioread64_hi_lo
#define ioread64_hi_lo(address)	\
	iotally_ioread64_hi_lo(IOTALLY_REGISTER(ioread64_hi_lo, 8, EITHER, READ, #address), address)
#undef iowrite64_hi_lo
#define iowrite64_hi_lo(value, address)	\
	iotally_iowrite64_hi_lo(	\
		IOTALLY_REGISTER(iowrite64_hi_lo, 8, EITHER, WRITE, #address),	\
		value, address)
#endif
#ifdef ioread64be_lo_hi
#undef ioread64be_lo_hi
#define ioread64be_lo_hi(address)	\
	iotally_ioread64be_lo_hi(	\
		IOTALLY_REGISTER(ioread64be_lo_hi, 8, EITHER, READ, #address),	\
		address)
#undef iowrite64be_lo_hi
#define iowrite64be_lo_hi(value, address)	\
	iotally_iowrite64be_lo_hi(	\
		IOTALLY_REGISTER(iowrite64be_lo_hi, 8, EITHER, WRITE, #address),	\
		value, address)
#endif
#ifdef ioread64be_hi_lo
#undef ioread64be_hi_lo
#define ioread64be_hi_lo(address)	\
	iotally_ioread64be_hi_lo(	\
		IOTALLY_REGISTER(ioread64be_hi_lo, 8, EITHER, READ, #address),	\
		address)
#undef iowrite64be_hi_lo
#define iowrite64be_hi_lo(value, address)	\
	iotally_iowrite64be_hi_lo(	\
		IOTALLY_REGISTER(iowrite64be_hi_lo, 8, EITHER, WRITE, #address),	\
		value, address)
#endif
#if defined(CONFIG_GENERIC_IOMAP) && !defined(ioread64_lo_hi)
#undef __ioread64_lo_hi
#define __ioread64_lo_hi(address)	\
	iotally___ioread64_lo_hi(	\
		IOTALLY_REGISTER(__ioread64_lo_hi, 8, EITHER, READ, #address),	\
		address)
#undef __iowrite64_lo_hi
#define __iowrite64_lo_hi(value, address)	\
	iotally___iowrite64_lo_hi(	\
		IOTALLY_REGISTER(__iowrite64_lo_hi, 8, EITHER, WRITE, #address),	\
		value, address)
#undef __ioread64_hi_lo
#define __ioread64_hi_lo(address)	\
	iotally___ioread64_hi_lo(	\
		IOTALLY_REGISTER(__ioread64_hi_lo, 8, EITHER, READ, #address),	\
		address)
#undef __iowrite64_hi_lo
#define __iowrite64_hi_lo(value, address)	\
	iotally___iowrite64_hi_lo(	\
		IOTALLY_REGISTER(__iowrite64_hi_lo, 8, EITHER, WRITE, #address),	\
		value, address)
#undef __ioread64be_lo_hi
#define __ioread64be_lo_hi(address)	\
	iotally___ioread64be_lo_hi(	\
		IOTALLY_REGISTER(__ioread64be_lo_hi, 8, EITHER, READ, #address),	\
		address)
#undef __iowrite64be_lo_hi
#define __iowrite64be_lo_hi(value, address)	\
	iotally___iowrite64be_lo_hi(	\
		IOTALLY_REGISTER(__iowrite64be_lo_hi, 8, EITHER, WRITE, #address),	\
		value, address)
#undef __ioread64be_hi_lo
#define __ioread64be_hi_lo(address)	\
	iotally___ioread64be_hi_lo(	\
		IOTALLY_REGISTER(__ioread64be_hi_lo, 8, EITHER, READ, #address),	\
		address)
#undef __iowrite64be_hi_lo
#define __iowrite64be_hi_lo(value, address)	\
	iotally___iowrite64be_hi_lo(	\
		IOTALLY_REGISTER(__iowrite64be_hi_lo, 8, EITHER, WRITE, #address),	\
		value, address)
#endif
#undef insb
#define insb(port, buffer, count)	\
	iotally_insb(IOTALLY_SITE(insb, 1, PORT, READ, #port), port, buffer, count)
#undef outsb
#define outsb(port, buffer, count)	\
	iotally_outsb(IOTALLY_SITE(outsb, 1, PORT, WRITE, #port), port, buffer, count)
#undef insw
#define insw(port, buffer, count)	\
	iotally_insw(IOTALLY_SITE(insw, 2, PORT, READ, #port), port, buffer, count)
#undef outsw
#define outsw(port, buffer, count)	\
	iotally_outsw(IOTALLY_SITE(outsw, 2, PORT, WRITE, #port), port, buffer, count)
#undef insl
#define insl(port, buffer, count)	\
	iotally_insl(IOTALLY_SITE(insl, 4, PORT, READ, #port), port, buffer, count)
#undef outsl
#define outsl(port, buffer, count)	\
	iotally_outsl(IOTALLY_SITE(outsl, 4, PORT, WRITE, #port), port, buffer, count)
#undef insb_p
#define insb_p(port, buffer, count)	\
	iotally_insb_p(IOTALLY_SITE(insb_p, 1, PORT, READ, #port), port, buffer, count)
#undef outsb_p
#define outsb_p(port, buffer, count)	\
	iotally_outsb_p(IOTALLY_SITE(outsb_p, 1, PORT, WRITE, #port), port, buffer, count)
#undef insw_p
#define insw_p(port, buffer, count)	\
	iotally_insw_p(IOTALLY_SITE(insw_p, 2, PORT, READ, #port), port, buffer, count)
#undef outsw_p
#define outsw_p(port, buffer, count)	\
	iotally_outsw_p(IOTALLY_SITE(outsw_p, 2, PORT, WRITE, #port), port, buffer, count)
#undef insl_p
#define insl_p(port, buffer, count)	\
	iotally_insl_p(IOTALLY_SITE(insl_p, 4, PORT, READ, #port), port, buffer, count)
#undef outsl_p
#define outsl_p(port, buffer, count)	\
	iotally_outsl_p(IOTALLY_SITE(outsl_p, 4, PORT, WRITE, #port), port, buffer, count)
#undef readsb
#define readsb(address, buffer, count)	\
	iotally_readsb(IOTALLY_SITE(readsb, 1, MMIO, READ, #address), address, buffer, count)
#undef writesb
#define writesb(address, buffer, count)	\
	iotally_writesb(IOTALLY_SITE(writesb, 1, MMIO, WRITE, #address), address, buffer, count)
#undef readsw
#define readsw(address, buffer, count)	\
	iotally_readsw(IOTALLY_SITE(readsw, 2, MMIO, READ, #address), address, buffer, count)
#undef writesw
#define writesw(address, buffer, count)	\
	iotally_writesw(IOTALLY_SITE(writesw, 2, MMIO, WRITE, #address), address, buffer, count)
#undef readsl
#define readsl(address, buffer, count)	\
	iotally_readsl(IOTALLY_SITE(readsl, 4, MMIO, READ, #address), address, buffer, count)
#undef writesl
#define writesl(address, buffer, count)	\
	iotally_writesl(IOTALLY_SITE(writesl, 4, MMIO, WRITE, #address), address, buffer, count)
#ifdef readsq
#undef readsq
#define readsq(address, buffer, count)	\
	iotally_readsq(IOTALLY_SITE(readsq, 8, MMIO, READ, #address), address, buffer, count)
#undef writesq
#define writesq(address, buffer, count)	\
	iotally_writesq(IOTALLY_SITE(writesq, 8, MMIO, WRITE, #address), address, buffer, count)
#endif
#undef ioread8_rep
#define ioread8_rep(address, buffer, count)	\
	iotally_ioread8_rep(IOTALLY_SITE(ioread8_rep, 1, EITHER, READ, #address),	\
		address, buffer, count)
#undef iowrite8_rep
#define iowrite8_rep(address, buffer, count)	\
	iotally_iowrite8_rep(IOTALLY_SITE(iowrite8_rep, 1, EITHER, WRITE, #address),	\
		address, buffer, count)
#undef ioread16_rep
#define ioread16_rep(address, buffer, count)	\
	iotally_ioread16_rep(IOTALLY_SITE(ioread16_rep, 2, EITHER, READ, #address),	\
		address, buffer, count)
#undef iowrite16_rep
#define iowrite16_rep(address, buffer, count)	\
	iotally_iowrite16_rep(IOTALLY_SITE(iowrite16_rep, 2, EITHER, WRITE, #address),	\
		address, buffer, count)
#undef ioread32_rep
#define ioread32_rep(address, buffer, count)	\
	iotally_ioread32_rep(IOTALLY_SITE(ioread32_rep, 4, EITHER, READ, #address),	\
		address, buffer, count)
#undef iowrite32_rep
#define iowrite32_rep(address, buffer, count)	\
	iotally_iowrite32_rep(IOTALLY_SITE(iowrite32_rep, 4, EITHER, WRITE, #address),	\
		address, buffer, count)
#undef __iowrite32_copy
#define __iowrite32_copy(address, buffer, count)	\
	iotally___iowrite32_copy(	\
		IOTALLY_SITE(__iowrite32_copy, 4, MMIO, WRITE, #address),	\
		address, buffer, count)
#undef __iowrite64_copy
#define __iowrite64_copy(address, buffer, count)	\
	iotally___iowrite64_copy(	\
		IOTALLY_SITE(__iowrite64_copy, 8, MMIO, WRITE, #address),	\
		address, buffer, count)
#undef __ioread32_copy
#define __ioread32_copy(buffer, address, count)	\
	iotally___ioread32_copy(IOTALLY_SITE(__ioread32_copy, 4, MMIO, READ, #address),	\
		buffer, address, count)
#undef memcpy_fromio
#define memcpy_fromio(to, from, bytes)	\
	iotally_memcpy_fromio(IOTALLY_SITE(memcpy_fromio, 0, MMIO, READ, #from), to, from, bytes)
#undef memcpy_toio
#define memcpy_toio(to, from, bytes)	\
	iotally_memcpy_toio(IOTALLY_SITE(memcpy_toio, 0, MMIO, WRITE, #to), to, from, bytes)
#undef memset_io
#define memset_io(to, value, bytes)	\
	iotally_memset_io(IOTALLY_SITE(memset_io, 0, MMIO, WRITE, #to), to, value, bytes)

#endif
