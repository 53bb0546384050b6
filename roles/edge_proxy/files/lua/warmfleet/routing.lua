-- Which model a request is for.
local cjson = require "cjson.safe"

local membership = require "warmfleet.membership"

local _M = {}

local function body()
    local data = ngx.req.get_body_data()
    if data then
        return data
    end
    local path = ngx.req.get_body_file()
    if not path then
        return ""
    end
    local file = assert(io.open(path, "rb"))
    data = file:read("*a")
    file:close()
    return data
end

-- The model that a path asks about, with nothing to read from a body.
local function named_in_path()
    local name = ngx.var.uri:match("^/v1/models/(.+)$")
    if name and #membership.replicas(name) == 0 then
        return nil, "unknown_model"
    end
    return name
end

-- Returns the model (nil: any replica will do), or nil and the name of what is wrong.
-- The body has been read. With one model there is nothing to choose, so nothing is parsed.
function _M.model()
    if #membership.models() == 1 then
        return nil
    end
    if ngx.req.get_method() ~= "POST" then
        return named_in_path()
    end
    local decoded = cjson.decode(body())
    if type(decoded) ~= "table" or type(decoded.model) ~= "string" then
        return nil, "no_model"
    end
    if #membership.replicas(decoded.model) == 0 then
        return nil, "unknown_model"
    end
    return decoded.model
end

return _M
