package leasing

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const dir = "prod/shop/b65191a0"

// asking are agents that note what is asked and answered.
type asking struct {
	log []string
	// none reports whether no agent answers.
	none bool
	// when is called when they have asked.
	when func()
}

func (a *asking) ask(context.Context) []question {
	a.log = append(a.log, "asked")
	if a.when != nil {
		a.when()
	}
	if a.none {
		return nil
	}
	return []question{{token: "one"}}
}

func (a *asking) answer(_ context.Context, to []question) {
	for _, q := range to {
		a.log = append(a.log, "answered "+q.token)
	}
}

// TestRenew: the lease is announced, and what was asked before that is answered while the store answers that no
// promotion counts. One that is recorded after the question counts, too.
func TestRenew(t *testing.T) {
	ctx, bucket, away := t.Context(), memblob.OpenBucket(nil), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	agents := &asking{}
	r := &renewer{bucket: away, dir: dir, agents: agents}
	renewed := func(says string, log ...string) {
		t.Helper()
		err := r.renew(ctx)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v instead of %q", err, says)
		}
		if !slices.Equal(agents.log, log) {
			t.Errorf("%v instead of %v", agents.log, log)
		}
		agents.log = nil
	}
	renewed("could not be announced", "asked")
	r.bucket = bucket
	agents.when = func() {
		if have, err := promotion.Announced(ctx, bucket, dir); err != nil || have {
			t.Errorf("announced before anyone has asked: %v, %v", have, err)
		}
	}
	renewed("", "asked", "answered one")
	if have, err := promotion.Announced(ctx, bucket, dir); err != nil || !have {
		t.Errorf("announced: %v, %v", have, err)
	}
	var p *task.Promotion
	agents.when = func() {
		var err error
		p, err = promotion.Record(ctx, bucket, store.Create, dir, task.Promotion{UID: "bbbbbbbb-1", GTID: "0-1-7"})
		if err != nil {
			t.Fatal(err)
		}
	}
	renewed("another cluster has taken over", "asked")
	agents.when = nil
	renewed("another cluster has taken over", "asked")
	if err := promotion.Overrule(ctx, bucket, dir, *p); err != nil {
		t.Fatal(err)
	}
	renewed("", "asked", "answered one")
}

// TestQuestions: each agent that can be reached is asked, and is answered its own question. One that shows another
// certificate is not asked.
func TestQuestions(t *testing.T) {
	var answers []string
	agent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var a agentapi.LeaseAnswer
		if err := json.NewDecoder(req.Body).Decode(&a); err != nil || req.URL.Path != agentapi.PathLease {
			t.Errorf("%s: %v", req.URL, err)
		}
		if a.Token != "" {
			answers = append(answers, a.Token)
		}
		_ = json.NewEncoder(w).Encode(agentapi.LeaseQuestion{Token: "a:7"})
	}))
	defer agent.Close()
	_, text, err := net.SplitHostPort(agent.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	config := agent.Client().Transport.(*http.Transport).TLSClientConfig
	h := hosts{names: []string{"127.0.0.1", "127.0.0.2"}, port: port,
		trust: func() (*tls.Config, error) { return config, nil }}
	asked := h.ask(t.Context())
	if len(asked) != 1 || asked[0].token != "a:7" || len(answers) > 0 {
		t.Fatalf("%+v, answered %v", asked, answers)
	}
	if h.answer(t.Context(), asked); !slices.Equal(answers, []string{"a:7"}) {
		t.Errorf("answered %v", answers)
	}
	config = &tls.Config{MinVersion: tls.VersionTLS13}
	if asked := h.ask(t.Context()); len(asked) > 0 {
		t.Errorf("a stranger is asked: %+v", asked)
	}
}

// TestRenewed: a pod counts as started once it has renewed the lease for an agent, whatever happens later.
func TestRenewed(t *testing.T) {
	bucket, away := memblob.OpenBucket(nil), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	began := 0
	agents := &asking{}
	r := &renewer{bucket: away, dir: dir, agents: agents, began: func() error { began++; return nil }}
	for i, step := range []struct {
		bucket *store.Bucket
		none   bool
		want   int
	}{{away, false, 0}, {bucket, true, 0}, {bucket, false, 1}, {bucket, false, 1}, {away, false, 1}} {
		r.bucket, agents.none = step.bucket, step.none
		if err := r.renew(t.Context()); (err == nil) != (step.bucket == bucket) || began != step.want {
			t.Errorf("%d: %d times, %v", i, began, err)
		}
	}
}
