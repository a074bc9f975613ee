-- Errors: objects, tracebacks, handlers, overflows, in functions that allocate.
for i = 1, 1000 do
  local ok, e = pcall(function() local t = {} for k = 1, 10 do t[k] = {} end error({i, t}) end)
  assert(not ok and e[1] == i and #e[2] == 10)
end
local function handler(m) local t = {m, debug.traceback("trace")} return t end
local ok, r = xpcall(function() local x = nil return x.y end, handler)
collectgarbage()
assert(not ok and r[1]:find("index a nil value") and r[2]:find("trace"))
ok, r = pcall(string.rep, "x", -1)
assert(ok and r == "")
local function overflow() return 1 + overflow() end
ok, r = pcall(overflow)
assert(not ok and r:find("stack overflow"))
collectgarbage()
local function wide(n) local t = {} for i = 1, n do t[i] = i end return select("#", table.unpack(t)) end
assert(wide(5000) == 5000)
ok, r = pcall(function() return table.unpack({}, 1, 1e7) end)
assert(not ok)
ok, r = pcall(function() local s = ("x"):rep(1 << 40) return s end)
assert(not ok)
ok, r = pcall(load, function() error("from the reader") end)
assert(ok and r == nil)
for i = 1, 200 do
  local f, m = load("local a = {" .. ("{},"):rep(i) .. "} return a, " .. (i % 2 == 0 and ")" or "1"))
  assert((f == nil) == (i % 2 == 0))
  if f then assert(#f() == i) end
end
ok, r = pcall(setmetatable, 1, {})
assert(not ok)
local deep = {}
local d = deep
for i = 1, 100000 do d.next = {} d = d.next end
d, deep.next = nil, nil
collectgarbage()
print("errors")
