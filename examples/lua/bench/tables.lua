local n = tonumber(arg and arg[1]) or 120
local sum = 0
for round = 1, n do
  local t = {}
  for i = 1, 10000 do t[i] = i end
  for i = 1, 5000 do t["k" .. i % 100] = i end
  for i = 1, 1000 do t[i] = {x = i, y = round} end
  for k, v in pairs(t) do if type(v) == "table" then sum = sum + v.x end end
end
print(sum)
