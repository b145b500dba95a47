#!lua name=orrery_state

-- State that the NFs of a chain share, and what is decided where it is (CoNFV III.B, IV.B). Every key of a chain has the
-- hash tag {CHAIN}, so that all of them are in one slot of a Redis Cluster. Keys that a function derives from KEYS[1] have
-- the tag of that. Times are those of this Redis, in ms: clocks of clients do not count.

local VERSION = 1

local MAX_ALARMS = 10000

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- `state:{CHAIN}:` of a key of a chain.
local function chain_of(key)
  local chain = string.match(key, '^state:{[^}]+}:')
  if not chain then error({ err = 'STATE no key of a chain: ' .. key }) end
  return chain
end

local function number_of(text, name)
  local number = tonumber(text)
  if not number or number ~= number or math.abs(number) > 2 ^ 53 then
    error({ err = 'STATE ' .. name .. ' is not a number' })
  end
  return number
end

-- KEYS: a value. ARGS: what it becomes unless it is there, ms that it lives on. Answers what it is: the first claim wins.
local function claim(keys, args)
  local held = redis.call('GET', keys[1])
  if held then
    redis.call('PEXPIRE', keys[1], args[2])
  else
    redis.call('SET', keys[1], args[1], 'PX', args[2])
  end
  -- A reader is told of the next change only if it read after the last one.
  return redis.call('GET', keys[1])
end

-- KEYS: a lease. ARGS: holder, ms. Answers 1 if the caller holds it now.
local function take_lease(keys, args)
  local holder = redis.call('GET', keys[1])
  if holder and holder ~= args[1] then return 0 end
  redis.call('SET', keys[1], args[1], 'PX', args[2])
  return 1
end

-- KEYS: a lease. ARGS: holder. Answers 1 if it was the caller's.
local function release_lease(keys, args)
  if redis.call('GET', keys[1]) ~= args[1] then return 0 end
  return redis.call('DEL', keys[1])
end

-- NAT. Of a pool with the key state:{CHAIN}:nat:POOL there are
--   POOL:i:SPACE ADDRESS PORT  external address and port of an inside one (6 bytes; the space is 1 byte: 0 TCP, 1 UDP, 2 ICMP)
--   POOL:e:SPACE ADDRESS PORT  inside address and port of an external one
--   POOL:leases                external ones by the time until which they are held
--   POOL:free:SPACE ADDRESS    ports that were given back, least recently used first
--   POOL:next                  by space and address, the first port that was never given out

local MAX_EXPIRED = 64
local MAX_SKIPPED = 256

local function forget(pool, external)
  local owner = pool .. ':e:' .. external
  local inside = redis.call('GET', owner)
  redis.call('ZREM', pool .. ':leases', external)
  if not inside then return end
  redis.call('DEL', owner, pool .. ':i:' .. string.sub(external, 1, 1) .. inside)
  redis.call('RPUSH', pool .. ':free:' .. string.sub(external, 1, 5), string.sub(external, 6, 7))
end

local function forget_expired(pool, now)
  for _, external in ipairs(redis.call('ZRANGEBYSCORE', pool .. ':leases', '-inf', now, 'LIMIT', 0, MAX_EXPIRED)) do
    forget(pool, external)
  end
end

local function port_of(bytes)
  local high, low = string.byte(bytes, 1, 2)
  return high * 256 + low
end

local function bytes_of(port)
  return string.char(math.floor(port / 256), port % 256)
end

-- A port of one address that nobody holds; nil: there is none.
local function free_port(pool, place, low, high)
  -- Ports of a range of before may be outside of today's, and held again already.
  for _ = 1, MAX_SKIPPED do
    local bytes = redis.call('LPOP', pool .. ':free:' .. place)
    if not bytes then break end
    local port = port_of(bytes)
    if port >= low and port <= high and redis.call('EXISTS', pool .. ':e:' .. place .. bytes) == 0 then return bytes end
  end
  local next = tonumber(redis.call('HGET', pool .. ':next', place) or low)
  if next < low then next = low end
  for port = next, math.min(high, next + MAX_SKIPPED) do
    local bytes = bytes_of(port)
    if redis.call('EXISTS', pool .. ':e:' .. place .. bytes) == 0 then
      redis.call('HSET', pool .. ':next', place, port + 1)
      return bytes
    end
  end
  redis.call('HSET', pool .. ':next', place, math.min(high + 1, next + MAX_SKIPPED + 1))
  return nil
