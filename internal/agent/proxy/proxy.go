package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// pace is how often the files that are mounted are read, and ProxySQL is asked.
	pace = time.Second
	// proveInterval is how often the ports are proved.
	proveInterval = 15 * time.Second
	// unprovedInterval is the pause while nothing is known of a node in use.
	unprovedInterval = 2 * time.Second
	// startTimeout is what ProxySQL gets to open its admin interface, and to listen for clients after PROXYSQL START; it
	// needs some milliseconds for each.
	startTimeout = 10 * time.Second
	// hungTimeout is how long the admin interface may be silent.
	hungTimeout = 30 * time.Second
	// restartPause follows a ProxySQL that ended by itself.
	restartPause = 2 * time.Second
)

// Options are what a proxy is started with.
type Options struct {
	// Address is the pod's.
	Address string
	// Dir is a volume in memory, StateDir and TLSDir are where the Secrets are mounted.
	Dir, StateDir, TLSDir string
	// Program is ProxySQL's.
	Program string
	Logger  *slog.Logger
	// Output gets ProxySQL's log lines.
	Output func(line string)
	// Limit is how long ProxySQL may take to answer: startTimeout for 0.
	Limit time.Duration
	// Sidecar is set in the pod of an application: no operator sends it a state, and it has no certificate.
	Sidecar *Sidecar
}

// proxy holds what the ports and the loop share.
type proxy struct {
	Options
	table   platform.ProcessTable
	sockets platform.SocketSet
	kick    chan struct{}

	mu       sync.Mutex
	wanted   *agentapi.ProxyState
	material certs.Material
	report   agentapi.ProxyReport
	proofs   proofs
	draining bool
	// stepped is closed, and replaced, at the end of each step.
	stepped chan struct{}
	beat    time.Time
	// heard is when the operator sent a state last, or the primary answered a sidecar.
	heard   time.Time
	metrics string
	sidecar

	// ending is when the pod's end began. It belongs to the loop, as all that follows.
	ending time.Time
	run
}

// run is one ProxySQL. It belongs to the loop.
type run struct {
	process *mariadbd.Process
	admin   admin
	// applied is the statements of each section that are in effect; started reports whether ProxySQL listens.
	applied map[string][]string
	started bool
	// paused reports whether it takes no new clients.
	paused bool
	// loaded is the revision of the state that is in effect as a whole.
	loaded int64
	drains drains
	// pair is the certificate that ProxySQL has.
	pair     string
	provedAt time.Time
	// answered is when the admin interface did last.
	answered time.Time
	// ended is when the one before did, why the reason.
	ended time.Time
	why   string
}

// Run runs ProxySQL until a signal ends it.
func Run(ctx context.Context, o Options) error {
	p := &proxy{Options: o, kick: make(chan struct{}, 1), stepped: make(chan struct{})}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a broken log pipe must not end it
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.read()
	open := func() error { return p.serve(ctx) }
	if p.Sidecar != nil {
		go p.follow(ctx)
		open = func() error { return serveMetrics(ctx, p) }
	}
	if err := open(); err != nil {
		return err
	}
	for tick := time.NewTicker(pace); ; {
		p.step(ctx)
		if !p.ending.IsZero() && p.drained(ctx) {
			p.stop()
			return nil
		}
		select {
		case <-signals:
			p.drain()
			tick.Reset(pace / 4)
		case <-tick.C:
		case <-p.kick:
		}
	}
}

// step makes ProxySQL what it is to be, as far as that is known.
func (p *proxy) step(ctx context.Context) {
	p.table.Reap()
	p.read()
	err := p.ensure(ctx)
	p.turn(ctx, err)
}

