/* SPDX-License-Identifier: GPL-2.0-only */
/* Counted accessors of the PCI configuration space: what include/linux/pci.h adds. */
#ifndef IOTALLY_ACCESSORS_PCI_H
#define IOTALLY_ACCESSORS_PCI_H

#include "iotally.h"

/* They are slow as they are: all are counted by the slow way. */
#define IOTALLY_CONFIG_FUNCTION(op, device_type, value_type, size, value)	\
static __always_inline int iotally_##op(struct iotally_site *site, device_type device, \
					int where, value_type data)		\
{										\
	u64 begin = iotally_before();				\
	int error = op(device, where, data);					\
										\
	iotally_after(site, where, 1, size, value, begin);			\
	return error;								\
}

/* Read, change and write: two accesses, and so two sites of one line. */
#define IOTALLY_CONFIG_CHANGE(op, type)						\
static __always_inline int iotally_##op(struct iotally_site *read, struct iotally_site *write, \
					struct pci_dev *device, int where, type clear, type set) \
{										\
	u64 begin = iotally_before();				\
	int error = op(device, where, clear, set);				\
										\
	iotally_after(read, where, 1, sizeof(type), 0, begin);			\
	begin = iotally_before();				\
	iotally_after(write, where, 1, sizeof(type), set, begin);		\
	return error;								\
}

#define IOTALLY_CONFIG_CHANGE_ONE(op, type)					\
static __always_inline int iotally_##op(struct iotally_site *read, struct iotally_site *write, \
					struct pci_dev *device, int where, type bits) \
{										\
	u64 begin = iotally_before();				\
	int error = op(device, where, bits);					\
										\
	iotally_after(read, where, 1, sizeof(type), 0, begin);			\
	begin = iotally_before();				\
	iotally_after(write, where, 1, sizeof(type), bits, begin);		\
	return error;								\
}

IOTALLY_CONFIG_FUNCTION(pci_read_config_byte, const struct pci_dev *, u8 *, 1, *data)
IOTALLY_CONFIG_FUNCTION(pci_write_config_byte, const struct pci_dev *, u8, 1, data)
IOTALLY_CONFIG_FUNCTION(pci_read_config_word, const struct pci_dev *, u16 *, 2, *data)
IOTALLY_CONFIG_FUNCTION(pci_write_config_word, const struct pci_dev *, u16, 2, data)
IOTALLY_CONFIG_FUNCTION(pci_read_config_dword, const struct pci_dev *, u32 *, 4, *data)
IOTALLY_CONFIG_FUNCTION(pci_write_config_dword, const struct pci_dev *, u32, 4, data)
IOTALLY_CONFIG_FUNCTION(pcie_capability_read_word, struct pci_dev *, u16 *, 2, *data)
IOTALLY_CONFIG_FUNCTION(pcie_capability_write_word, struct pci_dev *, u16, 2, data)
IOTALLY_CONFIG_FUNCTION(pcie_capability_read_dword, struct pci_dev *, u32 *, 4, *data)
IOTALLY_CONFIG_FUNCTION(pcie_capability_write_dword, struct pci_dev *, u32, 4, data)
IOTALLY_CONFIG_CHANGE(pcie_capability_clear_and_set_word, u16)
IOTALLY_CONFIG_CHANGE_ONE(pcie_capability_set_word, u16)
IOTALLY_CONFIG_CHANGE_ONE(pcie_capability_clear_word, u16)
IOTALLY_CONFIG_CHANGE(pcie_capability_clear_and_set_dword, u32)
IOTALLY_CONFIG_CHANGE_ONE(pcie_capability_set_dword, u32)
IOTALLY_CONFIG_CHANGE_ONE(pcie_capability_clear_dword, u32)

