-- Closures: open and closed upvalues, shared ones, those of coroutines that have died.
local function counter()
  local n = 0
  return function(d) n = n + d return n end, function() return n end
end
local add, get = counter()
for i = 1, 100 do add(i) end
assert(get() == 5050)

local functions = {}
for i = 1, 200 do
  local j = i * 2
  functions[i] = function(x) if x then j = x end return i + j end
end
collectgarbage()
for i = 1, 200 do assert(functions[i]() == 3 * i) end
functions[7](1)
collectgarbage()
assert(functions[7]() == 8)

-- an upvalue outlives the coroutine on whose stack it was
local kept = {}
for i = 1, 100 do
  local co = coroutine.create(function()
    local value = {i}
    kept[i] = function() return value[1] end
    kept[-i] = function(v) value = {v} end
    coroutine.yield()
  end)
  coroutine.resume(co)
end
collectgarbage()
local garbage = {}
for i = 1, 1000 do garbage[i % 10 + 1] = {i, {}} end
collectgarbage()
for i = 1, 100 do assert(kept[i]() == i) end
kept[-5](50)
collectgarbage()
assert(kept[5]() == 50 and kept[6]() == 6)

-- upvalues of a vararg function, and joined ones
local function pack(...)
  local t = {...}
  return function(i) return t[i] end
end
local p = pack(1, nil, {"x"})
collectgarbage()
assert(p(1) == 1 and p(2) == nil and p(3)[1] == "x")
local a, b = function() return get end, function() return add end
debug.upvaluejoin(a, 1, b, 1)
collectgarbage()
assert(a() == add)

-- many closures at one level of a loop
local sum = 0
for i = 1, 20000 do
  local x = {i}
  local f = function() return x[1] end
  sum = sum + f()
end
print("closures", sum)
