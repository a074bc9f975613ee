-- Tables: both parts, growing and shrinking, traversal while entries go, keys of all types.
local t = {}
for i = 1, 10000 do t[i] = {i} end
for i = 1, 10000, 3 do t[i] = nil end
collectgarbage()
local n, sum = 0, 0
for _, v in pairs(t) do n, sum = n + 1, sum + v[1] end
assert(n == 6666)
print("array", n, sum)

local h = {}
for i = 1, 5000 do h["key" .. i] = "value" .. i h[i + 0.5] = i h[{}] = i end
n = 0
for k in pairs(h) do n = n + 1 end
assert(n == 15000)
-- what is removed in a traversal is collected, and the traversal goes on
for k in pairs(h) do
  if type(k) == "table" then h[k] = nil end
  if n % 500 == 0 then collectgarbage() end
  n = n - 1
end
n = 0
for k, v in pairs(h) do n = n + 1 end
assert(n == 10000)
for i = 1, 5000 do assert(h["key" .. i] == "value" .. i and h[i + 0.5] == i) end

-- removed keys do not come back, and give room to others
local m = {}
for round = 1, 50 do
  for i = 1, 100 do m["r" .. round .. "-" .. i] = round end
  for i = 1, 100 do m["r" .. round .. "-" .. i] = nil end
  collectgarbage("step")
end
assert(next(m) == nil)

-- from hash to array and back
local w = {}
for i = 100, 1, -1 do w[i] = i end
for i = 1, 100 do assert(w[i] == i) end
assert(#w == 100)
for i = 100, 51, -1 do w[i] = nil end
assert(#w == 50)
w.x, w.y, w.z = 1, 2, 3
for i = 1, 50 do assert(w[i] == i) end
table.insert(w, 1, "first")
assert(w[1] == "first" and w[51] == 50 and table.remove(w, 1) == "first" and w[50] == 50)
w = table.move(w, 1, 50, 11, {})
assert(w[10] == nil and w[11] == 1 and w[60] == 50)
table.sort(w, function(a, b) return (a or 0) > (b or 0) end)

local big = table.pack(table.unpack({}, 1, 10000))
assert(big.n == 10000)
local constructed = {1, 2, 3, {4, 5}, x = {y = {z = "deep"}}, [10] = 10}
collectgarbage()
assert(constructed.x.y.z == "deep" and constructed[4][2] == 5 and constructed[10] == 10)

-- metatables
local log = {}
local proxy = setmetatable({}, {
  __index = function(_, k) log[#log + 1] = k return {k} end,
  __newindex = function(u, k, v) rawset(u, k, {v}) end,
  __len = function() return 42 end,
  __call = function(_, a, b) return {a, b} end,
})
for i = 1, 100 do assert(proxy["q" .. i][1] == "q" .. i) end
proxy.a = 1
collectgarbage()
assert(proxy.a[1] == 1 and #proxy == 42 and proxy(1, 2)[2] == 2 and #log == 100)
print("tables")
