-- Coroutines: many, nested, dead with open upvalues, wrapped, deep, closed.
local live = {}
for i = 1, 2000 do
  live[i] = coroutine.create(function(a)
    local t = {a}
    while true do t = {coroutine.yield(t[1] + i), t} end
  end)
  assert(select(2, coroutine.resume(live[i], 1)) == 1 + i)
end
collectgarbage()
for i = 1, 2000 do assert(select(2, coroutine.resume(live[i], 2)) == 2 + i) end
for i = 1, 2000, 2 do live[i] = nil end
collectgarbage()
for i = 2, 2000, 2 do assert(select(2, coroutine.resume(live[i], 3)) == 3 + i) end
live = nil
collectgarbage()

-- a generator of permutations, and one within another
local function permutations(a)
  local function go(n)
    if n == 0 then coroutine.yield({table.unpack(a)}) end
    for i = 1, n do
      a[n], a[i] = a[i], a[n]
      go(n - 1)
      a[n], a[i] = a[i], a[n]
    end
  end
  return coroutine.wrap(function() go(#a) end)
end
local n = 0
for p in permutations({1, 2, 3, 4, 5, 6}) do
  n = n + 1
  assert(#p == 6)
  if n % 100 == 0 then collectgarbage() end
end
assert(n == 720)

local function nest(depth)
  if depth == 0 then return coroutine.wrap(function() coroutine.yield({"bottom"}) end) end
  return coroutine.wrap(function() local inner = nest(depth - 1) coroutine.yield({inner()}) end)
end
local r = nest(50)()
for i = 1, 51 do r = r[1] end
assert(r == "bottom")

-- a stack that grows and shrinks
local co = coroutine.wrap(function()
  local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
  while true do coroutine.yield(deep(5000)) end
end)
for i = 1, 5 do assert(co() == 5000) collectgarbage() end

-- errors and closing
local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() n = -1 end}) error({code = 7}) end)
local ok, e = coroutine.resume(c)
assert(not ok and e.code == 7)
coroutine.close(c)
assert(n == -1)
local bad = coroutine.wrap(function() local u = {} local f = function() return u end error(f) end)
ok, e = pcall(bad)
collectgarbage()
assert(not ok and type(e()) == "table")
-- pcall across yields
local y = coroutine.wrap(function()
  local ok, v = pcall(function() local t = {coroutine.yield(1)} collectgarbage() error(t) end)
  coroutine.yield(v[1])
end)
assert(y() == 1 and y("through") == "through")
-- one that refers to itself is garbage all the same
local gone = setmetatable({}, {__mode = "k"})
do
  local self
  self = coroutine.create(function() local me = self coroutine.yield() end)
  coroutine.resume(self)
  gone[self] = true
end
collectgarbage()
assert(next(gone) == nil)
local total = 0
for i = 1, 20000 do
  local w = coroutine.wrap(function(a) a = a + coroutine.yield({a}) return a end)
  total = total + w(i)[1]
end
print("coroutines", total)
