package result

import "math"

// Paced is what our own client measured of what it did again and again. Latencies are milliseconds.
type Paced struct {
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	Errors    int64   `json:"errors"`
	LastError string  `json:"lastError,omitempty"`
	P50       float64 `json:"p50"`
	P95       float64 `json:"p95"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	// Series has a point for every whole second.
	Series []Point `json:"series,omitempty"`
}

// Quantile returns the smallest of sorted latencies that p percent of them do not exceed, 0 without any.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(float64(len(sorted))*p/100))-1)]
}

// Presented is what the servers did in the handshake, to the proxy where there is one; "" without TLS.
type Presented struct {
	Protocol string `json:"protocol,omitempty"`
	Cipher   string `json:"cipher,omitempty"`
	Key      string `json:"key,omitempty"`
	// KeyExchange is what the keys were agreed on with.
	KeyExchange string `json:"keyExchange,omitempty"`
}

// AnswersResult is of queries with answers of one size.
type AnswersResult struct {
	Paced
	Presented
	Answers int64 `json:"answers"`
	// Size of an answer in bytes.
	Size int `json:"size"`
}

// ConnectResult is of connections.
type ConnectResult struct {
	Paced
	Presented
	Connections int64 `json:"connections"`
	// Resumption is what the client was to do, "" where it spoke no TLS; Resumed counts the sessions it resumed.
	Resumption string `json:"resumption,omitempty"`
	Resumed    int64  `json:"resumed,omitempty"`
	// Tunnel is the SSH server's own name, or WireGuard, and the cipher; "" where there is none.
	Tunnel string `json:"tunnel,omitempty"`
	// Pooled reports whether connections went to a pooling proxy; Backend counts those that the database got meanwhile.
	Pooled  bool    `json:"pooled,omitempty"`
	Backend float64 `json:"backend,omitempty"`
}

// Values of ConnectResult.Resumption.
const (
	ResumptionOn  = "On"
	ResumptionOff = "Off"
)
