//go:build integration

package agent_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// spills are statements that need more space than MariaDB has in memory for them, by what they write to files.
var spills = map[string]string{
	"a sort": "SET SESSION sort_buffer_size=32768; " +
		"SELECT COUNT(*) FROM (SELECT v FROM app.big ORDER BY v DESC LIMIT 90000) x",
	"a temporary table": "SET SESSION tmp_memory_table_size=16384; " +
		"SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(v, 'x') FROM app.big) x",
	"ALTER TABLE": "ALTER TABLE app.big ADD KEY by_value (v), ALGORITHM=INPLACE; ALTER TABLE app.big DROP KEY by_value",
}

// makeBig makes a table with the marker in each row.
func (n *node) makeBig() {
	n.w.t.Helper()
	n.mustSQL("CREATE TABLE app.big (id INT PRIMARY KEY, v VARCHAR(100)); " +
		"INSERT INTO app.big SELECT seq, CONCAT('" + marker + "', seq) FROM app.seq_1_to_100000")
}

// spilled runs statements, and looks for the marker in every temporary file that mariadbd has open meanwhile. The
// server is stopped while its files are read, so that a busy machine misses none. It returns how many bytes it read,
// and the files that have the marker.
func (n *node) spilled(statements string) (size int, found []string) {
	n.w.t.Helper()
	const ended = "/tmp/statements-ended"
	n.exec("rm", "-f", ended)
	search := exec.Command("docker", "exec", n.container(), "bash", "-c", fmt.Sprintf(`
		echo searching
		while [ ! -e %s ]; do
			kill -STOP %[2]s
			find /proc/%[2]s/fd -lname "*(deleted)" -o -lname "*/tmp/*" -o -lname "*temptable*" | while read -r f; do
				size=$(stat -Lc %%s "$f") && [ "$size" -gt 0 ] || continue
				echo "size $size"
				if grep -qaF %[3]s "$f"; then echo "found $(readlink "$f")"; fi
			done
			kill -CONT %[2]s
			sleep 0.03
		done`, ended, n.serverPID(), marker))
	lines := bufio.NewScanner(got(search.StdoutPipe())(n.w.t))
	check(n.w.t, search.Start())
	if !lines.Scan() {
		n.w.t.Fatalf("%s: no search: %v", n.name, lines.Err())
	}
	n.mustSQL(statements)
	n.exec("touch", ended)
	for lines.Scan() {
		switch kind, value, _ := strings.Cut(lines.Text(), " "); kind {
		case "size":
			size += got(strconv.Atoi(value))(n.w.t)
		case "found":
			found = append(found, value)
		}
	}
	check(n.w.t, search.Wait())
	slices.Sort(found)
	return size, slices.Compact(found)
}

// spills: what a statement writes to files is encrypted where the data are, and is found where they are not.
func (s *scenario) spills(n *node, encrypted bool) {
	s.Helper()
	for what, statements := range spills {
		size, found := 0, []string(nil)
		for range 20 { // a file may live for less than the time between two searches
			if size, found = n.spilled(statements); len(found) > 0 || encrypted && size > 0 {
				break
			}
		}
		if size == 0 || (len(found) == 0) != encrypted {
			s.Errorf("%s, encrypted %v: read %d bytes of temporary files, and found %v", what, encrypted, size, found)
		}
	}
}

// stream takes a backup as a Job does, and looks for the marker in what it is given.
func (n *node) stream(id string) (size int64, found bool, end agentapi.BackupEnd) {
	t := n.w.t
	t.Helper()
	certPEM, keyPEM := n.w.control.issue(t, "backup", "backup")
	pair := got(tls.X509KeyPair(certPEM, keyPEM))(t)
	block, _ := pem.Decode(certPEM)
	own := got(x509.ParseCertificate(block.Bytes))(t)
	check(t, n.w.client.AdmitBackup(t.Context(), n.ip, agentapi.BackupAdmission{ID: id, KeySHA256: agentapi.KeyHash(own)}))
	client := http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true, //nolint:gosec // the test's own node
	}}}
	address := net.JoinHostPort(n.ip, strconv.Itoa(agentapi.BackupPort))
	answer, err := client.Get("https://" + address + agentapi.PathBackup + id)
	check(t, err)
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", n.name, answer.Status)
	}
	chunk, kept := make([]byte, 1<<20), 0
	for {
		got, err := answer.Body.Read(chunk[kept:])
		size += int64(got)
		all := chunk[:kept+got]
		found = found || bytes.Contains(all, []byte(marker))
		kept = copy(chunk, all[max(0, len(all)-len(marker)):])
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
	}
	check(t, json.Unmarshal([]byte(answer.Trailer.Get(agentapi.TrailerBackup)), &end))
	return size, found, end
}

