-- Requests that wait while no replica is ready: a short gap is a delay, not an error.
local readiness = require "warmfleet.readiness"
local settings = require "warmfleet.settings"

local _M = {}

local POLL_S = 0.02

local state = ngx.shared.warmfleet_state

-- Waits until a replica of the model is ready, own_limit_s at most where a request has its own limit.
-- Returns true, or nil and "full", "timeout" or "own_limit".
-- A client that leaves ends this: lua_check_client_abort stops the code of its request.
function _M.wait(model, own_limit_s)
    if readiness.any(model) then
        return true
    end
    ngx.var.warmfleet_queued = "1"
    if state:incr("queued", 1, 0) > settings.queue_size then
        return nil, "full"
    end
    local is_own = own_limit_s ~= nil and own_limit_s < settings.queue_timeout_s
    local deadline = ngx.now() + (is_own and own_limit_s or settings.queue_timeout_s)
    while ngx.now() < deadline do
        ngx.sleep(POLL_S)
        if readiness.any(model) then
            _M.leave()
            return true
        end
    end
    return nil, is_own and "own_limit" or "timeout"
end

-- Gives the place back; called again when the request ends, however it ends.
function _M.leave()
    if ngx.var.warmfleet_queued == "1" then
        state:incr("queued", -1, 0)
        ngx.var.warmfleet_queued = ""
    end
end

return _M
