#!/bin/sh
# Builds the C# programs into build/examples/clr, without a network:  build.sh PROJECT...  (programs, web, many)
set -e
cd "$(dirname "$0")/../.."
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_HOME="$PWD/build/examples/clr" NUGET_PACKAGES="$PWD/build/examples/clr/packages"

# A project of 300 classes, for a compiler that has something to do.
many() {
    sed 's/<OutputType>Exe/<OutputType>Library/' examples/clr/programs/programs.csproj > "$1/many.csproj"
    for i in $(seq 300); do
        cat > "$1/Class$i.cs" << EOC
using System.Collections.Generic;
using System.Linq;
public class Class$i<T> where T : class {
    readonly Dictionary<string, List<T>> items = new();
    public int Property { get; set; } = $i;
    public IEnumerable<(string, int)> Query(int least) =>
        from pair in items where pair.Value.Count > least orderby pair.Key select (pair.Key, pair.Value.Count(v => v != null));
    public async System.Threading.Tasks.Task<T> First(string name) {
        await System.Threading.Tasks.Task.Yield();
        return items.TryGetValue(name, out var list) ? list.FirstOrDefault() : null;
    }
    public string Text(object o) => o switch { int n when n > $i => \$"{n}", string s => s + "$i", Class$i<string> c => c.Text(n: 1), _ => "" };
    string Text(int n) => new string('x', n);
}
EOC
    done
}

for project in "$@"; do
    source=build/examples/clr/source/$project
    mkdir -p "$source"
    if [ "$project" = many ]; then many "$source"; else cp "examples/clr/$project"/* "$source/"; fi
    dotnet build -c Release --nologo -v quiet -p:UseSharedCompilation=false -p:NuGetAudit=false -nodeReuse:false \
        -o "build/examples/clr/$project" "$source/$project.csproj"
done
