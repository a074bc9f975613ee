-- Deep structures and deep calls: neither marking nor calling may exhaust a stack.
local list
for i = 1, 300000 do list = {list, i} end
collectgarbage()
local n = 0
local at = list
while at do n, at = n + 1, at[1] end
assert(n == 300000)
list, at = nil, nil
local f = function() return 0 end
for i = 1, 50000 do local g = f f = function() return g end end
collectgarbage()
n = 0
while type(f) == "function" do f = f() n = n + 1 end
assert(n == 50001)
local function deep(n) if n == 0 then return {} end local t = {n} local r = deep(n - 1) r[#r + 1] = t return r end
assert(#deep(15000) == 15000)
collectgarbage()
local function tail(n, t) if n == 0 then return t end return tail(n - 1, {t}) end
local t = tail(100000, {})
local co
for i = 1, 150 do local inner = co co = coroutine.wrap(function() if inner then return 1 + inner() end collectgarbage() return 0 end) end
assert(co() == 149)
local proxies = {}
for i = 1, 10000 do proxies = setmetatable({}, {__index = proxies, p = proxies}) end
collectgarbage()
print("recursion", n)
