package plan

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

var (
	plain   = galera.Encryption{Socket: galera.SocketPlain}
	dynamic = galera.Encryption{Socket: galera.SocketDynamic}
	strict  = galera.Encryption{Socket: galera.SocketStrict}
)

// switching is the shop in transition from what is published to what is wanted.
func switching(published, wanted galera.Encryption, changes ...change) galera.Snapshot {
	return shop(append([]change{func(s *galera.Snapshot) { s.Published, s.Wanted = published, wanted },
		all(runs(published), func(m *galera.Member) { m.DynamicSockets, m.LinksVerified = true, true })}, changes...)...)
}

func runs(e galera.Encryption) memberOption { return func(m *galera.Member) { m.Running = e } }

func tlsProblem(m *galera.Member)  { m.TLSProblem = "the key does not belong to the certificate" }
func oldProvider(m *galera.Member) { m.DynamicSockets = false }
func unverified(m *galera.Member)  { m.LinksVerified = false }
func notYetRead(m *galera.Member)  { m.ConfigLoaded = "r0" }
func cacheOf(window time.Duration) memberOption {
	return func(m *galera.Member) { m.CacheWindow = window }
}

func rebootstrap(s *galera.Snapshot) { s.Rebootstrap = true }

// journal has a switch of epoch 5 in it.
func journal(step, target string) change {
	return func(s *galera.Snapshot) {
		s.Epoch = 5
		s.Operation = &galera.Operation{ID: "switchtls-5", Type: galera.OpSwitchTLS, Step: step, Target: target, Epoch: 5}
	}
}

func begun(epoch int64, id, step, target string) Begin {
	return Begin{galera.Operation{ID: id, Type: galera.OpSwitchTLS, Step: step, Target: target, Epoch: epoch}}
}

func TestSwitchBegins(t *testing.T) {
	check(t, []row{
		{name: "on", s: switching(plain, strict), action: begun(5, "switchtls-5", "Rolling", ""), reason: ReasonSwitching},
		{name: "by re-bootstrap around the writer", s: switching(plain, strict, rebootstrap),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "a bad pair", s: switching(plain, strict, db(1, tlsProblem)), reason: ReasonSwitchRefused, blocked: true,
			contains: "nothing was changed: db-1: the key"},
		{name: "a bad pair does not keep it on", s: switching(strict, plain, db(1, tlsProblem)),
			action: begun(5, "switchtls-5", "Rolling", ""), reason: ReasonSwitching},
		{name: "no dynamic sockets", s: switching(plain, strict, db(2, oldProvider)), reason: ReasonRebootstrapRequired,
			blocked: true, contains: "spec.tls.switchStrategy to Rebootstrap"},
		{name: "too small a cache to come back from", s: switching(plain, strict, rebootstrap,
			db(0, cacheOf(30*time.Second))),
			reason: ReasonSwitchRefused, blocked: true, contains: "spec.stateTransfer.istWindow"},
		{name: "a small cache of a node that stops for good", s: switching(plain, strict, rebootstrap,
			db(1, cacheOf(30*time.Second))),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "no dynamic sockets needed", s: switching(plain, strict, db(2, oldProvider), rebootstrap),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "a silent member", s: switching(plain, strict, db(2, silent)), reason: ReasonSwitching,
			contains: "the agent of db-2 before encryption"},
		{name: "re-bootstrap waits for all", s: switching(plain, strict, db(2, down(10)), rebootstrap),
			reason: ReasonRestarting},
		{name: "nothing runs", s: switching(plain, strict, all(down(10), runs(galera.Encryption{}))),
			action: PublishEncryption{plain, strict}, reason: ReasonSwitching},
		{name: "nothing ran before it was published", s: switching(plain, strict, all(down(10), runs(galera.Encryption{})),
			db(1, notYetRead)),
			action: Begin{Operation: galera.Operation{ID: "recover-5", Type: galera.OpRecover, Epoch: 5, BootstrapMember: "db-0",
				Position: at(10)}}, reason: ReasonRecovering},
		{name: "by re-bootstrap again", s: switching(plain, strict, rebootstrap, abandonedFor(1, "one")),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "by re-bootstrap a third time", s: switching(plain, strict, rebootstrap, abandonedFor(2, "one")),
			reason: ReasonSwitchRefused, blocked: true, contains: "because db-1, stopped for it, has no position"},
		{name: "by re-bootstrap with another pod", s: switching(plain, strict, rebootstrap, abandonedFor(2, "two")),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "to another encryption", s: switching(plain, dynamic, rebootstrap, abandonedFor(2, "one")),
			action: begun(5, "switchtls-5", "Rebootstrap", "db-0"), reason: ReasonSwitching},
		{name: "rolling instead", s: switching(plain, strict, abandonedFor(2, "one")),
			action: begun(5, "switchtls-5", "Rolling", ""), reason: ReasonSwitching},
		{name: "refused while restarts wait for maintenance", s: switching(plain, strict, rebootstrap, abandonedFor(2, "one"),
			db(2, func(m *galera.Member) { m.Pod.Outdated = true }), func(s *galera.Snapshot) { s.RestartsWait = "Sunday" }),
			reason: ReasonSwitchRefused, blocked: true},
		{name: "settings are restarted meanwhile", s: switching(plain, strict, rebootstrap, abandonedFor(2, "one"),
			db(2, func(m *galera.Member) { m.RestartNeeded = true })),
			action: Begin{Operation: galera.Operation{ID: "restart-5", Type: galera.OpRestart, Epoch: 5, Target: "db-2"}},
			reason: ReasonRestarting},
	})
}

