package program

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

const (
	// growth is by how many percent the heap may grow between two collections. The heap is objects that stay, so that Go's
	// own 100 would have the operator take twice what it needs; it costs processor time only while much happens.
	growth = 40
	// reserve is what of the container's limit is left for what Go does not count, the program itself first of all, and
	// for a burst. From the rest on Go collects as often as it must.
	reserve = 128 << 20
	// memoryLimit names the variable with the container's limit in bytes.
	memoryLimit = "MEMORY_LIMIT"
)

// limitMemory sets Go's soft memory limit. Go's own variables, GOGC and GOMEMLIMIT, take precedence.
func limitMemory(env func(string) string) error {
	if env("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
	text := env(memoryLimit)
	if text == "" || env("GOMEMLIMIT") != "" {
		return nil
	}
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil || bytes <= 0 {
		return fmt.Errorf("%s must be a number of bytes, and is %q", memoryLimit, text)
	}
	debug.SetMemoryLimit(max(bytes-reserve, bytes/2))
	return nil
}
