package archiver

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

const (
	// surveyEvery is how often the bases are looked at, pruneEvery how often what no base needs is removed.
	surveyEvery = 20 * time.Second
	pruneEvery  = time.Hour
)

// survey looks which backups the archive goes on from, and removes segments that none of them needs.
func (a *archiver) survey(ctx context.Context) {
	known := map[string]binlog.Base{}
	for {
		if chain := a.told.chain(); chain > 0 {
			bases, err := a.store.bases(ctx, a.told.domain(), known)
			if err == nil {
				err = a.surveyOnce(ctx, chain, bases)
			}
			if err != nil && ctx.Err() == nil {
				say("the backups could not be looked at: %v", err)
			}
		}
		select {
		case <-time.After(surveyEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (a *archiver) surveyOnce(ctx context.Context, chain uint64, bases []binlog.Base) error {
	all, err := a.store.numbers(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	first, err := a.store.head(ctx, max(chain, all[0]))
	if err != nil {
		return err
	}
	var best binlog.Base
	for _, b := range bases {
		if b.GTID.Domain == first.Start().Domain && binlog.GoesOn(first, b) && (best.ID == "" || b.Time.Before(best.Time)) {
			best = b
		}
	}
	a.told.surveyed(chain, best.ID, best.Time)
	if len(bases) == 0 || time.Since(a.pruned) < pruneEvery {
		return nil
	}
	a.pruned = time.Now()
	return a.store.prune(ctx, bases)
}

// bases are the complete backups of the cluster that tell their GTID. known has those that were read before.
func (s *archive) bases(ctx context.Context, domain uint32, known map[string]binlog.Base) (out []binlog.Base, err error) {
	objects := s.bucket.List(&blob.ListOptions{Prefix: s.cluster + "/", Delimiter: "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, explained("the backups could not be listed", err)
		}
		id := path.Base(strings.TrimSuffix(o.Key, "/"))
		if !o.IsDir || id == binlog.Directory {
			continue
		}
		key := path.Join(s.cluster, id, manifest.Name)
		exists, err := store.Exists(ctx, s.bucket, key)
		if err != nil {
			return nil, explained("a backup could not be looked for", err)
		}
		if !exists { // it is being made, or is gone
			delete(known, id)
			continue
		}
		b, found := known[id]
		if !found {
			if b, err = s.base(ctx, domain, id, key); err != nil {
				return nil, err
			}
			known[id] = b
		}
		if b.GTID != (binlog.GTID{}) {
			out = append(out, b)
		}
	}
}

func (s *archive) base(ctx context.Context, domain uint32, id, key string) (binlog.Base, error) {
	b := binlog.Base{ID: id}
	text, err := s.bucket.ReadAll(ctx, key)
	if err != nil {
		return b, explained("a manifest could not be read", err)
	}
	m, err := manifest.Parse(text)
	if err != nil {
		say("the backup %s is no base: %v", id, err)
		return b, nil
	}
	b.Time = m.CompletedAt
	b.GTID, _ = binlog.In(m.GTID, domain)
	return b, nil
}

// prune removes the segments before the oldest base.
func (s *archive) prune(ctx context.Context, bases []binlog.Base) error {
	oldest := bases[0]
	for _, b := range bases {
		if b.Time.Before(oldest.Time) {
			oldest = b
		}
	}
	all, err := s.numbers(ctx)
	if err != nil {
		return err
	}
	for _, n := range all[:max(0, len(all)-1)] {
		h, err := s.head(ctx, n)
		if err != nil {
			return err
		}
		if !binlog.Needless(h, oldest) {
			return nil
		}
		if err := s.bucket.Delete(ctx, s.key(n)); err != nil && !store.Missing(err) {
			return explained("a segment could not be deleted", err)
		}
	}
	return nil
}
