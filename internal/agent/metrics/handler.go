package metrics

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What can be asked for with collect[], as mysqld_exporter names its own; without it, everything is answered.
const (
	collectGalera    = "galera"
	collectStatus    = "global_status"
	collectVariables = "global_variables"
)

// maxScrapes is how many scrapes are answered at a time. Each costs memory that is mariadbd's, too.
const maxScrapes = 4

// Handler answers scrapes.
type Handler struct {
	own *Collector
	db  *Server // nil without a database
	// ready are the handlers of everything that can be asked for.
	ready map[selection]http.Handler
}

type selection struct {
	galera bool
	db     ServerQuery
}

// NewHandler returns the handler of an agent's own metrics and of those of its database, nil without one.
func NewHandler(own *Collector, db *Server) *Handler {
	h := &Handler{own: own, db: db, ready: map[selection]http.Handler{}}
	for _, galera := range []bool{true, false} {
		for _, status := range []bool{true, false} {
			for _, variables := range []bool{true, false} {
				s := selection{galera, ServerQuery{Status: status, Variables: variables}}
				h.ready[s] = promhttp.HandlerFor(h.registry(s), promhttp.HandlerOpts{
					// A metric that cannot be written keeps no other from being read. Compressing takes more memory than it saves
					// here.
					ErrorHandling: promhttp.ContinueOnError, DisableCompression: true, MaxRequestsInFlight: maxScrapes,
					CoalesceGather: true,
				})
			}
		}
	}
	return h
}

func (h *Handler) registry(s selection) *prometheus.Registry {
	r := prometheus.NewRegistry()
	if s.galera {
		r.MustRegister(h.own)
	}
	if h.db != nil && s.db != (ServerQuery{}) {
		r.MustRegister(h.db.Collector(s.db))
	}
	return r
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wanted := selection{true, ServerQuery{Status: true, Variables: true}}
	if names := r.URL.Query()["collect[]"]; len(names) > 0 {
		wanted = selection{}
		for _, name := range names {
			switch name {
			case collectGalera:
				wanted.galera = true
			case collectStatus:
				wanted.db.Status = true
			case collectVariables:
				wanted.db.Variables = true
			default:
				http.Error(w, fmt.Sprintf("collect[]: there are %s, %s and %s", collectGalera, collectStatus, collectVariables),
					http.StatusBadRequest)
				return
			}
		}
	}
	h.ready[wanted].ServeHTTP(w, r)
}
