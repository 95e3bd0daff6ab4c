// Package pipes makes the pipes between the programs of a state transfer hold more. A pipe holds 64 KiB by itself, so
// each program waits for its neighbour after every piece; and a record of TLS brings 16 KiB at most, so a joiner's
// socat wakes up its neighbour four times as often with TLS as without.
package pipes

import "golang.org/x/sys/unix"

// size in bytes is what Linux gives an ordinary user at most (fs.pipe-max-size), where that was not changed.
const size = 1 << 20

// EnlargePipes widens standard input and output, where they are pipes. What a host does not give
// (fs.pipe-user-pages-soft) a transfer can do without, so it is not reported.
func EnlargePipes() {
	for _, fd := range []uintptr{0, 1} {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
	}
}
