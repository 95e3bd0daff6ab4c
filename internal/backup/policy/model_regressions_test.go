package policy_test

import (
	"strings"
	"testing"
)

// regressions are schedules that have broken a promise once.
var regressions = map[string][]event{
	"a chain begins with a node that lacks the last transaction, and nothing follows": {
		{1, 446, 268}, {2, 106, 126}, {3, 173, 155}, {1, 172, 572}, {17, 11, 892}, {14, 739, 131}, {2, 946, 922},
		{3, 469, 242}, {0, 635, 413}, {17, 328, 559}, {5, 642, 886}, {12, 184, 314}},
	"a chain begins with a node that lacks the last two transactions, and has archived one of them": {
		{5, 800, 552}, {0, 939, 308}, {4, 649, 759}, {0, 795, 916}, {14, 411, 949}, {7, 180, 558},
		{14, 255, 947}, {12, 714, 521}, {6, 958, 38}, {9, 818, 934}},
	"an earlier chain has the number of a backup, whose node numbers higher than where the next chain begins": {
		{15, 392, 460}, {14, 806, 237}, {17, 696, 344}, {14, 257, 955}, {3, 339, 3}, {0, 943, 909}, {24, 857, 217},
		{1, 81, 977}, {5, 994, 79}, {1, 299, 646}, {8, 186, 475}, {17, 248, 643}, {15, 80, 496}, {17, 563, 961},
		{22, 267, 230}, {5, 48, 971}},
	"a refusal offers the end of a segment that ends before the backup by the seqno that it names": {
		{1, 914, 724}, {1, 596, 222}, {14, 560, 269}, {4, 383, 851}, {24, 208, 203}, {26, 259, 411}, {7, 407, 893},
		{22, 239, 678}, {0, 267, 945}, {3, 249, 177}, {7, 251, 267}, {8, 531, 662}, {13, 858, 546}},
	"a chain begins with a node that lacks the last transaction, which a backup holds, and goes on with that": {
		{2, 745, 440}, {2, 200, 640}, {24, 380, 601}, {24, 539, 178}, {4, 954, 714}, {1, 611, 56}, {15, 334, 4},
		{26, 326, 627}, {15, 874, 539}, {17, 321, 218}, {12, 590, 144}, {20, 106, 392}, {7, 838, 858}, {3, 680, 73},
		{8, 924, 795}, {22, 462, 261}},
	"a chain begins with a number that the one before it has, too, and a backup names it": repeated,
	"point in time was disabled before the window, and the archive names a time in the future": {
		{6, 358, 543}, {1, 12, 654}, {27, 427, 317}, {20, 711, 484}, {1, 474, 777}, {3, 655, 253}, {0, 282, 42},
		{15, 193, 518}, {6, 666, 711}, {15, 926, 195}, {8, 818, 103}, {12, 573, 679}, {17, 178, 855}, {12, 383, 689},
		{20, 76, 3}, {10, 462, 340}, {20, 246, 819}, {11, 833, 731}, {11, 611, 136}, {20, 362, 433}, {10, 915, 591},
		{11, 717, 465}, {23, 539, 127}, {20, 986, 30}, {23, 173, 902}},
	"the number of a backup is after a hole, and its node numbers transactions differently": {
		{28, 918, 599}, {13, 435, 325}, {26, 434, 17}, {1, 166, 63}, {1, 648, 856}, {6, 190, 642}, {0, 162, 19},
		{13, 478, 536}, {15, 99, 132}, {15, 409, 137}, {1, 894, 850}, {22, 404, 498}, {15, 354, 541}, {0, 942, 944},
		{15, 280, 313}, {15, 732, 239}, {15, 948, 176}, {5, 242, 91}, {9, 326, 45}},
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
	"the manifests of two backups change places": {
		{2, 547, 168}, {12, 235, 726}, {14, 57, 39}, {5, 919, 863}, {12, 700, 649}, {16, 511, 187}, {19, 52, 195},
		{20, 276, 543}, {17, 718, 707}, {2, 498, 337}, {3, 891, 614}, {0, 322, 67}, {8, 63, 835}, {22, 87, 451}, {6, 53, 638},
		{8, 403, 202}, {19, 464, 101}, {20, 791, 263}, {19, 29, 979}},
	"a backup holds a transaction whose client names a later time": {
		{0, 150, 37}, {7, 677, 111}, {17, 204, 99}, {12, 51, 74}, {20, 635, 244}, {7, 230, 987}, {9, 518, 188},
		{22, 476, 858}},
	"a chain begins after a transaction whose client names a later time, and a backup holds it": {
		{1, 371, 568}, {14, 914, 637}, {7, 866, 643}, {17, 500, 783}, {17, 867, 173}, {24, 578, 217}, {14, 0, 770},
		{12, 454, 970}, {10, 536, 446}, {5, 99, 361}, {5, 883, 878}, {23, 609, 70}},
	"a node counts on from its binary log, which lacks the last transaction": {
		{24, 223, 476}, {7, 640, 57}, {15, 772, 289}, {2, 918, 470}, {14, 648, 208}, {24, 173, 172}, {12, 53, 930},
		{3, 927, 651}, {5, 89, 35}, {15, 892, 930}, {1, 161, 217}, {25, 766, 168}, {6, 153, 697}},
	"a node counts on from its binary log, and no node logged the last transactions": {
		{0, 978, 883}, {15, 99, 686}, {15, 399, 301}, {6, 294, 947}, {22, 235, 78}, {17, 715, 533}, {24, 57, 552},
		{5, 188, 543}, {0, 608, 960}, {3, 38, 38}, {9, 984, 377}},
	"an archiver that begins goes on from an earlier time than was stored": {
		{2, 92, 417}, {12, 968, 426}, {6, 240, 327}, {10, 792, 81}, {9, 950, 94}, {22, 911, 203}, {17, 569, 312},
		{4, 747, 615}, {23, 326, 586}},
	"two nodes lack a number, and it is another transaction that the third one has by the next": {
		{0, 602, 269}, {13, 107, 50}, {7, 836, 645}, {22, 879, 582}, {24, 106, 272}, {13, 280, 529}, {14, 908, 651},
		{3, 653, 739}, {9, 649, 945}},
	"a hole is before the first transaction of a server that was started": {
		{0, 0, 0}, {3, 0, 9}, {12, 0, 0}, {0, 0, 0}, {3, 0, 6}, {8, 0, 1}, {13, 0, 0}, {24, 1, 4}, {13, 0, 0}, {14, 2, 0},
		{3, 0, 7}, {8, 0, 1}},
	"the archive begins at a number that is another transaction on the node that is followed": {
		{0, 0, 0}, {24, 1, 4}, {0, 0, 0}, {12, 0, 0}, {3, 0, 9}, {0, 0, 0}, {0, 0, 0}, {3, 0, 7}, {8, 0, 1}},
	"a node confirms what another one has, and counts transactions from before it was started": {
		{0, 429, 228}, {0, 150, 192}, {14, 362, 991}, {3, 154, 209}, {12, 583, 763}, {24, 360, 524}, {5, 83, 27},
		{9, 345, 660}, {1, 73, 955}, {6, 307, 608}, {8, 451, 145}},
	"another archiver than the one that reported a time goes on in the next line of history": {
		{2, 94, 489}, {5, 758, 407}, {10, 884, 592}, {22, 660, 282}, {3, 887, 883}, {10, 426, 311}, {9, 14, 954},
		{24, 841, 845}, {24, 660, 314}, {22, 279, 498}, {14, 380, 715}, {17, 176, 519}, {4, 479, 305}, {22, 983, 915}},
	"a transaction is the last one before a gap, and a backup has more that is in no binary log": {
		{1, 297, 836}, {3, 676, 939}, {14, 173, 438}, {17, 923, 464}, {12, 89, 848}, {1, 911, 99}, {7, 323, 55}},
	"nodes ran without a binary log, and their number is given again after a recovery": {
		{0, 449, 248}, {0, 626, 25}, {7, 107, 939}, {22, 736, 306}, {17, 963, 314}, {24, 678, 530}, {17, 33, 598},
		{2, 474, 98}, {7, 367, 323}, {8, 35, 639}},
	"after a recovery all nodes have a copy of the one that lacks a transaction": {
		{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0}, {17, 0, 4}, {26, 0, 3}, {0, 0, 0}, {3, 0, 19}, {8, 0, 0}},
	"a backup that is reported holds a transaction of a later number": {
		{0, 82, 0}, {15, 105, 472}, {24, 67, 604}, {13, 841, 280}, {1, 705, 427}, {15, 88, 564}, {15, 895, 326},
		{4, 574, 923}, {3, 961, 999}, {15, 294, 922}, {15, 564, 364}, {20, 413, 630}, {15, 423, 500}, {0, 917, 904},
		{7, 511, 868}, {16, 666, 797}, {2, 683, 98}, {7, 462, 90}, {17, 324, 29}, {12, 772, 658}, {5, 791, 435},
		{10, 956, 637}, {9, 633, 578}, {23, 240, 309}},
	"a node whose binary log is empty counts from one on after a recovery": {
		{14, 600, 367}, {13, 840, 606}, {24, 685, 485}, {17, 520, 88}, {17, 97, 763}},
	"nothing is written after a recovery, and all nodes have a copy of the one that lacks a transaction": {
		{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0}, {17, 0, 4}, {26, 0, 4}, {3, 0, 3}, {3, 0, 3}, {20, 0, 0},
		{8, 0, 0}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}},
	"all nodes have a copy of the one that lacks a transaction, and nothing is written after that": {
		{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0}, {26, 0, 4}, {3, 0, 3}, {3, 0, 3}, {20, 0, 0},
		{8, 0, 0}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}},
	"the operator's clock is ahead while no backup leads to the end of the archive": {
		{1, 861, 584}, {12, 659, 680}, {5, 788, 139}, {10, 531, 771}, {10, 35, 484}, {0, 781, 113}, {15, 530, 27},
		{27, 511, 95}, {15, 726, 979}, {15, 284, 50}, {12, 290, 368}, {11, 549, 294}, {7, 818, 211}, {11, 588, 333},
		{15, 711, 13}, {13, 232, 207}, {1, 803, 909}, {8, 154, 953}, {26, 988, 729}, {11, 768, 889}, {3, 484, 709},
		{23, 428, 181}, {10, 124, 99}, {20, 689, 24}, {23, 36, 256}},
	"a node with a full copy is followed, and what another server wrote is in the other nodes' binary logs": copied,
	"an archiver stores a transaction of an earlier time than another one has stored":                       unheard,
	"a chain begins with a node that lacks the last transaction, and no node answers when that is stored":   unanswered,
	"a segment is stored while two clocks are known, and differ":                                            halved,
	"a chain goes on in later lines after a statement that changes tables, and a backup is ahead of it": {
		{1, 38, 376}, {14, 33, 311}, {5, 861, 79}, {2, 344, 665}, {1, 91, 857}, {1, 640, 135}, {2, 572, 222},
		{29, 358, 892}, {7, 58, 527}, {2, 15, 633}, {7, 120, 278}, {12, 815, 978}, {0, 667, 424}, {15, 101, 613},
		{8, 552, 30}, {2, 343, 435}, {15, 779, 971}, {17, 880, 129}, {7, 578, 350}, {29, 575, 185}, {24, 609, 556},
		{20, 611, 463}, {17, 881, 254}, {4, 108, 914}},
	"a chain has ended, and calls what the last backup of before the window holds later":             misdated,
	"a node's clock is behind, and its transaction is read long after the last question":             overdue,
	"all nodes run without a binary log, and one of them is followed before and after that":          restarted,
	"point in time was disabled, and a backup that ends with the last number of before has more":     numberless,
	"nodes ran without a binary log, and a backup that ends with the last number of before has more": hidden,
	"the backup's node numbers lower, and was not compared yet with the one that lacks the last one": lower,
	"nothing shows that nothing follows where a chain begins, and what follows the archive is there": unfollowed,
	"a lost transaction's number is that of the one which a later chain begins with":                 again,
	"a node's clock was ahead, and a refusal offers a time at which a backup holds a transaction of the next segment": {
		{0, 932, 806}, {4, 510, 354}, {2, 441, 997}, {26, 58, 488}, {4, 952, 790}, {1, 699, 420}, {1, 756, 515},
		{15, 937, 703}, {24, 65, 295}, {7, 506, 532}, {29, 966, 459}, {27, 681, 731}, {15, 772, 673}, {6, 780, 295},
		{24, 883, 197}, {27, 302, 48}, {9, 788, 718}, {7, 154, 419}, {12, 589, 276}, {2, 667, 614}, {3, 260, 783},
		{9, 692, 244}, {20, 463, 132}},
	"the archive ends before the backup that it continues from": {
		{2, 794, 598}, {14, 121, 882}, {26, 616, 446}, {3, 188, 55}, {12, 552, 683}, {15, 420, 319}, {10, 983, 729},
		{8, 696, 526}, {23, 141, 134}},
}

// misdated is a schedule in which a client's time is a day ahead, and the transaction is archived eight minutes after a
// backup that holds it. The chain ends. Points of the time between need the backup before.
var misdated = []event{{29, 234, 965}, {3, 633, 157}, {12, 186, 546}, {1, 817, 982}, {27, 610, 641}, {15, 311, 540},
	{4, 569, 292}, {4, 171, 701}, {1, 929, 152}, {9, 441, 906}, {1, 327, 363}, {17, 80, 245}, {12, 823, 737},
	{13, 908, 699}, {20, 111, 103}, {11, 697, 385}, {0, 856, 407}, {20, 162, 562}, {5, 704, 646}, {15, 608, 705},
	{20, 880, 577}, {5, 26, 177}, {23, 44, 36}, {20, 546, 914}, {23, 247, 153}}

// TestRegressions: what has broken a promise once does not any more.
func TestRegressions(t *testing.T) {
	for name, schedule := range regressions {
		if w := play(shipped(), schedule); w.broken != "" {
			t.Errorf("%s: %s\n%s", name, w.broken, strings.Join(w.trace, "\n"))
		}
	}
}
