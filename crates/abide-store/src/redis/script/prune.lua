-- Forgets the names of gates of which nothing is known any more.
-- KEYS: the list of a provider's gates, then gates. ARGV: their names.

for n = 2, #KEYS do
  if redis.call('EXISTS', KEYS[n]) == 0 then
    redis.call('SREM', KEYS[1], ARGV[n - 1])
  end
end
return 0
