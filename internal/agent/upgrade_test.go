//go:build integration

package agent_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// oldImage is of an earlier series: Debian 12's MariaDB 10.11 (hack/images.sh database-old).
const oldImage = "galera-mariadb:10.11"

// newOldWorld is a world whose nodes begin with the older image. Its transfer scripts allow no space in
// a common name.
func newOldWorld(t *testing.T, replicas int) *scenario {
	w := newWorld(t, replicas, nil)
	if out, err := exec.Command("docker", "image", "inspect", oldImage).CombinedOutput(); err != nil {
		t.Fatalf("no image %s: %v: %s", oldImage, err, out)
	}
	w.cn = "shop-nodes"
	w.publishCertificate(w.leaf())
	for _, n := range w.nodes {
		n.image = oldImage
	}
	return &scenario{T: t, world: w}
}

// TestUpgrade rolls a newer series through three nodes under a writer, and back in the middle of it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	s := newOldWorld(t, 3)
	s.wait()
	s.form()
	for _, n := range s.world.nodes {
		s.runs(n, oldImage)
	}
	// To the new series, and back again while the others have not left the old one: by a full copy.
	s.upgrade(2)
	s.node(2).changeImage(oldImage)
	r := s.node(2).until("back by a full copy", time.Minute, joined(3))
	if r.Join.Kind != agentapi.JoinSST || r.Failure != nil || r.Upgrade != nil {
		t.Errorf("join %+v, upgrade %+v, failure %+v", r.Join, r.Upgrade, r.Failure)
	}
	s.runs(s.node(2), oldImage)
	s.intact()

	for _, i := range []int{2, 1} {
		s.upgrade(i)
	}
	// The last one of the old series crashes: later ones cannot help it out, and it does not try.
	s.node(0).killServer()
	r = s.node(0).until("refused", 20*time.Second, failedBy(agentapi.FailureDowngrade))
	s.Logf("%s", r.Failure.Message)
	s.write(1)
	s.upgrade(0)
	s.intact()
	zones := "time zones of " + s.node(0).exec("sh", "-c", `sed -n '1s/^# version //p' /usr/share/zoneinfo/tzdata.zi`)
	for i := range s.world.nodes {
		s.awaitSQL(i, zonesComment, zones) // the older image has earlier ones
	}
	s.refuseOlder(2)
	s.intact()
}

// upgrade gives one node the new image while clients write elsewhere.
func (s *scenario) upgrade(i int) {
	s.Helper()
	stop := s.keepWriting((i + 1) % 3)
	n := s.node(i)
	n.changeImage(image)
	r := n.until("upgraded", 2*time.Minute, func(r agentapi.Report) bool {
		return joined(3)(r) && r.Upgrade != nil && r.Upgrade.State != agentapi.UpgradeRunning
	})
	acked := stop()
	if r.Join.Kind != agentapi.JoinIST || r.Upgrade.State != agentapi.UpgradeDone || r.Failure != nil ||
		!strings.HasPrefix(r.Upgrade.From, "10.11.") || r.Upgrade.To != r.Image.ServerVersion ||
		r.Tables != r.Image.ServerVersion {
		s.Fatalf("join %+v, upgrade %+v, tables %s, failure %+v", r.Join, r.Upgrade, r.Tables, r.Failure)
	}
	s.Logf("%s: from %s by %s, %d write-sets, in %s; mariadb-upgrade to %s took %s; %d rows written meanwhile", n.name,
		r.Join.Donor, r.Join.Kind,
		r.Join.WriteSets, r.Join.EndedAt.Sub(r.Join.StartedAt).Round(time.Millisecond),
		r.Upgrade.To, r.Upgrade.EndedAt.Sub(r.Upgrade.StartedAt).Round(time.Millisecond), acked)
	s.runs(n, image)
}

