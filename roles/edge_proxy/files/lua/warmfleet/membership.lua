-- Which replicas exist. The file changes while nginx runs: a reload would cut keep-alive clients.
local settings = require "warmfleet.settings"
local SharedFile = require "warmfleet.shared_file"

local _M = {}

local function valid_port(value)
    return type(value) == "number" and value % 1 == 0 and value >= 1 and value <= 65535
end

local function parse(decoded)
    local membership = { replicas = {}, of_model = {}, models = {} }
    for index, entry in ipairs(decoded) do
        if type(entry) ~= "table" or type(entry.name) ~= "string" or type(entry.model) ~= "string"
            or type(entry.address) ~= "string" or not valid_port(entry.port)
            or not valid_port(entry.admin_port) or type(entry.server_name) ~= "string" then
            return nil, "entry " .. index
                .. " needs name, model, address, port, admin_port and server_name"
        end
        local host = entry.address:find(":", 1, true) and "[" .. entry.address .. "]" or entry.address
        local replica = {
            -- State belongs to the place, not to the name: a replica that moved is unknown again.
            id = host .. ":" .. entry.port,
            name = entry.name,
            model = entry.model,
            host = host,
            port = entry.port,
            admin_port = entry.admin_port,
            server_name = entry.server_name,
        }
        table.insert(membership.replicas, replica)
        if not membership.of_model[entry.model] then
            membership.of_model[entry.model] = {}
            table.insert(membership.models, entry.model)
        end
        table.insert(membership.of_model[entry.model], replica)
    end
    if #membership.replicas == 0 then
        return nil, "no replica in it"
    end
    return membership
end

local function file()
    _M.shared = _M.shared or SharedFile.new(settings.root .. "/replicas.json", parse)
    return _M.shared
end

function _M.publish()
    return file():publish()
end

function _M.follow()
    file():follow()
end

-- Replicas of a model; of all models when none is named.
function _M.replicas(model)
    local membership = file():get()
    if model == nil then
        return membership.replicas
    end
    return membership.of_model[model] or {}
end

function _M.models()
    return file():get().models
end

return _M
