package measure

import (
	"os"

	"github.com/galera-operator/galera-operator/internal/logs"
)

// podLog is the pod's log: what the load generator prints, line by line.
var podLog = logs.FromEnv(os.Stdout)
