package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock makes sure that only one run of tests or measurements uses the local cluster: they scale
// the operator, cut links and remove what others have left. It waits for another run to end. The
// lock ends with this process, whatever becomes of it.
func (k *Kube) Lock(ctx context.Context) (unlock func(), err error) {
	path := filepath.Join(os.TempDir(), "galera-operator-tests.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		k.Log("waiting for another run that uses the local cluster (%s)", path)
		pause(ctx, pollEvery)
		if ctx.Err() != nil {
			_ = f.Close()
			return nil, fmt.Errorf("another run uses the local cluster all the time: %w", context.Cause(ctx))
		}
	}
}
