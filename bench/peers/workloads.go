// The workloads of bench/workloads that bench-pauses measures, in Go: the same shapes, sizes and checks.
//
//	workloads-go NAME ARGS [--max-heap=BYTES]
//
// Prints what the C side prints with --json. The limit is that of the runtime, which may exceed it.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The longest step: a step is 16 operations, or one push.
const stepOperations = 16

var operations uint64
var stepped, longest time.Duration // since start; 0: no step has ended since something that is none
var start = time.Now()

func step() {
	operations++
	if operations%stepOperations == 0 {
		stepEnds()
	}
}

func stepEnds() {
	now := time.Since(start)
	if stepped != 0 && now-stepped > longest {
		longest = now - stepped
	}
	stepped = now
}

var state uint64 = 88172645463325252

func nextRandom() uint64 {
	state ^= state << 13
	state ^= state >> 7
	state ^= state << 17
	return state
}

type tree struct{ left, right *tree }

func makeTree(depth uint64) *tree {
	step()
	if depth == 0 {
		return &tree{}
	}
	left := makeTree(depth - 1)
	right := makeTree(depth - 1)
	return &tree{left, right}
}

func countTree(t *tree) uint64 {
	if t.left == nil {
		return 1
	}
	return 1 + countTree(t.left) + countTree(t.right)
}

func makeAndCount(depth uint64) uint64 {
	count := countTree(makeTree(depth))
	if depth > 10 {
		stepped = 0
	}
	return count
}

func binaryTrees(args []uint64) string {
	const depthMin = 4
	depthMax := args[0]
	sum := makeAndCount(depthMax + 1)
	longLived := makeTree(depthMax)
	for depth := uint64(depthMin); depth <= depthMax; depth += 2 {
		for i := uint64(0); i < 1<<(depthMax-depth+depthMin); i++ {
			sum += makeAndCount(depth)
		}
	}
	return fmt.Sprint(sum + countTree(longLived))
}

type item struct {
	a, b  *item
	words [4]uint64
}

func lru(args []uint64) string {
	n := args[0]
	table := make([]*item, n)
	for i := uint64(0); i < args[1]; i++ {
		x := nextRandom()
		table[x%n] = &item{words: [4]uint64{x, i, x % n, x ^ i}}
		step()
	}
	sum := uint64(0)
	for _, it := range table {
		if it != nil {
			sum = sum*31 + (it.words[0] + 3*it.words[1] + 5*it.words[2] + 7*it.words[3])
		}
	}
	return fmt.Sprintf("%016x", sum)
}

type vertex struct {
	edges      *edge
	id, degree uint64
}

type edge struct {
	next *edge
	to   *vertex
}

func addEdge(v, to *vertex) {
	const edgesMax = 8
	e := &edge{v.edges, to}
	v.edges = e
	v.degree++
	if v.degree < edgesMax {
		return
	}
	for v.degree = 1; v.degree < edgesMax/2; v.degree++ {
		e = e.next
	}
	e.next = nil
}

func graph(args []uint64) string {
	n := args[0]
	vertices := make([]*vertex, n)
	for i := range vertices {
		vertices[i] = &vertex{id: uint64(i)}
		step()
	}
	for i := uint64(0); i < args[1]; i++ {
		x := nextRandom()
		addEdge(vertices[x%n], vertices[(x>>32)%n])
		step()
	}
	sum := uint64(0)
	for _, v := range vertices {
		for e := v.edges; e != nil; e = e.next {
			sum = sum*31 + e.to.id + v.id
		}
	}
	return fmt.Sprintf("%016x", sum)
}

type entry struct {
	next  *entry
	value []byte
	key   uint64
}

func fill(bytes []byte, value byte) {
	for i := range bytes {
		bytes[i] = value
	}
}

func removeKey(table []*entry, bucket, key uint64) bool {
	link := &table[bucket]
	for *link != nil && (*link).key != key {
		link = &(*link).next
	}
	if *link == nil {
		return false
	}
	*link = (*link).next
	return true
}

func churn(args []uint64) string {
	n := args[0]
	table := make([]*entry, n)
	for i := uint64(0); i < args[1]; i++ {
		x := nextRandom()
		key := x % (2 * n)
		bucket := key * 0x9E3779B97F4A7C15 % n
		if !removeKey(table, bucket, key) {
			value := make([]byte, 16+(x>>40)%25*8)
			fill(value, byte(key))
			table[bucket] = &entry{table[bucket], value, key}
		}
		step()
	}
	sum := uint64(0)
	for _, e := range table {
		for ; e != nil; e = e.next {
			sum = sum*31 + e.key + uint64(e.value[len(e.value)-1])
		}
	}
	return fmt.Sprintf("%016x", sum)
}

func pause(args []uint64) string {
	const checkedByte = 512
	n := args[0]
	ring := make([][]byte, n)
	slot := uint64(0)
	for i := uint64(0); i < args[1]; i++ {
		array := make([]byte, args[2])
		fill(array, byte(i))
		ring[slot] = array
		if slot++; slot == n {
			slot = 0
		}
		stepEnds()
	}
	sum := uint64(0)
	for _, array := range ring {
		if array != nil {
			sum = sum*31 + uint64(array[checkedByte])
		}
	}
	return fmt.Sprintf("%016x", sum)
}

// The stops of the world: how many there were, and the upper end of the bucket of the longest and of the one at 99.9 %.
func pauses() (count uint64, p999, max float64) {
	sample := []metrics.Sample{{Name: "/gc/pauses:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	for _, c := range h.Counts {
		count += c
	}
	seen := uint64(0)
	for i, c := range h.Counts {
		if c == 0 {
			continue
		}
		end := h.Buckets[i+1]
		if math.IsInf(end, 1) {
			end = h.Buckets[i]
		}
		if float64(seen) < 0.999*float64(count) {
			p999 = end
		}
		seen += c
		max = end
	}
	return
}

func rssPeak() uint64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	kib := uint64(0)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fmt.Sscanf(lines.Text(), "VmHWM: %d", &kib)
	}
	return kib * 1024
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func main() {
	workloads := map[string]func([]uint64) string{
		"binary-trees": binaryTrees, "lru": lru, "graph": graph, "churn": churn, "pause": pause}
	counts := map[string]int{"binary-trees": 1, "lru": 2, "graph": 2, "churn": 2, "pause": 3}
	name, args := "", []uint64{}
	for _, text := range os.Args[1:] {
		limit := strings.TrimPrefix(text, "--max-heap=")
		number, err := strconv.ParseUint(limit, 10, 63)
		switch {
		case limit != text && err == nil:
			debug.SetMemoryLimit(int64(number))
		case err == nil:
			args = append(args, number)
		case name == "" && workloads[text] != nil:
			name = text
		default:
			name = "?"
		}
	}
	if workloads[name] == nil || len(args) != counts[name] {
		fmt.Fprintln(os.Stderr, "usage: workloads-go binary-trees|lru|graph|churn|pause ARGS [--max-heap=BYTES]")
		os.Exit(2)
	}
	check := workloads[name](args)
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	count, p999, max := pauses()
	fmt.Printf("{\"name\": %q, \"backend\": \"go\", \"check\": %q, \"user_s\": %.6f, \"sys_s\": %.6f, \"wall_s\": %.6f, "+
		"\"rss_peak_bytes\": %d, \"step_max_s\": %.9f, \"pauses\": %d, \"pause_p999_s\": %.9f, \"pause_max_s\": %.9f}\n",
		name, check, seconds(usage.Utime), seconds(usage.Stime), time.Since(start).Seconds(), rssPeak(),
		longest.Seconds(), count, p999, max)
}
