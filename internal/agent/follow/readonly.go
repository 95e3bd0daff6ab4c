package follow

import (
	"context"
	"time"
)

// setReadOnly has the server refuse the writes of clients, or accept them.
func (r *Follower) setReadOnly(on bool) {
	r.setting = true
	r.closing.set(false)
	proc, mode := r.Run.Proc, ""
	if !on { // the configuration may not be known otherwise
		mode = r.Mode()
		r.writable = proc
		keep(r) // before it is opened
	}
	go func() {
		err := r.server.SetReadOnly(context.Background(), on, mode)
		r.loop.Post(func() {
			r.setting, r.next = false, time.Time{}
			r.closing.set(err != nil && !on)
			if err == nil && on && r.writable == proc {
				r.writable = nil
				keep(r)
			}
			switch {
			case err != nil:
				r.loop.Logger.Warn("read_only could not be set", "on", on, "error", err)
			case r.Run.Proc == proc && r.read != nil:
				r.read.ReadOnly = on
				r.loop.Logger.Info("the writes of clients", "refused", on)
			}
		})
	}()
}
