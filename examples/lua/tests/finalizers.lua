-- Finalizers: order, resurrection, errors, those at the end.
local order = {}
local function object(n) return setmetatable({n = n}, {__gc = function(o) order[#order + 1] = o.n end}) end
for i = 1, 20 do object(i) end
collectgarbage()
assert(#order == 20)
for i = 1, 20 do assert(order[i] == 21 - i) end -- the youngest first

-- all that an object refers to is whole in its finalizer, even what has one of its own
order = {}
local meta = {__gc = function(o) order[#order + 1] = o.name .. (o.other and o.other.name or "-") end}
do
  local a = setmetatable({name = "a"}, meta)
  local b = setmetatable({name = "b", other = a}, meta)
  a.other = b
end
collectgarbage()
assert(table.concat(order, " ") == "ba ab")

-- resurrection; what an object holds comes back with it: tables, functions, coroutines
local saved
do
  local co = coroutine.wrap(function() local n = 0 while true do n = n + 1 coroutine.yield(n) end end)
  co()
  local f = load("local x = ... return function(y) return x .. y end")
  setmetatable({co = co, f = f, t = {1, 2, {3}}, s = ("s"):rep(100)}, {__gc = function(o) saved = o end})
end
f, co = nil, nil
collectgarbage()
assert(saved)
for i = 1, 5 do
  collectgarbage()
  local junk = {}
  for k = 1, 2000 do junk[k] = {k, tostring(k)} end
end
assert(saved.co() == 2 and saved.f("a")("b") == "ab" and saved.t[3][1] == 3 and #saved.s == 100)
saved = nil
collectgarbage()
assert(saved == nil) -- a finalizer runs once

-- unless it is set again
local runs = 0
local again
again = {__gc = function(o) runs = runs + 1 if runs < 5 then setmetatable(o, again) end end}
setmetatable({}, again)
for i = 1, 10 do collectgarbage() end
assert(runs == 5)

-- __gc must be there when the metatable is set
local late = {}
setmetatable({}, late)
late.__gc = function() error("it must not be called") end
collectgarbage()

-- a finalizer in a weak metatable goes before it would run
local weakly = setmetatable({__gc = function() error("it must not be called") end}, {__mode = "v"})
setmetatable({}, weakly)
-- and in a weak table that only the dead object's metatable holds, everything has gone
local entries
do
  local meta = {x = setmetatable({[{0}] = 1, [0] = {1}}, {__mode = "kv"})}
  meta.__gc = function(o) entries = next(getmetatable(o).x) == nil end
  setmetatable({}, meta)
end
weakly = nil
collectgarbage()
assert(entries == true)

-- a dead coroutine, a closure over its own stack, and a table with a finalizer refer to each other
local collected = false
do
  local function f(p)
    local function inner()
      p = setmetatable({p, inner}, {__gc = function() collected = true end})
      coroutine.yield()
    end
    inner()
  end
  local co = coroutine.create(f)
  assert(coroutine.resume(co, co))
end
collectgarbage() collectgarbage()
assert(collected)

-- errors become warnings, and others run all the same
local fine = 0
warn("@off")
for i = 1, 10 do
  setmetatable({}, {__gc = function() fine = fine + 1 if i % 2 == 0 then error({}) end end})
end
collectgarbage()
assert(fine == 10)

-- a finalizer that allocates, collects (which is refused) and makes objects with finalizers
local made = 0
for i = 1, 50 do
  setmetatable({}, {__gc = function()
    assert(not collectgarbage("step") )
    local t = {}
    for k = 1, 100 do t[k] = {k} end
    setmetatable({}, {__gc = function() made = made + 1 end})
  end})
end
for i = 1, 4 do collectgarbage() end
assert(made == 50)

-- finalizers run by themselves, too
local seen = false
setmetatable({}, {__gc = function() seen = true end})
local steps = 0
repeat local a = {} steps = steps + 1 until seen
-- and within deep calls and coroutines
local n = 0
local co = coroutine.wrap(function()
  for i = 1, 1000 do setmetatable({}, {__gc = function() n = n + 1 end}) end
  collectgarbage()
  coroutine.yield(n)
end)
assert(co() == 1000)

-- files are userdata with finalizers
local name = os.tmpname()
do
  local f = io.open(name, "w")
  f:write("text")
end
collectgarbage()
for line in io.lines(name) do assert(line == "text") end
os.remove(name)

-- to-be-closed variables
local closed = {}
do
  local a <close> = setmetatable({}, {__close = function() closed[#closed + 1] = "a" end})
  local b <close> = setmetatable({}, {__close = function() collectgarbage() closed[#closed + 1] = "b" end})
end
assert(table.concat(closed) == "ba")

-- when the state is closed, those that are left run, the youngest first
for i = 1, 3 do _G["left" .. i] = setmetatable({}, {__gc = function() print("left", i, _G ~= nil) end}) end
print("finalizers", runs, fine, made)
