-- Weak tables: values, keys (ephemerons), both; strings stay; entries go in the order that the manual promises.
local function count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end
local function weak(mode) return setmetatable({}, {__mode = mode}) end

local v = weak("v")
local kept = {}
for i = 1, 100 do
  kept[i] = {i}
  v[i], v["k" .. i], v[i + 1000], v[i + 2000] = kept[i], {i}, "string" .. i, i
  if i % 2 == 0 then kept[i] = nil end
end
v.self, v.f = v, print
collectgarbage()
for i = 1, 100 do
  assert((v[i] ~= nil) == (i % 2 == 1) and v["k" .. i] == nil)
  assert(v[i + 1000] == "string" .. i and v[i + 2000] == i)
end
assert(v.self == v and v.f == print)
kept = nil
collectgarbage()
assert(count(v) == 202)

local k = weak("k")
local keys = {}
for i = 1, 100 do
  local key = {}
  k[key] = {key} -- the value refers to its key
  keys[i] = i <= 10 and key or nil
  k["s" .. i] = {i}
  k[i] = {i}
end
collectgarbage()
assert(count(k) == 210)
for i = 1, 10 do assert(k[keys[i]][1] == keys[i]) end

-- a chain of ephemerons, of which one end is held
local chain, first = weak("k"), {}
local at = first
for i = 1, 500 do local nxt = {} chain[at] = nxt at = nxt end
at = nil
collectgarbage()
assert(count(chain) == 500)
local length, e = 0, first
while chain[e] do length, e = length + 1, chain[e] end
assert(length == 500)
first, e = nil, nil
collectgarbage()
assert(count(chain) == 0)

-- ephemerons in two tables, in a ring
local x, y = weak("k"), weak("k")
do local p, q = {}, {} x[p] = q y[q] = p end
collectgarbage()
assert(count(x) == 0 and count(y) == 0)

local kv = weak("kv")
local a, b = {}, {}
kv[a] = b kv[{}] = b kv[a == b] = {} kv.x = a kv.y = {} kv.z = "text" kv[b] = 1
collectgarbage()
assert(count(kv) == 4 and kv[a] == b and kv.x == a and kv.z == "text" and kv[b] == 1)

-- entries go while the table is traversed
local t = weak("k")
for i = 1, 300 do t[{}] = i end
for key, value in pairs(t) do
  t[key] = nil
  if value % 50 == 0 then collectgarbage() end
end
collectgarbage()
assert(next(t) == nil)

-- the mode is looked up when it matters
local late, meta = {}, {}
setmetatable(late, meta)
late[1], late[2] = {}, {}
collectgarbage()
assert(#late == 2)
meta.__mode = "v"
collectgarbage()
assert(#late == 0)

-- values that await their finalizer are gone, keys are not
local gone, there
local fv, fk = weak("v"), weak("k")
do
  local o = setmetatable({}, {__gc = function(self) gone, there = fv[1] == nil, fk[self] end})
  fv[1], fk[o] = o, "still"
end
collectgarbage()
assert(gone == true and there == "still")
collectgarbage()
assert(count(fk) == 0)

-- a cache that fills and is swept again and again
local cache = weak("v")
local hits = 0
for i = 1, 30000 do
  local key = i % 3
  if cache[key] then hits = hits + 1 else cache[key] = {} end
  local junk = {{}, {}, {}}
end
assert(hits > 0 and hits < 30000)
-- arrays that are weak, in both parts
local arr = weak("v")
local some = {}
for i = 1, 64 do some[i] = {i} arr[i] = some[i] end
some = {arr[3], arr[60]}
collectgarbage()
assert(count(arr) == 2 and arr[3][1] == 3 and arr[60][1] == 60)
print("weak", count(v), count(k))
