package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	sampleEvery = time.Minute
	fullEvery   = 24 * time.Hour
	// minAgain and maxAgain bound the pause before all pages are read again while some are in clear, or encrypted, that
	// are to be the other: short while their number changes, as MariaDB is at them, and ever longer while it does not.
	minAgain = 10 * time.Second
	maxAgain = 10 * time.Minute
	// first is the pause before a new server's files are read.
	first = 5 * time.Second
	// resultFile is in memory, where the next agent finds it.
	resultFile = "encryption.json"
)

// Monitor reads the data directory, and keeps what it saw. Event loop only, except for Run.
type Monitor struct {
	places platform.Places
	post   func(event func())
	// result is what was seen, and of is the number of the server that it holds for.
	result agentapi.AtRestReport
	of     uint64

	// mu also orders what is written to the file of the result with its removal.
	mu     sync.Mutex
	server server
	wake   chan struct{}

	// volume names the data directory that the result is of. Run only.
	volume string
	// again is the pause before all pages are read again while there is something left. Run only.
	again time.Duration
	// unused and overwritten are as in kept. Run only.
	unused      []string
	overwritten bool
}

// server is one that has served, or none. Before the next one serves, a copy may have replaced the files: what was seen
// holds for it once the files are known to be the same ones.
type server struct {
	number uint64
	// mode is what it does with the keys; "" is nothing to check.
	mode string
	pid  int
	// gone is closed when another server, or none, takes its place.
	gone chan struct{}
}

// kept is a result as the next agent finds it.
type kept struct {
	Of     string
	Result agentapi.AtRestReport
	// Unused names the files with pages in clear that are not in use. Overwritten reports whether the server was started
	// after such pages were overwritten, where no others were in clear.
	Unused      []string
	Overwritten bool
}

// Open makes it ready; post hands events to the loop.
func (m *Monitor) Open(places platform.Places, post func(event func())) {
	m.places, m.post = places, post
	m.server, m.wake = server{gone: make(chan struct{})}, make(chan struct{}, 1)
}

// Forget forgets what was seen: an SST has replaced the files, perhaps in place, as rsync does. It is called before the
// end of that SST is recorded, so that an agent that is killed in between does not find the proof of the former files.
// Safe for concurrent use.
func (m *Monitor) Forget() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return datadir.Remove(m.path())
}

// path is where the result is kept.
func (m *Monitor) path() string { return filepath.Join(m.places.Run, resultFile) }

// keep writes a result down, for the next server and the next agent, unless the server that it is of is gone. A result
// that cannot be written is no reason to keep an older one.
func (m *Monitor) keep(of server, k kept) {
	text, err := json.Marshal(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server.number != of.number {
		return
	}
	if err == nil {
		err = datadir.WriteFile(m.path(), text, 0o600)
	}
	if err != nil {
		_ = datadir.Remove(m.path())
	}
}

// found returns the result that was kept, nothing when there is none.
func (m *Monitor) found() kept {
	text, err := os.ReadFile(m.path())
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil {
		return kept{}
	}
	return k
}

// Set has the volume read while a server that has served has encryption keys. For another server, or another mode,
// nothing that was seen counts before Run has checked which files there are.
func (m *Monitor) Set(mode string, served bool, pid int) {
	if !served {
		mode, pid = "", 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server.mode == mode && m.server.pid == pid {
		return
	}
	close(m.server.gone)
	m.server = server{number: m.server.number + 1, mode: mode, pid: pid, gone: make(chan struct{})}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Report adds what was seen. What keys there are is reported by package config.
func (m *Monitor) Report(to *agentapi.Report) {
	if to.AtRest == nil {
		return
	}
	problem, mode := to.AtRest.Problem, to.AtRest.Mode
	seen := m.result
	if now := m.now(); seen.Mode != mode || mode != now.mode || m.of != now.number {
		seen = agentapi.AtRestReport{} // of the server before
	}
	seen.Problem, seen.Mode = problem, mode
	seen.Clear, seen.Encrypted = slices.Clone(seen.Clear), slices.Clone(seen.Encrypted)
	seen.Unknown = slices.Clone(seen.Unknown)
	to.AtRest = &seen
}

// now returns the server that runs.
func (m *Monitor) now() server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// Run checks a sample every minute, and everything once a day, until ctx ends. It has a thread of its own, whose
// input and output come after all others'.
func (m *Monitor) Run(ctx context.Context) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this function
	const whoProcess, idle = 1, 3 << 13
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, 0, idle)
	last, confirmed := agentapi.AtRestReport{}, uint64(0)
	for wait := first; m.wait(ctx, wait); {
		wait = first
		now := m.now()
		if now.mode == "" {
			continue
		}
		if now.number != confirmed {
			if confirmed, last = now.number, m.confirm(now); last.FullAt.IsZero() {
				m.again = 0
			}
			continue // what is read comes after other work of a server that has just begun to serve
		}
		checked, ended := m.checkUntilGone(ctx, now, last)
		if ctx.Err() != nil {
			return
		}
		if ended {
			continue
		}
		last = checked
		m.keep(now, kept{Of: m.volume, Result: last, Unused: m.unused, Overwritten: m.overwritten})
		m.publish(now, last)
		if wait = sampleEvery; m.left(last) {
			wait = min(m.again, sampleEvery)
		}
	}
}

// wait waits for a while, and no longer than until another server serves, or none. It is false once ctx has ended.
func (m *Monitor) wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.wake:
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

// confirm returns what is known of the volume of a server that has just begun to serve: what was kept, unless other
// files have taken the place of those, or the server does something else with them.
func (m *Monitor) confirm(now server) agentapi.AtRestReport {
	volume, known := identity(m.places.Data), m.found()
	last := known.Result
	if volume == "" || volume != known.Of || now.mode != last.Mode {
		known, last = kept{}, agentapi.AtRestReport{Mode: now.mode}
	}
	m.volume, m.unused, m.overwritten = volume, known.Unused, known.Overwritten
	m.publish(now, last)
	return last
}

// publish has what was seen reported as that of a server's volume.
func (m *Monitor) publish(now server, result agentapi.AtRestReport) {
	m.post(func() { m.result, m.of = result, now.number })
}

// checkUntilGone checks the volume of a server. ended reports whether the server is gone: what was seen of its files
// says nothing about those of the next one.
func (m *Monitor) checkUntilGone(ctx context.Context, now server, last agentapi.AtRestReport) (
	result agentapi.AtRestReport, ended bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-now.gone:
			cancel()
		case <-over:
		}
	}()
	result = m.check(ctx, now, last)
	return result, m.now().number != now.number
}

