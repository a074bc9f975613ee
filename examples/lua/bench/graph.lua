-- a large live graph whose edges are changed at random, with garbage beside
local n = tonumber(arg and arg[1]) or 700000
local size = 200000
local nodes = {}
for i = 1, size do nodes[i] = {id = i, next = nodes[i - 1]} end
local seed = 7
for i = 1, n do
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  local a = (seed >> 4) % size + 1
  if i % 4 == 0 then nodes[a] = {id = a, next = nodes[a % size + 1].next} else nodes[a].tag = {i} end
end
local sum = 0
for i = 1, size do sum = sum + nodes[i].id end
print(sum)
