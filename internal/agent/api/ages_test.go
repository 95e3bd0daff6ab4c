package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestStatusContainsAges: as they are when the question is answered, and what is kept has none, so that they are no
// news.
func TestStatusContainsAges(t *testing.T) {
	r := agentapi.Report{TLS: agentapi.TLSReport{Peers: map[string]agentapi.ChannelFact{"shop-1": {CheckedAt: time.Now().
		Add(-20 * time.Second)}}}}
	store := NewReportStore(r)
	for _, query := range []string{"", "?since=0&wait=1s", "?since=1&wait=1ms"} {
		w := httptest.NewRecorder()
		ControlHandler{Reports: store}.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, agentapi.PathStatus+query,
			nil))
		var got agentapi.Report
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if age := got.TLS.Peers["shop-1"].AgeSeconds; age == nil || *age < 20 || *age > 25 {
			t.Errorf("%q: %s", query, w.Body)
		}
	}
	store.Set(r)
	if got := store.Get(); got.Generation != 1 || got.TLS.Peers["shop-1"].AgeSeconds != nil {
		t.Errorf("%+v", got)
	}
}
