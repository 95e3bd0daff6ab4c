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
