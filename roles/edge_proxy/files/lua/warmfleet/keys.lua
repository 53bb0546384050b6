-- Who may ask. Only digests of the API keys are on this host.
local settings = require "warmfleet.settings"
local sha256 = require "warmfleet.sha256"
local SharedFile = require "warmfleet.shared_file"

local _M = {}

local function parse(decoded)
    for index, entry in ipairs(decoded) do
        if type(entry) ~= "table" or type(entry.name) ~= "string" or type(entry.sha256) ~= "string"
            or not entry.sha256:match("^%x+$") or #entry.sha256 ~= 64 then
            return nil, "entry " .. index .. " needs name and sha256 of 64 hexadecimal digits"
        end
    end
    return decoded
end

local function file()
    _M.shared = _M.shared or SharedFile.new(settings.root .. "/api_keys.json", parse)
    return _M.shared
end

function _M.publish()
    return file():publish()
end

function _M.follow()
    file():follow()
end

-- Returns the name of the key in an Authorization header, nil when it is not one of ours.
-- Every key is compared every time, so that the time taken says nothing about which one came close.
function _M.name_of(header)
    local digest = sha256((header or ""):match("^[Bb]earer +(%S+) *$") or "")
    local found
    for _, entry in ipairs(file():get()) do
        if entry.sha256 == digest then
            found = entry.name
        end
    end
    return found
end

return _M
