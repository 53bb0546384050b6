-- What the probes last saw of each replica, shared by all workers.
local drained = require "warmfleet.drained"
local membership = require "warmfleet.membership"
local settings = require "warmfleet.settings"

local _M = {}

local state = ngx.shared.warmfleet_state

local function ready_key(replica)
    return "ready:" .. replica.id
end

local function suspect_key(replica)
    return "suspect:" .. replica.id
end

-- A state that no probe renews must not live on: an unknown replica gets no traffic.
local function lifetime_s()
    return 3 * settings.probe_interval_s + (settings.probe_timeouts + 1) * settings.probe_timeout_s
end

function _M.mark_ready(replica)
    state:delete(suspect_key(replica))
    state:set(ready_key(replica), true, lifetime_s())
end

function _M.mark_not_ready(replica)
    state:delete(ready_key(replica))
end

-- A probe that got no answer in time: busy is not dead, so a few of them change nothing.
function _M.renew(replica)
    if state:get(ready_key(replica)) then
        state:set(ready_key(replica), true, lifetime_s())
    end
end

-- Its listener refused a request: no traffic until a probe has asked again.
function _M.suspect(replica)
    state:set(suspect_key(replica), true, settings.probe_interval_s)
end

function _M.is_ready(replica)
    return state:get(ready_key(replica)) ~= nil and state:get(suspect_key(replica)) == nil
end

-- Whether a replica gets traffic: it is ready, and no operator has taken its host out.
function _M.serves(replica)
    return _M.is_ready(replica) and not drained.has(replica)
end

-- Whether any replica of a model (nil: of any) may get traffic now.
function _M.any(model)
    for _, replica in ipairs(membership.replicas(model)) do
        if _M.serves(replica) then
            return true
        end
    end
    return false
end

return _M
