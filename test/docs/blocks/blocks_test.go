package blocks

import (
	"reflect"
	"testing"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Block
		bad  bool
	}{
		"none":      {"text\n```sh\nls\n```\n", nil, false},
		"one":       {"text\n```sh test\nls\ncd\n```\n", []Block{{3, "ls\ncd"}}, false},
		"two":       {"```sh test\na\n```\n```\nb\n```\n```sh test\nc\n```\n", []Block{{2, "a"}, {8, "c"}}, false},
		"in a text": {"Write ```sh test for it.\n", nil, false},
		"of output": {"```\n$ x\n```sh test\n", nil, false}, // the second line of fences ends the first block
		"no end":    {"```sh test\na\n", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(c.text)
			if !reflect.DeepEqual(got, c.want) || (err != nil) != c.bad {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
