-- A JSON file that all workers see, followed without a reload.
--
-- One worker re-reads the file and publishes its text in shared memory; every worker parses it again
-- only when the published version moved. A file that does not parse is reported once and the version
-- in use stays.
local cjson = require "cjson.safe"

local store = ngx.shared.warmfleet_files

local SharedFile = {}
SharedFile.__index = SharedFile

local ENOENT = 2

-- parse(decoded) returns the value that get() hands out, or nil and what is wrong. absent: the text
-- that stands for a file that is not there; without it the file is needed.
function SharedFile.new(path, parse, absent)
    return setmetatable({
        path = path,
        version_key = path .. ":version",
        parse = parse,
        absent = absent,
    }, SharedFile)
end

-- Returns true, or nil and one line that says what is wrong with the file.
function SharedFile:publish()
    local text, reason = self:_read()
    if not text then
        return nil, reason
    end
    if text == store:get(self.path) then
        return true
    end
    local _, problem = self:_parse_text(text)
    if problem then
        return nil, self.path .. ": " .. problem
    end
    store:set(self.path, text)
    store:incr(self.version_key, 1, 0)
    return true
end

-- Like publish, for a timer: what is wrong goes to the error log, once as long as it stays the same.
function SharedFile:follow()
    local _, problem = self:publish()
    if problem and problem ~= self.reported then
        ngx.log(ngx.ERR, problem, "; the version in use stays")
    end
    self.reported = problem
end

function SharedFile:get()
    local version = store:get(self.version_key)
    if version ~= self.version then
        self.value = self:_parse_text(store:get(self.path))
        self.version = version
    end
    return self.value
end

function SharedFile:_read()
    local file, reason, code = io.open(self.path, "r")
    if not file then
        if code == ENOENT and self.absent then
            return self.absent
        end
        return nil, reason
    end
    local text = file:read("*a")
    file:close()
    return text
end

function SharedFile:_parse_text(text)
    local decoded, reason = cjson.decode(text)
    if type(decoded) ~= "table" then
        return nil, "not JSON: " .. (reason or "a bare value")
    end
    return self.parse(decoded)
end

return SharedFile
