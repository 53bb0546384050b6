-- What the configuration says; set once by init_by_lua, read by every module.
local _M = {}

function _M.set(values)
    for name, value in pairs(values) do
        _M[name] = value
    end
end

return _M
