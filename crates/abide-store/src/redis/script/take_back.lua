-- Takes back what was lent and not used.
-- KEYS: the gates. ARGV: now, who, when it was lent, and a gate each: permits, life, probe, its
-- limits.

local now = clock()
local who = text()
local lent = number()

for _, key in ipairs(KEYS) do
  local permits = number()
  local ends = lent + number()
  local probe = number() == 1
  local all = shapes()
  local fields = { 'probe' }
  for _, s in ipairs(all) do
    fields[#fields + 1] = s.field
  end
  local got = redis.call('HMGET', key, unpack(fields))
  local out = probe and probe_of(got[1])
  if out and out.by == who and out.at == lent then
    redis.call('HDEL', key, 'probe')
  end
  for place, s in ipairs(all) do
    if got[1 + place] then
      local w = rolled(s, got[1 + place], now)
      take_back(s, w, now, lent, ends, permits)
      redis.call('HSET', key, s.field, stored(s, w))
    end
  end
end
return exact(now)
