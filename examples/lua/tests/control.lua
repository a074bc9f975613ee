-- collectgarbage: counting, stopping, stepping, modes.
collectgarbage()
local function kib() return collectgarbage("count") end
assert(kib() > 10 and kib() < 5000 and collectgarbage("isrunning"))

-- memory comes and goes
local before = kib()
local t = {}
for i = 1, 20000 do t[i] = {i} end
local full = kib()
assert(full > before + 1000)
t = nil
collectgarbage()
assert(kib() < before + 200)
local s = ("x"):rep(1000000)
assert(kib() > before + 900)
s = nil
collectgarbage()
assert(kib() < before + 200)

-- garbage is collected without being asked
local most = 0
for i = 1, 300000 do local a = {i} if i % 1000 == 0 and kib() > most then most = kib() end end
assert(most < before + 30000)

-- while it is stopped, nothing dies
collectgarbage("stop")
assert(not collectgarbage("isrunning"))
local dead = 0
local weak = setmetatable({}, {__mode = "kv"})
weak[1], weak[{}] = {}, 1
setmetatable({}, {__gc = function() dead = dead + 1 end})
local start = kib()
repeat local a = {{}, {}, {}} until kib() > start * 3 + 3000
assert(dead == 0 and weak[1] and next(weak, 1))
collectgarbage("restart")
assert(collectgarbage("isrunning"))
repeat local a = {} until dead == 1
collectgarbage()
assert(weak[1] == nil and next(weak) == nil and kib() < start + 1000)
-- but for a collection that is asked for
collectgarbage("stop")
setmetatable({}, {__gc = function() dead = dead + 1 end})
collectgarbage()
assert(dead == 2)
collectgarbage("restart")

-- steps
local mode = collectgarbage("incremental")
local function steps(size)
  collectgarbage()
  local n = 0
  repeat n = n + 1 local a = {{}, {}, {}} until collectgarbage("step", size)
  return n
end
assert(steps(2) >= 1 and steps(100000) == 1)
setmetatable({}, {__gc = function() dead = dead + 1 end})
repeat until collectgarbage("step", 10)
repeat until collectgarbage("step", 10)
assert(dead == 3)
collectgarbage("stop")
collectgarbage()
local garbage = {}
for i = 1, 1000 do garbage[i] = {{}} end
local with = kib()
garbage = nil
repeat until collectgarbage("step", 10)
repeat until collectgarbage("step", 10)
assert(kib() < with - 50)
collectgarbage("restart")
assert(collectgarbage("generational") == "incremental")
setmetatable({}, {__gc = function() dead = dead + 1 end})
for i = 1, 4 do collectgarbage("step") end
assert(dead == 4)
local old = {}
for i = 1, 4 do collectgarbage("step") end
for i = 1, 100 do old[i] = {i} collectgarbage("step") old[i][2] = {i} end
collectgarbage("step")
for i = 1, 100 do assert(old[i][1] == i and old[i][2][1] == i) end
assert(collectgarbage("incremental", 200, 100, 13) == "generational")
collectgarbage(mode)
assert(not pcall(collectgarbage, "no such thing"))
print("control", dead)
