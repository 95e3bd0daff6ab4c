package web

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// maxAccount is more than an agentapi.BenchAccount takes.
const maxAccount = 4 << 10

// Accounts makes or drops a benchmark's account in the database, or says why not; nil where there is no database.
type Accounts func(context.Context, agentapi.BenchAccount) error

func (keep Accounts) serve(w http.ResponseWriter, r *http.Request) {
	var a agentapi.BenchAccount
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAccount)).Decode(&a); err != nil {
		answer(w, http.StatusBadRequest, agentapi.AccountResult{Message: "not an account: " + err.Error()})
		return
	}
	if err := a.Check(); err != nil {
		answer(w, http.StatusBadRequest, agentapi.AccountResult{Message: err.Error()})
		return
	}
	if keep == nil {
		answer(w, http.StatusConflict, agentapi.AccountResult{Message: "an arbitrator has no accounts"})
		return
	}
	if err := keep(r.Context(), a); err != nil {
		answer(w, http.StatusConflict, agentapi.AccountResult{Message: err.Error()})
		return
	}
	answer(w, http.StatusOK, agentapi.AccountResult{})
}

// maxWish is more than an account with as many grants as the API allows takes.
const maxWish = 1 << 20

// wish is what users and databases are asked for with.
type wish interface{ Check() error }

// serveWish hands a wish on; keep is nil where there is no database.
func serveWish[W wish](keep func(context.Context, W) agentapi.SQLResult) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var wanted W
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxWish)).Decode(&wanted)
		if err == nil {
			err = wanted.Check()
		}
		if err != nil {
			answer(w, http.StatusBadRequest, agentapi.SQLResult{Reason: agentapi.SQLRefused, Message: err.Error()})
			return
		}
		if keep == nil {
			answer(w, http.StatusConflict, agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: "an arbitrator has no accounts"})
			return
		}
		result := keep(r.Context(), wanted)
		status := http.StatusOK
		if result.Reason != "" {
			status = http.StatusConflict
		}
		answer(w, status, result)
	}
}
