// What programs do with the class library.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

static class Library {
    record Point(int X, int Y, string Name);

    public static void Linq() {
        var groups = Enumerable.Range(0, 20000).Select(i => new Point(i % 97, i, "p" + i)).GroupBy(p => p.X)
            .OrderByDescending(g => g.Count()).ThenBy(g => g.Key).ToList();
        Check.That(groups.Count == 97 && groups.Sum(g => g.Count()) == 20000, "groups");
        Check.That(groups.SelectMany(g => g).All(p => p.Name == "p" + p.Y), "names");
    }

    public static void Json() {
        var list = Enumerable.Range(0, 2000).Select(i => new Dictionary<string, object> { ["id"] = i, ["text"] = new string('x', i % 50) }).ToList();
        string text = JsonSerializer.Serialize(list);
        using var document = JsonDocument.Parse(text);
        int i = 0;
        foreach (var element in document.RootElement.EnumerateArray()) {
            Check.That(element.GetProperty("id").GetInt32() == i && element.GetProperty("text").GetString().Length == i % 50, "element");
            i++;
        }
        var points = JsonSerializer.Deserialize<List<Point>>(JsonSerializer.Serialize(Enumerable.Range(0, 500).Select(k => new Point(k, -k, "q")).ToList()));
        Check.That(points.Count == 500 && points[499].Y == -499, "points");
    }

    public static void Regexes() {
        var text = new StringBuilder();
        for (int i = 0; i < 5000; i++) text.Append("key").Append(i).Append("=value").Append(i * 7).Append(';');
        int count = 0;
        foreach (Match match in Regex.Matches(text.ToString(), @"key(\d+)=value(\d+);"))
            if (int.Parse(match.Groups[1].Value) * 7 == int.Parse(match.Groups[2].Value)) count++;
        Check.That(count == 5000, "matches");
        var compiled = new Regex("^(?<a>[a-z]+)-(?<b>[0-9]+)$", RegexOptions.Compiled);
        for (int i = 0; i < 500; i++) Check.That(compiled.Match("abc-" + i).Groups["b"].Value == i.ToString(), "compiled");
    }

    public static void TasksAndAsync() {
        async Task<int> Sum(int depth) {
            if (depth == 0) return 1;
            await Task.Yield();
            int[] both = await Task.WhenAll(Sum(depth - 1), Sum(depth - 1));
            return both[0] + both[1];
        }
        Check.That(Sum(10).GetAwaiter().GetResult() == 1024, "tree of tasks");
        var bag = new ConcurrentDictionary<int, string>();
        Parallel.For(0, 5000, i => bag[i] = new string((char)('a' + i % 26), 20));
        Check.That(bag.Count == 5000 && bag.All(p => p.Value[0] == 'a' + p.Key % 26), "parallel");
    }

    public static void Threads() {
        var locks = Enumerable.Range(0, 50).Select(_ => new object()).ToArray();
        int[] counts = new int[50];
        var threads = Enumerable.Range(0, 6).Select(t => new Thread(() => {
            var keep = new List<byte[]>();
            for (int i = 0; i < 20000; i++) {
                keep.Add(new byte[i % 200]);
                if (keep.Count > 100) keep.Clear();
                lock (locks[i % 50]) counts[i % 50]++;
            }
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        Check.That(counts.Sum() == 120000, "counts");
    }

    public static void Exceptions() {
        int Deep(int depth) {
            if (depth == 0) throw new InvalidOperationException("at the bottom " + new string('y', 100));
            try {
                return Deep(depth - 1) + 1;
            } finally {
                GC.KeepAlive(new byte[100]);
            }
        }
        int caught = 0;
        for (int i = 0; i < 300; i++)
            try {
                Deep(i % 40);
            } catch (InvalidOperationException e) when (e.Message.Length > 50) {
                caught++;
            }
        Check.That(caught == 300, "caught");
    }

    public static void Reflection() {
        int members = 0;
        foreach (var type in typeof(object).Assembly.GetTypes().Take(600)) members += type.GetMembers().Length;
        Check.That(members > 1000, "members");
        var method = typeof(Library).GetMethod(nameof(Twice), BindingFlags.NonPublic | BindingFlags.Static);
        for (int i = 0; i < 1000; i++) Check.That((string)method.Invoke(null, new object[] { "ab" }) == "abab", "invoke");
    }
    static string Twice(string text) => text + text;

    public static void DynamicMethods() {
        for (int i = 0; i < 100; i++) {
            var method = new DynamicMethod("add" + i, typeof(object), new[] { typeof(int) });
            var il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4, i);
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Box, typeof(int));
            il.Emit(OpCodes.Ret);
            var add = (Func<int, object>)method.CreateDelegate(typeof(Func<int, object>));
            Check.That((int)add(5) == 5 + i, "dynamic method");
            Expression<Func<int, string>> tree = x => "n" + (x + i);
            if (i % 10 == 0) Check.That(tree.Compile()(1) == "n" + (1 + i), "expression");
        }
        GC.Collect();
    }

    public static void Hashes() {
        var objects = Enumerable.Range(0, 3000).Select(_ => new object()).ToArray();
        int[] hashes = objects.Select(o => o.GetHashCode()).ToArray();
        foreach (var o in objects.Where((_, i) => i % 3 == 0)) lock (o) { }
        for (int round = 0; round < 3; round++) {
            GC.Collect();
            for (int i = 0; i < objects.Length; i++) {
                Check.That(objects[i].GetHashCode() == hashes[i], "hash");
                if (i % 7 == 0) lock (objects[i]) Check.That(Monitor.IsEntered(objects[i]), "lock");
            }
        }
    }

    public static void Structures() {
        var array = new (string, int, object)[5000];
        for (int i = 0; i < array.Length; i++) array[i] = ("s" + i, i, new int[i % 9]);
        GC.Collect(0);
        GC.Collect(1);
        var copy = ((string, int, object)[])array.Clone();
        GC.Collect();
        for (int i = 0; i < array.Length; i++)
            Check.That(copy[i].Item1 == "s" + i && ((int[])copy[i].Item3).Length == i % 9, "structures");
        var empty = new List<Array>();
        for (int i = 0; i < 1000; i++) empty.Add(new (long, (string, int))[i % 2]); // references do not come first
        GC.Collect();
        Check.That(empty.All(e => e.Length < 2), "empty arrays of structures");
        var grid = new string[40, 50];
        for (int i = 0; i < 2000; i++) grid[i / 50, i % 50] = i.ToString();
        GC.Collect();
        for (int i = 0; i < 2000; i++) Check.That(grid[i / 50, i % 50] == i.ToString(), "grid");
    }
}
