package sites

import "slices"

// join makes one schedule of several.
func join(parts ...[]event) schedule { return schedule{2, slices.Concat(parts...)} }

// The nodes of the two sites read what was published, and act by it.
var (
	firstActs  = []event{{doKubelet, 0, 0}, {doKubelet, 4, 0}, {doAgent, 0, 0}, {doAgent, 4, 0}}
	secondActs = []event{{doKubelet, 1, 0}, {doKubelet, 3, 0}, {doAgent, 1, 0}, {doAgent, 3, 0}}
	reported   = []event{{doRead, 0, 1}, {doRead, 4, 1}, {doReport, 0, 0}, {doReport, 4, 0}}
	firstPass  = []event{{doCluster, 0, 1}}
	archiving  = []event{{doArchiving, 0, 1}}
	// leased is a first cluster with a lease.
	leased = []event{{doPerson, 0, wantsLease}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0},
		{doRound, 0, 0}}
	// accepted has the second site take over, recorded the record made, and opened its nodes accept writes.
	accepted = []event{{doPerson, 0, acceptsLoss}, {doServing, 0, 1}, {doStart, 1, 0}}
	recorded = []event{{doRecord, 0, 1}}
	opened   = slices.Concat([]event{{doRecord, 0, 1}, {doServing, 0, 1}, {doCluster, 1, 1}}, secondActs)
	// tookOver is a first cluster that has taken over itself, tookOverAgain one that it had taken over from before.
	tookOver      = []event{{doTookOver, 0, 0}}
	tookOverAgain = []event{{doTookOver, 0, 1}}
	// before has the programs of the second site be of an earlier release.
	before = []event{{doBefore, 0, 0}}
	// asks is the first part of a renewal, and answers the last.
	asks    = []event{{doRenew, 0, 0}, {doRenew, 0, 0}, {doRenew, 0, 0}}
	answers = []event{{doRenew, 0, 0}}
	// unleased has the lease turned off, cutOff the first site not reach the store.
	unleased = []event{{doPerson, 0, wantsNone}}
	cutOff   = []event{{doFail, toStore, 9}}
	// waits is the time that a lease lasts.
	waits = []event{{doWait, 25, 0}}
	// stops has the first cluster begin with a change of sites, and offered give a token, which the second one gets.
	stops   = slices.Concat([]event{{doPerson, 0, changes}}, archiving, firstPass)
	offered = slices.Concat([]event{{doArchive, 0, 0}, {doCheck, 0, 1}}, archiving, []event{{doAdvance, 1, 0}}, archiving,
		[]event{{doPerson, 1, gives}})
	token = slices.Concat(stops, firstActs, reported, offered)
	// write is one transaction, and asked has the second site know what it is to record.
	write = []event{{doWrite, 0, 0}, {doCatchUp, 4, 0}}
	asked = []event{{doServing, 0, 1}, {doStart, 1, 0}, {doServing, 0, 1}}
	// taken has the second one take over, and the first one find that.
	found = slices.Concat([]event{{doCheck, 0, 1}}, archiving, firstPass, firstActs)
	taken = slices.Concat(token, asked, opened, found)
	// again has the first one follow it: all rounds need is there.
	again = []event{{doRejoin, 0, 1}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0},
		{doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}, {doWrite, 1, 0}}
)

// sets has a person set a setting that is refused at a site, which its nodes get.
func sets(site, what int, acts []event) []event {
	return slices.Concat([]event{{doSet, site, what}, {doCluster, site, 1}}, acts)
}