// turn loads what is wanted, unless err keeps it from that, and publishes what is observed.
func (p *proxy) turn(ctx context.Context, err error) {
	if err == nil {
		err = p.apply(ctx)
	}
	report := p.observe(ctx, err)
	if p.Sidecar != nil {
		p.beats()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if report.Problem != "" && report.Problem != p.report.Problem {
		p.Logger.Warn("ProxySQL is not as it is to be", "why", report.Problem)
	}
	p.report, p.beat = report, time.Now()
	close(p.stepped) // the answers to requests wait for it
	p.stepped = make(chan struct{})
}

// read takes over what is mounted. A state that cannot be read changes nothing.
func (p *proxy) read() {
	if p.Sidecar != nil {
		p.readBinding()
		return
	}
	material, err := certs.Read(p.TLSDir)
	if err == nil && len(material.Cert) > 0 {
		p.mu.Lock()
		p.material = material
		p.mu.Unlock()
	}
	if s, err := readState(p.StateDir); err == nil {
		p.take(s)
	}
}

// take keeps a state that is newer than the one that is known.
func (p *proxy) take(s agentapi.ProxyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted != nil && s.Revision <= p.wanted.Revision {
		return
	}
	p.wanted = &s
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// ensure has a ProxySQL whose admin interface answers.
func (p *proxy) ensure(ctx context.Context) error {
	if p.process != nil {
		select {
		case <-p.process.Done():
			exit := p.process.Exit()
			p.Logger.Error("ProxySQL has ended", "code", exit.Code, "signal", exit.Signal.String())
			_ = p.admin.db.Close()
			p.run = run{ended: time.Now(), why: ending(exit)}
		default:
			return p.alive(ctx)
		}
	}
	if !p.ending.IsZero() {
		return errors.New("ProxySQL has ended, and the pod ends")
	}
	if time.Since(p.ended) < restartPause {
		return errors.New(p.why + ", and is started again in a moment")
	}
	if err := p.installPair(); err != nil {
		return err
	}
	return p.start(ctx)
}

// ending describes the end of a ProxySQL.
func ending(exit mariadbd.Exit) string {
	switch exit.Signal {
	case 0:
		return fmt.Sprintf("ProxySQL has ended (code %d)", exit.Code)
	case syscall.SIGKILL:
		return "ProxySQL was killed, by the kernel if its memory was full (spec.resources)"
	}
	return fmt.Sprintf("ProxySQL has ended (signal %s)", exit.Signal)
}

// alive reports whether the admin interface answers. A ProxySQL that has not answered for long serves no client: it is
// killed, and the next step starts another one.
func (p *proxy) alive(ctx context.Context) error {
	_, err := p.admin.table(ctx, "SELECT 1")
	if err == nil {
		p.answered = time.Now()
		return nil
	}
	if silent := time.Since(p.answered); silent > cmp.Or(p.Limit, hungTimeout) {
		p.Logger.Error("ProxySQL does not answer, and is killed", "since", silent.Round(time.Second), "error", err)
		p.process.Kill()
	}
	return fmt.Errorf("the admin interface of ProxySQL does not answer: %w", err)
}

// start starts ProxySQL without a port for clients.
func (p *proxy) start(ctx context.Context) error {
	data, socket, password := filepath.Join(p.Dir, "data"), filepath.Join(p.Dir, "admin.sock"), rand.Text()
	_ = os.Remove(socket)
	file := filepath.Join(p.Dir, "proxysql.cnf")
	if err := datadir.WriteFile(file, []byte(configuration(data, socket, password, p.listen())),
		0o600); err != nil {
		return err
	}
	process, err := mariadbd.Start(&p.table, mariadbd.Command{Path: p.Program, Dir: p.Dir, Log: p.Output,
		Env:  os.Environ(),
		Args: []string{"--initial", "-f", "-n", "--idle-threads", "--no-version-check", "-c", file, "-D", data}})
	if err != nil {
		return fmt.Errorf("starting ProxySQL: %w", err)
	}
	admin, err := openAdmin(socket, password)
	if err != nil {
		return err
	}
	p.run = run{process: process, admin: admin, applied: map[string][]string{}, pair: p.pair, answered: time.Now()}
	wait, limit := time.NewTicker(100*time.Millisecond), time.NewTimer(cmp.Or(p.Limit, startTimeout))
	defer wait.Stop()
	defer limit.Stop()
	for {
		if _, err = admin.table(ctx, "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-process.Done():
			return errors.New("ProxySQL ended while it started: " + strings.Join(last(process.Exit().Lines), " | "))
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			process.Kill() // the next step finds it ended, and starts another one
			return fmt.Errorf("the admin interface of ProxySQL has not answered in time after its start: %w", err)
		case <-wait.C:
		}
	}
}

func last(lines []string) []string { return lines[max(0, len(lines)-3):] }

// installPair writes the certificate where ProxySQL reads it.
func (p *proxy) installPair() error {
	data := filepath.Join(p.Dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil || p.Sidecar != nil {
		return err
	}
	p.mu.Lock()
	m := p.material
	p.mu.Unlock()
	if len(m.Cert) == 0 || len(m.Key) == 0 || len(m.CA) == 0 {
		return errors.New("waiting for the proxy's certificate")
	}
	for name, content := range map[string][]byte{"proxysql-ca.pem": m.CA, "proxysql-cert.pem": m.Cert,
		"proxysql-key.pem": m.Key} {
		if err := datadir.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			return err
		}
	}
	p.pair = string(m.Cert)
	return nil
}

// apply loads the sections that differ from what is in effect, and opens the port for clients when all are.
func (p *proxy) apply(ctx context.Context) error {
	p.mu.Lock()
	s, renewed := p.wanted, string(p.material.Cert) != p.pair
	p.mu.Unlock()
	if renewed {
		if err := p.installPair(); err != nil {
			return err
		}
		if err := p.admin.run(ctx, "PROXYSQL RELOAD TLS"); err != nil {
			p.pair = ""
			return err
		}
		p.Logger.Info("the proxy's certificate was loaded")
	}
	if s == nil {
		return errors.New("waiting for a state")
	}
	caFile := filepath.Join(p.Dir, "nodes-ca.pem")
	if err := datadir.WriteFile(caFile, []byte(s.CA), 0o600); err != nil {
		return err
	}
	drained, cut := p.drains.next(*s, time.Now())
	p.drains = drained
	for _, part := range sections(*s, caFile, cut) {
		if slices.Equal(p.applied[part.name], part.statements) {
			continue
		}
		delete(p.applied, part.name)
		statements := part.statements
		if !p.started && part.loadedByStart { // LOAD would crash ProxySQL 2.7.1
			statements = statements[:len(statements)-1]
		}
		if err := p.admin.run(ctx, statements...); err != nil {
			return fmt.Errorf("loading %s: %w", part.name, err)
		}
		p.applied[part.name] = part.statements
		p.Logger.Info("a part of the state was loaded", "part", part.name, "revision", s.Revision)
	}
	if !p.started {
		if err := p.admin.run(ctx, "PROXYSQL START"); err != nil {
			return err
		}
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	p.loaded = s.Revision // a newer state may have been published meanwhile
	return nil
}

// await waits until ProxySQL listens for clients: only then are the parts there that LOAD works on.
func (p *proxy) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := p.dial(ctx)
		if err == nil {
			p.started = true
			return conn.Close()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("ProxySQL does not listen for clients: %w", err)
		}
		pause(ctx, startTimeout/100)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
