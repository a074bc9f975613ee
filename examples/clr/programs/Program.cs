// Runs the named tests, or all of them: `programs NAME...`. Each prints "ok NAME", or how it failed.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;

static class Check {
    public static void That(bool condition, string what) {
        if (!condition) throw new Exception("failed: " + what);
    }
}

static class Program {
    static readonly Type[] Suites = {
        typeof(Library), typeof(Lifetimes), typeof(Handles), typeof(Memory), typeof(Loading), typeof(Tracing)
    };

    static IEnumerable<MethodInfo> Tests() =>
        Suites.SelectMany(s => s.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.DeclaredOnly));

    static int Main(string[] args) {
        if (args.Length > 0 && args[0] == "hello") {
            Console.WriteLine("hello, world");
            return 0;
        }
        if (args.Length > 0 && Loads.Run(args)) return 0;
        int failed = 0;
        foreach (var test in Tests()) {
            if (args.Length > 0 && !args.Contains(test.Name)) continue;
            try {
                test.Invoke(null, null);
                Console.WriteLine("ok " + test.Name);
            } catch (Exception e) {
                failed++;
                Console.WriteLine("not ok " + test.Name + ": " + (e.InnerException ?? e));
            }
        }
        return failed == 0 ? 0 : 1;
    }
}