// known are schedules that find a mutant which few seeds do.
var known = map[string]schedule{
	"a lost status has no lease": join(leased, accepted, recorded, []event{{doMishap, 0, 0}}, firstPass, firstActs, waits,
		opened),
	"who has taken over, and loses the status, has no lease": join(tookOver, leased, cutOff, accepted, recorded, waits,
		opened, []event{{doMishap, 0, 0}}, firstPass, firstActs),
	"a lease that was about to end once does": join(leased, unleased, firstPass, firstActs, []event{{doRound, 0, 0},
		{doMishap, 0, 2}, {doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}}, leased, cutOff, accepted, recorded,
		waits, opened, []event{{doMishap, 0, 5}}, firstPass, firstActs),
	"a reading of before counts": join(leased, cutOff, accepted, recorded, unleased, reported, firstPass, firstPass,
		firstActs, waits, opened),
	// Nodes have heard of a reading when it was turned off for the first time.
	"a lease was turned off once": join(leased, unleased, firstPass, firstActs, []event{{doAdvance, 0, 0}}, asks, answers,
		[]event{{doPerson, 0, wantsLease}}, accepted, recorded, cutOff, unleased, reported, firstPass, firstPass, firstActs,
		waits, opened),
	// The lease is announced after the promotion was recorded.
	"a promotion is looked for before the lease is announced": join([]event{{doPerson, 0, wantsLease}}, archiving,
		asks[:2], accepted, opened, asks[:1], answers, reported, firstPass, firstPass, firstActs, reported, firstPass),
	// The answer takes nine seconds.
	"a lease counts from the answer": join(leased, accepted, asks, recorded, []event{{doAdvance, 5, 0}, {doAdvance, 2, 0}},
		answers, []event{{doWait, 16, 0}}, opened),
	"a lost status has no change of sites": join(token, []event{{doMishap, 0, 0}}, firstPass, firstActs, write, asked,
		opened),
	"who has taken over, and loses the status, changes no places": join(tookOver, token, []event{{doMishap, 0, 0}}),
	// The archiver that is to record it answers before it has read the store.
	"what is overruled is forgotten before it is recorded": join(tookOverAgain, leased, accepted, asked, recorded, found,
		[]event{{doPerson, 1, 9}}, archiving, []event{{doStart, 0, 0}}, archiving, archiving),
	// The archiver does not answer at first.
	"an attempt has the number of one that was refused": join([]event{{doFail, 0, takesBack}, {doPerson, 0, changes}},
		archiving, []event{{doMishap, 0, 2}, {doStart, 0, 0}, {doCheck, 0, 1}}, archiving, firstPass, firstActs, reported,
		offered, []event{{doMishap, 0, 5}}, firstPass, firstActs, write, asked, opened),
	"a lost status has no takeover": join(token, asked, opened, []event{{doCheck, 0, 1}}, archiving, firstPass, firstActs,
		[]event{{doMishap, 0, 0}}, firstPass, firstActs),
	"what the successor lacks is not looked at": join(taken, []event{{doRoot, 0, 0}}, again),
	// The second site has what the first one has lost, and takes over by the numbers.
	"a record of an earlier release is of what was compared": join(before, streamed, recovered, taken, again),
	// The first cluster's archiver does not reach the store, so that what root has written is not archived.
	"where nodes end is not looked at again": join(taken, []event{{doRoot, 0, 0}}, cutOff, again),
	"where nodes have ended before a request counts": regressions["root writes to a first cluster between two requests "+
		"that it follow its successor"],
	"nodes accept writes until they are removed": join(taken, again[:1], firstPass, firstActs),
	// It is to follow, and nodes refuse writes for the change of sites alone.
	"what it was to follow has not taken over": join(token, asked, opened, []event{{doCheck, 0, 1}}, archiving, again[:1],
		[]event{{doMishap, 0, 0}}, firstPass, firstActs),
	// The nodes were killed, and nothing is left that the first cluster had known.
	"what is lost altogether was nothing": join(accepted, asked, opened, []event{{doCheck, 0, 1}}, archiving, firstPass,
		firstActs, []event{{doFail, 0, 0}, {doFail, 0, 1}, {doRead, 0, 1}, {doReport, 0, 0}, {doReport, 4, 0},
			{doMishap, 0, 8}}, firstPass, firstActs),
	// The second site is streamed to no more, and has not read the archive.
	"a token is used whatever was applied": join([]event{{doFail, stream + 1, 9}}, write, token, asked, opened),
	// The nodes have not read yet that they are to refuse writes.
	"a token is given for what the archive has": join(stops, reported, offered, write, asked, opened),
	"a token is used for its number":            join(streamed, recovered, token, asked, opened),
	"what another cluster lacks is counted by numbers alone": join(streamed, []event{{doRecover, 0, 1}}, firstActs, write,
		accepted, asked, opened, found),
	"agents that refuse a setting take nothing over":  join(sets(0, 1, firstActs), accepted, asked, opened, found),
	"nothing is published while a setting is refused": join(sets(0, 2, firstActs), accepted, asked, opened, found),
	"agents that refuse a setting take the refusal over, and no end": join(sets(1, 1, secondActs), accepted, asked,
		opened),
	"a token is void as soon as it is taken back": join(token, []event{{doPerson, 0, takesBack}}, archiving, firstPass,
		firstActs, write, asked, opened),
}