// runs checks of which series a node's server and its system tables are: one that is to be upgraded yet
// has seen nothing of another's mariadb-upgrade.
func (s *scenario) runs(n *node, image string) {
	s.Helper()
	series := strings.TrimPrefix(image, "galera-mariadb:")
	columns := n.mustSQL(
		"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'sys' OR table_schema = 'mysql'")
	r, err := n.report()
	check(s.T, err)
	if !strings.HasPrefix(r.Image.ServerVersion, series+".") || !strings.HasPrefix(r.Tables, series+".") {
		s.Errorf("%s: server %s, tables %s, want %s", n.name, r.Image.ServerVersion, r.Tables, series)
	}
	s.Logf("%s: %s, %s columns in system tables", n.name, r.Image.ServerVersion, columns)
}

// changeImage replaces a pod by one of another image.
func (n *node) changeImage(image string) {
	n.w.t.Helper()
	n.stop(true)
	n.image = image
	n.start()
}

// keepWriting writes through a node until it is stopped, and then returns how many rows that were.
func (s *scenario) keepWriting(i int) (stop func() int) {
	done, before := make(chan struct{}), s.rows
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// A refused row is asked for again; one of which nothing is known would show as a duplicate.
			if _, err := s.node(i).sql(fmt.Sprintf("INSERT INTO app.t VALUES (%d)", s.rows+1)); err == nil {
				s.rows++
			}
		}
	})
	return func() int { close(done); wg.Wait(); return s.rows - before }
}

// refuseOlder: when all have left the old series, its image starts nothing any more.
func (s *scenario) refuseOlder(i int) {
	n := s.node(i)
	n.stop(true)
	before := n.fingerprint()
	n.image = oldImage
	n.start()
	r := n.until("refused", 30*time.Second, failedBy(agentapi.FailureDowngrade))
	if !strings.Contains(r.Failure.Message, "10.11.") || !strings.Contains(r.Failure.Message, "has used the data") ||
		r.Position.UUID != s.uuid {
		s.Errorf("%+v at %s", r.Failure, r.Position)
	}
	s.Logf("%s", r.Failure.Message)
	s.epoch += 10
	if _, result := n.send(agentapi.OrderBootstrap, s.epoch, r.Position, s.uuid); result.State != agentapi.OrderRefused {
		s.Errorf("a bootstrap of later data: %+v", result)
	}
	n.stop(true)
	if after := n.fingerprint(); after != before {
		s.Errorf("the data were touched:\n%s\n%s", before, after)
	}
	n.image = image
	n.start()
	if r := n.until("back", time.Minute, joined(3)); r.Join.Kind == agentapi.JoinSST || r.Failure != nil ||
		r.Upgrade != nil {
		s.Errorf("join %+v, upgrade %+v, failure %+v", r.Join, r.Upgrade, r.Failure)
	}
}

func failedBy(reason string) func(agentapi.Report) bool {
	return func(r agentapi.Report) bool {
		return r.Phase == galera.PhaseFailed && r.Failure != nil && r.Failure.Reason == reason
	}
}

// fingerprint is a sum over everything in the data directory.
func (n *node) fingerprint() string {
	n.w.t.Helper()
	data := filepath.Join(n.base, "volume", "data")
	return n.w.run(exec.Command("bash", "-c",
		"cd "+data+" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"))
}

// TestUpgradeByCopy: a member of a later series takes a full copy of an older one's data, and never the
// other way round.
func TestUpgradeByCopy(t *testing.T) {
	t.Parallel()
	s := newOldWorld(t, 2)
	old, later := s.node(0), s.node(1)
	later.image = image
	s.wait()
	s.form()
	r := later.until("upgraded", time.Minute, func(r agentapi.Report) bool {
		return r.Upgrade != nil &&
			r.Upgrade.State == agentapi.UpgradeDone
	})
	if !strings.HasPrefix(r.Upgrade.From, "10.11.") {
		t.Errorf("%+v", r.Upgrade)
	}

	s.prove() // the older server checks the transport last

	old.stop(true)
	s.write(1)
	old.wipe()
	old.start()
	r = old.until("refused", 30*time.Second, failedBy(agentapi.FailureDowngrade))
	s.Logf("%s", r.Failure.Message)

	old.changeImage(image)
	if r := old.until("back", time.Minute, joined(2)); r.Join.Kind != agentapi.JoinSST || r.Upgrade != nil {
		t.Errorf("join %+v, upgrade %+v", r.Join, r.Upgrade)
	}
	s.intact()
}
