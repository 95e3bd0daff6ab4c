//go:build integration

package certs

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPlaintextWithALockedRoot: where root may not log in (spec.rootAccess), the account that the port is asked for is
// locked, and the answer is the same: plaintext is accepted by a server that accepts it.
func TestPlaintextWithALockedRoot(t *testing.T) {
	for _, series := range []string{"11.8", "10.11"} {
		t.Run(series, func(t *testing.T) {
			script := "mariadb-install-db --no-defaults --skip-test-db --datadir=/tmp/data --user=root >/dev/null && " +
				"echo \"CREATE USER root@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('x') ACCOUNT LOCK;\" >/tmp/init " +
				"&& " +
				"exec mariadbd --no-defaults --user=root --datadir=/tmp/data --init-file=/tmp/init --innodb-buffer-pool-size=16M"
			out, err := exec.Command("docker", "run", "-d", "--user=0", "--entrypoint=sh", "galera-mariadb:"+series, "-c",
				script).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			id := strings.TrimSpace(string(out))
			t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", "-v", id).Run() })
			address, err := exec.Command("docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
				id).Output()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var accepted bool
			for tries := time.Tick(100 * time.Millisecond); ; <-tries { // the server starts
				accepted, err = ClientsPlain(ctx, strings.TrimSpace(string(address))+":3306")
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			if err != nil || !accepted {
				log, _ := exec.Command("docker", "logs", "--tail=5", id).CombinedOutput()
				t.Fatalf("plaintext is accepted: %t, %v: %s", accepted, err, log)
			}
		})
	}
}
