package policy_test

import (
	"strings"
	"testing"
)

// regressions are schedules that have broken a promise once.
var regressions = map[string][]event{
	"the archive begins after transactions that are in no binary log, which a backup lacks": {
		{1, 200, 722}, {12, 209, 277}, {17, 363, 209}, {6, 876, 75}, {11, 981, 401}, {8, 260, 504}},
	"an archiver that was held up stores a segment in the place of one that was lost": {
		{0, 680, 985}, {6, 681, 962}, {12, 63, 549}, {0, 241, 981}, {6, 420, 356}, {5, 112, 341}, {17, 321, 924},
		{7, 750, 717}, {17, 495, 719}, {5, 893, 556}},
	"a backup holds all of a chain that has ended": {
		{14, 388, 836}, {7, 54, 712}, {12, 660, 11}, {4, 244, 104}, {13, 658, 830}, {1, 723, 360}, {4, 10, 657},
		{19, 87, 449}, {20, 727, 572}, {19, 398, 568}},
	"the last backup of before retention's window is of a line of history that was lost": {
		{17, 932, 589}, {12, 335, 537}, {4, 542, 850}, {14, 364, 293}, {12, 128, 85}, {2, 976, 797}, {17, 616, 666},
		{0, 454, 993}, {20, 227, 450}, {20, 307, 458}, {10, 802, 17}, {5, 260, 238}, {7, 380, 602}, {23, 303, 305},
		{9, 620, 687}, {20, 406, 662}, {23, 262, 303}},
	"nothing shows a transaction that is in no binary log, until the next one": {
		{0, 150, 440}, {4, 304, 926}, {12, 846, 146}, {17, 499, 937}, {11, 429, 312}, {9, 290, 10}, {0, 771, 87}},
	"the backup that is reported in the place of one that is gone was replaced, too": {
		{0, 948, 535}, {12, 398, 549}, {17, 333, 654}, {12, 268, 447}, {5, 323, 103}, {0, 752, 93}, {12, 715, 244},
		{12, 503, 267}, {17, 360, 65}, {12, 92, 25}, {19, 893, 459}, {17, 102, 991}, {3, 92, 961}, {12, 211, 8},
		{12, 232, 744}, {12, 556, 419}, {17, 926, 945}},
	"a transaction is the last one before a gap, and a backup has more that is in no binary log": {
		{1, 297, 836}, {3, 676, 939}, {14, 173, 438}, {17, 923, 464}, {12, 89, 848}, {1, 911, 99}, {7, 323, 55}},
}

// TestRegressions: what has broken a promise once does not any more.
func TestRegressions(t *testing.T) {
	for name, schedule := range regressions {
		if w := play(shipped(), schedule); w.broken != "" {
			t.Errorf("%s: %s\n%s", name, w.broken, strings.Join(w.trace, "\n"))
		}
	}
}