#undef pci_read_config_byte
#define pci_read_config_byte(device, where, data)	\
	iotally_pci_read_config_byte(	\
		IOTALLY_SITE(pci_read_config_byte, 1, CONFIG, READ, #where),	\
		device, where, data)
#undef pci_write_config_byte
#define pci_write_config_byte(device, where, data)	\
	iotally_pci_write_config_byte(	\
		IOTALLY_SITE(pci_write_config_byte, 1, CONFIG, WRITE, #where),	\
		device, where, data)
#undef pci_read_config_word
#define pci_read_config_word(device, where, data)	\
	iotally_pci_read_config_word(	\
		IOTALLY_SITE(pci_read_config_word, 2, CONFIG, READ, #where),	\
		device, where, data)
#undef pci_write_config_word
#define pci_write_config_word(device, where, data)	\
	iotally_pci_write_config_word(	\
		IOTALLY_SITE(pci_write_config_word, 2, CONFIG, WRITE, #where),	\
		device, where, data)
#undef pci_read_config_dword
#define pci_read_config_dword(device, where, data)	\
	iotally_pci_read_config_dword(	\
		IOTALLY_SITE(pci_read_config_dword, 4, CONFIG, READ, #where),	\
		device, where, data)
#undef pci_write_config_dword
#define pci_write_config_dword(device, where, data)	\
	iotally_pci_write_config_dword(	\
		IOTALLY_SITE(pci_write_config_dword, 4, CONFIG, WRITE, #where),	\
		device, where, data)
#undef pcie_capability_read_word
#define pcie_capability_read_word(device, where, data)	\
	iotally_pcie_capability_read_word(	\
		IOTALLY_SITE(pcie_capability_read_word, 2, CONFIG, READ, #where),	\
		device, where, data)
#undef pcie_capability_write_word
#define pcie_capability_write_word(device, where, data)	\
	iotally_pcie_capability_write_word(	\
		IOTALLY_SITE(pcie_capability_write_word, 2, CONFIG, WRITE, #where),	\
		device, where, data)
#undef pcie_capability_read_dword
#define pcie_capability_read_dword(device, where, data)	\
	iotally_pcie_capability_read_dword(	\
		IOTALLY_SITE(pcie_capability_read_dword, 4, CONFIG, READ, #where),	\
		device, where, data)
#undef pcie_capability_write_dword
#define pcie_capability_write_dword(device, where, data)	\
	iotally_pcie_capability_write_dword(	\
		IOTALLY_SITE(pcie_capability_write_dword, 4, CONFIG, WRITE, #where),	\
		device, where, data)
#undef pcie_capability_clear_and_set_word
#define pcie_capability_clear_and_set_word(device, where, clear, set)	\
	iotally_pcie_capability_clear_and_set_word(	\
		IOTALLY_SITE(pcie_capability_clear_and_set_word, 2, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_clear_and_set_word, 2, CONFIG, WRITE, #where),	\
		device, where, clear, set)
#undef pcie_capability_clear_and_set_dword
#define pcie_capability_clear_and_set_dword(device, where, clear, set)	\
	iotally_pcie_capability_clear_and_set_dword(	\
		IOTALLY_SITE(pcie_capability_clear_and_set_dword, 4, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_clear_and_set_dword, 4, CONFIG, WRITE, #where),	\
		device, where, clear, set)
#undef pcie_capability_set_word
#define pcie_capability_set_word(device, where, bits)	\
	iotally_pcie_capability_set_word(	\
		IOTALLY_SITE(pcie_capability_set_word, 2, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_set_word, 2, CONFIG, WRITE, #where),	\
		device, where, bits)
#undef pcie_capability_clear_word
#define pcie_capability_clear_word(device, where, bits)	\
	iotally_pcie_capability_clear_word(	\
		IOTALLY_SITE(pcie_capability_clear_word, 2, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_clear_word, 2, CONFIG, WRITE, #where),	\
		device, where, bits)
#undef pcie_capability_set_dword
#define pcie_capability_set_dword(device, where, bits)	\
	iotally_pcie_capability_set_dword(	\
		IOTALLY_SITE(pcie_capability_set_dword, 4, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_set_dword, 4, CONFIG, WRITE, #where),	\
		device, where, bits)
#undef pcie_capability_clear_dword
#define pcie_capability_clear_dword(device, where, bits)	\
	iotally_pcie_capability_clear_dword(	\
		IOTALLY_SITE(pcie_capability_clear_dword, 4, CONFIG, READ, #where),	\
		IOTALLY_SITE(pcie_capability_clear_dword, 4, CONFIG, WRITE, #where),	\
		device, where, bits)

#endif
