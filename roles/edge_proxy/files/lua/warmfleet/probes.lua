-- Active readiness checks: one worker asks /readyz on every replica's admin port.
local client_certificate = require "warmfleet.client_certificate"
local drained = require "warmfleet.drained"
local keys = require "warmfleet.keys"
local membership = require "warmfleet.membership"
local readiness = require "warmfleet.readiness"
local settings = require "warmfleet.settings"

local _M = {}

local running = {} -- replica id -> a probe is under way
local timeouts = {} -- replica id -> probes without an answer, one after the other
local told = {} -- replica id -> what the log last said of it

-- Returns the HTTP status, or nil and the reason.
local function ask(replica)
    local socket = ngx.socket.tcp()
    socket:settimeout(settings.probe_timeout_s * 1000)
    local ok, reason = socket:connect(replica.host, replica.admin_port)
    if not ok then
        return nil, reason
    end
    socket:setclientcert(client_certificate.certificate, client_certificate.key)
    ok, reason = socket:sslhandshake(false, replica.server_name, true)
    if not ok then
        socket:close()
        return nil, reason
    end
    ok, reason = socket:send("GET /readyz HTTP/1.1\r\nHost: " .. replica.host
        .. "\r\nUser-Agent: warmfleet-edge\r\nConnection: close\r\n\r\n")
    local line
    if ok then
        line, reason = socket:receive("*l")
    end
    socket:close()
    if not line then
        return nil, reason
    end
    return tonumber(line:match("^HTTP/1%.%d (%d%d%d)")), "no HTTP answer"
end

local function probe(premature, replica)
    if premature then
        return
    end
    local status, reason = ask(replica)
    running[replica.id] = nil
    if reason == "timeout" and not status then
        timeouts[replica.id] = (timeouts[replica.id] or 0) + 1
        if timeouts[replica.id] < settings.probe_timeouts then
            return readiness.renew(replica)
        end
    else
        timeouts[replica.id] = nil
    end
    if status == 200 then
        readiness.mark_ready(replica)
    else
        readiness.mark_not_ready(replica)
    end
    local news = status == 200 and "ready" or "not ready (" .. (status or reason) .. ")"
    if news ~= told[replica.id] then
        ngx.log(ngx.NOTICE, "replica ", replica.name, " at ", replica.id, ": ", news)
        told[replica.id] = news
    end
end

local function tick(premature)
    if premature then
        return
    end
    membership.follow()
    drained.follow()
    keys.follow()
    for _, replica in ipairs(membership.replicas()) do
        -- Each replica has its own pace: one that hangs must not delay the news of the others.
        if not running[replica.id] then
            running[replica.id] = ngx.timer.at(0, probe, replica)
        end
    end
end

function _M.start()
    if ngx.worker.id() ~= 0 then
        return
    end
    ngx.timer.at(0, tick)
    -- A draining replica closes its listener one probe interval after /readyz turned 503. Asking
    -- twice as often makes sure that the news is here before that.
    ngx.timer.every(settings.probe_interval_s / 2, tick)
end

return _M
