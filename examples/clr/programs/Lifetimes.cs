// Finalizers, resurrection, weak tables. Objects that have to die are made in methods that are not inlined.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.ConstrainedExecution;
using System.Runtime.InteropServices;

static class Lifetimes {
    const MethodImplOptions Apart = MethodImplOptions.NoInlining;

    internal static void CollectAll() {
        for (int i = 0; i < 2; i++) {
            Overwrite(20);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }
    [MethodImpl(Apart)]
    static long Overwrite(int depth) {
        Span<long> words = stackalloc long[64];
        words.Fill(depth);
        return depth == 0 ? words[3] : Overwrite(depth - 1) + words[5];
    }

    class Counted {
        public static int Ended;
        ~Counted() => System.Threading.Interlocked.Increment(ref Ended);
    }
    [MethodImpl(Apart)]
    static void MakeCounted(int count) {
        for (int i = 0; i < count; i++) new Counted();
    }
    public static void Finalizers() {
        int before = Counted.Ended;
        MakeCounted(1000);
        CollectAll();
        Check.That(Counted.Ended - before == 1000, "finalizers ran: " + (Counted.Ended - before));
    }

    [MethodImpl(Apart)]
    static void MakeSuppressed(List<WeakReference> weak) {
        for (int i = 0; i < 100; i++) {
            var c = new Counted();
            GC.SuppressFinalize(c);
            if (i % 2 == 0) GC.ReRegisterForFinalize(c);
            weak.Add(new WeakReference(c));
        }
    }
    public static void Suppress() {
        int before = Counted.Ended;
        var weak = new List<WeakReference>();
        MakeSuppressed(weak);
        CollectAll();
        Check.That(Counted.Ended - before == 50, "half were suppressed: " + (Counted.Ended - before));
        Check.That(weak.All(w => !w.IsAlive), "all are gone");
    }

    class Phoenix {
        public static Phoenix Risen;
        public static int Times;
        public readonly string Text = "phoenix" + DateTime.Now.Year;
        ~Phoenix() {
            Times++;
            if (Times < 3) {
                Risen = this;
                GC.ReRegisterForFinalize(this);
            }
        }
    }
    [MethodImpl(Apart)]
    static void MakePhoenix(out WeakReference shortly, out WeakReference longer) {
        var p = new Phoenix();
        shortly = new WeakReference(p);
        longer = new WeakReference(p, true);
    }
    public static void Resurrection() {
        MakePhoenix(out var shortly, out var longer);
        Overwrite(20);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Check.That(Phoenix.Times == 1 && Phoenix.Risen.Text.StartsWith("phoenix"), "it rose");
        Check.That(!shortly.IsAlive && longer.IsAlive, "short and long weak references");
        Phoenix.Risen = null;
        CollectAll();
        Phoenix.Risen = null;
        CollectAll();
        Check.That(Phoenix.Times == 3 && !longer.IsAlive, "it died: " + Phoenix.Times);
    }

    class Critical : CriticalFinalizerObject {
        readonly List<string> order;
        public Critical(List<string> order) => this.order = order;
        ~Critical() { lock (order) order.Add("critical"); }
    }
    class Ordinary {
        readonly List<string> order;
        public Ordinary(List<string> order) => this.order = order;
        ~Ordinary() { lock (order) order.Add("ordinary"); }
    }
    [MethodImpl(Apart)]
    static void MakeBoth(List<string> order) {
        for (int i = 0; i < 50; i++) {
            new Critical(order);
            new Ordinary(order);
        }
    }
    public static void CriticalFinalizers() {
        var order = new List<string>();
        int before = GC.CollectionCount(0);
        MakeBoth(order);
        bool together = GC.CollectionCount(0) == before; // only those that die together have an order
        CollectAll();
        Check.That(order.Count == 100, "all ended: " + order.Count);
        Check.That(!together || order.Take(50).All(s => s == "ordinary"), "critical ones come last");
    }

    class TestHandle : SafeHandle {
        public static int Released;
        public TestHandle() : base(IntPtr.Zero, true) => SetHandle((IntPtr)7);
        public override bool IsInvalid => handle == IntPtr.Zero;
        protected override bool ReleaseHandle() {
            Released++;
            return true;
        }
    }
    [MethodImpl(Apart)]
    static void MakeHandles() {
        for (int i = 0; i < 60; i++) {
            var h = new TestHandle();
            if (i % 3 == 0) h.Dispose();
        }
    }
    public static void SafeHandles() {
        MakeHandles();
        CollectAll();
        Check.That(TestHandle.Released == 60, "released: " + TestHandle.Released);
    }

    [MethodImpl(Apart)]
    static void FillTable(ConditionalWeakTable<object, object> table, List<object> kept, List<WeakReference> values) {
        for (int i = 0; i < 500; i++) {
            object key = new object(), value = new object[] { key, i };
            table.Add(key, value);
            values.Add(new WeakReference(value));
            if (i % 2 == 0) kept.Add(key);
        }
        table.Add("a literal", new object());
        object chain = new object();
        kept.Add(chain);
        for (int i = 0; i < 50; i++) {
            object next = new object();
            table.Add(chain, next);
            chain = next;
        }
    }
    public static void ConditionalWeakTables() {
        var table = new ConditionalWeakTable<object, object>();
        var kept = new List<object>();
        var values = new List<WeakReference>();
        FillTable(table, kept, values);
        CollectAll();
        Check.That(values.Count(w => w.IsAlive) == 250, "values: " + values.Count(w => w.IsAlive));
        for (int i = 0; i < 250; i++) {
            Check.That(table.TryGetValue(kept[i], out object value), "value");
            Check.That((int)((object[])value)[1] == 2 * i && ((object[])value)[0] == kept[i], "the value's key");
        }
        Check.That(table.TryGetValue("a literal", out _), "a literal's");
        object at = kept[250];
        int length = 0;
        while (table.TryGetValue(at, out object next)) {
            at = next;
            length++;
        }
        Check.That(length == 50, "chain of ephemerons: " + length);
    }

    // The key lives on, and so does the table.
    [MethodImpl(Apart)]
    static void AddAndRemove(ConditionalWeakTable<object, object> table, object key, List<WeakReference> values) {
        var value = new object();
        table.Add(key, value);
        values.Add(new WeakReference(value));
        table.Remove(key);
    }
    [MethodImpl(Apart)]
    static DependentHandle MakeEmptied(object key, List<WeakReference> values) {
        var value = new object();
        values.Add(new WeakReference(value));
        var handle = new DependentHandle(key, value);
        handle.Target = null;
        return handle;
    }
    public static void RemovedFromTables() {
        var table = new ConditionalWeakTable<object, object>();
        var values = new List<WeakReference>();
        var keys = Enumerable.Range(0, 20).Select(_ => new object()).ToList();
        foreach (object key in keys) AddAndRemove(table, key, values);
        var handles = keys.Select(key => MakeEmptied(key, values)).ToList();
        CollectAll();
        Check.That(values.All(w => !w.IsAlive), "values that were removed: " + values.Count(w => w.IsAlive));
        foreach (object key in keys) {
            object value = new object[] { key };
            table.Add(key, value);
            GC.Collect();
            Check.That(table.TryGetValue(key, out object found) && found == value, "the next value");
        }
        handles.ForEach(h => h.Dispose());
        GC.KeepAlive(keys);
    }

    // Several threads register objects again at the same time.
    class Shared {
        public static int Ended;
        ~Shared() => System.Threading.Interlocked.Increment(ref Ended);
    }
    [MethodImpl(Apart)]
    static void RegisterByThreads() {
        var threads = Enumerable.Range(0, 4).Select(_ => new System.Threading.Thread(() => {
            for (int i = 0; i < 2000; i++) GC.ReRegisterForFinalize(new Shared());
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
    }
    public static void RegisteredTwice() {
        RegisterByThreads();
        CollectAll();
        Check.That(Shared.Ended == 16000, "each finalizer ran twice: " + Shared.Ended);
    }

    class Gen2Callback {
        public static int Calls;
        ~Gen2Callback() {
            Calls++;
            if (!Environment.HasShutdownStarted) GC.ReRegisterForFinalize(this);
        }
    }
    [MethodImpl(Apart)]
    static void MakeCallback() => new Gen2Callback();
    public static void ReRegistered() {
        MakeCallback();
        for (int i = 0; i < 5; i++) CollectAll();
        Check.That(Gen2Callback.Calls >= 5, "calls: " + Gen2Callback.Calls);
    }
}
