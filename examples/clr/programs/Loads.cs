// Programs that are measured: NAME [size]. Each prints its result, and the longest pause.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.InteropServices;

static class Loads {
    // Looks at the last collection after each, in a finalizer.
    sealed class Watch {
        public static double Longest;
        ~Watch() {
            try {
                Longest = Math.Max(Longest, GC.GetGCMemoryInfo(GCKind.Any).PauseDurations[0].TotalMilliseconds);
                if (!Environment.HasShutdownStarted) new Watch();
            } catch (OutOfMemoryException) { // in a program that goes to its limit
            }
        }
    }
    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static void StartWatch() => new Watch();

    public static bool Run(string[] args) {
        StartWatch();
        int size = args.Length > 1 && int.TryParse(args[1], out int given) ? given : 0;
        switch (args[0]) {
        case "trees": Trees(size > 0 ? size : 16); break;
        case "ring": Ring(size > 0 ? size : 200000); break;
        case "table": Table(size > 0 ? size : 1000000); break;
        case "mix": Mix(size > 0 ? size : 1000); break;
        case "exhaust": Exhaust(); break;
        case "finalizable": ExhaustFinalizable(); break;
        case "together": ExhaustTogether(); break;
        case "limit": Limit(); break;
        case "crash":
            Mix(50);
            Environment.FailFast("on purpose");
            break;
        case "threads": Threads(size > 0 ? size : 2); break;
        default: return false;
        }
        Console.WriteLine($"collections {GC.CollectionCount(0)} {GC.CollectionCount(1)} {GC.CollectionCount(2)}" +
                          $" pauses_ms {GC.GetTotalPauseDuration().TotalMilliseconds:F0} pause_max_ms {Watch.Longest:F1}");
        return true;
    }

    sealed class Node {
        public Node Left, Right;
        public int Count() => Left == null ? 1 : 1 + Left.Count() + Right.Count();
    }
    static Node Make(int depth) => depth == 0 ? new Node() : new Node { Left = Make(depth - 1), Right = Make(depth - 1) };
    static void Trees(int depth) {
        Node stays = Make(depth);
        long total = 0;
        for (int d = 4; d <= depth; d += 4)
            for (int i = 0; i < 1 << (depth - d + 4); i++) total += Make(d).Count();
        Console.WriteLine($"trees {total} {stays.Count()}");
    }

    static void Ring(int length) {
        var ring = new byte[length][];
        long longest = 0, before = Stopwatch.GetTimestamp();
        for (int i = 0; i < 5 * length; i++) {
            ring[i % length] = new byte[1024];
            long now = Stopwatch.GetTimestamp();
            longest = Math.Max(longest, now - before);
            before = now;
        }
        Console.WriteLine($"ring longest_ms {longest * 1e3 / Stopwatch.Frequency:F1}");
    }

#pragma warning disable CS0649 // fields that are there for their bytes
    sealed class Entry {
        public Entry A, B;
        public long C, D, E, F;
    }
    static void Table(int length) {
        var table = new Entry[length];
        var random = new Random(7);
        for (int i = 0; i < length; i++) table[i] = new Entry { C = i };
        long longest = 0, before = Stopwatch.GetTimestamp();
        for (int i = 0; i < 4 * length; i++) {
            int at = random.Next(length);
            table[at] = new Entry { C = at };
            long now = Stopwatch.GetTimestamp();
            longest = Math.Max(longest, now - before);
            before = now;
        }
        long wrong = 0;
        for (int i = 0; i < length; i++) wrong += table[i].C != i ? 1 : 0;
        Console.WriteLine($"table wrong {wrong} longest_ms {longest * 1e3 / Stopwatch.Frequency:F1}");
    }

    sealed class Ends {
        public byte[] Bytes = new byte[32];
        ~Ends() => Bytes = null;
    }
    static void Mix(int megabytes) {
        var random = new Random(5);
        var kept = new object[20000];
        var pins = new Queue<System.Runtime.InteropServices.GCHandle>();
        long bytes = 0;
        for (int i = 0; bytes < (long)megabytes << 20; i++) {
            int size = i % 5000 == 0 ? 200000 : random.Next(16, i % 10 == 0 ? 4096 : 256);
            object value = i % 3 == 0 ? new object[size / 8] : new byte[size];
            bytes += size + 24;
            if (value is object[] array && array.Length > 0 && kept[random.Next(kept.Length)] is byte[] old) array[0] = old;
            if (i % 500 == 0) new Ends();
            if (i % 1000 == 0) {
                pins.Enqueue(System.Runtime.InteropServices.GCHandle.Alloc(new byte[100], System.Runtime.InteropServices.GCHandleType.Pinned));
                if (pins.Count > 100) pins.Dequeue().Free();
            }
            if (i % 4 == 0) kept[random.Next(kept.Length)] = value;
        }
        Console.WriteLine("mix");
    }