// regressions are schedules that have broken a promise, by what was wrong.
var regressions = map[string]schedule{
	"a site that has taken over loses its status, what was published, and all nodes": {2, []event{{18, 0, 1}, {5, 0, 1},
		{4, 0, 1}, {7, 0, 0}, {7, 4, 0}, {8, 0, 0}, {8, 4, 0}, {9, 0, 1}, {9, 4, 1}, {10, 0, 0}, {10, 4, 0}, {5, 0, 1},
		{2, 1, 0}, {5, 0, 1}, {18, 1, 4}, {6, 0, 1}, {14, 0, 1}, {6, 0, 1}, {4, 1, 1}, {7, 3, 0}, {22, 971, 449},
		{19, 763, 109}, {6, 577, 14}, {20, 263, 518}, {19, 473, 506}}},
	"a site that is to follow its successor loses its status, what was published, and all nodes": {2, []event{{18, 0, 1},
		{5, 0, 1}, {4, 0, 1}, {7, 0, 0}, {7, 4, 0}, {8, 0, 0}, {8, 4, 0}, {9, 0, 1}, {9, 4, 1}, {10, 0, 0}, {10, 4, 0},
		{5, 0, 1}, {2, 1, 0}, {5, 0, 1}, {18, 1, 4}, {6, 0, 1}, {14, 0, 1}, {12, 0, 1}, {5, 0, 1}, {19, 130, 811},
		{24, 502, 369}, {19, 410, 960}, {19, 958, 517}, {20, 968, 497}, {20, 630, 910}}},
	"a site is recorded with a transaction, loses its status, and is to take over with another one": {2, []event{
		{18, 585, 72}, {6, 786, 18}, {20, 611, 98}, {21, 649, 220}, {0, 326, 171}, {15, 615, 191}, {10, 981, 665},
		{4, 385, 353}, {18, 72, 847}}},
	"a site that takes over loses its status, and the archive goes on in another line of history": {2, []event{
		{doWrite, 650, 964}, {doRecover, 0, 321}, {doRound, 670, 321}, {doPerson, 932, acceptsLoss}, {doRound, 86, 911},
		{doMishap, 41, 10}}},
	"a site has what the first one has lost, when it is to take over with a later token": {3, []event{{doWrite, 417, 378},
		{doCatchUp, 792, 878}, {doChannel, 888, 424}, {doRecover, 0, 130}, {doPerson, 512, changes}, {doRound, 512, 971},
		{doWrite, 792, 59}, {doWrite, 381, 321}, {doRound, 260, 66}, {doRound, 352, 348}, {doPerson, 374, gives}}},
	"a site whose settings are refused loses its status before it has what it is to take over with": {2, []event{
		{28, 0, 78}, {7, 980, 415}, {0, 242, 831}, {22, 63, 699}, {18, 264, 328}, {29, 959, 736}, {22, 404, 405},
		{20, 599, 660}}},
	"a site that is to take over without a record loses its status before it has what it is to take over with": {3,
		[]event{{20, 481, 570}, {18, 436, 912}, {5, 126, 807}, {28, 0, 134}, {7, 315, 607}, {0, 753, 692}, {4, 450, 323},
			{22, 425, 908}, {2, 245, 868}, {5, 148, 682}, {18, 158, 742}, {18, 668, 30}}},
	"a site takes over without the token, where the first cluster was recovered and gives one for the same position": {2,
		[]event{{0, 948, 697}, {15, 635, 822}, {28, 0, 194}, {22, 68, 691}, {0, 482, 955}, {19, 525, 894}, {18, 6, 785},
			{18, 503, 984}, {22, 540, 726}}},
	"a first cluster that follows its successor has a status of before it was emptied": {2, []event{{18, 0, 1}, {5, 0, 1},
		{4, 0, 1}, {7, 0, 0}, {7, 4, 0}, {8, 0, 0}, {8, 4, 0}, {9, 0, 1}, {9, 4, 1}, {10, 0, 0}, {10, 4, 0}, {5, 0, 1},
		{2, 1, 0}, {5, 0, 1}, {18, 1, 4}, {6, 0, 1}, {14, 0, 1}, {6, 0, 1}, {4, 1, 1}, {7, 1, 0}, {7, 3, 0}, {8, 3, 0},
		{12, 0, 1}, {5, 0, 1}, {24, 692, 956}, {25, 302, 183}, {22, 887, 69}, {25, 717, 683}, {25, 325, 922},
		{20, 580, 434}, {23, 851, 420}, {20, 302, 551}, {20, 458, 405}}},
	"a first cluster that is to follow its successor has a status of before the change of sites": {3, []event{
		{20, 33, 854}, {18, 947, 336}, {18, 529, 776}, {6, 257, 417}, {22, 119, 338}, {12, 786, 641}, {5, 903, 394},
		{24, 789, 93}, {20, 525, 506}}},
	"a site whose settings are refused has an archive that does not go on from what it has": {3, []event{{0, 732, 16},
		{15, 890, 975}, {0, 102, 689}, {28, 0, 306}, {29, 958, 131}, {22, 812, 93}, {18, 176, 664}}},
	"a site whose program is of an earlier release takes over without a token from one that was recovered": {2, []event{
		{30, 0, 0}, {0, 750, 993}, {15, 477, 933}, {28, 0, 700}, {22, 947, 259}, {0, 376, 913}, {18, 61, 568}}},
	"a site that has taken over has a status and settings that are refused of before another identity": {2, []event{
		{27, 0, 1}, {29, 214, 818}, {20, 428, 493}, {19, 292, 637}, {19, 52, 854}, {20, 816, 408}, {23, 987, 141},
		{20, 288, 896}}},
	"root writes to a first cluster that has given a token, and does not know of a site without a record": {3, []event{
		{18, 44, 392}, {18, 704, 254}, {18, 151, 465}, {22, 930, 542}, {22, 109, 78}, {22, 21, 161}, {18, 803, 407},
		{22, 941, 780}, {14, 811, 641}, {26, 215, 382}}},
	"root writes to a first cluster between two requests that it follow its successor": {2, []event{{18, 0, 1},
		{5, 0, 1}, {4, 0, 1}, {7, 0, 0}, {7, 4, 0}, {8, 0, 0}, {8, 4, 0}, {9, 0, 1}, {9, 4, 1}, {10, 0, 0}, {10, 4, 0},
		{5, 0, 1}, {2, 1, 0}, {5, 0, 1}, {18, 1, 4}, {6, 0, 1}, {14, 0, 1}, {12, 159, 589}, {5, 357, 695}, {24, 672, 514},
		{22, 401, 946}, {22, 866, 944}, {24, 930, 615}, {26, 323, 958}, {24, 655, 805}, {25, 99, 811}, {4, 766, 873},
		{25, 76, 318}, {25, 213, 180}}},
}
