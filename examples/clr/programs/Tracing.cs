// What tools see that trace the runtime.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;

static class Tracing {
    static readonly Stopwatch watch = Stopwatch.StartNew();

    // Events come from a thread of the runtime's, some time after they were fired.
    sealed class Listener : EventListener {
        readonly List<(string Name, object[] Values)> events = new();

        protected override void OnEventSourceCreated(EventSource source) {
            // collections, handles, survivors, and a dump of the heap, which begins a collection
            if (source.Name != "Microsoft-Windows-DotNETRuntime") return;
            EnableEvents(source, EventLevel.Verbose, (EventKeywords)0x1D80003);
        }
        protected override void OnEventWritten(EventWrittenEventArgs e) {
            lock (events) events.Add((e.EventName, e.Payload.ToArray()));
        }
        public List<object[]> Of(string name) {
            lock (events) return events.Where(e => e.Name.StartsWith(name)).Select(e => e.Values).ToList();
        }
    }

    static void Work(object[] kept) {
        for (int i = 0; i < 20000; i++) kept[i % kept.Length] = new byte[i % 100];
        var handle = GCHandle.Alloc(kept[7], GCHandleType.Pinned);
        GC.Collect(0);
        GC.Collect();
        handle.Free();
    }

    public static void Events() {
        using var listener = new Listener();
        string[] names = { "GCTriggered", "GCStart", "GCEnd", "GCHeapStats", "GCGlobalHeapHistory", "GCGenerationRange",
                           "GCAllocationTick", "SetGCHandle", "DestroyGCHandle", "PinObjectAtGCTime",
                           "GCBulkMovedObjectRanges", "GCBulkNode", "GCBulkEdge" };
        var kept = new object[500];
        string[] missing;
        do {
            Work(kept);
            Thread.Sleep(10);
            missing = names.Where(n => listener.Of(n).Count == 0).ToArray();
        } while (missing.Length > 0 && watch.Elapsed < TimeSpan.FromSeconds(40));
        Check.That(missing.Length == 0, "no " + string.Join(", ", missing));
        var ends = listener.Of("GCEnd");
        foreach (var end in ends) {
            var start = listener.Of("GCStart").Single(s => (uint)s[0] == (uint)end[0]);
            Check.That((uint)start[1] == (uint)end[1] && (uint)end[1] <= 2, "generations " + start[1] + " " + end[1]);
        }
        var sizes = listener.Of("GCHeapStats").Last();
        ulong bytes = new[] { 0, 2, 4, 6 }.Aggregate(0ul, (sum, i) => sum + (ulong)sizes[i]);
        Check.That(bytes > 100000 && bytes < 1ul << 32 && (uint)sizes[12] > 0, "sizes " + string.Join(" ", sizes));
        foreach (var tick in listener.Of("GCAllocationTick"))
            Check.That((ulong)tick[3] >= 100 << 10 && (ulong)tick[8] > 0 && (string)tick[5] != "",
                       "tick " + string.Join(" ", tick));
    }

    static object Internal(string name, params object[] values) =>
        typeof(GC).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic).Invoke(null, values);

    // What dotnet-counters shows and programs cannot ask for.
    public static void Counters() {
        int most = 0;
        for (int i = 0; i < 100; i++) {
            GC.Collect();
            most = Math.Max(most, (int)Internal("GetLastGCPercentTimeInGC"));
        }
        Check.That(most > 0 && most <= 100, "percent of time in collections " + most);
        Check.That((long)Internal("GetGenerationBudget", 0) > 0, "budget of generation 0");
        Check.That((ulong)Internal("GetGenerationSize", 2) > 0, "size of generation 2");
    }

    // A full dump has all that can be read, so tables for a large range of addresses must not be readable where nobody uses them.
    public static void Readable() {
        GC.Collect(2, GCCollectionMode.Default, false);
        ulong bytes = 0;
        foreach (string line in File.ReadLines("/proc/self/maps")) {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            ulong[] ends = words[0].Split('-').Select(w => Convert.ToUInt64(w, 16)).ToArray();
            if (words[1][0] == 'r' && words.Length == 5) bytes += ends[1] - ends[0];
        }
        Check.That(bytes < 5ul << 30, "readable MiB: " + (bytes >> 20));
    }
}
