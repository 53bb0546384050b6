-- Errors in the form that OpenAI clients read.
local cjson = require "cjson.safe"

local settings = require "warmfleet.settings"

local _M = {}

local KINDS = {
    [400] = { "invalid_request_error", "bad_request", "The request could not be read." },
    [401] = { "authentication_error", "invalid_api_key",
        "Needed: a valid API key in the header 'Authorization: Bearer KEY'." },
    [404] = { "invalid_request_error", "not_found", "No such path; the API is under /v1/." },
    [405] = { "invalid_request_error", "method_not_allowed", "This method is not allowed here." },
    [408] = { "invalid_request_error", "request_timeout", "The request did not arrive in time." },
    [411] = { "invalid_request_error", "length_required", "Needed: a Content-Length header." },
    [413] = { "invalid_request_error", "request_too_large", "The request body is too large." },
    [414] = { "invalid_request_error", "uri_too_long", "The request line is too long." },
    [429] = { "rate_limit_error", "queue_full", "Too many requests are waiting; try again later." },
    [500] = { "server_error", "internal_error", "The gateway failed to handle the request." },
    [505] = { "invalid_request_error", "bad_request", "Needed: HTTP/1.1 or HTTP/2." },
    [501] = { "invalid_request_error", "not_implemented", "This way to send a request is not known here." },
    [502] = { "server_error", "replica_failed", "The replica failed before it answered." },
    [503] = { "server_error", "no_replica_ready", "No replica became ready in time." },
    [504] = { "server_error", "replica_timeout", "The replica did not answer in time." },
}

-- Seconds. A client that comes back sooner would only meet the same state.
local RETRY_AFTER = { [429] = 1, [502] = 1, [503] = 5, [504] = 5 }

-- Answers and ends the request. overrides: code, message, param; retry: false where that cannot help.
function _M.send(status, overrides)
    local kind = KINDS[status] or (status < 500 and KINDS[400]) or KINDS[500]
    overrides = overrides or {}
    local message = overrides.message or kind[3]
    if status == 413 then
        message = message .. " Allowed: " .. settings.max_body_bytes .. " bytes."
    end
    ngx.status = status
    ngx.header["Content-Type"] = "application/json"
    if overrides.retry == false then
        ngx.header["X-Should-Retry"] = "false"
    else
        ngx.header["Retry-After"] = RETRY_AFTER[status]
    end
    if status == 401 then
        ngx.header["WWW-Authenticate"] = "Bearer"
    end
    local body = cjson.encode({
        error = {
            message = message,
            type = kind[1],
            param = overrides.param or cjson.null,
            code = overrides.code or kind[2],
        },
    })
    ngx.header["Content-Length"] = #body
    ngx.print(body)
    return ngx.exit(ngx.HTTP_OK)
end

-- The error page: whatever nginx itself found wrong. known: the status, where nginx has replaced it.
function _M.page(known)
    local status = known or ngx.status
    if status == 494 then
        return _M.send(400, { code = "headers_too_large", message = "The headers are too large." })
    end
    if status == 497 then
        return _M.send(400, { code = "https_required", message = "This port speaks HTTPS only." })
    end
    -- Only the balancer fails this way: it found no replica for a first or second try.
    if status == 500 and ngx.var.warmfleet_proxied == "1" then
        status = 502
    end
    return _M.send(status)
end

return _M