end

-- KEYS: a pool. ARGS: space (1 byte), inside address and port (6 bytes), ms of the lease, lowest and highest port, external
-- addresses (4 bytes each), the preferred one first. Answers the external address and port; nil: none is free.
local function nat_allocate(keys, args)
  local pool, space, inside = keys[1], args[1], args[2]
  if #space ~= 1 or #inside ~= 6 then error({ err = 'STATE not an inside address and port' }) end
  local now = now_ms()
  local until_ms = now + number_of(args[3], 'lease')
  local held = redis.call('GET', pool .. ':i:' .. space .. inside)
  if held then
    redis.call('ZADD', pool .. ':leases', 'GT', until_ms, space .. held)
    return held
  end
  forget_expired(pool, now)
  local low, high = number_of(args[4], 'port'), number_of(args[5], 'port')
  for i = 6, #args do
    local port = free_port(pool, space .. args[i], low, high)
    if port then
      local external = args[i] .. port
      redis.call('SET', pool .. ':i:' .. space .. inside, external)
      redis.call('SET', pool .. ':e:' .. space .. external, inside)
      redis.call('ZADD', pool .. ':leases', until_ms, space .. external)
      return external
    end
  end
  return nil
end

-- KEYS: a pool. ARGS: ms, then external ones (7 bytes each). Answers those that are not held any more.
local function nat_renew(keys, args)
  local pool = keys[1]
  local until_ms = now_ms() + number_of(args[1], 'lease')
  local lost = {}
  for i = 2, #args do
    if redis.call('ZSCORE', pool .. ':leases', args[i]) then
      redis.call('ZADD', pool .. ':leases', 'GT', until_ms, args[i])
    else
      lost[#lost + 1] = args[i]
    end
  end
  return lost
end

-- KEYS: a pool. ARGS: external ones (7 bytes each). Answers how many were held.
local function nat_release(keys, args)
  local count = 0
  for i = 1, #args do
    if redis.call('ZSCORE', keys[1] .. ':leases', args[i]) then count = count + 1 end
    forget(keys[1], args[i])
  end
  return count
end

-- Triggers. state:{CHAIN}:triggers has, by namespace, a JSON array of
--   { id, when = 'first' }                                  each subject that was not seen for hold_ms
--   { id, when = 'threshold', at }                          a counter of at least `at`
--   { id, when = 'deviation', factor, least, period_ms }    a counter of at least `least` and beyond mean + factor * deviation
--                                                           of all of its namespace (CoNFV V-3), all judged once in period_ms
-- each with hold_ms, for which a subject is told once. state:{CHAIN}:version changes with them.

local known = {}
local known_chains = 0

local function triggers_of(chain, namespace)
  local version = redis.call('GET', chain .. 'version') or ''
  local cached = known[chain]
  if not cached or cached.version ~= version then
    if not cached then known_chains = known_chains + 1 end
    if known_chains > 1000 then
      known, known_chains = {}, 1
    end
    cached = { version = version, by = {} }
    known[chain] = cached
  end
  local triggers = cached.by[namespace]
  if not triggers then
    local text = redis.call('HGET', chain .. 'triggers', namespace)
    triggers = text and cjson.decode(text) or {}
    cached.by[namespace] = triggers
  end
  return triggers
end

local function tell(chain, namespace, trigger, subject, value, detail)
  local hold = chain .. 'told:' .. trigger.id .. ':' .. subject
  if not redis.call('SET', hold, '1', 'NX', 'PX', trigger.hold_ms) then return end
  redis.call('XADD', chain .. 'alarms', 'MAXLEN', '~', MAX_ALARMS, '*', 'trigger', trigger.id, 'namespace', namespace,
    'subject', subject, 'value', tostring(value), 'detail', detail)
end

local function mean_and_deviation(counters)
  local values = redis.call('HVALS', counters)
  local sum, squares = 0, 0
  for i = 1, #values do
    local value = tonumber(values[i])
    sum, squares = sum + value, squares + value * value
  end
  local mean = sum / #values
  return mean, math.sqrt(math.max(0, squares / #values - mean * mean))
end

local function judge_deviation(chain, namespace, counters, trigger)
  local mean, deviation = mean_and_deviation(counters)
  local all = redis.call('HGETALL', counters)
  for i = 1, #all, 2 do
    local value = tonumber(all[i + 1])
    if value >= trigger.least and value > mean + trigger.factor * deviation then
      tell(chain, namespace, trigger, all[i], value, string.format('mean %.3f, deviation %.3f', mean, deviation))
    end
  end
end

local function judge(chain, namespace, counters, subject, value)
  for _, trigger in ipairs(triggers_of(chain, namespace)) do
    if trigger.when == 'threshold' and value >= trigger.at then
      tell(chain, namespace, trigger, subject, value, '')
    elseif trigger.when == 'deviation' and value >= trigger.least
      and redis.call('SET', chain .. 'judged:' .. trigger.id, '1', 'NX', 'PX', trigger.period_ms) then
      judge_deviation(chain, namespace, counters, trigger)
    end
  end
end

-- KEYS: counters of a namespace (state:{CHAIN}:c:NAMESPACE). ARGS: most subjects, ms after which they begin again (0: never),
-- then a subject and what is added, in turn. A counter is never below 0. Answers how many subjects found no room.
local function count(keys, args)
  local counters = keys[1]
  local chain = chain_of(counters)
  local namespace = string.sub(counters, #chain + 3)
  local most, window_ms = number_of(args[1], 'most subjects'), number_of(args[2], 'window')
  local fresh = window_ms > 0 and redis.call('EXISTS', counters) == 0
  local refused = 0
  for i = 3, #args, 2 do
    local subject, added = args[i], args[i + 1]
    local value = redis.call('HINCRBY', counters, subject, added)
    if value < 0 then
      value = 0
      redis.call('HSET', counters, subject, 0)
    end
    if value == tonumber(added) and redis.call('HLEN', counters) > most then
      redis.call('HDEL', counters, subject)
      refused = refused + 1
    else
      judge(chain, namespace, counters, subject, value)
    end
  end
  if fresh then redis.call('PEXPIRE', counters, window_ms) end
  return refused
end

-- KEYS: observations of a namespace (state:{CHAIN}:o:NAMESPACE). ARGS: a subject and what was seen, in turn (of an SQL
-- injection 41 bytes, CoNFV V-2). Answers how many were seen.
local function observe(keys, args)
  local chain = chain_of(keys[1])
  local namespace = string.sub(keys[1], #chain + 3)
  redis.call('INCRBY', keys[1], #args / 2)
  for i = 1, #args, 2 do
    for _, trigger in ipairs(triggers_of(chain, namespace)) do
      if trigger.when == 'first' then tell(chain, namespace, trigger, args[i], 1, args[i + 1]) end
    end
  end
  return #args / 2
end

redis.register_function({ function_name = 'state_version', callback = function() return VERSION end, flags = { 'no-writes' } })
redis.register_function('state_claim', claim)
redis.register_function('state_take_lease', take_lease)
redis.register_function('state_release_lease', release_lease)
redis.register_function('state_nat_allocate', nat_allocate)
redis.register_function('state_nat_renew', nat_renew)
redis.register_function('state_nat_release', nat_release)
redis.register_function('state_count', count)
redis.register_function('state_observe', observe)
