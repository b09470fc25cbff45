# SPDX-License-Identifier: GPL-2.0-only
"""Functions of real kernels, 6.1 to 7.x, and the part of the path they belong to."""

import json
from pathlib import Path

import pytest

from ringside import groups

# pylint: disable=protected-access

SCHEMA = Path(__file__).resolve().parents[1] / "docs/results.schema.json"

# Seen in windows of the lab, under the names of one kernel or another.
FUNCTIONS = {
    "net core": """
        napi_gro_receive dev_gro_receive gro_normal_list netif_receive_skb_list_internal
        __netif_receive_skb_core __netif_receive_skb_one_core netif_rx netif_rx_internal
        enqueue_to_backlog process_backlog net_rx_action net_tx_action __napi_poll
        __napi_schedule napi_complete_done napi_schedule_prep eth_type_trans skb_put
        skb_clone __skb_flow_dissect dev_hard_start_xmit __dev_direct_xmit
        __dev_queue_xmit validate_xmit_skb tpacket_rcv packet_lookup_frame packet_rcv
        packet_sendmsg packet_direct_xmit sock_def_readable sock_wfree sk_filter_trim_cap
        dql_completed netif_tx_wake_queue __local_bh_enable_ip ip_rcv ipv6_rcv arp_rcv
        ktime_get_with_offset __sys_sendto __x64_sys_sendto deliver_skb
        llc_rcv vlan_do_receive bpf_prog_run_generic_xdp raw_local_deliver raw_v4_input
        napi_get_frags mii_check_link phy_print_status skb_defer_free_flush
        _find_next_bit _find_first_bit __usecs_to_jiffies xfrm_dev_backlog
        hook_socket_sendmsg bpf_lsm_socket_sendmsg
    """,
    "skb and page allocation": """
        __alloc_skb napi_alloc_skb __napi_alloc_skb __netdev_alloc_skb netdev_alloc_frag
        __netdev_alloc_frag_align napi_alloc_frag __napi_alloc_frag_align
        build_skb __build_skb __build_skb_around napi_build_skb __napi_build_skb
        kmem_cache_alloc_node kmem_cache_alloc_node_noprof kmem_cache_free
        kmem_cache_alloc_lru __kmalloc_node_track_caller __kmalloc_noprof kfree kvfree
        kmalloc_reserve ___slab_alloc __slab_free slab_pre_alloc_hook
        put_cpu_partial get_partial_node allocate_slab skb_release_data skb_free_head
        skb_release_head_state kfree_skbmem kfree_skb_reason sk_skb_reason_drop
        consume_skb napi_consume_skb napi_skb_cache_put skb_page_frag_refill
        page_frag_alloc_align __page_frag_alloc_align page_frag_free page_pool_alloc_pages
        page_pool_put_unrefed_netmem __alloc_pages __alloc_pages_noprof
        __alloc_frozen_pages_noprof alloc_pages_mpol get_page_from_freelist
        rmqueue_bulk __rmqueue_pcplist free_unref_page free_unref_page_commit
        free_frozen_pages __free_pages free_pcppages_bulk __mod_zone_page_state
        __mod_node_page_state mod_memcg_state __folio_put put_page
        __zone_watermark_ok zone_watermark_fast build_detached_freelist
        free_tail_page_prepare prep_compound_page get_pfnblock_flags_mask
        cond_accept_memory policy_nodemask prep_new_page post_alloc_hook
        obj_cgroup_charge refill_obj_stock get_random_u32
        __free_frozen_pages free_frozen_page_commit __pcs_replace_full_main
        barn_replace_empty_sheaf barn_replace_full_sheaf __nr_to_section
    """,
    "DMA mapping": """
        dma_map_page_attrs dma_unmap_page_attrs dma_sync_single_for_cpu
        __dma_sync_single_for_device dma_alloc_attrs dma_direct_map_page
        iommu_dma_map_page swiotlb_map is_swiotlb_active debug_dma_map_page
        dma_direct_map_phys force_dma_unencrypted cc_platform_has amd_cc_platform_has
    """,
    "copy": """
        memcpy __memcpy memcpy_orig memcpy_erms memset memset_orig __memset memmove
        memcpy_fromio rep_movs_alternative copy_user_generic_string _copy_from_iter
        _copy_to_iter copy_page_to_iter skb_copy_bits skb_copy_datagram_iter
        skb_copy_datagram_from_iter csum_partial csum_partial_copy_generic
        __check_object_size check_heap_object clear_page_rep clear_page_erms
        clear_highpages_kasan_tagged kernel_init_pages
    """,
    "interrupt entry": """
        asm_common_interrupt common_interrupt __common_interrupt common_interrupt_return
        asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt error_entry
        error_return irqentry_enter irqentry_exit irq_enter_rcu irq_exit_rcu
        __irq_exit_rcu irq_entries_start handle_fasteoi_irq handle_edge_irq
        handle_irq_event __handle_irq_event_percpu handle_softirqs __do_softirq
        do_softirq raise_softirq_irqoff __raise_softirq_irqoff note_interrupt
        ioapic_ack_level apic_ack_edge apic_ack_irq native_apic_mem_eoi
        native_apic_mem_write apic_mem_wait_icr_idle mask_ioapic_irq unmask_ioapic_irq
        irqd_cfg irq_chip_ack_parent add_interrupt_randomness mix_interrupt_randomness
        fast_mix sync_regs restore_regs_and_return_to_kernel native_irq_return_iret
        early_xen_iret_patch idle_cpu msi_set_mask_bit pci_msi_mask_irq
        raw_irqentry_exit_cond_resched irq_can_handle_pm
    """,
    "other": """
        schedule __schedule default_idle_call do_idle _raw_spin_lock
        _raw_spin_unlock_irqrestore raw_spin_rq_lock_nested raw_notifier_call_chain
        sched_clock read_tsc __rcu_read_lock rcu_sched_clock_irq hrtimer_start_range_ns
        update_process_times iowrite32 ioread8 clock_gettime sg_init_one
        __list_add_valid_or_report start_kernel
    """,
}
CASES = [(name, group) for group, names in FUNCTIONS.items() for name in names.split()]


@pytest.mark.parametrize("name, group", CASES, ids=[name for name, _ in CASES])
def test_a_function_is_in_its_group(name: str, group: str) -> None:
    """Of the kernel itself, for any driver."""
    assert groups.group_of("vmlinux", name, frozenset({"e1000"})) == group


@pytest.mark.parametrize(
    "ending", [".constprop.0", ".isra.0", ".part.0.cold", ".llvm.1"]
)
def test_a_compilers_ending_changes_nothing(ending: str) -> None:
    """Copies and cold parts of a function."""
    for name, group in (("memcpy", "copy"), ("schedule", "other")):
        assert groups.group_of(None, name + ending, frozenset()) == group


def test_everything_of_the_drivers_modules_is_the_driver() -> None:
    """Whatever its name; the generator's driver is another's."""
    modules = frozenset({"8139cp", "mii"})
    for module in modules:
        assert groups.group_of(module, "memcpy", modules) == "driver"
    assert groups.group_of("e1000", "e1000_clean", modules) == "other"
    assert groups.group_of(None, "cp_rx_poll", modules) == "other"


def test_the_groups_are_those_of_the_schema() -> None:
    """In its order."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    rows = schema["$defs"]["run"]["properties"]["groups"]["items"]["properties"]
    assert [*groups.GROUPS, *groups.COUNTING] == rows["name"]["enum"]
    assert {group for group, _ in groups._PATTERNS} | {"driver", "other"} == set(
        groups.GROUPS
    )
