package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestWishes: what no operator asks for is refused before anything is done; a hindrance is an answer, and an arbitrator has no accounts.
func TestWishes(t *testing.T) {
	asked := 0
	control := Control{
		Users: func(_ context.Context, u agentapi.SQLUser) agentapi.SQLResult {
			asked++
			if u.Name == "taken" {
				return agentapi.SQLResult{Reason: agentapi.SQLOwned, Owner: "demo/other"}
			}
			return agentapi.SQLResult{}
		},
		Databases: func(context.Context, agentapi.SQLDatabase) agentapi.SQLResult { asked++; return agentapi.SQLResult{} },
	}
	for _, tc := range []struct {
		of         Control
		path, body string
		status     int
		asked      int
	}{
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"%"}`, http.StatusOK, 1},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"taken","host":"%"}`, http.StatusConflict, 1},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"root","host":"%"}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"localhost"}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"%","present":true}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""]}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""],"subject":"/O=a/CN=b"}`, http.StatusOK, 1},
		{control, agentapi.PathUsers, `{"owner":"x","name":"app","host":"%"}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{`, http.StatusBadRequest, 0},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"app","present":true}`, http.StatusOK, 1},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"MySQL","present":true}`, http.StatusBadRequest, 0},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"app","present":true,"collation":"x; DROP"}`, http.StatusBadRequest, 0},
		{Control{}, agentapi.PathUsers, `{"owner":"demo/app","name":"app","host":"%"}`, http.StatusConflict, 0},
	} {
		asked = 0
		w := httptest.NewRecorder()
		tc.of.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, tc.path, strings.NewReader(tc.body)))
		if w.Code != tc.status || asked != tc.asked {
			t.Errorf("%s %s: %d, asked %d: %s", tc.path, tc.body, w.Code, asked, w.Body)
		}
	}
}
