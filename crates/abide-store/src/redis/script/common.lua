-- What all scripts begin with: arguments read one after another, and the server's own clock.
-- Times are microseconds, as doubles; those inside records stay the nanoseconds they came as, since
-- a double does not hold them.

local read = 0
local function text()
  read = read + 1
  return ARGV[read]
end
local function number()
  return tonumber(text())
end

-- Nothing is lost on the way into a key and out of it.
local function exact(x)
  return string.format('%.17g', x)
end

-- Nanoseconds, written down, in microseconds: whole ones exactly.
local function micros(nanos)
  local sign, digits = string.match(nanos or '', '^(%-?)(%d+)$')
  if not digits then
    return nil
  end
  local at = (tonumber(string.sub(digits, 1, -4)) or 0) + tonumber(string.sub(digits, -3)) / 1000
  return sign == '-' and -at or at
end

-- Tests name the time; everybody else leaves it empty.
local function clock()
  local told = text()
  if told ~= '' then
    return tonumber(told)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- A key lives until nothing in it matters any more, and a minute longer, so that it need not be
-- told anew at each step. `lives` is until when it was told to live before.
local SLACK = 60 * 1000000
local function live(key, now, lives, needed)
  if needed > (tonumber(lives or '') or 0) then
    local till = needed + SLACK
    redis.call('HSET', key, 'lives', exact(till))
    redis.call('PEXPIRE', key, exact(math.max(1, math.ceil((till - now) / 1000))))
  end
end

-- The hold that ends last of those in force, of `id:cause:until:ask:source:since:probes:lifted`.
local function held(holds, now)
  local longest
  for hold in string.gmatch(holds or '', '%S+') do
    local id, cause, ends, probes, lifted =
      string.match(hold, '^([^:]*):([^:]*):([^:]*):[^:]*:[^:]*:[^:]*:(%d):(%d)$')
    local till = micros(ends)
    if lifted == '0' and till > now and (not longest or till >= longest.till) then
      longest = { id = id, cause = cause, ends = ends, till = till, probes = probes }
    end
  end
  return longest
end

-- `by at until` of a probe.
local function probe_of(stored)
  local by, at, ends = string.match(stored or '', '^(%S+) (%S+) (%S+)$')
  if by then
    return { by = by, at = tonumber(at), ends = tonumber(ends) }
  end
end
