package follow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// markFile is the name of the file in platform.Places.Run that states that the agent has made a server read-only:
// what a person has set is left alone.
const markFile = "superseded"

// mark is that file.
type mark struct {
	file  string
	there bool
}

func markIn(dir string) mark {
	m := mark{file: filepath.Join(dir, markFile)}
	_, err := os.Stat(m.file)
	m.there = err == nil
	return m
}

// set records it, before it is so.
func (m *mark) set(on bool) (err error) {
	switch {
	case on == m.there:
		return nil
	case on:
		err = os.WriteFile(m.file, nil, 0o600)
	default:
		err = os.Remove(m.file)
	}
	if err == nil || !on && errors.Is(err, fs.ErrNotExist) {
		m.there = on
		return nil
	}
	return err
}

// superseded reports whether another cluster is known to have taken over.
func (d Dependencies) superseded() bool {
	if d.Superseded == nil {
		return false
	}
	refuse, known := d.Superseded()
	return refuse && known
}

// refuse keeps a server that follows nothing from accepting writes while another cluster has taken over, or the lease
// is not renewed, and lets it accept them again afterwards.
func (r *Follower) refuse(now time.Time) {
	on, guarded := r.refuses(), r.guarded()
	if !on && !guarded && !r.mark.there {
		r.read = nil
		return
	}
	if on || guarded { // also of a server that has yet to start: its options have it read-only
		r.warn(r.mark.set(true))
	}
	r.inquire(now)
	if r.read == nil || r.setting {
		return
	}
	switch {
	case on && !r.read.ReadOnly:
		r.setReadOnly(true)
	case on:
	case r.read.ReadOnly:
		r.setReadOnly(false)
	case guarded:
	default:
		r.warn(r.mark.set(false))
	}
}

// inquire asks a server that follows nothing now and then whether it is read-only. Its channel is not looked at: it is
// a person's.
func (r *Follower) inquire(now time.Time) {
	if r.Run.Proc == nil || r.Run.Status == nil {
		r.read, r.next = nil, time.Time{}
		return
	}
	if r.reading || r.setting || now.Before(r.next) {
		return
	}
	proc, asked := r.Run.Proc, r.closing.question(r.switching())
	r.reading, r.next = true, now.Add(r.closing.pause(asked, now))
	go func() {
		read, end, err := asked.read(r.server)
		r.loop.Post(func() {
			r.reading = false
			if r.Run.Proc != proc {
				return
			}
			r.read = nil
			r.closing.see(asked, end)
			if err == nil { // a member that is not Primary answers no query
				read.Channel = nil
				r.read = read
			}
			r.Check(time.Now())
		})
	}()
}

// Refuses reports whether the server refuses the writes of clients because it follows a source, or may, or because of
// another site: the agent writes nothing either. Without a configuration the server is as the agent has left it.
func (r *Follower) Refuses() bool {
	source, known := r.Wanted()
	return r.superseded() || !known && r.mark.there || source != nil && (r.read == nil || r.read.ReadOnly)
}
