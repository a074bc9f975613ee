local n = tonumber(arg and arg[1]) or 600000
local size = 20000
local head, tail, map, count = nil, nil, {}, 0
local function unlink(e)
  if e.before then e.before.after = e.after else head = e.after end
  if e.after then e.after.before = e.before else tail = e.before end
end
local function push(e) e.before, e.after = nil, head if head then head.before = e else tail = e end head = e end
local seed, hits = 42, 0
for i = 1, n do
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  local key = (seed >> 8) % 60000
  local e = map[key]
  if e then hits = hits + 1 unlink(e) push(e)
  else
    if count == size then local old = tail unlink(old) map[old.key] = nil else count = count + 1 end
    e = {key = key, value = {i}}
    map[key] = e
    push(e)
  end
end
print(hits)
