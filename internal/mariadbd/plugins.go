package mariadbd

import (
	"os"
	"path/filepath"
)

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
