-- What a request passes before a replica sees it: key, body, model, readiness.
local cjson = require "cjson.safe"

local errors = require "warmfleet.errors"
local keys = require "warmfleet.keys"
local membership = require "warmfleet.membership"
local queue = require "warmfleet.queue"
local routing = require "warmfleet.routing"

local _M = {}

local REFUSALS = {
    no_model = { 400, { code = "model_required", param = "model",
        message = "Needed: a JSON body with the name of a model in 'model'." } },
    unknown_model = { 404, { code = "model_not_found", param = "model" } },
    full = { 429 },
    timeout = { 503 },
    own_limit = { 504, { code = "deadline_exceeded", retry = false,
        message = "The request's own time limit (X-Request-Timeout) ran out before a replica was ready." } },
}

local function refuse(problem)
    local status, overrides = unpack(REFUSALS[problem])
    if problem == "unknown_model" then
        overrides.message = "No such model; served here: "
            .. table.concat(membership.models(), ", ") .. "."
    end
    return errors.send(status, overrides)
end

-- Whether the body can be read in this phase: Lua cannot when HTTP/2 does not say the length.
local function is_readable()
    return ngx.req.http_version() < 2 or ngx.var.http_content_length ~= nil
end

-- A replica knows its own model alone. Where there are several, the list is made here.
local function list_models()
    local listed = {}
    for index, name in ipairs(membership.models()) do
        listed[index] = { id = name, object = "model", created = 0, owned_by = "warmfleet" }
    end
    ngx.header["Content-Type"] = "application/json"
    ngx.print(cjson.encode({ object = "list", data = listed }))
    return ngx.exit(ngx.HTTP_OK)
end

-- The time limit that a request has of its own, or nil; of one that is none the replica says so.
local function own_limit()
    local limit_s = tonumber(ngx.var.http_x_request_timeout)
    return limit_s and limit_s > 0 and limit_s or nil
end

-- What is left of it when the request has waited here.
local function shorten_limit(limit_s, waited_s)
    if limit_s and waited_s > 0 then
        ngx.req.set_header("X-Request-Timeout", string.format("%.3f", math.max(limit_s - waited_s, 0.001)))
    end
end

function _M.check()
    local key_name = keys.name_of(ngx.var.http_authorization)
    if not key_name then
        return errors.send(401)
    end
    ngx.var.warmfleet_key = key_name
    if ngx.var.uri == "/v1/models" and ngx.req.get_method() == "GET" and #membership.models() > 1 then
        return list_models()
    end
    if ngx.req.get_method() == "POST" then
        if is_readable() then
            ngx.req.read_body()
        elseif #membership.models() > 1 then
            return errors.send(411)
        end
    end
    local model, problem = routing.model()
    if problem then
        return refuse(problem)
    end
    ngx.ctx.model = model
    local arrived = ngx.now()
    local limit_s = own_limit()
    local ok
    ok, problem = queue.wait(model, limit_s)
    local waited_s = ngx.now() - arrived
    ngx.var.warmfleet_queue_time = string.format("%.3f", waited_s)
    if not ok then
        return refuse(problem)
    end
    shorten_limit(limit_s, waited_s)
    ngx.var.warmfleet_proxied = "1"
end

return _M
