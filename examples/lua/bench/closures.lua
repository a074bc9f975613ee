local n = tonumber(arg and arg[1]) or 1500000
local function counter(start) local c = start return function(d) c = c + d return c end end
local sum, ring = 0, {}
for i = 1, 512 do ring[i] = counter(i) end
for i = 1, n do
  local f = counter(i)
  ring[i % 512 + 1] = f
  sum = sum + f(1) + ring[i % 7 + 1](0) % 3
end
print(sum)
