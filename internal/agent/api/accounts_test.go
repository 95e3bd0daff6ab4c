package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestAccountsRoute(t *testing.T) {
	var asked []string
	keep := Accounts(func(_ context.Context, a agentapi.BenchAccount) error {
		asked = append(asked, a.Name())
		if !a.Present {
			return errors.New("not Primary")
		}
		return nil
	})
	hash := agentapi.NativeHash("word")
	for body, tc := range map[string]struct {
		keep Accounts
		code int
	}{
		`{"suffix": "abcdefghij", "present": true, "hash": "` + hash + `"}`: {keep, http.StatusOK},
		`{"suffix": "abcdefghij"}`:                                    {keep, http.StatusConflict},
		`{"suffix": "root", "present": true, "hash": "` + hash + `"}`: {keep, http.StatusBadRequest},
		`{"suffix": "abcdefghi%"}`:                                    {keep, http.StatusBadRequest},
		`nonsense`:                                                    {keep, http.StatusBadRequest},
		`{"suffix": "abcdefghij", "hash": "` + strings.Repeat("x", 8<<10):    {keep, http.StatusBadRequest},
		`{"suffix": "abcdefghij", "present": true, "hash": "` + hash + `" }`: {nil, http.StatusConflict},
	} {
		w := httptest.NewRecorder()
		ControlHandler{Accounts: tc.keep}.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, agentapi.PathAccounts,
			strings.NewReader(body)))
		if w.Code != tc.code {
			t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked for %v", asked)
	}
}