// left reports whether something on the volume is not yet as the server would write it, or not known to be.
func (m *Monitor) left(r agentapi.AtRestReport) bool {
	if r.Mode == agentapi.ModeHolds {
		return r.EncryptedFiles > 0 || r.UnknownFiles > 0
	}
	return r.ClearFiles > 0 || r.UnknownFiles > 0
}

// pace decides when all pages are read again, after a check that took so long.
func (m *Monitor) pace(before, now agentapi.AtRestReport, took time.Duration) {
	if before.FullAt.IsZero() || before.ClearFiles != now.ClearFiles || before.EncryptedFiles != now.EncryptedFiles ||
		before.UnknownFiles != now.UnknownFiles {
		m.again = 0
	}
	m.again = max(min(2*m.again, maxAgain), 3*took, minAgain)
}

// check reads all pages when that is due, and a sample otherwise.
func (m *Monitor) check(ctx context.Context, now server, last agentapi.AtRestReport) agentapi.AtRestReport {
	age, before, began := time.Since(last.FullAt), last, time.Now()
	full := last.FullAt.IsZero() || age >= fullEvery || m.left(last) && age >= m.again
	if !full {
		out, err := m.sample(ctx, now.mode)
		if err != nil {
			last.Error = err.Error()
			return last
		}
		last.Error, last.SampledAt, last.CacheClear = "", time.Now(), out.cacheClear
		if m.left(last) || !m.contradicts(now.mode, out) {
			return last
		}
	}
	r := reader{dir: m.places.Data, full: true, most: agentapi.MaxClear, clears: now.mode == agentapi.ModeHolds,
		overwritten: m.overwritten}
	r.progress = func(so seen) { m.progress(ctx, now, before, so) }
	if err := r.read(ctx); err != nil {
		last.Error = err.Error()
		return last
	}
	last = agentapi.AtRestReport{Mode: now.mode, SampledAt: time.Now(), FullAt: time.Now()}
	add(&last, r.out)
	m.unused, m.overwritten = r.out.unused, m.overwritten && len(r.out.unused) > 0
	if m.overwritten || r.out.used {
		last.UnusedPages = 0
	}
	m.pace(before, last, last.FullAt.Sub(began))
	return last
}

// sample reads some pages of the files.
func (m *Monitor) sample(ctx context.Context, mode string) (seen, error) {
	r := reader{dir: m.places.Data, most: agentapi.MaxClear, clears: mode == agentapi.ModeHolds}
	err := r.read(ctx)
	return r.out, err
}

// contradicts reports whether something was seen that is not as a server of that mode would write it.
func (m *Monitor) contradicts(mode string, so seen) bool {
	var r agentapi.AtRestReport
	add(&r, so)
	r.Mode = mode
	return m.left(r)
}

// add makes a report of what was seen.
func add(to *agentapi.AtRestReport, so seen) {
	to.Files, to.Pages, to.CacheClear = so.files, so.pages, so.cacheClear
	to.ClearFiles, to.Clear = so.clearFiles, so.clear
	to.EncryptedFiles, to.Encrypted = so.encryptedFiles, so.encrypted
	to.UnknownFiles, to.Unknown = so.unknownFiles, so.unknown
	to.UnusedPages = so.unusedPages
}

// progress reports what a check of all pages, which may take hours, has seen so far: what contradicts the result
// before, at once. Meanwhile a sample of all files is read, as at other times.
func (m *Monitor) progress(ctx context.Context, now server, before agentapi.AtRestReport, so seen) {
	if !m.contradicts(now.mode, so) && !m.left(before) {
		sample, err := m.sample(ctx, now.mode)
		if err != nil {
			return // of what cannot be read there is no fresh evidence
		}
		if m.contradicts(now.mode, sample) {
			so = sample
		}
		so.cacheClear = so.cacheClear || sample.cacheClear
	}
	next := before
	next.SampledAt, next.CacheClear = time.Now(), before.CacheClear || so.cacheClear
	if before.FullAt.IsZero() {
		next.Files, next.Pages = so.files, so.pages
	}
	if so.clearFiles > before.ClearFiles {
		next.ClearFiles, next.Clear = so.clearFiles, so.clear
	}
	if so.encryptedFiles > before.EncryptedFiles {
		next.EncryptedFiles, next.Encrypted = so.encryptedFiles, so.encrypted
	}
	if so.unknownFiles > before.UnknownFiles {
		next.UnknownFiles, next.Unknown = so.unknownFiles, so.unknown
	}
	m.publish(now, next)
}

// identity distinguishes data directories: the system tablespace is made with the database, or arrives with a
// copy. The time of its birth is needed because numbers of files are used again. It is "" when it cannot be read.
func identity(dir string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, filepath.Join(dir, "ibdata1"), 0, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d@%d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
