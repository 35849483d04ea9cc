-- Takes in a word about a gate, and tells everybody when it was news.
-- KEYS: the gate, and the list of its provider's gates. ARGV: now, who, channel, the gate's name,
-- provider, then the word: scope, rung, interval, learned, failures, last success, its holds, its
-- counts. Answers the time and all that is known of the gate now.

local HOLDS = 16
local COUNTS = 64
local LONG = 400 * 86400 * 1000000
local FIELDS = { 'scope', 'rung', 'interval', 'learned', 'failures', 'ok', 'holds', 'counts' }

local now = clock()
local who = text()
local channel = text()
local name = text()
local provider = text()
local key = KEYS[1]

local function hold_of(id, cause, ends, ask, source, since, probes, lifted)
  return {
    id = id, cause = cause, ends = ends, ask = ask, source = source, since = since,
    probes = probes, lifted = lifted, till = micros(ends), from = micros(since),
  }
end

local word = { holds = {}, counts = {} }
word.scope = text()
word.rung = number()
word.interval = text()
word.learned = text()
word.failures = number()
word.ok = text()
for n = 1, number() do
  local part = {}
  for i = 1, 8 do
    part[i] = text()
  end
  word.holds[n] = hold_of(unpack(part))
end
for n = 1, number() do
  local count = {}
  for i = 1, 3 do
    count[i] = text()
  end
  word.counts[n] = count
end

local got = redis.call('HMGET', key, 'scope', 'rung', 'interval', 'learned', 'failures', 'ok',
  'holds', 'counts', 'probe', 'lives')
for n = 1, 8 do
  got[n] = got[n] or ''
end
local before = table.concat(got, '\n', 1, 8)
local old = { holds = {}, counts = {} }
old.rung = tonumber(got[2])
old.failures = tonumber(got[5]) or 0
for hold in string.gmatch(got[7], '%S+') do
  old.holds[#old.holds + 1] = hold_of(string.match(hold,
    '^([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):([^:]*)$'))
end
for window, used, ends in string.gmatch(got[8], '(%d+):(%d+):(%-?%d+)') do
  old.counts[#old.counts + 1] = { window, used, ends }
end
local ok = micros(got[6])
local word_ok = micros(word.ok)

-- The rung belongs to the episode that its holds made.
local newest
for _, h in ipairs(old.holds) do
  if not newest or h.from > newest.from or (h.from == newest.from and h.id > newest.id) then
    newest = h
  end
end
local function ended(h)
  return h.lifted == '1' and h.from or h.till
end
local speaks = false
for _, h in ipairs(word.holds) do
  local is_newest = newest and h.id == newest.id
  local is_newer = not newest or (h.id ~= newest.id and h.from >= newest.from)
  local opens = h.lifted == '0' and is_newer
  local is_over = ok and ok > ended(h)
  speaks = speaks or ((opens or is_newest) and not is_over)
end
local function is_healed()
  local since = ok
  if newest then
    since = ended(newest)
  end
  return word.failures == 0 and not held(got[7], now) and word_ok
    and (not since or word_ok > since)
end
local rung, failures = old.rung, old.failures
if word.rung then
  if speaks or not newest then
    rung = math.max(rung or 0, word.rung)
    failures = math.max(failures, word.failures)
  end
elseif is_healed() then
  rung, failures = nil, 0
elseif not ok or (word_ok and word_ok >= ok) then
  failures = math.max(failures, word.failures)
end

-- Only whoever has the probe tells how it went.
local out = probe_of(got[9])
local refused = false
if out and out.by == who and word.rung then
  for _, h in ipairs(word.holds) do
    refused = refused or (h.lifted == '0' and h.from >= out.at)
  end
end
if out and (refused or not rung) then
  redis.call('HDEL', key, 'probe')
end

-- Holds come together by their ids.
local function longer(a, b)
  local h = (b.till > a.till) and b or a
  local asked = a
  if a.ask == '' or (b.ask ~= '' and micros(b.ask) > micros(a.ask)) then
    asked = b
  end
  local since = (b.from < a.from) and b.since or a.since
  local lifted = (a.lifted == '1' or b.lifted == '1') and '1' or '0'
  return hold_of(h.id, h.cause, h.ends, asked.ask, asked.source, since, h.probes, lifted)
end
local holds = old.holds
for _, h in ipairs(word.holds) do
  local known = false
  for n, mine in ipairs(holds) do
    if mine.id == h.id then
      holds[n] = longer(mine, h)
      known = true
    end
  end
  if not known then
    holds[#holds + 1] = h
  end
end
local last
for _, h in ipairs(holds) do
  last = math.max(last or h.from, h.from)
end
local stay = {}
for _, h in ipairs(holds) do
  if h.from >= last or h.till > last then
    stay[#stay + 1] = h
  end
end
table.sort(stay, function(a, b)
  return a.till > b.till or (a.till == b.till and a.id < b.id)
end)
while #stay > HOLDS do
  table.remove(stay)
end
table.sort(stay, function(a, b)
  return a.id < b.id
end)

local counts = old.counts
for _, count in ipairs(word.counts) do
  local known = false
  for n, mine in ipairs(counts) do
    if mine[1] == count[1] then
      known = true
      if mine[3] == count[3] then
        if tonumber(count[2]) > tonumber(mine[2]) then
          mine[2] = count[2]
        end
      elseif micros(mine[3]) < micros(count[3]) then
        counts[n] = count
      end
    end
  end
  if not known and #counts < COUNTS then
    counts[#counts + 1] = count
  end
end
table.sort(counts, function(a, b)
  return tonumber(a[1]) < tonumber(b[1])
end)

-- Until when any of it matters.
local needed = now
local parts = {}
for n, h in ipairs(stay) do
  needed = math.max(needed, h.till)
  parts[n] = table.concat({ h.id, h.cause, h.ends, h.ask, h.source, h.since, h.probes, h.lifted },
    ':')
end
local record = { word.scope }
record[2] = rung and exact(rung) or ''
record[3] = word.interval ~= '' and word.interval or got[3]
record[4] = word.learned ~= '' and word.learned or got[4]
record[5] = exact(failures)
record[6] = (word_ok and (not ok or word_ok > ok)) and word.ok or got[6]
record[7] = table.concat(parts, ' ')
parts = {}
for n, count in ipairs(counts) do
  needed = math.max(needed, micros(count[3]))
  parts[n] = table.concat(count, ':')
end
record[8] = table.concat(parts, ' ')
if rung or failures > 0 or record[3] ~= '' or record[4] ~= '' or record[6] ~= '' then
  needed = math.max(needed, now + LONG)
end

local all = table.concat(record, '\n')
if all ~= before then
  local set = {}
  for n, field in ipairs(FIELDS) do
    set[#set + 1] = field
    set[#set + 1] = record[n]
  end
  redis.call('HSET', key, unpack(set))
  if not rung then
    redis.call('HDEL', key, 'rung')
  end
  redis.call('SADD', KEYS[2], name)
  redis.call('PEXPIRE', KEYS[2], exact(LONG / 1000))
  redis.call('PUBLISH', channel, who .. '\n' .. name .. '\n' .. provider .. '\n' .. all)
end
live(key, now, got[10], needed)
return { exact(now), all }
