// Command refuses is an agent that claims it can take over, and then cannot.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/galera-operator/galera-operator/internal/agent/handover"
)

func main() {
	if os.Args[1] == handover.CheckCommand {
		return
	}
	s, err := handover.Taken()
	if err == nil {
		err = handover.Return(*s, errors.New("it changed its mind"))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
