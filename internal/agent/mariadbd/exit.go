package mariadbd

import (
	"fmt"
	"syscall"
)

// String returns how a process ended, in words.
func (e Exit) String() string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != 0 {
		text = "killed by signal " + signalName(e.Signal)
	}
	if why := Why(e.Lines); why != "" {
		text += ": " + why
	}
	return text
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL (sent by a user, or by the kernel when memory ran out)"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGABRT:
		return "SIGABRT"
	}
	return fmt.Sprint(int(s))
}
