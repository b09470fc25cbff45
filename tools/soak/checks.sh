# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154
# After the soak, in the guest, by busybox alone: suspend, unload under traffic, and what
# the kernel's own checkers have found. debug (0 or 1) and ports (their number) are set
# before.

check() {
	# $1: name, $2: status of the test before, $3: detail; one line of the kernel's log
	if [ "$2" = 0 ]; then word=good; else word=bad; fi
	echo "<3>check $1: $word $3" > /dev/kmsg
}

flood() {
	# Frames for everybody to each port, until killed.
	for i in $(seq 0 $((ports - 1))); do
		sender --stream "gen$i,ff:ff:ff:ff:ff:ff" --rate 500 --size 200 --count 100000 \
			> /dev/null 2>&1 &
		floods="$floods $!"
	done
}

carrier() {
	# All ports and generators have a link within 30 s.
	for i in $(seq 0 $((ports - 1))); do
		for name in "port$i" "gen$i"; do
			for _ in $(seq 60); do
				[ "$(cat "/sys/class/net/$name/carrier" 2> /dev/null)" = 1 ] && continue 2
				sleep 0.5
			done
			echo "<3>$name: no link" > /dev/kmsg
			return 1
		done
	done
}

one_second() {
	# Both ways, exact, on each port.
	for i in $(seq 0 $((ports - 1))); do
		to=$(cat "/sys/class/net/port$i/address")
		from=$(cat "/sys/class/net/gen$i/address")
		sender --stream "gen$i,$to,port$i" --stream "port$i,$from,gen$i" --rate 100 \
			--size 300 --count 100 --settle-us 200000 > /second 2>&1 || {
			echo "<3>port$i: $(tail -n 1 /second)" > /dev/kmsg
			return 1
		}
		[ "$(grep -c ':delivered=100:' /second)" = 2 ] || {
			echo "<3>port$i: $(grep stream= /second | tr '\n' ' ')" > /dev/kmsg
			return 1
		}
	done
}

carrier
check "link after the soak" $? ""
one_second
check "traffic after the soak" $? ""

if [ -e /sys/power/pm_test ]; then
	[ -e /sys/module/suspend ] && echo 1 > /sys/module/suspend/parameters/pm_test_delay
	echo devices > /sys/power/pm_test
	flood
	for _ in 1 2 3; do
		sh -c 'echo freeze > /sys/power/state'
		check "suspend and resume" $? ""
	done
	# shellcheck disable=SC2086
	kill $floods
	wait
	floods=
	carrier && one_second
	check "traffic after resume" $? ""
fi

if [ "$debug" = 1 ]; then
	# Twice: what was in use at the first look is only a leak when it stays.
	for _ in 1 2; do
		echo scan > /sys/kernel/debug/kmemleak
		sleep 6
	done
	leaks=$(grep -c '^unreferenced' /sys/kernel/debug/kmemleak)
	[ "$leaks" = 0 ]
	check "kmemleak" $? "$leaks leaks: $(grep -A 12 -m 1 '^unreferenced' /sys/kernel/debug/kmemleak | tr '\n' ' ')"
fi

flood
sleep 1
rmmod ringside
check "unload under traffic" $? ""
# shellcheck disable=SC2086
kill $floods
wait

if [ "$debug" = 1 ]; then
	errors=$(cat /sys/kernel/debug/dma-api/error_count)
	[ "$errors" = 0 ]
	check "DMA debug" $? "$errors errors"
	mappings=$(grep -c ringside /sys/kernel/debug/dma-api/dump)
	[ "$mappings" = 0 ]
	check "mappings left after unload" $? "$mappings"
	grep -q 'debug_locks: *1' /proc/lockdep_stats
	check "lockdep is on" $? ""
	echo scan > /sys/kernel/debug/kmemleak
	sleep 6
	echo scan > /sys/kernel/debug/kmemleak
	leaks=$(grep -c '^unreferenced' /sys/kernel/debug/kmemleak)
	[ "$leaks" = 0 ]
	check "kmemleak after unload" $? "$leaks leaks"
fi
# 4096: a module from outside the kernel's tree (Documentation/admin-guide/tainted-kernels)
tainted=$(cat /proc/sys/kernel/tainted)
[ $((tainted & ~4096 & ~8192)) = 0 ]
check "the kernel is not tainted" $? "$tainted"
check "end" 0 ""
