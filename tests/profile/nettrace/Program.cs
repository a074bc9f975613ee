// Reads a .nettrace file by the library that .NET's tools read it by, and prints what it finds, a fact a line.
using System;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Analysis;
using Microsoft.Diagnostics.Tracing.Etlx;
using TraceLog = Microsoft.Diagnostics.Tracing.Etlx.TraceLog;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

static string Number(double number) => number.ToString("0.###", CultureInfo.InvariantCulture);

// The names of a stack's frames, the innermost first, as far as they have any.
static string Stack(TraceEvent data)
{
    var text = new StringBuilder();
    int frames = 0;
    for (var at = data.CallStack(); at != null; at = at.Caller, frames++) // a method without a namespace begins with a dot
    {
        string name = at.CodeAddress.FullMethodName.TrimStart('.');
        if (frames < 3) text.Append(name.Length > 0 ? name : "?").Append(';');
    }
    return $"{frames} {text.ToString().Replace('\n', '~')}";
}

Console.OutputEncoding = new UTF8Encoding(false);
string etlx = TraceLog.CreateFromEventPipeDataFile(args[0], Path.GetTempFileName());
using var log = new TraceLog(etlx);
Console.WriteLine($"session {log.SessionStartTime.ToUniversalTime():yyyy-MM-ddTHH:mm:ss.fff} lost {log.EventsLost} processors {log.NumberOfProcessors}");
foreach (var data in log.Events)
{
    switch (data)
    {
        case GCAllocationTickTraceData tick:
            Console.WriteLine($"tick {tick.TypeName} {tick.AllocationAmount64} {tick.ObjectSize} {Stack(tick)}");
            break;
        case AllocationSampledTraceData sample:
            Console.WriteLine($"sample {sample.TypeName} {sample.ObjectSize} {sample.SampledByteOffset} thread {sample.ThreadID} {Stack(sample)}");
            break;
        case GCSampledObjectAllocationTraceData some:
            Console.WriteLine($"object {some.TypeID} {some.ObjectCountForTypeSample} {some.TotalSizeForTypeSample} {Stack(some)}");
            break;
        case GCBulkTypeTraceData types:
            for (int i = 0; i < types.Count; i++) Console.WriteLine($"type {types.Values(i).TypeID} {types.Values(i).TypeName}");
            break;
        case GCHeapStatsTraceData heap:
            Console.WriteLine($"heap {heap.GenerationSize0} {heap.GenerationSize1} {heap.GenerationSize2} promoted {heap.TotalPromotedSize0} {heap.TotalPromotedSize1} {heap.TotalPromotedSize2} finalizers {heap.FinalizationPromotedCount} handles {heap.GCHandleCount}");
            break;
        case FinalizeObjectTraceData finalized:
            Console.WriteLine($"finalized {finalized.TypeID} {finalized.ObjectID:x}");
            break;
        case SetGCHandleTraceData handle:
            Console.WriteLine($"handle {handle.HandleID:x} {handle.Kind}");
            break;
        case DestroyGCHandleTraceData handle:
            Console.WriteLine($"handle {handle.HandleID:x} destroyed");
            break;
        case var note when note.ProviderName == "gc.h":
            Console.WriteLine($"note {note.PayloadByName("Text")}");
            break;
    }
}
using var source = log.Events.GetSource();
source.NeedLoadedDotNetRuntimes();
source.Process();
foreach (var process in source.Processes())
{
    var runtime = process.LoadedDotNetRuntime();
    if (runtime == null) continue;
    foreach (var gc in runtime.GC.GCs)
        Console.WriteLine($"collection {gc.Number} generation {gc.Generation} reason {(int)gc.Reason} type {(int)gc.Type} pause {Number(gc.PauseDurationMSec)} suspended {Number(gc.SuspendDurationMSec)} complete {gc.IsComplete}");
}
File.Delete(etlx);
