package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	sampleEvery = time.Minute
	fullEvery   = 24 * time.Hour
	// leastAgain and mostAgain bound how soon all pages are read again while some are in clear, or encrypted, that are to
	// be the other: soon while their number changes, as MariaDB is at them, and ever less often while it does not.
	leastAgain = 10 * time.Second
	mostAgain  = 10 * time.Minute
	// first is how soon a new server's files are read.
	first = 5 * time.Second
	// resultFile is in memory, where the next agent finds it.
	resultFile = "encryption.json"
)

// Monitor reads the data directory, and keeps what it saw. Event loop only, except for Run.
type Monitor struct {
	places platform.Places
	post   func(event func())
	// mode is what the server does that has served; "" is nothing to look at.
	mode   atomic.Value
	result agentapi.AtRestReport
	// of names the data directory that result is of, and the mode. Run only, after Open.
	of string
	// again is how soon all pages are read again while there is something left. Run only.
	again time.Duration
}

// kept is a result as the next agent finds it.
type kept struct {
	Of     string
	Result agentapi.AtRestReport
}

// Open makes it ready; post hands events to the loop.
func (m *Monitor) Open(places platform.Places, post func(event func())) {
	m.places, m.post = places, post
	text, err := os.ReadFile(filepath.Join(places.Run, resultFile))
	var found kept
	if err == nil && json.Unmarshal(text, &found) == nil {
		m.of, m.result = found.Of, found.Result
	}
}

// Set has the volume read while a server that has served has encryption keys. Another mode begins anew.
func (m *Monitor) Set(mode string, served bool) {
	if !served {
		mode = ""
	}
	m.mode.Store(mode)
}

// Report adds what was seen. What keys there are is reported by package config.
func (m *Monitor) Report(to *agentapi.Report) {
	if to.AtRest == nil {
		return
	}
	problem, mode := to.AtRest.Problem, to.AtRest.Mode
	seen := m.result
	if seen.Mode != mode {
		seen = agentapi.AtRestReport{} // of the server before
	}
	seen.Problem, seen.Mode = problem, mode
	seen.Clear, seen.Encrypted = slices.Clone(seen.Clear), slices.Clone(seen.Encrypted)
	to.AtRest = &seen
}

// Run looks at a sample every minute, and at everything once a day, until ctx ends. It has a thread of its own, whose
// input and output come after everybody else's.
func (m *Monitor) Run(ctx context.Context) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this function
	const whoProcess, idle = 1, 3 << 13
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, 0, idle)
	last := m.result
	for wait := first; pause(ctx, wait) == nil; {
		wait = first
		mode, _ := m.mode.Load().(string)
		if mode == "" {
			continue
		}
		if of := identity(m.places.Data); of != m.of || mode != last.Mode {
			// A copy or a new database has taken the place of the files, or the server does something else with them.
			m.of, last = of, agentapi.AtRestReport{Mode: mode}
			m.post(func() { m.result = agentapi.AtRestReport{Mode: mode} })
		}
		last = m.look(ctx, last)
		if ctx.Err() != nil {
			return
		}
		if text, err := json.Marshal(kept{Of: m.of, Result: last}); err == nil {
			_ = datadir.WriteFile(filepath.Join(m.places.Run, resultFile), text, 0o600)
		}
		shown := last
		m.post(func() { m.result = shown })
		if wait = sampleEvery; m.left(last) {
			wait = min(m.again, sampleEvery)
		}
	}
}

// left reports whether something on the volume is not yet as the server would write it.
func (m *Monitor) left(r agentapi.AtRestReport) bool {
	if r.Mode == agentapi.ModeHolds {
		return r.EncryptedFiles > 0
	}
	return r.ClearFiles > 0
}

// pace decides how soon all pages are read again, after a look that took so long.
func (m *Monitor) pace(before, now agentapi.AtRestReport, took time.Duration) {
	if before.FullAt.IsZero() || before.ClearFiles != now.ClearFiles || before.EncryptedFiles != now.EncryptedFiles {
		m.again = 0
	}
	m.again = max(min(2*m.again, mostAgain), 3*took, leastAgain)
}

// look reads all pages when that is due, and a sample otherwise.
func (m *Monitor) look(ctx context.Context, last agentapi.AtRestReport) agentapi.AtRestReport {
	age := time.Since(last.FullAt)
	clears, before, began := last.Mode == agentapi.ModeHolds, last, time.Now()
	full := last.FullAt.IsZero() || age >= fullEvery || m.left(last) && age >= m.again
	for {
		r := reader{dir: m.places.Data, full: full, most: agentapi.MaxClear, clears: clears}
		if full {
			r.progress = m.progress
		}
		err := r.read(ctx)
		now := time.Now()
		if err != nil {
			last.Error = err.Error()
			return last
		}
		last.Error = ""
		if !full && (!clears && r.out.clearFiles > 0 && last.ClearFiles == 0 || clears && r.out.encryptedFiles > 0 &&
			last.EncryptedFiles == 0) {
			full = true // all of it, at once
			continue
		}
		last.SampledAt, last.CacheClear = now, r.out.cacheClear
		if full {
			last.Files, last.Pages, last.FullAt = r.out.files, r.out.pages, now
			last.ClearFiles, last.Clear = r.out.clearFiles, r.out.clear
			last.EncryptedFiles, last.Encrypted = r.out.encryptedFiles, r.out.encrypted
			m.pace(before, last, now.Sub(began))
		}
		return last
	}
}

// progress reports what a look at all pages, which may take hours, has seen so far.
func (m *Monitor) progress(so seen) {
	now := time.Now()
	m.post(func() {
		m.result.SampledAt = now
		if so.clearFiles > 0 && m.result.Mode == agentapi.ModeEncrypts {
			m.result.ClearFiles, m.result.Clear = so.clearFiles, so.clear
		}
	})
}

// identity tells data directories from each other: the system tablespace is made with the database, or arrives with a
// copy. The time of its birth is needed because numbers of files are used again. It is "" when it cannot be read.
func identity(dir string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, filepath.Join(dir, "ibdata1"), 0, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d@%d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
