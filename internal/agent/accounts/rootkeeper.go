package accounts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// rootRetryInterval is the pause after an attempt to set root's password that failed.
const rootRetryInterval = 2 * time.Second

const (
	// rootOverlap is how long root's password before is accepted, unless the Secret sets another time.
	rootOverlap = time.Hour
	// overlapCheckInterval is how often the end of an overlap is checked: the Secret may cut it short.
	overlapCheckInterval = 10 * time.Second
)

// RootKeeper keeps root's password equal to the Secret's. Not safe for concurrent use (event loop only), except for
// Password.
type RootKeeper struct {
	loop   eventloop.Loop
	places platform.Places
	keep   KeepRoot

	read, before string // hashes of the password in the Secret, and of the one that was in it before
	applied      string // what is known to be in force
	retryPending time.Time
	busy         bool
	retryAt      time.Time
	problem      string
	failure      *agentapi.Failure // why the server refuses to set it, nil when it does not
}

// KeepRoot sets root's accounts and their password where they are others. It returns how long the one before is
// accepted yet, 0 when it is not.
type KeepRoot func(ctx context.Context, w DesiredRoot) (time.Duration, error)

// NewRootKeeper returns a Root that has not read the Secret.
func NewRootKeeper(loop eventloop.Loop, places platform.Places, keep KeepRoot) RootKeeper {
	return RootKeeper{loop: loop, places: places, keep: keep}
}

// ReadPasswords records the passwords of the Secret, so that every member knows which password was the one before.
func (r *RootKeeper) ReadPasswords() {
	if word := r.Password(); word != "" && r.read != agentapi.NativeHash(word) {
		r.read, r.before = agentapi.NativeHash(word), r.read
	}
}

// Check sets root's password where it differs from the Secret's, and from where root may log in, on a server that
// serves. It calls settled when nothing is left to do: the password is set, or none has been published.
func (r *RootKeeper) Check(access *agentapi.RootAccess, settled func()) {
	if r.busy || time.Now().Before(r.retryAt) {
		return
	}
	word := r.Password()
	if word == "" {
		r.problem = "the root password has not been published"
		settled()
		return
	}
	hash := agentapi.NativeHash(word)
	desired := DesiredRoot{Hash: hash, Before: r.before, Overlap: r.overlap()}
	if access != nil {
		desired.Hosts, desired.Disabled = access.Hosts, access.Disabled
	}
	applied := fmt.Sprint(hash, desired.Disabled, desired.Hosts)
	if r.applied == applied && (r.retryPending.IsZero() || time.Now().Before(r.retryPending)) {
		settled()
		return
	}
	r.busy = true
	go func() {
		left, err := r.keep(context.Background(), desired)
		r.loop.Post(func() {
			r.busy = false
			if err != nil {
				r.retryAt = time.Now().Add(rootRetryInterval)
				r.loop.Logger.Warn("root's password could not be set", "error", err)
				r.refused(err)
				return
			}
			r.failure = nil
			r.applied, r.problem, r.retryPending = applied, "", time.Time{}
			if left > 0 {
				r.retryPending = time.Now().Add(min(left, overlapCheckInterval))
			}
			settled()
		})
	}()
}

// refused notes the server's answer to statements that trying again does not help.
func (r *RootKeeper) refused(err error) {
	var refused Refused
	if !errors.As(err, &refused) {
		return
	}
	r.failure = &agentapi.Failure{Reason: agentapi.FailureRoot, At: time.Now(),
		Message: "the server refuses to set root's password: " + refused.Message}
}

// Yield is called on a member that does not set the password: another one does. What that one has set is not known
// here.
func (r *RootKeeper) Yield() { r.failure, r.applied = nil, "" }

// Failure is why the server refuses to set the password, nil when it does not.
func (r *RootKeeper) Failure() *agentapi.Failure { return r.failure }

// Password reads root's password, "" while there is none. Safe for concurrent use.
func (r *RootKeeper) Password() string {
	password, err := os.ReadFile(filepath.Join(r.places.Root, agentapi.RootPasswordKey))
	if err != nil {
		return ""
	}
	return agentapi.RootPassword(password)
}

// overlap is how long the password before is accepted: the Secret's overlap, else an hour.
func (r *RootKeeper) overlap() time.Duration {
	raw, err := os.ReadFile(filepath.Join(r.places.Root, agentapi.RootOverlapKey))
	if err != nil {
		return rootOverlap
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(raw)))
	if err != nil || d < 0 {
		return rootOverlap
	}
	return d
}

// Problem is why no password is set, "" when one is, or nothing is known.
func (r *RootKeeper) Problem() string { return r.problem }

// Busy returns what is in progress while the password is being set, "" when it is not.
func (r *RootKeeper) Busy() string {
	if r.busy {
		return "root's password is being set"
	}
	return ""
}
