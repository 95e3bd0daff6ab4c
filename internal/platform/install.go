package platform

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// InstallAgent copies the running binary to dir/agent, in one step for readers.
func InstallAgent(dir string) error { return InstallAs(dir, "agent") }

// WritePasswd writes dir/passwd, in which the user of this process is called mysql: Kubernetes may have assigned one
// that no image knows, and mariadbd refuses a login over its socket if the user has no name.
func WritePasswd(dir string) error {
	text := "root:x:0:0:root:/:/sbin/nologin\n"
	if uid := os.Getuid(); uid != 0 {
		text += fmt.Sprintf("mysql:x:%d:%d:MariaDB:/:/sbin/nologin\n", uid, os.Getgid())
	}
	return os.WriteFile(filepath.Join(dir, agentapi.PasswdFile), []byte(text),
		0o644) //nolint:gosec // all may read it, as everywhere
}

// InstallAs copies the running binary to dir/name, in one step for readers.
func InstallAs(dir, name string) error {
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
