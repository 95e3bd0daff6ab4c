package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestAccountRequests: what no operator asks for is refused before anything is done; a blocking reason is an answer,
// and an arbitrator has no accounts.
func TestAccountRequests(t *testing.T) {
	asked := 0
	control := ControlHandler{
		Users: func(_ context.Context, users []agentapi.SQLUser) []agentapi.SQLResult {
			asked += len(users)
			return make([]agentapi.SQLResult, len(users))
		},
		Databases: func(_ context.Context, d agentapi.SQLDatabase) agentapi.SQLResult {
			asked++
			if d.Name == "taken" {
				return agentapi.SQLResult{Reason: agentapi.SQLOwned, Owner: "demo/other"}
			}
			return agentapi.SQLResult{}
		},
	}
	many := `{"users":[` + strings.TrimSuffix(strings.Repeat(`{},`, agentapi.MaxUsers+1), ",") + `]}`
	for _, tc := range []struct {
		of         ControlHandler
		path, body string
		status     int
		asked      int
	}{
		{control, agentapi.PathUsers,
			`{"users":[{"owner":"demo/app","name":"app","host":"%"},{"owner":"demo/web","name":"web","host":"%"}]}`,
			http.StatusOK, 2},
		{control, agentapi.PathUsers, `{"users":[]}`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, `{`, http.StatusBadRequest, 0},
		{control, agentapi.PathUsers, many, http.StatusBadRequest, 0},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"app","present":true}`, http.StatusOK, 1},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"taken","present":true}`, http.StatusConflict, 1},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"MySQL","present":true}`, http.StatusBadRequest, 0},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"#mysql50#mysql","present":true}`,
			http.StatusBadRequest, 0},
		{control, agentapi.PathDatabases, `{"owner":"demo/app","name":"app","present":true,"collation":"x; DROP"}`,
			http.StatusBadRequest, 0},
		{ControlHandler{}, agentapi.PathUsers, `{"users":[{"owner":"demo/app","name":"app","host":"%"}]}`,
			http.StatusConflict, 0},
		{ControlHandler{}, agentapi.PathDatabases, `{"owner":"demo/app","name":"app"}`, http.StatusConflict, 0},
	} {
		asked = 0
		w := httptest.NewRecorder()
		tc.of.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, tc.path, strings.NewReader(tc.body)))
		if w.Code != tc.status || asked != tc.asked {
			t.Errorf("%s %.200s: %d, asked %d: %s", tc.path, tc.body, w.Code, asked, w.Body)
		}
	}
}

// TestSQLUserCheck: an account that no operator asks for.
func TestSQLUserCheck(t *testing.T) {
	for text, good := range map[string]bool{
		`{"owner":"demo/app","name":"app","host":"%"}`:                                                                                      true,
		`{"owner":"demo/app","name":"root","host":"%"}`:                                                                                     false,
		`{"owner":"demo/app","name":"System User","host":"%"}`:                                                                              false,
		`{"owner":"demo/app","name":"app","host":"localhost"}`:                                                                              false,
		`{"owner":"demo/app","name":"app","host":"LOCALHOST"}`:                                                                              false,
		`{"owner":"demo/app","name":"app","host":"%","present":true}`:                                                                       false,
		`{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""]}`:                       false,
		`{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""],"subject":"/O=a/CN=b"}`: false,
		`{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""],"subject":"/O=a/CN=b","issuer":"/CN=shop.demo clients CA"}`: true,
		`{"owner":"demo/app","name":"app","host":"%","present":true,"plugin":"mysql_native_password","accepts":[""],"subject":"/O=a/CN=b' OR '1"}`:                              false,
		`{"owner":"x","name":"app","host":"%"}`: false,
	} {
		var u agentapi.SQLUser
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		if err := u.Check(); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
