package mariadbd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// ErrSettings is returned by CheckSettings for settings that mariadbd does not know or accept.
var ErrSettings = errors.New("mariadbd does not accept the settings")

// CheckSettings asks mariadbd whether it knows and accepts all settings of the configuration c.Args
// name: asked to print its help, it reads them all, reports what is wrong, and ends without having
// touched any data. dir is an existing directory, as it insists on a datadir.
func CheckSettings(ctx context.Context, table *platform.ProcessTable, c Command, dir string) error {
	var said []string
	c.Args = append(append([]string{}, c.Args...), "--datadir="+dir, "--secure-file-priv="+dir, "--verbose", "--help")
	c.Log = func(line string) { // the help itself would push the complaints out of the ring
		if strings.Contains(line, "[ERROR]") {
			said = append(said, line)
		}
	}
	exit, err := Run(ctx, table, c)
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return fmt.Errorf("%w: %s", ErrSettings, Why(said))
	}
	return nil
}
