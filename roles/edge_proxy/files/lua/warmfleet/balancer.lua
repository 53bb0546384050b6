-- Least requests in flight among the serving replicas of the model; equals take turns.
local balancer = require "ngx.balancer"

local in_flight = require "warmfleet.in_flight"
local membership = require "warmfleet.membership"
local readiness = require "warmfleet.readiness"

local _M = {}

-- nginx grants a further try whenever a kept-alive connection was found closed, so its own limit
-- does not bound this: a request that kills its replica would visit all of them.
local MAX_TRIES = 2

local state = ngx.shared.warmfleet_state

local function pick(model, avoid)
    local replicas = membership.replicas(model)
    local turn = state:incr("turn", 1, 0)
    local best, fewest
    for step = 1, #replicas do
        local replica = replicas[(turn + step) % #replicas + 1]
        if replica.id ~= avoid and readiness.serves(replica) then
            local count = in_flight.count(replica)
            if not best or count < fewest then
                best, fewest = replica, count
            end
        end
    end
    return best
end

-- Whether the try before this one found no listener. nginx writes a dash for a connection that it
-- never had, and this phase already shows the present try as the last of the list.
local function was_refused()
    return (ngx.var.upstream_connect_time or ""):match("^%s*%-") ~= nil
end

function _M.choose()
    local context = ngx.ctx
    local failed = context.replica
    context.tries = (context.tries or 0) + 1
    if failed then
        in_flight.release()
        if was_refused() then
            readiness.suspect(failed)
        end
    end
    local replica
    if context.tries <= MAX_TRIES then
        replica = pick(context.model, failed and failed.id)
        -- A connection that was closed while idle says nothing against a replica that stands alone.
        if not replica and failed and readiness.is_ready(failed) then
            replica = failed
        end
    end
    if not replica then
        -- nginx turns this into 500, and the error page into 502: nothing else is safe to return
        -- from this phase without a patched nginx.
        return ngx.exit(ngx.ERROR)
    end
    if context.tries == 1 then
        balancer.set_more_tries(MAX_TRIES - 1)
    end
    in_flight.take(replica)
    context.replica = replica
    ngx.var.warmfleet_server_name = replica.server_name
    local ok, reason = balancer.set_current_peer(replica.host, replica.port)
    if not ok then
        ngx.log(ngx.ERR, "replica ", replica.name, " at ", replica.id, ": ", reason)
        return ngx.exit(ngx.ERROR)
    end
end

return _M
