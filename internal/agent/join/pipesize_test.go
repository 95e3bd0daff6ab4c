package join

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStandard runs itself between two pipes, and with none.
func TestStandard(t *testing.T) {
	if os.Getenv("WIDEN") != "" {
		EnlargePipes()
		return
	}
	in, feed := pipe(t)
	out, result := pipe(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestStandard$")
	cmd.Env, cmd.Stdin, cmd.Stdout = append(os.Environ(), "WIDEN=1"), in, result
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*os.File{"input": feed, "output": out} {
		if n, err := unix.FcntlInt(f.Fd(), unix.F_GETPIPE_SZ, 0); err != nil || n != size {
			t.Errorf("standard %s holds %d bytes: %v", name, n, err)
		}
	}
	var said bytes.Buffer
	cmd = exec.Command(os.Args[0], "-test.run=^TestStandard$")
	cmd.Env, cmd.Stderr = append(os.Environ(), "WIDEN=1"), &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("without pipes: %v, %s", err, said.String())
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}
