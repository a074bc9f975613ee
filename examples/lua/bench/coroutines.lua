local n = tonumber(arg and arg[1]) or 300000
local sum = 0
for i = 1, n do
  local co = coroutine.wrap(function(a) for k = 1, 3 do a = coroutine.yield(a + k) end end)
  sum = sum + co(i) + co(1) + co(2)
end
print(sum)
