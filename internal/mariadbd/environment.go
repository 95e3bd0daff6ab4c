package mariadbd

import (
	"os"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// Args are what every mariadbd is started with.
func Args(p platform.Places) []string { return []string{"--defaults-file=" + p.MyCnf()} }

// Env is the environment of mariadbd and, through it, of the transfer scripts.
func Env(p platform.Places) []string {
	own := map[string]string{
		"OPENSSL_CONF": p.OpenSSLCnf(),
		"BASH_ENV":     p.ScriptEnv(),
		"TMPDIR":       p.Tmp,
	}
	if os.Getenv("PATH") == "" {
		own["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	var env []string
	for _, e := range os.Environ() {
		key, _, _ := strings.Cut(e, "=")
		if _, ours := own[key]; !ours {
			env = append(env, e)
		}
	}
	for key, value := range own {
		env = append(env, key+"="+value)
	}
	return env
}

// KillOrphans ends what a dead server left behind. A killed process's children become visible as
// orphans only afterwards, hence the repetition.
func KillOrphans(table *platform.ProcessTable) {
	for range 10 {
		if table.KillOrphans() == 0 {
			return
		}
		table.Reap()
		time.Sleep(20 * time.Millisecond)
	}
}
