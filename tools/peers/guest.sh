# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# In the guest: a port and its peer as the kernel's drivers/net/README.rst wants them,
# then each program that was named. folder, programs and results are set before.
export NETIF=port0 LOCAL_V4=192.0.2.1 REMOTE_V4=192.0.2.2
export LOCAL_V6=2001:db8::1 REMOTE_V6=2001:db8::2
export REMOTE_TYPE=netns REMOTE_ARGS=peer KSFT_MACHINE_SLOW=yes

no_ipv6=net.ipv6.conf
sysctl -qw $no_ipv6.all.disable_ipv6=0 $no_ipv6.default.disable_ipv6=0 \
	$no_ipv6.port0.disable_ipv6=0 $no_ipv6.gen0.disable_ipv6=0
# Tests that take the port down want their addresses back.
sysctl -qw $no_ipv6.port0.keep_addr_on_down=1 $no_ipv6.gen0.keep_addr_on_down=1
ip link set lo up
ip netns add peer
ip link set gen0 netns peer
ip addr add $LOCAL_V4/24 dev port0
ip addr add $LOCAL_V6/64 dev port0 nodad
ip link set port0 up
ip -n peer link set lo up
ip -n peer addr add $REMOTE_V4/24 dev gen0
ip -n peer addr add $REMOTE_V6/64 dev gen0 nodad
ip -n peer link set gen0 up
for _ in $(seq 60); do
	ping -c 1 -W 1 $REMOTE_V4 > /dev/null 2>&1 && break
	sleep 0.5
done

# shellcheck disable=SC2154
for program in $programs; do
	echo "== $program"
	(cd "$folder/$(dirname "$program")" &&
		timeout --kill-after=5 240 "./$(basename "$program")" 2>&1)
	echo "== status $?"
done > "$results"
ip addr flush dev port0
ping -c 1 -W 1 127.0.0.1 > /dev/null
