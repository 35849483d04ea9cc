-- Says that a process is there, and tells it what store it has met.
-- KEYS: about the store, who is there. ARGV: now, who, how long one is taken to be there, whether to
-- fill a store that is empty though others listen, the channel of news, and what a new store begins
-- with: its schema, secret, and a word that makes an epoch of this moment.

local now = clock()
local who = text()
local life = number()
local fills = text() == '1'
local channel = text()
local schema = text()
-- Whoever knew the store before it was emptied fills it with the secret by which gates are named
-- already. The new one listens too.
if not fills and redis.call('EXISTS', KEYS[1]) == 0
  and redis.call('PUBLISH', channel, 'whose?') > 1 then
  return { exact(now), 0, schema, '', '' }
end
redis.call('HSETNX', KEYS[1], 'schema', schema)
redis.call('HSETNX', KEYS[1], 'secret', text())
redis.call('HSETNX', KEYS[1], 'epoch', text() .. ':' .. exact(now))
local about = redis.call('HMGET', KEYS[1], 'schema', 'secret', 'epoch')
if about[1] ~= schema then
  return { exact(now), 0, about[1], '', '' }
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', exact(now - life))
redis.call('ZADD', KEYS[2], exact(now), who)
redis.call('PEXPIRE', KEYS[2], exact(life / 1000))
return { exact(now), redis.call('ZCARD', KEYS[2]), about[1], about[2], about[3] }
