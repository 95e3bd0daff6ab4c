package mariadbd

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// providers are where distributions and images put the Galera library.
var providers = []string{
	"/usr/lib/galera/libgalera_smm.so", "/usr/lib/galera-4/libgalera_smm.so",
	"/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so",
	"/usr/lib/libgalera_smm.so", "/usr/lib64/libgalera_smm.so",
}

// FindProvider returns the path of the image's Galera library, "" when it has none.
func FindProvider() string {
	for _, p := range providers {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// servers are where images put mariadbd.
var servers = []string{"/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/bin/mariadbd", "/usr/local/sbin/mariadbd",
	"/usr/sbin/mysqld"}

// FindServer returns the path of mariadbd, "" when the image has none.
func FindServer() string {
	if path, err := exec.LookPath("mariadbd"); err == nil {
		return path
	}
	for _, p := range servers {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// HasProgram reports whether the image has a program.
func HasProgram(name string) bool { return FindProgram(name) != "" }

// FindProgram returns the path of a program, "" when the image has none.
func FindProgram(name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin",
		"/sbin") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// OldSocat reports whether socat is older than 1.8, from the output of socat -V.
func OldSocat(version string) bool {
	_, after, _ := strings.Cut(version, "socat version ")
	var major, minor int
	n, _ := fmt.Sscanf(after, "%d.%d", &major, &minor)
	return n == 2 && (major < 1 || major == 1 && minor < 8)
}

// CPUFlags returns the flags that matter for ciphers, in the order of the contract.
func CPUFlags() []string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if k := strings.TrimSpace(key); k != "flags" && k != "Features" {
			continue
		}
		have := strings.Fields(value)
		var flags []string
		for _, want := range []string{"aes", "vaes", "pclmulqdq", "avx2", "avx512f"} {
			if slices.Contains(have, want) {
				flags = append(flags, want)
			}
		}
		return flags
	}
	return nil
}

// pluginDirs are where distributions and images put the server's plugins.
var pluginDirs = []string{
	"/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib/mariadb/plugin", "/usr/lib64/mariadb/plugin",
	"/usr/lib/x86_64-linux-gnu/mariadb/plugin", "/usr/lib/aarch64-linux-gnu/mariadb/plugin",
}

// HavePlugin reports whether the image has a plugin of the server.
func HavePlugin(name string) bool {
	for _, dir := range pluginDirs {
		if _, err := os.Stat(filepath.Join(dir, name+".so")); err == nil {
			return true
		}
	}
	return false
}
