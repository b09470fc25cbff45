/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest without an operating system whose every count is known by
 * construction: test_plugin.py holds them, function by function.
 *
 * 32-bit multiboot image, flat segments, pages of 4 MiB. Code below 0x200000
 * is "user" code, functions from there on are the "kernel" (kernel_start=).
 * 0xd0000000 maps 0xfec00000: IOAPIC, and HPET at 0xd0100000. 0xa0000000 is
 * mapped by the page fault handler alone.
 */
#define MARK_START	.byte 0x0f, 0x1f, 0x80; .long 0x52530001
#define MARK_STOP	.byte 0x0f, 0x1f, 0x80; .long 0x52530002

#define IOAPIC		0xd0000000
#define HPET		0xd0100000
#define UNMAPPED	0xa0000000

#define PTE_PRESENT_RW	0x03
#define PTE_NOCACHE	0x10
#define PTE_4MIB	0x80

#define PIC_COMMAND	0x20
#define PIC_DATA	0x21
#define PIT_DATA	0x40
#define PIT_COMMAND	0x43
#define PORT_DEBUGCON	0xe9
#define PORT_EXIT	0xf4

	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002

	.text
	.global _start
_start:
	cli
	mov $stack_top, %esp
	call set_up_pages
	call set_up_traps

	/* Window 1: everything that is known exactly. */
	MARK_START
	call k_loop
	call k_walk
	call k_walk
	call k_split
	call k_mmio
	call k_mmio_rep
	call k_fault
	call k_invalid
	call k_rep
	call k_page_end
	call polls
	MARK_STOP
	/* Not in any window. */
	call k_loop

	/* Window 2: the clock says how many instructions there were. */
	call set_up_timer
	MARK_START
	call k_timed
	MARK_STOP
	cli
	mov $ticks_taken, %esi
	mov $4, %ecx
	mov $PORT_DEBUGCON, %edx
	rep outsb

	/* Window 3 begins anew after a warm-up. */
	MARK_START
	call k_split
	call k_loop
	MARK_START
	call k_split
	MARK_STOP

	/* Window 4: a device writes 2 of 4 lines that are cached. */
	MARK_START
	call k_buffer
	call k_buffer
	mov $buffer + 70, %edi
	mov $122, %esi
	call k_dma
	call k_buffer
	MARK_STOP

	mov $0, %al
	outb %al, $PORT_EXIT
	hlt

/* Three polls of A with 3, 0 and 3 packets, one of B with 1, one of neither with 2. */
polls:
	call k_packet
	mov $napi_a + 4, %eax
	mov $k_driver, %edx
	mov $3, %ecx
	call k_poll
	/* After a poll: not its packet. */
	call k_packet
	mov $napi_a + 4, %eax
	xor %ecx, %ecx
	call k_poll
	call k_packet
	mov $napi_a, %eax
	mov $k_driver_interrupted, %edx
	mov $3, %ecx
	call k_poll
	mov $napi_b, %eax
	mov $k_driver, %edx
	mov $1, %ecx
	call k_poll
	mov $outside_napi, %eax
	mov $2, %ecx
	call k_poll

	mov $desc_a, %eax
	call k_irq
	mov $desc_b, %eax
	call k_irq
	call k_irq
	ret

set_up_pages:
	mov $page_directory, %edi
	mov $PTE_PRESENT_RW | PTE_4MIB, %eax
1:	mov %eax, (%edi)
	add $4, %edi
	add $0x400000, %eax
	jnc 1b
	movl $0xfec00000 + PTE_PRESENT_RW + PTE_NOCACHE + PTE_4MIB, page_directory + (IOAPIC >> 20)
	movl $0, page_directory + (UNMAPPED >> 20)
	mov $page_directory, %eax
	mov %eax, %cr3
	mov %cr4, %eax
	or $0x10, %eax
	mov %eax, %cr4
	mov %cr0, %eax
	or $0x80000000, %eax
	mov %eax, %cr0
	ret

	/* A 32-bit interrupt gate of ring 0 in code segment 8 */
	.macro set_gate vector, handler
	mov $\handler, %eax
	mov %ax, idt + 8 * \vector
	movw $8, idt + 8 * \vector + 2
	movw $0x8e00, idt + 8 * \vector + 4
	shr $16, %eax
	mov %ax, idt + 8 * \vector + 6
	.endm

set_up_traps:
	lgdt gdt_pointer
	ljmp $8, $1f
1:	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	set_gate 6, k_invalid_handler
	set_gate 14, k_fault_handler
	set_gate 0x20, k_timer_handler
	lidt idt_pointer
	ret

	.macro out port, value
	mov $\value, %al
	outb %al, $\port
	.endm

