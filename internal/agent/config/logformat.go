package config

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// LogFormat is the published format of the log, for what is written before the configuration is taken over; "" when it
// cannot be read.
func LogFormat(places paths.Places) string {
	data, err := os.ReadFile(filepath.Join(places.Config, agentapi.ConfigKey))
	if err != nil {
		return ""
	}
	var published struct {
		LogFormat string `json:"logFormat"`
	}
	_ = json.Unmarshal(data, &published) // reported when it is taken over
	return published.LogFormat
}