// abandonedFor is a memory of switches to strict sockets, abandoned because of db-1, when its pod was one; it has one
// now.
func abandonedFor(attempts int, pod string) change {
	return func(s *galera.Snapshot) {
		s.Members[1].Pod.UID = "one"
		s.Abandoned = &galera.Abandoned{Type: galera.OpSwitchTLS, Step: "Rebootstrap", Goal: strict.String(),
			Member: "db-1", PodUID: pod, Attempts: attempts, Message: "has no position"}
	}
}

func cause(member string, attempts int, message string) *galera.Abandoned {
	return &galera.Abandoned{Type: galera.OpSwitchTLS, Step: "Rebootstrap", Goal: strict.String(), Member: member,
		Attempts: attempts, Message: message}
}

func TestRollingSwitch(t *testing.T) {
	rolling := journal("Rolling", "")
	check(t, []row{
		{name: "dynamic first", s: switching(plain, strict, rolling), action: PublishEncryption{plain, dynamic},
			reason: ReasonSwitching},
		{name: "whose turn it is", s: switching(dynamic, strict, rolling, all(runs(plain), oldConfig)),
			action: begun(6, "switchtls-6", "Rolling", "db-2"), reason: ReasonSwitching},
		{name: "its restart", s: switching(dynamic, strict, journal("Rolling", "db-2"), all(runs(plain), oldConfig)),
			action: SendOrder{Member: "db-2", ID: "switchtls-5/db-2/restart/r1", Epoch: 5, Kind: OrderRestart},
			reason: ReasonRestarting},
		{name: "one at a time", s: switching(dynamic, strict, journal("Rolling", "db-2"), all(runs(plain), oldConfig),
			db(2, down(10), runs(galera.Encryption{}))),
			reason: ReasonRestarting, contains: "waiting for db-2"},
		{name: "the configuration first", s: switching(dynamic, strict, rolling, all(runs(plain), oldConfig),
			db(1, notYetRead)), reason: ReasonConfigurationStale},
		{name: "strict when all are dynamic", s: switching(dynamic, strict, rolling),
			action: PublishEncryption{dynamic, strict}, reason: ReasonSwitching},
		{name: "not while one is plain", s: switching(dynamic, strict, rolling, db(0, runs(plain), oldConfig)),
			action: begun(6, "switchtls-6", "Rolling", "db-0"), reason: ReasonSwitching},
		{name: "not while links are unverified", s: switching(dynamic, strict, rolling, db(1, unverified)),
			reason: ReasonSwitching, contains: "db-1 to verify"},
		{name: "not while one is silent", s: switching(dynamic, strict, rolling, db(1, silent)), reason: ReasonSwitching,
			contains: "agent of db-1"},
		{name: "wanted no more: back at once", s: switching(dynamic, plain, rolling, db(0, runs(plain), oldConfig)),
			action: PublishEncryption{dynamic, plain}, reason: ReasonSwitching},
		{name: "wanted no more, half strict: over dynamic", s: switching(strict, plain, journal("Rolling", "db-2"),
			db(0, runs(dynamic), oldConfig), db(2, down(10), runs(galera.Encryption{}))),
			action: PublishEncryption{strict, dynamic}, reason: ReasonSwitching},
		{name: "not done before it is known who needs a restart", s: switching(strict, strict, rolling, db(1, notYetRead)),
			reason: ReasonConfigurationStale},
		{name: "a broken pod is replaced out of turn", s: switching(dynamic, strict, rolling, db(1, silent, outdatedPod)),
			action: begun(6, "switchtls-6", "Rolling", "db-1"), reason: ReasonSwitching},
		{name: "done", s: switching(strict, strict, rolling),
			action: Complete{Message: "replication runs with Strict sockets on all nodes"}},
		{name: "gives way", s: switching(dynamic, strict, rolling, all(down(10))), action: Complete{Abandoned: true,
			Message: "the switch is abandoned: the Primary component is lost, or the cluster is to hibernate"}},
	})
}

