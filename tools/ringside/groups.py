# SPDX-License-Identifier: GPL-2.0-only
"""Which part of the receive and transmit path a kernel function belongs to."""

import functools
import re

DRIVER = "driver"
OTHER = "other"
GROUPS = (
    DRIVER,
    "net core",
    "skb and page allocation",
    "DMA mapping",
    "copy",
    "interrupt entry",
    OTHER,
)

# What counting and the bus model cost in a counted guest: no cost of the driver.
_COUNTER = "iotally"
_BUS_WAIT = "iotally_bus_wait"
COUNTING = ("counting", "bus")

# First match wins, so the narrow groups stand before the wide ones. Names are
# those of kernels 6.1 to 7.3; a compiler's suffix (.constprop.0) is cut before.
_PATTERNS = [
    # Built into some kernels, a module of the driver's in others.
    (DRIVER, r"virtqueue_|vring_|vp_|virtio_"),
    (
        "DMA mapping",
        r"dma_|__?dma_|iommu_|swiotlb_|debug_dma_|pci_dma_|__phys_addr|is_swiotlb|"
        # Whether memory is encrypted is asked for each mapping.
        r"force_dma_unencrypted|(amd_|intel_)?cc_platform_has",
    ),
    (
        "copy",
        r"_?_?memcpy|_?_?memmove|_?_?memset|rep_movs|rep_stos|copy_|_copy_|__copy_|"
        r"skb_copy_|csum_|clear_(high)?page|kernel_init_pages|"
        r"__check_object_size|__check_heap_object|"
        r"check_heap_object|check_stack_object|__virt_addr_valid|is_vmalloc_addr",
    ),
    (
        "skb and page allocation",
        r"(__)?(napi_|netdev_|dev_)?(alloc|build)_skb|__?alloc_skb|napi_build_skb|"
        r"__napi_build_skb|__build_skb|kmem_cache|_*kmalloc|_*kfree|_*kvfree|_*slab|"
        r"slub|_*free_(unref_)?page|_*alloc_pages|_*alloc_frozen|_*get_free_pages|"
        r"_*free_frozen|free_one_page|get_page_from|get_page_frag|prep_new_page|"
        r"post_alloc_hook|rmqueue|_*page_frag|page_pool|skb_release|skb_free|"
        r"__kfree_skb|consume_skb|napi_consume|kfree_skb|sk_skb_reason|"
        r"skb_release_data|__finalize_skb|kmalloc_reserve|get_partial|put_cpu_partial|"
        r"new_slab|allocate_slab|shuffle_freelist|setup_object|init_on|"
        r"napi_skb_cache|_*napi_alloc|_*netdev_alloc|skb_page_frag|"
        r"_*mod_(zone|node|memcg|lruvec)|"
        r"__rmqueue|__put_page|_*put_page|page_address|memcg_|mem_cgroup|obj_cgroup|"
        r"refill_obj|drain_obj|free_pcp|__free_one|_*zone_watermark|should_fail_alloc|"
        r"__fragment_alloc|get_random_u|next_freelist|___?cache_|_*folio_|"
        r"build_detached_freelist|free_tail_page|prep_compound|get_pfnblock|"
        r"cond_accept_memory|policy_node|__pcs_|barn_|__nr_to_section",
    ),
    (
        "interrupt entry",
        r"asm_(common|sysvec)|common_interrupt|__common_interrupt|error_entry|"
        r"error_return|sysvec_|(raw_)?irqentry_|irq_|"
        r"_*handle_(fasteoi|edge|irq|softirq)|"
        r"generic_handle|_*do_softirq|__irq_|__softirq|raise_softirq|note_interrupt|"
        r"(native_)?apic_|ioapic_|io_apic|ack_|unmask_|mask_|mask_ioapic|irqd_|"
        r"add_interrupt_randomness|fast_mix|sync_regs|native_apic|lapic|"
        r"restore_regs|common_interrupt_return|swapgs|rcu_irq|ct_irq|rcu_nmi|"
        r"idle_cpu|enter_from_user|irqtime|__raise_softirq|msi_|pci_msi|"
        r"x2apic|handle_edge|native_eoi|ksoftirqd|wakeup_softirqd|__flush_smp|"
        r"native_irq_return|early_xen_iret|mix_interrupt_randomness",
    ),
    (
        "net core",
        r"_*netif|_*napi|net_rx|net_tx|__?dev_|dev_|_*netdev|eth_|skb_|__skb|___?pskb|"
        r"pskb|__net|gro_|inet_gro|ip_rcv|ip_|ipv6_|arp_|packet_|tpacket|__packet|"
        r"sock_|sk_|_*sock|__sys_send|__x64_sys_send|__sys_recv|validate_xmit|"
        r"dql_|qdisc|sch_|generic_xdp|do_xdp|process_backlog|enqueue_to_backlog|"
        r"enqueue_backlog|get_rps|prb_|bpf_prog|sk_filter|flow_|llc_|vlan_|"
        r"ptype_|deliver_|passthru|__?local_bh|harmonize|dev_kfree|ktime_get|"
        r"__?qdisc|pfifo|xdp_|page_to_skb|passthru_features|linkwatch|mii_|"
        r"phy_|ethtool|rtnl|security_socket|security_sock|aa_sk|aa_label|apparmor_sock|"
        r"tomoyo_socket|hook_socket|bpf_lsm_socket|xfrm_|import_ubuf|__rcv|busy_poll|tcp_|udp_|"
        r"raw_(rcv|send|recv|local|v4|v6)|__usecs_to_jiffies|"
        # net_rx_action() of 7.x looks for freed packets of every memory node.
        r"_find_(first|next)_bit",
    ),
]


@functools.cache
def _compiled() -> list[tuple[str, re.Pattern[str]]]:
    return [(group, re.compile(pattern)) for group, pattern in _PATTERNS]


def group_of(module: str | None, function: str, driver_modules: frozenset[str]) -> str:
    """The group of a function; driver_modules are the driver under test and its helpers."""
    if module == _COUNTER:
        return COUNTING[function == _BUS_WAIT]
    if module in driver_modules:
        return DRIVER
    return _by_name(function.split(".")[0])


@functools.lru_cache(maxsize=None)
def _by_name(name: str) -> str:
    for group, pattern in _compiled():
        if pattern.match(name):
            return group
    return OTHER
