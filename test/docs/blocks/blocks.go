// Package blocks finds the commands in documents that tests run: blocks that begin with ```sh test.
package blocks

import (
	"fmt"
	"strings"
)

// Pages are the documents with such blocks, by their paths in the tree. test/e2e runs each of them in order.
var Pages = []string{"README.md", "docs/tutorial.md"}

// Marker begins a block that is run.
const Marker = "```sh test"

// Block is one block of commands.
type Block struct {
	// Line of the first command, from 1.
	Line int
	// Commands are a script of bash. Each must succeed.
	Commands string
}

// Of returns the marked blocks of a page in order. It fails when one does not end.
func Of(text string) ([]Block, error) {
	var out []Block
	var commands []string
	begin, fenced := 0, false // begin is the line of the marker, 0 outside of a marked block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "```"):
			if begin > 0 {
				commands = append(commands, line)
			}
		case !fenced:
			fenced = true
			if line == Marker {
				begin = i + 1
			}
		default:
			if begin > 0 {
				out = append(out, Block{begin + 1, strings.Join(commands, "\n")})
			}
			begin, fenced, commands = 0, false, nil
		}
	}
	if fenced {
		return nil, fmt.Errorf("the last block does not end")
	}
	return out, nil
}
