-- Strings: interned ones are one object while they live, come back after they died; long ones.
local set = {}
for i = 1, 20000 do set["s" .. i] = i end
collectgarbage()
for i = 1, 20000 do assert(set["s" .. i] == i) end
set = nil
collectgarbage()
set = {}
for round = 1, 5 do
  for i = 1, 5000 do set["t" .. i] = (set["t" .. i] or 0) + 1 end
  collectgarbage()
end
for i = 1, 5000 do assert(set["t" .. i] == 5) end
for i = 1, 5000 do set["t" .. i] = nil end
collectgarbage()
assert(next(set) == nil)

local long = {}
for i = 1, 200 do long[i] = ("long"):rep(i) .. i end
collectgarbage()
for i = 1, 200 do assert(long[i] == ("long"):rep(i) .. i and #long[i] == 4 * i + #tostring(i)) end
local byLong = {}
for i = 50, 200 do byLong[("long"):rep(i)] = i end
collectgarbage()
for i = 50, 200 do assert(byLong[("long"):rep(i)] == i) end

local parts = {}
for i = 1, 10000 do parts[i] = string.format("%d:%s", i, i % 7 == 0 and "seven" or "") end
local joined = table.concat(parts, ",")
local n = 0
for word in joined:gmatch("[^,]+") do n = n + 1 assert(word == parts[n]) end
assert(n == 10000)
assert(joined:gsub("seven", function(s) return s:upper() end):find("SEVEN"))
local big = ("0123456789"):rep(100000)
assert(#big == 1000000 and big:sub(-3) == "789")
local s = ""
for i = 1, 3000 do s = s .. "x" end
assert(#s == 3000 and s == ("x"):rep(3000))
assert(("%s"):rep(3, "-"):format("a", "b", "c") == "a-b-c")
assert(tostring(12345) .. 6 == "123456" and #string.pack("z", "abc") == 4)
local dumped = string.dump(function(a) return a .. "constant" .. #a end)
collectgarbage()
assert(load(dumped)("abc") == "abcconstant3")
print("strings", n, #joined)
