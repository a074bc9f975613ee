// The GC class, limits, large objects.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Memory {
    public static void Interface() {
        int before = GC.CollectionCount(2);
        GC.Collect();
        Check.That(GC.CollectionCount(2) > before && GC.CollectionCount(0) >= GC.CollectionCount(1), "counts");
        Check.That(GC.MaxGeneration == 2 && GC.GetGeneration("a literal") > 2, "generations");
        object o = new object();
        for (int i = 0; i < 4; i++) GC.Collect();
        Check.That(GC.GetGeneration(o) == 2, "age");
        Check.That(GC.GetTotalMemory(true) > 0 && GC.GetTotalAllocatedBytes(true) > 0, "totals");
        var info = GC.GetGCMemoryInfo(GCKind.FullBlocking);
        Check.That(info.TotalAvailableMemoryBytes > 1 << 20 && info.HighMemoryLoadThresholdBytes > 0 && info.Index > 0, "memory info");
        Check.That(GC.GetTotalPauseDuration() > TimeSpan.Zero, "pauses");
        Check.That(GC.GetGeneration(new byte[200000]) == 2, "the generation of a large object");
        Figures();
        var mode = GCSettings.LatencyMode;
        GCSettings.LatencyMode = GCLatencyMode.Batch;
        Check.That(GCSettings.LatencyMode == GCLatencyMode.Batch && !GCSettings.IsServerGC, "modes");
        GCSettings.LatencyMode = mode;
        GC.AddMemoryPressure(1 << 24);
        GC.RemoveMemoryPressure(1 << 24);
        if (GC.TryStartNoGCRegion(1 << 20)) GC.EndNoGCRegion();
        GC.GetConfigurationVariables();
        GC.RefreshMemoryLimit();
        GC.Collect(1, GCCollectionMode.Optimized, false);
        GC.Collect(2, GCCollectionMode.Aggressive, true, true);
    }

    static void Figures() {
        object[] dropped = new object[2000];
        for (int i = 0; i < dropped.Length; i++) dropped[i] = new byte[1000];
        dropped = null;
        TimeSpan paused = GC.GetTotalPauseDuration();
        GC.Collect();
        var info = GC.GetGCMemoryInfo(GCKind.FullBlocking);
        paused = GC.GetTotalPauseDuration() - paused;
        Check.That(info.PauseDurations[0] > TimeSpan.Zero && paused >= info.PauseDurations[0], "the pause counts");
        long before = 0, after = 0;
        foreach (var generation in info.GenerationInfo) (before, after) = (before + generation.SizeBeforeBytes, after + generation.SizeAfterBytes);
        Check.That(before >= after + 1000000 && after > 0, "sizes before and after: " + before + " " + after);
    }

    public static void AllocatedBytes() {
        object[] keep = new object[1000];
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < keep.Length; i++) keep[i] = new byte[1000];
        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        Check.That(bytes >= 1000000 && bytes < 1200000, "bytes of this thread: " + bytes);
        GC.KeepAlive(keep);
    }

    // Pinned objects with holes between them.
    static List<GCHandle> Sparse() {
        var pinned = new List<GCHandle>();
        for (int i = 0; i < 80000; i++) {
            var array = new byte[100];
            if (i % 400 == 0) pinned.Add(GCHandle.Alloc(array, GCHandleType.Pinned));
        }
        GC.Collect();
        return pinned;
    }

    // The sum over all threads, of which most have ended; some get the holes.
    public static void TotalBytes() {
        var pinned = Sparse();
        var kept = new object[30];
        long first = GC.GetTotalAllocatedBytes(true), last = first, own = GC.GetAllocatedBytesForCurrentThread(), others = 0;
        for (int i = 0; i < 400; i++) {
            var thread = new Thread(() => {
                long start = GC.GetAllocatedBytesForCurrentThread();
                for (int k = 0; k < kept.Length; k++) kept[k] = new byte[i % 4 * 10 + 24];
                if (i % 8 == 0) kept[0] = new byte[100000];
                others += GC.GetAllocatedBytesForCurrentThread() - start;
            });
            thread.Start();
            thread.Join();
            long total = GC.GetTotalAllocatedBytes(true);
            Check.That(total >= last, "the total fell by " + (last - total));
            last = total;
            if (i % 100 == 0) GC.Collect(i / 100 % 3);
        }
        own = GC.GetAllocatedBytesForCurrentThread() - own;
        Check.That(last - first >= own + others - 1000 && last - first < own + others + 2000000,
                   "total " + (last - first) + ", own " + own + ", of other threads " + others);
        foreach (var handle in pinned) handle.Free();
    }

    sealed class Finalized {
        public static volatile int Count;
        ~Finalized() => Count++;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static object[] Aged() {
        object[] holder = { new Finalized() };
        for (int i = 0; i < 3; i++) GC.Collect();
        return holder;
    }

    // A collection that nobody waits for ends though the program does nothing more.
    public static void Unattended() {
        for (int round = 0; round < 3; round++) {
            object[] holder = Aged();
            int finalized = Finalized.Count, collections = GC.CollectionCount(2);
            holder[0] = null;
            GC.Collect(2, GCCollectionMode.Default, false);
            Func<bool> ended = () => Finalized.Count > finalized && GC.CollectionCount(2) > collections; // a remark finalizes first
            for (int i = 0; i < 2000 && !ended(); i++) Thread.Sleep(10);
            Check.That(ended(), "round " + round + " has not ended");
        }
    }

    // Holes belong to the heap's size.
    public static void Holes() {
        var pinned = Sparse();
        GCMemoryInfo info;
        long total;
        do {
            GC.Collect();
            info = GC.GetGCMemoryInfo();
            total = GC.GetTotalMemory(false);
        } while (GC.GetGCMemoryInfo().Index != info.Index);
        var generation = info.GenerationInfo[2];
        Check.That(info.FragmentedBytes > 500000 && info.HeapSizeBytes + 200000 >= total + info.FragmentedBytes,
                   "size " + info.HeapSizeBytes + ", total " + total + ", holes " + info.FragmentedBytes);
        Check.That(generation.SizeAfterBytes >= generation.FragmentationAfterBytes, "size of generation 2: " + generation.SizeAfterBytes);
        foreach (var handle in pinned) handle.Free();
    }

    public static void Modes() {
        bool beside = Environment.GetEnvironmentVariable("DOTNET_gcConcurrent") == "1";
        var first = beside ? GCLatencyMode.Interactive : GCLatencyMode.Batch;
        Check.That(GCSettings.LatencyMode == first, "at first " + GCSettings.LatencyMode);
        GCSettings.LatencyMode = GCLatencyMode.SustainedLowLatency;
        Check.That(GCSettings.LatencyMode == (beside ? GCLatencyMode.SustainedLowLatency : first), "sustained: " + GCSettings.LatencyMode);
        GCSettings.LatencyMode = first;
        GCSettings.LatencyMode = GCLatencyMode.LowLatency;
        Check.That(GCSettings.LatencyMode == (GCSettings.IsServerGC ? first : GCLatencyMode.LowLatency), "low: " + GCSettings.LatencyMode);
        GCSettings.LatencyMode = first;
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        Check.That(GCSettings.LargeObjectHeapCompactionMode == GCLargeObjectHeapCompactionMode.CompactOnce, "once");
        GC.Collect();
        Check.That(GCSettings.LargeObjectHeapCompactionMode == GCLargeObjectHeapCompactionMode.Default, "not twice");
    }

    public static void Large() {
        var arrays = new List<object[]>();
        for (int i = 0; i < 40; i++) {
            var array = new object[100000 + i * 1000];
            for (int k = 0; k < array.Length; k += 997) array[k] = i * 1000 + k;
            arrays.Add(array);
            if (i % 3 == 2) arrays.RemoveAt(0);
            if (i % 8 == 0) GC.Collect(i / 8 % 3);
            arrays[arrays.Count / 2][5] = "new" + i;
        }
        foreach (var array in arrays)
            for (int k = 997; k < array.Length; k += 997) Check.That((int)array[k] % 1000 == k % 1000, "element");
    }

    public static void Churn() {
        var random = new Random(3);
        var slots = new object[20000];
        for (int i = 0; i < 400000; i++) {
            object value = (i % 5) switch {
                0 => new byte[random.Next(300)],
                1 => new object[] { slots[random.Next(slots.Length)], i },
                2 => "s" + i,
                3 => new List<int> { i },
                _ => new KeyValuePair<int, object>(i, slots[random.Next(slots.Length)])
            };
            if (value is object[] pair && pair[0] is object[] inner) inner[0] = null; // chains stay short
            if (value is KeyValuePair<int, object> boxed && boxed.Value is KeyValuePair<int, object>) value = null;
            slots[random.Next(slots.Length)] = value;
        }
        Check.That(slots.Count(s => s != null) > 5000, "slots");
    }
}
