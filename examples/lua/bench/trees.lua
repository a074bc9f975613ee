local depth = tonumber(arg and arg[1]) or 14
local function make(d) if d == 0 then return {} end return {make(d - 1), make(d - 1)} end
local function check(t) if t[1] then return 1 + check(t[1]) + check(t[2]) end return 1 end
local long = make(depth)
local sum = 0
for d = 4, depth, 2 do
  local n = 1 << (depth - d + 4)
  for i = 1, n do sum = sum + check(make(d)) end
end
print(sum, check(long))
