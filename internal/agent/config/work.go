package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// TransferWorkers adds up the I/O and CPU time of the SST's processes, exited ones included.
type TransferWorkers struct {
	seen map[int]counts
}

// counts are of one process: bytes it has written, and its processor time in ticks.
type counts struct{ written, ticks int64 }

// Count adds up what the given processes have done, those that have gone included: bytes they have
// written, to files or pipes, and their work, which grows with anything they do.
func (w *TransferWorkers) Count(pids []int) (written, work int64) {
	if w.seen == nil {
		w.seen = map[int]counts{}
	}
	for _, pid := range pids {
		if now, ok := countsOf(pid); ok {
			w.seen[pid] = now
		}
	}
	for _, c := range w.seen {
		written += c.written
		work += c.written + c.ticks
	}
	return written, work
}

func countsOf(pid int) (counts, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	io, err := os.ReadFile(filepath.Join(dir, "io"))
	stat, statErr := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil || statErr != nil {
		return counts{}, false
	}
	return counts{written: parseWritten(string(io)), ticks: parseTicks(string(stat))}, true
}

// parseWritten reads wchar, which counts writes before any cache.
func parseWritten(io string) int64 {
	for line := range strings.Lines(io) {
		if value, ok := strings.CutPrefix(line, "wchar:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// parseTicks reads utime and stime, fields 14 and 15; the name before them may hold anything.
func parseTicks(stat string) int64 {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var total int64
	for i := 11; i <= 12 && i < len(fields); i++ {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		total += n
	}
	return total
}
