package api

import (
	"encoding/json"
	"net/http"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// maxRequest is more than MaxUsers accounts take, or one with as many grants as the API allows.
const maxRequest = 8 << 20

// request is a request for a user or a database.
type request interface{ Check() error }

// readRequest reads a request, or answers why it cannot be carried out.
func readRequest[W request](w http.ResponseWriter, r *http.Request, kept bool,
	refused func(reason, message string) any) (wanted W, ok bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&wanted)
	if err == nil {
		err = wanted.Check()
	}
	switch {
	case err != nil:
		answer(w, http.StatusBadRequest, refused(agentapi.SQLRefused, err.Error()))
	case !kept:
		answer(w, http.StatusConflict, refused(agentapi.SQLNotServed, "an arbitrator has no accounts"))
	default:
		return wanted, true
	}
	return wanted, false
}

func (c ControlHandler) users(w http.ResponseWriter, r *http.Request) {
	refused := func(_, message string) any { return agentapi.SQLResults{Message: message} }
	if wanted, ok := readRequest[agentapi.SQLUsers](w, r, c.Users != nil, refused); ok {
		answer(w, http.StatusOK, agentapi.SQLResults{Results: c.Users(r.Context(), wanted.Users)})
	}
}

func (c ControlHandler) databases(w http.ResponseWriter, r *http.Request) {
	refused := func(reason, message string) any { return agentapi.SQLResult{Reason: reason, Message: message} }
	wanted, ok := readRequest[agentapi.SQLDatabase](w, r, c.Databases != nil, refused)
	if !ok {
		return
	}
	result := c.Databases(r.Context(), wanted)
	status := http.StatusOK
	if result.Reason != "" {
		status = http.StatusConflict
	}
	answer(w, status, result)
}
