/* SPDX-License-Identifier: GPL-2.0-only */
/* How the units reach a device: registers and streaming mappings, or a fake. */
#ifndef RINGSIDE_ACCESS_H
#define RINGSIDE_ACCESS_H

#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/skbuff.h>

struct rs_access;

/* A fake's registers. The driver has none: a direct call is cheaper. */
struct rs_access_ops {
	u32 (*read)(struct rs_access *access, u32 reg, unsigned int bytes);
	void (*write)(struct rs_access *access, u32 reg, u32 value,
		      unsigned int bytes);
};

struct rs_access {
	void __iomem *mmio;	/* NULL: by port, or a fake */
	unsigned long port;	/* first I/O port, 0 if the chip has none */
	const struct rs_access_ops *fake;
};

/* Memory is the hot one: everything else stays out of line. */
#define RS_DEFINE_ACCESS(bits, r, w, in, out)				\
static noinline __maybe_unused						\
u##bits rs_read##bits##_other(struct rs_access *access, u32 reg)	\
{									\
	if (access->fake)						\
		return access->fake->read(access, reg, sizeof(u##bits));	\
	return in(access->port + reg);					\
}									\
									\
static noinline __maybe_unused						\
void rs_write##bits##_other(struct rs_access *access, u32 reg,		\
			    u##bits value)				\
{									\
	if (access->fake)						\
		access->fake->write(access, reg, value, sizeof(u##bits));	\
	else								\
		out(value, access->port + reg);				\
}									\
									\
static inline u##bits rs_read##bits(struct rs_access *access, u32 reg)	\
{									\
	if (unlikely(!access->mmio))					\
		return rs_read##bits##_other(access, reg);		\
	return r(access->mmio + reg);					\
}									\
									\
static inline void rs_write##bits(struct rs_access *access, u32 reg,	\
				  u##bits value)			\
{									\
	if (unlikely(!access->mmio))					\
		rs_write##bits##_other(access, reg, value);		\
	else								\
		w(value, access->mmio + reg);				\
}

RS_DEFINE_ACCESS(8, readb, writeb, inb, outb)
RS_DEFINE_ACCESS(16, readw, writew, inw, outw)
RS_DEFINE_ACCESS(32, readl, writel, inl, outl)

struct rs_dma;

/* A fake's mappings, with the DMA API's meaning; -ENOMEM when map fails. */
struct rs_dma_ops {
	int (*map)(struct rs_dma *dma, struct page *page, size_t offset,
		   size_t size, enum dma_data_direction dir, dma_addr_t *addr);
	void (*unmap)(struct rs_dma *dma, dma_addr_t addr, size_t size,
		      enum dma_data_direction dir, bool page);
	void (*sync)(struct rs_dma *dma, dma_addr_t addr, size_t size,
		     enum dma_data_direction dir, bool to_device);
	/* a mapped page of the pool, and one given back */
	struct page *(*pool_get)(struct rs_dma *dma, dma_addr_t *addr);
	void (*pool_put)(struct rs_dma *dma, struct page *page);
};

struct rs_dma {
	struct device *dev;
	const struct rs_dma_ops *fake;
};

#endif
