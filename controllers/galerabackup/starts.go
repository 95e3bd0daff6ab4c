package galerabackup

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// starts are the attempts that have begun and that the cache may not show yet: of two backups of one cluster that are
// reconciled at the same time, one begins. Safe for concurrent use.
type starts struct {
	mu sync.Mutex
	of map[types.NamespacedName]start // by cluster
}

type start struct {
	backup   types.NamespacedName
	uid      types.UID
	attempts int32
}

// claim reports whether an attempt may begin.
func (s *starts) claim(cluster types.NamespacedName, b *v1alpha1.GaleraBackup) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, claimed := s.of[cluster]; claimed && have.uid != b.UID {
		return false
	}
	if s.of == nil {
		s.of = map[types.NamespacedName]start{}
	}
	s.of[cluster] = start{client.ObjectKeyFromObject(b), b.UID, b.Status.Attempts}
	return true
}

// release forgets the claim of an attempt that could not be written down.
func (s *starts) release(b *v1alpha1.GaleraBackup) {
	s.drop(func(have start) bool { return have.uid == b.UID })
}

// seen forgets the attempts of a backup that the cache shows by now.
func (s *starts) seen(b *v1alpha1.GaleraBackup) {
	s.drop(func(have start) bool {
		return have.backup == client.ObjectKeyFromObject(b) && (have.uid != b.UID || b.Status.Attempts >= have.attempts)
	})
}

// gone forgets the attempts of a backup that does not exist any more.
func (s *starts) gone(backup types.NamespacedName) {
	s.drop(func(have start) bool { return have.backup == backup })
}

func (s *starts) drop(which func(start) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cluster, have := range s.of {
		if which(have) {
			delete(s.of, cluster)
		}
	}
}
