-- Hosts that operators took out. The file is theirs: the role neither writes nor removes it, and it outlives nginx.
local settings = require "warmfleet.settings"
local SharedFile = require "warmfleet.shared_file"

local _M = {}

local NOBODY = "{}"

-- An object; its keys are names of hosts, its values are notes for people.
local function parse(decoded)
    for name in pairs(decoded) do
        if type(name) ~= "string" then
            return nil, "needs an object whose keys are names of hosts"
        end
    end
    return decoded
end

local function file()
    _M.shared = _M.shared or SharedFile.new(settings.drained_file, parse, NOBODY)
    return _M.shared
end

-- What is wrong goes to the error log: a damaged file must not keep nginx from starting.
function _M.follow()
    file():follow()
end

function _M.has(replica)
    local hosts = file():get()
    return hosts ~= nil and hosts[replica.name] ~= nil
end

return _M
