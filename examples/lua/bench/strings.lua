local n = tonumber(arg and arg[1]) or 600000
local kept, sum = {}, 0
for i = 1, n do
  local s = "key" .. i % 5003 .. ":" .. i
  sum = sum + #s
  kept[i % 20000 + 1] = s
end
local parts = {}
for i = 1, n // 10 do parts[#parts + 1] = string.format("%d;", i) if #parts == 1000 then sum = sum + #table.concat(parts) parts = {} end end
print(sum)
