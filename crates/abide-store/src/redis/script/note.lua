-- Keeps what a person said of a hold, and forgets notes whose holds have ended.
-- KEYS: the notes. ARGV: now, how many are kept, the hold, its end, and the reason, if there is one.

local now = clock()
local most = number()
local hold = text()
local ends = text()
local reason = text()

local function parts(note)
  return string.match(note, '^(%-?%d+) ?(.*)$')
end
local before = redis.call('HGET', KEYS[1], hold)
if before then
  local till, why = parts(before)
  if micros(till) > micros(ends) then
    ends = till
  end
  reason = reason or (before ~= till and why) or nil
end
redis.call('HSET', KEYS[1], hold, reason and ends .. ' ' .. reason or ends)

local all = redis.call('HGETALL', KEYS[1])
local stay = {}
for n = 1, #all, 2 do
  local till = micros((parts(all[n + 1])))
  if till <= now then
    redis.call('HDEL', KEYS[1], all[n])
  else
    stay[#stay + 1] = { all[n], till }
  end
end
table.sort(stay, function(a, b)
  return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1])
end)
for n = most + 1, #stay do
  redis.call('HDEL', KEYS[1], stay[n][1])
end
if #stay > 0 then
  redis.call('PEXPIRE', KEYS[1], exact(math.max(1, math.ceil((stay[1][2] - now) / 1000))))
end
return exact(now)
