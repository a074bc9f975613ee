/* The workloads of bench/workloads that bench-pauses measures, in Java: the same shapes, sizes and checks.
       java FLAGS Workloads NAME ARGS
   Prints what the C side prints with --json, but for pauses, which are in the log of safe points (-Xlog:safepoint). */
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

final class Workloads {
    /* The longest step: a step is 16 operations, or one push. */
    static final int STEP_OPERATIONS = 16;
    static long operations, longest;
    static long stepped; /* 0: no step has ended since something that is none */

    static void step() {
        if (++operations % STEP_OPERATIONS == 0) stepEnds();
    }

    static void stepEnds() {
        long now = System.nanoTime();
        if (stepped != 0) longest = Math.max(longest, now - stepped);
        stepped = now;
    }

    static long state = 88172645463325252L;

    static long nextRandom() {
        state ^= state << 13;
        state ^= state >>> 7;
        return state ^= state << 17;
    }

    static int index(long x, long n) { return (int)Long.remainderUnsigned(x, n); }

    static final class Tree {
        Tree left, right;
    }

    static Tree makeTree(long depth) {
        step();
        if (depth == 0) return new Tree();
        Tree left = makeTree(depth - 1), right = makeTree(depth - 1);
        Tree tree = new Tree();
        tree.left = left;
        tree.right = right;
        return tree;
    }

    static long countTree(Tree tree) {
        return tree.left == null ? 1 : 1 + countTree(tree.left) + countTree(tree.right);
    }

    static long makeAndCount(long depth) {
        long count = countTree(makeTree(depth));
        if (depth > 10) stepped = 0;
        return count;
    }

    static String binaryTrees(long[] args) {
        final int depthMin = 4;
        long depthMax = args[0], sum = makeAndCount(depthMax + 1);
        Tree longLived = makeTree(depthMax);
        for (long depth = depthMin; depth <= depthMax; depth += 2)
            for (long i = 0, trees = 1L << (depthMax - depth + depthMin); i < trees; i++) sum += makeAndCount(depth);
        return Long.toString(sum + countTree(longLived));
    }

    static final class Item {
        Item a, b;
        long word0, word1, word2, word3;
    }

    static Item newItem(long x, long i, long slot) {
        Item item = new Item();
        item.word0 = x;
        item.word1 = i;
        item.word2 = slot;
        item.word3 = x ^ i;
        return item;
    }

    static String lru(long[] args) {
        Item[] table = new Item[(int)args[0]];
        for (long i = 0; i < args[1]; i++) {
            long x = nextRandom();
            int slot = index(x, args[0]);
            table[slot] = newItem(x, i, slot);
            step();
        }
        long sum = 0;
        for (Item item : table)
            if (item != null) sum = sum * 31 + (item.word0 + 3 * item.word1 + 5 * item.word2 + 7 * item.word3);
        return String.format("%016x", sum);
    }

    static final class Vertex {
        Edge edges;
        long id, degree;
    }

    static final class Edge {
        Edge next;
        Vertex to;
    }

    static void addEdge(Vertex vertex, Vertex to) {
        final int edgesMax = 8;
        Edge edge = new Edge();
        edge.next = vertex.edges;
        edge.to = to;
        vertex.edges = edge;
        if (++vertex.degree < edgesMax) return;
        for (vertex.degree = 1; vertex.degree < edgesMax / 2; vertex.degree++) edge = edge.next;
        edge.next = null;
    }

    static String graph(long[] args) {
        Vertex[] vertices = new Vertex[(int)args[0]];
        for (int i = 0; i < vertices.length; i++) {
            vertices[i] = new Vertex();
            vertices[i].id = i;
            step();
        }
        for (long i = 0; i < args[1]; i++) {
            long x = nextRandom();
            addEdge(vertices[index(x, args[0])], vertices[index(x >>> 32, args[0])]);
            step();
        }
        long sum = 0;
        for (Vertex vertex : vertices)
            for (Edge edge = vertex.edges; edge != null; edge = edge.next) sum = sum * 31 + edge.to.id + vertex.id;
        return String.format("%016x", sum);
    }

    static final class Entry {
        Entry next;
        byte[] value;
        long key;
    }

    static boolean removeKey(Entry[] table, int bucket, long key) {
        Entry before = null, entry = table[bucket];
        for (; entry != null && entry.key != key; entry = entry.next) before = entry;
        if (entry == null) return false;
        if (before != null)
            before.next = entry.next;
        else
            table[bucket] = entry.next;
        return true;
    }

    static void insert(Entry[] table, int bucket, long key, long x) {
        Entry entry = new Entry();
        entry.value = new byte[16 + (int)(x % 25) * 8];
        Arrays.fill(entry.value, (byte)key);
        entry.next = table[bucket];
        entry.key = key;
        table[bucket] = entry;
    }

    static String churn(long[] args) {
        Entry[] table = new Entry[(int)args[0]];
        for (long i = 0; i < args[1]; i++) {
            long x = nextRandom(), key = Long.remainderUnsigned(x, 2 * args[0]);
            int bucket = index(key * 0x9E3779B97F4A7C15L, args[0]);
            if (!removeKey(table, bucket, key)) insert(table, bucket, key, x >>> 40);
            step();
        }
        long sum = 0;
        for (Entry first : table)
            for (Entry entry = first; entry != null; entry = entry.next)
                sum = sum * 31 + entry.key + (entry.value[entry.value.length - 1] & 255);
        return String.format("%016x", sum);
    }

    static String pause(long[] args) {
        final int checkedByte = 512;
        byte[][] ring = new byte[(int)args[0]][];
        int slot = 0;
        for (long i = 0; i < args[1]; i++) {
            byte[] array = new byte[(int)args[2]];
            Arrays.fill(array, (byte)i);
            ring[slot] = array;
            if (++slot == ring.length) slot = 0;
            stepEnds();
        }
        long sum = 0;
        for (byte[] array : ring)
            if (array != null) sum = sum * 31 + (array[checkedByte] & 255);
        return String.format("%016x", sum);
    }

    static String run(String name, long[] args) {
        switch (name + " " + args.length) {
        case "binary-trees 1": return binaryTrees(args);
        case "lru 2": return lru(args);
        case "graph 2": return graph(args);
        case "churn 2": return churn(args);
        case "pause 3": return pause(args);
        default: throw new IllegalArgumentException("Workloads binary-trees|lru|graph|churn|pause ARGS");
        }
    }

    static long rssPeak() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith("VmHWM:")) return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
        return 0;
    }

    public static void main(String[] texts) throws Exception {
        long[] args = new long[texts.length - 1];
        for (int i = 0; i < args.length; i++) args[i] = Long.parseLong(texts[i + 1]);
        long start = System.nanoTime();
        String check = run(texts[0], args);
        double wall = (System.nanoTime() - start) / 1e9;
        /* user and system time of the process, in hundredths of a second */
        String[] stat = Files.readString(Path.of("/proc/self/stat")).replaceAll(".*\\) ", "").split(" ");
        System.out.printf("{\"name\": \"%s\", \"backend\": \"java\", \"check\": \"%s\", \"user_s\": %s, \"sys_s\": %s, \"wall_s\": %.6f, "
                              + "\"rss_peak_bytes\": %d, \"step_max_s\": %.9f}%n",
                          texts[0], check, Long.parseLong(stat[11]) / 100.0, Long.parseLong(stat[12]) / 100.0, wall, rssPeak(),
                          longest / 1e9);
    }
}
