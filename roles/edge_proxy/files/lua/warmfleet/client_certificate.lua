-- What this gateway shows to replicas. Read once, as root: workers may not read the key.
local ssl = require "ngx.ssl"

local settings = require "warmfleet.settings"

local _M = {}

local function read(name, parse)
    local path = settings.root .. "/tls/" .. name
    local file, reason = io.open(path, "r")
    if not file then
        return nil, reason
    end
    local value
    value, reason = parse(file:read("*a"))
    file:close()
    return value, reason and path .. ": " .. reason
end

-- Returns true, or nil and one line that says what is wrong.
function _M.publish()
    local problem
    _M.certificate, problem = read("client.pem", ssl.parse_pem_cert)
    if problem then
        return nil, problem
    end
    _M.key, problem = read("client.key", ssl.parse_pem_priv_key)
    return not problem, problem
end

return _M