/* Interrupt 0x20 every 1000 cycles of the PIT, about 0.84 ms. */
set_up_timer:
	out PIC_COMMAND, 0x11
	out PIC_DATA, 0x20
	out PIC_DATA, 0x04
	out PIC_DATA, 0x01
	out PIC_DATA, 0xfe
	out PIT_COMMAND, 0x34
	out PIT_DATA, 1000 & 0xff
	out PIT_DATA, 1000 >> 8
	ret

	.section .kernel, "ax"

k_loop:
	mov $1000, %ecx
1:	dec %ecx
	jnz 1b
	ret

/* 64 KiB: twice the L1d cache, and within L2. */
k_walk:
	mov $array, %eax
	mov $1024, %ecx
1:	mov (%eax), %edx
	add $64, %eax
	dec %ecx
	jnz 1b
	ret

/* Each store lies in two lines, of which the load has just brought in the first. */
k_split:
	mov $split_array + 62, %eax
	mov $10, %ecx
1:	mov -62(%eax), %ebx
	mov %edx, (%eax)
	add $128, %eax
	dec %ecx
	jnz 1b
	ret

/* Accesses in the middle of a block: with icount QEMU starts each of them again. */
k_mmio:
	mov $IOAPIC, %edi
	mov $50, %ecx
1:	add $1, %eax
	movl $1, (%edi)
	add $1, %ebx
	mov 0x10(%edi), %edx
	add $1, %ebx
	orl $0, (%edi)
	dec %ecx
	jnz 1b
	ret

k_mmio_rep:
	mov $HPET, %esi
	mov $copy_to, %edi
	mov $3, %ecx
	rep movsl
	ret

k_fault:
	mov $1, %eax
	add %eax, %edx
	mov UNMAPPED, %eax
	add %eax, %edx
	ret

/* Map the page, drop the error code, and try again. */
k_fault_handler:
	movl $PTE_PRESENT_RW | PTE_4MIB, page_directory + (UNMAPPED >> 20)
	add $4, %esp
	iret

k_invalid:
	mov $1, %eax
	ud2
	add %eax, %edx
	ret

k_invalid_handler:
	addl $2, (%esp)
	iret

k_rep:
	mov $array, %esi
	mov $copy_to, %edi
	mov $100, %ecx
	rep movsb
	ret

/* The last instruction before the ret reaches into the next page. */
	.balign 4096
	.skip 4096 - 13
k_page_end:
	mov $7, %eax
	add %eax, %edx
	add %edx, %eax
	mov page_end_word, %ecx
	ret

/* %eax: struct napi, %edx: the driver's poll function, %ecx: packets */
k_poll:
	push %ebx
	mov (%eax), %ebx
	call *%edx
	pop %ebx
	jmp k_return_thunk

k_return_thunk:
	ret

k_driver:
	jecxz 2f
1:	call k_packet
	dec %ecx
	jnz 1b
2:	ret

/* An interrupt of another device, which hands up a frame of its own. */
k_driver_interrupted:
	push %eax
	mov $desc_a, %eax
	call k_irq
	pop %eax
	jmp k_driver

k_packet:
	incl packets
	ret

/* %eax: struct irq_desc */
k_irq:
	push %ebx
	mov (%eax), %ebx
	mov (%ebx), %ebx
	call k_packet
	pop %ebx
	ret

/* Spin until 20 timer interrupts have come, and take the time. */
k_timed:
	sti
	rdtsc
	mov %eax, %esi
1:	mov ticks, %ecx
	imul %ecx, %edx
	cmp $20, %ecx
	jb 1b
	rdtsc
	sub %esi, %eax
	mov %eax, ticks_taken
	ret

/* Loads the 4 lines of the buffer. */
k_buffer:
	mov buffer, %eax
	mov buffer + 64, %eax
	mov buffer + 128, %eax
	mov buffer + 192, %eax
	ret

/* %edi: physical address that a device wrote to, %esi: how many bytes */
k_dma:
	ret

k_timer_handler:
	push %eax
	incl ticks
	out PIC_COMMAND, 0x20
	pop %eax
	iret
k_end:

	.data
	.balign 8
gdt:
	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	.word . - gdt - 1
	.long gdt
idt_pointer:
	.word 8 * 0x21 - 1
	.long idt

	/* One line for each, so that a first access misses. */
	.balign 64
napi_a:	.skip 64
napi_b:	.skip 64
outside_napi:
	.skip 64
	.balign 64
desc_a:	.long action
	.balign 64
desc_b:	.long action
	.balign 64
action:	.long 0
	.balign 64
page_end_word:
	.long 0
	.balign 64
packets:
	.long 0
	.balign 64
ticks:	.long 0
ticks_taken:
	.long 0
	.balign 64

	.bss
	.balign 4096
page_directory:
	.skip 4096
idt:	.skip 8 * 0x21
	.balign 4096
array:	.skip 65536
split_array:
	.skip 128 * 10 + 128
copy_to:
	.skip 128
	.balign 4096
	.skip 4096
stack_top:
	.skip 64
	.balign 64
buffer:	.skip 256
