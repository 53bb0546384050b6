-- The phases of nginx.conf, one function each.
local cjson = require "cjson.safe"

local balancer = require "warmfleet.balancer"
local client_certificate = require "warmfleet.client_certificate"
local drained = require "warmfleet.drained"
local errors = require "warmfleet.errors"
local gate = require "warmfleet.gate"
local in_flight = require "warmfleet.in_flight"
local keys = require "warmfleet.keys"
local membership = require "warmfleet.membership"
local probes = require "warmfleet.probes"
local queue = require "warmfleet.queue"
local readiness = require "warmfleet.readiness"
local settings = require "warmfleet.settings"

local _M = {
    start_worker = probes.start,
    access = gate.check,
    balance = balancer.choose,
    error_page = errors.page,
}

-- Fails the start of nginx when a file that it needs is wrong.
function _M.init(values)
    settings.set(values)
    for _, file in ipairs({ membership, keys, client_certificate }) do
        local ok, problem = file.publish()
        if not ok then
            error(problem, 0)
        end
    end
    drained.follow()
end

-- Every request ends here, whatever became of it.
function _M.log()
    in_flight.release()
    queue.leave()
end

function _M.health()
    if not readiness.any() then
        return errors.send(503, { message = "No replica is ready." })
    end
    ngx.header["Content-Type"] = "application/json"
    ngx.say('{"status":"ready"}')
end

-- For operators: what the balancing knows of each replica.
function _M.replicas()
    local listed = {}
    for index, replica in ipairs(membership.replicas()) do
        listed[index] = {
            name = replica.name,
            model = replica.model,
            ready = readiness.is_ready(replica),
            drained = drained.has(replica),
            in_flight = in_flight.count(replica),
        }
    end
    ngx.header["Content-Type"] = "application/json"
    ngx.say(cjson.encode(listed))
end

return _M
