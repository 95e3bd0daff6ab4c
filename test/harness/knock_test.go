package harness

import (
	"slices"
	"testing"
)

func TestParseListeners(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 2 1 0 100 0 0 10 0
   2: 0501F40A:11D7 0701F40A:9C40 01 00000000:00000000 00:00000000 00000000   999        0 3 1 0 100 0 0 10 0
   3: 0501F40A:115C 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 4 1 0 100 0 0 10 0
`
	const table6 = `  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:08AE 00000000000000000000000000000000:0000 0A
   1: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A
`
	if got := parseListeners(table); !slices.Equal(got, []uint16{3306, 4444}) {
		t.Errorf("IPv4: %v", got)
	}
	if got := parseListeners(table6); !slices.Equal(got, []uint16{2222}) {
		t.Errorf("IPv6: %v", got)
	}
}
