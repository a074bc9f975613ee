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
}
