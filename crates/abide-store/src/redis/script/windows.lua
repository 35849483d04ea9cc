-- Windows, counted as `lend/windows.rs` counts them; operations stand in the same order, since
-- doubles are compared to the last bit.

local ENTRIES = 64
local CRUMB = 1e-6

-- The limits of a gate, from the arguments.
local function shapes()
  local all = {}
  for place = 0, number() - 1 do
    local s = { kind = text() }
    if s.kind == 'b' then
      s.interval = number()
      s.burst = number()
    else
      s.limit = number()
      s.period = number()
      if s.kind == 'f' then
        s.boundary = number()
      end
    end
    s.field = 'w' .. place .. s.kind
    all[#all + 1] = s
  end
  return all
end

local function boundary_after(now, s)
  local phase = s.boundary - math.floor(s.boundary / s.period) * s.period
  return (math.floor((now - phase) / s.period) + 1) * s.period + phase
end

local function stamp(s, ends)
  if s.limit <= ENTRIES then
    return ends
  end
  local width = s.period / ENTRIES
  return math.ceil(ends / width) * width
end

-- What was counted of a limit, forgetting what is over at `now`; and whether it had to be shortened.
local function rolled(s, stored, now)
  local w = {}
  local shortened = false
  if s.kind == 'b' then
    local empty = now + s.burst * s.interval
    w.full = tonumber(stored or 0)
    shortened = w.full > empty
    w.full = math.min(math.max(w.full, now), empty)
  elseif s.kind == 'f' then
    local ends, used = string.match(stored or '0 0', '^(%S+) (%S+)$')
    w.ends = tonumber(ends)
    w.used = tonumber(used)
    shortened = w.ends > now + s.period
    if now >= w.ends then
      w.ends = boundary_after(now, s)
      w.used = 0
    elseif shortened then
      w.ends = boundary_after(now, s)
    end
  else
    local latest = stamp(s, now + s.period)
    for at, units in string.gmatch(stored or '', '(%S+) (%S+)') do
      at = tonumber(at)
      if at + s.period > now then
        shortened = shortened or at > latest
        w[#w + 1] = { math.min(at, latest), tonumber(units) }
      end
    end
  end
  return w, shortened
end

local function stored(s, w)
  if s.kind == 'b' then
    return exact(w.full)
  elseif s.kind == 'f' then
    return exact(w.ends) .. ' ' .. exact(w.used)
  end
  local parts = {}
  for _, e in ipairs(w) do
    parts[#parts + 1] = exact(e[1]) .. ' ' .. exact(e[2])
  end
  return table.concat(parts, ' ')
end

local function sum(w)
  local used = 0
  for _, e in ipairs(w) do
    used = used + e[2]
  end
  return used
end

local function left(s, w, now)
  if s.kind == 'b' then
    return math.floor((now + s.burst * s.interval - w.full) / s.interval + CRUMB)
  elseif s.kind == 'f' then
    return s.limit - w.used
  end
  return s.limit - sum(w)
end

local function wait(s, w, now, cost)
  local at = now
  if s.kind == 'b' then
    at = w.full + (cost - s.burst) * s.interval
  elseif s.kind == 'f' then
    at = w.ends
  else
    local used = sum(w)
    for _, e in ipairs(w) do
      if used + cost <= s.limit then
        break
      end
      used = used - e[2]
      at = e[1] + s.period
    end
  end
  return math.max(math.ceil(at - now), 1)
end

local function lapses(s, w, now, life)
  if s.kind == 'f' then
    return math.min(w.ends, now + life)
  elseif s.kind == 's' then
    return now + math.min(life, s.period)
  end
  return now + life
end

local function pay(s, w, now, ends, units)
  if s.kind == 'b' then
    w.full = math.max(w.full, now) + units * s.interval
  elseif s.kind == 'f' then
    w.used = w.used + units
  else
    local at = stamp(s, ends)
    local last = w[#w]
    if last and last[1] >= at then
      last[2] = last[2] + units
    elseif units > 0 then
      w[#w + 1] = { at, units }
    end
  end
end

local function take_back(s, w, now, lent, ends, units)
  if s.kind == 'b' then
    local owed = units * s.interval - math.max(now - lent, 0)
    w.full = math.max(w.full - math.max(owed, 0), now)
  elseif s.kind == 'f' then
    if boundary_after(lent, s) == w.ends then
      w.used = math.max(w.used - units, 0)
    end
  else
    local at = stamp(s, ends)
    for n = #w, 1, -1 do
      if w[n][1] <= at then
        local take = math.min(units, w[n][2])
        w[n][2] = w[n][2] - take
        units = units - take
        if w[n][2] <= 0 then
          table.remove(w, n)
        end
      end
    end
  end
end

-- Until when a window matters.
local function matters(s, w)
  if s.kind == 'b' then
    return w.full
  elseif s.kind == 'f' then
    return w.ends
  end
  local last = w[#w]
  return last and last[1] + s.period or 0
end
