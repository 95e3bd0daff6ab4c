package mariadbd

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// rootAgain is the pause after an attempt to set root's password that failed.
const rootAgain = 2 * time.Second

// Root keeps root's password what the Secret says. It is the loop's, except for Password.
type Root struct {
	loop   room.Loop
	places paths.Places
	ensure func(ctx context.Context, password string) error

	applied string // hash that is known to be in force
	busy    bool
	retryAt time.Time
	problem string
}

// NewRoot returns the room. ensure sets root's password where it is another one.
func NewRoot(loop room.Loop, places paths.Places, ensure func(ctx context.Context, password string) error) Root {
	return Root{loop: loop, places: places, ensure: ensure}
}

// Check sets root's password where it is not what the Secret says, on a server that serves. It calls settled when nothing
// is left to do: the password is set, or none has been published.
func (r *Root) Check(settled func()) {
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
	if r.applied == hash {
		settled()
		return
	}
	r.busy = true
	go func() {
		err := r.ensure(context.Background(), word)
		r.loop.Post(func() {
			r.busy = false
			if err != nil {
				r.retryAt = time.Now().Add(rootAgain)
				r.loop.Logger.Warn("root's password could not be set", "error", err)
				return
			}
			r.applied, r.problem = hash, ""
			settled()
		})
	}()
}

// Password reads root's password, "" while there is none. Safe for concurrent use.
func (r *Root) Password() string {
	password, err := os.ReadFile(filepath.Join(r.places.Root, agentapi.RootPasswordKey))
	if err != nil {
		return ""
	}
	return agentapi.RootPassword(password)
}

// Problem is why no password is set, "" when one is, or nothing is known.
func (r *Root) Problem() string { return r.problem }

// Busy says that the password is being set, "" when it is not.
func (r *Root) Busy() string {
	if r.busy {
		return "root's password is being set"
	}
	return ""
}
