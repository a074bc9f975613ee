#!/bin/sh
# Builds the C# programs into build/examples/clr/programs, without a network.
set -e
cd "$(dirname "$0")/../.."
mkdir -p build/examples/clr/source
cp examples/clr/programs/* build/examples/clr/source/
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_HOME="$PWD/build/examples/clr" NUGET_PACKAGES="$PWD/build/examples/clr/packages"
dotnet build -c Release --nologo -v quiet -p:UseSharedCompilation=false -p:NuGetAudit=false -nodeReuse:false \
    -o build/examples/clr/programs build/examples/clr/source/programs.csproj
