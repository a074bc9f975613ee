// Collectible assemblies: what keeps their code alive, and that it goes.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

static class Loading {
    sealed class Context : AssemblyLoadContext {
        public Context() : base(isCollectible: true) { }
        protected override Assembly Load(AssemblyName name) => null;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference LoadOnce(List<object> kept, bool keep) {
        var context = new Context();
        var assembly = context.LoadFromAssemblyPath(typeof(Loading).Assembly.Location);
        var type = assembly.GetType("Plugin");
        object plugin = Activator.CreateInstance(type);
        for (int i = 0; i < 50; i++) type.GetMethod("Work").Invoke(plugin, new object[] { i });
        if (keep) kept.Add(plugin);
        context.Unload();
        return new WeakReference(context, true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void UseAll(List<object> kept) {
        foreach (object plugin in kept)
            Check.That((int)plugin.GetType().GetMethod("Count").Invoke(plugin, null) == 50, "a kept plugin works");
    }
    public static void Contexts() {
        var kept = new List<object>();
        var contexts = new List<WeakReference>();
        for (int i = 0; i < 6; i++) contexts.Add(LoadOnce(kept, i % 2 == 0));
        for (int i = 0; i < 20 && contexts.Count(c => c.IsAlive) > 3; i++) Lifetimes.CollectAll();
        UseAll(kept);
        Check.That(contexts.Count(c => c.IsAlive) == 3, "alive: " + contexts.Count(c => c.IsAlive));
        kept.Clear();
        for (int i = 0; i < 20 && contexts.Any(c => c.IsAlive); i++) Lifetimes.CollectAll();
        Check.That(contexts.All(c => !c.IsAlive), "all are unloaded");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference EmitOnce(int number) {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("made" + number), AssemblyBuilderAccess.RunAndCollect);
        var type = assembly.DefineDynamicModule("made").DefineType("Made", TypeAttributes.Public);
        type.DefineField("next", typeof(object), FieldAttributes.Public);
        var made = type.CreateType();
        object instance = null;
        for (int i = 0; i < 100; i++) {
            object previous = instance;
            instance = Activator.CreateInstance(made);
            made.GetField("next").SetValue(instance, previous);
        }
        GC.Collect(number % 3);
        return new WeakReference(instance);
    }
    public static void Emitted() {
        var all = Enumerable.Range(0, 10).Select(EmitOnce).ToList();
        Lifetimes.CollectAll();
        Check.That(all.All(w => !w.IsAlive), "instances are gone");
    }
}

public class Plugin {
    static readonly List<string> Static = new List<string>();
    [ThreadStatic] static object perThread;
    int count;
    public void Work(int i) {
        Static.Add("work" + i);
        perThread = new object[] { i, perThread };
        count++;
    }
    public int Count() => Static.Count == count ? count : -1;
}
