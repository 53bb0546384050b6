-- Requests under way at each replica, counted over all workers.
local _M = {}

local state = ngx.shared.warmfleet_state

local function key(id)
    return "in_flight:" .. id
end

function _M.count(replica)
    return state:get(key(replica.id)) or 0
end

-- The id is kept in an nginx variable and not in ngx.ctx: an error page loses the context.
function _M.take(replica)
    state:incr(key(replica.id), 1, 0)
    ngx.var.warmfleet_in_flight = replica.id
end

function _M.release()
    local id = ngx.var.warmfleet_in_flight
    if id and id ~= "" then
        state:incr(key(id), -1, 0)
        ngx.var.warmfleet_in_flight = ""
    end
end

return _M
