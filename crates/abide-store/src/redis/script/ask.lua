-- Leave for one request at all its gates, or at none.
-- KEYS: the gates. ARGV: now, who, and a gate each: cost, ahead, life, probe, its limits.

local now = clock()
local who = text()
local gates = {}

for n, key in ipairs(KEYS) do
  local g = { key = key, cost = number(), windows = {} }
  local ahead = number()
  local life = number()
  g.probing = number()
  g.shapes = shapes()
  local fields = { 'holds', 'rung', 'probe', 'lives' }
  for _, s in ipairs(g.shapes) do
    fields[#fields + 1] = s.field
  end
  local got = redis.call('HMGET', key, unpack(fields))
  local hold = held(got[1], now)
  if hold then
    local after = math.max(math.ceil(hold.till - now), 0)
    return { 'held', exact(now), n - 1, exact(after), hold.id, hold.cause, hold.ends, hold.probes }
  end
  g.probe = got[2] and true or false
  g.lives = got[4]
  local out = g.probe and probe_of(got[3])
  if out and out.by ~= who and out.ends > now and out.at <= now then
    return { 'probing', exact(now), n - 1, exact(math.ceil(out.ends - now)) }
  end
  g.permits = g.cost
  if not g.probe then
    g.permits = g.cost + ahead
  end
  local longest = 0
  g.ends = now + life
  for place, s in ipairs(g.shapes) do
    local w, shortened = rolled(s, got[4 + place], now)
    if shortened then
      -- Also where nothing is paid, or it would be shortened anew each time, and never end.
      redis.call('HSET', key, s.field, stored(s, w))
    end
    local has = left(s, w, now)
    if has < g.cost then
      longest = math.max(longest, wait(s, w, now, g.cost))
    end
    g.permits = math.min(g.permits, has)
    g.ends = math.min(g.ends, lapses(s, w, now, life))
    g.windows[place] = w
  end
  if longest > 0 then
    return { 'spent', exact(now), n - 1, exact(longest) }
  end
  g.life = math.floor(math.max(g.ends - now, 0))
  gates[n] = g
end

local lent = { 'lent', exact(now) }
for _, g in ipairs(gates) do
  local set = {}
  local needed = 0
  for place, s in ipairs(g.shapes) do
    local w = g.windows[place]
    pay(s, w, now, now + g.life, g.permits)
    set[#set + 1] = s.field
    set[#set + 1] = stored(s, w)
    needed = math.max(needed, matters(s, w))
  end
  if g.probe then
    local ends = now + g.probing
    set[#set + 1] = 'probe'
    set[#set + 1] = who .. ' ' .. exact(now) .. ' ' .. exact(ends)
    needed = math.max(needed, ends)
  end
  if #set > 0 then
    redis.call('HSET', g.key, unpack(set))
    live(g.key, now, g.lives, needed)
  end
  lent[#lent + 1] = exact(g.permits)
  lent[#lent + 1] = exact(g.life)
  lent[#lent + 1] = g.probe and 1 or 0
end
return lent
