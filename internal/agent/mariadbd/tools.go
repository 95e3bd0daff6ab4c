package mariadbd

import (
	"os"
	"path/filepath"
)

// First returns the path of the first of the programs that PATH, or the usual directories, has; "" for none.
func First(names ...string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin") {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}
