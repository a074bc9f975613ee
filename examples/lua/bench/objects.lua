local n = tonumber(arg and arg[1]) or 2000000
local Point = {} Point.__index = Point
function Point.new(x, y) return setmetatable({x = x, y = y}, Point) end
function Point.__add(a, b) return Point.new(a.x + b.x, a.y + b.y) end
local p, d = Point.new(0, 0), Point.new(1, 2)
for i = 1, n do p = p + d end
print(p.x, p.y)
