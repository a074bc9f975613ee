// GCHandles of all types, dependent handles, pinning.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

static class Handles {
    [MethodImpl(MethodImplOptions.NoInlining)]
    static GCHandle Make(GCHandleType type, int i) => GCHandle.Alloc(new byte[i + 1], type);

    public static void Kinds() {
        var handles = new List<(GCHandle handle, GCHandleType type, int length)>();
        foreach (GCHandleType type in Enum.GetValues<GCHandleType>())
            for (int i = 0; i < 300; i++) handles.Add((Make(type, i), type, i + 1));
        var addresses = handles.Where(h => h.type == GCHandleType.Pinned).Select(h => h.handle.AddrOfPinnedObject()).ToArray();
        Lifetimes.CollectAll();
        foreach (var (handle, type, length) in handles) {
            bool holds = type == GCHandleType.Normal || type == GCHandleType.Pinned;
            Check.That(holds ? ((byte[])handle.Target).Length == length : handle.Target == null, type + " " + length);
        }
        Check.That(handles.Where(h => h.type == GCHandleType.Pinned).Select(h => h.handle.AddrOfPinnedObject()).SequenceEqual(addresses), "pinned");
        foreach (var h in handles) h.handle.Free();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static DependentHandle MakeDependent(object key) => new DependentHandle(key ?? new object(), new string('d', 30));
    public static void Dependent() {
        object key = new object();
        var held = MakeDependent(key);
        var lost = MakeDependent(null);
        Lifetimes.CollectAll();
        Check.That(held.Dependent is string s && s.Length == 30 && held.Target == key, "held");
        Check.That(lost.Target == null && lost.Dependent == null, "lost");
        held.Dependent = new int[3];
        GC.Collect();
        Check.That(((int[])held.Dependent).Length == 3, "changed");
        held.Dispose();
        lost.Dispose();
        GC.KeepAlive(key);
    }

    public static unsafe void Pinning() {
        var random = new Random(1);
        for (int round = 0; round < 50; round++) {
            var arrays = Enumerable.Range(0, 200).Select(i => new int[random.Next(1, 200)]).ToArray();
            fixed (int* p = arrays[round]) {
                *p = round;
                GC.Collect(round % 3);
                Check.That(arrays[round][0] == round && (nint)p == (nint)Unsafe.AsPointer(ref arrays[round][0]), "fixed");
            }
        }
        Span<int> span = new int[1000];
        ref int inner = ref span[500];
        for (int i = 0; i < 4; i++) {
            inner = i;
            GC.Collect();
            Check.That(span[500] == i, "interior");
        }
        Span<int> end = span.Slice(1000);
        GC.Collect();
        Check.That(end.Length == 0, "one past the end");
    }

    public static unsafe void PinnedHeap() {
        var arrays = new List<(byte[] array, nint address)>();
        for (int i = 0; i < 500; i++) {
            byte[] array = GC.AllocateArray<byte>(i * 37 % 3000 + 1, pinned: true);
            array[0] = (byte)i;
            arrays.Add((array, (nint)Unsafe.AsPointer(ref array[0])));
            if (i % 50 == 0) GC.Collect(i / 50 % 3);
            if (i % 3 == 0) arrays.RemoveAt(arrays.Count / 2);
        }
        foreach (var (array, address) in arrays) Check.That((nint)Unsafe.AsPointer(ref array[0]) == address, "address");
        byte[] raw = GC.AllocateUninitializedArray<byte>(100000);
        Check.That(raw.Length == 100000, "raw");
    }

    // Objects that native code holds by COM's counts, and wrappers of native objects: on Linux, too.
    sealed unsafe class Wrappers : ComWrappers {
        static readonly Guid Interface = new("a3b1f2a0-6a5e-4d0e-9f3c-6a1d2c3b4e5f");
        static readonly ComInterfaceEntry* Entries = Make();

        [UnmanagedCallersOnly]
        static int Number(nint self) => ((Wrapped)ComInterfaceDispatch.GetInstance<object>((ComInterfaceDispatch*)self)).Number;

        static ComInterfaceEntry* Make() {
            GetIUnknownImpl(out nint query, out nint add, out nint release);
            var table = (nint*)RuntimeHelpers.AllocateTypeAssociatedMemory(typeof(Wrappers), 4 * sizeof(nint));
            (table[0], table[1], table[2], table[3]) = (query, add, release, (nint)(delegate* unmanaged<nint, int>)&Number);
            var entries = (ComInterfaceEntry*)RuntimeHelpers.AllocateTypeAssociatedMemory(typeof(Wrappers), sizeof(ComInterfaceEntry));
            *entries = new ComInterfaceEntry { IID = Interface, Vtable = (nint)table };
            return entries;
        }
        protected override ComInterfaceEntry* ComputeVtables(object o, CreateComInterfaceFlags flags, out int count) {
            count = 1;
            return Entries;
        }
        protected override object CreateObject(nint native, CreateObjectFlags flags) => new Foreign { Native = native };
        protected override void ReleaseObjects(System.Collections.IEnumerable objects) { }

        public static int Ask(nint native) {
            Check.That(Marshal.QueryInterface(native, Interface, out nint self) == 0, "QueryInterface");
            int number = ((delegate* unmanaged<nint, int>)(*(nint**)self)[3])(self);
            Marshal.Release(self);
            return number;
        }
    }
    sealed class Wrapped { public int Number; }
    sealed class Foreign { public nint Native; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static (nint, WeakReference) Wrap(Wrappers wrappers, int i) {
        var wrapped = new Wrapped { Number = i };
        return (wrappers.GetOrCreateComInterfaceForObject(wrapped, CreateComInterfaceFlags.None), new WeakReference(wrapped));
    }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Import(Wrappers wrappers, nint native) {
        object foreign = wrappers.GetOrCreateObjectForComInstance(native, CreateObjectFlags.None);
        Check.That(foreign == wrappers.GetOrCreateObjectForComInstance(native, CreateObjectFlags.None), "one wrapper");
        Check.That(((Foreign)foreign).Native == native, "of that object");
        return new WeakReference(foreign);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AskHeld((nint native, WeakReference weak) held, int number) {
        Check.That(held.weak.Target is Wrapped w && w.Number == number, "held by its count");
        Check.That(Wrappers.Ask(held.native) == number, "called by native code");
    }

    public static void Wrapping() {
        var wrappers = new Wrappers();
        var held = Enumerable.Range(0, 300).Select(i => Wrap(wrappers, i)).ToArray();
        var foreign = held.Select(h => Import(wrappers, h.Item1)).ToArray();
        Lifetimes.CollectAll();
        for (int i = 0; i < held.Length; i++) AskHeld(held[i], i);
        Check.That(foreign.All(f => !f.IsAlive), "wrappers of native objects die");
        for (int i = 0; i < held.Length; i += 2) Marshal.Release(held[i].Item1);
        Lifetimes.CollectAll();
        for (int i = 0; i < held.Length; i++) Check.That(held[i].Item2.IsAlive == (i % 2 == 1), "dead when it is released " + i);
        for (int i = 1; i < held.Length; i += 2) Marshal.Release(held[i].Item1);
        Lifetimes.CollectAll();
        Check.That(held.All(h => !h.Item2.IsAlive), "all are dead");
    }
}