    // At a limit of 64 MiB: what is caught leaves room to go on.
    static void Exhaust() {
        int caught = 0;
        for (int round = 0; round < 3; round++) {
            var kept = new List<byte[]>();
            try {
                for (;;) kept.Add(new byte[round == 1 ? 1000 : 100000]);
            } catch (OutOfMemoryException) {
                caught++;
                kept = null;
            }
        }
        Console.WriteLine(caught == 3 ? "OutOfMemoryException was caught" : "it was not");
    }

    // Half of the objects die, so there is always something to collect before an allocation fails.
    sealed class Finalizable {
        ~Finalizable() { }
    }
    // An array that only a span keeps, beside what the failed allocation has left; if there is no room, it is empty.
    static Span<object> Room(int round) {
        try {
            object[] array = new object[8];
            array[3] = new object[] { round };
            return array;
        } catch (OutOfMemoryException) {
            return default;
        }
    }
    static void ExhaustFinalizable() {
        int caught = 0, counts = 0;
        for (int round = 0; round < 3; round++) {
            var kept = new List<Finalizable>(1 << 20);
            try {
                for (;;) kept.Add(new Finalizable());
            } catch (OutOfMemoryException) {
                caught++;
                var span = Room(round);
                kept = null;
                GC.Collect();
                GC.WaitForPendingFinalizers();
                GC.Collect();
                for (int i = 0; i < 10000 && span.Length > 0; i++) span[5] = new object[] { i };
                GC.Collect();
                counts += span.Length == 0 || ((object[])span[3])[0] is int number && number == round ? 1 : 0;
            }
        }
        Console.WriteLine(caught == 3 && counts == 3 ? "OutOfMemoryException was caught" : $"it was not: {caught} {counts}");
    }

    // Threads meet the limit at once, with small and large arrays, pins, and holes.
    static bool ExhaustRound(Random random, int kind) {
        var pins = new GCHandle[64];
        int pinned = 0, wrong = 0;
        bool caught = false;
        try {
            var kept = new List<object>(4096);
            for (int i = 0;; i++) {
                byte[] array = kind == 1 ? new byte[random.Next(90000, 4000000)] : new byte[random.Next(100, 2000)];
                array[0] = 7;
                kept.Add(kind == 2 ? new object[] { array, kept.Count > 0 ? kept[^1] : null } : array);
                if (i % 37 == 0 && pinned < pins.Length) pins[pinned++] = GCHandle.Alloc(array, GCHandleType.Pinned);
                if (i % 3 == 0 && kind != 1) kept[random.Next(kept.Count)] = null;
            }
        } catch (OutOfMemoryException) {
            caught = true;
        }
        for (; pinned > 0; pins[pinned].Free())
            if (((byte[])pins[--pinned].Target)[0] != 7) wrong++;
        return caught && wrong == 0;
    }
    static void ExhaustTogether() {
        int caught = 0;
        var threads = new System.Threading.Thread[3];
        for (int t = 0; t < threads.Length; t++) {
            var random = new Random(t);
            threads[t] = new System.Threading.Thread(() => {
                for (int round = 0; round < 6; round++)
                    if (ExhaustRound(random, round % 3)) System.Threading.Interlocked.Increment(ref caught);
            });
            threads[t].Start();
        }
        foreach (var thread in threads) thread.Join();
        Console.WriteLine(caught == 18 ? "OutOfMemoryException was caught" : "it was not: " + caught);
    }

    static void Limit() {
        long before = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        AppContext.SetData("GCHeapHardLimit", (ulong)before * 2);
        GC.RefreshMemoryLimit();
        Console.WriteLine($"limits {before} {GC.GetGCMemoryInfo().TotalAvailableMemoryBytes}");
    }

    static void Threads(int count) {
        var threads = new List<System.Threading.Thread>();
        for (int t = 0; t < count; t++) {
            var thread = new System.Threading.Thread(() => {
                var keep = new object[1000];
                for (int i = 0; i < 8000000 / count; i++) keep[i % 1000] = new byte[i % 100];
            });
            threads.Add(thread);
            thread.Start();
        }
        foreach (var thread in threads) thread.Join();
        Console.WriteLine("threads");
    }
}
