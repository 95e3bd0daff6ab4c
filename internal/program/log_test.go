package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/galera-operator/galera-operator/internal/logs"
)

// TestLogKeys: the operator's JSON has the keys and the words of the agents' (package logs).
func TestLogKeys(t *testing.T) {
	var out bytes.Buffer
	zap.New(zap.WriteTo(&out), zap.Encoder(encoder(logs.JSON)())).WithName("setup").Error(errors.New("broken"), "it stops",
		"cluster", "demo/shop")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if got["level"] != "ERROR" || got["msg"] != "it stops" || got["logger"] != "setup" || got["error"] != "broken" ||
		got["cluster"] != "demo/shop" {
		t.Errorf("%v", got)
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["time"])); err != nil {
		t.Error(err)
	}
	out.Reset()
	zap.New(zap.WriteTo(&out), zap.Encoder(encoder(logs.Text)())).Info("it starts", "version", "v1")
	if text := out.String(); json.Valid(out.Bytes()) || !strings.Contains(text, "INFO\tit starts\t{\"version\": \"v1\"}") {
		t.Errorf("%s", text)
	}
}
