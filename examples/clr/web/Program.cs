// A web server on the loopback interface that serves its own requests: `web REQUESTS`.
using System;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

int requests = args.Length > 0 ? int.Parse(args[0]) : 1000;
var builder = WebApplication.CreateBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
var app = builder.Build();
app.MapGet("/items/{count}", (int count) => Enumerable.Range(0, count).Select(i => new { id = i, name = "item " + i }));
await app.StartAsync();
string address = app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>().Addresses.First();
using var client = new HttpClient();
int wrong = 0;
await Parallel.ForEachAsync(Enumerable.Range(0, requests), new ParallelOptions { MaxDegreeOfParallelism = 4 }, async (i, _) => {
    string text = await client.GetStringAsync($"{address}/items/{i % 50}");
    if (text.Split("item ").Length - 1 != i % 50) System.Threading.Interlocked.Increment(ref wrong);
});
await app.StopAsync();
Console.WriteLine(wrong == 0 ? "web" : "wrong: " + wrong);
return wrong == 0 ? 0 : 1;
