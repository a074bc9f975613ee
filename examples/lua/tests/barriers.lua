-- Each kind of store into old objects: what is stored must live, whatever is collected in between.
local function young() for i = 1, 200 do local a = {i, tostring(i)} end collectgarbage("step") end
local function value(i) return {"v" .. i} end
local t, h = {}, {}
for i = 1, 64 do t[i] = false h["k" .. i] = false end
local up
local function set(v) up = v end
local meta = {}
local co = coroutine.wrap(function(v) local kept = {} while true do kept[#kept + 1] = v v = coroutine.yield(kept) end end)
co(0)
collectgarbage() collectgarbage()
local mt = {__newindex = function(o, k, v) rawset(o, k, v) end}
local with = setmetatable({}, mt)
local key = {}
for i = 1, 64 do
  t[i] = value(i) -- the array part
  h["k" .. i] = value(i) -- the hash part
  h["n" .. i] = value(i) -- a new key
  h[value(i)] = i -- which is young
  set(value(i)) -- an upvalue
  with["w" .. i] = value(i) -- rawset
  setmetatable(meta, {i = value(i)}) -- a metatable
  debug.setuservalue(io.stdout, value(i), 1)
  local kept = co(value(i)) -- a coroutine's stack
  table.insert(key, value(i)) -- C functions
  table.sort(key, function(a, b) return a[1] < b[1] end)
  young()
  assert(up[1] == "v" .. i and getmetatable(meta).i[1] == "v" .. i and kept[i + 1][1] == "v" .. i)
end
young()
local keys = 0
for k, v in pairs(h) do if type(k) == "table" then assert(k[1] == "v" .. v) keys = keys + 1 end end
for i = 1, 64 do
  assert(t[i][1] == "v" .. i and h["k" .. i][1] == "v" .. i and h["n" .. i][1] == "v" .. i)
  assert(with["w" .. i][1] == "v" .. i and key[i][1]:sub(1, 1) == "v")
end
assert(keys == 64)
-- constructors and varargs that are long, into tables that survive meanwhile
local function many(n) local r = {} for i = 1, n do r[i] = {i} end return table.unpack(r) end
for round = 1, 20 do
  local c = {many(200)}
  young()
  for i = 1, 200 do assert(c[i][1] == i) end
end
-- upvalues of old closures that are open in an old coroutine
local setter
local co2 = coroutine.wrap(function()
  local x
  setter = function(v) x = v end
  while true do coroutine.yield(x) end
end)
co2()
collectgarbage() collectgarbage()
for i = 1, 50 do setter(value(i)) young() assert(co2()[1] == "v" .. i) end
-- an upvalue whose coroutine dies takes a value along that is younger than it
for i = 1, 50 do
  local co3 = coroutine.create(function() local x local f = function() return x end x = coroutine.yield(f) coroutine.yield() end)
  local _, f = coroutine.resume(co3)
  young() young()
  coroutine.resume(co3, value(i))
  co3 = nil
  young() collectgarbage() young() young()
  assert(f()[1] == "v" .. i)
end
-- an object that a finalizer brings back is stored into an old table
local back = {}
collectgarbage()
for i = 1, 30 do
  local o = {i}
  collectgarbage("step")
  setmetatable(o, {__gc = function(x) back[#back + 1] = x end, x = {i}})
  o = nil
  for k = 1, 3 do young() end
end
for k = 1, 4 do collectgarbage() young() end
assert(#back == 30)
for i = 1, 30 do assert(getmetatable(back[i]).x[1] == back[i][1]) end
-- loaded chunks and their constants, set fields of old prototypes
local loaded = {}
for i = 1, 50 do loaded[i] = load("local a <const> = 'constant" .. i .. "' return function() return a, 'other" .. i .. "' end") young() end
for i = 1, 50 do local a, b = loaded[i]()() assert(a == "constant" .. i and b == "other" .. i) end
local f = loaded[1]
debug.setupvalue(f, 1, setmetatable({}, {__index = _G}))
young()
assert(f()() == "constant1")
-- tables that grow while they are old
local g = {}
collectgarbage() collectgarbage()
for i = 1, 3000 do g[i] = {i} g["g" .. i] = {i} if i % 500 == 0 then young() end end
for i = 1, 3000 do assert(g[i][1] == i and g["g" .. i][1] == i) end
print("barriers", keys)