func TestRebootstrap(t *testing.T) {
	op := journal("Rebootstrap", "db-0")
	off := []memberOption{stopped(10), runs(galera.Encryption{}), hasOrder("switchtls-5/db-1/stop", 5, OrderStop,
		orderDone)}
	check(t, []row{
		{name: "the others are stopped", s: switching(plain, strict, op),
			action: SendOrder{Member: "db-1", ID: "switchtls-5/db-1/stop", Epoch: 5, Kind: OrderStop}, reason: ReasonSwitching},
		{name: "one after another", s: switching(plain, strict, op, db(1, phase(galera.PhaseStopping))),
			reason: ReasonSwitching, contains: "waiting for db-1 to stop"},
		{name: "one that may just be slow", s: switching(plain, strict, op, db(1, starting)), reason: ReasonSwitching,
			contains: "waiting for db-1 to stop"},
		{name: "one that is silent", s: switching(plain, strict, op, db(2, silent)), action: Complete{Abandoned: true,
			Message: "db-2 does not answer: without it the cluster could not start again by itself",
			Cause:   cause("db-2", 1, "does not answer")}},
		{name: "one that was silent before", s: switching(plain, strict, op, db(2, silent), abandonedFor(1, "one")),
			action: Complete{Abandoned: true,
				Message: "db-2 does not answer: without it the cluster could not start again by itself",
				Cause:   cause("db-2", 2, "does not answer")}},
		{name: "one whose new pod has no host",
			s: switching(plain, strict, op, db(2, starting, func(m *galera.Member) { m.Pod.Waiting = true })),
			action: Complete{Abandoned: true,
				Message: "db-2 has a pod that does not run: without it the cluster could not start again by itself",
				Cause:   cause("db-2", 1, "has a pod that does not run")}},
		{name: "then the new encryption is published", s: switching(plain, strict, op, db(1, off...), db(2, off...)),
			action: PublishEncryption{plain, strict}, reason: ReasonSwitching},
		{name: "and read", s: switching(strict, strict, op, db(0, runs(plain)), db(1, off...), db(2, off...),
			db(2, notYetRead)), reason: ReasonConfigurationStale},
		{name: "then the last is stopped", s: switching(strict, strict, op, db(0, runs(plain)), db(1, off...), db(2, off...)),
			action: SendOrder{Member: "db-0", ID: "switchtls-5/db-0/stop", Epoch: 5, Kind: OrderStop}, reason: ReasonSwitching},
		{name: "and the recovery takes over", s: switching(strict, strict, op, all(off...)),
			action: Complete{Message: "all nodes are stopped and have the new encryption; the recovery bootstraps db-0"}},
		{name: "given up halfway: back to what serves", s: switching(strict, strict, db(0, runs(plain)), db(1, off...),
			db(2, off...), func(s *galera.Snapshot) { s.Epoch = 5 }), action: PublishEncryption{strict, plain},
			reason: ReasonSwitching},
		{name: "what served before it was published", s: switching(strict, strict, db(0, runs(plain), notYetRead),
			db(1, off...), db(2, off...), func(s *galera.Snapshot) { s.Epoch = 5 }),
			action: SendOrder{Member: "db-1", ID: "start-5/db-1/start/switchtls-5/db-1/stop", Epoch: 5, Kind: OrderStart},
			reason: ReasonJoining},
		{name: "wanted no more", s: switching(plain, plain, op, db(1, off...)),
			action: Complete{Message: "db-0 runs with Plain sockets"}},
	})
}