// streams: the stream of a backup has no row in clear where the data are encrypted, and has where they are not.
func (s *scenario) streams(n *node, encrypted bool) {
	s.Helper()
	size, found, end := n.stream(fmt.Sprintf("marker-%v", encrypted))
	if size < 10<<20 || end.Error != "" || found == encrypted || (len(end.Keys) > 0) != encrypted {
		s.Errorf("encrypted %v: %d bytes, with the marker: %v, %+v", encrypted, size, found, end)
	}
}

// TestMarkerInFilesAndStreams: a node with keys writes no row in clear to its temporary files, nor into the stream of a
// backup. Without keys the same search finds the marker in each of them.
func TestMarkerInFilesAndStreams(t *testing.T) {
	t.Parallel()
	for name, encrypted := range map[string]bool{"in clear": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, fingerprints := keys(t)
			w := newWorld(t, 1, func(c *agentapi.NodeConfig) {
				if encrypted {
					c.AtRest = &agentapi.AtRest{State: agentapi.AtRestEncrypted, Algorithm: "AES_CTR", Keys: fingerprints,
						CacheInMemory: true}
				}
			})
			w.nodes[0].mount("keys", files)
			s := &scenario{T: t, world: w}
			w.nodes[0].start()
			w.nodes[0].until("waiting", 60*time.Second, waiting)
			s.formAgain()
			s.node(0).makeBig()
			s.spills(s.node(0), encrypted)
			s.streams(s.node(0), encrypted)
		})
	}
}

// watchTmp looks for the marker in the container's /tmp, and in every deleted file that a process has open, until it is
// stopped. It returns how often it looked, and the files that had the marker.
func (n *node) watchTmp() (stop func() (looks int, found []string)) {
	n.w.t.Helper()
	const ended = agentapi.TmpDir + "/watch-ended"
	n.exec("rm", "-f", ended)
	watch := exec.Command("docker", "exec", n.container(), "bash", "-c", fmt.Sprintf(`
		while [ ! -e %s ]; do
			for f in $(find %s -type f; find /proc/[0-9]*/fd -lname "*(deleted)" 2>/dev/null); do
				if grep -qaF %s "$f" 2>/dev/null; then echo "found $f"; fi
			done
			echo looked
			sleep 0.02
		done`, ended, agentapi.TmpDir, marker))
	lines := bufio.NewScanner(got(watch.StdoutPipe())(n.w.t))
	check(n.w.t, watch.Start())
	return func() (looks int, found []string) {
		n.w.t.Helper()
		n.exec("touch", ended)
		for lines.Scan() {
			if name, is := strings.CutPrefix(lines.Text(), "found "); is {
				found = append(found, name)
			} else {
				looks++
			}
		}
		check(n.w.t, watch.Wait())
		slices.Sort(found)
		return looks, slices.Compact(found)
	}
}

// TestMarkerInTmpDuringTransfer: while a full copy is made, neither the donor nor the joiner writes a row in clear to
// /tmp. The same search finds a row that is put there.
func TestMarkerInTmpDuringTransfer(t *testing.T) {
	t.Parallel()
	files, fingerprints := keys(t)
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) {
		c.AtRest = &agentapi.AtRest{State: agentapi.AtRestEncrypted, Algorithm: "AES_CTR", Keys: fingerprints,
			CacheInMemory: true}
	})
	s := &scenario{T: t, world: w}
	for _, n := range w.nodes {
		n.mount("keys", files)
		n.start()
	}
	for _, n := range w.nodes {
		n.until("waiting", 60*time.Second, waiting)
	}
	s.form()
	donor, joiner := s.node(0), s.node(1)
	donor.makeBig()
	const planted = agentapi.TmpDir + "/planted"
	stop := donor.watchTmp()
	donor.exec("bash", "-c", "echo "+marker+" >"+planted+"; sleep 1; rm "+planted)
	if looks, found := stop(); !slices.Equal(found, []string{planted}) {
		t.Errorf("the search looks %d times, and finds %v", looks, found)
	}

	joiner.stop(true)
	joiner.wipe()
	ofDonor := donor.watchTmp()
	joiner.start()
	ofJoiner := joiner.watchTmp()
	joiner.until("copied", 120*time.Second, func(r agentapi.Report) bool {
		return synced(2)(r) && r.Join != nil && r.Join.Kind == agentapi.JoinSST && r.Join.EndedAt != nil
	})
	for who, stop := range map[string]func() (int, []string){"donor": ofDonor, "joiner": ofJoiner} {
		if looks, found := stop(); looks < 20 || len(found) > 0 {
			t.Errorf("%s: looked %d times, and found %v", who, looks, found)
		}
	}
	s.intact()
}
