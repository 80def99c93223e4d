-- For how long this Redis has been whole, in seconds, and then what it holds under each key.
--
-- KEYS[1] is the marker: since when nothing was lost, and in which run of the server. It is set
-- by whoever finds none, or one of an earlier run: a server that was started again may have lost
-- what it held, and has missed what was said meanwhile (H30). The rest are the keys to read.
-- Time is the server's own, so that the clocks of those who ask do not matter.

local now = tonumber(redis.call('TIME')[1])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local since, marked = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%x+)$')
if marked ~= run then
  since = now
  redis.call('SET', KEYS[1], now .. ' ' .. run)
end

-- Lua can pass only some thousand arguments at once.
local answer = { now - tonumber(since) }
for first = 2, #KEYS, 1000 do
  local last = math.min(first + 999, #KEYS)
  local values = redis.call('MGET', unpack(KEYS, first, last))
  for place = 1, last - first + 1 do
    answer[#answer + 1] = values[place]
  end
end
return answer
