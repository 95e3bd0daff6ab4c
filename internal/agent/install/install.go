// Package install copies the agent into the volume the database container runs it from.
package install

import (
	"io"
	"os"
	"path/filepath"
)

// Copy copies the running binary to dir/agent, in one step for whoever looks.
func Copy(dir string) error { return CopyAs(dir, "agent") }

// CopyAs copies the running binary to dir/name, in one step for whoever looks.
func CopyAs(dir, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	next := filepath.Join(dir, "."+name+".next")
	out, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, name))
}
