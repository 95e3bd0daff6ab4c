package observe

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// followServer follows the agents of one cluster, all of them answered for by a TLS server, and counts what that costs.
func followServer(t *testing.T, agents int, handler http.HandlerFunc) (key types.NamespacedName, a *Agents, questions,
	passes *atomic.Int32) {
	t.Helper()
	questions, passes = &atomic.Int32{}, &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		questions.Add(1)
		handler(w, r)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	key = types.NamespacedName{Namespace: "demo", Name: "shop"}
	own := &tls.Certificate{}
	a = &Agents{
		Client:  NewAgentClient(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil }),
		Changed: func(types.NamespacedName) { passes.Add(1) },
	}
	var targets []Target
	for i := range agents {
		targets = append(targets, Target{Pod: "shop-" + strconv.Itoa(i), Address: strings.TrimPrefix(server.URL, "https://"),
			ServerName: "example.com", CA: string(ca)})
	}
	a.Follow(key, targets)
	t.Cleanup(func() {
		a.Follow(key, nil)
		server.CloseClientConnections()
		server.Close()
	})
	return key, a, questions, passes
}

// TestAnswersAtOnce: an agent that never waits costs a few questions a second, and a cluster of such a few passes.
func TestAnswersAtOnce(t *testing.T) {
	const watched = 3 * time.Second
	for name, c := range map[string]struct {
		generation func(int32) int64
		questions  int32 // of each agent
		passes     int32
	}{
		"without news": {func(int32) int64 { return 7 }, 8, 3},
		"with news each time": {func(n int32) int64 { return int64(n) }, questionBurst + 3*questionRate + 2,
			wakeBurst + 3*wakeRate + 2},
		"with news now and then": {func(n int32) int64 { return int64(n) / 6 }, questionBurst + 3*questionRate + 2,
			wakeBurst + 3*wakeRate + 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			_, _, questions, passes := followServer(t, 3, func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(agentapi.Report{Generation: c.generation(n.Add(1))})
			})
			time.Sleep(watched) // the cost of a time is what is measured
			if q, p := questions.Load(), passes.Load(); q < 3 || q > 3*c.questions || p < 1 || p > c.passes {
				t.Errorf("%d questions and %d passes in %s, at most %d and %d", q, p, watched, 3*c.questions, c.passes)
			}
		})
	}
}

// TestErrorsBetweenAnswers: nor does one that fails every second time.
func TestErrorsBetweenAnswers(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	_, _, questions, _ := followServer(t, 1, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(agentapi.Report{Generation: int64(n.Load())})
	})
	time.Sleep(3 * time.Second) // the cost of a time is what is measured
	if q := questions.Load(); q < 3 || q > questionBurst+3*questionRate+2 {
		t.Errorf("%d questions", q)
	}
}

// TestHonestAgentsAreNotThrottled arrive without delay, a dozen in a row, too.
func TestHonestAgentsAreNotThrottled(t *testing.T) {
	t.Parallel()
	store := api.NewReportStore(agentapi.Report{Name: "shop-0"})
	key, a, questions, _ := followServer(t, 1, func(w http.ResponseWriter, r *http.Request) {
		since, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
		if err != nil {
			_ = json.NewEncoder(w).Encode(store.Get())
			return
		}
		_ = json.NewEncoder(w).Encode(store.Wait(r.Context(), since, longPoll))
	})
	within := func(what string, is func(Seen) bool) {
		t.Helper()
		end := time.Now().Add(500 * time.Millisecond)
		for !is(a.Seen(key)["shop-0"]) {
			if time.Now().After(end) {
				t.Fatalf("%s has not arrived", what)
			}
			time.Sleep(time.Millisecond)
		}
	}
	within("the first report", func(s Seen) bool { return s.Live })
	for i := range 12 {
		store.Set(agentapi.Report{Name: "shop-0", Restarts: i + 1})
		within("change "+strconv.Itoa(i+1), func(s Seen) bool { return s.Report.Restarts == i+1 })
	}
	if q := questions.Load(); q > 15 {
		t.Errorf("%d questions for 12 news", q)
	}
}
